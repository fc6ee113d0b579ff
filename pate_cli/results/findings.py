"""What a recipe or a study found: tables, figures and verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from pate_cli.results.tables import Table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from pate_cli.results.verdicts import Verdict

__all__ = ["About", "Findings", "Progress", "StudyResult"]


@dataclass(frozen=True, kw_only=True)
class About:
    """Name, title and source of a result."""

    name: str
    title: str
    source: str  # paper, table or figure, page; of other results their sizes
    shows: str  # one sentence
    printed: dict[str, Any] = field(default_factory=dict)  # in the paper, but of no row


@dataclass(frozen=True, eq=False)
class Findings:
    """Tables, figures and verdicts."""

    about: About
    command: list[str]  # that makes it again
    table: Table
    more: dict[str, Table] = field(default_factory=dict)  # by the stem of their files
    figures: dict[str, Callable[[], Figure]] = field(default_factory=dict)
    rows: list[Verdict] = field(default_factory=list)
    claims: list[Verdict] = field(default_factory=list)  # on the paper's observations
    # rows without numbers: name, status, reason
    absent: list[tuple[str, str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    settings: Table | None = None  # that all rows share; on the page alone
    quick: bool = False
    private: bool = False  # whether its data may be somebody's
    sources: dict[str, str] = field(default_factory=dict)  # data, code, versions
    commands: dict[str, list[str]] = field(default_factory=dict)  # that run each row by itself
    failures: list[str] = field(default_factory=list)


Progress: TypeAlias = Callable[[int, int], None]
"""Called with (steps done, steps in all)."""


@dataclass(frozen=True, eq=False)
class StudyResult:
    """Result of a study.

    Attributes
    ----------
    table : DataFrame or Table
    figures : mapping of str to function
        Each draws a new `matplotlib.figure.Figure`, without pyplot's global state.
    verdicts : list of Verdict
    notes : list of str
        Below the table: sizes, units, what is exact.
    """

    table: pd.DataFrame | Table
    figures: Mapping[str, Callable[[], Figure]]
    verdicts: list[Verdict] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
