"""Data sets of a frontier, from `--tables` and `--table`."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from pate_cli.commands.methods import Named, distinct, named_overrides, split_names
from pate_cli.config.hydra_composition import options as options_of
from pate_cli.config.hydra_composition import quoted
from pate_cli.datasets import PACKED, find, kind_of
from pate_cli.engine.recipe_plan import missing_data
from pate_cli.errors import ConfigError, InputError

__all__ = ["tables"]

_TARGET = "target"  # the column of the class, unless `:target=` names another
_PLAIN = re.compile(r"[\w./+-]+")  # values that Hydra reads unquoted
_OWN = ("csv", "jsonl", "libsvm", "npz", "parquet")
_COMMON = (
    *("eps", "repeats", "seed", "mechanism"),
    *("compute", "release", "ledger", "purpose", "name", "tags"),
)
_ACCEPTED = (
    "names of data sets, NAME where PATE_DATA or ./data holds NAME.csv, or files, each with its options after"
    " colons: FILE.csv:target=COLUMN"
)


def tables(names: str, typed: Sequence[str], config_dir: str | None = None) -> list[Named]:
    """Read `--tables` and every `--table` NAME=OVERRIDE,OVERRIDE.

    `names`, separated by commas, are data sets of the group `dataset`; or NAME, where PATE_DATA or ./data
    holds NAME.csv; or files, read by their ending (any other is LIBSVM's format); with their options after
    colons, as ``mine.csv:target=label:sep=;``. A file that is not there is no error, unless none is.
    """
    chosen = [_named(text, config_dir) for text in split_names(names)]
    for text in typed:
        one = named_overrides("--table", text, "mine=dataset=csv,dataset.path=a.csv", _COMMON)
        option = next((one.partition("=")[2] for one in one.overrides if one.startswith("dataset=")), "")
        chosen.append(Named(one.name, one.overrides, missing_data(option)))
    if not chosen:
        raise ConfigError("--tables", names, _ACCEPTED)
    if all(one.missing for one in chosen):
        raise InputError(chosen[0].missing)
    return distinct("--table", chosen)


def _named(text: str, config_dir: str | None) -> Named:
    name, *options = text.split(":")
    for option in options:
        if not option.partition("=")[0].isidentifier() or "=" not in option:
            raise ConfigError("--tables", text, "KEY=VALUE after each colon, as in mine.csv:target=label")
    overrides_given = tuple(
        f"dataset.{key}={value if _PLAIN.fullmatch(value) else quoted(value)}"
        for key, _, value in (text_of_option.partition("=") for text_of_option in options)
    )
    names = [name for name in options_of("dataset", config_dir) if name not in _OWN]
    if name in names:
        return Named(name, (f"dataset={name}", *overrides_given), missing_data(name))
    path = Path(name).expanduser()
    if not path.is_file() and "." not in name and "/" not in name:
        named = os.environ.get("PATE_DATA")
        places = [*([Path(named).expanduser()] if named else []), Path("data")]
        files = [place / f"{name}.csv" for place in places if (place / f"{name}.csv").is_file()]
        if not files:
            raise ConfigError("--tables", name, f"{', '.join(names)}; {_ACCEPTED}")
        path = files[0]
    stem = Path(path.name.removesuffix(path.suffix) if path.suffix.lower() in PACKED else path.name)
    kind = kind_of(path)
    overrides = [f"dataset={kind}", f"dataset.path={quoted(str(path))}", *overrides_given]
    needs_target = "target" in {field.name for field in fields(find(kind).Options)}
    if needs_target and not any(text.startswith("dataset.target=") for text in overrides_given):
        overrides.append(f"dataset.target={_TARGET}")
    return Named(stem.stem, tuple(overrides), "" if path.is_file() else f"{path}: no such file")
