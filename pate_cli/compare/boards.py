"""One data set with all its finished rows, and metrics to compare methods by."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pate_cli.compare.baselines import BASELINES, LIMIT
from pate_cli.compare.ranking import Ranking, ranking
from pate_cli.engine.plan import Plan
from pate_cli.engine.schedule import Results
from pate_cli.reproduce.rows import DoneRow, done_rows
from pate_cli.results.interval import Interval
from pate_cli.results.means import paired_difference
from pate_cli.results.tables import ABSENT

__all__ = ["ACCURACY", "METRICS", "Board", "Metric", "Standing", "standings"]


class Metric(NamedTuple):
    """A measure to compare methods by."""

    name: str  # as in a finished repeat
    words: str
    sign: int = 1  # 1 if larger is better, else -1
    scale: float = 100.0  # of a difference, for `unit`
    unit: str = "points"
    digits: int = 2  # shown of a difference

    def text(self, gap: Interval | None, *, sign: bool = False) -> str:
        """Write a difference with its interval."""
        return ABSENT if gap is None else gap.text(self.digits, sign=sign)


METRICS = {
    metric.name: metric
    for metric in (
        Metric("accuracy", "accuracy"),
        Metric("balanced_accuracy", "balanced accuracy"),
        Metric("roc_auc", "area under the ROC curve, of each class against the rest"),
        Metric("log_loss", "log loss", -1, 1.0, "nats", 4),
    )
}
"""Metrics of a leaderboard: each is in every finished repeat, so that a change of metric costs no run."""

ACCURACY = Metric("accuracy", "accuracy", 1, 1.0, "", 4)
"""Metric of a frontier, in shares."""


@dataclass(frozen=True, eq=False)
class Board:
    """One data set with the finished rows of all methods and baselines."""

    name: str
    plan: Plan
    results: Results
    metric: Metric = ACCURACY

    @functools.cached_property
    def _done(self) -> list[DoneRow]:
        return done_rows(self.plan, self.results)

    @functools.cached_property
    def rows(self) -> list[DoneRow]:
        """Rows of methods."""
        return [row for row in self._done if row.name not in BASELINES]

    @functools.cached_property
    def baselines(self) -> dict[str, DoneRow]:
        """Rows of baselines by name, in the order of `BASELINES`."""
        found = {row.name: row for row in self._done if row.name in BASELINES}
        return {name: found[name] for name in BASELINES if name in found}

    @property
    def methods(self) -> list[str]:
        """Names of the methods, in the order they were given."""
        return list(dict.fromkeys(row.method for row in self.rows))

    @property
    def budgets(self) -> list[float]:
        """Values of eps, ascending."""
        return sorted({row.eps for row in self.rows})

    def row(self, name: str, eps: float) -> DoneRow:
        """The row of a method at a budget, or of a baseline."""
        if name in self.baselines:
            return self.baselines[name]
        return next(row for row in self.rows if (row.method, row.eps) == (name, eps))

    def values(self, eps: float) -> dict[str, Interval]:
        """Mean of the metric of each method that has one, the best first; of equals, the one named first."""
        found = {row.method: row.over(self.metric.name) for row in self.rows if row.eps == eps}
        there = {name: one for name, one in found.items() if one is not None and math.isfinite(one.mean)}
        return dict(sorted(there.items(), key=lambda item: -self.metric.sign * item[1].mean))

    def lead(self, of: str, minus: str, eps: float) -> Interval | None:
        """By how much one row is better than another at the same splits, in the metric's unit."""
        rows = self.row(of, eps), self.row(minus, eps)
        gap = paired_difference(rows[0].repeats, rows[1].repeats, self.metric.name)
        return gap and gap.times(self.metric.sign * self.metric.scale)

    def below(self, name: str, eps: float) -> Interval | None:
        """How far a method is below the best model without privacy, in the metric's unit."""
        return self.lead(LIMIT, name, eps)


class Standing(NamedTuple):
    """A method at a budget, over several boards."""

    ranking: Ranking
    scores: list[float | None]  # of each board, larger is better; None where it has none
    below: list[float]  # distances to the best model without privacy, where there are


def standings(boards: Sequence[Board]) -> dict[float, dict[str, Standing]]:
    """Standings by eps and method, on boards with the same methods, budgets and metric."""
    found = {}
    for eps in boards[0].budgets:
        values = [board.values(eps) for board in boards]
        sign = boards[0].metric.sign
        scores = {
            name: [sign * one[name].mean if name in one else None for one in values]
            for name in boards[0].methods
        }
        found[eps] = {
            name: Standing(
                one, scores[name], [gap.mean for board in boards if (gap := board.below(name, eps))]
            )
            for name, one in ranking(scores).items()
        }
    return found
