"""The Gaussian mechanism on vote counts (LZCW21 Algorithm 1; Papernot et al. 2018)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pate_cli.checks import OneOf, option
from pate_cli.errors import ConfigError
from pate_cli.mechanisms.base import NumbersTable, Session, VoteMechanism
from pate_cli.mechanisms.options import MechanismOptions
from pate_cli.mechanisms.signal import signal_of
from pate_cli.mechanisms.votes import ExpectedAnswers, l2_sensitivity, majority, noisy_counts, of_noisy_counts
from pate_cli.privacy.door import Door
from pate_cli.privacy.events import Account
from pate_cli.privacy.gaussian import (
    CALIBRATIONS,
    Calibration,
    eps_of_mu,
    mu_of,
    sigma_by,
    vector_eps,
    vector_mu,
    vector_mu_squared,
    vector_sigma,
)
from pate_cli.types import PrivacyLoss, ReleasedLabels, Setting, Votes

__all__ = ["Gaussian", "GaussianSession", "Options", "calibrate", "gaussian_labels"]


@dataclass(frozen=True)
class Options(MechanismOptions):
    """Options of `mechanism=gaussian`."""

    calibration: Calibration = option("tight", OneOf(CALIBRATIONS))

    def best_points(self, n_private: int, n_features: int, eps: float) -> float:
        """Number of public points m* that minimises the bound of Theorem 28 at tau = 1 (LZCW21 Remark 29).

        ``d/m + d sqrt(m)/(n eps)``, without constants and logarithms: ``(n eps)^(2/3)`` for any d.
        """
        return float((n_private * eps) ** (2 / 3))


def calibrate(options: Options, setting: Setting) -> Gaussian:
    """Calibrate noise for all public points, asked in random order."""
    s = setting
    mechanism = gaussian_labels(s.eps, s.delta, s.n_public, s.n_classes, options.calibration)
    return replace(mechanism, n_teachers=s.n_teachers)


def gaussian_labels(
    eps: float, delta: float, ell: int, n_classes: int, rule: Calibration = "tight"
) -> Gaussian:
    """Calibrate noise for `ell` queries by a rule; none at eps = inf, the papers' "-NP" rows.

    ConfigError if the rule does not hold at this eps.
    """
    sensitivity = l2_sensitivity(n_classes)
    if math.isinf(eps):
        return Gaussian(math.inf, 0.0, 0.0, sensitivity, ell=ell, n_classes=n_classes)
    try:
        sigma = sigma_by(rule, eps, delta, ell, sensitivity)
    except ValueError as error:
        accepted = f"tight or liu2021 at eps={eps:g}; {error}"
        raise ConfigError("mechanism.calibration", rule, accepted) from error
    return Gaussian(eps, delta, sigma, sensitivity, ell=ell, rule=rule, n_classes=n_classes)


@dataclass(frozen=True)
class Gaussian(VoteMechanism):
    """Noisy majority: add Gaussian noise to the vote counts and label by the largest.

    **Guarantee.** (eps, delta)-DP for neighbours that differ in one private record (replaced, or its part
    trained without it; n, K and the part sizes are public), for up to `ell` adaptively chosen queries: `ell`
    Gaussian mechanisms of L2 sensitivity ``l2_sensitivity(C)`` compose to mu-GDP with
    ``mu = sensitivity * sqrt(ell) / sigma``, converted by the exact profile (`pate_cli.privacy.gaussian`,
    where the proof for integer noise stands too). Labels are post-processing. Assumes that no two teachers
    share a record. The published calibrations have more noise than this needs, so they are (eps, delta) too.
    """

    noise_in_words = "Gaussian noise of whole numbers is added to the counts"
    eps: float
    delta: float
    sigma: float  # standard deviation of the noise on a count, in votes; 0 for none (eps = inf)
    sensitivity: float  # L2 sensitivity of one query, in votes
    rule: Calibration = field(default="tight", kw_only=True)  # of sigma; see `sigma_by`
    grain: float | None = field(default=None, kw_only=True)  # 1 for integer noise
    labels_only: bool = field(default=False, kw_only=True)  # counts stay inside, as with svt's exact labels

    @property
    def guarantee(self) -> PrivacyLoss:
        """(eps, delta) for all `ell` queries."""
        if self.sigma == 0:
            return PrivacyLoss(math.inf, 0.0, "no noise")
        mu: float | None = self.sensitivity * math.sqrt(self.ell) / self.sigma
        if self.rule == "tight":
            mu = mu_of(self.eps, self.delta) if self.grain is None else None
        proof = _PROOFS.get(self.rule, self._profile)
        return PrivacyLoss(self.eps, self.delta, f"{proof} of {self.ell} queries", mu=mu)

    @property
    def count_noise(self) -> float:
        """Standard deviation of the noise on a count; see `VoteMechanism`."""
        return self.sigma

    @property
    def _profile(self) -> str:
        return "exact Gaussian profile" if self.grain is None else "integer Gaussian profile"

    def eps_of(self, asked: int) -> float:
        """Loss of `asked` queries."""
        if self.sigma == 0:
            return math.inf
        if self.grain is None:
            return eps_of_mu(self.sensitivity * math.sqrt(asked) / self.sigma, self.delta)
        mu = math.sqrt(asked * vector_mu_squared(self.sensitivity, self.sigma))
        return min(self.eps, vector_eps(mu, asked * _noised(self.n_classes), self.delta))

    def after(self, spent: Account) -> PrivacyLoss:
        """Loss of the queries asked (LZCW21's eps_ex_post); see `Mechanism`."""
        asked = spent.total()
        how = f"{self._profile} of the {asked} queries asked"
        return PrivacyLoss(self.eps_of(asked), self.delta, how, data_dependent=True)

    @property
    def signal(self) -> float | None:
        """See `Mechanism`; exact labels have no noise."""
        if self.sigma == 0:
            return None
        return signal_of(self.sensitivity * math.sqrt(self.ell) / self.sigma, self.n_teachers, self.n_classes)

    @property
    def spends_all(self) -> bool:
        """See `Mechanism`."""
        return self.rule == "tight"

    def unanswered(self) -> str | None:
        """Warn where the noise is larger than all votes together; no query goes unanswered."""
        if self.sigma <= self.n_teachers:
            return None
        return (
            f"noise of standard deviation {self.sigma:.3g} on the votes of {self.n_teachers:,} teachers:"
            " a label is little better than chance; a larger eps, more teachers or fewer queries would help"
        )

    def expected_answers(self) -> ExpectedAnswers:
        """See `Mechanism`; it answers every query."""
        return of_noisy_counts(self.sigma, self.n_classes, self.ell)

    def session(self, door: Door, runs: int = 1) -> Session:
        """Start a session; see `VoteMechanism`."""
        return GaussianSession(self, door, runs)

    def describe(self) -> dict[str, Any]:
        """Its public numbers."""
        if self.sigma == 0:
            return {"ell": self.ell, "sigma": 0.0}
        names = ("eps", "delta", "ell", "sigma", "sensitivity", "rule")
        numbers = {name: getattr(self, name) for name in names}
        return numbers if self.grain is None else numbers | {"integer_noise": True}

    def table(self) -> NumbersTable:
        """Its public numbers, and the cost after the fact of fewer queries."""
        table = super().table()
        for share in (4, 2):
            asked = -(-self.ell // share)
            table.rows.append((f"eps_ex_post of {asked} queries", self.eps_of(asked)))
        return table

    def with_exact_noise(self) -> Gaussian:
        """Calibrate integer noise; refuse no noise, and published rules, which are for the real line."""
        if self.sigma == 0:
            raise ConfigError("eps", math.inf, "a finite number with release=true")
        if self.rule != "tight":
            raise ConfigError("mechanism.calibration", self.rule, "tight with release=true")
        mu = vector_mu(self.eps, self.delta, self.ell * _noised(self.n_classes))
        sigma = vector_sigma(self.sensitivity * math.sqrt(self.ell), mu)
        return replace(self, sigma=sigma, grain=1.0)


_PROOFS: dict[str, str] = {
    "liu2021": "zCDP (LZCW21 Algorithm 1, line 1)",
    "bassily2018": "advanced composition (as BTT18 Algorithm 2 has it)",
}


class GaussianSession(Session):
    """Label by the largest of ``counts + N(0, sigma^2)`` (LZCW21 Algorithm 1); see `Gaussian`."""

    def __init__(self, mechanism: Gaussian, door: Door, runs: int = 1) -> None:
        self._mechanism = mechanism
        self._door = door
        self.runs = runs
        self._asked = 0  # in every run: nothing that a run releases stops it

    @property
    def exhausted(self) -> bool:
        """Whether `ell` queries have been answered."""
        return self._asked >= self._mechanism.ell

    def ask(self, votes: Votes) -> ReleasedLabels:
        """Put queries to every run; see `Session`."""
        m, counts = self._mechanism, votes.counts[: self._mechanism.ell - self._asked]
        self._asked += len(counts)
        shape = (len(counts), self.runs)
        # a row a query and run, queries first: consecutive draws of one run are consecutive queries
        rows = np.repeat(counts, self.runs, axis=0)
        noisy = noisy_counts(rows, votes.n_teachers, m.sigma, self._door, m.grain, len(counts))
        # for two classes: 1 where the noisy count of class 1 is at least K/2
        labels = majority(noisy).reshape(shape)
        released = None if m.labels_only else noisy.reshape(*shape, counts.shape[1])
        return ReleasedLabels(labels, released, np.ones(shape, dtype=bool))


def _noised(n_classes: int) -> int:
    """Numbers that get noise in one query."""
    return 1 if n_classes == 2 else n_classes
