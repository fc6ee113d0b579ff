"""Methods, data sets and budgets of the command line, and the plan of a frontier: each method at each eps."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from pate_cli.config import renamed
from pate_cli.config.command_line import refuse_unused
from pate_cli.config.hydra_composition import options as options_of
from pate_cli.config.hydra_composition import quoted
from pate_cli.config.schemas import with_schemas
from pate_cli.datasets import find, kind_of, known_datasets
from pate_cli.describe_command import PACKED
from pate_cli.engine.baselines import with_baselines
from pate_cli.engine.recipe_plan import Plan, make_plan
from pate_cli.engine.recipes import Recipe
from pate_cli.engine.rows import RowSpec
from pate_cli.errors import ConfigError, InputError
from pate_cli.results.settings import DEFAULT_METHODS, EXACT
from pate_cli.terminal import typed_path

__all__ = ["DEFAULT_METHODS", "Named", "budgets", "methods", "plan_frontier", "tables"]

_PRESETS: dict[str, tuple[str, ...]] = {
    "active-svt": ("mechanism=active", "mechanism.oracle=svt"),
    "svt-liu2021": ("mechanism=svt", "mechanism.calibration=liu2021"),
}
"""Methods with a name that are not an option of the group `mechanism`."""

_NAME = re.compile(r"[A-Za-z0-9][\w.+-]*")
# keys that are the same for all methods: else they are not compared at the same splits and budget
_OF_ALL = ("compute", "release", "ledger", "purpose", "name", "tags")
_COMMON = ("dataset", "eps", "delta", "repeats", "seed", "split", *_OF_ALL)
_TARGET = "target"  # the column of the class, unless `:target=` names another
_PLAIN = re.compile(r"[\w./+-]+")  # values that Hydra reads unquoted
_OWN = ("csv", "jsonl", "libsvm", "npz", "parquet")
_COMMON_OF_TABLES = ("eps", "repeats", "seed", "mechanism", *_OF_ALL)
_TABLES_ACCEPTED = (
    "names of data sets, NAME where PATE_DATA or ./data holds NAME.csv, or files, each with its options after"
    " colons: FILE.csv:target=COLUMN"
)
_ELSEWHERE = {
    "eps": "here it is --eps 0.5,1,2",
    "repeats": "here it is --repeats N",
    "mechanism": "here it is --methods A,B, or --method NAME=OVERRIDE,OVERRIDE",
    "release": "not here: a frontier is an experiment, not a release",
    "ledger": "not here: a frontier is an experiment, not a release",
    "hydra": "not here; the directory is --output DIR",
}


@dataclass(frozen=True)
class Named:
    """A method or a data set: a name with overrides, as after `pate run`."""

    name: str
    overrides: tuple[str, ...]
    missing: str = ""  # why a data set is not on this machine


def methods(names: str, typed: Sequence[str], config_dir: str | None = None) -> list[Named]:
    """Read `--methods` (mechanisms or presets, separated by commas) and every `--method` NAME=OVERRIDE,..."""
    presets = {name: (f"mechanism={name}",) for name in options_of("mechanism", config_dir)} | _PRESETS
    chosen = []
    for name in _split_names(names):
        if name not in presets:
            if now := renamed.now(f"mechanism={name}"):
                accepted = now[0].removeprefix("mechanism=")
                accepted = accepted if len(now) == 1 else f"--method {name}={','.join(now)}"
                raise ConfigError("--methods", name, f"{accepted}, as it is called now")
            accepted = f"{', '.join(presets)}; or --method {name}=OVERRIDE,... for one of your own"
            if config_dir is None:
                accepted += f", or --config-dir DIR with DIR/mechanism/{name}.yaml"
            raise ConfigError("--methods", name, accepted)
        chosen.append(Named(name, presets[name]))
    example = "trees=mechanism=gaussian,student=tree"
    chosen += [_named_overrides("--method", text, example, _COMMON) for text in typed]
    if not chosen:
        raise ConfigError("--methods", names, f"names separated by commas, of {', '.join(presets)}")
    return _distinct("--method", chosen)


def tables(names: str, typed: Sequence[str], config_dir: str | None = None) -> list[Named]:
    """Read `--tables` and every `--table` NAME=OVERRIDE,OVERRIDE.

    `names`, separated by commas, are data sets of the group `dataset`; or NAME, where PATE_DATA or ./data
    holds NAME.csv; or files, read by their ending (any other is LIBSVM's format); with their options after
    colons, as ``mine.csv:target=label:sep=;``. A file that is not there is no error, unless none is.
    """
    chosen = [_named(text, config_dir) for text in _split_names(names)]
    for text in typed:
        table = _named_overrides("--table", text, "mine=dataset=csv,dataset.path=a.csv", _COMMON_OF_TABLES)
        table = replace(table, overrides=tuple(with_schemas(table.overrides)))
        option = next((text.partition("=")[2] for text in table.overrides if text.startswith("dataset=")), "")
        chosen.append(Named(table.name, table.overrides, known_datasets.missing(option)))
    if not chosen:
        raise ConfigError("--tables", names, _TABLES_ACCEPTED)
    if all(table.missing for table in chosen):
        raise InputError(chosen[0].missing)
    return _distinct("--table", chosen)


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
        return Named(name, (f"dataset={name}", *overrides_given), known_datasets.missing(name))
    path = typed_path(name)
    if path.suffix in (".yaml", ".yml") and path.is_file():
        read = with_schemas([f"dataset={path}"])
        return Named(re.sub(r"(\.schema)?\.ya?ml$", "", path.name), (*read, *overrides_given))
    if not path.is_file() and "." not in name and "/" not in name:
        named = os.environ.get("PATE_DATA")
        places = [*([typed_path(named)] if named else []), Path("data")]
        files = [place / f"{name}.csv" for place in places if (place / f"{name}.csv").is_file()]
        if not files:
            raise ConfigError("--tables", name, f"{', '.join(names)}; {_TABLES_ACCEPTED}")
        path = files[0]
    stem = Path(path.name.removesuffix(path.suffix) if path.suffix.lower() in PACKED else path.name)
    kind = kind_of(path)
    overrides = [f"dataset={kind}", f"dataset.path={quoted(str(path))}", *overrides_given]
    needs_target = "target" in {field.name for field in fields(find(kind).Options)}
    if needs_target and not any(text.startswith("dataset.target=") for text in overrides_given):
        overrides.append(f"dataset.target={_TARGET}")
    return Named(stem.stem, tuple(overrides), "" if path.is_file() else f"{path}: no such file")


def _split_names(text: str) -> list[str]:
    """Parts between commas, without those that are empty."""
    return [name for part in text.split(",") if (name := part.strip())]


def _distinct(option: str, chosen: Iterable[Named]) -> list[Named]:
    """Check that all names differ."""
    by_name: dict[str, Named] = {}
    for named in chosen:
        if named.name in by_name:
            raise InputError(f"{option} {named.name}: there are two of that name; names must differ")
        by_name[named.name] = named
    return list(by_name.values())


def _named_overrides(option: str, text: str, example: str, common: Sequence[str]) -> Named:
    """Read `NAME=OVERRIDE,OVERRIDE`, without keys of `common`, which are the same for all."""
    name, _, listed = text.partition("=")
    # a comma within brackets, braces or quotes belongs to a value
    overrides = re.findall(r"""(?:[^,\[{'"]|\[[^\]]*\]|\{[^}]*\}|'[^']*'|"[^"]*")+""", listed)
    if not _NAME.fullmatch(name) or not overrides or not all("=" in part for part in overrides):
        raise ConfigError(option, text, f"NAME=OVERRIDE,OVERRIDE, as in {example}")
    for part in overrides:
        key = part.partition("=")[0].lstrip("+~").partition(".")[0]
        if key in common:
            kind = option.removeprefix("--")
            raise InputError(
                f"{option} {name}: {part}: is the same for all {kind}s; give it outside {option}"
            )
    return Named(name, tuple(overrides))


def budgets(text: str) -> list[float]:
    """Read `--eps`: finite numbers above 0, separated by commas; sorted."""
    values = set()
    for part in text.split(","):
        try:
            eps = float(part)
        except ValueError:
            eps = math.nan
        if not 0 < eps < math.inf:
            raise ConfigError("--eps", part, "finite numbers > 0 separated by commas, as in 0.5,1,2")
        if eps in values:
            raise ConfigError("--eps", text, f"each value once; {part.strip()} stands there twice")
        values.add(eps)
    return sorted(values)


def plan_frontier(
    common: Sequence[str],
    chosen: Sequence[Named],
    eps: Sequence[float],
    *,
    repeats: int,
    limit: bool = False,
    config_dir: str | None = None,
) -> Plan:
    """Plan the baselines and a row for each method and eps; all are checked before anything is written.

    `common` are overrides of every row, as after `pate run`; with `limit` the best model without privacy is
    among the baselines. A mechanism that cannot work at these sizes makes a row that says so. InputError if
    an override is not accepted, or the data are not on this machine.
    """
    refuse_unused(common, _ELSEWHERE)
    if repeats < 1:
        raise ConfigError("--repeats", repeats, "a whole number >= 1")
    specs = [RowSpec(EXACT, EXACT, overrides=(*common, "mechanism=gaussian", "eps=inf"))]
    for method in chosen:
        for budget in eps:
            overrides = (*common, *method.overrides, f"eps={budget!r}")
            specs.append(RowSpec(f"{method.name} eps={budget:g}", method.name, overrides=overrides))
    recipe = Recipe(
        name="frontier", title="", source="", shows="", kind="runs", rows=tuple(specs), repeats=repeats
    )
    plan = make_plan(recipe, [], quick=False, config_dir=config_dir)
    for row in plan.rows:
        if row.status == "missing":
            raise InputError(row.message)
    return with_baselines(plan, limit=limit)
