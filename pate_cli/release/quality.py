"""How good a release is, in words, a table and a figure: functions of what its certificate states."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from pate_cli.results.marks import plain, quoted
from pate_cli.results.svg import Share, ranges, shares
from pate_cli.results.tables import ABSENT, Head, Table, short

__all__ = ["MOST", "Percent", "Quality", "frequency"]

_MODEL = ("student.skops",)  # what a release has of which the files are not stated
_MEASURES = ("share", "recall", "precision")
_UNTOLD = "too few to tell"
MOST = 30
"""Classes of a figure, and of a table that is not folded."""
_RULES = {
    "recall": "so that {} of {} are found",
    "precision": "so that {} of {} so named are right",
    "youden": "to find as many of both classes as can be",
}


class Percent(NamedTuple):
    """An estimate in percent, with its 95% interval."""

    estimate: float
    low: float
    high: float

    @property
    def texts(self) -> tuple[str, str]:
        """The estimate, and the interval; with a decimal where that is narrow."""
        digits = 1 if self.high - self.low < 5 else 0
        low, high = (f"{end:.{digits}f}" for end in _outward(self.low, self.high, 10.0**digits))
        return f"{self.estimate:.{digits}f}", f"{low} to {high}"

    def __str__(self) -> str:
        estimate, interval = self.texts
        return f"{estimate} ({interval})"


@dataclass(frozen=True, eq=False)
class Quality:
    """What the noisy table of a release tells; `who` is a record or a person, in the singular."""

    evaluation: Mapping[str, Any]
    classes: Sequence[str]
    who: str = "record"

    @classmethod
    def stated(cls, facts: Mapping[str, Any]) -> Quality | None:
        """What a certificate states; None of one without a model, or without a test of it."""
        if not (measured := facts.get("evaluation")) or "student.skops" not in facts.get("files", _MODEL):
            return None
        person = (facts["guarantee"].get("protects") or {}).get("unit")
        return cls(measured, facts["data"]["classes"], "person" if person else "record")

    def of(self, measure: str, code: int | None = None) -> Percent | None:
        """A figure, of a class where a code is given; None where it cannot be told."""
        figure = self.evaluation["figures"].get(
            measure + ("" if code is None else f" of {self.classes[code]}")
        )
        if not figure or not figure["told"]:
            return None
        return Percent(*(100 * float(figure[key]) for key in ("estimate", "low", "high")))

    @property
    def two(self) -> bool:
        """Whether there are two classes."""
        return len(self.classes) == 2

    @cached_property
    def common(self) -> int:
        """The class that most records have."""
        return max(range(len(self.classes)), key=self._share)

    @property
    def rare(self) -> int:
        """Of two classes the one that fewer records have."""
        return 1 - self.common

    def _share(self, code: int) -> float:
        share = self.of("share", code)
        return 0.0 if share is None else share.estimate

    @cached_property
    def cells(self) -> tuple[float, float, float, float] | None:
        """Of two classes, shares of all records: found, missed, false alarms, and rightly not named."""
        share, recall, specificity = (
            self.of("share", self.rare),
            self.of("recall", self.rare),
            self.of("recall", self.common),
        )
        if share is None or recall is None or specificity is None:
            return None
        s, r, q = share.estimate / 100, recall.estimate / 100, specificity.estimate / 100
        return s * r, s * (1 - r), (1 - s) * (1 - q), (1 - s) * q

    @property
    def constant(self) -> Percent | None:
        """How often it is right to name the most frequent class always; None where it cannot be told."""
        return self.of("share", self.common)

    @property
    def useful(self) -> bool:
        """Whether it is better than one that does not look at a record, beyond the interval."""
        if self.two and (auc := self.of("roc_auc")) is not None:
            return auc.low > 50
        accuracy, constant = self.of("accuracy"), self.constant
        return accuracy is not None and constant is not None and accuracy.low > constant.estimate

    @property
    def clause(self) -> str:
        """What it does, as a clause with its verb."""
        accuracy = self.of("accuracy")
        if self.two:
            recall, precision = self.of("recall", self.rare), self.of("precision", self.rare)
            name = self.named(self.rare)
            if recall is not None and precision is not None:
                finds = f"finds {frequency(recall.estimate)} {self.who}s of {name}"
                return f"{finds}, and {frequency(precision.estimate)} that it names so are right"
        if accuracy is None:
            return "is of a quality that its test cannot tell"
        return f"is right on {frequency(accuracy.estimate)} {self.who}s ({accuracy.texts[1]})"

    @property
    def compared(self) -> str:
        """What one gets without a model, as a sentence."""
        if self.constant is None:
            return ""
        share = frequency(self.constant.estimate)
        return f"Always answering {self.named(self.common)} is right on {share}."

    @property
    def caution(self) -> str:
        """What stands before the numbers where it may be of no use."""
        if self.useful:
            return ""
        n = f"{self.evaluation['n']:,} {self.who}s, counted with noise, can tell"
        if self.two:
            return f"**It may rank no better than guessing**, as far as {n}."
        return f"**It may be no better than a constant answer**, as far as {n}. {self.compared}"

    def named(self, code: int) -> str:
        """A class in a sentence."""
        return quoted(short(self.classes[code], 40))

    def printed(self) -> Table:
        """Its table, without marks in the cells."""
        table = self.table()
        return Table(table.columns, [[plain(cell) for cell in row] for row in table.cells], table.records)

    def table(self, most: int | None = MOST) -> Table:
        """The measures of two classes, or the classes, at most so many, a row each."""
        return self._of_two() if self.two else self._of_many(self.order[:most])

    def _of_two(self) -> Table:
        rare, common = (self.named(code) for code in (self.rare, self.common))
        constant, named = None if self.constant is None else self.constant.estimate, None
        lesser = None if constant is None else 100 - constant
        if self.cells is not None:
            named = 100 * (self.cells[0] + self.cells[2])
        rows = [
            (f"{rare} that are found", self.of("recall", self.rare), named, "by lot"),
            (f"named {rare} and right", self.of("precision", self.rare), lesser, "naming all"),
            (f"named {common} and right", self.of("precision", self.common), constant, "naming none"),
            ("ranking (ROC AUC)", self.of("roc_auc"), 50.0, ""),
            ("accuracy", self.of("accuracy"), constant, f"always {common}"),
        ]
        cells = []
        for words, figure, level, how in rows:
            estimate, interval = figure.texts if figure else (ABSENT, _UNTOLD)
            without = "" if level is None else f"{_percent(level)}{f', {how}' if how else ''}"
            cells.append([words, estimate, interval, without])
        columns = [Head("measure, %", numeric=False), Head("estimate"), Head("95% interval")]
        columns.append(Head("without a model", numeric=False))
        looks = ["pick", *[""] * (len(cells) - 1)]
        return Table(columns, cells, self._records(), looks=looks, title="How good it is, in percent")

    def _of_many(self, codes: Sequence[int]) -> Table:
        cells = [
            [
                self.named(code),
                *(str(figure) if (figure := self.of(measure, code)) else _UNTOLD for measure in _MEASURES),
            ]
            for code in codes
        ]
        heads = ("of all, %", "found, %", "right when named, %")
        columns = [Head("class", numeric=False), *map(Head, heads)]
        return Table(columns, cells, self._records(), looks=[""] * len(cells), title="Classes")

    @property
    def order(self) -> list[int]:
        """Classes, those of most records first."""
        return sorted(range(len(self.classes)), key=lambda code: -self._share(code))

    def _records(self) -> list[dict[str, Any]]:
        return [{"measure": name, **figure} for name, figure in self.evaluation["figures"].items()]

    def figure(self) -> tuple[str, str]:
        """What becomes of 1,000 records of two classes, or how many of each are found; and the caption."""
        n = self.evaluation["n"]
        caption = f"Estimated on {n:,} {self.who}s that the model did not learn from, by counts with noise."
        if not self.two:
            shown = self.order[:MOST]
            rows = [(self.classes[code], self.of("recall", code)) for code in shown]
            left = f" Shown are the {MOST} most frequent classes." if len(self.order) > MOST else ""
            drawn = ranges(rows, title="How many of each class are found", desc="See the table below.")
            return drawn, f"Of 100 {self.who}s of a class, how many it finds. {caption}{left}"
        if self.cells is None:
            return "", ""
        hits, misses, false_alarms, rejections = _thousand(self.cells)
        rare = self.named(self.rare)
        bars = [
            (
                f"{hits + false_alarms:,} of 1,000 {self.who}s are named {rare}",
                [
                    Share(hits, f"{hits:,} are: found", "orange"),
                    Share(false_alarms, f"{false_alarms:,} are not: false alarms", "orange", True),
                ],
            ),
            (
                f"{misses + rejections:,} are not",
                [
                    Share(misses, f"{misses:,} are {rare}: missed", "blue"),
                    Share(rejections, f"{rejections:,} are not: right", "blue", True),
                ],
            ),
        ]
        desc = "; ".join(part.words for _, parts in bars for part in parts)
        drawn = shares(bars, title=f"What becomes of 1,000 {self.who}s", desc=desc)
        return drawn, f"{caption} {self.threshold}"

    @property
    def threshold(self) -> str:
        """From which probability the second class is named, and how that was chosen."""
        rule, _, goal = (self.evaluation["threshold"] or "").partition(":")
        name, at = self.named(1), _percent(100 * self.evaluation["probability"])
        if not self.evaluation["reached"]:
            return f"{name} is never named: no threshold reaches {rule} {goal}."
        chosen = _RULES[rule].format(frequency(100 * float(goal or 0)), name) if rule else ""
        return f"{name} is named from a probability of {at}% on{f', chosen {chosen}' if chosen else ''}."

    @property
    def probabilities(self) -> str:
        """How far the probabilities are off."""
        after, before = self.of("calibration_error"), self.of("calibration_error_before")
        if after is None:
            return "How far its probabilities are off cannot be told."
        if after.low > 0:
            return f"Its probabilities are off by {after} points on average."
        was = f" (above {_at_most(before.high)} before they were corrected by it)" if before else ""
        shows = f"in a test that would show one above {_at_most(after.high)} points on average"
        return f"No error of its probabilities was seen, {shows}{was}."

    def uses(self) -> tuple[list[str], list[str]]:
        """What it is made for, and what not."""
        good, bad, accuracy = (
            list[str](),
            f"a **decision about one {self.who}** by itself",
            self.of("accuracy"),
        )
        precision, other = (
            self.of("precision", code) if self.two else None for code in (self.rare, self.common)
        )
        if precision is not None and other is not None:
            rare = self.named(self.rare)
            if self.useful:
                named, missed = frequency(precision.estimate), frequency(100 - other.estimate)
                first = "deciding **whom to look at first**"
                good.append(f"{first}: of those named {rare} {named} are, of the others {missed}")
            bad += f": of those named {rare} {frequency(100 - precision.estimate)} are not"
        elif accuracy is not None:
            if self.useful:
                good.append(f"a **first guess**, right on {frequency(accuracy.estimate)} {self.who}s")
            bad += f": it is wrong on {frequency(100 - accuracy.estimate)}"
        if (error := self.of("calibration_error")) is not None:
            off = f"{_at_most(error.high)} points on average"
            good.append(f"a probability for a group: predicted and observed shares differ by at most {off}")
        return good, [bad]


def _outward(low: float, high: float, scale: float) -> tuple[float, float]:
    """Ends of an interval as they are shown: not within it; a millionth is a computer's."""
    return math.floor(low * scale + 1e-6) / scale, math.ceil(high * scale - 1e-6) / scale


def frequency(percent: float) -> str:
    """A percentage as a natural frequency, of 100 or, near its ends, of 1,000."""
    if 0 < percent < 0.95 or 99.05 < percent < 100:
        return f"{10 * percent:,.0f} of 1,000"
    return f"{percent:.0f} of 100"


def _percent(value: float) -> str:
    """A percentage for people: with a decimal near the ends."""
    text = f"{value:.0f}" if 4.95 <= value < 95.05 else f"{value:.1f}"
    return text.removesuffix(".0")


def _at_most(value: float) -> str:
    """An upper end as `_percent` writes it, never below it."""
    return _percent(_outward(0.0, value, 1.0 if 4.95 <= value < 95.05 else 10.0)[1])


def _thousand(parts: Sequence[float]) -> list[int]:
    """Shares as whole numbers that are 1,000 together, by the largest remainders."""
    whole = [int(1000 * part) for part in parts]
    by_remainder = sorted(range(len(parts)), key=lambda k: whole[k] - 1000 * parts[k])
    for k in by_remainder[: 1000 - sum(whole)]:
        whole[k] += 1
    return whole
