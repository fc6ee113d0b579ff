"""The student of `score_boosting`: its intercept and slopes are fitted to private records by Newton steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pate_cli.features.classifiers import FeatureClassifier, probabilities
from pate_cli.features.stable_rows import UNIT
from pate_cli.mechanisms.scores.directions import PublicDirections
from pate_cli.privacy.door import Door
from pate_cli.privacy.gaussian import vector_sigma
from pate_cli.privacy.kinds import GaussianNoise
from pate_cli.types import FloatArray, IntArray, PrivateRecords

__all__ = ["FINEST", "BoostedStudent", "NewtonStep", "clipped_sum"]

_CLIP = 0.5  # of the size that most gradients have before anything is learnt
_MOST = 0.9  # share of the public points that count as most
_LEAST_CLIP = 1e-9  # functions may be 0 at most points
_DAMPING = (1e-3, 0.3)  # of the Hessian: at least, and of the noise
_SPREAD = 0.5  # prior variance of the intercepts of several classes
_FARTHEST = 2.0  # largest change of a number in a step
_CONSTANT = 1e-12  # standard deviation below which a function has no slope
_BITS = 52
_FINE = 30
_ROWS = 4096  # records at a time: a constant

FINEST = 2.0 ** (_FINE + 1)
"""L2 sensitivity of a sum of gradients at most, in the unit that they are rounded to."""


class BoostedStudent:
    """The student as it learns: public intercept and functions, and its scores of the records. PRIVATE.

    Its scores are an intercept (for more than two classes one of each) and a sum of functions, each with a
    slope. A function is its coefficients along the directions, and a last row of constants: (r + 1, q).
    Functions of one kind, such as corrections, are added up over the rounds; there are two kinds for two
    classes, else one.
    """

    def __init__(
        self, space: PublicDirections, private: PrivateRecords, newton: NewtonStep, door: Door
    ) -> None:
        self._space, self._newton, self._door, self._y = space, newton, door, private.y
        self._features = space.features.apply(private.X)
        self._scores = np.zeros((private.n_records, newton.width))
        self.intercept = np.zeros(newton.width)  # PUBLIC, as functions
        self._kinds = 2 if newton.width == 1 else 1
        self.functions = np.zeros((self._kinds, len(space.variances) + 1, newton.width))
        self._values = np.zeros((self._kinds, *self._scores.shape))  # of the functions, at the records

    @property
    def model(self) -> FeatureClassifier:
        """Classifier by its scores. PUBLIC."""
        total = sum(self.functions, np.zeros(self.functions.shape[1:]))
        total[-1] += self.intercept
        return self._space.model(total)

    def mistakes(self) -> FloatArray:
        """How wrong it is on each record: 1 for a guess; never 0, as a teacher needs weight."""
        shares = probabilities(self._scores)
        if shares.shape[1] == 1:
            shares = np.hstack([1 - shares, shares])
        n_classes = shares.shape[1]
        missed = (1 - shares[np.arange(len(self._y)), self._y]) * n_classes / (n_classes - 1)
        weights: FloatArray = np.maximum(missed, 1e-6)
        return weights

    def step(self, new: Sequence[FloatArray] = ()) -> None:
        """Add functions, one of each kind, and fit the intercept and all slopes by one Newton step."""
        kinds, functions = self._kinds, [*self.functions, *new]
        values = [*self._values, *map(self._at_records, new)]
        public = [self._space.values @ function[:-1] + function[-1] for function in functions]
        # a correction in units of what it corrects: the damping then keeps small ones to what they were
        firsts = [public[i - i % kinds] for i in range(len(public))]
        spreads = np.array([np.sqrt(np.mean(first**2)) for first in firsts])
        vary = np.flatnonzero(spreads > _CONSTANT)
        slopes = np.repeat([1.0, 0.0], [kinds, len(new)])
        at = self._newton.take(
            np.concatenate([self.intercept, (slopes * spreads)[vary]]),
            [public[i] / spreads[i] for i in vary],
            [values[i] / spreads[i] for i in vary],
            self._y,
            self._door,
        )
        self.intercept, slopes = at[: len(self.intercept)], np.zeros(len(functions))
        slopes[vary] = at[len(self.intercept) :] / spreads[vary]
        same = [range(kind, len(functions), kinds) for kind in range(kinds)]
        self.functions = np.array([sum(slopes[i] * functions[i] for i in each) for each in same])
        self._values = np.array([sum(slopes[i] * values[i] for i in each) for each in same])
        self._scores = sum(self._values, np.tile(self.intercept, (len(self._y), 1)))

    def _at_records(self, function: FloatArray) -> FloatArray:
        """Values of a function at the records, shape (n, q)."""
        weights = self._space.weights(function) * UNIT
        values = np.empty_like(self._scores)
        for first in range(0, len(values), _ROWS):
            rows = slice(first, first + _ROWS)
            values[rows] = self._features[rows] @ weights
        return values


@dataclass(frozen=True)
class NewtonStep:
    """A damped Newton step on the logistic loss of scores ``b + sum_i a_i f_i(x)``: b and a_i are fitted.

    b has a number for each column of the scores, each a_i is one number. The gradient is that of the private
    records, each clipped; the Hessian, which has no labels in it, is that of the public points.

    **Guarantee.** mu-GDP for neighbours that differ in one private record, replaced by another. The
    functions, b and a are public (released before), so a record's gradient depends on that record alone; it
    is shrunk to L2 norm `clip` (a public number) less 1e-9 of it and truncated towards 0 to whole multiples
    of a power of two, whose sum is exact: replacing one record moves the sum by at most ``2 clip``, and
    each coordinate gets N(0, sigma^2) with ``sigma = 2 clip/mu`` (Dong, Roth, Su 2022, Theorem 2). For a
    release the noise is N_Z(0, sigma^2) in units of `grain_of` (`pate_cli.privacy.gaussian`, vectors of
    integers). The rest is post-processing.
    """

    mu: float  # inf for no noise
    width: int  # columns of the scores, q: 1 for two classes, else C
    integer_noise: bool = False

    def clip(self, functions: Sequence[FloatArray]) -> float:
        """Bound on a record's gradient, from the functions' values at public points, each (m, q)."""
        sizes = np.sqrt(1 + sum((values**2).sum(axis=1) for values in functions))
        residual = 1.0 if self.width == 1 else math.sqrt(1 - 1 / self.width)
        most = float(np.quantile(sizes, _MOST)) if functions else 1.0
        return max(_CLIP * residual * most, _LEAST_CLIP)

    def take(
        self,
        start: FloatArray,
        public: Sequence[FloatArray],
        private: Sequence[FloatArray],
        y: IntArray,
        door: Door,
    ) -> FloatArray:
        """Move from `start`, b and then a: shape (q + number of functions,).

        The functions' values at public points, each (m, q), and at private records, each (n, q), are given.
        """
        clip, n = self.clip(public), len(y)
        sigma = 2 * clip / self.mu
        gradient = clipped_sum(self._gradients(start, private, y), clip)
        grain = grain_of(clip, n) if self.integer_noise else None
        drawn = sigma if grain is None else grain * vector_sigma(2 * clip / grain, self.mu)
        kind = GaussianNoise(sensitivity=2 * clip, sigma=drawn, grain=grain)
        gradient = door.release(gradient, kind) / n
        damping = _DAMPING[0] + _DAMPING[1] * sigma * math.sqrt(len(start)) / n
        ridge = np.zeros(len(start))
        if self.width > 1:
            # of q classes of one size the curvature is about 1/q, so with noise s on the mean gradient an
            # intercept is known to q s; to shrink it as one of variance 1/2 is a weight of 2 q s^2
            ridge[: self.width] = self.width * (sigma / n) ** 2 / _SPREAD
        hessian = self._hessian(start, public) + np.diag(damping + ridge)
        step = np.linalg.solve(hessian, gradient - ridge * start)
        length = max(float(np.abs(step).max(initial=0)), 1e-12)
        moved: FloatArray = start + step * min(1.0, _FARTHEST / length)
        return moved

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
        ones = [np.tile(unit, (rows, 1)) for unit in np.eye(self.width)]
        slopes = np.stack([*ones, *functions], axis=-1)
        if self.width == 1:
            shares = shares * (1 - shares)
            return np.asarray(np.einsum("mqi,mq,mqj->ij", slopes, shares, slopes) / rows)
        mean = np.einsum("mq,mqi->mi", shares, slopes)
        hessian = np.einsum("mqi,mq,mqj->ij", slopes, shares, slopes, optimize=True) - mean.T @ mean
        return np.asarray(hessian / rows)


def grain_of(clip: float, n_records: int) -> float:
    """Power of two to which gradients of norm `clip` are rounded: their sum is below 2^52 multiples of it."""
    fine = min(_FINE, _BITS - math.ceil(math.log2(n_records + 1)))
    return float(2.0 ** (math.ceil(math.log2(clip)) - fine))


def clipped_sum(gradients: FloatArray, clip: float) -> FloatArray:
    """Add up rows, each shrunk to norm at most `clip`, whole multiples of `grain_of`: exact in any order."""
    grain = grain_of(clip, len(gradients))
    norms = np.sqrt(np.einsum("ij,ij->i", gradients, gradients))
    factors = (1 - 1e-9) * (clip / np.maximum(norms, clip))
    total: FloatArray = np.trunc(gradients * (factors / grain)[:, None]).sum(axis=0)
    return total * grain
