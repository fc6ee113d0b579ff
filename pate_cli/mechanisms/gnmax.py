"""GNMax and Confident-GNMax (Papernot et al. 2018): noisy majorities that release labels alone.

Their guarantee is the Gaussian mechanism's. What they add is an account of what was
spent on *these* votes: where teachers agree it is far less. That account is computed from
votes, so it is private until it is sanitised.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

from pate_cli.checks import Real, option
from pate_cli.errors import ConfigError
from pate_cli.mechanisms import attacks
from pate_cli.mechanisms.attacks import VoteAttack
from pate_cli.mechanisms.gaussian import l2_sensitivity, noisy_counts
from pate_cli.mechanisms.labelling import LabelledByVotes
from pate_cli.mechanisms.protocol import EXACT, LabellingPlan, NumbersTable, Plan, described
from pate_cli.mechanisms.service import VoteService
from pate_cli.mechanisms.votes import majority
from pate_cli.privacy import gaussian
from pate_cli.privacy.gnmax import (
    Sanitiser,
    eps_of_rdp,
    rdp_of_bit,
    rdp_of_majority,
    smooth_sensitivity,
)
from pate_cli.privacy.noise import Noise
from pate_cli.privacy.roots import root_on_safe_side
from pate_cli.queries.passive import Passive
from pate_cli.types import UNANSWERED, IntArray, PrivacyLoss, ReleasedLabels, Setting, Votes

__all__ = ["GnmaxPlan", "GnmaxService", "plan_gnmax"]

_FAILURE = 0.01
"""Share of delta that the sanitised limit may fail with."""


@dataclass(frozen=True)
class GnmaxPlan:
    """GNMax, calibrated; see `GnmaxService`.

    Attributes
    ----------
    eps, delta : float
    ell : int
        Most queries taken.
    answers : int
        Most queries answered; `ell` without a check.
    n_teachers, n_classes : int
    sigma : float
        Standard deviation of the noise on a count that labels, in votes.
    sigma_check : float or None
        Of the noise on the largest count that is checked, in votes; None for no check.
    threshold : float or None
        Of the check, in votes.
    order : float
        At which divergences are added up.
    sanitiser : Sanitiser or None
    """

    eps: float
    delta: float
    ell: int
    answers: int
    n_teachers: int
    n_classes: int
    sigma: float
    sigma_check: float | None
    threshold: float | None
    order: float
    sanitiser: Sanitiser | None

    @property
    def guarantee(self) -> PrivacyLoss:
        """(eps, delta) for the whole run, whatever the votes."""
        how = f"exact Gaussian profile of {self.answers} answers"
        if self.sigma_check is not None:
            how += f" and {self.ell} checks"
        if self.sanitiser is not None:
            how = how.replace("exact Gaussian profile", "Renyi composition") + ", and the sanitiser"
            return PrivacyLoss(self.eps, self.delta, how)
        return PrivacyLoss(self.eps, self.delta, how, mu=gaussian.mu_of(self.eps, self.delta))

    def service(self, noise: Noise, runs: int = 1) -> GnmaxService:
        """Put it to work, in one run or in several side by side."""
        return GnmaxService(self, noise, runs)

    def unanswered(self, n_teachers: int) -> str | None:
        """Say how many answers there are, and what the check lets through at best; nothing without a check.

        No count is larger than K: a query passes with probability ``Phi((K - threshold) / sigma_check)`` at
        most.
        """
        if self.sigma_check is None or self.threshold is None:
            return None
        passes = float(ndtr((n_teachers - self.threshold) / self.sigma_check))
        return (
            f"at most {self.answers:,} of {self.ell:,} queries are answered (split.budget); the check lets"
            f" one on which all {n_teachers:,} teachers agree pass with probability {passes:.2g}"
        )

    def attacks(self, n_teachers: int, n_classes: int) -> list[VoteAttack]:
        """Worst-case votes for an audit."""
        threshold = None if self.threshold is None else math.ceil(self.threshold)
        return attacks.on_gaussian(self.ell, n_teachers, n_classes, threshold)

    @property
    def teachers_to_attack(self) -> int:
        """Fewest teachers whose votes reach all that the attacks want."""
        return attacks.FEWEST_TEACHERS

    def describe(self) -> dict[str, Any]:
        """Its public numbers."""
        return asdict(self)

    def numbers_table(self, n_teachers: int, n_classes: int) -> NumbersTable:
        """Its public numbers."""
        return described(self.guarantee, self.describe())

    def with_integer_noise(self, *, n_classes: int, n_teachers: int) -> LabellingPlan:
        """Refuse: GNMax has no exact noise."""
        name = "gnmax" if self.sigma_check is None else "confident_gnmax"
        raise ConfigError("mechanism.name", name, EXACT)


class GnmaxService(VoteService):
    """Label by the largest noisy count; with a check, only where it says that teachers agree.

    Confident-GNMax first compares ``largest count + N(0, sigma_check^2)`` with a threshold, and
    leaves the query unanswered if it is below.

    **Guarantee.** (eps, delta)-DP for neighbours that differ in one private record (replaced, or
    its part trained without it; n, K and the part sizes are public), for up to `ell` adaptively
    chosen queries of which up to `answers` are answered: Gaussian mechanisms, of sensitivity 1 for
    a check and ``l2_sensitivity(C)`` for an answer, compose to mu-GDP with ``mu^2 = ell /
    sigma_check^2 + answers l2^2 / sigma^2`` (exact profile); with a sanitiser their Renyi divergences
    and the sanitiser's add up at every order. Assumes that no two teachers share a record.

    **Not private.** `not_private` gives the eps of these very votes, a data-dependent report
    (Papernot et al. 2018, Theorem 6; exact for one bit). It must not be published. What `spent`
    gives is made from outputs and from the sanitised limit only.

    Parameters
    ----------
    plan : GnmaxPlan
    noise : Noise
    runs : int
        Independent runs side by side; see `VoteService`. What is said after the fact is of the first.

    References
    ----------
    N. Papernot, S. Song, I. Mironov, A. Raghunathan, K. Talwar, U. Erlingsson. Scalable private
    learning with PATE. ICLR 2018. Algorithm 1, Theorem 6.
    """

    def __init__(self, plan: GnmaxPlan, noise: Noise, runs: int = 1) -> None:
        self._plan = plan
        self.runs = runs
        self._check_noise, self._answer_noise, self._sanitiser_noise = noise.spawn(3)
        self._asked = np.zeros(runs, dtype=np.int64)
        self._answered = np.zeros(runs, dtype=np.int64)
        self._checked: list[IntArray] = []  # private: votes of the queries checked, in the first run
        self._labelled: list[IntArray] = []  # private: votes of the queries answered, in the first run
        self._limit: float | None = None

    @property
    def exhausted(self) -> bool:
        """Whether in every run all queries were taken, or all answers given."""
        return bool(np.all((self._asked >= self._plan.ell) | (self._answered >= self._plan.answers)))

    @property
    def state(self) -> str:
        """How many queries were taken and answered, in the first run."""
        return f"{self._asked[0]} queries taken, {self._answered[0]} answered"

    def ask(self, votes: Votes) -> ReleasedLabels:
        """Put queries to every run; see `VoteService`."""
        plan, counts = self._plan, votes.counts
        shape = (len(counts), self.runs)
        taking = np.arange(len(counts))[:, None] < plan.ell - self._asked
        passed = taking
        if plan.sigma_check is not None and plan.threshold is not None:
            drawn = self._check_noise.gaussian(plan.sigma_check, len(counts) * self.runs).reshape(shape)
            passed = taking & (counts.max(axis=1)[:, None] + drawn >= plan.threshold)
        # a run stops with the last answer there is
        reached = taking & (np.cumsum(passed, axis=0) - passed < plan.answers - self._answered)
        passed = passed & reached
        labels = np.full(shape, UNANSWERED)
        rows = counts[np.nonzero(passed)[0]]
        labels[passed] = majority(noisy_counts(rows, votes.n_teachers, plan.sigma, self._answer_noise))
        self._asked += reached.sum(axis=0)
        self._answered += passed.sum(axis=0)
        if plan.sigma_check is not None:
            self._checked.append(counts[reached[:, 0]])
        self._labelled.append(counts[passed[:, 0]])
        return ReleasedLabels(labels, None, reached)

    def spent(self) -> PrivacyLoss:
        """Loss after the fact: of the queries taken and answered, or the sanitised limit if that is lower.

        The limit is drawn once, at the first call, which ends the run.
        """
        plan = self._plan
        if plan.sanitiser is None:
            square = int(self._answered[0]) * (l2_sensitivity(plan.n_classes) / plan.sigma) ** 2
            if plan.sigma_check is not None:
                square += int(self._asked[0]) / plan.sigma_check**2
            eps = gaussian.eps_of_mu(math.sqrt(square), plan.delta)
            how = "exact Gaussian profile of the checks and answers given"
            return PrivacyLoss(eps, plan.delta, how, data_dependent=True)
        if self._limit is None:
            self._limit = self._sanitised(plan.sanitiser)
        how = f"Renyi divergence of order {plan.order:.3g} on these votes, sanitised"
        return PrivacyLoss(min(plan.eps, self._limit), plan.delta, how, data_dependent=True)

    def not_private(self) -> dict[str, float]:
        """Figures computed from votes: NOT differentially private, for experiments only."""
        eps = eps_of_rdp(self._divergence(), self._plan.order, self._plan.delta)
        return {"eps_data_dependent": min(self._plan.eps, eps)}

    def _terms(self) -> list[tuple[np.ndarray, IntArray, int]]:
        """Divergences by state, and the states of the queries, of checks and of answers. PRIVATE."""
        plan, K = self._plan, self._plan.n_teachers
        terms: list[tuple[np.ndarray, IntArray, int]] = []
        if self._checked and plan.sigma_check is not None and plan.threshold is not None:
            checks = rdp_of_bit(K, plan.threshold, plan.sigma_check, plan.order)
            terms.append((checks, np.concatenate(self._checked).max(axis=1), 1))
        if self._labelled:
            counts = np.concatenate(self._labelled)
            if plan.n_classes == 2:
                terms.append((rdp_of_bit(K, K / 2, plan.sigma, plan.order), counts[:, 1], 1))
            else:
                top = np.partition(counts, -2, axis=1)[:, -2:]
                answers = rdp_of_majority(K, plan.n_classes, plan.sigma, plan.order)
                terms.append((answers, top[:, 1] - top[:, 0], 2))
        return terms

    def _divergence(self) -> float:
        return sum(float(values[states].sum()) for values, states, _ in self._terms())

    def _sanitised(self, sanitiser: Sanitiser) -> float:
        plan = self._plan
        sensitivity = smooth_sensitivity(self._terms(), sanitiser.beta)
        first, second = self._sanitiser_noise.gaussian(1.0, 2).tolist()
        limit = sanitiser.limit(self._divergence(), sensitivity, (first, second))
        total = limit + sanitiser.rdp(plan.order)
        return eps_of_rdp(total, plan.order, plan.delta - sanitiser.failure)


SANITISE = Real(0, 1, closed_below=True, open_above=True)
"""Share of eps for the sanitised report; 0 for none."""


@dataclass(frozen=True)
class Options:
    """Options of `mechanism=gnmax`."""

    sanitise: float = option(0.0, SANITISE)


def plan(options: Options, setting: Setting) -> Plan:
    """Answer all public points."""
    labelling = plan_gnmax(setting, name="gnmax", sanitise=options.sanitise)
    return LabelledByVotes(labelling, Passive(), setting)


def plan_gnmax(
    setting: Setting,
    *,
    name: str,
    sanitise: float,
    confidence: float | None = None,
    checks: float | None = None,
) -> GnmaxPlan:
    """Calibrate GNMax, or Confident-GNMax where `confidence` and `checks` are given.

    Parameters
    ----------
    setting : Setting
        `n_public` is the most queries taken, and `budget` the most that are answered where there is a check.
    name : str
        For messages.
    sanitise : float
        Share of eps for the sanitised report, in [0, 1); 0 for none.
    confidence : float, optional
        Share of the teachers that the check asks for, in (0, 1).
    checks : float, optional
        Share of mu^2 that all checks may spend, in (0, 1).

    Raises
    ------
    ConfigError
        Names the option, and what is accepted.
    """
    eps, delta, ell, answers = setting.eps, setting.delta, setting.n_public, setting.budget
    n_teachers, n_classes = setting.n_teachers, setting.n_classes
    if math.isinf(eps):
        raise ConfigError("eps", eps, f"a finite number with mechanism={name}")
    order = 1 + 2 * math.log(1 / delta) / eps
    sanitiser = Sanitiser.costing(sanitise * eps / 2, order, _FAILURE * delta) if sanitise else None
    mu = gaussian.mu_of(eps, delta) if sanitiser is None else _mu_beside(sanitiser, sanitise, eps, delta)
    l2 = l2_sensitivity(n_classes)
    if confidence is None or checks is None:
        return GnmaxPlan(
            *(eps, delta, ell, ell, n_teachers, n_classes, l2 * math.sqrt(ell) / mu),
            sigma_check=None,
            threshold=None,
            order=order,
            sanitiser=sanitiser,
        )
    return GnmaxPlan(
        *(eps, delta, ell, answers, n_teachers, n_classes),
        sigma=l2 * math.sqrt(answers / (1 - checks)) / mu,
        sigma_check=math.sqrt(ell / checks) / mu,
        threshold=confidence * n_teachers,
        order=order,
        sanitiser=sanitiser,
    )


def _mu_beside(sanitiser: Sanitiser, share: float, eps: float, delta: float) -> float:
    """Largest mu of the queries for which they and the sanitiser are (eps, delta)-DP together."""
    orders = [1 + 1.1**k for k in range(-40, 80)]
    costs = [sanitiser.rdp(order) for order in orders]

    def over(mu: float) -> float:
        """Smallest eps over the orders, each of which is a bound, less the budget."""
        return (
            min(
                eps_of_rdp(order * mu * mu / 2 + cost, order, delta)
                for order, cost in zip(orders, costs, strict=True)
            )
            - eps
        )

    if over(1e-6) > 0:
        raise ConfigError("mechanism.sanitise", share, "a smaller share: this one leaves nothing for labels")
    return root_on_safe_side(over, 1e-6, 10 * (1 + eps), below=True)
