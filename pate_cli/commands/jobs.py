"""Jobs of `pate run`: checked before anything is written, and looked up among finished repeats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pate_cli import terminal
from pate_cli.config.command_line import CommandLine
from pate_cli.config.rows import compose_all
from pate_cli.engine import execution
from pate_cli.engine.schedule import check_places
from pate_cli.engine.store import PLACE, CacheKey, RepeatStore
from pate_cli.errors import ConfigError, InfeasibleError

__all__ = ["Job", "check_jobs", "open_store"]


@dataclass(frozen=True)
class Job:
    """A checked job, without its data."""

    raw: dict[str, Any]  # composed configuration
    release: bool
    label: str = ""  # label and code name its directory
    code: str = ""
    repeats: int = 0  # that may be found among finished ones
    key: CacheKey | None = None
    loss: tuple[float, float] = (0.0, 0.0)  # eps and delta of one repeat
    refusal: InfeasibleError | None = None


def check_jobs(line: CommandLine, lists: Sequence[Sequence[str]]) -> list[Job]:
    """Check every job, and where its work is to be done; InputError unless only some jobs are infeasible."""
    jobs: list[Job] = []
    configs: dict[Any, Any] = {}  # one for each place of work
    for raw in compose_all(lists, line):
        try:
            run = execution.checked(raw)
        except InfeasibleError as error:
            jobs.append(Job(raw, raw["release"], refusal=error))
            continue
        config = run.config
        if config.ledger is not None and not config.release:
            raise ConfigError("ledger", config.ledger, "null without release=true, which alone reads it")
        configs.setdefault((config.compute, config.cache), config)
        repeats = 0 if config.release else config.repeats
        jobs.append(Job(raw, config.release, run.label, run.config_hash, repeats, run.key, run.row.loss))
    if all(job.refusal for job in jobs) and jobs[0].refusal:
        raise jobs[0].refusal
    check_places(configs.values())
    return jobs


def open_store(beside: Path, jobs: Sequence[Job], *, force: bool) -> RepeatStore:
    """Open the store of finished repeats; print how many are there, or with `force` remove them."""
    store = RepeatStore(beside / PLACE)
    store.sweep()
    wanted = [(job.key, n, job.loss) for job in jobs if job.key for n in range(job.repeats)]
    if force:
        for job in jobs:
            if job.key:
                store.forget(job.key, job.repeats)
    elif found := sum(store.find(*one, student=one[1] == 0) is not None for one in wanted):
        text = f"pate: {found} of {len(wanted)} repeats were done before; --force does them anew"
        terminal.err().print(text, markup=False, soft_wrap=True)
    return store
