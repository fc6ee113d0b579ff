"""The sparse vector technique over distance to instability (BTT18 and LZCW21, Algorithm 2)."""

from __future__ import annotations

import numpy as np

from pate_cli.errors import BudgetSpent
from pate_cli.mechanisms.votes import distance_to_instability, majority
from pate_cli.privacy.noise import Noise
from pate_cli.privacy.svt import SvtCalibration
from pate_cli.types import UNANSWERED, Answer, FloatArray, IntArray, PrivacyLoss, Released, Votes

__all__ = ["SvtRuns", "SvtService"]


class SvtRuns:
    """Independent runs of the mechanism side by side, one query at a time: Algorithm 2 as printed.

    Parameters
    ----------
    calibration : SvtCalibration
    noise : Noise
        Threshold noise and query noise are drawn from two sources spawned from it.
    runs : int
        R.
    """

    def __init__(self, calibration: SvtCalibration, noise: Noise, runs: int) -> None:
        self.calibration = calibration
        self._threshold_noise, self._query_noise = noise.spawn(2)
        self.noisy_threshold = self.draw_threshold(runs)
        self.unstable = np.zeros(runs, dtype=np.int64)
        self.asked = 0

    def ask(self, counts: IntArray) -> Released:
        """Put the same query to every run; see `MechanismRuns`."""
        c = self.calibration
        reached = (self.unstable < c.cutoff) & (self.asked < c.ell)
        self.asked += 1
        noisy_dist = distance_to_instability(counts[None])[0] + self.draw_query_noise(len(reached))
        answered = reached & (noisy_dist > self.noisy_threshold)
        failed = reached & ~answered
        self.unstable += failed
        if c.redraw:
            self.noisy_threshold[failed] = self.draw_threshold(int(failed.sum()))
        labels = np.where(answered, majority(counts[None])[0], UNANSWERED)
        return Released(labels, None, reached)

    def draw_threshold(self, size: int) -> FloatArray:
        """Threshold w plus noise, shape (size,)."""
        c = self.calibration
        return c.threshold + _draw(self._threshold_noise, c.threshold_scale, size, c.noise)

    def draw_query_noise(self, size: int) -> FloatArray:
        """Noise for the distances of consecutive queries."""
        c = self.calibration
        return _draw(self._query_noise, c.query_scale, size, c.noise)


class SvtService:
    """Answer the majority where it is stable, say "unstable" elsewhere, stop at T of those.

    **Guarantee.** (eps, delta)-DP for neighbours that differ in one private record
    (n, K and the part sizes are public), for up to `ell` adaptively chosen queries;
    the proof stands at the top of `pate_cli.privacy.svt`. Assumes that no two
    teachers share a record. Only labels leave: an unstable query's majority, its
    votes and its distance do not.

    Parameters
    ----------
    calibration : SvtCalibration
    noise : Noise
    """

    def __init__(self, calibration: SvtCalibration, noise: Noise) -> None:
        self._c = calibration
        self._run = SvtRuns(calibration, noise, 1)
        self._open = False  # a query was asked since the threshold was drawn

    @property
    def exhausted(self) -> bool:
        """Whether T answers were unstable, or `ell` queries were asked."""
        return self._unstable >= self._c.cutoff or self._run.asked >= self._c.ell

    @property
    def _unstable(self) -> int:
        return int(self._run.unstable[0])

    def answer(self, votes: Votes) -> Answer:
        """Answer one query; see `LabellingService`."""
        if self.exhausted:
            raise BudgetSpent(f"{self._unstable} unstable answers of {self._c.cutoff}")
        answer = Answer(int(self._run.ask(votes.counts[0]).labels[0]))
        self._open = answer.answered or not self._c.redraw
        return answer

    def answer_all(self, votes: Votes) -> list[Answer]:
        """Answer queries in order until the T-th unstable one; see `LabellingService`.

        The same run as `answer` gives, a segment between unstable answers at a time.
        """
        run, c = self._run, self._c
        if self.exhausted:
            return []
        counts = votes.counts[: c.ell - run.asked]
        labels = majority(counts)
        noisy_dist = distance_to_instability(counts) + run.draw_query_noise(len(counts))
        answers: list[Answer] = []
        while len(answers) < len(counts) and self._unstable < c.cutoff:
            start = len(answers)
            below = np.flatnonzero(noisy_dist[start:] <= run.noisy_threshold[0])
            stop = start + int(below[0]) if len(below) else len(counts)
            answers += [Answer(int(label)) for label in labels[start:stop]]
            self._open = self._open or stop > start
            if stop < len(counts):
                answers.append(Answer(UNANSWERED))
                run.unstable += 1
                self._open = not c.redraw
                if c.redraw:
                    run.noisy_threshold = run.draw_threshold(1)
        run.asked += len(answers)
        return answers

    def spent(self) -> PrivacyLoss:
        """Loss after the fact: the smaller of the budget and the pathwise loss of the pattern seen."""
        c = self._c
        pathwise = c.pathwise_eps(self._unstable, open_segment=self._open)
        if pathwise < c.eps:
            how = f"pathwise loss of {self._unstable} unstable answers, delta for stability"
            return PrivacyLoss(pathwise, c.delta, how, data_dependent=True)
        return PrivacyLoss(
            c.eps, c.delta, "the budget (the pathwise loss is no smaller)", data_dependent=True
        )

    def odometer(self) -> PrivacyLoss:
        """Pathwise loss, which bounds every output on its own but with probability delta_stab."""
        c = self._c
        pathwise = c.pathwise_eps(self._unstable, open_segment=self._open)
        return PrivacyLoss(pathwise, c.delta_stab, "pathwise loss of the pattern", data_dependent=True)


def _draw(noise: Noise, scale: float, size: int, kind: str) -> FloatArray:
    """Two-sided noise, or the one-sided -Exp(scale) (see `pate_cli.privacy.svt`)."""
    return -noise.exponential(scale, size) if kind == "exponential" else noise.laplace(scale, size)
