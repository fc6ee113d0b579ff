"""Bins for the rare values of zero-inflated columns, from public points alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pate_cli.types import FloatArray, IntArray, dense

__all__ = ["BINS", "MOST_BINS", "PublicBins"]

BINS = 32
"""Bins of a column at most."""

MOST_BINS = 128
"""Bins in all at most."""

_MOSTLY = 0.5  # share of the public points that have a column's most common value
_MOST_RARE = 0.5  # rare values of a public point, on average, at most
_MOST_COLUMNS = 32  # so that they add less than 1 to the norm of the longest features
_HEIGHT = 2.0  # of a feature: other features of a record have norm 1 or so


@dataclass(frozen=True, eq=False)
class PublicBins:
    """A feature for each bin of the values that a column seldom takes: has a record its value there? PUBLIC.

    A column that has one value at half of the public points or more (a gain that most people do not have)
    is, where it has another, hardly seen by a kernel of all columns, and what its values say need not be
    smooth in them. A bin holds as many public points as let private records tell it from noise. A record
    has a feature for each of its rare values, so a record without one has none of their noise; where public
    points have more than half a rare value each (counts of words), there are no bins at all.

    **What a private record can do.** ``phi(x)`` is a function of x and of public points, whole for whatever
    number.

    Attributes
    ----------
    columns : ndarray of int64, shape (J,)
        Which columns of a record.
    common : ndarray of shape (J,)
        The most common public value of each, which is in no bin.
    starts : ndarray of int64, shape (J + 1,)
        Where the cuts of each begin.
    cuts : ndarray of shape (K,)
        Between bins, ascending in each: half-way between public values. Column j has one bin more than cuts.
    """

    columns: IntArray
    common: FloatArray
    starts: IntArray
    cuts: FloatArray

    @classmethod
    def of(cls, public: Any, numbers: IntArray, fewest: float) -> PublicBins:
        """Make bins of some of the columns of public points.

        Parameters
        ----------
        public : ndarray or csr_matrix of shape (m, d)
        numbers : ndarray of int64
            Columns of three or more public values.
        fewest : float
            Public points in a bin, at least 1; inf for no bins.
        """
        m = public.shape[0]
        columns = dense(public[:, numbers]).astype(np.float64) if np.isfinite(fewest) else np.zeros((m, 0))
        found = [_rare(column) for column in columns.T]
        mostly = [j for j, (_, rare) in enumerate(found) if len(rare) <= (1 - _MOSTLY) * m]
        if sum(len(found[j][1]) for j in mostly) > _MOST_RARE * m:
            mostly = []
        heard = sorted(mostly, key=lambda j: -len(found[j][1]))[:_MOST_COLUMNS]
        heard = [j for j in heard if len(found[j][1]) >= 2 * fewest]
        most = min(BINS, MOST_BINS // max(len(heard), 1))
        cuts = [_cuts(found[j][1], max(fewest, len(found[j][1]) / most)) for j in heard]
        starts = np.cumsum([0, *(len(each) for each in cuts)])
        common = np.array([found[j][0] for j in heard])
        return cls(np.asarray(numbers)[heard].astype(np.int64), common, starts, np.concatenate([*cuts, []]))

    @property
    def dimension(self) -> int:
        """Number of features."""
        return len(self.cuts) + len(self.columns)

    def write(self, X: Any, out: np.ndarray[Any, Any], unit: float) -> None:
        """Write the features of records, a row by itself, over zeros.

        Parameters
        ----------
        X : ndarray or csr_matrix of shape (n, d)
            Finite numbers.
        out : ndarray of shape (n, dimension)
        unit : float
            What they are given in multiples of.
        """
        if not len(self.columns):
            return
        values = dense(X[:, self.columns])
        for j, column in enumerate(values.T):
            first, end = self.starts[j : j + 2]
            rows = np.flatnonzero(column != self.common[j])
            out[rows, first + j + np.searchsorted(self.cuts[first:end], column[rows])] = round(_HEIGHT / unit)


def _rare(column: FloatArray) -> tuple[float, FloatArray]:
    """Most common value of a column, and the others, ascending."""
    values, counts = np.unique(column, return_counts=True)
    common = values[counts.argmax()]
    return float(common), np.sort(column[column != common])


def _cuts(values: FloatArray, fewest: float) -> FloatArray:
    """Cut values into bins of at least so many, half-way between those that differ."""
    levels, counts = np.unique(values, return_counts=True)
    cuts, seen, left = [], 0, len(values)
    for i, count in enumerate(counts.tolist()):
        seen, left = seen + count, left - count
        if seen >= fewest and left >= fewest:
            cuts.append(levels[i] / 2 + levels[i + 1] / 2)
            seen = 0
    return np.array(cuts)
