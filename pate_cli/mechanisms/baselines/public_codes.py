"""Columns as codes of few values, between cuts that public points say; and back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pate_cli.types import FloatArray, IntArray

__all__ = ["PublicCodes"]


@dataclass(frozen=True, eq=False)
class PublicCodes:
    """A map of each column to codes 0, 1, .., and from a code to a value that it stands for. PUBLIC.

    A column of few public values has a code for each, and cuts half-way between them; another has cuts at
    public quantiles, and a code stands for the mean of the public points that have it. Any finite number
    has a code. Columns that are constant among public points have one code, for that value.

    Attributes
    ----------
    cuts : tuple of ndarray
        Of each column, ascending; a number at a cut is above it.
    values : tuple of ndarray
        Of each column, one more than it has cuts.
    """

    cuts: tuple[FloatArray, ...]
    values: tuple[FloatArray, ...]

    @classmethod
    def of(cls, public: FloatArray, most: int) -> PublicCodes:
        """Make at most `most` codes a column, from public points of shape (m, d)."""
        cuts, values = [], []
        for column in public.T:
            known, back = np.unique(column, return_inverse=True)
            if len(known) <= most:
                at = known[:-1] + np.diff(known) / 2
            else:
                places = np.linspace(0, 1, most + 1)[1:-1]
                at = np.unique(np.quantile(column, places, method="higher"))
                at = at[at > known[0]]
                back = np.searchsorted(at, column, side="right")
            cuts.append(at)
            values.append(np.bincount(back, column) / np.bincount(back))
        return cls(tuple(cuts), tuple(values))

    @property
    def sizes(self) -> IntArray:
        """Codes of each column, shape (d,)."""
        return np.array([len(each) for each in self.values], dtype=np.int64)

    def codes(self, X: FloatArray) -> IntArray:
        """Codes of records, shape (n, d)."""
        found = [np.searchsorted(cuts, x, side="right") for cuts, x in zip(self.cuts, X.T, strict=True)]
        return np.column_stack(found).astype(np.int64)

    def decode(self, codes: IntArray) -> FloatArray:
        """Values that codes of shape (n, d) stand for."""
        return np.column_stack([values[code] for values, code in zip(self.values, codes.T, strict=True)])
