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

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular
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
    and O(m Q) numbers are kept. A larger `mellowness`, c0 >= 0, asks more.
    """

    def __init__(self, points: PublicPoints, n_classes: int, mellowness: float) -> None:
        self._inner = _Centred(points.X)
        self._c0 = mellowness
        self._codes = np.arange(n_classes)[:, None] if n_classes > 2 else np.ones((1, 1), dtype=int)
        self._asked: list[int] = []
        self._labels: list[int] = []
        self._seen = 0
        self._k = np.empty((_LARGEST_BLOCK, points.n_points))  # inner products, a row for each asked point
        self._models: list[_HalfSpace] = []
        self._mistakes = 0

    def next_wanted(self, stream: IntArray) -> int | None:
        """Place of the first point of the stream in the region of disagreement; None if there is none."""
        start, block = 0, _BLOCK
        while start < len(stream):
            part = stream[start : start + block]
            disagreed = self._disagree(part)
            if disagreed.any():
                place = int(np.argmax(disagreed))
                self._seen += place + 1
                return start + place
            self._seen += len(part)
            start += len(part)
            block = min(2 * block, _LARGEST_BLOCK)
        return None

    def learn(self, index: int, label: int) -> None:
        """Take in a label that was released."""
        n = len(self._asked)
        if n == len(self._k):
            self._k = np.concatenate([self._k, np.empty_like(self._k)])
        self._k[n] = self._inner.row(index)
        self._asked.append(index)
        self._labels.append(label)

    def _disagree(self, points: IntArray) -> np.ndarray:
        """Whether the next points of the stream are in the region of disagreement; shape (B,)."""
        if len(set(self._labels)) < 2:  # no hypothesis is ruled out yet
            return np.ones(len(points), dtype=bool)
        if not self._models or _REFIT * (len(self._asked) - self._n_fitted) >= self._n_fitted:
            self._fit()
        log = np.log(self._seen + 2 + np.arange(len(points)))
        disagreed: np.ndarray = self._cost(points) <= self._c0 * (np.sqrt(self._mistakes * log) + log)
        return disagreed

    @property
    def _n_fitted(self) -> int:
        return len(self._models[0].a)

    def _fit(self) -> None:
        """Fit the current hypothesis to all labels so far; count its mistakes."""
        n = len(self._asked)
        K = self._k[:n, self._asked]
        signs = np.where(np.array(self._labels) == self._codes, 1.0, -1.0)
        before = [model.a for model in self._models] or [np.empty(0)] * len(signs)
        self._models = [
            _HalfSpace(K, y, np.pad(a, (0, n - len(a)))) for y, a in zip(signs, before, strict=True)
        ]
        z = np.array([K @ model.a for model in self._models])
        # points never asked count as agreeing, so only the asked ones can err
        guesses = z.argmax(axis=0) if len(z) > 1 else (z[0] > 0).astype(int)
        self._mistakes = int(np.count_nonzero(guesses != np.array(self._labels)))

    def _cost(self, points: IntArray) -> FloatArray:
        """Least loss, in nats, that another label costs on each point; shape (B,)."""
        k, squares = self._k[: self._n_fitted, points], self._inner.squares[points]
        scores, variances = map(np.array, zip(*(model.at(k, squares) for model in self._models), strict=True))
        if len(scores) == 1:
            return np.asarray(scores[0] ** 2 / (2 * variances[0]))
        # the top class and another meet where the two half-spaces move towards each other
        top, each = scores.argmax(axis=0), np.arange(len(points))
        costs = (scores[top, each] - scores) ** 2 / (2 * (variances[top, each] + variances))
        costs[top, each] = np.inf
        return np.asarray(costs.min(axis=0))


class _HalfSpace:
    """Minimiser w = sum_i a_i x_i of |w|^2 / 2 + sum_i log(1 + exp(-y_i w.x_i)), and its curvature.

    `K` has the inner products of the points, `y` is +1 or -1, and Newton's method starts at `a`.
    """

    def __init__(self, K: FloatArray, y: FloatArray, a: FloatArray) -> None:
        def loss(a: FloatArray, z: FloatArray) -> float:
            return float(a @ z / 2 + np.logaddexp(0.0, -y * z).sum())

        z = K @ a
        for _ in range(_MOST_STEPS):
            miss = expit(-y * z)
            curve = miss * (1.0 - miss)
            self._root = np.sqrt(curve)
            # H^-1 = I - X' S (I + S K S)^-1 S X with S^2 the curvature of each point's loss
            system = self._root[:, None] * K * self._root
            system.flat[:: len(z) + 1] += 1.0
            self._factor = cholesky(system, lower=True, overwrite_a=True, check_finite=False)
            right = curve * z + y * miss
            inner = cho_solve((self._factor, True), self._root * (K @ right), check_finite=False)
            ahead = right - self._root * inner - a
            move, share = K @ ahead, 1.0
            length = float(np.abs(move).max())
            if length > 1.0:  # a shorter one changes curvatures at most e-fold, and lowers the loss
                worst = loss(a, z)
                while share > _LEAST_SHARE and not loss(a + share * ahead, z + share * move) < worst:
                    share /= 2
            a, z = a + share * ahead, z + share * move
            if length <= _CLOSE:
                break
        self.a = a

    def at(self, k: FloatArray, squares: FloatArray) -> tuple[FloatArray, FloatArray]:
        """w.x and x.H^-1 x of B points, by their products with the n points, (n, B), and themselves, (B,)."""
        pulled = solve_triangular(self._factor, self._root[:, None] * k, lower=True, check_finite=False)
        return self.a @ k, np.maximum(squares - (pulled * pulled).sum(axis=0), _TINY)


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
        if isinstance(X, np.ndarray):
            X = X - mean
            self._X = X / np.maximum(1.0, np.sqrt((X * X).mean(axis=0)))
            self._shift, self._square = np.zeros(len(X)), 0.0
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
