"""Rows: configurations checked against their data, before any training."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shlex
import warnings
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from pate_cli import datasets, pipeline
from pate_cli.config import Composer, DatasetConfig, RunConfig, parse
from pate_cli.config.command_line import last_wins, without_place
from pate_cli.datasets.settled import check_settled
from pate_cli.engine.store import CacheKey, repeat_key
from pate_cli.engine.workers import check_cluster
from pate_cli.errors import ConfigError, InfeasibleError, InputError
from pate_cli.plugins import named, plugin_code
from pate_cli.results.settings import APPROXIMATE, PURE, RECORD, config_hash, dataset_name, row_hash, settings
from pate_cli.students import dump_student
from pate_cli.terminal import typed_path

__all__ = ["Row", "RowSpec", "as_typed", "check_places", "check_rows", "forget"]


@dataclass(frozen=True)
class RowSpec:
    """One row of a table: a configuration, and the paper's printed numbers."""

    name: str  # unique within a recipe
    method: str = ""  # as the paper calls it; empty for the name of the mechanism
    panel: str = ""  # rows of one panel belong together, in figures and paired differences
    overrides: tuple[str, ...] = ()  # as after `pate run`
    printed: dict[str, Any] = field(default_factory=dict)  # queries, eps, eps_ex_post, accuracy, ...
    note: str = ""


@dataclass(frozen=True, eq=False)
class Row:
    """One configuration of a command, checked before any training: ready, or with the reason why not."""

    spec: RowSpec  # its name, unique among the rows of a command, with what makes it and how it is called
    raw: dict[str, Any]  # as composed
    config: RunConfig
    checked: pipeline.Prepared | None = None
    key: CacheKey = field(default_factory=lambda: CacheKey("", ""))  # of its finished repeats
    refusal: InputError = field(default_factory=lambda: InputError(""))  # why it is not ready, with a remedy
    missing: bool = False  # whether that is because its data are not on this machine

    @classmethod
    def of(cls, raw: dict[str, Any], spec: RowSpec | None = None) -> Row:
        """Check a composed configuration, its data and its mechanism; a dataset is loaded once.

        InputError if a value is not accepted; what else is refused makes a row that says so.
        """
        config, spec = parse(raw), spec or RowSpec("")
        options = json.dumps(config.dataset.options, sort_keys=True, default=str)
        try:
            if config.release:
                check_settled(config.dataset.name, config.dataset.options)
            dataset = _load(config.dataset.name, options, _state(config.dataset))
            key = repeat_key(raw, dataset)
            return cls(spec, raw, config, pipeline.prepare(config, dataset), key)
        except Exception as error:
            if not isinstance(refusal := named(error, quoted=not config.release), InputError):
                raise
            return cls(spec, raw, config, refusal=refusal)

    @property
    def prepared(self) -> pipeline.Prepared:
        """The checked run; raises the refusal of a row that is not ready."""
        if self.checked is None:
            raise self.refusal
        return self.checked

    @property
    def name(self) -> str:
        """Unique among the rows done together."""
        return self.spec.name

    @property
    def method(self) -> str:
        """As the command or the paper calls it, or the mechanism's own name."""
        return self.spec.method or self.config.mechanism.label

    @property
    def status(self) -> str:
        """One of ready, missing, infeasible and error."""
        if self.checked:
            return "ready"
        infeasible = isinstance(self.refusal, InfeasibleError)
        return "missing" if self.missing else "infeasible" if infeasible else "error"

    @property
    def message(self) -> str:
        """Reason why it is not ready, with a remedy; else empty."""
        return str(self.refusal)

    @property
    def code(self) -> str:
        """Hash of the configuration."""
        return config_hash(self.raw)

    @property
    def label(self) -> str:
        """Dataset and mechanism, for the name of a directory."""
        return f"{self.config.dataset.name}-{self.config.mechanism.label}"

    @property
    def _modules(self) -> Iterator[str]:
        """Modules that its configuration names, as far as it is checked."""
        config = self.config
        if self.checked:
            yield type(self.prepared.mechanism).__module__
            yield datasets.find(config.dataset.name).__name__
            for name in (config.teacher.estimator, config.student.estimator, config.features.name):
                yield str(name).rpartition(".")[0]

    @property
    def foreign(self) -> bool:
        """Whether a learner comes neither from scikit-learn nor from this package."""
        names = (self.config.teacher.estimator, self.config.student.estimator)
        packages = {name.partition(".")[0] for name in names if isinstance(name, str) and "." in name}
        return not packages <= {"sklearn", "pate_cli"}

    @property
    def teaching(self) -> Hashable:
        """Rows with equal keys see the same split, teachers and votes in a repeat."""
        return pipeline.teaching_key(self.checked.config if self.checked else self.config)

    def columns(self, **names: str) -> dict[str, Any]:
        """Columns of `repeats.csv`, up to its data; with `status` and `reason` unless it is ready.

        `names` are columns of the command's own.
        """
        config, label, prepared = self.config, self.config.mechanism.label, self.checked
        public = prepared.whole.describe() if prepared else vars(config.mechanism.options)
        counts = prepared.counts if prepared else {}
        dataset = dataset_name(self.raw, config.dataset.name)
        named = {"dataset": dataset, "method": self.method} | names
        named |= {"mechanism.name": label} if self.method != label else {}
        columns = {
            **named,
            **{key: text for key, text in settings(self.raw).items() if key not in named},
            "eps": config.eps,
            "delta": prepared.delta if prepared else None,
            "guarantee": PURE if prepared and prepared.whole.guarantee.delta == 0 else APPROXIMATE,
            "budget": public.get("ell"),
            "cutoff": cutoff if isinstance(cutoff := public.get("cutoff"), int) else None,
            "n_teachers": prepared.n_teachers if prepared else config.teacher.count,
            **{name: counts.get(name) for name in ("n_records", "n_private", "n_public", "n_test")},
            **({"test_file": test.n_records} if prepared and (test := prepared.dataset.test) else {}),
            **({"run_name": config.name} if config.name else {}),
            **({"tags": " ".join(config.tags)} if config.tags else {}),
            **({"overrides": _one_order(self.spec.overrides)} if self.spec.overrides else {}),
            **({"largest_class": _largest_class(prepared.dataset)} if prepared else {}),
            **({"protects": prepared.protected} if prepared and prepared.protected != RECORD else {}),
            **({} if not prepared or prepared.mechanism.can_be_released else {"release": "no"}),
            **({"plugin_code": code} if (code := plugin_code(self._modules)) else {}),
            "splits": hashlib.sha256(str(self.teaching).encode()).hexdigest()[:12],
            "row": row_hash(self.raw),
            "checksum": prepared.dataset.digest if prepared else None,
        }
        return columns if prepared else columns | {"status": self.status, "reason": self.message}

    def run(self, repeat: int, trained: pipeline.Trained | None = None) -> pipeline.Outcome:
        """Do one repeat; warnings, as of the student's learner, are in the outcome."""
        with warnings.catch_warnings(record=True) as caught:
            outcome = pipeline.run_repeat(self.prepared, repeat, trained)
        texts = [f"{each.category.__name__}: {each.message}".splitlines()[0].rstrip(":") for each in caught]
        if "one_class" in outcome.result.diagnostics:
            texts.append("the student gives one class to all public points")
        return replace(outcome, warned=tuple(dict.fromkeys(texts)))

    def student(self, outcome: pipeline.Outcome) -> bytes:
        """Content of the file of a repeat's student."""
        dataset, guarantee = self.prepared.dataset, self.prepared.whole.guarantee
        return dump_student(
            outcome.student,
            classes=outcome.classes,
            n_features=getattr(outcome.student, "n_features_in_", dataset.n_features),
            encoder=outcome.encoder,
            meta={"dataset": dataset.name, "eps": guarantee.eps, "delta": guarantee.delta},
            first_index=dataset.first_index,
        )


def check_rows(composer: Composer, lists: Sequence[Sequence[str]], *, sweep: bool = False) -> list[Row]:
    """Check every job, and where its work is to be done; InputError unless only some are infeasible."""
    forget()
    rows = []
    for number, overrides in enumerate(lists):
        spec = as_typed(composer.own, overrides)
        rows.append(row := Row.of(composer.compose(overrides, number if sweep else None), spec))
        if row.status == "error":
            raise row.refusal
    configs = [row.config for row in rows if row.checked]
    if not configs:
        raise rows[0].refusal
    for config in configs:
        if config.ledger is not None and not config.release:
            raise ConfigError("ledger", config.ledger, "null without release=true, which alone reads it")
    check_places(configs)
    return rows


def as_typed(options: Sequence[str], overrides: Sequence[str]) -> RowSpec:
    """What makes a run again: options of the user's own, and overrides but for names and places."""
    left_out = ("hydra", "compute", "name=", "tags=")
    typed = last_wins([text.removeprefix("++") for text in without_place(overrides)])
    return RowSpec("", overrides=(*options, *(text for text in typed if not text.startswith(left_out))))


def _one_order(overrides: Sequence[str]) -> str:
    """Overrides in one order, however they were typed: options, data, the rest."""
    n = 0
    while overrides[n : n + 1] and overrides[n].startswith("--"):  # an option, and its value
        n += 2
    return shlex.join(
        [
            *overrides[:n],
            *sorted(overrides[n:], key=lambda text: (text[:7] != "dataset", text.replace("=", " "))),
        ]
    )


def _largest_class(dataset: Any) -> str:
    return str((dataset.labels or dataset.classes)[np.bincount(dataset.y).argmax()])


def forget() -> None:
    """Forget datasets loaded before: files may have changed since."""
    _load.cache_clear()


@cache
def _load(name: str, options: str, state: tuple[int, ...]) -> Any:
    return datasets.load(name, **json.loads(options))


def _state(config: DatasetConfig) -> tuple[int, ...]:
    """Identity, size and time of the dataset's files, by which a change of them is noticed."""
    states: list[int] = []
    for path in map(config.options.get, datasets.FILES):
        if isinstance(path, str):
            with contextlib.suppress(OSError):  # the loader reports it
                status = typed_path(path).stat()
                states += [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns]
    return tuple(states)


def check_places(configs: Iterable[RunConfig]) -> None:
    """Refuse (InputError) a cluster that is of no use, or two of `compute`."""
    places = dict.fromkeys(config.compute for config in configs)
    if len(places) > 1:
        raise ConfigError("compute", "several", "one and the same for all jobs of a sweep")
    for compute in places:
        if compute.name == "dask":
            check_cluster(compute.address)
