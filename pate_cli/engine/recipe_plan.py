"""Rows of a recipe with its overrides, checked before any training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pate_cli.config import Composer, RunConfig, parse
from pate_cli.config.command_line import checked, choices, last_wins, without_place
from pate_cli.datasets import known_datasets
from pate_cli.engine.recipes import Recipe
from pate_cli.engine.rows import Row, RowSpec, check_places
from pate_cli.errors import ConfigError, InputError

__all__ = ["Plan", "make_plan"]

_UNUSED = dict.fromkeys(("release", "ledger"), "not here: a recipe is an experiment, not a release")
_UNUSED["hydra"] = "not here; the directory is --output DIR"


@dataclass(frozen=True, eq=False)
class Plan:
    """Rows of one command."""

    recipe: Recipe
    rows: list[Row]
    quick: bool
    typed: list[str]  # overrides, without the choice of rows, and of where the work is done or kept
    chosen: dict[str, list[Any]]  # the user's choice of rows: values of dataset and eps
    config_dir: str | None = None  # of options of the user's own

    @property
    def ready(self) -> list[Row]:
        """Rows that can be run."""
        return [row for row in self.rows if row.checked]

    @property
    def command(self) -> list[str]:
        """The command that makes it again."""
        chosen = [f"{key}=[{','.join(map(str, values))}]" for key, values in self.chosen.items()]
        quick = ["--quick"] if self.quick else []
        return ["pate", "reproduce", self.recipe.name, *self._own, *chosen, *self.typed, *quick]

    def command_of(self, row: Row) -> list[str]:
        """The command that does a row by itself."""
        return ["pate", "run", *self._own, *without_place(row.spec.overrides)]

    def data(self, name: str = "") -> dict[str, str]:
        """Checksum of each dataset that was loaded, under its own name or another."""
        return {
            f"data: {name or row.config.dataset.name}": f"SHA-256 {row.prepared.dataset.digest[:12]}…"
            for row in self.ready
        }

    @property
    def _own(self) -> list[str]:
        return ["--config-dir", self.config_dir] if self.config_dir else []


def make_plan(
    recipe: Recipe, overrides: Sequence[str], *, quick: bool, config_dir: str | None = None
) -> Plan:
    """Compose and check every row, before anything is written.

    `overrides` are as typed: `dataset=[A,B]` and `eps=[0.5,1]` choose rows, any other goes to every
    row; `config_dir` is a directory with options of the user's own, as of `pate run`. InputError if an
    override cannot be used; a dataset that is missing, or a mechanism that cannot work at these sizes, makes
    a row that says so instead.
    """
    selected, typed = choices(overrides)
    fewer, small = choices(recipe.quick if quick else [])
    typed = checked(typed, _UNUSED)
    kept = fewer | selected
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
        rows.append((replace(spec, overrides=tuple(texts)), raw, config))
    for key, values in selected.items():
        listed = list(dict.fromkeys(_value(config, key) for *_, config in rows))
        listed += [name for name in dict.fromkeys(elsewhere) if key == "dataset" and name not in listed]
        for value in values:
            if value not in listed:
                named = ", ".join(f"{each:g}" if isinstance(each, float) else str(each) for each in listed)
                raise ConfigError(key, value, f"of the rows of {recipe.name}: {named}")
    planned = [
        _checked(spec, raw, config)
        for spec, raw, config in rows
        if all(_value(config, key) in values for key, values in kept.items())
    ]
    check_places(row.config for row in planned if row.checked)
    return Plan(recipe, planned, quick, without_place(typed), selected, config_dir)


def _value(config: RunConfig, key: str) -> Any:
    return config.dataset.name if key == "dataset" else config.eps


def _checked(spec: RowSpec, raw: dict[str, Any], config: RunConfig) -> Row:
    if why := known_datasets.missing(config.dataset.name):
        return Row(spec, raw, config, refusal=InputError(why), missing=True)
    row = Row.of(raw, spec)
    if row.status == "error":
        raise InputError(f"row {spec.name!r}: {row.refusal}") from row.refusal
    return row
