"""The `study.py` beside a recipe: computes the table of a study, or adds views to a recipe of runs.

It defines ``CHECKS``, what each of its parameters may be (see `pate_cli.checks`), and

- for a study, ``run(p, progress) -> StudyResult`` of the checked parameters p, on which alone its tables and
  figures depend;
- for runs, ``finish(p, rows, findings, results) -> Findings``, which adds tables, figures and verdicts;
  `results` are the repeats of each row by its name, with the points asked.
"""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType
from typing import Any

from pate_cli.checks import read
from pate_cli.config.hydra_composition import packaged
from pate_cli.engine.recipes import STUDY, Recipe
from pate_cli.engine.sources import sources
from pate_cli.errors import ConfigError, InputError
from pate_cli.plugins import contained
from pate_cli.results.findings import Findings, Progress
from pate_cli.results.tables import Table, from_frame
from pate_cli.results.verdicts import SHOWN, VERDICTS
from pate_cli.threads import one_thread

__all__ = ["finisher", "load_study", "parameters", "run_study", "study_code"]


def load_study(recipe: Recipe) -> ModuleType:
    """Import the `study.py` beside a recipe; InputError if it imports what is not installed."""
    # the name of a module beside its siblings: studies import `..common`
    path, name = recipe.directory / STUDY, f"pate_cli.experiments.{recipe.name}.study"
    spec = spec_from_file_location(name, path)
    if not (spec and spec.loader):
        raise InputError(f"{path}: not a Python file")
    module = sys.modules[name] = module_from_spec(spec)  # dataclasses look for their module there
    try:
        with contained():
            spec.loader.exec_module(module)
    except ImportError as error:
        raise InputError(f"{path}: {error}") from error
    return module


def study_code(recipe: Recipe) -> str:
    """Hash a recipe's `study.py` and the modules studies share; empty without one."""
    study = recipe.directory / STUDY
    if not study.is_file():
        return ""
    shared = [
        path for room in ("common", "statements") for path in packaged(f"experiments/{room}").glob("*.py")
    ]
    return hashlib.sha256(b"".join(path.read_bytes() for path in [study, *sorted(shared)])).hexdigest()


def parameters(recipe: Recipe, overrides: Sequence[str], *, quick: bool) -> dict[str, Any]:
    """Parameters of a study: the recipe's, overridden by the quick version, then by those typed."""
    from omegaconf import OmegaConf

    params = recipe.params | (recipe.quick if quick else {})
    for text in overrides:
        key, equals, _ = text.partition("=")
        if not equals:
            raise InputError(f"{text}: cannot be read; accepted: KEY=VALUE")
        if key not in params:
            raise InputError(
                f"{key}: no such parameter of {recipe.name}; there are: {', '.join(params) or 'none'}"
            )
        try:
            typed: Any = OmegaConf.to_container(OmegaConf.from_dotlist([text]))
        except Exception as error:  # of YAML or OmegaConf: many classes, one meaning
            raise ConfigError(key, text.partition("=")[2], f"a value as {params[key]!r}") from error
        params |= typed
    return params


def finisher(recipe: Recipe) -> Callable[..., Findings] | None:
    """Get what the `study.py` beside a recipe of runs adds, its parameters checked; None without one."""
    if not (recipe.directory / STUDY).is_file():
        return None
    module = load_study(recipe)
    return functools.partial(module.finish, read(recipe.params, module.CHECKS) | {"claims": recipe.claims})


def run_study(
    recipe: Recipe, overrides: Sequence[str], progress: Progress, *, quick: bool, config_dir: str | None
) -> Findings:
    """Compute a study; InputError if what was typed is no parameter of it, or not accepted."""
    if config_dir:
        raise InputError(f"--config-dir: {recipe.name} composes no runs")
    params = parameters(recipe, overrides, quick=quick)
    module = load_study(recipe)
    checked = read(params, module.CHECKS)
    with one_thread(), contained():
        result = module.run(checked, progress)
    table = result.table if isinstance(result.table, Table) else from_frame(result.table)
    return Findings(
        about=recipe,
        command=["pate", "reproduce", recipe.name, *overrides, *["--quick"] * quick],
        table=_in_words(table, quick=quick),
        figures=dict(result.figures),
        claims=[verdict.unjudged("quick run") if quick else verdict for verdict in result.verdicts],
        notes=[*recipe.notes, *result.notes],
        quick=quick,
        sources=sources() | {"parameters": ", ".join(f"{key}={value}" for key, value in params.items())},
    )


def _in_words(table: Table, *, quick: bool) -> Table:
    """Verdicts of a study's own table in the words shown; those of a quick run are taken back."""

    def cell(name: str, value: Any) -> Any:
        if name != "verdict" or value not in VERDICTS:
            return value
        return SHOWN["no verdict" if quick and value != "missing" else value]

    heads = [column.header for column in table.columns]
    cells = [list(map(cell, heads, row)) for row in table.cells]
    records = [{name: cell(name, value) for name, value in record.items()} for record in table.records]
    return replace(table, cells=cells, records=records)
