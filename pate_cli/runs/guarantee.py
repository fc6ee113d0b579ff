"""All that a run releases: its mechanism, the marginals of its points, and levels and bounds it bought."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pate_cli.errors import ConfigError, with_part
from pate_cli.features.bought import MOST_LEVELS, Bought, ThresholdedGdp
from pate_cli.features.bought import SHARE as BOUGHT
from pate_cli.features.generated import Generated, Marginals
from pate_cli.mechanisms.base import UNPROVED, Mechanism, SampledAttack
from pate_cli.privacy import gaussian
from pate_cli.privacy.door import Door
from pate_cli.privacy.events import Account, Gdp
from pate_cli.runs.evaluation import Evaluation, check
from pate_cli.types import PrivacyLoss, Setting

__all__ = ["MarginalsAudit", "WholeMechanism", "calibrate_whole"]

_BELOW = 1 - 1e-8
"""What is left of mu once it is turned to (eps, delta) and back, which is exact to 1e-9."""


@dataclass(frozen=True)
class MarginalsAudit:
    """The marginals of a run as an audit takes them, of two bins a column: one record moves no other."""

    marginals: Marginals
    delta: float
    n_teachers = 0

    @property
    def guarantee(self) -> PrivacyLoss:
        """Loss of the marginals alone."""
        return self.marginals.loss(self.delta)

    def describe(self) -> dict[str, Any]:
        """Public numbers."""
        return {"n_columns": self.marginals.n_columns, "sigma": self.marginals.sigma}

    def attacks(self) -> list[SampledAttack]:
        """Attack by a record that lies in another bin of every column."""
        k = self.marginals.n_columns

        def released(first: int, door: Door, rng: np.random.Generator, runs: int) -> Any:
            counts = np.tile(np.eye(2)[first] + 50, (runs, k))
            return self.marginals.release(counts, door, runs)

        return [SampledAttack.on(f"a record in other bins of {k} columns", (0, 1), released, 50_000)]


@dataclass(frozen=True)
class WholeMechanism:
    """A calibrated mechanism, and the marginals released before it.

    **Guarantee.** (eps, delta)-DP for neighbours that differ in one record (or person), replaced. Marginals
    are mu_m-GDP (`Marginals`), the mechanism, whatever points they give, as its class proves.

    1. If that proof is by Gaussian noise alone, the two are sqrt(mu_m^2 + mu^2)-GDP (Dong, Roth, Su 2022,
       Corollary 2). mu^2 is divided by `generate.share`.
    2. Else the marginals have that share of eps and delta, and the losses add up (basic composition).
    3. Integer noise: mu^2 and the numbers that got it add up (`pate_cli.privacy.gaussian`), for which some
       of eps is kept.

    4. Levels, bounds and classes that are bought, of a mechanism as in 1 alone: `Bought` has a tenth of mu^2,
       the rest is divided as in 1, and its delta comes off first. The mechanism is calibrated again for the
       classes that were bought, with the same share of mu^2: adaptive composition.

    Points of declared ranges cost nothing.
    """

    mechanism: Mechanism
    eps: float
    delta: float
    marginals: Marginals | None = None
    share: float = 0.0
    adds_mu: bool = False  # 1, not 2
    evaluation: Evaluation | None = None  # on other records: its class says why it costs no more
    bought: Bought | None = None

    @property
    def guarantee(self) -> PrivacyLoss:
        """Privacy loss of the whole run, at most."""
        if self.evaluation is None:
            return self._on_training
        training, other = self._on_training, self.evaluation.guarantee
        mu = None if training.mu is None or other.mu is None else max(training.mu, other.mu)
        how = f"{training.how}; on the others one noisy table"
        return PrivacyLoss(max(training.eps, other.eps), max(training.delta, other.delta), how, mu=mu)

    @property
    def _on_training(self) -> PrivacyLoss:
        of_mechanism = self.mechanism.guarantee
        if self.marginals is None:
            return of_mechanism
        bought = f"{self.bought.what}, " if self.bought else ""
        how = f"{bought}noisy marginals, and {of_mechanism.how}"
        if math.isinf(self.eps):
            return PrivacyLoss(math.inf, of_mechanism.delta, how)
        mu = None
        if self.adds_mu and not self.marginals.exact and self.bought is None:
            mu = math.hypot(self.marginals.mu, of_mechanism.mu or 0.0)
        return PrivacyLoss(self.eps, self.delta, how, mu=mu)

    def loss(
        self, on_points: Account | None, spent: Account, on_schema: Account | None = None
    ) -> PrivacyLoss:
        """Privacy loss of levels and bounds, of the marginals, and of all that passed the door after them."""
        of_mechanism = self.mechanism.loss(spent)
        if on_schema:
            return self._with_schema(on_schema, (on_points or Account()) + spent)
        if self.marginals is None or on_points is None:
            return of_mechanism if on_points is None or not on_points else UNPROVED
        if math.isinf(self.eps):
            return self._on_training
        if not on_points.only(Gdp) or (self.adds_mu and not spent.only(Gdp)):
            return UNPROVED
        if self.adds_mu:
            return PrivacyLoss(Gdp.sum(on_points + spent).eps(self.delta), self.delta, "all Gaussian noise")
        delta = self.share * self.delta
        eps = Gdp.sum(on_points).eps(delta)
        return PrivacyLoss(
            eps + of_mechanism.eps, delta + of_mechanism.delta, "sum of marginals and mechanism"
        )

    def _with_schema(self, on_schema: Account, rest: Account) -> PrivacyLoss:
        """See `Bought`: delta of its texts, and all mu^2 at what is left of it."""
        if math.isinf(self.eps):
            return self._on_training
        if self.bought is None or not (on_schema.only(ThresholdedGdp) and rest.only(Gdp)):
            return UNPROVED
        texts = math.fsum(event.delta * n for event, n in on_schema.of(ThresholdedGdp).items())
        if texts >= self.delta:
            return UNPROVED
        eps = Gdp.sum(on_schema + rest).eps(self.delta - texts)
        return PrivacyLoss(eps, self.delta, "all Gaussian noise, and texts above a threshold")

    def check(self, door: Door, points: Mapping[str, Account] | None = None) -> None:
        """Compare all that a run released with what it promises; RuntimeError if that was more.

        `points` are the accounts of its generated points, by chapter, which may be another door's.
        """
        parts = door.accounts | dict(points or {})
        table = parts.pop("evaluation", None)
        spent = (parts.pop("points", None), parts.pop("mechanism", Account()), parts.pop("schema", None))
        check(self.loss(*spent), self.guarantee)
        if table:
            check(self.evaluation.loss(table) if self.evaluation else UNPROVED, self.guarantee)
        if any(parts.values()):
            raise RuntimeError("releases that belong to no part of the run")

    def after(self, spent: Account) -> PrivacyLoss:
        """Loss after the fact of any record, from the mechanism's account: a report.

        An evaluation has spent its eps on the held-out records, however little the others have lost.
        """
        if self.adds_mu or self.evaluation is not None:
            return self.guarantee
        loss = self.mechanism.after(spent)
        if self.marginals is not None:
            loss = replace(loss, eps=loss.eps + self.share * self.eps, delta=self.delta)
        return replace(loss, eps=min(loss.eps, self.guarantee.eps))  # rounding may end above

    def in_words(self, chosen: str | None) -> str:
        """How all of it protects records, as a clause of a card; empty where the mechanism has no words."""
        words = self.mechanism.that_answered(chosen).in_words
        if not words or self.marginals is None:
            return words
        bought = (
            f"{self.bought.what} are those that many records have, by counts with noise; "
            if self.bought
            else ""
        )
        points = "public points are drawn from counts of the values of each column, with noise"
        return f"{bought}{points}; {words}"

    def describe(self) -> dict[str, Any]:
        """Public numbers, of the mechanism and of the marginals."""
        shown = self.mechanism.describe() | (self.evaluation.describe() if self.evaluation else {})
        promised = {"eps": self.guarantee.eps, "delta": self.guarantee.delta}  # not of a part of the run
        shown |= {name: value for name, value in promised.items() if name in shown}
        shown |= self.bought.describe() if self.bought else {}
        if (marginals := self.marginals) and math.isfinite(marginals.mu):
            shown |= {
                "marginals_mu": marginals.mu,
                "marginals_sigma": marginals.sigma,
                "marginals_bins": marginals.n_bins,
            }
        return shown


def calibrate_whole(
    calibrated: Callable[[Setting], Mechanism],
    setting: Setting,
    points: Generated | None,
    share: float,
    exact: bool,
    evaluation: Evaluation | None = None,
) -> WholeMechanism:
    """Calibrate a mechanism for what the marginals leave of the budget; raises InputError."""
    mechanism = calibrated(setting)
    try:
        divided = _divided(mechanism, calibrated, setting, points, share, exact)
        return replace(divided, evaluation=evaluation and replace(evaluation, exact=exact))
    except ValueError as error:  # too many numbers at so small an eps
        if not exact:
            raise
        raise ConfigError("eps", setting.eps, f"a larger number with release=true: {error}") from error


def _divided(
    mechanism: Mechanism,
    calibrated: Callable[[Setting], Mechanism],
    setting: Setting,
    points: Generated | None,
    share: float,
    exact: bool,
) -> WholeMechanism:
    eps, delta = setting.eps, setting.delta
    if points is None or not points.marginals:
        return WholeMechanism(mechanism.with_exact_noise() if exact else mechanism, eps, delta)
    adds_mu, left, mu = mechanism.adds_mu, (eps, delta), math.inf
    if points.buys:
        return _with_bought(mechanism, calibrated, setting, points, share, exact)
    if math.isfinite(eps):
        of_marginals = (share * eps, share * delta)
        left = (eps - of_marginals[0], delta - of_marginals[1])
        n_bins = sum(points.n_bins)
        if adds_mu:
            c = gaussian.rounding_of(n_bins) + mechanism.integer_loss(setting, eps) if exact else 0.0
            both = gaussian.mu_of(eps - 2 * c, math.exp(-c) * delta) * _BELOW
            mu, left = math.sqrt(share) * both, gaussian.point_of(math.sqrt(1 - share) * both, delta)
        else:
            mu = (
                gaussian.vector_mu(*of_marginals, n_bins) if exact else gaussian.mu_of(*of_marginals)
            ) * _BELOW
    with with_part(left[0], eps):
        mechanism = calibrated(replace(setting, eps=left[0], delta=left[1]))
    mechanism = mechanism.with_exact_noise() if exact else mechanism
    return WholeMechanism(mechanism, eps, delta, points.noise(mu, exact), share, adds_mu)


def _with_bought(
    mechanism: Mechanism,
    calibrated: Callable[[Setting], Mechanism],
    setting: Setting,
    points: Generated,
    share: float,
    exact: bool,
) -> WholeMechanism:
    """Divide the budget where levels and bounds are bought first: see `WholeMechanism`, 4."""
    if not mechanism.adds_mu and math.isfinite(setting.eps):
        accepted = "one whose whole cost is Gaussian noise, as best, with levels or classes: private"
        raise ConfigError("mechanism", mechanism.name, accepted)
    eps, delta, n, mu, eps_left = setting.eps, setting.delta, setting.n_private, math.inf, setting.eps
    bought = Bought.of(points.columns, math.inf, delta, n, exact, points.target)
    kept, delta_left = delta - bought.delta, delta
    if math.isfinite(eps):
        integers = sum(points.n_bins) + 2 * len(bought.names)
        # the same before it is known how many classes are bought, and after
        most = replace(setting, n_classes=MOST_LEVELS) if points.target else setting
        c = gaussian.rounding_of(integers) + mechanism.integer_loss(most, eps) if exact else 0.0
        mu_of_all = gaussian.mu_of(eps - 2 * c, math.exp(-c) * kept) * _BELOW
        bought = replace(bought, mu=math.sqrt(BOUGHT) * mu_of_all)
        bought.check()
        after = math.sqrt(1 - BOUGHT) * mu_of_all
        mu = math.sqrt(share) * after
        eps_left, delta_left = gaussian.point_of(math.sqrt(1 - share) * after, kept)
    with with_part(eps_left, eps):
        mechanism = calibrated(replace(setting, eps=eps_left, delta=delta_left))
    mechanism = mechanism.with_exact_noise() if exact else mechanism
    marginals = points.noise(mu, exact)
    return WholeMechanism(mechanism, eps, delta, marginals, share, adds_mu=True, bought=bought)
