"""Most disagreement tests of a logistic oracle, without a refit.

The test refits the oracle with one more point x, heavily weighted, and asks only how
many of the Q asked points the refitted model misses. For the regularised logistic loss

    f(w) = |w|^2 / 2 + C sum_i log(1 + exp(-y_i w.x_i))

every minimiser is a sum w = sum_i a_i x_i + b x over the points it was fitted on, so
Newton's method runs in Q + 1 numbers whatever the dimension: with K the inner products
of asked points, k those with x, z = K a + k b the margins, D = diag(f's curvatures) and
r the pulls C y_i sigma(-y_i z_i), one step is

    a = p - b q,    (I + D K) [p, q] = [D z + r, D k],

and b, the heavy point's pull, solves a scalar equation exactly: that keeps the step
safe, as the other points' curvature changes little once x sits where its weight puts
it. All steps start at the minimiser without x, so the first shares one matrix among all
candidates. After each step the margins are known up to a bound made from the step's
length, and a candidate is settled as soon as no margin within the bound matters: most
after one or two steps, the closest at convergence, which is nearer to the minimum than
liblinear's own tolerance. Left open are those with a margin of zero up to rounding, or
without convergence.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dposv, dpotrf, dpotrs
from scipy.special import expit

from pate_cli.types import FloatArray, IntArray

__all__ = ["HEAVY", "MOST_ASKED", "LogisticScreen", "Verdict"]


class Verdict(IntEnum):
    """What the screen says of a disagreement test."""

    YES = 1
    NO = -1
    CLOSE = 0
    """Too close to call, or not looked at as it is behind a YES."""


HEAVY = 10.0
"""Weight of a forced point, in numbers of points the oracle is fitted on."""

MOST_ASKED = 500
"""Beyond so many asked points a dense system of that size costs more than a refit."""

_LEFT, _LEAST = 0.5, 0.04
"""After step n a margin is still off by at most 0.5^n of its last move and 0.04; not a proof: see the tests
for how often it decides otherwise than the refits (rarely), and with a smaller one (too often)."""

_MOST_FORCED = 15
"""Most steps of one candidate: what is open then has a margin of zero up to 1e-6, or does not converge."""

_TOGETHER = 4
"""Candidates in one stack of systems; what comes after the next YES is wasted."""

_MOST_STEPS, _CLOSE, _LEAST_SHARE = 50, (0.05, 1e-7), 1e-3
"""Newton's steps to the current model end with one of this length (they converge quadratically), the second
where the first is not enough to tell signs; a step that does not lower the objective is cut, down to this
share."""

_SURE = 1.0
"""A step that moves no margin by more lowers the objective: a curvature changes at most e-fold on the way."""

_PULL_STEPS, _FINE = 20, 1e-7
"""Newton's steps for one scalar end with one so small; three or four do for all but extreme margins."""

_LARGE = 700.0
"""Margins beyond pull with 0; just short of what the exponential can take."""

_DENSE = 8_000_000
"""Points of at most so many numbers are kept dense (64 MB)."""


class _Forced(NamedTuple):
    """Candidates in hand.

    Attributes
    ----------
    place : where each came in the block; k, shape (B, Q), and kk, shape (B,): inner products
    with the asked points and with itself; other: the label to force, +1 or -1; limits: most
    mistakes of a YES.
    """

    place: IntArray
    k: FloatArray
    kk: FloatArray
    other: FloatArray
    limits: FloatArray

    def take(self, which: Any) -> _Forced:
        return _Forced(*(part[which] for part in self))


class LogisticScreen:
    """Newton's method on the oracle's own objective, for many candidates at once.

    Parameters
    ----------
    X : ndarray or csr_matrix of shape (m, d)
    C : float
        Inverse strength of the regulariser, in (0, 1].
    intercept : float
        The constant feature, regularised like the others; 0 for none.

    Notes
    -----
    Needs O(Q^2) memory a candidate in hand, and no d x d matrix; sparse points stay
    sparse where a dense copy would be large.
    """

    def __init__(self, X: Any, C: float, intercept: float) -> None:
        self._C = C
        self._square = intercept * intercept
        if not isinstance(X, np.ndarray) and X.shape[0] * X.shape[1] <= _DENSE:
            X = X.toarray()
        self._X = X
        squares = np.vecdot(X, X) if isinstance(X, np.ndarray) else X.multiply(X).sum(axis=1)
        self._norms = np.asarray(squares, dtype=np.float64).ravel() + self._square
        self._asked: list[int] = []
        self._points = X[:0]  # those asked
        self._y = np.empty(0)  # +1 and -1
        self._K = np.empty((0, 0))
        self._a = np.empty(0)
        self._z = np.empty(0)
        self._off = np.inf  # most by which a margin may be off
        self._curve = np.empty(0)
        self._root = np.empty(0)
        self._system: Any = None  # Cholesky factor of I + S K S, S^2 = D

    @classmethod
    def of(cls, X: Any, n_classes: int, oracle: Any) -> LogisticScreen | None:
        """Make the screen of an unfitted oracle; None if its objective is not the one above, or C > 1.

        Weaker regularisation makes steps so long that the bounds do not hold.
        """
        from sklearn.linear_model import LogisticRegression

        if type(oracle) is not LogisticRegression or n_classes != 2:
            return None
        plain = LogisticRegression(solver="liblinear").get_params()
        free = {"C", "fit_intercept", "intercept_scaling", "max_iter", "random_state", "verbose", "n_jobs"}
        params = oracle.get_params()
        if any(params[name] != plain[name] for name in params.keys() - free):
            return None
        if params["C"] > 1.0:
            return None
        return cls(X, params["C"], params["intercept_scaling"] if params["fit_intercept"] else 0.0)

    def learn(self, index: int, label: int) -> None:
        """Take in one more labelled point; label 0 or 1."""
        n = len(self._asked)
        self._asked.append(index)
        self._points = self._X[self._asked]
        K = np.empty((n + 1, n + 1))
        K[:n, :n] = self._K
        K[n] = K[:, n] = self._inner(np.array([index]))[0]
        self._K = K
        self._y = np.append(self._y, 2.0 * label - 1.0)
        self._a = np.append(self._a, 0.0)
        self._z = K @ self._a
        self._off = np.inf

    @property
    def mistakes(self) -> int | None:
        """How many asked points the current model misses; None if too close to call."""
        for close in _CLOSE:
            self._refit(close)
            fewest, most = _mistakes(self._y * self._z, self._off)
            if fewest == most:
                return int(fewest)
        return None

    def decide(self, candidates: IntArray, limits: FloatArray) -> IntArray:
        """Whether forcing the other label on a candidate leaves at most so many mistakes.

        Parameters
        ----------
        candidates : ndarray of int64, shape (B,)
            In the order of the stream: nothing is found out beyond the first YES.
        limits : ndarray of float64, shape (B,)

        Returns
        -------
        ndarray of int64, shape (B,)
            Verdicts.
        """
        verdicts = np.full(len(candidates), Verdict.CLOSE, dtype=np.int64)
        k = self._inner(candidates)
        for close in _CLOSE:
            self._refit(close)
            start = k @ self._a
            sided = np.abs(start) > self._off
            if sided.all():
                break
        other = np.where(start > 0, -1.0, 1.0)
        forced = _Forced(np.arange(len(candidates)), k, self._norms[candidates], other, limits)
        if not sided.all():
            forced = forced.take(sided)
        if not len(forced.place):
            return verdicts
        first_q = self._solve((forced.k * self._curve).T).T
        z = self._step(forced, self._a, first_q)
        forced, z = _settle(verdicts, forced, z, _off(1, z - self._z), self._y)
        for i in range(0, len(z), _TOGETHER):
            part, z_part = forced.take(slice(i, i + _TOGETHER)), z[i : i + _TOGETHER]
            group = part.place
            for step in range(2, _MOST_FORCED + 1):
                moved = self._step(part, *self._directions(z_part, part.k))
                part, z_part = _settle(verdicts, part, moved, _off(step, moved - z_part), self._y)
                if not len(z_part):
                    break
            if (verdicts[group] == Verdict.YES).any():
                break
        return verdicts

    def _refit(self, close: float) -> None:
        """Bring the model of the asked points up to date, by the same steps without a forced point.

        The last step moves no margin by more than `close`; what is still off is less than a tenth of it.
        """
        if self._off <= close / 10:
            return
        a, z = self._a, self._z
        for _ in range(_MOST_STEPS):
            self._curve, pull = self._curvature(z)
            self._root = np.sqrt(self._curve)
            system = self._root[:, None] * self._K * self._root
            system.flat[:: len(z) + 1] += 1.0
            self._system, _ = dpotrf(system.T, clean=False, overwrite_a=True)
            ahead = self._solve((self._curve * z + pull)[:, None])[:, 0] - a
            move = self._K @ ahead
            length, share = float(np.abs(move).max()), 1.0
            if not length <= _SURE:
                worst = self._objective(a, z)
                while (
                    share > _LEAST_SHARE and not self._objective(a + share * ahead, z + share * move) < worst
                ):
                    share /= 2
            a, z = a + share * ahead, z + share * move
            if length <= close:
                self._off = close / 10
                break
        self._a, self._z = a, z

    def _solve(self, right: FloatArray) -> FloatArray:
        """Apply (I + D K)^-1 = I - S (I + S K S)^-1 S K with S^2 = D to columns."""
        root = self._root[:, None]
        inner, _ = dpotrs(self._system, root * (self._K @ right))
        solved: FloatArray = right - root * inner
        return solved

    def _objective(self, a: FloatArray, z: FloatArray) -> float:
        return float(a @ z / 2 + self._C * np.logaddexp(0.0, -self._y * z).sum())

    def _directions(self, z: FloatArray, k: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Solve for p and q of a step from margins z, shape (B, Q): one system a candidate."""
        curve, pull = self._curvature(z)
        right = np.empty((*z.shape, 2))
        right[:, :, 0] = curve * z + pull
        right[:, :, 1] = curve * k
        root = np.sqrt(curve)[:, :, None]  # as in `_solve`
        inner = root * (self._K @ right)
        systems = root * self._K * root.transpose(0, 2, 1)
        systems.reshape(len(z), -1)[:, :: z.shape[1] + 1] += 1.0
        for system, columns in zip(systems, inner, strict=True):
            _, solved, failed = dposv(system.T, columns, overwrite_a=True)
            columns[:] = np.nan if failed else solved
        found = right - root * inner
        return found[:, :, 0], found[:, :, 1]

    def _step(self, forced: _Forced, p: FloatArray, q: FloatArray) -> FloatArray:
        """Margins of the asked points after a step."""
        k = forced.k
        b = self._pull(np.vecdot(k, p), forced.kk - np.vecdot(k, q), forced.other)[:, None]
        z: FloatArray = (p - b * q) @ self._K + b * k
        return z

    def _pull(self, fixed: FloatArray, slope: FloatArray, other: FloatArray) -> FloatArray:
        """The b with which the heavy point pulls as its margin `fixed + slope b` makes it pull."""
        heavy = self._C * HEAVY * (len(self._asked) + 1)
        c, g = other * fixed, np.maximum(slope, 0.0) * heavy
        shares = [_pulled(*pair) for pair in zip(c.tolist(), g.tolist(), strict=True)]
        pull: FloatArray = other * heavy * shares
        return pull

    def _curvature(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Second and (negative) first derivative of each asked point's loss in its margin."""
        miss = expit(-self._y * z)
        return self._C * miss * (1.0 - miss), self._C * self._y * miss

    def _inner(self, candidates: IntArray) -> FloatArray:
        """Inner products with the asked points, shape (B, Q)."""
        products = self._X[candidates] @ self._points.T
        dense: FloatArray = products if isinstance(products, np.ndarray) else products.toarray()
        return dense + self._square


def _pulled(c: float, g: float) -> float:
    """Share sigma(-v) of its weight with which the heavy point pulls; its signed margin v = c + g sigma(-v).

    The root lies near log(g / (v - c)) where it is positive; Newton starts there, goes up to it
    without passing it (the right side is convex), and where it is negative down to it from 0 likewise.
    """
    if not (math.isfinite(c) and math.isfinite(g)):
        return math.nan
    v = 0.0
    least = c
    if c + g / 2 >= 0:
        least = max(c, 0.0)
        v = max(math.log1p(g / (1.0 + max(math.log1p(g) - c, 0.0))), least)
    share = math.nan
    for _ in range(_PULL_STEPS):
        share = 1.0 / (1.0 + math.exp(v)) if v < _LARGE else 0.0
        pull = g * share
        step = (c + pull - v) / (1.0 + pull * (1.0 - share))
        v = max(v + step, least)
        if -_FINE < step < _FINE:
            break
    return share


def _off(step: int, moved: FloatArray) -> FloatArray:
    """Most by which margins are off after a step."""
    return _LEFT**step * (np.abs(moved) + _LEAST)


def _mistakes(margins: FloatArray, bound: Any) -> tuple[Any, Any]:
    """Fewest and most asked points on the wrong side, if signed margins are off by at most `bound`."""
    return (margins < -bound).sum(axis=-1), margins.shape[-1] - (margins >= bound).sum(axis=-1)  # nan: either


def _settle(
    verdicts: IntArray, forced: _Forced, z: FloatArray, bound: FloatArray, y: FloatArray
) -> tuple[_Forced, FloatArray]:
    """Write down the verdicts that are safe; candidates left before the first YES, with their margins."""
    fewest, most = _mistakes(y * z, bound)
    good, bad = most <= forced.limits, fewest > forced.limits
    verdicts[forced.place[good]] = Verdict.YES
    verdicts[forced.place[bad]] = Verdict.NO
    left = ~(good | bad)
    if good.any():
        left[np.argmax(good) :] = False
    return (forced, z) if left.all() else (forced.take(left), z[left])
