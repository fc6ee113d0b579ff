"""Division of records and budget in LWY25's transformation, and its relabelled sample (Algorithm 1)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pate_cli.errors import InfeasibleError
from pate_cli.learners.hypotheses import HypothesisClass
from pate_cli.learners.hypotheses.stumps import MOST_CUTS, MOST_POINTS
from pate_cli.mechanisms.agnostic import accounting, common, relabel
from pate_cli.privacy.door import Door
from pate_cli.privacy.events import Account, Pure
from pate_cli.types import IntArray, PrivacyLoss, PrivateRecords, Setting

__all__ = ["Shares", "divide"]


@dataclass(frozen=True)
class Shares:
    """Records and budget of the relabelling, and of the inner algorithm, which is run on its result."""

    calibration: str
    n: int
    t: int  # records of T, which are relabelled and learnt from; the others are W
    eps_in: float  # of the exponential mechanism that relabels
    inner_eps: float
    inner_delta: float

    def relabelled(
        self, hypotheses: HypothesisClass, private: PrivateRecords, door: Door
    ) -> tuple[Any, IntArray]:
        """Draw T and relabel it by a hypothesis chosen on W: records and labels. PRIVATE."""
        common.listable_encoded(hypotheses, private.X)
        rows = relabel.subset(private.n_records, self.t, door.noise)
        outside = np.ones(private.n_records, dtype=bool)
        outside[rows] = False
        T, W = private.X[rows], (private.X[outside], private.y[outside])
        return T, relabel.relabel_with_rest(hypotheses, T, W, self.eps_in, door)

    def total(self, eps_in: float, inner_eps: float, inner_delta: float) -> tuple[float, float]:
        """(eps, delta) of the whole, for an (inner_eps, inner_delta)-DP algorithm on the result."""
        r = self.t / self.n
        if self.calibration == "paper":
            eps = math.log(math.exp(eps_in) + r / (1 - r) * 4 * math.exp(1 + inner_eps))
            return eps, 4 * math.e * r * inner_delta
        return accounting.transformed(eps_in, inner_eps, self.n, self.t), inner_delta * self.t / self.n

    @property
    def proved(self) -> tuple[float, float]:
        """(eps, delta) of the whole as calibrated; of `paper` in the form printed, for inner_eps = 1."""
        if self.calibration == "paper":
            return accounting.lwy25_transformed(self.eps_in, self.inner_delta, self.n)[:2]
        return self.total(self.eps_in, self.inner_eps, self.inner_delta)

    def loss(self, spent: Account, inner_eps: float, inner_delta: float) -> PrivacyLoss:
        """Loss of a run, with the eps_in that the door counted."""
        eps_in = Pure.sum(spent.inner)
        how = "relabelled by the rest" + " (paper)" * (self.calibration == "paper")
        return PrivacyLoss(*self.total(eps_in, inner_eps, inner_delta), how)

    @property
    def black_box_draws(self) -> int:
        """Most draws from T at which an inner algorithm of eps = 1 is within inner_eps."""
        return accounting.black_box_draws(1.0, self.inner_eps, self.t, self.calibration)

    def describe(self) -> dict[str, Any]:
        """Public numbers."""
        eps, delta = self.proved
        return {
            "n_relabelled": self.t,
            "eps_in": self.eps_in,
            "inner_eps": self.inner_eps,
            "inner_delta": self.inner_delta,
            "eps_proved": eps,
            "delta_proved": delta,
        }


def divide(
    calibration: str, delta: float, hypotheses: HypothesisClass, setting: Setting, name: str
) -> Shares:
    """Solve for the budgets inside, so that the whole is (eps, delta)-DP.

    `paper`: |T| = ceil(eps_in n), an inner (1, delta/(4 e r)), and the largest eps_in whose total by LWY25's
    own proof is at most eps. `tight`: the proof in `accounting`, and the t and inner_eps with the smallest
    ``1/(eps_in |W|) + 1/(inner_eps |T|)``, to which the errors of the two choices are in proportion; an inner
    (inner_eps, delta n/t). `delta` is 0 for a pure inner algorithm. Raises InfeasibleError.
    """
    eps, n, most = setting.eps, setting.n_private, _most_relabelled(hypotheses, setting)
    if calibration == "paper":
        return _paper(eps, delta, n, most, name)
    best: Shares | None = None
    lowest = math.inf
    for t in sorted({max(1, round(n * 2 ** (-i / 4))) for i in range(4, 80)}, reverse=True):
        if t > min(most, n // 2):
            continue
        # with eps_in = 0: ln(1 + r (4 e^inner_eps - 1)) = eps
        top = accounting.before_sampled(eps, t / n) - math.log(4)
        for inner_eps in (top * i / 40 for i in range(1, 40)) if top > 0 else ():
            if 1 / (inner_eps * t) >= lowest:  # for any eps_in
                continue
            eps_in = accounting.transformed_eps_in(eps, inner_eps, n, t)
            if eps_in is None:
                continue
            error = 1 / (eps_in * (n - t)) + 1 / (inner_eps * t)
            if error < lowest:
                inner_delta = min(0.5, delta * n / t) * (1 - 1e-12)
                lowest, best = error, Shares("tight", n, t, eps_in, inner_eps, inner_delta)
    if best is None:
        raise InfeasibleError(
            f"mechanism={name} cannot divide eps={eps:g} over {n} private records; what would do: "
            f"more records, or a larger eps"
        )
    return best


def _paper(eps: float, delta: float, n: int, most: int, name: str) -> Shares:
    eps_in = accounting.lwy25_eps_in(eps, n)
    if eps_in is None:
        needed = next(k for k in (2**i for i in range(1, 200)) if accounting.lwy25_eps_in(eps, k))
        raise InfeasibleError(
            f"mechanism={name} with calibration=paper needs about {needed} private records at "
            f"eps={eps:g} for one to be sampled, there are {n}; what would do: a larger eps"
        )
    t = math.ceil(eps_in * n)
    if t > most:
        raise InfeasibleError(
            f"mechanism={name} with calibration=paper relabels {t} of {n} private records, and this "
            f"class can do {most}; what would do: mechanism.calibration=tight, a smaller split.private"
        )
    return Shares("paper", n, t, eps_in, 1.0, min(0.5, delta / (4 * math.e * t / n)) * (1 - 1e-12))


def _most_relabelled(hypotheses: HypothesisClass, setting: Setting) -> int:
    """Most records whose dichotomies can be compared with each other in this class."""
    if hypotheses.name == "stumps":
        return min(MOST_POINTS, MOST_CUTS // max(1, setting.n_features))
    return setting.n_private - 1
