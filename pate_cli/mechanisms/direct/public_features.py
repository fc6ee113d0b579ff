"""Features of a record in functions that public points span: a kernel, centred and half whitened."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from pate_cli.mechanisms.direct.clipped_gradients import (
    UNIT,
    on_grid,
    probabilities,
    row_squares,
    stable_product,
)
from pate_cli.types import FloatArray, IntArray, dense

__all__ = [
    "CONSTANT",
    "FEW",
    "MOST_DIRECTIONS",
    "SHUFFLED",
    "OwnColumns",
    "PublicColumns",
    "PublicFeatures",
    "PublicKernelClassifier",
    "enough_points",
    "is_text",
]

CONSTANT = 0.5
"""Value of the last feature, whose weight is the intercept."""

MOST_DIRECTIONS = 300
"""Directions of the kernel at most."""

SHUFFLED = 300
"""Landmarks made of fewer public points by shuffling columns."""

FEW = 60
"""Public points below which columns are shuffled to span more, and most of their ranks are chance."""

_MOST_LANDMARKS = 500
_LEVELS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)  # ranks with a knot
_FEW_LEVELS = (0.15, 0.5, 0.85)  # the same of few points
_FARTHEST = 3.0  # score beyond which no value goes
_UNITS = (0.75, 1.25)  # standard deviation of the logarithms of spreads: of one unit up to, of several from
_SCALED = 0.01  # the same below which somebody has scaled the columns
_BY_RANK = 12  # columns that go by rank alone, to be weighed against as many as there are
_CUT = 1e-4  # of the largest eigenvalue: directions below it are left out
_RIDGE = 0.05  # of the mean variance, where directions are whitened
_POWER = -0.25  # of the variances: half-way to whitened
_SMOOTH = 0.5  # weight of the Gaussian kernel, a linear one's being 1
_SPLINES = 0.125  # of the splines' at most
_MOST_SPLINES = 4096
_BINS = 32  # of a column at most
_MOST_BINS = 128
_BINNED = 32  # columns with bins at most, so that they add less than 1 to the norm of the longest features
_MOSTLY = 0.5  # share of the public points with a column's most common value, where others are rare
_MOST_RARE = 0.5  # rare values of a public point, on average, at most
_HEIGHT = 2.0  # of a bin's feature: the others of a record have norm 1 or so
_HUGE = 1e100  # values beyond are taken for it: squares and differences are finite
_BLOCK = 2**22  # numbers worked on at a time, about


@dataclass(frozen=True, eq=False)
class PublicColumns:
    """A map of each column to a bounded interval, so that any finite record is an ordinary one. PUBLIC.

    - *Numbers*, columns of three or more public values: the normal score of the value's rank among the public
      points, by straight lines between a few ranks, the outer ones continued up to a score of 3. Columns may
      have one unit, and what varies more then may say more: each of J is multiplied by its standard deviation
      to the power of J/(J + 12), scaled to mean square 1, where the logarithms of the deviations have a
      standard deviation of at most .75; from there to 1.25, where units differ, the power falls to 0.
    - *Flags*, columns of two public values, and all columns of text: clipped to their range. Flags are
      divided by it.
    - Columns that are constant among the public points are left out.

    Attributes
    ----------
    kept : ndarray of int64, shape (d',)
        Columns that vary.
    low, high, scale : ndarray of shape (d',)
        Bounds, and what to divide by.
    numbers : ndarray of int64, shape (J,)
        Which of the columns kept are numbers.
    knots, scores : tuple of J ndarrays
        Values, ascending, and their scores.
    """

    kept: IntArray
    low: FloatArray
    high: FloatArray
    scale: FloatArray
    numbers: IntArray
    knots: tuple[FloatArray, ...]
    scores: tuple[FloatArray, ...]

    @classmethod
    def of(cls, public: Any) -> PublicColumns:
        """Learn the columns of public points, ndarray or csr_matrix of shape (m, d), finite numbers."""
        if is_text(public):
            low, high = (dense(side).ravel() for side in (public.min(axis=0), public.max(axis=0)))
            columns = np.zeros((0, len(low)))
        else:
            columns = np.clip(dense(public), -_HUGE, _HUGE)
            low, high = columns.min(axis=0), columns.max(axis=0)
        kept = np.flatnonzero(high > low)
        low, high = np.minimum(low[kept], 0.0), np.maximum(high[kept], 0.0)
        scale = np.ones(len(kept)) if is_text(public) else high - low
        numbers: list[int] = []
        knots: list[FloatArray] = []
        scores: list[FloatArray] = []
        for place, column in enumerate(columns.T[kept]):
            values, counts = np.unique(column, return_counts=True)
            if len(values) >= 3:
                numbers.append(place)
                for known, found in zip((knots, scores), _normal_scores(values, counts), strict=True):
                    known.append(found)
        factors = _factors(columns.T[kept[numbers]].std(axis=1)) if numbers else np.zeros(0)
        scores = [factor * each for factor, each in zip(factors, scores, strict=True)]
        return cls(kept, low, high, scale, np.array(numbers, np.int64), tuple(knots), tuple(scores))

    def apply(self, X: Any) -> Any:
        """Map records of shape (n, d) to (n, d'), a row by itself: an ndarray, or a csr_matrix of text."""
        if is_text(X):
            X = X[:, self.kept].astype(np.float64)
            X.data = np.clip(X.data, self.low[X.indices], self.high[X.indices])
            return X
        raw = np.ascontiguousarray(dense(X)[:, self.kept])
        out = np.clip(raw, self.low, self.high) / self.scale
        for j, knots, scores in zip(self.numbers, self.knots, self.scores, strict=True):
            out[:, j] = np.interp(raw[:, j], knots, scores)
        return out

    def splines(self, points: Any) -> FloatArray:
        """Evaluate a linear spline basis of the numbers at mapped points: shape (n, K).

        An inner product of two rows is, in each column, the covariance of a random walk.
        """
        found = [np.zeros((points.shape[0], 0))]
        for j, scores in zip(self.numbers, self.scores, strict=True):
            ways = np.diff(scores)
            at, ways = scores[:-1][ways > 0], ways[ways > 0]
            found.append(np.clip((points[:, [j]] - at) / ways, 0.0, 1.0) * np.sqrt(ways))
        return np.hstack(found)


@dataclass(frozen=True, eq=False)
class PublicBins:
    """A feature for each bin of the values that a column seldom takes. PUBLIC.

    A column that has one value at half of the public points or more (a gain that most people do not have) is,
    where it has another, hardly seen by a kernel of all columns, and what its values say need not be smooth
    in them. Where public points have more than half a rare value each (counts of words), there are no bins.

    Attributes
    ----------
    columns : ndarray of int64, shape (J,)
    common : ndarray of shape (J,)
        Most common public value of each, which is in no bin.
    cuts : tuple of J ndarrays
        Between bins, ascending; one fewer than these.
    """

    columns: IntArray
    common: FloatArray
    cuts: tuple[FloatArray, ...]

    @classmethod
    def of(cls, public: Any, numbers: IntArray, fewest: float) -> PublicBins:
        """Make bins of at least `fewest` public points each, of columns of three or more public values."""
        m, found = public.shape[0], []
        for j, column in zip(numbers, dense(public[:, numbers]).T, strict=True):
            values, counts = np.unique(column, return_counts=True)
            common = values[counts.argmax()]
            if counts.max() >= _MOSTLY * m:
                found.append((j, common, np.sort(column[column != common])))
        if sum(len(rare) for *_, rare in found) > _MOST_RARE * m:
            found = []
        found = sorted(found, key=lambda each: -len(each[2]))[:_BINNED]
        found = [each for each in found if len(each[2]) >= 2 * fewest]
        most = min(_BINS, _MOST_BINS // max(len(found), 1))
        cuts = tuple(_cuts(rare, max(fewest, len(rare) / most)) for *_, rare in found)
        return cls(np.array([j for j, *_ in found], np.int64), np.array([at for _, at, _ in found]), cuts)

    @property
    def dimension(self) -> int:
        """Number of features."""
        return sum(len(cuts) + 1 for cuts in self.cuts)

    def write(self, X: Any, out: NDArray[np.float32]) -> None:
        """Write the features of records, in multiples of `UNIT`, over zeros of shape (n, dimension)."""
        first = 0
        for j, common, cuts in zip(self.columns, self.common, self.cuts, strict=True):
            column = dense(X[:, [j]])[:, 0]
            rows = np.flatnonzero(column != common)
            out[rows, first + np.searchsorted(cuts, column[rows])] = round(_HEIGHT / UNIT)
            first += len(cuts) + 1


@dataclass(frozen=True, eq=False)
class PublicFeatures:
    r"""The map ``phi`` from a record to p features, made from public points alone. PUBLIC.

    On columns as `PublicColumns` maps them, with landmarks ``z_1 .. z_L`` drawn from the public points, s the
    median squared distance between two of them and u(x) the splines of the numbers, the kernel is ::

        k(x, z) = exp(-|x - z|^2 / (2 s)) / 2 + <x, z> / mean |z - zbar|^2 + weight <u(x), u(z)>

    so that functions may bend, be lines, or bend in one column by itself, however many others make up the
    distance. It is centred at the landmarks (kernel principal components, [2]_), and each direction is
    divided by the fourth root of its variance, half-way to whitened: without, noise drowns what is not in the
    first few directions; all the way, it is as large in directions that hold nothing. The result is divided
    by the public median of its norm; features of rare values (`PublicBins`) and a constant are appended.

    ``phi(x)`` is a function of x and of public points, the same to the bit wherever x stands and whatever the
    other records are.

    Attributes
    ----------
    columns : PublicColumns
    landmarks : ndarray or csr_matrix of shape (L, d')
    spread, size : float
        Median squared distance between landmarks; mean squared distance from their mean.
    smooth, weight : float
        Of the Gaussian kernel, a half or 0; of the splines.
    back : ndarray of shape (L, p')
        From the kernel to directions.
    middle : ndarray of shape (p',)
        Mean of the landmarks' directions before centring.
    bins : PublicBins

    References
    ----------
    .. [1] C. Williams, M. Seeger. Using the Nystroem method to speed up kernel machines. NIPS 2000.
    .. [2] B. Schoelkopf, A. Smola, K.-R. Mueller. Nonlinear component analysis as a kernel eigenvalue
       problem. Neural Computation 10, 1998.
    """

    columns: PublicColumns
    landmarks: Any
    spread: float
    size: float
    smooth: float
    weight: float
    back: FloatArray
    middle: FloatArray
    bins: PublicBins

    @classmethod
    def of(
        cls,
        public: Any,
        rng: np.random.Generator,
        *,
        directions: int = MOST_DIRECTIONS,
        fewest: float = np.inf,
        bends: bool = True,
    ) -> PublicFeatures:
        """Make the features that public points span.

        Parameters
        ----------
        public : ndarray or csr_matrix of shape (m, d)
            Finite numbers, m at least 1.
        rng : numpy.random.Generator
            Draws the landmarks.
        directions : int
            Most to keep, at least 1: those of the largest variance.
        fewest : float
            Public points in a bin of rare values, at least 1; inf for no bins.
        bends : bool
            Whether functions may bend, or are lines in the mapped columns.
        """
        columns = PublicColumns.of(public)
        points = columns.apply(public)
        few = FEW if len(columns.numbers) else points.shape[1] + 1
        landmarks = points
        if points.shape[0] > _MOST_LANDMARKS:
            landmarks = points[np.sort(rng.permutation(points.shape[0])[:_MOST_LANDMARKS])]
        landmarks = enough_points(landmarks, rng, few)
        squares = row_squares(landmarks)
        size = float(squares.mean() - np.square(np.asarray(landmarks.mean(axis=0))).sum())
        size = size if size > 1e-12 * squares.mean() else 1.0
        splines = row_squares(_centred(_splines(columns, landmarks))).mean()
        smooth = _SMOOTH if bends else 0.0
        weight = _SPLINES * directions / MOST_DIRECTIONS / splines if bends and splines > 0 else 0.0
        apart = squares[:, None] + squares - 2 * stable_product(landmarks, landmarks)
        bins = PublicBins.of(public, columns.kept[columns.numbers], fewest)
        none = np.zeros((len(squares), 0)), np.zeros(0)
        found = cls(columns, landmarks, _median_distance(apart), size, smooth, weight, *none, bins)
        kernel = _centred(_centred(found._kernel(landmarks)).T)
        values, vectors = np.linalg.eigh(kernel)
        values, vectors = values[::-1][:directions], vectors[:, ::-1][:, :directions]
        kept = values > max(_CUT * values[0], 1e-12)
        values, vectors = values[kept], vectors[:, kept]
        variances = values / len(squares)
        back = vectors * (
            (variances + _RIDGE * variances.sum() / max(len(values), 1)) ** _POWER / np.sqrt(values)
        )
        back -= back.mean(axis=0)
        found = replace(found, back=back, middle=found._kernel(landmarks).mean(axis=0) @ back)
        norms = np.sqrt(row_squares(found.directions_of(points)))
        norm = float(np.median(norms)) or float(norms.mean()) or 1.0
        return replace(found, back=back / norm, middle=found.middle / norm)

    @property
    def dimension(self) -> int:
        """Number of features, the constant one included."""
        return int(self.back.shape[1]) + self.bins.dimension + 1

    def apply(self, X: Any) -> NDArray[np.float32]:
        """Features of records of shape (n, d), in multiples of `UNIT`: whole numbers below 2^24, (n, p)."""
        out = np.zeros((X.shape[0], self.dimension), dtype=np.float32)
        out[:, -1] = CONSTANT / UNIT
        spanned = self.back.shape[1]
        block = max(_BLOCK // (X.shape[1] + len(self.back)), 1)
        for first in range(0, X.shape[0], block):
            rows = slice(first, first + block)
            out[rows, :spanned] = on_grid(self.directions_of(self.columns.apply(X[rows])))
            self.bins.write(X[rows], out[rows, spanned:-1])
        return out

    def directions_of(self, points: Any) -> FloatArray:
        """Features of points that `columns` has mapped, but for bins and the constant: (n, p')."""
        return stable_product(self._kernel(points), self.back.T) - self.middle

    def _kernel(self, points: Any) -> FloatArray:
        """Kernel of mapped points with the landmarks."""
        inner = stable_product(points, self.landmarks)
        apart = np.maximum(row_squares(points)[:, None] + row_squares(self.landmarks) - 2 * inner, 0.0)
        kernel = self.smooth * np.exp(apart / (-2 * self.spread))
        kernel += inner / self.size
        if self.weight > 0:
            splines = (_splines(self.columns, each) for each in (points, self.landmarks))
            kernel += self.weight * stable_product(*splines)
        return kernel


@dataclass(frozen=True, eq=False)
class OwnColumns:
    """The map ``phi`` from a record to its own columns, divided by the public median of the norm. PUBLIC.

    For text: a word that no public point has may tell classes apart, and functions that public points span do
    not see it.
    """

    dimension: int
    size: float

    @classmethod
    def of(cls, public: Any) -> OwnColumns:
        """Learn the scale from public points, csr_matrix of shape (m, d)."""
        norms = np.sqrt(row_squares(_bounded(public)))
        return cls(public.shape[1] + 1, float(np.median(norms)) or float(norms.mean()) or 1.0)

    def apply(self, X: Any) -> Any:
        """Features of records in multiples of `UNIT`, csr_matrix of shape (n, p)."""
        import scipy.sparse as sp

        last = np.full((X.shape[0], 1), CONSTANT / UNIT)
        return sp.hstack([on_grid(_bounded(X) / self.size), last], format="csr")


class PublicKernelClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Class with the largest score, the scores linear in features made from public points. PUBLIC.

    A mechanism makes it; there is nothing to fit by itself.

    Parameters
    ----------
    features : PublicFeatures or OwnColumns
    weights : ndarray of shape (p, q)
        q is 1 for two classes, where the score is the log-odds of class 1, else one column a class.
    """

    def __init__(
        self, features: PublicFeatures | OwnColumns | None = None, weights: FloatArray | None = None
    ) -> None:
        self.features = features
        self.weights = weights

    @property
    def classes_(self) -> NDArray[np.int64]:
        """Class codes, shape (C,)."""
        columns = 1 if self.weights is None else self.weights.shape[1]
        return np.arange(max(columns, 2))

    def __sklearn_is_fitted__(self) -> bool:
        return self.features is not None

    def fit(self, X: Any, y: Any) -> PublicKernelClassifier:
        """Not available: it learns from private records, with noise."""
        raise NotImplementedError("made by a mechanism")

    def decision_function(self, X: Any) -> FloatArray:
        """Log-odds of class 1, shape (n,); for more classes a score each, shape (n, C)."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of the classes, shape (n, C)."""
        found = probabilities(self._scores(X))
        return np.hstack([1 - found, found]) if found.shape[1] == 1 else found

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Class codes, shape (n,)."""
        scores = self._scores(X)
        best = scores[:, 0] >= 0 if scores.shape[1] == 1 else scores.argmax(axis=1)
        return np.asarray(best).astype(np.int64)

    def _scores(self, X: Any) -> FloatArray:
        if self.features is None or self.weights is None:
            raise ValueError("made by a mechanism")
        scores = np.empty((X.shape[0], self.weights.shape[1]))
        for first in range(0, X.shape[0], 4096):
            rows = slice(first, first + 4096)
            scores[rows] = self.features.apply(X[rows]) @ (self.weights * UNIT)
        return scores


def is_text(X: Any) -> bool:
    """Whether a table is sparse and of more columns than there can be landmarks."""
    return not isinstance(X, np.ndarray) and X.shape[1] > _MOST_LANDMARKS


def enough_points(points: Any, rng: np.random.Generator, few: int = FEW) -> Any:
    """Add points up to 300 that have each column of a public point of its own, where there are few.

    Parameters
    ----------
    points : ndarray or csr_matrix of shape (m, d)
    rng : numpy.random.Generator
    few : int
        Fewer are, of at most 300; fewer than 60 are anyway.
    """
    import scipy.sparse as sp

    m, d = points.shape
    if not 1 < m < max(FEW, few if few <= SHUFFLED else 0):
        return points
    known = dense(points)
    more = np.vstack([known, known[rng.integers(0, m, (SHUFFLED - m, d)), np.arange(d)]])
    return sp.csr_matrix(more) if sp.issparse(points) else more


def _normal_scores(values: FloatArray, counts: IntArray) -> tuple[FloatArray, FloatArray]:
    """Knots and the normal scores of their ranks, ties at the middle."""
    from scipy.special import ndtri

    m = counts.sum()
    ranks = (np.cumsum(counts) - counts / 2 + 0.5) / (m + 1)
    levels = _LEVELS if m >= FEW else _FEW_LEVELS
    at = np.unique([np.abs(ranks - level).argmin() for level in levels])
    if len(at) < 3:
        at = np.unique(np.linspace(0, len(values) - 1, len(levels)).round().astype(np.int64))
    values, scores = values[at], ndtri(ranks[at])
    ways = np.maximum([_FARTHEST + scores[0], _FARTHEST - scores[-1]], 0.0)
    room = ways * np.diff(values)[[0, -1]] / np.diff(scores)[[0, -1]]
    knots = np.concatenate([[values[0] - room[0]], values, [values[-1] + room[1]]])
    return knots, np.clip(np.concatenate([[-_FARTHEST], scores, [_FARTHEST]]), -_FARTHEST, _FARTHEST)


def _factors(spreads: FloatArray) -> FloatArray:
    """What columns of these spreads are multiplied by, of mean square 1; all by 1 where units differ."""
    least = spreads[spreads > 0].min(initial=np.inf)
    if np.isinf(least):
        return np.ones(len(spreads))
    logs = np.log(np.maximum(spreads, least))
    like, unlike = _UNITS
    alike = np.clip((unlike - logs.std()) / (unlike - like), 0.0, 1.0) if logs.std() > _SCALED else 0.0
    factors = np.exp(alike * len(logs) / (len(logs) + _BY_RANK) * (logs - logs.max()))
    found: FloatArray = factors / np.sqrt(np.mean(factors**2))
    return found


def _splines(columns: PublicColumns, points: Any) -> FloatArray:
    """Splines of mapped points; none of very many."""
    few = sum(map(len, columns.scores)) <= _MOST_SPLINES
    return columns.splines(points) if few else np.zeros((points.shape[0], 0))


def _cuts(values: FloatArray, fewest: float) -> FloatArray:
    """Cut sorted values into bins of at least so many, half-way between those that differ."""
    levels, counts = np.unique(values, return_counts=True)
    cuts, seen, left = [], 0, len(values)
    for i, count in enumerate(counts.tolist()):
        seen, left = seen + count, left - count
        if seen >= fewest and left >= fewest:
            cuts.append(levels[i] / 2 + levels[i + 1] / 2)
            seen = 0
    return np.array(cuts)


def _median_distance(apart: FloatArray) -> float:
    """Median of the squared distances between points that are not the same; 1 where all are."""
    apart = np.maximum(apart[np.triu_indices(len(apart), 1)], 0.0)
    apart = apart[apart > 1e-9 * max(apart.max(initial=0.0), 1e-300)]
    return float(np.median(apart)) if apart.size else 1.0


def _centred(A: FloatArray) -> FloatArray:
    """Take the mean of its rows out of a matrix."""
    centred: FloatArray = A - A.mean(axis=0)
    return centred


def _bounded(X: Any) -> Any:
    """Bound the entries of a sparse matrix, so that norms are finite."""
    X = X.astype(np.float64)
    X.data = np.clip(X.data, -_HUGE, _HUGE)
    return X
