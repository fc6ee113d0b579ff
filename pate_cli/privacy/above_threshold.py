"""The sparse vector technique: numbers compared with a noisy threshold, until T were below."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pate_cli.privacy.noise import Noise
from pate_cli.privacy.svt import SvtCalibration
from pate_cli.types import PrivacyLoss

__all__ = ["AboveThreshold", "Decisions"]


class Decisions(NamedTuple):
    """Decisions on m consecutive numbers in R runs, as released."""

    above: NDArray[np.bool_]  # whether a number was above, shape (m, R)
    reached: NDArray[np.bool_]  # whether the run asked and still took numbers, shape (m, R)
    values: NDArray[Any] | None = None  # of the numbers above in some run, 0 elsewhere, shape (m,)


Release: TypeAlias = Callable[[NDArray[Any], Callable[[], Decisions]], Decisions]


class AboveThreshold:
    """Compare numbers with a noisy threshold, in R independent runs that are asked the same.

    **Guarantee.** The calibration's, for adaptively chosen numbers that one changed record moves by at most
    1; the proof stands at the top of `pate_cli.privacy.svt`.

    Threshold noise and query noise have a source each. A door passes its own `release`, which takes the
    numbers and the function that decides on them.

    Attributes
    ----------
    asked, below : ndarray of int64, shape (R,)
        Numbers compared, and those that were below the threshold.
    open : ndarray of bool, shape (R,)
        Whether a number was compared since the threshold noise was drawn.
    """

    def __init__(
        self, calibration: SvtCalibration, noise: Noise, runs: int = 1, release: Release | None = None
    ) -> None:
        self.calibration = calibration
        self.runs = runs
        self._threshold_noise, self._query_noise = noise.spawn(2)
        self._noisy_threshold = self._draw_threshold(runs)
        self._release = release or (lambda numbers, decide: decide())
        self.asked = np.zeros(runs, dtype=np.int64)
        self.below = np.zeros(runs, dtype=np.int64)
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

        def decide() -> Decisions:
            above, reached = self._decide(numbers, asking)
            stable = None if values is None else np.where(above.any(axis=1), values, np.zeros_like(values))
            return Decisions(above, reached, stable)

        found = self._release(numbers, decide)
        above, reached = found.above, found.reached
        self.asked += reached.sum(axis=0)
        self.below += (reached & ~above).sum(axis=0)
        last = len(numbers) - 1 - np.argmax(reached[::-1], axis=0)
        ended = ~above[last, np.arange(self.runs)] & self.calibration.redraw
        self.open = np.where(reached.any(axis=0), ~ended, self.open)
        return found

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
            passed = noisy[j] > self._noisy_threshold[runs]
            reached[j, runs], above[j, runs] = taking, taking & passed
            failed = taking & ~passed
            unstable += failed
            if c.redraw and failed.any():
                self._noisy_threshold[runs[failed]] = self._draw_threshold(int(failed.sum()))
        return above, reached

    def _draw_threshold(self, size: int) -> NDArray[np.float64]:
        """Threshold w plus noise, shape (size,)."""
        c = self.calibration
        return c.threshold + _draw(self._threshold_noise, c.threshold_scale, size, c.noise)

    def _draw_query_noise(self, size: int) -> NDArray[np.float64]:
        """Noise on consecutive numbers."""
        return _draw(self._query_noise, self.calibration.query_scale, size, self.calibration.noise)


def _draw(noise: Noise, scale: float, size: int, kind: str) -> NDArray[np.float64]:
    """Two-sided noise, or the one-sided -Exp(scale)."""
    return -noise.exponential(scale, size) if kind == "exponential" else noise.laplace(scale, size)
