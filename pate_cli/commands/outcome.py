"""Verdicts of a recipe, a table beside its repeats, with a hash of everything they depend on.

`pate reproduce all` reads them: a recipe that is done is not done again, and one page shows all verdicts.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pate_cli.config.command_line import without_place
from pate_cli.engine.recipes import Recipe
from pate_cli.engine.sources import dependencies
from pate_cli.engine.studies import parameters, study_code
from pate_cli.results.findings import Findings
from pate_cli.results.settings import plain
from pate_cli.results.verdicts import Verdict
from pate_cli.terminal import write_file

__all__ = ["FILE", "RecipeOutcome", "key_of", "load", "recipe_in", "save"]

FILE = "verdicts.csv"
"""Name of the file, among those of a recipe."""

_SCHEMA = 2


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


def key_of(recipe: Recipe, overrides: Sequence[str], *, quick: bool) -> str:
    """Hash everything that the numbers of a recipe depend on: itself, overrides, all source, the libraries.

    Of the data, only which files are on this machine: their digests are published and checked, and recipes
    of runs have their own key for each finished repeat. InputError if what was typed is no parameter.
    """
    study = recipe.kind == "study"
    typed: Any = parameters(recipe, overrides, quick=quick) if study else without_place(overrides)
    content = {"recipe": asdict(recipe) | {"directory": None}, "typed": typed, "quick": quick}
    content |= dependencies() | {"study": study_code(recipe), "schema": _SCHEMA}
    return hashlib.sha256(json.dumps(plain(content), sort_keys=True).encode()).hexdigest()


def save(directory: Path, outcome: RecipeOutcome, key: str) -> None:
    """Write an outcome beside the repeats of its recipe, whole or not at all: a line a verdict."""
    of = {"key": key, "recipe": outcome.recipe, "status": outcome.status, "message": outcome.message}
    of |= {"command": shlex.join(outcome.command), "verdicts": str(len(outcome.verdicts))}
    lines = [of | verdict.record for verdict in outcome.verdicts] or [of]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    directory.mkdir(parents=True, exist_ok=True)
    write_file(directory / FILE, text.getvalue())


def recipe_in(directory: Path) -> str:
    """Name of the recipe whose outcome is in a directory; empty if there is none."""
    try:
        with (directory / FILE).open(encoding="utf-8", newline="") as file:
            return next(csv.DictReader(file), {}).get("recipe", "")
    except (OSError, ValueError, csv.Error):
        return ""


def load(directory: Path, key: str) -> RecipeOutcome | None:
    """Read an outcome back; None if there is none, it is damaged, or its key is another."""
    try:
        text = (directory / FILE).read_text("utf-8")
        first, *others = lines = list(csv.DictReader(io.StringIO(text)))
        if not text.endswith("\n") or any(line["key"] != key for line in lines):
            return None
        verdicts = [Verdict.read(line) for line in lines] if others or first.get("claim") else []
        if len(verdicts) != int(first["verdicts"]):
            return None
        command = shlex.split(first["command"])
        return RecipeOutcome(first["recipe"], first["status"], first["message"], command, verdicts)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
