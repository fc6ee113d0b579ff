"""Recipes of kind `study`: a module of `pate_cli.studies` computes the table."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from pate_cli.config.recipes import Recipe
from pate_cli.engine.progress import Advance
from pate_cli.errors import ConfigError, InputError
from pate_cli.report.findings import Findings
from pate_cli.report.table import from_frame
from pate_cli.reproduce.assemble import sources

__all__ = ["parameters", "run_study"]


def parameters(recipe: Recipe, given: Sequence[str], *, quick: bool) -> dict[str, Any]:
    """Parameters of a study: the recipe's, those of the quick version over them, what was typed over both.

    Raises
    ------
    InputError
        If a parameter is not one of the recipe's, or its value cannot be read.
    """
    from omegaconf import OmegaConf

    params = recipe.params | (recipe.quick if quick else {})
    for text in given:
        key, equals, _ = text.partition("=")
        if not equals:
            raise InputError(f"{text}: cannot be read; accepted: KEY=VALUE")
        if key not in params:
            raise InputError(
                f"{key}: no such parameter of {recipe.name}; there are: {', '.join(params) or 'none'}"
            )
        try:
            read: Any = OmegaConf.to_container(OmegaConf.from_dotlist([text]))
        except Exception as error:  # of YAML or OmegaConf: many classes, one meaning
            raise ConfigError(key, text.partition("=")[2], f"a value as {params[key]!r}") from error
        params |= read
    return params


def run_study(recipe: Recipe, given: Sequence[str], *, quick: bool, advance: Advance) -> Findings:
    """Compute a study.

    Raises
    ------
    InputError
        As `parameters`, or as the study says.
    """
    params = parameters(recipe, given, quick=quick)
    try:
        module = import_module(f"pate_cli.studies.{recipe.study.replace('-', '_')}")
    except ModuleNotFoundError as error:
        raise InputError(f"{recipe.name}: study: there is no study {recipe.study!r} ({error})") from error
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):  # the same sums in the same order on every machine
        result = module.run(params, quick=quick, progress=lambda done, total: advance(done, 0, total))
    return Findings(
        recipe=recipe,
        command=["pate", "reproduce", recipe.name, *given, *["--quick"] * quick],
        table=from_frame(result.table),
        figures=dict(result.figures),
        claims=list(result.verdicts),
        notes=[*recipe.notes, *result.notes],
        quick=quick,
        sources=sources() | {"parameters": ", ".join(f"{key}={value}" for key, value in params.items())},
    )
