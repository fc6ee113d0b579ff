"""LNMax (Papernot et al. 2017): the label of the largest count of votes with Laplace noise.

The guarantee does not depend on the votes. The paper's moments account does, and is private.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pate_cli.errors import ConfigError
from pate_cli.mechanisms.base import UNPROVED, Session, VoteMechanism
from pate_cli.mechanisms.options import MechanismOptions
from pate_cli.mechanisms.votes import ExpectedAnswers, majority
from pate_cli.privacy.composition import eps0_of
from pate_cli.privacy.door import Door
from pate_cli.privacy.events import Account, Pure
from pate_cli.privacy.kinds import LaplaceNoise
from pate_cli.privacy.lnmax import eps_of_moments, miss_probability
from pate_cli.types import UNANSWERED, IntArray, PrivacyLoss, ReleasedLabels, Setting, Votes

__all__ = ["Lnmax", "LnmaxSession", "Options", "calibrate"]


_QUARTILE_OF_DIFFERENCE = 1.1461932206205827  # upper one, of two numbers with Laplace noise of scale 1


@dataclass(frozen=True)
class Options(MechanismOptions):
    """Options of `mechanism=lnmax`: none."""


def calibrate(options: Options, setting: Setting) -> Lnmax:
    """Split eps over all public points by the exact composition of pure differential privacy."""
    if math.isinf(setting.eps):
        raise ConfigError("eps", setting.eps, "a finite number with mechanism=lnmax")
    return Lnmax(
        eps=setting.eps,
        delta=setting.delta,
        scale=l1_sensitivity(setting.n_classes) / eps0_of(setting.eps, setting.delta, setting.n_public),
        ell=setting.n_public,
        n_teachers=setting.n_teachers,
        n_classes=setting.n_classes,
    )


def l1_sensitivity(n_classes: int) -> float:
    """L1 sensitivity of one query, in votes: of the count of class 1, or of the histogram of more classes."""
    return 1.0 if n_classes == 2 else 2.0


@dataclass(frozen=True)
class Lnmax(VoteMechanism):
    """Label by the largest count with Laplace noise.

    **Guarantee.** (eps, delta)-DP for neighbours that differ in one private record (replaced, or its part
    trained without it; n, K and the part sizes are public), for up to `ell` adaptively chosen queries: each
    is eps0-DP with ``eps0 = l1_sensitivity(C) / scale``, and they compose exactly (Kairouz, Oh, Viswanath
    2015). The same on any votes. Assumes that no two teachers share a record.
    """

    eps: float
    delta: float
    scale: float  # of the noise on a count, in votes

    @property
    def eps0(self) -> float:
        """Pure loss of one query."""
        return l1_sensitivity(self.n_classes) / self.scale

    @property
    def guarantee(self) -> PrivacyLoss:
        """(eps, delta) for the whole run, on any votes."""
        how = f"exact composition of {self.ell} queries of {self.eps0:.3g}-DP"
        return PrivacyLoss(self.eps, self.delta, how)

    def loss(self, spent: Account) -> PrivacyLoss:
        """Composition of the queries asked."""
        if not spent.only(Pure):
            return UNPROVED
        return PrivacyLoss(
            Pure.exact(spent, self.delta), self.delta, "exact composition of the queries asked"
        )

    def session(self, door: Door, runs: int = 1) -> LnmaxSession:
        """Start a session; see `VoteMechanism`."""
        return LnmaxSession(self, door, runs)

    def expected_answers(self) -> ExpectedAnswers:
        """See `Mechanism`; it answers every query."""
        votes = 6 * math.log(2) if self.n_classes == 2 else 3 * _QUARTILE_OF_DIFFERENCE
        return ExpectedAnswers(self.scale, self.ell, max(1, math.ceil(votes * self.scale)))

    def describe(self) -> dict[str, Any]:
        """Its public numbers."""
        return {name: value for name, value in asdict(self).items() if name not in ("budget", "strategy")}


class LnmaxSession(Session):
    """``argmax_j (n_j + Lap(scale))`` for each query; guarantee: see `Lnmax`.

    **Not private.** `not_private` is the moments account of these very votes, a data-dependent report
    (Theorem 3 of the paper). It must not be published.
    """

    def __init__(self, mechanism: Lnmax, door: Door, runs: int = 1) -> None:
        self._mechanism, self._door, self.runs = mechanism, door, runs
        self._asked = 0
        self._counts: list[IntArray] = []  # private: votes of the queries taken

    @property
    def exhausted(self) -> bool:
        """Whether all queries were taken."""
        return self._asked >= self._mechanism.ell

    def ask(self, votes: Votes) -> ReleasedLabels:
        """Put queries to every run; see `Session`."""
        mechanism = self._mechanism
        counts = votes.counts[: mechanism.ell - self._asked]
        rows = np.repeat(counts, self.runs, axis=0)
        kind = LaplaceNoise(sensitivity=l1_sensitivity(mechanism.n_classes), scale=mechanism.scale)
        noisy = self._door.release(rows[:, 1] if mechanism.n_classes == 2 else rows, kind, len(counts))
        if mechanism.n_classes == 2:
            noisy = np.column_stack([votes.n_teachers - noisy, noisy])
        labels = np.full((votes.n_queries, self.runs), UNANSWERED)
        labels[: len(counts)] = majority(noisy).reshape(len(counts), self.runs)
        self._asked += len(counts)
        self._counts.append(counts)
        return ReleasedLabels(
            labels, None, np.arange(votes.n_queries)[:, None] < len(counts) * np.ones(self.runs)
        )

    def not_private(self) -> dict[str, float]:
        """Figures computed from votes: NOT differentially private, for experiments only."""
        mechanism = self._mechanism
        if not self._asked:
            return {"eps_data_dependent": 0.0}
        q = miss_probability(np.concatenate(self._counts), mechanism.scale)
        return {"eps_data_dependent": min(mechanism.eps, eps_of_moments(q, mechanism.eps0, mechanism.delta))}
