"""From `--tables` and `--table` to the data sets of a leaderboard."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pate_cli.compare.methods import named_overrides
from pate_cli.config.composition import options as options_of
from pate_cli.config.composition import quoted
from pate_cli.engine.plan import missing_data
from pate_cli.errors import ConfigError, InputError

__all__ = ["TableSpec", "default_tables", "tables"]

_DEFAULT = "mushroom,a9a,adult,digits,synthetic"
_TARGET = "target"
"""The column of the class, unless `:target=` says another."""

_KINDS = {".parquet": "parquet", ".pq": "parquet", ".npz": "npz", ".csv": "csv", ".tsv": "csv"}
_PLAIN = re.compile(r"[\w./+-]+")
"""Values that Hydra reads unquoted."""

_PACKED = (".gz", ".bz2", ".xz", ".zip")
_OWN = ("csv", "libsvm", "npz", "parquet")
_COMMON = ("eps", "repeats", "seed", "mechanism", "compute", "cache", "release", "ledger", "purpose")
_ACCEPTED = (
    "names of data sets, NAME where PATE_DATA or ./data holds NAME.csv, or files, each with its options after"
    " colons: FILE.csv:target=COLUMN"
)


@dataclass(frozen=True)
class TableSpec:
    """A data set that methods are compared on."""

    name: str
    overrides: tuple[str, ...]  # as after `pate run`
    missing: str = ""  # which file is not on this machine


def default_tables() -> str:
    """Data sets of a leaderboard by default."""
    return _DEFAULT


def tables(names: str, typed: Sequence[str], config_dir: str | None = None) -> list[TableSpec]:
    """Read `--tables` and every `--table`.

    Parameters
    ----------
    names : str
        Separated by commas. Each is a data set of the group `dataset`; or NAME, where PATE_DATA or ./data
        holds NAME.csv; or a file (CSV, Parquet, .npz; any other is LIBSVM's format); with its options after
        colons, as ``mine.csv:target=label:sep=;``. The class is in the column ``target`` if nothing is said.
    typed : sequence of str
        As `NAME=OVERRIDE,OVERRIDE`.
    config_dir : str, optional
        Directory whose data sets are known too.

    Raises
    ------
    InputError
        Names what is not accepted. A data set whose file is not there is no error, unless all are.
    """
    chosen = [_named(text, config_dir) for text in (part.strip() for part in names.split(",")) if text]
    chosen += [_typed(text) for text in typed]
    if not chosen:
        raise ConfigError("--tables", names, _ACCEPTED)
    seen: set[str] = set()
    for one in chosen:
        if one.name in seen:
            raise InputError(
                f"--table {one.name}: there are two of that name; give one another: --table NAME=..."
            )
        seen.add(one.name)
    if all(one.missing for one in chosen):
        raise InputError(chosen[0].missing)
    return chosen


def _named(text: str, config_dir: str | None) -> TableSpec:
    name, *options = text.split(":")
    for option in options:
        if not option.partition("=")[0].isidentifier() or "=" not in option:
            raise ConfigError("--tables", text, "KEY=VALUE after each colon, as in mine.csv:target=label")
    given = tuple(
        f"dataset.{key}={value if _PLAIN.fullmatch(value) else quoted(value)}"
        for key, _, value in (one.partition("=") for one in options)
    )
    known = [name for name in options_of("dataset", config_dir) if name not in _OWN]
    if name in known:
        return TableSpec(name, (f"dataset={name}", *given), missing_data(name))
    path = Path(name).expanduser()
    if not path.is_file() and "." not in name and "/" not in name:
        held = [place / f"{name}.csv" for place in _places() if (place / f"{name}.csv").is_file()]
        if not held:
            raise ConfigError("--tables", name, f"{', '.join(known)}; {_ACCEPTED}")
        path = held[0]
    stem = path.name.removesuffix(path.suffix) if path.suffix in _PACKED else path.name
    kind = _KINDS.get(Path(stem).suffix, "libsvm")
    overrides = [f"dataset={kind}", f"dataset.path={quoted(str(path))}", *given]
    if kind in ("csv", "parquet") and not any(text.startswith("dataset.target=") for text in given):
        overrides.append(f"dataset.target={_TARGET}")
    return TableSpec(Path(stem).stem, tuple(overrides), "" if path.is_file() else f"{path}: no such file")


def _places() -> list[Path]:
    named = os.environ.get("PATE_DATA")
    return [*([Path(named).expanduser()] if named else []), Path("data")]


def _typed(text: str) -> TableSpec:
    name, overrides = named_overrides("--table", text, "mine=dataset=csv,dataset.path=a.csv", _COMMON)
    option = next((one.partition("=")[2] for one in overrides if one.startswith("dataset=")), "")
    return TableSpec(name, overrides, missing_data(option))
