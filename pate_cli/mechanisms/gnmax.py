"""GNMax and Confident-GNMax (Papernot et al. 2018): the label of the largest noisy count of votes alone.

The guarantee is the Gaussian mechanism's. A data-dependent account is lower where teachers agree; it is
computed from votes, so it is private.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from pate_cli.checks import Real, option
from pate_cli.errors import ConfigError
from pate_cli.mechanisms.base import UNPROVED, Session, VoteMechanism
from pate_cli.mechanisms.options import MechanismOptions
from pate_cli.mechanisms.votes import (
    ExpectedAnswers,
    VoteAttack,
    attack,
    l2_sensitivity,
    lead,
    majority,
    noisy_counts,
    of_noisy_counts,
)
from pate_cli.privacy import gaussian
from pate_cli.privacy.door import Door
from pate_cli.privacy.events import Account, Gdp
from pate_cli.privacy.gnmax import eps_of_rdp, rdp_of_bit, rdp_of_majority
from pate_cli.privacy.kinds import GaussianNoise
from pate_cli.types import UNANSWERED, IntArray, PrivacyLoss, ReleasedLabels, Setting, Votes

__all__ = ["Gnmax", "GnmaxSession", "Options", "calibrate"]


@dataclass(frozen=True)
class Options(MechanismOptions):
    """Options of `mechanism=gnmax`."""

    checked = ({"confidence": 0.6},)

    confidence: float = option(0.0, Real(0, 1, closed_below=True, open_above=True))
    """Share of the teachers that must agree; 0 for no check."""
    checks: float = option(0.2, Real(0, 1, open_above=True))
    """Share of mu^2 that all checks may spend."""

    def label(self, name: str) -> str:
        """See `MechanismOptions`."""
        return "confident_gnmax" if self.confidence else "gnmax"

    def audited_teachers(self) -> int | None:
        """With a check all counts are near its threshold, as attacks need."""
        return 16 if self.confidence else None


def calibrate(options: Options, setting: Setting) -> Gnmax:
    """Split mu^2, of the Gaussian mechanism that is (eps, delta)-DP, between all checks and all answers.

    All public points are asked; with a check, at most `split.budget` of them are answered.
    """
    eps, delta, ell, K = setting.eps, setting.delta, setting.n_public, setting.n_teachers
    if math.isinf(eps):
        raise ConfigError("eps", eps, f"a finite number with mechanism={options.label('gnmax')}")
    mu = gaussian.mu_of(eps, delta)
    checked = options.confidence > 0
    answers, share = (setting.budget, options.checks) if checked else (ell, 0.0)
    return Gnmax(
        eps=eps,
        delta=delta,
        answers=answers,
        ell=ell,
        n_teachers=K,
        n_classes=setting.n_classes,
        sigma=l2_sensitivity(setting.n_classes) * math.sqrt(answers / (1 - share)) / mu,
        sigma_check=math.sqrt(ell / share) / mu if checked else None,
        threshold=options.confidence * K if checked else None,
        order=1 + 2 * math.log(1 / delta) / eps,
    )


@dataclass(frozen=True)
class Gnmax(VoteMechanism):
    """Label by the largest noisy count; where there is a check, only if enough teachers agree.

    **Guarantee.** (eps, delta)-DP for neighbours that differ in one private record (replaced, or its part
    trained without it; n, K and the part sizes are public), for up to `ell` adaptively chosen queries, up to
    `answers` of them answered: Gaussian mechanisms, of sensitivity 1 for a check and ``l2_sensitivity(C)``
    for an answer, compose to mu-GDP with ``mu^2 = ell / sigma_check^2 + answers l2^2 / sigma^2`` (exact
    profile). Assumes that no two teachers share a record.
    """

    eps: float
    delta: float
    answers: int  # most queries answered; `ell` without a check
    sigma: float  # of the noise on a count that labels, in votes (sigma_2 of Algorithm 1)
    sigma_check: float | None  # of that on the largest count in a check (sigma_1); None for no check
    threshold: float | None  # of the check, in votes (T)
    order: float  # Renyi order of the data-dependent account

    @property
    def guarantee(self) -> PrivacyLoss:
        """(eps, delta) for the whole run, on any votes."""
        how = f"exact Gaussian profile of {self.answers} answers"
        if self.sigma_check is not None:
            how += f" and {self.ell} checks"
        return PrivacyLoss(self.eps, self.delta, how, mu=gaussian.mu_of(self.eps, self.delta))

    @property
    def spends_all(self) -> bool:
        """See `Mechanism`."""
        return self.sigma_check is None  # else it may stop early, or answer less

    def loss(self, spent: Account) -> PrivacyLoss:
        """Profile of the checks and answers."""
        if not spent.only(Gdp):
            return UNPROVED
        eps = gaussian.eps_of_mu(Gdp.sum(spent).mu, self.delta)
        return PrivacyLoss(eps, self.delta, "checks and answers")

    def session(self, door: Door, runs: int = 1) -> GnmaxSession:
        """Start a session; see `VoteMechanism`."""
        return GnmaxSession(self, door, runs)

    def unanswered(self) -> str | None:
        """Bound the answers; a query passes the check with probability ``Phi((K - T) / sigma_1)`` at most."""
        if self.sigma_check is None or self.threshold is None:
            return None
        passes = float(ndtr((self.n_teachers - self.threshold) / self.sigma_check))
        return (
            f"at most {self.answers:,} of {self.ell:,} queries are answered (split.budget); the check lets"
            f" one on which all {self.n_teachers:,} teachers agree pass with probability {passes:.2g}"
        )

    def expected_answers(self) -> ExpectedAnswers:
        """See `Mechanism`; the fewest teachers are for queries that pass the check."""
        answered = float(self.answers)
        if self.sigma_check is not None and self.threshold is not None:
            passes = float(ndtr((2 * self.n_teachers / 3 - self.threshold) / self.sigma_check))
            answered = min(answered, self.ell * passes)
        return of_noisy_counts(self.sigma, self.n_classes, answered)

    def attacks(self) -> list[VoteAttack]:
        """Worst-case votes for an audit."""
        attacks, K = super().attacks(), self.n_teachers
        if self.threshold is not None:  # without noise one vote tells whether the largest count passes
            at = min(max(math.ceil(self.threshold), K // 2 + 2), K)
            steps = [(at, at - 1)] * self.ell
            attacks.append(attack("at the threshold of the check, a vote more", steps, K, self.n_classes))
        return attacks

    @property
    def answers_at_most(self) -> int:
        """See `Mechanism`."""
        return self.answers

    def describe(self) -> dict[str, Any]:
        """Its public numbers."""
        return {name: value for name, value in asdict(self).items() if name not in ("budget", "strategy")}


class GnmaxSession(Session):
    """Algorithm 1; without a check (GNMax), every query goes to line 2. Guarantee: see `Gnmax`.

    ::

        1: if max_j n_j + N(0, sigma_1^2) >= T then
        2:     return argmax_j (n_j + N(0, sigma_2^2))
        3: else return no answer

    **Not private.** `not_private` is the eps of these very votes, a data-dependent report (Papernot et al.
    2018, Theorem 6; exact for one bit), of the first run. It must not be published.
    """

    def __init__(self, mechanism: Gnmax, door: Door, runs: int = 1) -> None:
        self._mechanism = mechanism
        self.runs = runs
        self._check, self._answer = door.spawn(2)
        self._asked, self._answered = np.zeros((2, runs), dtype=np.int64)
        self._checked: list[IntArray] = []  # private: votes of the queries taken, in the first run
        self._labelled: list[IntArray] = []  # private: votes of the queries answered, in the first run

    @property
    def _taking(self) -> NDArray[np.bool_]:
        """Whether each run takes a further query, shape (R,)."""
        return (self._asked < self._mechanism.ell) & (self._answered < self._mechanism.answers)

    @property
    def exhausted(self) -> bool:
        """Whether in every run all queries were taken, or all answers given."""
        return not self._taking.any()

    def ask(self, votes: Votes) -> ReleasedLabels:
        """Put queries to every run, in blocks within which no run gives its last answer but at the end."""
        labels = np.full((votes.n_queries, self.runs), UNANSWERED)
        reached, at = np.zeros(labels.shape, dtype=bool), 0
        while at < votes.n_queries and not self.exhausted:
            left = int((self._mechanism.answers - self._answered)[self._taking].min())
            block = slice(at, at + left)
            labels[block], reached[block] = self._block(votes.at(block))
            at += left
        return ReleasedLabels(labels, None, reached)

    def _block(self, votes: Votes) -> tuple[IntArray, NDArray[np.bool_]]:
        """Labels, and whether a run took the query; paid for is the first run, and where it has none, one."""
        mechanism, counts = self._mechanism, votes.counts
        taken = self._taking & (np.arange(len(counts))[:, None] < mechanism.ell - self._asked)
        passed = taken & self._agreed(counts, max(int(taken[:, 0].sum()), 1))
        labels = np.full(passed.shape, UNANSWERED)
        rows = counts[np.nonzero(passed)[0]]
        answered = max(int(passed[:, 0].sum()), min(len(rows), 1))
        noisy = noisy_counts(rows, votes.n_teachers, mechanism.sigma, self._answer, releases=answered)
        labels[passed] = majority(noisy)
        self._asked += taken.sum(axis=0)
        self._answered += passed.sum(axis=0)
        self._checked.append(counts[taken[:, 0]])
        self._labelled.append(counts[passed[:, 0]])
        return labels, taken

    def _agreed(self, counts: IntArray, releases: int) -> NDArray[np.bool_]:
        """Line 1, shape (m, runs): whether enough teachers agree, by a noisy check; always without one."""
        mechanism, shape = self._mechanism, (len(counts), self.runs)
        if mechanism.sigma_check is None or mechanism.threshold is None:
            return np.ones(shape, dtype=bool)
        largest = np.broadcast_to(counts.max(axis=1)[:, None], shape)
        kind = GaussianNoise(sensitivity=1.0, sigma=mechanism.sigma_check)
        noisy = self._check.release(largest, kind, releases)
        return np.asarray(noisy >= mechanism.threshold)

    def not_private(self) -> dict[str, float]:
        """Figures computed from votes: NOT differentially private, for experiments only."""
        mechanism, K, divergence = self._mechanism, self._mechanism.n_teachers, 0.0
        if self._checked and mechanism.sigma_check is not None and mechanism.threshold is not None:
            checks = rdp_of_bit(K, mechanism.threshold, mechanism.sigma_check, mechanism.order)
            divergence += float(checks[np.concatenate(self._checked).max(axis=1)].sum())
        if self._labelled:
            counts = np.concatenate(self._labelled)
            if mechanism.n_classes == 2:
                divergence += float(
                    rdp_of_bit(K, K / 2, mechanism.sigma, mechanism.order)[counts[:, 1]].sum()
                )
            else:
                answers = rdp_of_majority(K, mechanism.n_classes, mechanism.sigma, mechanism.order)
                divergence += float(answers[lead(counts)].sum())
        eps = eps_of_rdp(divergence, mechanism.order, mechanism.delta)
        return {"eps_data_dependent": min(mechanism.eps, eps)}
