"""Levels, bounds and classes, paid for: one noisy histogram of all columns, and a threshold for texts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from pate_cli.errors import InfeasibleError
from pate_cli.privacy import gaussian
from pate_cli.privacy.door import Door
from pate_cli.privacy.events import Gdp
from pate_cli.privacy.kinds import Kind
from pate_cli.privacy.noise import Noise
from pate_cli.types import FloatArray

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MOST_LEVELS", "SHARE", "SOURCE", "Bought", "ThresholdedCounts", "ThresholdedGdp", "cells_of"]

Column: TypeAlias = Any
"""What a schema declares of a column (`pate_cli.datasets.column.Column`, of a room above)."""

SHARE = 0.1
"""Of mu squared, as of the marginals that come after it."""

MOST_LEVELS = 1000
"""Of a column at most: those of the largest noisy counts. The bins of marginals are so many or fewer."""

_OF_DELTA = 100
"""delta over all texts: at delta = 1/n, the probability that any text of one record leaves is below 1/100."""

_GRID = 10.0 ** np.arange(-6, 13)
_UNDER = np.concatenate([[0.0], _GRID[:-1]])
_N_CELLS = 2 * len(_GRID) + 1  # both signs, and 0
_YEARS = np.arange(1900, 2101)
_NEW_YEARS = (np.append(_YEARS, 2101) - 1970).astype("datetime64[Y]").astype("datetime64[D]").astype(float)
"""First day of each year, and of the one after them, in days since 1970."""

SOURCE = "bought of private records, within eps and delta"
_UNLIKELY = 0.01  # probability that any empty cell of a run is taken for a full one
_LARGE = 1000.0  # deviation of noise from which a sum over its integers takes long
_GROWN = 2.5  # deviations from which a cell beside a full one is full


@dataclass(frozen=True)
class ThresholdedGdp(Gdp):
    """A Gaussian release that also has a probability of saying what only one record holds."""

    delta: float = 0.0  # that probability, see `Bought`

    @classmethod
    def compose(cls, counts: Mapping[Any, int], delta: float) -> tuple[float, float]:
        """See `Event`: its own delta comes off first."""
        texts = math.fsum(event.delta * count for event, count in counts.items())
        return super().compose(counts, delta - texts)[0], delta


@dataclass(frozen=True, kw_only=True)
class ThresholdedCounts(Kind):
    """Rows (column, cell, count), with Gaussian noise on each count; of texts those that reach a threshold.

    Cells that are numbers are known to everybody, and all of them are released. Cells that are texts are
    there because records hold them.
    """

    norm = 2
    public_size = False  # there are as many rows as texts
    sigma: float
    least: int  # noisy count of a text that is released
    n_texts: int  # columns of texts
    exact: bool

    @property
    def on_integers(self) -> bool:
        """Counts are integers."""
        return self.exact

    @property
    def delta(self) -> float:
        """``J_c x`` of `Bought`."""
        return self.n_texts * -math.log1p(-_tail(self.least - 1, self.sigma))

    def draw(self, noise: Noise, value: NDArray[Any]) -> NDArray[Any]:
        """See `Kind`."""
        out = value.copy()
        out[:, 2] = value[:, 2] + noise.gaussian(self.sigma, len(value))
        is_number = np.array([not isinstance(cell, str) for cell in value[:, 1]], dtype=bool)
        return out[is_number | (out[:, 2].astype(float) >= self.least)]

    def event(self, size: int) -> ThresholdedGdp:
        """Of the integers those that a record touches count, see `Bought`, and no size of a private file."""
        if self.sigma == 0:
            return ThresholdedGdp(math.inf)
        if not self.exact:
            return ThresholdedGdp((self.sensitivity / self.sigma) ** 2, delta=self.delta)
        touched = round(self.sensitivity**2)
        square = gaussian.vector_mu_squared(self.sensitivity, self.sigma)
        return ThresholdedGdp(square, touched, delta=self.delta)

    def draws(self, value: NDArray[Any], out: Any) -> Counter[tuple[str, float]]:
        """See `Kind`."""
        return Counter({("gaussian", self.sigma): len(value)})

    def moved(self, value: NDArray[Any], other: NDArray[Any], releases: int) -> float:
        """See `Kind`; a text that one of the two lacks has the count 0 there."""
        first, second = ({(name, cell): count for name, cell, count in rows} for rows in (value, other))
        differences = [first.get(key, 0.0) - second.get(key, 0.0) for key in first.keys() | second.keys()]
        return float(np.linalg.norm(np.array(differences, dtype=float))) / self.sensitivity


@dataclass(frozen=True)
class Bought:
    """Levels and bounds of J columns, J_c of them of texts, from one noisy histogram; the target may be one.

    *Cells.* Of numbers: ``g_(k-1) < |x| <= g_k`` on powers of ten from 1e-6 to 1e12, by sign, and 0; all
    beyond is in the last. Of dates: the years 1900 to 2100, all beyond in the first and the last. Neither
    depends on the file; so all such cells leave, and are no part of J_c. Of texts: each text is one, unknown
    in advance. A missing cell is in none.

    **Guarantee.** For neighbours that differ in one record (or person, of whom one record counts), replaced:
    followed by any rest of the run that is mu_r-GDP whatever was bought, the whole is
    ``(eps, profile(eps, sqrt(mu^2 + mu_r^2)) + delta)``-DP at every eps.

    A record is in at most one cell of each column, so replacing it moves at most 2J counts by 1: sqrt(2J) in
    L2, and 2J integers are touched, however many texts there are (all other counts have the same law on
    both sides). Texts that occur have a count; those of a noisy count of T or more are released, sorted.

    *Proof.* D and D' are neighbours. A: the columns where the record that leaves is the only one with its
    text, l_j; B: those where the one that comes has a text l'_j that D lacks; a and b their numbers, at most
    J_c. An only text is released with probability ``tau = P(1 + Z >= T)``; let ``x = -log(1 - tau)``. N is
    "no l_j of A is released", G the release of all texts and cells that D and D' share, R the rest. For
    outcomes S: ``P[(M,R)(D) in S] <= P[not N] + P[(M,R)(D) in S, N] = 1 - e^(-ax) + e^(-ax) P[(G,R)(D) in S,
    N]``, as noises are independent. (G,R) is Gaussian, sqrt(mu^2 + mu_r^2)-GDP: at most ``e^e1 P[(G,R)(D') in
    S, N] + profile(e1)`` for every e1, and ``P[(G,R)(D') in S, N] <= e^(bx) P[(M,R)(D') in S]``: with
    probability e^(-bx) no l'_j is released. Take ``e1 = eps - (b - a) x``. Where b <= a it is eps or more,
    and the sum at most ``ax + profile(eps)``; else ``profile(eps - y) <= profile(eps) + y``, and it is at
    most ``bx + profile(eps)``. Both are within ``J_c x``; T is the least integer at which that is no more
    than `delta`.
    For integer noise, c of `pate_cli.privacy.gaussian` as there. Levels and bounds are post-processing, and
    so are classes: the texts of the target's column, and which of them has the largest noisy count. That
    class stands for each label that was not bought, so a record's code is a function of its own label and of
    what left, no record is dropped, and the rest of the run is the mechanism for so many classes.
    """

    names: tuple[str, ...]
    texts: tuple[str, ...]  # those of them that hold texts
    mu: float
    delta: float
    n: int  # records, or persons: public
    delta_of_run: float = 0.0
    exact: bool = False  # noise of integers
    dates: tuple[str, ...] = ()  # those of `names` that hold days
    target: str | None = None  # that of `texts` whose levels are the classes

    @classmethod
    def of(
        cls,
        columns: Mapping[str, Column],
        mu: float,
        delta: float,
        n: int,
        exact: bool,
        target: str | None = None,
    ) -> Bought:
        """For the columns of a schema, and the target, that are to be bought; `delta` is the whole run's."""
        names = tuple(name for name, column in columns.items() if column.bought)
        texts = tuple(name for name in names if columns[name].kind == "category")
        dates = tuple(name for name in names if columns[name].kind == "date")
        names, texts = (part if target is None else (*part, target) for part in (names, texts))
        return cls(names, texts, mu, delta / _OF_DELTA if texts else 0.0, n, delta, exact, dates, target)

    @property
    def what(self) -> str:
        """What is bought, in words."""
        if self.target is None:
            return "levels and bounds"
        return "levels, bounds and classes" if len(self.names) > 1 else "classes"

    @property
    def sensitivity(self) -> float:
        """Most that one record moves all counts together, in L2."""
        return math.sqrt(2 * len(self.names))

    @property
    def sigma(self) -> float:
        """Noise on each count, in records."""
        if math.isinf(self.mu):
            return 0.0
        return gaussian.vector_sigma(self.sensitivity, self.mu) if self.exact else self.sensitivity / self.mu

    @property
    def least(self) -> int:
        """T: noisy count from which a text is released."""
        low, high = 0, 1
        while self.sigma and not self._holds(high):
            low, high = high, 2 * high
        while self.sigma and high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._holds(middle) else (middle, high)
        return high

    def _holds(self, least: int) -> bool:
        return len(self.texts) * -math.log1p(-_tail(least - 1, self.sigma)) <= self.delta

    @property
    def sure(self) -> float:
        """Noisy count of a cell of numbers, or a year, that is hardly empty."""
        cells = max(1, sum(self._n_known(name) for name in self.names if name not in self.texts))
        return max(-float(ndtri(_UNLIKELY / cells)) * self.sigma, 0.5)

    def _n_known(self, name: str) -> int:
        return len(_YEARS) if name in self.dates else _N_CELLS

    def check(self) -> None:
        """Refuse to spend on what would find nothing: a quarter of the records must be enough."""
        most = max(self.least if self.texts else 0.0, self.sure if len(self.texts) < len(self.names) else 0.0)
        if most >= self.n / 4:
            raise InfeasibleError(
                f"{self.what} to be bought: of {self.n:,} records, only what {math.ceil(most):,} share "
                f"would be found, and nothing is spent on that; what would do: {self.what} by hand, "
                "more records, or a larger eps"
            )

    @property
    def kind(self) -> ThresholdedCounts:
        """What the histogram is released as."""
        return ThresholdedCounts(
            sensitivity=self.sensitivity,
            sigma=self.sigma,
            least=self.least,
            n_texts=len(self.texts),
            exact=self.exact,
        )

    def release(self, cells: Mapping[str, Iterable[Any]], door: Door) -> NDArray[Any]:
        """Release the histogram of cells, one of each record: see `cells_of`."""
        rows: list[tuple[str, Any, float]] = []
        for name in self.names:
            counts = Counter(cell for cell in cells[name] if cell is not None)
            counted_cells = sorted(counts) if name in self.texts else range(self._n_known(name))
            rows += [(name, cell, float(counts[cell])) for cell in counted_cells]
        value = np.empty((len(rows), 3), dtype=object)
        for at, row in enumerate(rows):
            value[at] = row
        released: NDArray[Any] = door.release(value, self.kind, 1)
        return released

    def columns(self, declared: Mapping[str, Column], released: NDArray[Any]) -> dict[str, Column]:
        """The schema's columns with what was bought; without any level, or sure bound, one is not used."""
        columns = dict(declared)
        for name in self.names:
            if name == self.target:
                continue
            rows = _rows_of(name, released)
            if name in self.texts:
                kept = sorted(rows, key=lambda row: (-row[1], row[0]))[:MOST_LEVELS]
                values = sorted(cell for cell, _ in kept)
                columns[name] = replace(declared[name], levels=values, source=SOURCE)
            elif ends := (_days if name in self.dates else _bounds)(
                np.array([count for _, count in rows]), self.sigma, self.sure
            ):
                columns[name] = replace(declared[name], low=ends[0], high=ends[1], source=SOURCE)
            if not (columns[name].levels or columns[name].low is not None):
                columns[name] = replace(declared[name], kind="ignored", why="nothing bought")
        if all(column.kind == "ignored" for column in columns.values()):  # a release goes on, with one column
            first = next(iter(columns))
            column = declared[first]
            of_text = column.kind == "category"
            columns[first] = replace(column, levels=[]) if of_text else replace(column, low=-1.0, high=1.0)
        return columns

    def labels(self, released: NDArray[Any]) -> dict[str, float]:
        """Texts of the target that were bought, and their noisy counts; those of the largest, at most."""
        rows = [] if self.target is None else _rows_of(self.target, released)
        return dict(sorted(rows, key=lambda row: (-row[1], row[0]))[:MOST_LEVELS])

    def describe(self) -> dict[str, Any]:
        """Public numbers."""
        shown: dict[str, Any] = {"bought_columns": len(self.names), "bought_share": SHARE}
        if math.isinf(self.mu):
            return shown
        shown |= {"bought_sigma": self.sigma, "bought_eps_left": self.eps_left}
        return shown | ({"bought_least": self.least, "bought_delta": self.delta} if self.texts else {})

    @property
    def eps_left(self) -> float:
        """What is left of eps for the rest of the run alone."""
        left = self.mu * math.sqrt((1 - SHARE) / SHARE)
        return gaussian.eps_of_mu(left, self.delta_of_run - self.delta)


def _rows_of(name: str, released: NDArray[Any]) -> list[tuple[Any, float]]:
    return [(cell, float(count)) for column, cell, count in released if column == name]


def cells_of(bought: Bought, X: pd.DataFrame, labels: Iterable[str] = ()) -> dict[str, list[Any]]:
    """Cell of each record in each column; None where it is missing. A record's are its own."""
    cells: dict[str, list[Any]] = {}
    for name in bought.names:
        if name == bought.target:
            cells[name] = [label or None for label in labels]
        elif name in bought.texts:
            cells[name] = [str(text) or None for text in X[name]]
        elif name in bought.dates:
            days = np.asarray(X[name], dtype=np.float64)
            years = np.searchsorted(_NEW_YEARS, days, side="right").clip(1, len(_YEARS)) - 1
            cells[name] = [None if day != day else int(k) for k, day in zip(years, days, strict=True)]
        else:
            x = np.asarray(X[name], dtype=np.float64)
            at = np.searchsorted(_GRID, np.abs(x)).clip(max=len(_GRID) - 1)
            cell = np.where(x == 0, 2 * len(_GRID), at + len(_GRID) * (x < 0))
            cells[name] = [None if absent else int(k) for k, absent in zip(cell, np.isnan(x), strict=True)]
    return cells


def _bounds(counts: FloatArray, sigma: float, sure: float) -> tuple[float, float] | None:
    """Bounds of a number, edges of the grid, from noisy counts of its cells; None where none is sure."""
    up, down, zero = counts[: len(_GRID)], counts[len(_GRID) : -1], counts[-1]
    ends = [0.0] if zero >= sure else []
    for sign, side in ((1.0, up), (-1.0, down)):
        if (full := _full(side, sigma, sure)) is not None:
            ends += [sign * float(_UNDER[full[0]]), sign * float(_GRID[full[1]])]
    return (min(ends), max(ends)) if len(set(ends)) > 1 else None


def _days(counts: FloatArray, sigma: float, sure: float) -> tuple[float, float] | None:
    """First and last day of the years that hold records, from noisy counts; None where none is sure."""
    full = _full(counts, sigma, sure)
    return full and (float(_NEW_YEARS[full[0]]), float(_NEW_YEARS[full[1] + 1]) - 1)


def _full(counts: FloatArray, sigma: float, sure: float) -> tuple[int, int] | None:
    """First and last cell that hold records: cells, or else 3 or 9 together, that are sure, then grown."""
    for width in (1, 3, 9):
        sums = np.convolve(counts, np.ones(width), "valid")
        full = np.flatnonzero(sums >= sure * math.sqrt(width))
        if len(full):
            low, high = (full[0], full[-1]) if width == 1 else (int(np.argmax(sums)),) * 2
            high += width - 1
            return int(low - _added(counts[:low][::-1], sigma)), int(high + _added(counts[high + 1 :], sigma))
    return None


def _added(after: FloatArray, sigma: float) -> int:
    """Cells to add, outward: the next one while it is full, or the next three together."""
    added, least = 0, max(_GROWN * sigma, 0.5)  # without noise, a record
    while len(outside := after[added:]):
        if outside[0] >= least:
            added += 1
        elif outside[:3].sum() >= least * math.sqrt(3):
            added += len(outside[:3])
        else:
            break
    return added


def _tail(t: int, sigma: float) -> float:
    """``P(Z >= t)`` for normal and integer noise, the larger: t a whole number.

    Where sigma is large the sum over integers is the integral from half of one before, but for a share of
    ``1/(4 sigma^2)``, and beyond sigma, where the density is convex, it is below it.
    """
    if sigma > _LARGE:
        return float(ndtr((0.5 - t) / sigma)) * (1 + 1e-6)
    x = np.arange(t, t + math.ceil(40 * sigma) + 1, dtype=float)
    integers = math.fsum(np.exp(-x * x / (2 * sigma**2))) / (math.sqrt(2 * math.pi) * sigma)
    return max(integers * (1 + 1e-12), float(ndtr(-t / sigma)))
