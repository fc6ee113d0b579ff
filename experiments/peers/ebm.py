"""The differentially private explainable boosting machine of `interpret-core`, to compare with; see `Ebm`.

References
----------
.. [1] H. Nori, R. Caruana, Z. Bu, J. H. Shen, J. Kulkarni. Accuracy, interpretability, and differential
   privacy via explainable boosting. ICML 2021, Algorithm 2.
.. [2] J. Dong, A. Roth, W. J. Su. Gaussian differential privacy. JRSS B 84, 2022.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from pate_cli.checks import Whole, option
from pate_cli.errors import InfeasibleError
from pate_cli.matrices import dense
from pate_cli.mechanisms.base import UNPROVED, Mechanism, SampledAttack, no_answers
from pate_cli.mechanisms.options import MechanismOptions
from pate_cli.privacy.door import Door
from pate_cli.privacy.events import Account
from pate_cli.privacy.gaussian import eps_of_mu, mu_of, profile
from pate_cli.types import FloatArray, IntArray, PrivacyLoss, Private, PublicPoints, Released, Setting

from .peer import Peer, check

_MARGIN = 1e-6  # of mu, unspent: the library finds its noise by bisection
_BINS_SHARE = 0.1  # of eps, for the histograms: the library's default


@dataclass(frozen=True)
class Options(MechanismOptions):
    """Options of `mechanism=ebm`; all others are the library's defaults."""

    rounds: int = option(300, Whole(1))


def calibrate(options: Options, setting: Setting) -> Mechanism:
    """Share mu between histograms and rounds as the library shares its eps; refuse what it does not take."""
    eps, delta = setting.eps, setting.delta
    check("ebm", "interpret.privacy", "interpret-core", setting)
    if setting.n_classes != 2:
        raise InfeasibleError(f"mechanism=ebm is for two classes; there are {setting.n_classes}")
    bins, rounds = (mu_of(share * eps, delta / 2) for share in (_BINS_SHARE, 1 - _BINS_SHARE))
    scale = mu_of(eps, delta) * (1 - _MARGIN) / math.sqrt(2 * bins**2 + 4 * rounds**2)
    return Ebm(eps, delta, scale * bins, scale * rounds, options.rounds)


@dataclass(frozen=True)
class Ebm(Peer):
    """Noisy histograms of all columns, then rounds of noisy sums of residuals, a column at a time.

    **Guarantee, on the library's word.** (eps, delta)-DP for neighbours that differ in one private record,
    replaced by another. The library draws the noise itself, outside the door: neither the check after a run
    nor any proof here covers it, and `loss` returns this claim. It claims that, for one record more or less,
    its histograms are `mu_bins`-GDP and its rounds `mu_rounds`-GDP [1]_. A replaced record leaves one bin of
    a histogram and joins another, which moves it by sqrt(2) instead of 1; it moves the sums of residuals,
    each in [-1, 1], by at most 2 instead of 1. So the whole is mu-GDP with
    ``mu^2 = 2 mu_bins^2 + 4 mu_rounds^2`` [2]_, and mu is the one whose exact profile is (eps, delta).

    **Assumed.** That interpret-core does what its source says (0.7.8 was read), with its pseudo-random
    generator. All else that it is given is public: n; the ends of columns, from public points; two made-up
    records, one of each class, so that both classes are there. The
    classifier is the library's, for experiments: a release is refused.

    Attributes
    ----------
    mu_bins, mu_rounds : float
        For one record more or less.
    """

    mu_bins: float
    mu_rounds: float
    rounds: int

    @property
    def guarantee(self) -> PrivacyLoss:
        """(eps, delta), claimed."""
        return PrivacyLoss(self.eps, self.delta, "claim of interpret-core: not counted by the door")

    def loss(self, spent: Account) -> PrivacyLoss:
        """Return the library's claim: nothing passes the door."""
        return self.guarantee if spent.only() else UNPROVED

    def release(
        self, private: Private, public: PublicPoints, door: Door, rng: np.random.Generator
    ) -> Released:
        """Let the library boost; see `Mechanism`."""
        records, seed = private.records, int(rng.integers(2**31))
        model = self.fit(dense(records.X), records.y, dense(public.X), seed)
        return Released(model, no_answers())

    def fit(self, X: FloatArray, y: IntArray, public: FloatArray, seed: int) -> Any:
        """Fit the library's classifier, with its own noise."""
        from interpret.privacy import DPExplainableBoostingClassifier

        # it takes an (eps, delta) for each part and solves for mu: any pair on the profile of that mu
        delta = min(self.delta, profile(0.0, self.mu_bins))
        of_bins, of_rounds = eps_of_mu(self.mu_bins, delta / 2), eps_of_mu(self.mu_rounds, delta / 2)
        low, high = public.min(axis=0), public.max(axis=0)
        half = np.where(high > low, 0.0, 0.5)  # a column that is constant in public
        ebm = DPExplainableBoostingClassifier(
            feature_types=["continuous"] * X.shape[1],
            max_rounds=self.rounds,
            n_jobs=1,
            random_state=seed,
            epsilon=of_bins + of_rounds,
            delta=delta,
            bin_budget_frac=of_bins / (of_bins + of_rounds),
            privacy_bounds=np.column_stack([low - half, high + half]),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a seed is for experiments
            return ebm.fit(np.vstack([X, public[:1], public[:1]]), np.append(y, [0, 1]))

    def attacks(self) -> list[SampledAttack]:
        """Replace a record by one of the other class, where the residuals of the others cancel."""
        X, ends, y = np.full((40, 1), 0.9), np.array([[-1.0], [1.0]]), np.tile([0, 1], 20)

        def sample(neighbour: bool, rng: np.random.Generator, runs: int) -> FloatArray:
            labels = np.append(y[:-1], 0) if neighbour else y
            made = (self.fit(X, labels, ends, int(rng.integers(2**31))) for _ in range(runs))
            return np.array([model.decision_function(X[-1:]) for model in made])

        return [SampledAttack("a record of the other class", sample, max(50, 2_000 // self.rounds))]
