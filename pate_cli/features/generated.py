"""Public points that a run makes of declared columns: from their ranges, or from noisy marginals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from pate_cli.checks import listed
from pate_cli.errors import ConfigError
from pate_cli.features.bought import MOST_LEVELS
from pate_cli.privacy import gaussian
from pate_cli.privacy.door import Door
from pate_cli.privacy.events import Account
from pate_cli.privacy.kinds import GaussianNoise
from pate_cli.types import FloatArray, IntArray, Part, PrivacyLoss, PrivateRecords

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Generated", "Made", "Marginals"]

Column: TypeAlias = Any
"""What a schema declares of a column (`pate_cli.datasets.column.Column`, of a room above)."""

_BINS = 24
_FEWEST, _SHARE = 300, 50
"""Points by default: as many as a public share of the records would have, one of 50, but at least so many."""

_TAIL = 1000.0
"""An amount is told from other numbers by so large a range; its scale is linear below high/1000."""

_DEVIATIONS = 2
"""Noisy counts below so many deviations of their noise are taken for 0."""

_LARGEST = 1e100
"""Numbers of a table are cut off there before they are encoded."""


@dataclass(frozen=True)
class Marginals:
    """Noisy histograms of all columns at once.

    **Guarantee.** mu-GDP for neighbours that differ in one record (or person, of whom one record counts),
    replaced. A record is in one bin of each of the k columns, whichever the others are, so replacing it moves
    at most one count down and one up in each: sqrt(2k) in L2. N(0, s^2) on every count, ``s = sqrt(2k)/mu``,
    is the Gaussian mechanism. Counts are integers, and so is the noise of a release. Points are drawn from
    the noisy counts and public ranges: post-processing.
    """

    n_columns: int
    n_bins: int  # of all columns together
    mu: float  # inf: no noise
    exact: bool = False  # noise of integers

    @property
    def sensitivity(self) -> float:
        """Most that one record moves all counts together, in L2."""
        return math.sqrt(2 * self.n_columns)

    @property
    def sigma(self) -> float:
        """Noise on each count, in records."""
        if math.isinf(self.mu):
            return 0.0
        return gaussian.vector_sigma(self.sensitivity, self.mu) if self.exact else self.sensitivity / self.mu

    def release(self, counts: FloatArray, door: Door, runs: int = 1) -> FloatArray:
        """Release counts, of shape (runs, n_bins)."""
        grain = 1.0 if self.exact else None
        kind = GaussianNoise(sensitivity=self.sensitivity, sigma=self.sigma, grain=grain)
        noisy: FloatArray = door.release(counts, kind, runs)
        return noisy

    def loss(self, delta: float) -> PrivacyLoss:
        """Their own loss."""
        return PrivacyLoss(gaussian.eps_of_mu(self.mu, delta), delta, "noisy histograms", mu=self.mu)


class Made(NamedTuple):
    """What a split made in place of public points. PUBLIC."""

    table: pd.DataFrame
    accounts: dict[str, Account]  # of what it is made of, by chapter
    bought: Mapping[str, Column]  # columns of the schema, as they were bought
    classes: Any  # `BoughtClasses`, of a room above, or None


@dataclass(frozen=True, eq=False)
class Generated(Part):
    """Public points that each split makes, columns drawn each by itself. PUBLIC, of a schema.

    A number is uniform over its declared range; an amount, never negative and with a wide range, on an asinh
    scale. With `marginals` the bin it is in is drawn by the noisy counts of private records.
    """

    columns: Mapping[str, Column] = field(default_factory=dict)  # those used, in the order of X
    marginals: bool = False
    n_points: int = 0
    target: str | None = None  # the column whose levels, the classes, are to be bought

    @property
    def n_records(self) -> int:
        """Number of points."""
        return self.n_points

    @classmethod
    def of(cls, kind: str, declared: Mapping[str, Column], X: Any, target: str | None = None) -> Generated:
        """Points for the columns of X, that a declared schema bounds; ConfigError names those it does not."""
        columns = {str(name): declared[str(name)] for name in X}
        if unbounded := [
            name for name, column in columns.items() if not (column.bought or _is_bounded(column))
        ]:
            accepted = f"low and high within 1e100, or values, of each column with dataset.public={kind}"
            raise ConfigError("dataset.schema", f"none for {listed(unbounded, 20)}", accepted)
        return cls(X.iloc[:0], None, "", columns, kind == "marginals", target=target)

    @property
    def buys(self) -> bool:
        """Whether levels or bounds of some of the columns, or the classes, are to be bought."""
        return self.target is not None or any(column.bought for column in self.columns.values())

    def with_columns(self, columns: Mapping[str, Column]) -> Generated:
        """Points of a schema whose levels and bounds were bought; columns without any are left out."""
        used = {name: columns[name] for name in self.columns if columns[name].kind != "ignored"}
        empty: Any = self.X
        return replace(self, columns=used, X=empty[list(used)])

    def of_size(self, n: int | None, n_persons: int) -> Generated:
        """So many points, or as many as befit the number of private records or persons."""
        return replace(self, n_points=n or max(_FEWEST, math.ceil(n_persons / _SHARE)))

    @property
    def n_bins(self) -> list[int]:
        """Bins of each column."""
        return [_n_bins(column) for column in self.columns.values()]

    def noise(self, mu: float, exact: bool) -> Marginals | None:
        """The release that the points are made of; None of ranges."""
        if not self.marginals:
            return None
        return Marginals(len(self.columns), sum(self.n_bins), mu, exact)

    def codes(self, X: pd.DataFrame) -> IntArray:
        """Bin of each cell, shape (n, k); a record's are its own, whatever the others hold."""
        return np.column_stack([self._code(column, X[name]) for name, column in self.columns.items()])

    def made(
        self, records: PrivateRecords | None, noise: Marginals | None, door: Door, rng: np.random.Generator
    ) -> pd.DataFrame:
        """Draw the points; `records` have the codes of one record each as their features."""
        import pandas as pd

        sizes = self.n_bins
        if noise is None or records is None:
            weights = [_even(column) for column in self.columns.values()]
        else:
            exact = [np.bincount(code, minlength=size) for code, size in zip(records.X.T, sizes, strict=True)]
            counts = noise.release(np.concatenate(exact).astype(np.float64)[None], door)[0]
            counts = np.where(counts < max(_DEVIATIONS * noise.sigma, 0.5), 0.0, counts)
            parts = np.split(counts, np.cumsum(sizes)[:-1])
            weights = [
                part if part.any() else _even(column)
                for part, column in zip(parts, self.columns.values(), strict=True)
            ]
        return pd.DataFrame(
            {
                name: self._drawn(column, weight, rng)
                for (name, column), weight in zip(self.columns.items(), weights, strict=True)
            }
        )

    def _code(self, column: Column, cells: Any) -> IntArray:
        if column.kind == "category":
            numbers = {value: i for i, value in enumerate(column.levels or ())}
            return np.array([numbers.get(str(cell), len(numbers)) for cell in cells], dtype=np.int64)
        x = np.asarray(cells, dtype=np.float64)
        absent = np.isnan(x)
        inside = np.floor(self._scale(column).to(np.where(absent, _bounds(column)[0], x)) * _BINS)
        return np.where(absent, _BINS, inside.clip(0, _BINS - 1)).astype(np.int64)

    def _drawn(self, column: Column, weights: FloatArray, rng: np.random.Generator) -> Any:
        bins = rng.choice(len(weights), self.n_points, p=weights / weights.sum())
        if column.kind == "category":
            return np.array([*(column.levels or ()), ""], dtype=object)[bins]
        x = self._scale(column).back((bins + rng.random(self.n_points)) / _BINS)
        return np.where(bins == _BINS, np.nan, x)

    def _scale(self, column: Column) -> _Scale:
        """The declared scale; else asinh of what is never negative, with a wide range or noisy bins."""
        low, high = _bounds(column)
        wide = self.marginals or high >= _TAIL * max(low, 1.0)
        return _Scale(low, high, column.scale == "asinh" or (column.scale is None and low >= 0 and wide))


@dataclass(frozen=True)
class _Scale:
    """Scale from low, at 0, to high, at 1."""

    low: float
    high: float
    asinh: bool

    def to(self, x: FloatArray) -> FloatArray:
        """Places of numbers, which are cut off at the ends."""
        first, last, places = self._ends(x.clip(self.low, self.high))
        return np.asarray((places - first) / (last - first))

    def back(self, t: FloatArray) -> FloatArray:
        """Numbers of places."""
        first, last, _ = self._ends(t)
        places = first + t * (last - first)
        numbers = np.sinh(places) * self._unit if self.asinh else places
        return np.asarray(numbers.clip(self.low, self.high))

    @property
    def _unit(self) -> float:
        return max(abs(self.low), abs(self.high)) / _TAIL

    def _ends(self, x: FloatArray) -> tuple[float, float, FloatArray]:
        if not self.asinh:
            return self.low, self.high, x
        first, last = (math.asinh(end / self._unit) for end in (self.low, self.high))
        return first, last, np.arcsinh(x / self._unit)


def _is_bounded(column: Column) -> bool:
    if column.kind == "category":
        return bool(column.levels)
    return column.low is not None and max(map(abs, _bounds(column))) <= _LARGEST


def _bounds(column: Column) -> tuple[float, float]:
    return float(column.low or 0.0), float(column.high or 0.0)


def _n_bins(column: Column) -> int:
    """Bins of a column; the last is for a missing number, or a text that is missing or none of the values."""
    if column.is_number:
        return 1 + _BINS
    return 1 + (MOST_LEVELS if column.bought and column.levels is None else len(column.levels or ()))


def _even(column: Column) -> FloatArray:
    """The same weight for each bin, and for a missing cell where there may be one."""
    weights = np.ones(_n_bins(column))
    weights[-1] = column.missing is True
    return weights
