"""Features of a record in the functions that public points span: a kernel, centred and half whitened."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pate_cli.mechanisms.baselines import exact
from pate_cli.mechanisms.baselines.public_bins import PublicBins
from pate_cli.mechanisms.baselines.public_columns import PublicColumns
from pate_cli.mechanisms.baselines.public_distances import WeighedDistances, middle_distance
from pate_cli.types import FloatArray, dense

__all__ = [
    "CONSTANT",
    "FEW",
    "LONGEST",
    "MOST_DIRECTIONS",
    "MOST_LANDMARKS",
    "SHUFFLED",
    "UNIT",
    "PublicFeatures",
    "enough_points",
]

UNIT = 2.0**-16
"""Features are whole multiples of it, so that sums over records are exact."""

CONSTANT = 0.5
"""Value of the last feature, whose weight is the intercept."""

LONGEST = 128.0
"""Norm to which a record's other features are shortened; about half of the public points are within 1."""

SHUFFLED = 300
"""Landmarks made of fewer public points by shuffling columns, and so at most as many directions."""

MOST_LANDMARKS = 500
"""Landmarks at most."""

MOST_DIRECTIONS = 300
"""Features at most, the constant one not counted."""

FEW = 60
"""Public points below which columns are shuffled to span more."""

_CUT = 1e-4  # of the largest eigenvalue: directions below it are left out
_RIDGE = 0.05  # of the mean variance, where directions are whitened
_POWER = -0.25  # of the variances: half-way to whitened
_SMOOTH = 0.5  # weight of the Gaussian kernel, a linear one's being 1
_SPLINES = 0.125  # of the splines' at most
_MOST_SPLINES = 4096  # numbers of a record
_BLOCK = 4096  # rows at a time: a constant, so nothing depends on the records but their own rows
_DENSE = 2**25  # numbers in landmarks kept dense


@dataclass(frozen=True, eq=False)
class PublicFeatures:
    r"""The map ``phi`` from a record to p features, made from public points alone. PUBLIC.

    On columns as `PublicColumns` maps them, with landmarks ``z_1 .. z_L`` drawn from the public points,
    zbar their mean and s the median squared distance between two of them, the kernel is a smooth one and
    a linear one::

        k(x, z) = smooth exp(-|x - z|^2 / (2 s)) + <x - zbar, z - zbar> / mean |z - zbar|^2

    and, where functions may bend, up to an eighth of the latter on the splines u(x) of the numbers
    (`PublicColumns.splines`): a column's value may matter by itself, however many others make up the
    distance. An eighth where all directions are kept, and in proportion where noise leaves fewer.
    Half of the Gaussian kernel may be of distances in which columns count by weights: those that undo what
    columns keep of their spread, which may say nothing, and then others (`spanned_by`).
    The kernel is centred at the landmarks (kernel principal components) and, where functions may bend, each
    direction is divided by the fourth root of its variance, half-way to whitened: without, noise drowns what
    is not in the first few directions; all the way, it is as large in directions that hold nothing. Lines
    have the directions of columns, in which little more is hidden than can be seen. What comes out is
    divided by the public median of its norm, features for the rare values of zero-inflated columns
    (`PublicBins`) and the constant `CONSTANT` are appended.

    **What a private record can do.** ``phi(x)`` is a function of x and of public points: replacing a record
    changes its own row only. Columns are bounded, so no finite record overflows, and rows longer than
    `LONGEST` are shortened.

    Attributes
    ----------
    columns : PublicColumns
    landmarks : ndarray or csr_matrix of shape (L, d')
    centre : ndarray of shape (d',)
        Mean of the landmarks.
    squares : ndarray of shape (L,)
        Squared norm of each landmark.
    spread, size : float
        Median squared distance between landmarks; mean squared distance from their mean.
    means : ndarray of shape (L,)
        Of the kernel between landmarks, by column.
    back : ndarray of shape (L, p - 1)
        From the centred kernel to features.
    smooth : float
        Weight of the Gaussian kernel: a half, or 0 for a linear model.
    turns : tuple of ndarrays of shapes (K,) and (L, K), or None
        Mean of the landmarks' splines, and these less it, times their weight in the kernel.
    bins : PublicBins or None
    weighed : WeighedDistances or None
        Half of the Gaussian kernel, where columns keep some of their spread, or where a model that was
        released has told which matter.

    References
    ----------
    .. [1] C. Williams, M. Seeger. Using the Nystroem method to speed up kernel machines. NIPS 2000.
    .. [2] B. Schoelkopf, A. Smola, K.-R. Mueller. Nonlinear component analysis as a kernel eigenvalue
       problem. Neural Computation 10, 1998.
    """

    columns: PublicColumns
    landmarks: Any
    centre: FloatArray
    squares: FloatArray
    spread: float
    size: float
    means: FloatArray
    back: FloatArray
    smooth: float = 1.0
    turns: tuple[FloatArray, FloatArray] | None = None
    bins: PublicBins | None = None
    weighed: WeighedDistances | None = None

    @classmethod
    def of(
        cls,
        public: Any,
        rng: np.random.Generator,
        *,
        straight: bool = False,
        directions: int = MOST_DIRECTIONS,
        fewest: float = np.inf,
    ) -> PublicFeatures:
        """Make the features that public points span.

        Parameters
        ----------
        public : ndarray or csr_matrix of shape (m, d)
            Finite numbers, m at least 1.
        rng : numpy.random.Generator
            Draws the landmarks, where there are more than 500 points. Of fewer than 60 it makes 300, each
            column shuffled: so few points span few directions, and the classes need not differ in those.
            Where all columns are flags, fewer than 300, no more points than columns are few, too.
        straight : bool
            Whether functions are not to bend: a linear kernel, of columns on their own scale.
        directions : int
            Most to keep, at least 1: those of the largest variance.
        fewest : float
            Public points in a bin of rare values, at least 1; inf for no bins.
        """
        columns = PublicColumns.of(public, straight=straight)
        points = columns.apply(public)
        landmarks = _landmarks(points, rng, FEW if len(columns.numbers) else points.shape[1] + 1)
        centre = np.asarray(landmarks.mean(axis=0)).ravel()
        squares = _squares(landmarks)
        spread = middle_distance(squares[:, None] + squares - 2 * dense(landmarks @ landmarks.T))
        size = float(np.mean(squares) - centre @ centre)
        size = size if size > 1e-12 * max(squares.mean(), 1e-300) else 1.0
        smooth = 0.0 if straight else _SMOOTH
        turns = None if straight else _splines(columns, landmarks, _SPLINES * directions / MOST_DIRECTIONS)
        bins = PublicBins.of(public, columns.kept[columns.numbers], fewest)
        blank = np.zeros(len(squares)), np.zeros((len(squares), 0))
        found = cls(columns, landmarks, centre, squares, spread, size, *blank, smooth, turns)
        if not straight and (columns.factors != 1).any() and isinstance(landmarks, np.ndarray):
            found = replace(found, weighed=WeighedDistances.of(landmarks, 1 / columns.factors))
        return replace(found, bins=bins if bins.dimension else None)._spanning(points, directions)

    def spanned_by(self, weighed: WeighedDistances) -> PublicFeatures:
        """Make features of the same landmarks, as many at most, half of whose Gaussian kernel is this one."""
        found = replace(self, weighed=weighed)
        return found._spanning(self.landmarks, self.back.shape[1])

    def _spanning(self, points: Any, directions: int) -> PublicFeatures:
        """Find the directions of the kernel between landmarks, in which half of the points are within 1."""
        kernel = self._kernel(self.landmarks)
        means = kernel.mean(axis=0)
        values, vectors = np.linalg.eigh(kernel - means - means[:, None] + means.mean())
        values, vectors = values[::-1][:directions], vectors[:, ::-1][:, :directions]
        kept = values > max(_CUT * values[0], 1e-12)
        variances = values[kept] / len(self.squares)
        whitened = self.smooth > 0 and kept.any()
        weights = (variances + _RIDGE * variances.mean()) ** _POWER if whitened else np.ones(kept.sum())
        back = vectors[:, kept] * (weights / np.sqrt(values[kept]))
        found = replace(self, means=means, back=back)
        norms = np.sqrt(_squares(found.directions_of(points)))
        middle = float(np.median(norms)) or float(norms.mean()) or 1.0
        return replace(found, back=back / middle)

    @property
    def dimension(self) -> int:
        """Number of features, the constant one included."""
        return int(self.back.shape[1]) + (self.bins.dimension if self.bins else 0) + 1

    def apply(self, X: Any, *, anywhere: bool = False) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Features of records in multiples of `UNIT`, whole numbers below 2^24, of shape (n, p).

        Parameters
        ----------
        X : ndarray or csr_matrix of shape (n, d)
            Finite numbers.
        anywhere : bool
            Whether the features of a row have to be the same to the bit wherever it stands, and among which
            others: a product of matrices may round a row by its place. Then sums are exact (`exact.dot`), of
            rows rounded to 2^-26 of their norm, and a feature may be some units more or less than without.
        """
        out = np.zeros((X.shape[0], self.dimension), dtype=np.float32)
        out[:, -1] = CONSTANT / UNIT
        spanned = self.back.shape[1]
        for first in range(0, X.shape[0], _BLOCK):
            rows = slice(first, first + _BLOCK)
            points = self.columns.apply(X[rows])
            if anywhere:
                found = self._directions_anywhere(points)
                norms = exact.norms(found)
            else:
                found = self.directions_of(points)
                norms = np.sqrt(_squares(found))
            found *= (LONGEST / UNIT / np.maximum(norms, LONGEST))[:, None]
            out[rows, :spanned] = np.rint(found)
            if self.bins:
                self.bins.write(X[rows], out[rows, spanned:-1], UNIT)
        return out

    def directions_of(self, points: Any) -> FloatArray:
        """Features of points that `columns` has mapped, but for bins and the constant: (n, p')."""
        kernel = self._kernel(points)
        kernel -= kernel.mean(axis=1)[:, None] + self.means - self.means.mean()
        found: FloatArray = kernel @ self.back
        return found

    def _kernel(self, points: Any) -> FloatArray:
        """Kernel of points, bounded already, with the landmarks."""
        inner = dense(points @ self.landmarks.T)
        kernel = self._kernel_of(inner, _squares(points), np.asarray(points @ self.centre))
        if self.turns is not None:
            middle, splines = self.turns
            kernel += (self.columns.splines(points) - middle) @ splines.T
        if self.weighed is not None:
            kernel += self.smooth / 2 * self.weighed.kernel(points)
        return kernel

    def _directions_anywhere(self, points: Any) -> FloatArray:
        """As `directions_of`, all sums over a row exact."""
        inner, along = exact.dot(points, self.landmarks), exact.dot(points, self.centre[None])[:, 0]
        kernel = self._kernel_of(inner, exact.norms(points) ** 2, along)
        if self.turns is not None:
            middle, splines = self.turns
            kernel += exact.dot(self.columns.splines(points) - middle, splines)
        if self.weighed is not None:
            kernel += self.smooth / 2 * self.weighed.kernel_anywhere(points)
        kernel -= self.means  # and not a row's own mean: directions are orthogonal to constants
        return exact.dot(kernel, self.back.T)

    def _kernel_of(self, inner: FloatArray, squares: FloatArray, along: FloatArray) -> FloatArray:
        """Kernel from products with the landmarks, which are overwritten, squared norms, and the centre."""
        smooth = np.maximum(squares[:, None] + self.squares - 2 * inner, 0.0)
        share = self.smooth if self.weighed is None else self.smooth / 2
        smooth = share * np.exp(smooth / (-2 * self.spread))
        inner -= along[:, None]
        inner += self.centre @ self.centre - np.asarray(self.landmarks @ self.centre)
        smooth += inner / self.size
        return smooth


def _landmarks(points: Any, rng: np.random.Generator, few: int) -> Any:
    """Some of the points, or where they are few as many that have each column of its own point."""
    import scipy.sparse as sp

    m, d = points.shape
    if m > MOST_LANDMARKS:
        points = points[np.sort(rng.permutation(m)[:MOST_LANDMARKS])]
    if sp.issparse(points):
        if max(points.shape[0], SHUFFLED) * d > _DENSE:
            return points
        points = dense(points)
    return enough_points(points, rng, few)


def enough_points(points: Any, rng: np.random.Generator, few: int = FEW) -> Any:
    """Add points that have each column of a public point of its own, where there are few.

    Parameters
    ----------
    points : ndarray or csr_matrix of shape (m, d)
    rng : numpy.random.Generator
    few : int
        Fewer are: at least 60. None are added for more than 300 columns, which 300 points do not span either.

    Returns
    -------
    ndarray or csr_matrix of shape (m, d) or (300, d)
    """
    import scipy.sparse as sp

    m, d = points.shape
    few = max(FEW, few if few <= SHUFFLED else 0)
    if not 1 < m < few or SHUFFLED * d > _DENSE:
        return points
    known = dense(points)
    more = np.vstack([known, known[rng.integers(0, m, (SHUFFLED - m, d)), np.arange(d)]])
    return sp.csr_matrix(more) if sp.issparse(points) else more


def _splines(columns: PublicColumns, landmarks: Any, weight: float) -> tuple[FloatArray, FloatArray] | None:
    """Mean of the landmarks' splines, and what is left, weighted; None of no numbers, or of very many."""
    if not 0 < len(columns.knots) <= _MOST_SPLINES:
        return None
    found = columns.splines(landmarks)
    middle = found.mean(axis=0)
    found -= middle
    return middle, found * (weight / max(float(_squares(found).mean()), 1e-300))


def _squares(X: Any) -> FloatArray:
    """Squared norm of each row."""
    import scipy.sparse as sp

    found: FloatArray = (
        np.asarray(X.multiply(X).sum(axis=1)).ravel() if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
    )
    return found
