"""Verdicts of a recipe, stored beside its tables with a hash of everything they depend on.

`pate reproduce all` reads them: a recipe that is done is not done again, and one page shows all verdicts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pate_cli.config.command_line import without_place
from pate_cli.engine.recipes import Recipe
from pate_cli.engine.sources import dependencies
from pate_cli.engine.studies import parameters, study_code
from pate_cli.results.page import Findings
from pate_cli.results.provenance import plain
from pate_cli.results.verdicts import Verdict
from pate_cli.terminal import write_file

__all__ = ["FILE", "RecipeOutcome", "key_of", "load", "save"]

FILE = "claims.json"
"""Name of the file, among those of a recipe."""

_SCHEMA = 1


@dataclass(frozen=True)
class RecipeOutcome:
    """Status and verdicts of one recipe."""

    recipe: str
    status: str  # done, missing (its data), refused (its overrides), failed or not run
    message: str = ""  # why it is not done
    command: list[str] = field(default_factory=list)  # that runs it again
    verdicts: list[Verdict] = field(default_factory=list)  # of its rows, then of its claims

    @classmethod
    def of(cls, findings: Findings) -> RecipeOutcome:
        """Outcome of a recipe that was run."""
        why = "; ".join(findings.failures)
        verdicts = [*findings.rows, *findings.claims]
        return cls(findings.about.name, "failed" if why else "done", why, findings.command, verdicts)


def key_of(recipe: Recipe, given: Sequence[str], *, quick: bool) -> str:
    """Hash everything that the numbers of a recipe depend on: itself, overrides, all source, the libraries.

    Of the data, only which files are on this machine: their digests are published and checked, and recipes
    of runs have their own key for each finished repeat. InputError if what was typed is no parameter.
    """
    study = recipe.kind == "study"
    typed: Any = parameters(recipe, given, quick=quick) if study else without_place(given)
    content = {"recipe": asdict(recipe) | {"directory": None}, "typed": typed, "quick": quick}
    content |= dependencies() | {"study": study_code(recipe), "schema": _SCHEMA}
    return hashlib.sha256(json.dumps(plain(content), sort_keys=True).encode()).hexdigest()


def save(directory: Path, outcome: RecipeOutcome, key: str) -> None:
    """Write an outcome beside the tables of its recipe, whole or not at all."""
    content = plain({"schema": _SCHEMA, "key": key, "outcome": asdict(outcome)})
    directory.mkdir(parents=True, exist_ok=True)
    write_file(directory / FILE, json.dumps(content, indent=1, allow_nan=False) + "\n")


def load(directory: Path, key: str) -> RecipeOutcome | None:
    """Read an outcome back; None if there is none, it is damaged, or its key is another."""
    try:
        content = json.loads((directory / FILE).read_bytes())
        if content["key"] != key:
            return None
        verdicts = [Verdict.read(verdict) for verdict in content["outcome"]["verdicts"]]
        return RecipeOutcome(**content["outcome"] | {"verdicts": verdicts})
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
