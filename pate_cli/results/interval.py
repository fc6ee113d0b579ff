"""Means over repeats with confidence intervals of Student's t."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache

__all__ = [
    "EPS_NOTE",
    "EPS_USED",
    "FEWEST",
    "GAP_NOTE",
    "LEVEL",
    "MEASURED",
    "MOST_TIMES",
    "T_NOTE",
    "Interval",
    "mean_ci",
]
__all__ += ["digits_of", "simultaneous"]

LEVEL = 0.95
FEWEST = 10  # repeats that a verdict needs: with fewer accuracies Student's t is not near its level
MOST_TIMES = 100
"""Times as many repeats: more are not proposed."""

EPS_NOTE = "eps is the guarantee, of one repeat."
EPS_USED = (
    "eps used is what the answers that came out would have needed, computed from private records: do not "
    "publish it, and do not count it in place of eps."
)
MEASURED = "Measured on held-out records: not differentially private."
T_NOTE = "± is half a two-sided 95% interval of Student's t, t s/sqrt(n) over n repeats"
GAP_NOTE = (
    "of a difference t s sqrt(1/n + r), r test records by those learned from, and with the error of a test "
    "file that all have: it is for new records, not for the splits of these alone"
)


@dataclass(frozen=True)
class Interval:
    """A mean over independent repeats, with a two-sided confidence interval.

    The half width is ``t s / sqrt(n)``: s the sample standard deviation (ddof = 1), t the quantile of
    Student's t with n - 1 degrees of freedom at (1 + level)/2. It is exact for normal repeats and holds
    approximately for means of others.
    """

    mean: float  # may be infinite (the eps of a run without privacy); then there is no interval
    half_width: float | None  # None where n is 1
    n: int
    level: float = LEVEL
    shared: float = 0.0  # see `on_new_records`

    @classmethod
    def of(cls, values: Iterable[float], level: float = LEVEL) -> Interval:
        """Interval of the mean of values, at least one; none where fewer than `FEWEST` are all equal.

        Accuracies are shares of a few records, so two are often equal: that shows no spread, not none.
        """
        values = [float(value) for value in values]
        n = len(values)
        if not n:
            raise ValueError("no values, so no mean")
        if not all(map(math.isfinite, values)):
            return cls(math.nan if any(map(math.isnan, values)) else sum(values), None, n, level)
        mean = math.fsum(values) / n
        if n < FEWEST and max(values) - min(values) <= 1e-9:
            return cls(mean, None, n, level)
        return cls._from(mean, math.fsum((value - mean) ** 2 for value in values), n, level)

    @classmethod
    def pooled(cls, parts: Sequence[Interval], level: float = LEVEL) -> Interval:
        """Interval of all repeats of several means; repeats of different parts must be independent, too."""
        n = sum(part.n for part in parts)
        if not n:
            raise ValueError("no values, so no mean")
        mean = math.fsum(part.n * part.mean for part in parts) / n
        squares = [part.n * (part.mean - mean) ** 2 for part in parts]
        squares += [part.n * (part.n - 1) * part.standard_error**2 for part in parts if part.half_width]
        return cls._from(mean, math.fsum(squares), n, level)

    @classmethod
    def _from(cls, mean: float, squares: float, n: int, level: float) -> Interval:
        if n == 1:
            return cls(mean, None, 1, level)
        return cls.around(mean, math.sqrt(squares / (n - 1) / n), n, level)

    @classmethod
    def around(cls, mean: float, standard_error: float, n: int, level: float = LEVEL) -> Interval:
        """Interval of a mean over n > 1 repeats with its standard error."""
        return cls(mean, _quantile(level, n) * standard_error, n, level)

    @property
    def standard_error(self) -> float:
        """``s / sqrt(n)``; nan where there is no interval."""
        if self.half_width is None:
            return math.nan
        return self.half_width / _quantile(self.level, self.n)

    @property
    def low(self) -> float:
        """Lower end; nan where there is no interval."""
        return self.mean - (math.nan if self.half_width is None else self.half_width)

    @property
    def high(self) -> float:
        """Upper end; nan where there is no interval."""
        return self.mean + (math.nan if self.half_width is None else self.half_width)

    @property
    def sign(self) -> int:
        """1 or -1 where the whole interval lies on one side of 0; else 0."""
        return 1 if self.low > 0 else -1 if self.high < 0 else 0

    def at(self, level: float) -> Interval:
        """The interval of the same repeats at another level, in (0, 1)."""
        half = None if self.half_width is None else _quantile(level, self.n) * self.standard_error
        return replace(self, half_width=half, level=level)

    def on_new_records(self, shared: float, error: float = 0.0) -> Interval:
        """The interval of what is to be expected on new records, not over more splits of the same ones.

        Random splits have most of their records in common, so their spread says too little. With `shared`
        test records for each one that was learned from, the variance of the mean is about
        ``s^2 (1/n + shared)``: C. Nadeau, Y. Bengio, Inference for the generalization error, Machine Learning
        52, 2003. `error` is that of a test file which all repeats have: their spread knows nothing of it.
        """
        if self.half_width is None:
            return self
        spread = self.standard_error * math.sqrt(self.n)
        wide = math.hypot(spread * math.sqrt(1 / self.n + shared), error)
        shared += (error / spread) ** 2 if spread > 1e-9 else 0.0
        return replace(self, half_width=_quantile(self.level, self.n) * wide, shared=shared)

    def widened(self, error: float, n: int) -> Interval:
        """The same with the error of an independent mean over n repeats added; 0 for an exact number.

        Degrees of freedom are those of the smaller sample, which is cautious.
        """
        if not error or self.half_width is None:
            return self
        return Interval.around(self.mean, math.hypot(self.standard_error, error), min(self.n, n), self.level)

    def of_repeats(self, n: int) -> Interval:
        """The interval of n > 1 repeats with the same mean and spread."""
        wider = math.sqrt((1 / n + self.shared) / (1 / self.n + self.shared))
        return replace(
            Interval.around(self.mean, self.standard_error * wider, n, self.level), shared=self.shared
        )

    def fewest_repeats(self, decides: Callable[[Interval], bool]) -> int | None:
        """Fewest repeats, more than these, whose interval decides; None beyond `MOST_TIMES` times as many."""
        counts = range(self.n + 1, MOST_TIMES * self.n + 1)
        first = bisect_left(counts, True, key=lambda n: decides(self.of_repeats(n)))
        return counts[first] if first < len(counts) else None

    def less(self, value: float) -> Interval:
        """The same less a constant."""
        return replace(self, mean=self.mean - value)

    def times(self, factor: float) -> Interval:
        """The same of the values times a constant."""
        half = None if self.half_width is None else abs(factor) * self.half_width
        return replace(self, mean=factor * self.mean, half_width=half)

    def __neg__(self) -> Interval:
        """The same of the negated values."""
        return self.times(-1)

    def text(self, digits: int = 4, *, sign: bool = False) -> str:
        """Write it as "0.9252 ± 0.0031", a difference with its sign."""
        digits = digits_of(self.half_width, digits)
        text = f"{self.mean:{'+' if sign else ''}z.{digits}f}"
        return text if self.half_width is None else f"{text} ± {self.half_width:.{digits}f}"


def mean_ci(values: Iterable[float]) -> tuple[float, float]:
    """Mean and half width as two numbers, for arrays; the half width of a single value is nan."""
    interval = Interval.of(values)
    return interval.mean, math.nan if interval.half_width is None else interval.half_width


def digits_of(half_width: float | None, digits: int) -> int:
    """Digits that show a half width, at least so many: it is never rounded to 0."""
    if not half_width or not 1e-9 < half_width < 0.5 * 10.0**-digits:
        return digits
    return math.ceil(-math.log10(half_width))


def simultaneous(rows: int) -> float:
    """Level of each of `rows` intervals with which they hold all together at `LEVEL` (Bonferroni)."""
    return 1 - (1 - LEVEL) / max(rows, 1)


@cache
def _quantile(level: float, n: int) -> float:
    from scipy.special import stdtrit  # not needed to read a record, which has to be quick

    return float(stdtrit(n - 1, (1 + level) / 2))
