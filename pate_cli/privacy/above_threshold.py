"""The sparse vector technique over distance to instability: its calibration, its proof, and the run.

The mechanism (BTT18 Algorithm 2, LZCW21 Algorithm 2), in votes::

    dist_j = max(0, ceil((n1 - n2)/2) - 1)
    answer the majority if dist_j + nu_j > w + rho, otherwise "unstable"
    stop after T unstable answers

``nu`` is query noise of scale `query_scale`, ``rho`` threshold noise of scale `threshold_scale`, drawn anew
after each unstable answer (`redraw`) or once a run.

**Guarantee** of every `SvtCalibration`: (eps, delta)-DP for neighbours that differ in one private record, so
in at most one vote a query, for adaptively chosen queries. The proof has two parts.

*Stability.* Call a query critical if its majority differs between the two neighbours; its dist is then 0 on
both. Until a critical query is answered, the labels given are the same function of the queries on both
neighbours, so only the answered/unstable pattern carries a loss. ``delta_stab`` bounds the probability that a
critical query is ever answered. One that is *not* answered is an unstable answer, and the T-th of those ends
the run: at most T critical queries are ever reached, at most one a segment where the threshold is redrawn.
The query noise of the k-th critical query is fresh, and its threshold noise may be paired with it in advance,
so ``delta_stab <= T * P(nu - rho > w)`` whatever the queries before it taught about the threshold. (The
papers use ell in place of T, which is safe, as T <= ell, and looser by ``query_scale * ln(ell/T)``.)

*Pattern.* Compare the run on D at threshold noise ``rho`` with the run on D' at ``rho - 1``. Every answered
query is at least as likely there; every unstable one is at most ``exp(2/query_scale)`` less likely, since
dist moves by at most 1; the density of ``rho`` falls by at most ``exp(1/threshold_scale)``. So a segment that
ends in an unstable answer costs ``1/threshold_scale + 2/query_scale``, one that does not costs
``1/threshold_scale``, and a threshold kept for the whole run is paid for once:
``1/threshold_scale + 2 T/query_scale`` (Lyu, Su, Li, VLDB 2017).

*One-sided noise.* The pattern proof moves the threshold in one direction only. It needs
``f(rho) <= exp(1/b) f(rho - 1)`` of the density of threshold noise and ``F(z) <= exp(2/b) F(z - 2)`` of the
distribution function of query noise. ``-Exp(b)`` satisfies both with equality, so it may replace Laplace
noise for both; its tail on the dangerous side is that of the threshold alone, ``exp(-w/threshold_scale)``,
which is why `tight` picks it.

*Integer noise*, of a release. The discrete Laplace law DL(b) has probabilities in proportion to ``q^|k|``,
``q = exp(-1/b)``, on the integers, Geom(b) has ``(1 - q) q^k`` on k >= 0. Distances, and an integer w, shift
by integers, so both facts are needed for integers r and z only. DL(b) has both, since ``|k|`` moves by at
most 1 (2) under a shift by 1 (2). ``-Geom(b)`` has ``f(r) = (1 - q) q^-r`` for r <= 0, else 0, and
``F(z) = q^-z`` for z <= 0, else 1: both hold. So the losses are those of the continuous noises at the same
scales; the tails differ (`discrete_difference_tail`).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from pate_cli.privacy.composition import pure_eps
from pate_cli.privacy.door import Door
from pate_cli.privacy.events import Account, Event
from pate_cli.privacy.kinds import Kind
from pate_cli.privacy.noise import Noise, NoiseKind, difference_tail, discrete_difference_tail
from pate_cli.types import PrivacyLoss

__all__ = ["AboveThreshold", "Decisions", "SvtCalibration"]


@dataclass(frozen=True)
class SvtCalibration:
    """Public parameters of the mechanism, in votes: its budget, its threshold and the scales of its noise.

    The guarantee is (eps, delta), with ``delta_comp + delta_stab <= delta``.
    """

    eps: float
    delta: float
    ell: int  # most queries that may be asked
    cutoff: int  # T, unstable answers after which the mechanism stops
    rule: str  # name of the calibration
    noise: NoiseKind  # two-sided, or -Exp for threshold and query noise alike
    redraw: bool  # whether threshold noise is drawn anew after each unstable answer
    threshold: float  # w
    threshold_scale: float
    query_scale: float
    delta_comp: float  # of the composition
    delta_stab: float  # bound on answering a critical query
    integers: bool = False  # whether the noise is discrete Laplace or geometric, and w an integer

    def p_unstable(self, dist: float) -> float:
        """Probability that a query at distance `dist` gets no answer, for a fresh threshold.

        ``P(nu - rho <= w - dist)``, as the tail of ``rho - nu`` so that small values keep their digits.
        """
        gap, scales = dist - self.threshold, (self.query_scale, self.threshold_scale)
        if self.integers:  # at the threshold is no answer, so one more than the tail has
            return discrete_difference_tail(math.ceil(gap) - 1, *scales, self.noise)
        return difference_tail(gap, *scales, self.noise)

    def margin(self, failure: float) -> float:
        """Smallest dist answered with probability at least ``1 - failure``, in votes."""
        low, high = 0.0, max(self.threshold, 1.0)
        if self.p_unstable(low) <= failure:
            return low
        at_threshold = self.query_scale / (self.threshold_scale + self.query_scale)
        if self.noise == "exponential" and failure <= at_threshold and not self.integers:
            return self.threshold + self.query_scale * math.log(at_threshold / failure)
        while self.p_unstable(high) > failure:
            low, high = high, 2 * high
        if self.integers:
            dists = range(math.ceil(high) + 1)
            return float(bisect_left(dists, True, key=lambda dist: self.p_unstable(dist) <= failure))
        return float(brentq(lambda dist: self.p_unstable(dist) - failure, low, high, xtol=1e-9))

    def pathwise_eps(self, unstable: int, *, open_segment: bool) -> float:
        """Pure loss of an output with `unstable` unstable answers, up to ``delta_stab``.

        `open_segment`: whether a query was asked since the threshold noise was drawn.
        """
        per_unstable = 2 / self.query_scale
        if self.redraw:
            return unstable * (1 / self.threshold_scale + per_unstable) + open_segment / self.threshold_scale
        return (unstable > 0 or open_segment) / self.threshold_scale + unstable * per_unstable

    def proved(self, below: int = 0) -> tuple[float, float]:
        """(eps, delta) of a run from its scales, composed exactly; of `below` unstable answers if more."""
        T, per_unstable = max(self.cutoff, below), 2 / self.query_scale
        if self.redraw:
            eps = pure_eps(1 / self.threshold_scale + per_unstable, T, self.delta_comp)
        else:
            eps = 1 / self.threshold_scale + T * per_unstable
        return eps, self.delta_comp + self.delta_stab


class Decisions(NamedTuple):
    """Decisions on m consecutive numbers in R runs, as released."""

    above: NDArray[np.bool_]  # whether a number was above, shape (m, R)
    reached: NDArray[np.bool_]  # whether the run asked and still took numbers, shape (m, R)
    values: NDArray[Any] | None = None  # of the numbers above in some run, 0 elsewhere, shape (m,)


class AboveThreshold(Event):
    """Compare numbers with a noisy threshold, in R independent runs that are asked the same.

    **Guarantee.** The calibration's, for adaptively chosen numbers that one changed record moves by at most
    1; the proof stands at the top of the module.

    Threshold noise and query noise have a source each. The runs are an event of the door's account, which is
    paid once, when they start: their decisions are releases that cost no more.

    Attributes
    ----------
    asked, below : ndarray of int64, shape (R,)
        Numbers compared, and those that were below the threshold.
    open : ndarray of bool, shape (R,)
        Whether a number was compared since the threshold noise was drawn.
    """

    once = True

    def __init__(self, calibration: SvtCalibration, door: Door, runs: int = 1) -> None:
        self.calibration = calibration
        self.runs = runs
        door.spent.pay(self)
        self._threshold_noise, self._query_noise = door.noise.spawn(2)
        self._noisy_threshold = self._draw_threshold(runs)
        self._door = door
        self.asked, self.below = np.zeros((2, runs), dtype=np.int64)
        self.open = np.zeros(runs, dtype=bool)

    @property
    def taking(self) -> NDArray[np.bool_]:
        """Whether each run takes a further number, shape (R,)."""
        return (self.below < self.calibration.cutoff) & (self.asked < self.calibration.ell)

    @property
    def exhausted(self) -> bool:
        """Whether no run takes a further number."""
        return not self.taking.any()

    def spent(self) -> PrivacyLoss:
        """Loss of the first run after the fact: the smaller of the budget and its pathwise loss."""
        c, unstable = self.calibration, int(self.below[0])
        eps, how = c.eps, "the budget (the pathwise loss is no smaller)"
        pathwise = c.pathwise_eps(unstable, open_segment=bool(self.open[0]))
        if pathwise < eps:
            eps, how = pathwise, f"pathwise loss of {unstable} unstable answers, delta for stability"
        return PrivacyLoss(eps, c.delta, how, data_dependent=True)

    @classmethod
    def after(cls, account: Account) -> PrivacyLoss:
        """Loss after the fact of the runs that an account has, the first of those side by side."""
        (runs,) = account.of(cls)
        return runs.spent()

    @classmethod
    def compose(cls, counts: Mapping[Any, int], delta: float = 0.0) -> tuple[float, float]:
        """(eps, delta) of all runs in an account, from the noise they had."""
        runs = [run for run in counts if isinstance(run, cls)]
        losses = [run.calibration.proved(below) for run in runs for below in run.below.tolist()]
        return math.fsum(eps for eps, _ in losses), math.fsum(delta for _, delta in losses)

    def draws(self) -> Counter[tuple[str, float]]:
        """Threshold noise of the first run, by law and scale."""
        c = self.calibration
        return Counter({(c.noise, c.threshold_scale): 1 + int(self.below[0]) * c.redraw})

    def test(
        self,
        numbers: NDArray[Any],
        values: NDArray[Any] | None = None,
        among: NDArray[np.bool_] | None = None,
    ) -> Decisions:
        """Compare m consecutive numbers (PRIVATE) in every run, or in the runs `among`.

        Values (PRIVATE) are released where their numbers, distances to instability then, are above.
        """
        asking = np.flatnonzero(self.taking if among is None else self.taking & among)

        kind = Comparison(sensitivity=1.0, runs=self, asking=asking, values=values)
        decisions: Decisions = self._door.release(numbers, kind, len(numbers))
        if not len(numbers):
            return decisions
        above, reached = decisions.above, decisions.reached
        self.asked += reached.sum(axis=0)
        self.below += (reached & ~above).sum(axis=0)
        last = len(numbers) - 1 - np.argmax(reached[::-1], axis=0)
        ended = ~above[last, np.arange(self.runs)] & self.calibration.redraw
        self.open = np.where(reached.any(axis=0), ~ended, self.open)
        return decisions

    def _decide(
        self, numbers: NDArray[Any], runs: NDArray[np.int64]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Compare in order until T were below, in `runs` (BTT18 Algorithm 2, LZCW21 Algorithms 2 and 6)."""
        c, m = self.calibration, len(numbers)
        above, reached = np.zeros((2, m, self.runs), dtype=bool)
        noisy = numbers[:, None] + self._draw_query_noise(m * len(runs)).reshape(m, len(runs))
        unstable, left = self.below[runs], c.ell - self.asked[runs]
        for j in range(m):
            taking = (unstable < c.cutoff) & (j < left)
            if not taking.any():
                break
            passed = noisy[j] > self._noisy_threshold[runs]  # dist_j + nu_j > w + rho
            reached[j, runs], above[j, runs] = taking, taking & passed
            failed = taking & ~passed
            unstable += failed
            if c.redraw and failed.any():  # a new rho for the runs whose number was below
                self._noisy_threshold[runs[failed]] = self._draw_threshold(int(failed.sum()))
        return above, reached

    def _draw_threshold(self, size: int) -> NDArray[np.float64]:
        """Threshold w plus noise, shape (size,)."""
        c = self.calibration
        return c.threshold + _draw(self._threshold_noise, c.threshold_scale, size, c.noise)

    def _draw_query_noise(self, size: int) -> NDArray[np.float64]:
        """Noise on consecutive numbers."""
        return _draw(self._query_noise, self.calibration.query_scale, size, self.calibration.noise)


@dataclass(frozen=True, kw_only=True)
class Comparison(Kind):
    """Decisions on consecutive numbers, paid for by the runs; values are released where they are stable."""

    norm = math.inf
    runs: AboveThreshold = field(compare=False)
    asking: NDArray[np.int64] = field(compare=False)
    values: NDArray[Any] | None = field(compare=False)

    @property
    def on_integers(self) -> bool:
        """Where the threshold is for them: the tail beyond another may be several times what is stated."""
        return self.runs.calibration.integers

    def draw(self, noise: Noise, value: NDArray[Any]) -> Decisions:
        """See `Kind`."""
        above, reached = self.runs._decide(value, self.asking)
        if self.values is None:
            return Decisions(above, reached)
        return Decisions(above, reached, np.where(above.any(axis=1), self.values, np.zeros_like(self.values)))

    def event(self, size: int) -> AboveThreshold:
        """The runs."""
        return self.runs

    def draws(self, value: NDArray[Any], out: Decisions) -> Counter[tuple[str, float]]:
        """See `Kind`."""
        c = self.runs.calibration
        return Counter({(c.noise, c.query_scale): value.size if out.reached.any() else 0})


def _draw(noise: Noise, scale: float, size: int, kind: str) -> NDArray[np.float64]:
    """Two-sided noise, or the one-sided -Exp(scale)."""
    return -noise.exponential(scale, size) if kind == "exponential" else noise.laplace(scale, size)
