"""One data set with all its rows, and metrics to compare methods by."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import NamedTuple

from pate_cli.compare.baselines import BASELINES, LIMIT
from pate_cli.engine.plan import Plan
from pate_cli.engine.schedule import Results
from pate_cli.report.frame import paired_difference
from pate_cli.report.interval import Interval
from pate_cli.report.table import ABSENT
from pate_cli.reproduce.rows import DoneRow, done_rows

__all__ = ["METRICS", "Board", "Metric", "Place"]


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

    def gap(self, of: DoneRow, minus: DoneRow) -> Interval | None:
        """By how much one is better than another, in `unit`, at the same splits."""
        found = paired_difference(of.repeats, minus.repeats, self.name)
        return found and found.times(self.sign * self.scale)


METRICS = {
    metric.name: metric
    for metric in (
        Metric("accuracy", "accuracy"),
        Metric("balanced_accuracy", "balanced accuracy"),
        Metric("roc_auc", "area under the ROC curve, of each class against the rest"),
        Metric("log_loss", "log loss", -1, 1.0, "nats", 4),
    )
}
"""Every one is in each finished repeat, so that another one costs no run."""


@dataclass(frozen=True, eq=False)
class Board:
    """One data set with the finished rows of all methods and baselines."""

    name: str
    plan: Plan
    results: Results

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

    def row(self, method: str, eps: float) -> DoneRow:
        """The row of a method at a budget."""
        return next(row for row in self.rows if (row.method, row.eps) == (method, eps))


class Place(NamedTuple):
    """Methods of a board at one budget, compared by a metric."""

    board: Board
    eps: float
    metric: Metric

    @property
    def values(self) -> dict[str, Interval]:
        """Mean of the metric of each method that has one, in the order they were named."""
        rows = [row for row in self.board.rows if row.eps == self.eps]
        found = {row.method: row.over(self.metric.name) for row in rows}
        return {name: one for name, one in found.items() if one is not None and math.isfinite(one.mean)}

    @property
    def order(self) -> list[str]:
        """Methods with a value, the best first; of equals, the one named first."""
        values = self.values
        return sorted(values, key=lambda name: -self.metric.sign * values[name].mean)

    def lead(self, of: str, minus: str) -> Interval | None:
        """By how much one method is better than another, in the metric's unit."""
        return self.metric.gap(self.board.row(of, self.eps), self.board.row(minus, self.eps))

    def below(self, method: str) -> Interval | None:
        """How far a method is below the best model without privacy, in the metric's unit."""
        return self.metric.gap(self.board.baselines[LIMIT], self.board.row(method, self.eps))
