"""The sparse vector technique with the distance that NB20's Algorithm 5 prints: the margin ``n1 - n2``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pate_cli.mechanisms.base import Session
from pate_cli.mechanisms.sparse_vector import SparseVector, SparseVectorSession
from pate_cli.mechanisms.votes import lead
from pate_cli.privacy.composition import pure_eps
from pate_cli.privacy.door import Door
from pate_cli.privacy.noise import difference_tail
from pate_cli.privacy.svt import SvtCalibration
from pate_cli.types import PrivacyLoss, ReleasedLabels, Votes

__all__ = ["PrintedSession", "PrintedSvt", "proved"]


class PrintedSession(SparseVectorSession):
    """Answer the majority where the *margin*, with noise, passes the threshold: as A_SubSamp is printed.

    **Guarantee.** Not the calibration's, whose proof needs a distance that moves by at most 1: one vote moves
    ``n1 - n2`` by 2, and a query whose majority differs between neighbours may have a margin of 2 on one of
    them. What does hold, under the assumptions of `SparseVectorSession`, is `proved`.
    """

    def ask(self, votes: Votes) -> ReleasedLabels:
        """Put queries to every run; see `Session`."""
        return self.labels(votes, lead(votes.counts))


@dataclass(frozen=True)
class PrintedSvt(SparseVector):
    """The sparse vector technique on margins, calibrated as if one vote moved them by 1."""

    @property
    def guarantee(self) -> PrivacyLoss:
        """What holds for the whole run; see `proved`."""
        return PrivacyLoss(*proved(self.calibration), "sparse vector on margins, of sensitivity 2")

    def session(self, door: Door, runs: int = 1) -> Session:
        """Put it to work, in one run or in several side by side."""
        return PrintedSession(self.calibration, door, runs)

    def describe(self) -> dict[str, Any]:
        """Its public numbers."""
        eps, delta = proved(self.calibration)
        return super().describe() | {"distance": "n1 - n2", "eps_proved": eps, "delta_proved": delta}


def proved(c: SvtCalibration) -> tuple[float, float]:
    """(eps, delta) of `PrintedSession`, whose threshold is drawn anew after each unstable answer.

    The pattern proof of `pate_cli.privacy.svt` with the threshold moved by 2, as the margin may: a segment
    costs ``2/threshold_scale + 4/query_scale``, T of them are composed exactly at half of delta. A critical
    query has a margin of at most 2, so one is answered with probability at most ``T P(nu - rho > w - 2)``.

    Advanced composition as the papers use it leaves nearly half of eps unused, and the exact one needs less
    than it: at their scales this eps is about the one that they claim for a sensitivity of 1, or below it.
    """
    segment = 2 / c.threshold_scale + 4 / c.query_scale
    critical = difference_tail(c.threshold - 2, c.threshold_scale, c.query_scale, c.noise)
    return pure_eps(segment, c.cutoff, c.delta / 2), c.delta / 2 + c.cutoff * critical
