"""Intercepts and slopes of a few known functions, learned from all private records by noisy Newton steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pate_cli.mechanisms.direct.clipped_gradients import probabilities
from pate_cli.privacy.door import Door
from pate_cli.privacy.integer import vector_sigma
from pate_cli.types import FloatArray, IntArray

__all__ = ["FINEST", "NewtonStep", "clipped_sum", "grain_of"]

_CLIP = 0.5  # of the size that most gradients have before anything is learnt
_MOST = 0.9  # as many of the public points as are taken for most
_DAMPING = (1e-3, 0.3)  # of the Hessian: at least, and of the noise
_SPREAD = 0.5  # variance that intercepts of several classes are taken to have
_FARTHEST = 2.0  # most that a number moves in a step
_NOTHING = 1e-9
_BITS = 52
_FINE = 30

FINEST = 2.0 ** (_FINE + 1)
"""Most that one record moves a sum of gradients by, in the unit that they are rounded to."""


@dataclass(frozen=True)
class NewtonStep:
    """A damped Newton step on the logistic loss of scores ``b + sum_i a_i f_i(x)``: b and a_i are fitted.

    b is a number for each column of the scores, each a_i is one number. The gradient is the private
    records', each one's clipped; the Hessian has no labels in it and is the public points'.

    **Guarantee.** mu-GDP for neighbours that differ in one private record, replaced by another. The
    functions, b and a are public (released before), so a record's gradient depends on that record alone; it
    is shrunk to L2 norm `clip` (a public number) less 1e-9 of it and truncated towards 0 to whole multiples
    of a power of two, whose sum is exact: replacing one record moves the sum by at most ``2 clip``, and
    each coordinate gets N(0, sigma^2) with ``sigma = 2 clip/mu`` (Dong, Roth, Su 2022, Theorem 2). The rest
    is post-processing.

    Attributes
    ----------
    mu : float
        Of one step; inf for no noise.
    width : int
        Columns of the scores, q: 1 for two classes, else C.
    whole : bool
        Whether the noise is N_Z(0, sigma^2) in units of `grain_of`, for a release: the sum is of whole
        numbers of them (`pate_cli.privacy.integer`, vectors of integers).
    """

    mu: float
    width: int
    whole: bool = False

    def clip(self, functions: Sequence[FloatArray]) -> float:
        """Bound on a record's gradient, from the functions' values at public points, each (m, q)."""
        sizes = np.sqrt(1 + sum((values**2).sum(axis=1) for values in functions))
        residual = 1.0 if self.width == 1 else math.sqrt(1 - 1 / self.width)
        most = float(np.quantile(sizes, _MOST)) if functions else 1.0
        return max(_CLIP * residual * most, _NOTHING)  # functions may be 0 at most points

    def take(
        self,
        start: FloatArray,
        public: Sequence[FloatArray],
        private: Sequence[FloatArray],
        y: IntArray,
        door: Door,
    ) -> FloatArray:
        """Move from `start` by one step.

        Parameters
        ----------
        start : ndarray of shape (q + number of functions,)
            b, then a.
        public, private : sequences of ndarray
            Values of the functions at public points, of shape (m, q), and at private records, of (n, q).
        y : ndarray of int64, shape (n,)
            Class codes.
        door : Door

        Returns
        -------
        ndarray like `start`
        """
        clip, n = self.clip(public), len(y)
        sigma = 2 * clip / self.mu
        gradient = clipped_sum(self._gradients(start, private, y), clip)
        grain = grain_of(clip, n) if self.whole else None
        drawn = sigma if grain is None else grain * vector_sigma(2 * clip / grain, self.mu)
        gradient = door.gaussian(gradient, sensitivity=2 * clip, sigma=drawn, unit=grain) / n
        hessian = self._hessian(start, public)
        damping = _DAMPING[0] + _DAMPING[1] * sigma * math.sqrt(len(start)) / n
        ridge = self._ridge(len(start), sigma / n)
        step = np.linalg.solve(hessian + np.diag(damping + ridge), gradient - ridge * start)
        moved: FloatArray = start + step * min(
            1.0, _FARTHEST / max(float(np.abs(step).max(initial=0)), 1e-12)
        )
        return moved

    def _ridge(self, numbers: int, noise: float) -> FloatArray:
        """Weights of squares: intercepts of several classes are shrunk as far as the noise explains them.

        Of q classes of one size the curvature is about 1/q, so with noise s on the mean gradient an intercept
        is known to q s; to shrink it as one of variance 1/2 is a weight of 2 q s^2.
        """
        found = np.zeros(numbers)
        if self.width > 1:
            found[: self.width] = self.width * noise**2 / _SPREAD
        return found

    def _scores(self, at: FloatArray, functions: Sequence[FloatArray], rows: int) -> FloatArray:
        scores = np.tile(at[: self.width], (rows, 1))
        for slope, values in zip(at[self.width :], functions, strict=True):
            scores += slope * values
        return scores

    def _gradients(self, at: FloatArray, functions: Sequence[FloatArray], y: IntArray) -> FloatArray:
        """Gradient of each record's log likelihood, shape (n, q + number of functions)."""
        residuals = -probabilities(self._scores(at, functions, len(y)))
        if self.width == 1:
            residuals[:, 0] += y
        else:
            residuals[np.arange(len(y)), y] += 1
        slopes = [(residuals * values).sum(axis=1) for values in functions]
        return np.column_stack([residuals, *slopes])

    def _hessian(self, at: FloatArray, functions: Sequence[FloatArray]) -> FloatArray:
        """Mean over public points of the Hessian of the loss; of no functions, at one point."""
        rows = len(functions[0]) if functions else 1
        shares = probabilities(self._scores(at, functions, rows))
        ones = [np.tile(one, (rows, 1)) for one in np.eye(self.width)]
        slopes = np.stack([*ones, *functions], axis=-1)
        if self.width == 1:
            shares = shares * (1 - shares)
            return np.asarray(np.einsum("mqi,mq,mqj->ij", slopes, shares, slopes) / rows)
        mean = np.einsum("mq,mqi->mi", shares, slopes)
        hessian = np.einsum("mqi,mq,mqj->ij", slopes, shares, slopes, optimize=True) - mean.T @ mean
        return np.asarray(hessian / rows)


def grain_of(clip: float, n_records: int) -> float:
    """Give the power of two that gradients of norm `clip` are rounded to: their sum is below 2^52 of it."""
    fine = min(_FINE, _BITS - math.ceil(math.log2(n_records + 1)))
    return float(2.0 ** (math.ceil(math.log2(clip)) - fine))


def clipped_sum(gradients: FloatArray, clip: float) -> FloatArray:
    """Add up rows, each shrunk to norm at most `clip`, whole multiples of `grain_of`: exact in any order."""
    grain = grain_of(clip, len(gradients))
    norms = np.sqrt(np.einsum("ij,ij->i", gradients, gradients))
    factors = (1 - 1e-9) * (clip / np.maximum(norms, clip))
    total: FloatArray = np.trunc(gradients * (factors / grain)[:, None]).sum(axis=0)
    return total * grain
