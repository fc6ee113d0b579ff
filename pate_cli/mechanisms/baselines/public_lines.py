"""The columns themselves as features of a linear model: public points bound and scale them, and no more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from pate_cli.mechanisms.baselines.gradients import whole_features
from pate_cli.mechanisms.baselines.public_columns import PublicColumns
from pate_cli.mechanisms.baselines.public_features import CONSTANT, UNIT, PublicFeatures
from pate_cli.types import FloatArray

__all__ = ["Features", "PublicLines", "lines_beside"]

_HUGE = 1e100  # numbers beyond are taken for it: norms are finite


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


def lines_beside(
    bent: PublicFeatures, public: Any, rng: np.random.Generator, fewest: float
) -> Features | None:
    """Make features of lines alone, to be tried beside functions that bend; None of flags that are spanned.

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
