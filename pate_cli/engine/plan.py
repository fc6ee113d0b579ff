"""Rows of a recipe with its overrides: ready, missing or infeasible."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pate_cli.config import Composer, RunConfig, parse
from pate_cli.config.command_line import checked, choices, last_wins, without_place
from pate_cli.config.recipes import Recipe, RowSpec
from pate_cli.datasets import files
from pate_cli.engine.rows import Job, Row, check_places, columns_of
from pate_cli.errors import ConfigError, InfeasibleError, InputError
from pate_cli.pipeline import Prepared, teaching_key

__all__ = ["Plan", "PlannedRow", "make_plan", "missing_data"]

_UNUSED = dict.fromkeys(("release", "ledger"), "not here: a recipe is an experiment, not a release")
_UNUSED["hydra"] = "not here; the directory is --output DIR"


@dataclass(frozen=True, eq=False)
class PlannedRow:
    """A row, checked before any training."""

    spec: RowSpec
    overrides: list[str]  # everything that makes this row, as after `pate run`
    config: RunConfig
    job: Job  # without a run unless the row is ready
    missing: str = ""  # which data is not on this machine, and how to get it

    @property
    def status(self) -> str:
        """One of ready, missing and infeasible."""
        return "ready" if self.job.run else "missing" if self.missing else "infeasible"

    @property
    def message(self) -> str:
        """Reason why it is not ready, with a remedy; else empty."""
        return self.missing or str(self.job.refusal or "")

    @property
    def code(self) -> str:
        """Hash of the configuration."""
        return self.job.code

    @property
    def prepared(self) -> Prepared | None:
        """None unless ready."""
        return self.job.run.prepared if self.job.run else None

    @property
    def dataset(self) -> str:
        """Name of the dataset."""
        return self.config.dataset.name

    @property
    def method(self) -> str:
        """As the paper calls it, or the mechanism's own name."""
        return self.spec.method or self.config.mechanism.label

    def columns(self, **names: str) -> dict[str, Any]:
        """Columns of `repeats.csv`; with `status` and `reason` unless it is ready."""
        columns = columns_of(self.job.raw, self.job.run, self.method, **names)
        return columns | ({} if self.status == "ready" else {"status": self.status, "reason": self.message})

    @property
    def teaching(self) -> Hashable:
        """Rows with equal keys see the same split, teachers and votes in a repeat."""
        return teaching_key(self.config)

    def ready(self) -> Row:
        """Row for the scheduler, of one that is ready."""
        if self.job.run is None:
            raise RuntimeError(f"{self.spec.name}: {self.status}")
        return replace(self.job.run, name=self.spec.name)


@dataclass(frozen=True, eq=False)
class Plan:
    """Rows of one command."""

    recipe: Recipe
    rows: list[PlannedRow]
    quick: bool
    typed: list[str]  # overrides, without the choice of rows, and of where the work is done or kept
    chosen: dict[str, list[Any]]  # the user's choice of rows: values of dataset and eps
    config_dir: str | None = None  # of options of the user's own

    @property
    def ready(self) -> list[PlannedRow]:
        """Rows that can be run."""
        return [row for row in self.rows if row.status == "ready"]

    @property
    def command(self) -> list[str]:
        """The command that makes it again."""
        chosen = [f"{key}=[{','.join(map(str, values))}]" for key, values in self.chosen.items()]
        quick = ["--quick"] if self.quick else []
        return ["pate", "reproduce", self.recipe.name, *self._own, *chosen, *self.typed, *quick]

    def command_of(self, row: PlannedRow) -> list[str]:
        """The command that does a row by itself."""
        return ["pate", "run", *self._own, *without_place(row.overrides)]

    def data(self, name: str = "") -> dict[str, str]:
        """Checksum of each dataset that was loaded, under its own name or another."""
        return {
            f"data: {name or row.dataset}": f"SHA-256 {row.prepared.dataset.checksum}"
            for row in self.rows
            if row.prepared is not None
        }

    @property
    def _own(self) -> list[str]:
        return ["--config-dir", self.config_dir] if self.config_dir else []


def make_plan(recipe: Recipe, given: Sequence[str], *, quick: bool, config_dir: str | None = None) -> Plan:
    """Compose and check every row, before anything is written.

    `given` are overrides as typed: `dataset=[A,B]` and `eps=[0.5,1]` choose rows, any other goes to every
    row; `config_dir` is a directory with options of the user's own, as of `pate run`. InputError if an
    override cannot be used; a dataset that is missing, or a mechanism that cannot work at these sizes, makes
    a row that says so instead.
    """
    wanted, typed = choices(given)
    fewer, small = choices(recipe.quick if quick else [])
    typed = checked(typed, _UNUSED)
    kept = fewer | wanted
    composer, rows, elsewhere = Composer(config_dir), [], []
    for spec in recipe.rows:
        texts = last_wins(checked([f"repeats={recipe.repeats}", *spec.overrides, *small, *typed]))
        # composing takes Hydra a while: not for rows on other datasets, which their text tells
        chosen = [text.removeprefix("dataset=") for text in texts if text.startswith("dataset=")]
        if chosen and chosen[0] not in kept.get("dataset", chosen):
            elsewhere.append(chosen[0])
            continue
        try:
            raw = composer.compose(texts)
            config = parse(raw)
        except InputError as error:
            raise InputError(f"{recipe.name}, row {spec.name!r}: {error}") from error
        rows.append((spec, texts, raw, config))
    for key, values in wanted.items():
        there = list(dict.fromkeys(_value(config, key) for *_, config in rows))
        there += [name for name in dict.fromkeys(elsewhere) if key == "dataset" and name not in there]
        for value in values:
            if value not in there:
                named = ", ".join(f"{each:g}" if isinstance(each, float) else str(each) for each in there)
                raise ConfigError(key, value, f"of the rows of {recipe.name}: {named}")
    planned = [
        _planned(spec, texts, raw, config)
        for spec, texts, raw, config in rows
        if all(_value(config, key) in values for key, values in kept.items())
    ]
    check_places(row.config for row in planned if row.status == "ready")
    return Plan(recipe, planned, quick, without_place(typed), wanted, config_dir)


def missing_data(name: str) -> str:
    """Name the files of a dataset that are not on this machine and how to get them; empty if all are here."""
    if name not in files.ENTRIES:
        return ""
    absent = [file for file in files.ENTRIES[name].files if files.find(file) is None]
    if not absent:
        return ""
    get = " and ".join(f"{file.name} ({file.url})" for file in absent)
    return f"{get} is not on this machine: pate data fetch {name}, or put it where PATE_DATA points"


def _value(config: RunConfig, key: str) -> Any:
    return config.dataset.name if key == "dataset" else config.eps


def _planned(spec: RowSpec, texts: list[str], raw: dict[str, Any], config: RunConfig) -> PlannedRow:
    if missing := missing_data(config.dataset.name):
        return PlannedRow(spec, texts, config, Job(raw, None), missing)
    job = Job.of(raw)
    if job.refusal and not isinstance(job.refusal, InfeasibleError):
        raise InputError(f"row {spec.name!r}: {job.refusal}") from job.refusal
    return PlannedRow(spec, texts, config, job)
