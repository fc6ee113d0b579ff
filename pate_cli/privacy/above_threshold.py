"""The sparse vector technique at work: distances against a noisy threshold, until T were below."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pate_cli.privacy.noise import Noise
from pate_cli.privacy.svt import SvtCalibration

__all__ = ["AboveThreshold", "Decisions"]


class Decisions(NamedTuple):
    """What the technique lets out of m consecutive numbers.

    Attributes
    ----------
    above, reached : ndarray of bool, shape (m, R)
        Whether a number was above, and whether the run asked and still took numbers.
    values : ndarray of shape (m,) or None
        Values of those that were above in some run, and 0 elsewhere.
    """

    above: NDArray[np.bool_]
    reached: NDArray[np.bool_]
    values: NDArray[Any] | None = None


Release: TypeAlias = Callable[[NDArray[Any], Callable[[], Decisions]], Decisions]


class AboveThreshold:
    """Compare numbers with a noisy threshold, in one run or in several side by side.

    **Guarantee.** The calibration's, for adaptively chosen numbers that one changed record moves by at most
    1; the proof stands at the top of `pate_cli.privacy.svt`.

    Parameters
    ----------
    calibration : SvtCalibration
    noise : Noise
        Threshold noise and query noise are drawn from two sources spawned from it.
    runs : int
        R, independent runs that are asked the same.
    release : callable, optional
        Is given the numbers and what decides on them; a door gives itself.

    Attributes
    ----------
    asked, below : ndarray of int64, shape (R,)
        Numbers compared, and those that were below the threshold.
    open : ndarray of bool, shape (R,)
        Whether a number was above the threshold since its noise was drawn.
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

    def test(
        self,
        numbers: NDArray[Any],
        among: NDArray[np.bool_] | None = None,
        values: NDArray[Any] | None = None,
    ) -> Decisions:
        """Compare consecutive numbers in every run, or in some.

        Parameters
        ----------
        numbers : ndarray of shape (m,)
            PRIVATE. Distances to instability, where values go with them.
        among : ndarray of bool, shape (R,), optional
            Runs that ask.
        values : ndarray of shape (m,), optional
            PRIVATE. Each goes where its number is above.
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
        self, numbers: NDArray[Any], who: NDArray[np.int64]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Draw noise and compare, in the runs `who`; see `test`."""
        c, m = self.calibration, len(numbers)
        above, reached = np.zeros((2, m, self.runs), dtype=bool)
        noisy = numbers[:, None] + self._draw_query_noise(m * len(who)).reshape(m, len(who))
        # each turn takes every run from its next number to the next one below, or to the end
        at, end, first = np.zeros(len(who), dtype=np.int64), np.minimum(m, c.ell - self.asked[who]), 0
        below = self.below[who]
        while first < m and len(who):
            index = np.arange(first, m)[:, None]
            ahead = (index >= at) & (index < end)
            failing = ahead & (noisy[first:] <= self._noisy_threshold[who])
            failed = failing.any(axis=0)
            stop = np.where(failed, first + failing.argmax(axis=0), end)
            above[first:, who] |= ahead & (index < stop)
            reached[first:, who] |= ahead & (index <= stop)
            below = below + failed
            if c.redraw:
                again = who[failed]
                self._noisy_threshold[again] = self._draw_threshold(len(again))
            left = failed & (stop + 1 < end) & (below < c.cutoff)
            who, noisy, at, end, below = who[left], noisy[:, left], stop[left] + 1, end[left], below[left]
            first = int(at.min(initial=m))
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
