"""What a recipe came to, ready to be written: whatever its kind."""

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
    """Tables, figures and verdicts of one recipe.

    Attributes
    ----------
    recipe : Recipe
    command : list of str
        What makes it again.
    table : Table
    more : dict of str to Table
        Further tables, by the stem of their files.
    figures : dict of str to function
        By name, each drawing one.
    rows, claims : list of Verdict
        Of single rows, and of the paper's observations.
    absent : list of (str, str, str)
        Rows without numbers: name, status, and the reason with what would help.
    notes : list of str
    statements : list of str
        What the numbers say, where there is no paper to compare them with.
    quick : bool
    sources : dict of str to str
        What the numbers came from: data, code, versions.
    commands : dict of str to list of str
        The command that runs each row by itself, by the row's name.
    failures : list of str
        What should have given a number and did not.
    """

    recipe: Recipe
    command: list[str]
    table: Table
    more: dict[str, Table] = field(default_factory=dict)
    figures: dict[str, Callable[[], Figure]] = field(default_factory=dict)
    rows: list[Verdict] = field(default_factory=list)
    claims: list[Verdict] = field(default_factory=list)
    absent: list[tuple[str, str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)
    quick: bool = False
    sources: dict[str, str] = field(default_factory=dict)
    commands: dict[str, list[str]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
