"""Jobs of `pate run`: checked before anything is written, then run, or released."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pate_cli.config import Composer
from pate_cli.engine import execution
from pate_cli.engine.execution import Job
from pate_cli.engine.places import check_places
from pate_cli.engine.store import PLACE, RepeatStore
from pate_cli.errors import ConfigError, InfeasibleError, InputError
from pate_cli.release.release import release

__all__ = ["check_jobs", "open_store", "run_jobs"]


def check_jobs(composer: Composer, lists: Sequence[Sequence[str]]) -> list[Job]:
    """Check every job, and where its work is to be done; InputError unless only some jobs are infeasible."""
    execution.forget()
    jobs = [Job.of(composer.compose(given)) for given in lists]
    configs = [job.run.config for job in jobs if job.run]
    for job in jobs:
        if job.refusal and not (configs and isinstance(job.refusal, InfeasibleError)):
            raise job.refusal
    for config in configs:
        if config.ledger is not None and not config.release:
            raise ConfigError("ledger", config.ledger, "null without release=true, which alone reads it")
    check_places(configs)
    return jobs


def open_store(beside: Path, jobs: Sequence[Job], *, force: bool) -> RepeatStore:
    """Open the store of finished repeats; with `force`, those of these jobs are removed."""
    store = RepeatStore(beside / PLACE)
    store.sweep()
    for job in jobs:
        if force and job.run:
            store.forget(job.run.key, job.run.config.repeats)
    return store


def run_jobs(
    jobs: Mapping[Path, Job], store: RepeatStore, *, sweep: bool, command: Sequence[str]
) -> list[float | None]:
    """Run jobs, or make the one release; the mean accuracy of each job."""
    if any(job.raw["release"] for job in jobs.values()):  # public files only: no record of a failure
        ((directory, job),) = jobs.items()
        if job.run is None:
            raise job.refusal or InputError("release")
        release(job.run.prepared, job.raw, directory)
        return [None]
    return execution.execute(jobs, store, sweep=sweep, command=command)
