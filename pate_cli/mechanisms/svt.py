"""The sparse vector technique over distance to instability (BTT18 and LZCW21, Algorithm 2)."""

from __future__ import annotations

import numpy as np

from pate_cli.mechanisms.service import VoteService
from pate_cli.mechanisms.stable import StableService
from pate_cli.mechanisms.votes import distance_to_instability, majority
from pate_cli.types import UNANSWERED, Released, Votes

__all__ = ["SvtService"]


class SvtService(StableService[int], VoteService):
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
    runs : int
        Independent runs side by side; see `VoteService`.
    """

    def ask(self, votes: Votes) -> Released:
        """Put queries to every run; see `VoteService`."""
        stable, reached = self.test(distance_to_instability(votes.counts))
        labels = np.where(stable, majority(votes.counts)[:, None], UNANSWERED)
        return Released(labels, None, reached)
