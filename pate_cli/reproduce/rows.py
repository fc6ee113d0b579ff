"""Finished rows: measured and printed numbers, and pairs at the same splits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from pate_cli.engine.plan import Plan, PlannedRow
from pate_cli.engine.schedule import Failure, Results
from pate_cli.engine.store import RepeatRecord
from pate_cli.privacy.gaussian import eps_of_mu
from pate_cli.report.frame import frame_of, mean_of, paired_difference
from pate_cli.report.interval import Interval

__all__ = ["DoneRow", "Pair", "done_rows", "matches", "pairs"]


@dataclass(frozen=True, eq=False)
class DoneRow:
    """One row with its finished repeats."""

    planned: PlannedRow
    units: Sequence[RepeatRecord]  # empty unless ready
    failures: Sequence[Failure]

    @property
    def name(self) -> str:
        """Unique among the rows."""
        return self.planned.spec.name

    @property
    def method(self) -> str:
        """As the paper calls it, or the mechanism's own name."""
        return self.planned.method

    @property
    def dataset(self) -> str:
        """Name of the dataset."""
        return self.planned.dataset

    @property
    def status(self) -> str:
        """One of ok, missing, infeasible and failed."""
        if self.planned.status != "ready":
            return self.planned.status
        return "failed" if self.failures or not self.units else "ok"

    @property
    def message(self) -> str:
        """Why there are no numbers, or fewer than there should be."""
        if not self.failures:
            return self.planned.message
        first = self.failures[0]
        return f"{len(self.failures)} of {self.planned.config.repeats} repeats failed: {first.message}"

    @property
    def printed(self) -> dict[str, Any]:
        """Numbers printed in the paper; may be empty."""
        return self.planned.spec.printed

    @property
    def eps(self) -> float:
        """The budget."""
        return self.planned.config.eps

    @cached_property
    def _public(self) -> dict[str, Any]:
        """Public numbers of the calibrated mechanism; empty where the row cannot run."""
        return self.planned.prepared.plan.describe() if self.planned.prepared else {}

    @property
    def budget(self) -> int | None:
        """Largest number of queries."""
        return self._public.get("ell")

    @property
    def cutoff(self) -> int | None:
        """T of the sparse vector technique: calibrated, or configured where the row cannot run."""
        if self.planned.prepared is None:
            mechanism = self.planned.config.mechanism
            return mechanism.options.cutoff if mechanism.oracle == "svt" else None
        return self._public.get("cutoff")

    @property
    def n_teachers(self) -> int | None:
        """K, or the configured number where the row cannot run."""
        prepared = self.planned.prepared
        return prepared.n_teachers if prepared else self.planned.config.teacher.count

    @cached_property
    def majority(self) -> float | None:
        """Share of the largest class of the dataset: the accuracy of a constant."""
        if self.planned.prepared is None:
            return None
        y = self.planned.prepared.dataset.y
        return float(np.bincount(y).max() / len(y))

    @cached_property
    def repeats(self) -> pd.DataFrame:
        """Measures of the repeats; see `report.frame.frame_of`."""
        return frame_of(self.units)

    def over(self, name: str) -> Interval | None:
        """Mean of a measure over repeats."""
        return mean_of(self.repeats, name)

    @property
    def difference(self) -> Interval | None:
        """Our accuracy less the printed one, taken as exact: its own interval is printed beside it."""
        ours = self.over("accuracy")
        return ours.less(self.printed["accuracy"]) if ours and "accuracy" in self.printed else None

    @property
    def eps_ex_post_at_printed(self) -> float | None:
        """Loss after the fact by our calibration at the paper's mean number of queries.

        None where the paper prints no such number, or the mechanism is not the Gaussian one.
        """
        queries = self.printed.get("queries")
        if queries is None or self.planned.prepared is None:
            return None
        if math.isinf(self.eps):
            return math.inf
        public = self._public
        if "sigma" not in public or queries > public["ell"]:
            return None
        return eps_of_mu(
            public["sensitivity"] * math.sqrt(queries) / public["sigma"], self.planned.prepared.delta
        )

    def chosen(self, where: dict[str, Any]) -> bool:
        """Whether it matches a filter, as ``{dataset: [mushroom, a9a]}``; x of figures are such keys, too."""
        return all(
            self.value(key) in (accepted if isinstance(accepted, list) else [accepted])
            for key, accepted in where.items()
        )

    def value(self, key: str) -> Any:
        """Value to choose rows by: dataset, method, panel, eps, cutoff, teachers or name."""
        name = {"teachers": "n_teachers"}.get(key, key)
        return self.planned.spec.panel if key == "panel" else getattr(self, name)


@dataclass(frozen=True, eq=False)
class Pair:
    """Two methods at the same splits."""

    of: DoneRow
    minus: DoneRow

    @property
    def case(self) -> str:
        """Where they are compared, in a few words: panel or dataset, the budget, and T where there is one."""
        cutoffs = dict.fromkeys(str(row.cutoff) for row in (self.of, self.minus) if row.cutoff is not None)
        parts = [self.of.planned.spec.panel or self.of.dataset, f"eps={self.of.eps:g}"]
        return " ".join([*parts, *([f"T={'/'.join(cutoffs)}"] if cutoffs else [])])

    @property
    def missing(self) -> str:
        """Status of the row without numbers."""
        return next((row.status for row in (self.of, self.minus) if not row.units), "not measured")

    def over(self, name: str) -> Interval | None:
        """Mean difference of a measure."""
        return paired_difference(self.of.repeats, self.minus.repeats, name)


def done_rows(plan: Plan, results: Results) -> list[DoneRow]:
    """Put each row of a plan together with its results."""
    return [
        DoneRow(
            row,
            results.units.get(row.spec.name, []),
            [failure for failure in results.failures if failure.row == row.spec.name],
        )
        for row in plan.rows
    ]


def pairs(rows: Sequence[DoneRow], of: str, minus: str) -> list[Pair]:
    """Rows of two methods with the same panel, teachers and budget, where both have numbers."""
    return [pair for pair in matches(rows, of, minus) if pair.of.units and pair.minus.units]


def matches(rows: Sequence[DoneRow], of: str, minus: str) -> list[Pair]:
    """Rows of two methods with the same panel, teachers and budget, those without numbers too."""
    return [
        Pair(row, other)
        for other in rows
        for row in rows
        if (row.method, other.method) == (of, minus)
        and (row.planned.spec.panel, row.eps) == (other.planned.spec.panel, other.eps)
        and row.planned.teaching == other.planned.teaching
    ]
