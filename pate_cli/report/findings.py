"""Results of a recipe, a frontier or a leaderboard, ready to be written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pate_cli.config.recipes import Recipe
from pate_cli.report.table import Table
from pate_cli.report.verdict import Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Findings"]


@dataclass(frozen=True, eq=False)
class Findings:
    """Tables, figures and verdicts."""

    recipe: Recipe
    command: list[str]  # that makes it again
    table: Table
    more: dict[str, Table] = field(default_factory=dict)  # by the stem of their files
    figures: dict[str, Callable[[], Figure]] = field(default_factory=dict)
    rows: list[Verdict] = field(default_factory=list)
    claims: list[Verdict] = field(default_factory=list)  # on the paper's observations
    # rows without numbers: name, status, reason
    absent: list[tuple[str, str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)  # computed from the numbers, where there is no paper
    quick: bool = False
    sources: dict[str, str] = field(default_factory=dict)  # data, code, versions
    commands: dict[str, list[str]] = field(default_factory=dict)  # that run each row by itself
    failures: list[str] = field(default_factory=list)
