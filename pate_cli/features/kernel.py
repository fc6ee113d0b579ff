"""Features of a record in functions that public points span, and in its own columns.

For learning in a kernel on landmarks: kernel principal components, centred and half whitened.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pate_cli.features.columns import (
    FEW,
    HUGE,
    MOST_LANDMARKS,
    PublicBins,
    PublicColumns,
)
from pate_cli.features.stable_rows import (
    UNIT,
    integer_product,
    on_grid,
    row_squares,
    stable_product,
    to_integers,
)
from pate_cli.matrices import dense
from pate_cli.types import FloatArray

__all__ = [
    "CONSTANT",
    "MOST_DIRECTIONS",
    "SHUFFLED",
    "GridFeatures",
    "KernelFeatures",
    "OwnColumns",
    "enough_points",
    "feature_values",
]

CONSTANT = 0.5
"""Value of the last feature, whose weight is the intercept."""

MOST_DIRECTIONS = 300
"""Directions of the kernel at most."""

SHUFFLED = 300
"""Landmarks where columns of fewer public points are shuffled."""

_ROUNDING = 1e-12  # of the mean square of points: a variance below it is rounding
_CUT = 1e-4  # of the largest eigenvalue: directions below it are left out
_RIDGE = 0.05  # of the mean variance, where directions are whitened
_POWER = -0.25  # of the variances: half-way to whitened
_SMOOTH = 0.5  # weight of the Gaussian kernel, a linear one's being 1
_SPLINES = 0.125  # of the splines' at most
_BLOCK = 2**18  # numbers worked on at a time, about: two megabytes, which stay in the processor's cache


class _Fixed(NamedTuple):
    """Landmarks, their splines and the way back, as `to_integers` has them."""

    landmarks: tuple[Any, FloatArray]
    squares: FloatArray  # (L,), norms of the landmarks
    splines: tuple[Any, FloatArray] | None
    back: tuple[Any, FloatArray]


@dataclass(frozen=True, eq=False)
class KernelFeatures:
    """The map ``phi`` from a record to p features, made from public points alone. PUBLIC.

    On columns as `PublicColumns` maps them, with landmarks ``z_1 .. z_L`` drawn from the public points, s the
    median squared distance between two of them and u(x) the splines of the numbers, the kernel is ::

        k(x, z) = exp(-|x - z|^2 / (2 s)) / 2 + <x, z> / mean |z - zbar|^2 + weight <u(x), u(z)>

    so that functions may bend, be lines, or bend in one column by itself, however many others make up the
    distance. It is centred at the landmarks (kernel principal components, Schoelkopf, Smola, Mueller 1998, on
    landmarks, Williams, Seeger 2000), and each direction is divided by the fourth root of its variance,
    half-way to whitened: without, noise drowns what is not in the first few directions; all the way, it is as
    large in directions that hold nothing. The result is divided by the public median of its norm; features of
    rare values (`PublicBins`) and a constant are appended.

    ``phi(x)`` is a function of x and of public points, the same to the bit wherever x stands and whatever the
    other records are.
    """

    columns: PublicColumns
    landmarks: Any  # (L, d'), sparse for text
    spread: float  # median squared distance between landmarks
    size: float  # mean squared distance from their mean
    smooth: float  # weight of the Gaussian kernel, a half or 0
    weight: float  # of the splines
    back: FloatArray  # (L, p'): from the kernel to directions
    middle: FloatArray  # (p',): mean of the landmarks' directions before centring
    bins: PublicBins
    scale: float = 1.0  # of `values`

    @classmethod
    def of(
        cls,
        public: Any,
        rng: np.random.Generator,
        *,
        directions: int = MOST_DIRECTIONS,
        fewest: float = np.inf,
        bends: bool = True,
    ) -> KernelFeatures:
        """Make the features that public points of shape (m, d) span; `rng` draws the landmarks.

        At most so many directions are kept, those of the largest variance; each bin of rare values has at
        least `fewest` public points. Functions may bend, or are lines in the mapped columns.
        """
        columns = PublicColumns.of(public)
        points = columns.apply(public)
        few = FEW if len(columns.numbers) else points.shape[1] + 1
        landmarks = points
        if points.shape[0] > MOST_LANDMARKS:
            landmarks = points[np.sort(rng.permutation(points.shape[0])[:MOST_LANDMARKS])]
        landmarks = enough_points(landmarks, rng, few)
        squares = row_squares(landmarks)
        size = float(squares.mean() - np.square(np.asarray(landmarks.mean(axis=0))).sum())
        size = size if size > _ROUNDING * squares.mean() else 1.0
        curves = columns.splines(landmarks)
        splines = row_squares(_centred(curves)).mean()
        splines = splines if splines > _ROUNDING * row_squares(curves).mean() else 0.0
        smooth = _SMOOTH if bends else 0.0
        weight = _SPLINES * directions / MOST_DIRECTIONS / splines if bends and splines > 0 else 0.0
        squared_distances = squares[:, None] + squares - 2 * stable_product(landmarks, landmarks)
        bins = PublicBins.of(public, columns.kept[columns.numbers], fewest)
        none = np.zeros((len(squares), 0)), np.zeros(0)
        features = cls(
            columns,
            landmarks,
            _median_distance(squared_distances, squares),
            size,
            smooth,
            weight,
            *none,
            bins,
        )
        kernel_of_landmarks = features._kernel(landmarks, features._fixed())
        kernel = _centred(_centred(kernel_of_landmarks).T)
        values, vectors = np.linalg.eigh(kernel)
        values, vectors = values[::-1][:directions], vectors[:, ::-1][:, :directions]
        kept = values > max(_CUT * values[0], 1e-12)
        values, vectors = values[kept], vectors[:, kept]
        variances = values / len(squares)
        back = vectors * (
            (variances + _RIDGE * variances.sum() / max(len(values), 1)) ** _POWER / np.sqrt(values)
        )
        back -= back.mean(axis=0)
        features = replace(features, back=back, middle=kernel_of_landmarks.mean(axis=0) @ back)
        norms = np.sqrt(row_squares(features.directions_of(points)))
        norm = float(np.median(norms)) or float(norms.mean()) or 1.0
        scale = norm * np.sqrt(back.shape[1] / max(np.mean(norms**2), 1e-300))
        return replace(features, back=back / norm, middle=features.middle / norm, scale=float(scale))

    @property
    def dimension(self) -> int:
        """Number of features, the constant one included."""
        return int(self.back.shape[1]) + self.bins.dimension + 1

    def apply(self, X: Any) -> NDArray[np.float32]:
        """Features of records of shape (n, d), in multiples of `UNIT`: whole numbers below 2^24, (n, p)."""
        out = np.zeros((X.shape[0], self.dimension), dtype=np.float32)
        out[:, -1] = CONSTANT / UNIT
        spanned, fixed = self.back.shape[1], self._fixed()
        block = max(_BLOCK // (X.shape[1] + len(self.back)), 1)
        for first in range(0, X.shape[0], block):
            rows = slice(first, first + block)
            out[rows, :spanned] = on_grid(self.directions_of(self.columns.apply(X[rows]), fixed))
            self.bins.write(X[rows], out[rows, spanned:-1])
        return out

    def values(self, X: Any) -> FloatArray:
        """Features of records of shape (n, d), no constant, of mean public variance 1: shape (n, p)."""
        return self.apply(X)[:, :-1].astype(np.float64) * (UNIT * self.scale)

    def directions_of(self, points: Any, fixed: _Fixed | None = None) -> FloatArray:
        """Features of points that `columns` has mapped, but for bins and the constant: (n, p')."""
        fixed = fixed or self._fixed()
        return integer_product(to_integers(self._kernel(points, fixed)), fixed.back) - self.middle

    def _kernel(self, points: Any, fixed: _Fixed) -> FloatArray:
        """Kernel of mapped points with the landmarks."""
        inner = integer_product(to_integers(points), fixed.landmarks)
        kernel: FloatArray = row_squares(points)[:, None] + fixed.squares  # in place from here: it is large
        kernel -= 2 * inner
        np.maximum(kernel, 0.0, out=kernel)
        kernel /= -2 * self.spread
        np.exp(kernel, out=kernel)
        kernel *= self.smooth
        inner /= self.size
        kernel += inner
        if fixed.splines is not None:
            splines = to_integers(self.columns.splines(points))
            kernel += self.weight * integer_product(splines, fixed.splines)
        return kernel

    def _fixed(self) -> _Fixed:
        """What is the same for all blocks of records."""
        z = self.landmarks
        splines = to_integers(self.columns.splines(z)) if self.weight > 0 else None
        return _Fixed(to_integers(z), row_squares(z), splines, to_integers(self.back.T))


@dataclass(frozen=True, eq=False)
class OwnColumns:
    """The map ``phi`` from a record to its own columns, divided by the public median of the norm. PUBLIC.

    Also for text: a word that no public point has may tell classes apart, and functions that public points
    span do not see it.
    """

    dimension: int
    size: float

    @classmethod
    def of(cls, public: Any) -> OwnColumns:
        """Learn the scale from public points, ndarray or csr_matrix of shape (m, d)."""
        norms = np.sqrt(row_squares(_bounded(public)))
        return cls(public.shape[1] + 1, float(np.median(norms)) or float(norms.mean()) or 1.0)

    def apply(self, X: Any) -> Any:
        """Features of records in multiples of `UNIT`, dense or sparse as they are, shape (n, p)."""
        return _with_constant(on_grid(_bounded(X) / self.size))


@dataclass(frozen=True, eq=False)
class GridFeatures:
    """Any map made from public points, rounded to the grid, with a constant. PUBLIC."""

    features: Any  # has `values`
    dimension: int
    size: float

    @classmethod
    def of(cls, features: Any, public: Any) -> GridFeatures:
        """Learn the public median of the norm."""
        norms = np.sqrt(row_squares(features.values(public)))
        size = float(np.median(norms)) or float(norms.mean()) or 1.0
        return cls(features, features.values(public[:1]).shape[1] + 1, size)

    def apply(self, X: Any) -> Any:
        """Features of records in multiples of `UNIT`, shape (n, p)."""
        return _with_constant(on_grid(_bounded(self.features.values(X)) / self.size))


def _with_constant(features: Any) -> Any:
    import scipy.sparse as sp

    last = np.full((features.shape[0], 1), CONSTANT / UNIT)
    return sp.hstack([features, last], "csr") if sp.issparse(features) else np.hstack([features, last])


def feature_values(features: Any, X: Any) -> Any:
    """Features of records as 64-bit floats, shape (n, p); sparse for text."""
    return features.apply(X).astype(np.float64) * UNIT


def enough_points(points: Any, rng: np.random.Generator, few: int = FEW) -> Any:
    """Add points whose columns are each drawn from another public point, up to 300, where there are few.

    Few are fewer than 60, or than `few` where that is at most 300.
    """
    import scipy.sparse as sp

    m, d = points.shape
    if not 1 < m < max(FEW, few if few <= SHUFFLED else 0):
        return points
    dense_points = dense(points)
    shuffled = np.vstack([dense_points, dense_points[rng.integers(0, m, (SHUFFLED - m, d)), np.arange(d)]])
    return sp.csr_matrix(shuffled) if sp.issparse(points) else shuffled


def _median_distance(distances: FloatArray, squares: FloatArray) -> float:
    """Median of the squared distances between points that are not the same; 1 where all are.

    A product is true to about 2^-24 of both norms, so distances below that are 0.
    """
    distances = np.maximum(distances[np.triu_indices(len(distances), 1)], 0.0)
    largest = distances.max(initial=0.0)
    distances = distances[distances > (1e-9 * largest if largest > 2.0**-22 * squares.max() else largest)]
    return float(np.median(distances)) if distances.size else 1.0


def _centred(A: FloatArray) -> FloatArray:
    """Take the mean of its rows out of a matrix."""
    centred: FloatArray = A - A.mean(axis=0)
    return centred


def _bounded(X: Any) -> Any:
    """Bound the entries of a matrix, so that norms are finite."""
    if isinstance(X, np.ndarray):
        return np.clip(X.astype(np.float64), -HUGE, HUGE)
    X = X.astype(np.float64)
    X.data = np.clip(X.data, -HUGE, HUGE)
    return X
