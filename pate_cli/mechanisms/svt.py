"""The sparse vector technique over distance to instability (BTT18 and LZCW21, Algorithm 2)."""

from __future__ import annotations

import numpy as np

from pate_cli.mechanisms.stable import StableRuns, StableService
from pate_cli.mechanisms.votes import distance_to_instability, majority
from pate_cli.types import UNANSWERED, Answer, IntArray, Released, Votes

__all__ = ["SvtRuns", "SvtService"]


class SvtRuns(StableRuns):
    """Independent runs of the mechanism side by side, one query at a time: Algorithm 2 as printed.

    Parameters are those of `StableRuns`.
    """

    def ask(self, counts: IntArray) -> Released:
        """Put the same query to every run; see `MechanismRuns`."""
        answered, reached = self.test(int(distance_to_instability(counts[None])[0]))
        labels = np.where(answered, majority(counts[None])[0], UNANSWERED)
        return Released(labels, None, reached)


class SvtService(StableService[int]):
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

    def answer(self, votes: Votes) -> Answer:
        """Answer one query; see `LabellingService`."""
        counts = votes.counts[:1]
        label = self.release(int(majority(counts)[0]), int(distance_to_instability(counts)[0]))
        return Answer(UNANSWERED if label is None else label)

    def answer_all(self, votes: Votes) -> list[Answer]:
        """Answer queries in order until the T-th unstable one; see `LabellingService`."""
        counts = votes.counts[: self._c.ell - self._asked]
        if self.exhausted or not len(counts):
            return []
        labels = self.release_all(majority(counts).tolist(), distance_to_instability(counts))
        return [Answer(UNANSWERED if label is None else label) for label in labels]
