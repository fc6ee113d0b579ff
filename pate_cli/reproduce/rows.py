"""Finished rows: measured and printed numbers, pairs at the same splits, and tables of both."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from pate_cli.engine.plan import Plan, PlannedRow
from pate_cli.engine.schedule import Failure, Results
from pate_cli.engine.store import RepeatRecord
from pate_cli.privacy.gaussian import eps_of_mu
from pate_cli.results.interval import T_NOTE, Interval
from pate_cli.results.means import flat, frame_of, mean_of, paired_difference
from pate_cli.results.tables import ABSENT, Column, Table, number
from pate_cli.results.verdicts import Verdict, rule

__all__ = ["KEYS", "DoneRow", "Pair", "digits_of", "done_rows", "matches"]
__all__ += ["paired_table", "pairs", "runs_table", "signed"]

KEYS = ("dataset", "method", "panel", "eps", "cutoff", "teachers", "name")
"""By which rows are chosen."""

NOTE = (
    "eps is the guarantee of one repeat; eps_ex_post depends on the outputs: a report, not a guarantee. "
    "Accuracy is measured on held-out records: not differentially private. "
    f"{T_NOTE}; the paper's is as it is printed, and a difference is from the printed number itself."
)
_PAIRED = ("accuracy", "answered", "eps_ex_post")
_DIAGNOSTICS = ("label_agreement", "label_accuracy", "vote_accuracy", "teacher_accuracy", "ceiling")


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
        """Measures of the repeats; see `results.means.frame_of`."""
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
        """Value of one of `KEYS`."""
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


def digits_of(measure: str) -> int:
    """Digits worth showing: queries are counted, the rest are rates."""
    return 1 if measure in ("answered", "asked") else 4


def signed(gap: Interval, digits: int = 4) -> str:
    """Write a difference with its sign and its interval."""
    return gap.text(digits, sign=True)


def runs_table(rows: Sequence[DoneRow], verdicts: dict[str, Verdict], margin: float) -> Table:
    """Every row; ours beside the paper's and a verdict, where anything is printed."""
    shown: list[tuple[Column, Callable[[DoneRow], str]]] = [
        (Column("panel", numeric=False), lambda row: row.planned.spec.panel),
        (Column("dataset", numeric=False), lambda row: row.dataset),
        (Column("method", numeric=False), lambda row: row.method),
        (Column("teachers", detail=True), lambda row: _count(row.n_teachers)),
        (Column("T"), lambda row: _count(row.cutoff)),
        (Column("eps"), lambda row: number(row.eps, "g")),
        *(_compared(verdicts) if verdicts else _measured()),
    ]
    shown.insert(-1, (Column("n", detail=True), lambda row: str(len(row.units))))
    absent = {"panel": not any(row.planned.spec.panel for row in rows)}
    absent["T"] = all(row.cutoff is None for row in rows)
    shown = [(column, text) for column, text in shown if not absent.get(column.header)]
    return Table(
        [column for column, _ in shown],
        [[text(row) for _, text in shown] for row in rows],
        [_record(row, verdicts.get(row.name)) for row in rows],
        f"{NOTE} {rule(len(verdicts), margin)}" if verdicts else NOTE,
    )


def _measured() -> list[tuple[Column, Callable[[DoneRow], str]]]:
    """Columns where nothing is printed."""
    return [
        (Column("answered", "queries"), lambda row: _mean(row.over("answered"), ".1f")),
        (Column("asked", "queries"), lambda row: _mean(row.over("asked"), ".1f")),
        (Column("eps_ex_post"), lambda row: _mean(row.over("eps_ex_post"), ci=False)),
        (Column("accuracy ± ci95"), lambda row: _mean(row.over("accuracy"))),
        (Column("label agreement", detail=True), lambda row: _mean(row.over("label_agreement"))),
        (Column("status", numeric=False), lambda row: row.status),
    ]


def _compared(verdicts: dict[str, Verdict]) -> list[tuple[Column, Callable[[DoneRow], str]]]:
    """Columns of ours beside the paper's."""
    queries, loss, accuracy = "queries answered", "eps_ex_post", "accuracy ± ci95"

    def printed(name: str, form: str = ".4f", ci: str = "") -> Callable[[DoneRow], str]:
        return lambda row: number(row.printed.get(name), form, row.printed.get(ci))

    def verdict(row: DoneRow) -> str:
        judged = verdicts.get(row.name)
        return "" if judged is None else row.status if row.status != "ok" else judged.verdict

    return [
        (Column("ours", queries, detail=True), lambda row: _mean(row.over("answered"), ".1f")),
        (Column("paper", queries, detail=True), printed("queries", "g", "queries_ci")),
        (Column("ours", loss, detail=True), lambda row: _mean(row.over("eps_ex_post"), ci=False)),
        (
            Column("at the paper's queries", loss, detail=True),
            lambda row: number(row.eps_ex_post_at_printed),
        ),
        (Column("paper", loss, detail=True), printed("eps_ex_post")),
        (Column("ours", accuracy), lambda row: _mean(row.over("accuracy"))),
        (Column("paper", accuracy), printed("accuracy", ci="ci")),
        (
            Column("difference", accuracy),
            lambda row: ABSENT if row.difference is None else signed(row.difference),
        ),
        (Column("verdict", numeric=False, tags=True), verdict),
    ]


def _record(row: DoneRow, verdict: Verdict | None) -> dict[str, Any]:
    """Make a row of `table.csv`: everything, nothing rounded."""
    prepared = row.planned.prepared
    record: dict[str, Any] = {"name": row.name, "panel": row.planned.spec.panel}
    record |= {"dataset": row.dataset, "method": row.method, "status": row.status}
    record |= {"n_teachers": row.n_teachers, "cutoff": row.cutoff, "budget": row.budget}
    record |= {"n": len(row.units), "eps": row.eps, "delta": prepared.delta if prepared else None}
    names = ("answered", "asked", "eps_ex_post", "accuracy", *_DIAGNOSTICS)
    record |= flat({name: row.over(name) for name in names})
    for name in ("queries", "queries_ci", "eps_ex_post", "accuracy", "ci"):
        record[f"printed_{name}"] = row.printed.get(name)
    return record | {
        "eps_ex_post_at_printed_queries": row.eps_ex_post_at_printed,
        **flat({"difference": row.difference}),
        "majority_rate": row.majority,
        "verdict": verdict.verdict if verdict else None,
        "reason": verdict.reason if verdict else row.message or None,
        "note": row.planned.spec.note or None,
    }


def paired_table(compared: Sequence[Pair]) -> Table:
    """Differences of two methods at the same splits."""
    columns = [Column("case", numeric=False), Column("difference", numeric=False), Column("n")]
    columns += [Column(name.replace("answered", "queries answered")) for name in _PAIRED]
    cells, records = [], []
    for pair in compared:
        gaps = {name: pair.over(name) for name in _PAIRED}
        n = gaps["accuracy"].n if gaps["accuracy"] else 0
        shown = [ABSENT if gap is None else signed(gap, digits_of(name)) for name, gap in gaps.items()]
        cells.append([pair.case, f"{pair.of.method} - {pair.minus.method}", str(n), *shown])
        record: dict[str, Any] = {"of": pair.of.name, "minus": pair.minus.name}
        record |= {"dataset": pair.of.dataset, "eps": pair.of.eps, "n": n}
        records.append(record | flat(gaps))
    note = f"Differences at the same splits, teachers, votes and order of points, repeat by repeat. {T_NOTE}."
    return Table(columns, cells, records, note)


def _mean(found: Interval | None, form: str = ".4f", *, ci: bool = True) -> str:
    if found is not None and form == ".1f" and found.half_width == 0 and found.mean.is_integer():
        return f"{found.mean:.0f}"
    return number(found if ci else found and found.mean, form)


def _count(value: int | None) -> str:
    return ABSENT if value is None else f"{value:,}"
