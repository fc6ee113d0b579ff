"""AgPrivCl as NB20 prints it: its constants, and the sparse vector technique on the margin ``n1 - n2``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from pate_cli.mechanisms.agnostic import accounting
from pate_cli.mechanisms.sparse_vector import SparseVector, SparseVectorSession
from pate_cli.mechanisms.votes import lead
from pate_cli.privacy import svt
from pate_cli.privacy.composition import pure_eps
from pate_cli.privacy.door import Door
from pate_cli.privacy.noise import difference_tail
from pate_cli.types import PrivacyLoss, ReleasedLabels, Votes

__all__ = ["PrintedSession", "PrintedSvt", "loss", "proved", "published", "records_of_theorem_7"]


def published(eps: float, delta: float, n: int, m: int, alpha: float, beta: float) -> dict[str, float]:
    """Numbers of NB20 Algorithm 3 line 1 and Algorithm 5 lines 1-2, unrounded: n', T, min(1, eps'), k."""
    cutoff = max(1.0, m * alpha / 8 + math.sqrt(3 * m * alpha * math.log(m / beta)) / 4)
    eps_star = min(1.0, alpha * max(1.0, math.sqrt(m * alpha)))
    log2d = math.log(2 / delta)
    svt_eps = eps_star / log2d
    svt_delta = delta / (2 * math.exp(eps_star) * log2d)
    whole = math.ceil(cutoff)  # T is a number of answers
    return {
        "n_sampled": eps * n / 56,
        "cutoff": cutoff,
        "eps_star": eps_star,
        "svt_eps": svt_eps,
        "svt_delta": svt_delta,
        "teachers": svt.printed_teachers(svt_eps, svt_delta, m, whole, beta),
    }


def records_of_theorem_7(eps: float, delta: float, m: int, alpha: float, beta: float, vc: int) -> float:
    """Private records from which NB20's accuracy is proved, with the constant 8000 of Lemma 9's proof."""
    log_terms = math.log(2 / delta) ** 1.5 * math.log(m * alpha / min(delta, beta / 2))
    complexity = vc * math.log(1 / alpha) + math.log(m / beta)
    sampled = 8000 * complexity * log_terms * max(1.0, math.sqrt(m) * alpha**1.5) / alpha**2
    return float(56 / eps * sampled)


class PrintedSession(SparseVectorSession):
    """Answer the majority where the *margin*, with noise, passes the threshold: as A_SubSamp is printed.

    **Guarantee.** Not the calibration's, whose proof needs a distance that moves by at most 1: one vote moves
    ``n1 - n2`` by 2, and a query whose majority differs between neighbours may have a margin of 2 on one of
    them. `proved` does hold, under the assumptions of `SparseVectorSession`.
    """

    def ask(self, votes: Votes) -> ReleasedLabels:
        """Put queries to every run; see `Session`."""
        return self.labels(votes, lead(votes.counts))


@dataclass(frozen=True)
class PrintedSvt(SparseVector):
    """The sparse vector technique on margins, calibrated as if one vote moved them by 1."""

    @property
    def guarantee(self) -> PrivacyLoss:
        """Proved for the whole run; see `proved`."""
        return PrivacyLoss(*proved(self.calibration), "sparse vector on margins, of sensitivity 2")

    def session(self, door: Door, runs: int = 1) -> PrintedSession:
        """Start one run, or several side by side."""
        return PrintedSession(self.calibration, door, runs)

    def describe(self) -> dict[str, Any]:
        """Its public numbers."""
        eps, delta = proved(self.calibration)
        return super().describe() | {"distance": "n1 - n2", "eps_proved": eps, "delta_proved": delta}


def proved(c: svt.SvtCalibration) -> tuple[float, float]:
    """(eps, delta) of `PrintedSession`, whose threshold is drawn anew after each unstable answer.

    The pattern proof of `pate_cli.privacy.above_threshold` with the threshold moved by 2, as the margin may:
    a segment costs ``2/threshold_scale + 4/query_scale``, T of them are composed exactly at half of delta. A
    critical query has a margin of at most 2, so one is answered with probability at most
    ``T P(nu - rho > w - 2)``.

    Advanced composition as the papers use it leaves nearly half of eps unused, and the exact one needs less
    than it: at their scales this eps is about the one that they claim for a sensitivity of 1, or below it.
    """
    segment = 2 / c.threshold_scale + 4 / c.query_scale
    critical = difference_tail(c.threshold - 2, c.threshold_scale, c.query_scale, c.noise)
    return pure_eps(segment, c.cutoff, c.delta / 2), c.delta / 2 + c.cutoff * critical


def loss(
    c: svt.SvtCalibration, delta: float, relabel_eps: float, n_sampled: int, rate: float
) -> tuple[float, float]:
    """(eps, delta) of Algorithm 3 as printed, by the exact steps; see `AgPrivCl`."""
    copies = math.log(2 / delta)
    star, star_delta = accounting.nb20_resampled(*proved(c), copies)
    star_delta += accounting.copies_tail(n_sampled, copies)
    if star_delta > delta:
        return math.inf, 1.0
    return accounting.sampled(*accounting.relabelled(star, star_delta, relabel_eps), rate)
