"""Disagreement-based active learning of half-spaces (LZCW21 Algorithms 4 and 5), in closed form.

A stream over the public points in random order; a label is asked for only where two plausible hypotheses
disagree. Algorithm 4 keeps the version space

    V = {h : |Q| (Err_Q(h) - min_g Err_Q(g)) <= t U(t)},
    U(t) = c0 (sqrt(Err_Q(h) ln(t+1)/t) + ln(t+1)/t)

after t points, Q of them asked, and asks about x if some h in V labels x unlike the current
hypothesis. Here hypotheses are half-spaces w, and V is measured on the surrogate loss that the current one
minimises, the regularised logistic loss L of the asked points, in nats:

    V = {w : L(w) - L(w_hat) <= t U(t)}.

The cheapest w that changes its mind about x has w.x = 0. With H the Hessian of L at w_hat it costs
(w_hat.x)^2 / (2 x.H^-1 x), up to third order: x is asked if that is at most t U(t). (Counted mistakes, in the
place of the loss, fail where points share much of their features: the label of a heavy x turns the asked
points over with it.) As w = 0 is allowed for every x, no point of two classes costs more than |Q| ln 2: with
so few labels that this is below t U(t), every point is asked.

References
----------
S. Yan, K. Chaudhuri, T. Javidi. Active learning with logged data. ICML 2018. A. Beygelzimer, D. Hsu,
J. Langford, T. Zhang. Agnostic active learning without constraints. NIPS 2010.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs
from scipy.special import expit

from pate_cli.matrices import dense
from pate_cli.queries.online import OnlineLearner
from pate_cli.queries.strategy import Learner, Oracle, Stream, ask_actively
from pate_cli.types import Answers, FloatArray, IntArray, PublicPoints

__all__ = ["Active", "ActiveLearner"]

_BLOCK, _LARGEST_BLOCK = 8, 64  # points tested at once: few after a new label, when the next one is near
_REFIT = 25  # fitted anew for one more label in each 25
_MOST_STEPS = 50
_CLOSE = 0.1  # Newton's steps end with one that moves no margin by more: they converge quadratically
_LEAST_SHARE = 1e-3  # down to which a step that does not lower the loss is halved
_DENSE = 8_000_000  # points of at most so many numbers are kept dense (64 MB)
_LARGEST = 1e100  # all numbers are scaled down to this, so that squares do not overflow
_TINY = np.finfo(float).tiny


class ActiveLearner:
    """Active learner of half-spaces; it sees public points and released labels only.

    **Guarantee.** Post-processing of released answers: the (eps, delta) is that of the mechanism that
    answers, for the same neighbours, and holds for as many adaptively chosen queries as it was calibrated
    for (`ell`, the budget).

    For more than two classes there is one half-space a class against the rest, and their losses add up. Every
    minimiser is a sum of asked points, so Newton's method runs in Q numbers in any dimension: O(Q^3) a step,
    and O(m Q) numbers are kept. Once more points are asked than dense points have features, d, it runs in
    those: O(Q d^2) a step. A larger `mellowness`, c0 >= 0, asks more.
    """

    def __init__(self, points: PublicPoints, n_classes: int, mellowness: float) -> None:
        self._inner = _Centred(points.X)
        self._c0 = mellowness
        self._codes = np.arange(n_classes)[:, None] if n_classes > 2 else np.ones((1, 1), dtype=int)
        self._asked: list[int] = []
        self._labels: list[int] = []
        self._classes: set[int] = set()
        self._seen = 0
        self._k = np.empty((_LARGEST_BLOCK, points.n_points))  # inner products, a row for each asked point
        self._costs = np.full(points.n_points, np.nan)  # of those tested since the last fit
        self._models: list[_InPoints] | list[_InFeatures] = []
        self._n_fitted = 0
        self._mistakes = 0

    def next_wanted(self, stream: IntArray) -> int | None:
        """Place of the first point of the stream in the region of disagreement; None if there is none."""
        if len(stream) and len(self._classes) < 2:
            self._seen += 1  # no hypothesis is ruled out yet
            return 0
        if _REFIT * (len(self._asked) - self._n_fitted) >= self._n_fitted:
            self._fit()
        start, block = 0, _BLOCK
        while start < len(stream):
            costs = self._costs[stream[start : start + block]]
            unknown = np.isnan(costs)
            n_known = int(unknown.argmax()) if unknown.any() else len(costs)
            if n_known == 0:  # a new label asks less than a block, and what is left is kept for the next
                tested = stream[start : start + max(block, self._n_fitted // _REFIT)]
                self._costs[tested] = self._cost(tested)
                continue
            log = np.log(self._seen + 2 + np.arange(n_known))
            disagreed = costs[:n_known] <= self._c0 * (np.sqrt(self._mistakes * log) + log)
            place = int(disagreed.argmax())
            if disagreed[place]:
                self._seen += place + 1
                return start + place
            self._seen += n_known
            start += n_known
            block = min(2 * block, _LARGEST_BLOCK)
        return None

    def learn(self, index: int, label: int) -> None:
        """Take in a label that was released."""
        n = len(self._asked)
        if n <= self._inner.most:
            if n == len(self._k):
                self._k = np.concatenate([self._k, np.empty_like(self._k)])
            self._k[n] = self._inner.row(index)
        self._asked.append(index)
        self._labels.append(label)
        self._classes.add(label)

    def _fit(self) -> None:
        """Fit the current hypothesis to all labels so far; count its mistakes."""
        n, before = len(self._asked), self._models
        signs = np.where(np.array(self._labels) == self._codes, 1.0, -1.0)
        if n <= self._inner.most:
            K = self._k[:n, self._asked]
            starts = [model.at_minimum for model in before] or [np.empty(0)] * len(signs)
            self._models = [
                _InPoints(K, y, np.pad(a, (0, n - len(a)))) for y, a in zip(signs, starts, strict=True)
            ]
        else:
            X = self._inner.dense_rows(self._asked)
            starts = [model.direction(X) for model in before] or [np.zeros(X.shape[1])] * len(signs)
            self._models = [_InFeatures(X, y, w) for y, w in zip(signs, starts, strict=True)]
        self._n_fitted = n
        self._costs.fill(np.nan)
        z = np.array([model.z for model in self._models])
        # points never asked count as agreeing, so only the asked ones can err
        guesses = z.argmax(axis=0) if len(z) > 1 else (z[0] > 0).astype(int)
        self._mistakes = int(np.count_nonzero(guesses != np.array(self._labels)))

    def _cost(self, points: IntArray) -> FloatArray:
        """Least loss, in nats, that another label costs on each point; shape (B,)."""
        in_points = self._n_fitted <= self._inner.most
        rows = self._k[: self._n_fitted, points] if in_points else self._inner.dense_rows(points).T
        squares = self._inner.squares[points]
        scores, variances = map(
            np.array, zip(*(model.at(rows, squares) for model in self._models), strict=True)
        )
        if len(scores) == 1:
            return np.asarray(scores[0] ** 2 / (2 * variances[0]))
        # the top class and another meet where the two half-spaces move towards each other
        top, each = scores.argmax(axis=0), np.arange(len(points))
        costs = (scores[top, each] - scores) ** 2 / (2 * (variances[top, each] + variances))
        costs[top, each] = np.inf
        return np.asarray(costs.min(axis=0))


class _HalfSpace:
    """Minimiser w of |w|^2 / 2 + sum_i log(1 + exp(-y_i w.x_i)) by Newton's method, and its curvature.

    `A` turns the numbers that w is made of into the scores w.x_i, `y` is +1 or -1.
    """

    def __init__(self, A: FloatArray, y: FloatArray, start: FloatArray) -> None:
        self._A, v, z = A, start, A @ start
        for _ in range(_MOST_STEPS):
            miss = expit(-y * z)
            step = self._step(v, z, y * miss, miss * (1.0 - miss))
            move, share = A @ step, 1.0
            length = float(np.abs(move).max())
            if length > 1.0:  # a shorter one changes curvatures at most e-fold, and lowers the loss
                worst = self._loss(v, z, y)
                while share > _LEAST_SHARE and not self._loss(v + share * step, z + share * move, y) < worst:
                    share /= 2
            v, z = v + share * step, z + share * move
            if length <= _CLOSE:
                break
        self.at_minimum, self.z = v, z

    def _loss(self, v: FloatArray, z: FloatArray, y: FloatArray) -> float:
        return self._squared_norm(v, z) / 2 + float(np.logaddexp(0.0, -y * z).sum())

    def _squared_norm(self, v: FloatArray, z: FloatArray) -> float:
        """Of w."""
        raise NotImplementedError

    def _step(self, v: FloatArray, z: FloatArray, pull: FloatArray, curve: FloatArray) -> FloatArray:
        """Newton's step; `pull` is minus the slope of each loss in its score, `curve` its curvature."""
        raise NotImplementedError


def _factor(system: FloatArray) -> FloatArray:
    """Lower triangle of Cholesky's factor; LinAlgError where there is none."""
    # not SciPy's own functions over these, whose checks take longer than the work
    factor, info = dpotrf(system, lower=True, overwrite_a=True)
    if info:
        raise np.linalg.LinAlgError("the curvature is not positive definite")
    return np.asarray(factor)


class _InPoints(_HalfSpace):
    """Half-space as a sum of the points, w = sum_i a_i x_i; A is K, their inner products."""

    def _squared_norm(self, v: FloatArray, z: FloatArray) -> float:
        return float(v @ z)

    def _step(self, v: FloatArray, z: FloatArray, pull: FloatArray, curve: FloatArray) -> FloatArray:
        self._root = np.sqrt(curve)
        # H^-1 = I - X' S (I + S K S)^-1 S X with S^2 the curvature of each point's loss
        system = self._root[:, None] * self._A * self._root
        system.flat[:: len(z) + 1] += 1.0
        self._factor = _factor(system)
        right = curve * z + pull
        inner = dpotrs(self._factor, self._root * (self._A @ right), lower=True)[0]
        return np.asarray(right - self._root * inner - v)

    def direction(self, X: FloatArray) -> FloatArray:
        """w, in the features of the points, X, of which the first are those of the fit."""
        return np.asarray(self.at_minimum @ X[: len(self.at_minimum)])

    def at(self, k: FloatArray, squares: FloatArray) -> tuple[FloatArray, FloatArray]:
        """w.x and x.H^-1 x of B points, by their products with the n points, (n, B), and themselves, (B,)."""
        pulled = dtrtrs(self._factor, self._root[:, None] * k, lower=True)[0]
        return self.at_minimum @ k, np.maximum(squares - (pulled * pulled).sum(axis=0), _TINY)


class _InFeatures(_HalfSpace):
    """Half-space in the features of the points; A is X, the points."""

    def _squared_norm(self, v: FloatArray, z: FloatArray) -> float:
        return float(v @ v)

    def _step(self, v: FloatArray, z: FloatArray, pull: FloatArray, curve: FloatArray) -> FloatArray:
        H = dsyrk(1.0, (self._A * np.sqrt(curve)[:, None]).T, lower=True)
        H.flat[:: len(v) + 1] += 1.0
        self._factor = _factor(H)
        return np.asarray(dpotrs(self._factor, pull @ self._A - v, lower=True)[0])

    def direction(self, X: FloatArray) -> FloatArray:
        """The minimiser, w."""
        return self.at_minimum

    def at(self, columns: FloatArray, squares: FloatArray) -> tuple[FloatArray, FloatArray]:
        """w.x and x.H^-1 x of B points, the columns of a matrix, (d, B)."""
        pulled = dtrtrs(self._factor, columns, lower=True)[0]
        return self.at_minimum @ columns, np.maximum((pulled * pulled).sum(axis=0), _TINY)


class _Centred:
    """Inner products of points about their mean, plus 1 for the constant feature; `squares` with themselves.

    Columns that spread by more than 1 are divided by their standard deviation, so that regularisation does
    not depend on their unit. Sparse points stay sparse where a dense copy would be large.
    """

    def __init__(self, X: Any) -> None:
        if not isinstance(X, np.ndarray) and X.shape[0] * X.shape[1] <= _DENSE:
            X = dense(X)
        largest = abs(X).max()
        X = X * (_LARGEST / largest) if largest > _LARGEST else X
        mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
        self.most: float = math.inf
        """Points asked up to which sums of them are the smaller system: features of dense points."""
        if isinstance(X, np.ndarray):
            X = X - mean
            X = X / np.maximum(1.0, np.sqrt((X * X).mean(axis=0)))
            self._X: Any = np.concatenate([X, np.ones((len(X), 1))], axis=1)
            self._shift, self._square, self.most = np.zeros(len(X)), -1.0, self._X.shape[1]
            squares = np.vecdot(self._X, self._X)
        else:
            spread = np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean * mean
            unit = 1.0 / np.sqrt(np.maximum(1.0, spread))
            self._X = X.multiply(unit).tocsr()
            self._shift, self._square = self._X @ (mean * unit), float((mean * unit) @ (mean * unit))
            squares = np.asarray(self._X.multiply(self._X).sum(axis=1)).ravel()
        self.squares: FloatArray = squares - 2 * self._shift + self._square + 1.0

    def row(self, index: int) -> FloatArray:
        """Inner products of one point with all; shape (m,)."""
        products = self._X @ dense(self._X[[index]])[0]
        row: FloatArray = products - self._shift - self._shift[index] + self._square + 1.0
        return row

    def dense_rows(self, points: Any) -> FloatArray:
        """Some of the dense points, the constant last; shape (n, d + 1)."""
        rows: FloatArray = self._X[points]
        return rows


@dataclass(frozen=True)
class Active:
    """Ask where plausible hypotheses disagree, at most `budget` times (LZCW21 Algorithm 5)."""

    mellowness: float  # c0; larger asks about more points
    fill: bool  # whether the unused budget is spent on random points; only eps_ex_post, a report, grows by it
    step: float | None = None  # of `OnlineLearner`; None for `ActiveLearner`

    def ask(self, stream: Stream, oracle: Oracle, rng: np.random.Generator) -> tuple[Answers, None]:
        """Ask; see `Strategy`."""
        learner: Learner
        if self.step is None:
            learner = ActiveLearner(stream.points, stream.n_classes, self.mellowness)
        else:
            learner = OnlineLearner(stream.points, self.mellowness, self.step)
        fill = rng if self.fill else None
        return ask_actively(learner, stream.order, oracle, stream.budget, fill), None
