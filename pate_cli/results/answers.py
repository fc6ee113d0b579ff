"""Advice on one data set: which method to use, and why, as plain functions of its rows.

Which measure is spoken of, which method to use and at which eps, what is lost to privacy, what a constant
answer gets, what cannot be told, and how many repeats would tell it. `sentences` puts it into words.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

from pate_cli.results import means
from pate_cli.results.boards import ACCURACY, METRICS, Board, Metric
from pate_cli.results.interval import Interval, simultaneous
from pate_cli.results.marks import quoted
from pate_cli.results.means import MeasuredRow
from pate_cli.results.settings import ALL_PRIVATE, LIMIT, MAJORITY
from pate_cli.results.verdicts import TOO_FEW, ended

__all__ = ["ALIKE", "NO_USE", "PREFERRED", "UNLIKE", "UNSURE", "USE", "WORSE", "Advice", "advise"]
__all__ += ["measure_of", "most_common", "repeats_that_tell"]

USE, ALIKE, WORSE = "use this", "no difference seen", "worse"
NO_USE, UNLIKE = "no better than a constant answer", "other splits"
UNSURE = f"may be {NO_USE}"
"""Verdicts on a method, beside those of `verdicts`."""

_RARE = 0.8  # share of the largest class above which accuracy says little
PREFERRED = "best"  # unless another is better beyond the interval, so that advice does not flip
_UNNAMED = {"roc_auc": "guessing", "log_loss": "always the shares of the classes"}
"""Constant answers that are no class."""


@dataclass(frozen=True, eq=False)
class Advice:
    """What the rows of one data set say in one measure; `eps` is the budget spoken of."""

    board: Board
    eps: float
    method: str  # to use; empty if none has a number

    @property
    def metric(self) -> Metric:
        """The measure spoken of."""
        return self.board.metric

    @property
    def row(self) -> MeasuredRow | None:
        """Row of the method at the budget spoken of."""
        return self.board.cell(self.method, self.eps) if self.method else None

    @property
    def limit(self) -> str:
        """The baseline that privacy is compared with; empty if none was measured."""
        return next((name for name in (LIMIT, ALL_PRIVATE) if name in self.board.baselines), "")

    @functools.cached_property
    def verdicts(self) -> dict[str, str]:
        """Verdict on each method, the best first, at the budget spoken of."""
        order = [*self.board.values(self.eps), *self.board.methods]
        return {name: self._verdict(name) for name in dict.fromkeys(order)}

    def _verdict(self, name: str) -> str:
        row = self.board.cell(name, self.eps)
        if row is None:
            return ""
        if row.over(self.metric.name) is None:
            return ended(row.status)
        over = self.over_constant(name)
        if over is not None and over.sign <= 0 and (_has_interval(over) or over.mean <= 0):
            return NO_USE if over.high <= 0 else UNSURE
        if name == self.method:
            return USE
        gap = self.lead(name)
        if gap is None:
            return UNLIKE
        if not _has_interval(gap):
            return ALIKE if gap.n > 1 and abs(gap.mean) <= 1e-9 else TOO_FEW
        return WORSE if gap.sign > 0 else ALIKE

    def lead(self, name: str, eps: float | None = None, times: int = 1) -> Interval | None:
        """By how much the method to use is better than another, at the level of all comparisons together.

        `times` as many comparisons are made: as at every eps.
        """
        eps = eps or self.eps
        gap = self.board.lead(self.method, name, eps)
        return gap and gap.at(simultaneous(times * self.comparisons(eps)))

    def comparisons(self, eps: float) -> int:
        """Pairs of methods that are compared: with the preferred one, or each with each, to choose."""
        n = len(self.board.values(eps))
        return n - 1 if self.method == PREFERRED else n * (n - 1) // 2

    @property
    def useful(self) -> bool:
        """Whether the method is better than a constant answer, as far as is known."""
        return self.verdicts.get(self.method) == USE

    def lost(self, eps: float | None = None) -> Interval | None:
        """Points that the method to use is below the limit, at the same splits."""
        return self.board.lead(self.limit, self.method, eps or self.eps) if self.limit else None

    def over_constant(self, name: str) -> Interval | None:
        """By how much a method is better than a constant answer, in the unit of the measure.

        The interval is for new records, and for this method alone: corrected for all, it is seldom above 0
        with few splits.
        """
        board, metric = self.board, self.metric
        if MAJORITY in board.baselines:
            return board.lead(name, MAJORITY, self.eps)
        row = board.cell(name, self.eps)
        if row is None:
            return None
        if metric.name == ACCURACY.name and "majority_class" in row.repeats:
            gaps = (row.repeats[metric.name] - row.repeats["majority_class"]).dropna()
            if gaps.empty:
                return None
            shares = [row.mean(metric.name), row.mean("majority_class")]
            return means.on_new_records(Interval.of(gaps), [row], shares).times(metric.scale)
        value, level = row.over(metric.name), self.constant
        if value is None or level is None:
            return None
        shares = [value.mean, level] if metric.percent == "%" else []
        return means.on_new_records(value, [row], shares).less(level).times(metric.sign * metric.scale)

    @property
    def constant(self) -> float | None:
        """What a constant answer gets."""
        if (row := self.board.baselines.get(MAJORITY)) and (mean := row.mean(self.metric.name)) is not None:
            return mean
        if self.metric.name == ACCURACY.name:
            return _share(self.board)
        classes = {name for row in self.board.every for name in row.classes}
        chance = {"roc_auc": 0.5, "balanced_accuracy": 1 / len(classes) if classes else None}
        return chance.get(self.metric.name)

    @property
    def constant_words(self) -> str:
        """What a constant answer does."""
        if self.metric.name in _UNNAMED:
            return _UNNAMED[self.metric.name]
        common = most_common(self.board)
        if common or MAJORITY in self.board.baselines:
            return f"always {quoted(common)}" if common else "always the most common class"
        return "most common held-out class"

    @property
    def largest_share(self) -> float | None:
        """Share of the largest class among held-out records."""
        shares = [share for row in self.board.every if (share := row.mean("majority_class")) is not None]
        return max(shares, default=None)

    @property
    def runner_up(self) -> str:
        """The best of the other methods that it is not better than, else of all; empty if there is none."""
        others = [name for name in self.board.values(self.eps) if name != self.method]
        return next((name for name in others if not self._better(name, self.eps, 1)), (*others, "")[0])

    @property
    def best_everywhere(self) -> bool:
        """Whether the method is better than every other at every eps, by intervals that hold together."""
        budgets = self.board.budgets
        values = {eps: self.board.values(eps) for eps in budgets}
        return all(
            self.method in values[eps]
            and all(self._better(name, eps, len(budgets)) for name in values[eps] if name != self.method)
            for eps in budgets
        )

    def _better(self, name: str, eps: float, times: int) -> bool:
        gap = self.lead(name, eps, times)
        return gap is not None and gap.sign > 0

    @property
    def open(self) -> dict[str, int | None]:
        """Methods not told from the one to use, and how many repeats would tell; None: too many."""
        pairs = {name: self.lead(name) for name in self.named(ALIKE)}
        return {name: repeats_that_tell(gap) if gap else None for name, gap in pairs.items()}

    @property
    def repeats_over_constant(self) -> int | None:
        """How many repeats would tell the method from a constant answer; None if none, or too many, would."""
        over = self.over_constant(self.method) if self.method else None
        return repeats_that_tell(over) if over is not None and over.mean > 0 else None

    def named(self, *words: str) -> list[str]:
        """Methods with one of these verdicts."""
        return [name for name, word in self.verdicts.items() if word in words]

    @property
    def same_splits(self) -> bool:
        """Whether each row that is done has the same splits as the others."""
        return not self.named(UNLIKE) and len({row.n for row in self.board.every if row.n}) == 1

    @property
    def repeats(self) -> int:
        """Most repeats of a row."""
        return max((row.n for row in self.board.every), default=0)


def advise(board: Board, metric: Metric | None = None) -> Advice:
    """Choose the method to use on a data set, by a measure that is given or follows from the data."""
    board = replace(board, metric=metric or measure_of([board]))
    measured = [eps for eps in board.budgets if board.values(eps)]
    eps = min(measured or board.budgets or [math.nan], key=lambda eps: (abs(math.log(eps)), eps))
    values = board.values(eps)
    first = PREFERRED if PREFERRED in values else next(iter(values), "")
    advice = Advice(board, eps, first)
    leads = {name: advice.lead(name) for name in values if name != first}
    better = [name for name, lead in leads.items() if lead is not None and lead.sign < 0]
    advice = replace(advice, method=next(iter(better), first))
    if not advice.useful:  # another may be, with a narrower interval
        over = {name: advice.over_constant(name) for name in values}
        useful = [name for name, lead in over.items() if lead is not None and lead.sign > 0]
        advice = replace(advice, method=next(iter(useful), advice.method))
    return advice


def measure_of(boards: Sequence[Board]) -> Metric:
    """Accuracy, unless it says little on one of the data sets: then ROC AUC, where it was measured."""
    measured = all(any(row.over("roc_auc") for row in board.every) for board in boards)
    return METRICS["roc_auc" if measured and any(map(_says_little, boards)) else ACCURACY.name]


def _says_little(board: Board) -> bool:
    """Whether one class has nearly all records, or the limit is no better than a constant answer."""
    if (_share(board) or 0.0) > _RARE:
        return True
    limit, constant = (board.baselines.get(name) for name in (LIMIT, MAJORITY))
    lead = replace(board, metric=ACCURACY).lead(LIMIT, MAJORITY, math.inf) if limit and constant else None
    if lead is None or lead.n == 1:
        return False
    return lead.mean <= (2 * lead.standard_error if _has_interval(lead) else 1e-9)


def _share(board: Board) -> float | None:
    """Share of the largest class among held-out records."""
    if (row := board.baselines.get(MAJORITY)) and (mean := row.mean("accuracy")) is not None:
        return mean
    shares = [share for row in board.every if (share := row.mean("majority_class")) is not None]
    return math.fsum(shares) / len(shares) if shares else None


def most_common(board: Board) -> str:
    """Name of the largest class, where the rows tell it; empty where it may be another in some split."""
    if row := board.baselines.get(MAJORITY):
        constant = [name for name in row.classes if row.mean(f"recall.{name}") == 1]
        if len(constant) == 1:
            return constant[0]
    rows = [row for row in board.every if row["largest_class"] and row.n]
    if rows and (MAJORITY in board.baselines or _largest_in_each(rows[0])):
        return str(rows[0]["largest_class"])
    return ""


def _largest_in_each(row: MeasuredRow) -> bool:
    """Whether the largest class of the data is that of the held-out records in each repeat, too."""
    name, repeats = str(row["largest_class"]), row.repeats
    if "majority_class" not in repeats or not row["n_test"]:
        return False
    share = repeats["majority_class"]
    sure = share > 0.5 + 1.5 / math.sqrt(row["n_test"])  # three deviations: no other one has as many
    if len(row.classes) == 2 and name in row.classes:
        (other,) = (label for label in row.classes if label != name)
        found, others = repeats[f"recall.{name}"], repeats[f"recall.{other}"]
        by_recalls = share * found + (1 - share) * others
        sure |= ((by_recalls - repeats["accuracy"]).abs() < 1e-9) & ((found - others).abs() > 1e-6)
    return bool(sure.all())


def repeats_that_tell(gap: Interval) -> int | None:
    """How many repeats the difference takes to be told from 0, if it stays; None if too many would."""
    if not _has_interval(gap) or not gap.mean or gap.sign:
        return None
    return gap.fewest_repeats(lambda wider: wider.sign != 0)


def _has_interval(gap: Interval | None) -> TypeGuard[Interval]:
    """Whether there is an interval: one repeat has none."""
    return gap is not None and gap.half_width is not None
