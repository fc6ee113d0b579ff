"""Rows of a frontier by dataset, method and budget, and the metrics to compare them by."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from pate_cli.results import means
from pate_cli.results.interval import Interval
from pate_cli.results.means import MeasuredRow, other_splits, pool_seeds
from pate_cli.results.settings import BASELINES, FAMILY, LIMIT, NAMES, differing
from pate_cli.results.tables import ABSENT

__all__ = ["ACCURACY", "METRICS", "Board", "Metric", "boards_of"]


class Metric(NamedTuple):
    """A measure to compare methods by."""

    name: str  # as in a finished repeat
    words: str
    sign: int = 1  # 1 if larger is better, else -1
    scale: float = 100.0  # for `unit`, of which a level is percent
    unit: str = "points"
    digits: int = 1  # shown

    @property
    def percent(self) -> str:
        """Sign behind a level."""
        return "%" if self.unit == "points" else f" {self.unit}"

    @property
    def heading(self) -> str:
        """Words and unit, as "accuracy, %"."""
        return f"{self.words}, {self.percent.strip()}"

    @property
    def less(self) -> str:
        """How a worse level compares: less, or more where smaller is better."""
        return "less" if self.sign > 0 else "more"

    @property
    def more(self) -> str:
        """How a better level compares."""
        return "more" if self.sign > 0 else "less"

    def level(self, mean: Interval | float | None, *, ci: bool = False) -> str:
        """Write a level without its unit, as 56.1 or "56.1 ± 0.8"."""
        if mean is None:
            return ABSENT
        interval = mean if isinstance(mean, Interval) else Interval(mean, None, 1)
        interval = interval if ci else replace(interval, half_width=None)
        return interval.times(self.scale).text(self.digits)

    def text(self, gap: Interval | None, *, sign: bool = False) -> str:
        """Write a difference, in the unit, with its interval."""
        return ABSENT if gap is None else gap.text(self.digits, sign=sign).replace("-", "−")


METRICS = {
    metric.name: metric
    for metric in (
        Metric("accuracy", "accuracy"),
        Metric("balanced_accuracy", "balanced accuracy"),
        Metric("roc_auc", "ROC AUC"),
        Metric("log_loss", "log loss", -1, 1.0, "nats", 3),
    )
}
"""Measures to compare methods by: each is in every finished repeat, so that a change of it costs no run."""

ACCURACY = METRICS["accuracy"]


@dataclass(frozen=True, eq=False)
class Board:
    """Rows on one dataset."""

    name: str
    every: Sequence[MeasuredRow]
    metric: Metric = ACCURACY

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
        """Finite values of eps, ascending; of rows without privacy alone, infinity."""
        eps = sorted({row["eps"] for row in self.rows if row["eps"] is not None})
        return [value for value in eps if math.isfinite(value)] or eps

    @property
    def is_grid(self) -> bool:
        """Whether every method has one row at every budget, and no other."""
        cells = [(row["method"], row["eps"]) for row in self.rows]
        grid = {(name, eps) for name in self.methods for eps in self.budgets}
        return bool(cells) and len(cells) == len(grid) and {*cells} == grid

    def cell(self, name: str, eps: float) -> MeasuredRow | None:
        """The row of a method at a budget, or of a baseline; None if there is none."""
        if name in self.baselines:
            return self.baselines[name]
        return next((row for row in self.rows if (row["method"], row["eps"]) == (name, eps)), None)

    def values(self, eps: float) -> dict[str, Interval]:
        """Mean of the metric of each method that has one, the best first; of equals, the one named first."""
        means = {row["method"]: row.over(self.metric.name) for row in self.rows if row["eps"] == eps}
        finite = {name: mean for name, mean in means.items() if mean is not None and math.isfinite(mean.mean)}
        return dict(sorted(finite.items(), key=lambda item: -self.metric.sign * item[1].mean))

    def lead(self, method: str, reference: str, eps: float) -> Interval | None:
        """By how much one row is better than another at the same splits, in the metric's unit.

        The interval is of what is to be expected on new records.
        """
        row, other = self.cell(method, eps), self.cell(reference, eps)
        if row is None or other is None or other_splits(row, other):
            return None
        gap = means.lead(row, other, self.metric.name)
        return gap and gap.times(self.metric.sign * self.metric.scale)

    def below(self, name: str, eps: float) -> Interval | None:
        """How far a method is below the best model without privacy, in the metric's unit."""
        return self.lead(LIMIT, name, eps) if LIMIT in self.baselines else None


def boards_of(rows: Sequence[MeasuredRow]) -> list[Board]:
    """Boards of rows, one a dataset, or one a directory where each has baselines of its own.

    Rows that differ in nothing but the seed are one; methods with several rows at an eps are named with their
    settings, and where these are the same, with their directory: no row takes another's place.
    """
    rows = pool_seeds(rows)
    baselines = [(row["dataset"], row["method"]) for row in rows if row["method"] in BASELINES]
    repeated = {dataset for dataset, name in baselines if baselines.count((dataset, name)) > 1}
    boards: dict[str, list[MeasuredRow]] = {}
    for row in rows:
        name = str(row["dataset"]) + f" ({row['directory']})" * (row["dataset"] in repeated)
        boards.setdefault(name, []).append(row)
    return [Board(name, _distinct(group), ACCURACY) for name, group in boards.items()]


def _distinct(rows: Sequence[MeasuredRow]) -> list[MeasuredRow]:
    """Rows whose methods have names of their own at each eps."""
    if not _repeated(rows):
        return list(rows)
    names = dict.fromkeys(name for row in rows for name in row.left if name not in NAMES)
    settings = differing([row.columns for row in rows], names)
    renamed = []
    for row in rows:
        values = [f"{name.rpartition('.')[2]}={row[name]}" for name in settings if row[name] is not None]
        renamed.append(replace(row, columns={**row.columns, "method": ", ".join([row["method"], *values])}))
    ambiguous = _repeated(renamed)
    return [
        replace(row, columns={**row.columns, "method": f"{row['method']} ({row['directory']})"})
        if (row["method"], row["eps"]) in ambiguous
        else row
        for row in renamed
    ]


def _repeated(rows: Sequence[MeasuredRow]) -> set[tuple[str, float]]:
    """Methods with several rows at an eps."""
    counts = Counter((row["method"], row["eps"]) for row in rows)
    return {key for key, count in counts.items() if count > 1}
