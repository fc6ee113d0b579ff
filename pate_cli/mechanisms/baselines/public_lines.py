"""The columns themselves as features of a linear model: public points bound and scale them, and no more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from pate_cli.mechanisms.baselines.gradients import whole_features
from pate_cli.mechanisms.baselines.public_columns import PublicColumns
from pate_cli.mechanisms.baselines.public_features import CONSTANT, UNIT, PublicFeatures
from pate_cli.mechanisms.baselines.public_relevance import carried
from pate_cli.types import FloatArray

__all__ = ["Features", "Position", "PublicLines", "lines_beside", "straightened"]

_HUGE = 1e100  # numbers beyond are taken for it: norms are finite
_RIDGES = (0.03, 0.3)  # of the mean square, in fits of lines: what is asked about, and where they start


@dataclass(frozen=True, eq=False)
class PublicLines:
    """The map ``phi`` from a record to its own columns, where there are more than public points span. PUBLIC.

    A word that no public point has may tell classes apart: features in the functions that public points span
    do not see it. A sparse table's columns are taken as they are; of others, numbers by a straight line
    through two ranks, flags by their range (`PublicColumns`), less the public mean. Divided by the public
    median of the norm, and `CONSTANT` appended. ``phi(x)`` is a function of x and of public points, and
    rows are shortened as those of `PublicFeatures` are.

    Attributes
    ----------
    columns : PublicColumns or None
        None of a sparse table.
    centre : ndarray of shape (d',)
        Of a table that is not; else zeros.
    size : float
    """

    columns: PublicColumns | None
    centre: FloatArray
    size: float

    @classmethod
    def of(cls, public: Any) -> PublicLines:
        """Learn bounds and scale from public points, ndarray or csr_matrix of shape (m, d)."""
        import scipy.sparse as sp

        if sp.issparse(public):
            plain = cls(None, np.zeros(public.shape[1]), 1.0)
        else:
            columns = PublicColumns.of(public, straight=True)
            plain = cls(columns, np.asarray(columns.apply(public).mean(axis=0)), 1.0)
        points = plain._points(public)
        norms = np.sqrt(
            np.asarray((points.multiply(points) if sp.issparse(points) else points**2).sum(axis=1))
        )
        return cls(plain.columns, plain.centre, float(np.median(norms)) or float(norms.mean()) or 1.0)

    @property
    def dimension(self) -> int:
        """Number of features, the constant one included."""
        return len(self.centre) + 1

    def apply(self, X: Any, *, anywhere: bool = True) -> Any:
        """Features of records in multiples of `UNIT`, (n, p), sparse for sparse; a row by itself anyway."""
        import scipy.sparse as sp

        found = whole_features(self._points(X) / self.size)
        last = np.full((X.shape[0], 1), CONSTANT / UNIT)
        return sp.hstack([found, last], format="csr") if sp.issparse(found) else np.hstack([found, last])

    def _points(self, X: Any) -> Any:
        if self.columns is not None:
            return self.columns.apply(X) - self.centre
        X = X.astype(np.float64, copy=True)
        X.data = np.clip(X.data, -_HUGE, _HUGE)
        return X


Features: TypeAlias = PublicFeatures | PublicLines

Position: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]
"""Where a descent is: theta, its last step, and its weights if it ended; each of shape (runs, p, q)."""


def lines_beside(
    bent: PublicFeatures, public: Any, rng: np.random.Generator, fewest: float
) -> Features | None:
    """Make features of lines alone, to be chosen in place of bends; None of flags that are spanned.

    Parameters
    ----------
    bent : PublicFeatures
    public : ndarray or csr_matrix of shape (m, d)
    rng : numpy.random.Generator
        Draws landmarks.
    fewest : float
        Public points in a bin of rare values.
    """
    if public.shape[1] >= bent.landmarks.shape[0]:
        return PublicLines.of(public)
    if not len(bent.columns.numbers):
        return None
    return PublicFeatures.of(public, rng, straight=True, fewest=fewest)


def straightened(bent: PublicFeatures, lines: PublicFeatures, public: Any, position: Position) -> Position:
    """Fit lines to functions that bend, at the public points, and make them as large as those are.

    What noise has put into directions of small variance is less in a fit with a ridge, and would stay where
    lines go on from it: so they start from less of these than is asked about.

    Parameters
    ----------
    bent, lines : PublicFeatures
        Of the same bins.
    public : ndarray or csr_matrix of shape (m, d)
    position : tuple of ndarrays of shape (runs, p, q)
        Of `Descent`, in features of `bent`.

    Returns
    -------
    tuple of ndarrays of shape (runs, p', q)
    """
    was, known = (each.directions_of(each.columns.apply(public)) for each in (bent, lines))
    asked, start = _RIDGES
    theta, last, weights = (
        _as_large(was, known, model, carried(was, known, model, ridge=ridge))
        for model, ridge in zip(position, (start, start, asked), strict=True)
    )
    return theta, last, weights


def _as_large(was: FloatArray, known: FloatArray, model: FloatArray, found: FloatArray) -> FloatArray:
    """Scale what was fitted to a model, but for bins and the constant, to the least squares of that."""
    old, new = was @ model[:, : was.shape[1]], known @ found[:, : known.shape[1]]
    along, square = (np.einsum("rmq,rmq->r", new, each) for each in (old, new))
    found[:, : known.shape[1]] *= (along / np.maximum(square, 1e-300))[:, None, None]
    return found
