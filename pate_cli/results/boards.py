"""Rows of a frontier by dataset, method and budget, and the metrics to compare them by."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from pate_cli.results.interval import Interval
from pate_cli.results.means import MeasuredRow, paired_difference
from pate_cli.results.ranking import Ranking, ranking
from pate_cli.results.settings import NAMES, differing
from pate_cli.results.tables import ABSENT

__all__ = [
    "ACCURACY",
    "ALL_PRIVATE",
    "BASELINES",
    "EXACT",
    "FAMILY",
    "LIMIT",
    "MAJORITY",
    "NOT_PRIVATE",
    "TRUE_LABELS",
]
__all__ += ["METRICS", "Board", "Metric", "Standing", "boards_of", "standings"]

NOT_PRIVATE = "not differentially private"
ALL_PRIVATE, TRUE_LABELS, MAJORITY = "all private records", "student on true labels", "majority class"
LIMIT = "best model without privacy"
EXACT = "student on exact votes"

_SHORT = {
    "gradient boosting": "boosted trees",
    "kernel machine": "SVM",
    "logistic regression": "linear model",
}
"""Families in tables of a terminal."""

FAMILY = "is "
"""Prefix of the family of the best model, among the diagnostics of its repeat."""

BASELINES = {
    LIMIT: "the best of gradient boosting, kernel machine, logistic regression on all private records, "
    "chosen by cross-validated accuracy on at most 3,000 of them at the first split, and fitted at each on "
    "at most 100,000 (a kernel machine: 20,000)",
    ALL_PRIVATE: "the student's learner fitted on all private records with their labels",
    TRUE_LABELS: "the student fitted on all public points with their true labels",
    EXACT: "the student fitted on all public points, each labelled by the exact vote of the teachers",
    MAJORITY: "the largest class of the private records, whatever the point",
}
"""Non-private baselines: the name and meaning of each, in the order shown."""


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
"""Metrics of a frontier: each is in every finished repeat, so that a change of metric costs no run."""

ACCURACY = Metric("accuracy", "accuracy", 1, 1.0, "", 4)
"""Metric of a frontier, in shares."""


@dataclass(frozen=True, eq=False)
class Board:
    """Rows on one dataset."""

    name: str
    every: Sequence[MeasuredRow]
    metric: Metric = ACCURACY
    learner: str = ""  # of the student, by which the baseline on all private records is called

    def shown(self, name: str) -> str:
        """Name of a method or a baseline in tables, figures and sentences: that of a model's learner."""
        if self.learner and name == ALL_PRIVATE:
            return f"{self.learner} without privacy"
        if self.learner and name == LIMIT and len(self.families) == 1:
            (family,) = self.families
            return f"{_SHORT.get(family, family)} without privacy"
        return name

    @property
    def families(self) -> dict[str, int]:
        """At how many splits each family is the best model without privacy, the most frequent first."""
        if (row := self.baselines.get(LIMIT)) is None:
            return {}
        counts = {name: int(row.repeats[name].count()) for name in row.measures if name.startswith(FAMILY)}
        return {name.removeprefix(FAMILY): n for name, n in sorted(counts.items(), key=lambda item: -item[1])}

    @functools.cached_property
    def rows(self) -> list[MeasuredRow]:
        """Rows of methods."""
        return [row for row in self.every if row["method"] not in BASELINES]

    @functools.cached_property
    def baselines(self) -> dict[str, MeasuredRow]:
        """Rows of baselines by name, in the order of `BASELINES`."""
        by_name = {row["method"]: row for row in self.every}
        return {name: by_name[name] for name in BASELINES if name in by_name}

    @property
    def methods(self) -> list[str]:
        """Names of the methods, in the order they were given."""
        return list(dict.fromkeys(row["method"] for row in self.rows))

    @property
    def budgets(self) -> list[float]:
        """Finite values of eps, ascending."""
        return sorted({eps for row in self.rows if (eps := row["eps"]) is not None and math.isfinite(eps)})

    @property
    def is_grid(self) -> bool:
        """Whether every method has one row at every budget, and no other."""
        cells = [(row["method"], row["eps"]) for row in self.rows]
        every = {(name, eps) for name in self.methods for eps in self.budgets}
        return bool(cells) and len(cells) == len(every) and {*cells} == every

    def row(self, name: str, eps: float) -> MeasuredRow:
        """The row of a method at a budget, or of a baseline."""
        if name in self.baselines:
            return self.baselines[name]
        return next(row for row in self.rows if (row["method"], row["eps"]) == (name, eps))

    def values(self, eps: float) -> dict[str, Interval]:
        """Mean of the metric of each method that has one, the best first; of equals, the one named first."""
        means = {row["method"]: row.over(self.metric.name) for row in self.rows if row["eps"] == eps}
        finite = {name: mean for name, mean in means.items() if mean is not None and math.isfinite(mean.mean)}
        return dict(sorted(finite.items(), key=lambda item: -self.metric.sign * item[1].mean))

    def lead(self, of: str, minus: str, eps: float) -> Interval | None:
        """By how much one row is better than another at the same splits, in the metric's unit."""
        if {of, minus} & (BASELINES.keys() - self.baselines.keys()):  # not measured, as of a sweep
            return None
        gap = paired_difference(self.row(of, eps), self.row(minus, eps), self.metric.name)
        return gap and gap.times(self.metric.sign * self.metric.scale)

    def below(self, name: str, eps: float) -> Interval | None:
        """How far a method is below the best model without privacy, in the metric's unit."""
        return self.lead(LIMIT, name, eps) if LIMIT in self.baselines else None


def boards_of(rows: Sequence[MeasuredRow], metric: Metric = ACCURACY, learner: str = "") -> list[Board]:
    """Boards of rows, one a dataset; methods with several rows at an eps are named with their settings."""
    boards: dict[str, list[MeasuredRow]] = {}
    for row in _distinct(rows):
        boards.setdefault(row["dataset"], []).append(row)
    return [Board(name, every, metric, learner) for name, every in boards.items()]


def _distinct(rows: Sequence[MeasuredRow]) -> list[MeasuredRow]:
    keys = [(row["dataset"], row["method"], row["eps"]) for row in rows]
    if len(set(keys)) == len(keys):
        return list(rows)
    names = dict.fromkeys(name for row in rows for name in row.left if name not in NAMES)
    apart = differing([row.columns for row in rows], names)
    named = []
    for row in rows:
        own = [f"{name.rpartition('.')[2]}={row[name]}" for name in apart if row[name] is not None]
        named.append(replace(row, columns={**row.columns, "method": ", ".join([row["method"], *own])}))
    return named


class Standing(NamedTuple):
    """A method at a budget, over several boards."""

    ranking: Ranking
    scores: list[float | None]  # of each board, larger is better; None where it has none
    below: list[float]  # distances to the best model without privacy, where there are


def standings(boards: Sequence[Board]) -> dict[float, dict[str, Standing]]:
    """Standings by eps and method, on boards with the same methods, budgets and metric."""
    by_eps = {}
    for eps in boards[0].budgets:
        values = [board.values(eps) for board in boards]
        sign = boards[0].metric.sign
        scores = {
            name: [sign * means[name].mean if name in means else None for means in values]
            for name in boards[0].methods
        }
        by_eps[eps] = {
            name: Standing(
                ranks, scores[name], [gap.mean for board in boards if (gap := board.below(name, eps))]
            )
            for name, ranks in ranking(scores).items()
        }
    return by_eps
