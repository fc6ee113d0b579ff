"""Studies: results of a paper that are not runs of PATE, each a module with one function `run`.

``run(params, *, quick, progress) -> StudyResult``; `experiments/NAME/recipe.yaml` names the
module and gives the parameters. Tables and figures depend on the parameters alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

from pate_cli.report.verdict import VERDICTS, Verdict

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["VERDICTS", "Progress", "Study", "StudyResult", "Verdict"]

Progress: TypeAlias = Callable[[int, int], None]
"""Called with (steps done, steps in all)."""


@dataclass(frozen=True, eq=False)
class StudyResult:
    """What a study hands to the report.

    Attributes
    ----------
    table : DataFrame
        Deterministic for given parameters.
    figures : dict of str to function
        Each draws a new `matplotlib.figure.Figure`, without pyplot's global state.
    verdicts : list of Verdict
    notes : list of str
        What a reader must know to read the table: one sentence or two each.
    """

    table: pd.DataFrame
    figures: dict[str, Callable[[], Figure]]
    verdicts: list[Verdict] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class Study(Protocol):
    """The function `run` of a study's module."""

    def __call__(self, params: dict[str, object], *, quick: bool, progress: Progress) -> StudyResult:
        """Compute the study.

        Parameters
        ----------
        params : dict
            The recipe's `params`, with those of `quick` over them where `quick` is set.
        quick : bool
            Whether this is the small run of the test suite.
        progress : function
            See `Progress`.

        Raises
        ------
        ConfigError
            If a parameter is unknown or its value is not accepted.
        """
