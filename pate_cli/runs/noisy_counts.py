"""Shares of noisy counts, with intervals that include the noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pate_cli.types import FloatArray

__all__ = ["DEVIATIONS", "WIDEST", "NoisyCounts", "nearest_counts", "set_to"]

DEVIATIONS = 4
"""A class of fewer noisy records than so many deviations of their noise tells nothing."""

WIDEST = 0.25
"""An interval with a larger half tells nothing."""

_UNTOLD = {"estimate": None, "low": 0.0, "high": 1.0, "told": False}


def nearest_counts(noisy: Any, parts: Any, total: float) -> FloatArray:
    """Numbers from 0 that add up to `total`, nearest to noisy ones; each of these is a sum of so many parts.

    Least squares, by the noise of each (Michelot 1986): x_i = max(y_i - t parts_i, 0).
    """
    y, k = np.asarray(noisy, dtype=np.float64), np.asarray(parts, dtype=np.float64)
    x, left = np.zeros(len(y)), k > 0
    while left.any():
        x = np.where(left, y + k * (total - y[left].sum()) / k[left].sum(), 0.0)
        if (x >= 0).all():
            break
        left &= x > 0
    return x


def set_to(told: dict[str, Any], part: float, whole: float) -> dict[str, Any]:
    """Set an estimate to a share of counts that fit together; its interval reaches as far as that, too."""
    if told["estimate"] is None:
        return told
    if whole <= 0:
        return _UNTOLD
    at = min(part / whole, 1.0)
    return told | {"estimate": at, "low": min(told["low"], at), "high": max(told["high"], at)}


@dataclass(frozen=True, eq=False)
class NoisyCounts:
    """Noisy counts, moved to their public sum, and what their law is."""

    noisy: FloatArray
    n: int
    sigma: float

    @property
    def table(self) -> FloatArray:
        """The counts of two rows."""
        return self.noisy.reshape(2, -1)

    @cached_property
    def shares(self) -> FloatArray:
        """Share of the records in each cell, as far as the counts tell."""
        positive: FloatArray = self.noisy.clip(0)
        return np.asarray(positive / positive.sum())

    def share(self, cells: Any, of: Any, z: float) -> dict[str, Any]:
        """Estimate how much of the cells `of` (None: of all records) is in `cells`, which are of them.

        From these cells alone: of many classes there are many others.
        """
        x, h, among = self.noisy, 1e-4 * self.n, cells if of is None else of
        part = float(x[cells].sum())
        if of is not None and not self._measurable(of):
            return _UNTOLD
        within = h * np.isin(among, cells)
        whole, step = (self.n, 0.0) if of is None else (float(x[of].sum()), h)
        slope = ((part + within) / (whole + step) - (part - within) / (whole - step)) / (2 * h)
        return self._told(part / whole, slope, self.shares[among], z)

    def figure(self, value: Any, z: float, *classes: Any) -> dict[str, Any]:
        """Estimate a function of the counts, to first order; `classes` are the cells that it divides by."""
        x, h = self.noisy, 1e-4 * self.n
        if not all(map(self._measurable, classes)):
            return _UNTOLD
        slope = np.array([(value(x + h * e) - value(x - h * e)) / (2 * h) for e in np.eye(len(x))])
        return self._told(value(x), slope, self.shares, z)

    def _measurable(self, cells: Any) -> bool:
        return float(self.noisy[cells].sum()) > max(DEVIATIONS * self.sigma * math.sqrt(len(cells)), 5.0)

    def _told(self, value: float, slope: FloatArray, shares: FloatArray, z: float) -> dict[str, Any]:
        """Estimate and interval, from the slopes in cells and their shares; of all others the slope is 0."""
        sampled = self.n * (float(shares @ slope**2) - float(shares @ slope) ** 2)
        noise = self.sigma**2 * (float((slope**2).sum()) - float(slope.sum()) ** 2 / len(self.noisy))
        at, half = float(np.clip(value, 0, 1)), z * math.sqrt(max(sampled + noise, 0.0)) + 1 / self.n
        low, high = max(at - half, 0.0), min(at + half, 1.0)
        return {"estimate": at, "low": low, "high": high, "told": half <= WIDEST}
