"""Rows: configurations checked against their data, before any training."""

from __future__ import annotations

import contextlib
import hashlib
import json
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from pate_cli import datasets, pipeline
from pate_cli.config import Composer, DatasetConfig, RunConfig, parse
from pate_cli.engine.store import CacheKey, VoteStore, repeat_key
from pate_cli.engine.workers import check_cluster
from pate_cli.errors import ConfigError, InfeasibleError, InputError
from pate_cli.results.provenance import config_hash
from pate_cli.results.settings import APPROXIMATE, PURE, dataset_name, row_hash, settings
from pate_cli.students import dump_student

__all__ = ["Job", "Row", "check_jobs", "check_places", "checked", "columns_of", "forget"]


@dataclass(frozen=True, eq=False)
class Row:
    """One configuration that has passed every check before training."""

    name: str  # unique among the rows done together
    prepared: pipeline.Prepared
    key: CacheKey

    @property
    def config(self) -> RunConfig:
        """The checked configuration."""
        return self.prepared.config

    @property
    def label(self) -> str:
        """Dataset and mechanism, for the name of a directory."""
        return f"{self.config.dataset.name}-{self.config.mechanism.label}"

    @property
    def foreign(self) -> bool:
        """Whether a learner comes neither from scikit-learn nor from this package."""
        names = (self.config.teacher.estimator, self.config.student.estimator)
        packages = {name.partition(".")[0] for name in names if isinstance(name, str) and "." in name}
        return not packages <= {"sklearn", "pate_cli"}

    def run(self, repeat: int, trained: pipeline.Trained | None = None) -> pipeline.Outcome:
        """Do one repeat; warnings, as of the student's learner, are in the outcome."""
        with warnings.catch_warnings(record=True) as caught:
            outcome = pipeline.run_repeat(self.prepared, repeat, trained)
        texts = (f"{one.category.__name__}: {one.message}".splitlines()[0].rstrip(":") for one in caught)
        return replace(outcome, warned=tuple(dict.fromkeys(texts)))

    def student(self, outcome: pipeline.Outcome) -> bytes:
        """Content of the file of a repeat's student."""
        dataset, guarantee = self.prepared.dataset, self.prepared.whole.guarantee
        return dump_student(
            outcome.student,
            classes=dataset.classes,
            n_features=getattr(outcome.student, "n_features_in_", dataset.n_features),
            encoder=outcome.encoder,
            meta={"dataset": dataset.name, "eps": guarantee.eps, "delta": guarantee.delta},
            first_index=dataset.first_index,
        )


def columns_of(raw: dict[str, Any], row: Row | None, method: str = "", **names: str) -> dict[str, Any]:
    """Columns of a row of `repeats.csv`, up to its data; `method` and `names` are what a command calls it."""
    config = row.config if row else parse(raw)
    label, prepared = config.mechanism.label, row.prepared if row else None
    public = prepared.whole.describe() if prepared else vars(config.mechanism.options)
    counts = prepared.counts if prepared else {}
    own = {"dataset": dataset_name(raw, str(raw["dataset"]["name"])), "method": method or label} | names
    own |= {"mechanism.name": label} if method not in ("", label) else {}
    return {
        **own,
        **{key: text for key, text in settings(raw).items() if key not in own},
        "eps": float(raw["eps"]),
        "delta": prepared.delta if prepared else None,
        "guarantee": PURE if prepared and prepared.whole.guarantee.delta == 0 else APPROXIMATE,
        "budget": public.get("ell"),
        "cutoff": cutoff if isinstance(cutoff := public.get("cutoff"), int) else None,
        "n_teachers": prepared.n_teachers if prepared else config.teacher.count,
        **{name: counts.get(name) for name in ("n_records", "n_private", "n_public", "n_test")},
        "splits": hashlib.sha256(str(pipeline.teaching_key(config)).encode()).hexdigest()[:12],
        "row": row_hash(raw),
        "checksum": prepared.dataset.checksum if prepared else None,
    }


@dataclass(frozen=True, eq=False)
class Job:
    """One composed configuration: checked, or refused."""

    raw: dict[str, Any]
    run: Row | None  # without a name: that is given by the command that schedules it
    refusal: InputError | None = None  # why there is no `run`

    @classmethod
    def of(cls, raw: dict[str, Any]) -> Job:
        """Check a composed configuration."""
        try:
            return cls(raw, checked(raw))
        except InputError as error:
            return cls(raw, None, error)

    @property
    def code(self) -> str:
        """Hash of the configuration."""
        return config_hash(self.raw)


def check_jobs(composer: Composer, lists: Sequence[Sequence[str]], *, sweep: bool = False) -> list[Job]:
    """Check every job, and where its work is to be done; InputError unless only some jobs are infeasible."""
    forget()
    jobs = [Job.of(composer.compose(given, n if sweep else None)) for n, given in enumerate(lists)]
    configs = [job.run.config for job in jobs if job.run]
    for job in jobs:
        if job.refusal and not (configs and isinstance(job.refusal, InfeasibleError)):
            raise job.refusal
    for config in configs:
        if config.ledger is not None and not config.release:
            raise ConfigError("ledger", config.ledger, "null without release=true, which alone reads it")
    check_places(configs)
    return jobs


def checked(raw: dict[str, Any]) -> Row:
    """Check (InputError) a composed configuration, its data and its mechanism; a dataset is loaded once."""
    config = parse(raw)
    options = json.dumps(config.dataset.options, sort_keys=True, default=str)
    dataset = _load(config.dataset.name, options, _state(config.dataset))
    key = repeat_key(raw, dataset)
    return Row("", pipeline.prepare(config, dataset), key)


def forget() -> None:
    """Forget datasets loaded before: files may have changed since."""
    _load.cache_clear()


@cache
def _load(name: str, options: str, state: tuple[int, ...]) -> Any:
    return datasets.load(name, **json.loads(options))


def _state(config: DatasetConfig) -> tuple[int, ...]:
    """Identity, size and time of the dataset's files, by which a change of them is noticed."""
    found: list[int] = []
    for path in map(config.options.get, datasets.FILES):
        if isinstance(path, str):
            with contextlib.suppress(OSError):  # the loader reports it
                status = Path(path).expanduser().stat()
                found += [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns]
    return tuple(found)


def check_places(configs: Iterable[RunConfig]) -> None:
    """Refuse (InputError) a cluster or directory of votes that is of no use; or two of `compute`."""
    places = dict.fromkeys((config.cache, config.compute) for config in configs)
    if len({compute for _, compute in places}) > 1:
        raise ConfigError("compute", "several", "one and the same for all jobs of a sweep")
    for keeps_votes, compute in places:
        if keeps_votes:
            votes = VoteStore()
            votes.check()
            votes.trim()
        if compute.name == "dask":
            check_cluster(compute.address)
