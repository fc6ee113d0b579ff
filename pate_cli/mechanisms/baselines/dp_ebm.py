"""The private explainable boosting machine of `interpret-core`: a reference that others maintain, an extra.

Its noise is calibrated by that library for data sets that differ in a record more or less; here it is given
the numbers with which it holds for a record replaced by another, as everywhere here (see `DpEbmPlan`).

References
----------
.. [1] H. Nori, R. Caruana, Z. Bu, J. H. Shen, J. Kulkarni. Accuracy, interpretability, and differential
   privacy via explainable boosting. ICML 2021, Algorithm 2.
.. [2] J. Dong, A. Roth, W. J. Su. Gaussian differential privacy. JRSS B 84, 2022.
"""

from __future__ import annotations

import importlib.util
import math
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from pate_cli.checks import Real, Whole, option
from pate_cli.errors import ConfigError, InfeasibleError, InputError
from pate_cli.mechanisms.protocol import Plan, SampledAttack, no_answers
from pate_cli.privacy.gaussian import eps_of_mu, mu_of, profile
from pate_cli.privacy.noise import Noise
from pate_cli.types import (
    FloatArray,
    IntArray,
    PrivacyLoss,
    Private,
    PublicPoints,
    Released,
    Setting,
    dense,
)

__all__ = ["AdditiveModel", "DpEbmPlan", "Options", "plan"]

_INSTALL = "mechanism=dp_ebm needs interpret-core: pip install interpret-core"
_MOST = 200_000_000
"""Most numbers of private records that are written out, for a library that takes no sparse ones."""

_MOST_COLUMNS = 5_000
"""Columns it goes through one after the other, in every round."""

_MARGIN = 1e-6
"""Share by which mu is kept below what may be spent, for the library solves for its noise by bisection."""


@dataclass(frozen=True)
class DpEbmPlan(Plan):
    r"""Noisy histograms of all columns, then rounds of noisy sums of residuals, one column after the other.

    **Guarantee.** (eps, delta)-DP for neighbours that differ in one private record, replaced by another; n
    is public. Let the library add noise as it says: for a record more or less its histograms are
    ``mu_bins``-GDP and its rounds ``mu_rounds``-GDP [1]_. For d columns the deviation of a histogram's noise
    is ``sqrt(d)/mu_bins``. A replaced record leaves one bin of each and joins another, so a histogram moves
    by at most sqrt(2), and all of them are ``sqrt(2) mu_bins``-GDP. A step of a round releases, for disjoint
    intervals of one column, cut at random or by earlier noise, the sums of residuals in [-1, 1] times the
    step size, with noise of deviation ``step sqrt(rounds d)/mu_rounds``. A replaced record moves them by at
    most 2 steps: ``|r - r'| <= 2`` in one interval, ``sqrt(r^2 + r'^2) <= sqrt(2)`` in two. All steps are
    ``2 mu_rounds``-GDP. Composed [2]_, that is mu-GDP with ``mu^2 = 2 mu_bins^2 + 4 mu_rounds^2``, and mu is
    the one whose exact profile is (eps, delta). (Taking a replacement for a record less and a record more
    would double `mu_bins` as well.) What else the library uses is public: n, which says how many records a
    bin gets; the ends of columns, from public points; the two classes, each of which has one made-up
    record besides the private ones, so that a private set without it looks no other.

    **Assumed.** That the library does what its source says (0.7.8 was read), with its pseudo-random
    generator as Gaussian noise; the deviations it reports are checked against these. It cannot be released.

    Attributes
    ----------
    eps, delta : float
    mu_bins, mu_rounds : float
        For a record more or less, of the histograms and of all rounds.
    epsilon, epsilon_share, delta_given : float
        What the library is given, so that it comes to these: its eps, the share of it for histograms, delta.
    max_bins, rounds, leaves : int
    step : float
        Of a round.
    """

    eps: float
    delta: float
    mu_bins: float
    mu_rounds: float
    epsilon: float
    epsilon_share: float
    delta_given: float
    max_bins: int
    rounds: int
    leaves: int
    step: float

    @property
    def guarantee(self) -> PrivacyLoss:
        """(eps, delta) for histograms and rounds."""
        return PrivacyLoss(self.eps, self.delta, "exact Gaussian profile of histograms and boosting rounds")

    @property
    def n_teachers(self) -> int:
        """None."""
        return 0

    def describe(self) -> dict[str, Any]:
        """Its public numbers."""
        return asdict(self)

    def release(
        self, private: Private, public: PublicPoints, noise: Noise, rng: np.random.Generator
    ) -> Released:
        """Boost on the private records; see `Plan`."""
        records, points = private.records, dense(public.X)
        model = self.learn(dense(records.X), records.y, points, int(rng.integers(2**31)))
        return Released(model, no_answers(), self.guarantee)

    def learn(self, X: FloatArray, y: IntArray, public: FloatArray, seed: int) -> AdditiveModel:
        """Let the library boost.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Private records.
        y : ndarray of int64, shape (n,)
            0 or 1.
        public : ndarray of shape (m, d)
            Public points, which say between which ends a column is cut.
        seed : int
            Of the library's own noise.
        """
        from interpret.privacy import DPExplainableBoostingClassifier

        low, high = public.min(axis=0), public.max(axis=0)
        narrow = ~(high > low)  # a constant column, whatever the private records have there
        low, high = np.where(narrow, low - 0.5, low), np.where(narrow, high + 0.5, high)
        d = X.shape[1]
        ebm = DPExplainableBoostingClassifier(
            feature_types=["continuous"] * d,
            max_bins=self.max_bins,
            learning_rate=self.step,
            max_rounds=self.rounds,
            max_leaves=self.leaves,
            n_jobs=1,
            random_state=seed,
            epsilon=self.epsilon,
            delta=self.delta_given,
            composition="gdp",
            bin_budget_frac=self.epsilon_share,
            privacy_bounds=np.column_stack([low, high]),
        )
        both = np.vstack([X, public.mean(axis=0), public.mean(axis=0)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that noise from a seed is for experiments
            ebm.fit(both, np.concatenate([y, [0, 1]]))
        least = math.sqrt(d) / self.mu_bins, self.step * math.sqrt(self.rounds * d) / self.mu_rounds
        if ebm.noise_scale_binning_ < least[0] or ebm.noise_scale_boosting_ < least[1]:
            raise RuntimeError("interpret-core adds less noise than it was given a budget for: not released")
        # its own attributes have exact counts among them; these are the noisy ones
        cuts = [np.asarray(bins[0], dtype=np.float64) for bins in ebm.bins_]
        scores = [np.asarray(term, dtype=np.float64)[1:-1] for term in ebm.term_scores_]
        return AdditiveModel(cuts, scores, float(np.ravel(ebm.intercept_)[0]))

    def attacks(self) -> list[SampledAttack]:
        """Replace a record by the same with the other label, where the residuals of the others cancel.

        It runs all that runs in a release, so that runs are few where there are many rounds; with one round,
        in which residuals are 1/2, it can show half of mu.
        """
        X, ends, y = np.full((40, 1), 0.9), np.array([[-1.0], [1.0]]), np.tile([0, 1], 20)

        def sample(neighbour: bool, rng: np.random.Generator, runs: int) -> FloatArray:
            labels = np.append(y[:-1], 0) if neighbour else y
            made = (self.learn(X, labels, ends, int(rng.integers(2**31))) for _ in range(runs))
            return np.array([model.decision_function(X[-1:]) for model in made])

        return [SampledAttack("a record of the other class", sample, max(50, 2_000 // self.rounds))]


class AdditiveModel(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A sum of steps, one function a column, for two classes.

    Parameters
    ----------
    cuts : list of ndarray
        Of each column, ascending; a number at a cut is above it.
    scores : list of ndarray
        Of the intervals of each column, one more than it has cuts.
    intercept : float
    """

    def __init__(self, cuts: Sequence[FloatArray], scores: Sequence[FloatArray], intercept: float) -> None:
        self.cuts = cuts
        self.scores = scores
        self.intercept = intercept

    @property
    def classes_(self) -> IntArray:
        """The codes of two classes."""
        return np.array([0, 1], dtype=np.int64)

    def fit(self, X: Any, y: Any = None) -> AdditiveModel:
        """Do nothing: it is made of what was released."""
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Give the log odds of class 1, shape (n,)."""
        total = np.full(X.shape[0], self.intercept)
        X = dense(X)
        for column, (cuts, scores) in enumerate(zip(self.cuts, self.scores, strict=True)):
            total += scores[np.searchsorted(cuts, X[:, column], side="right")]
        return total

    def predict_proba(self, X: Any) -> FloatArray:
        """Give the probabilities of both classes, shape (n, 2)."""
        from scipy.special import expit

        odds = self.decision_function(X)
        return np.column_stack([expit(-odds), expit(odds)])

    def predict(self, X: Any) -> IntArray:
        """Give the class of each point."""
        return (self.decision_function(X) > 0).astype(np.int64)


@dataclass(frozen=True)
class Options:
    """Options of `mechanism=dp_ebm`; the defaults are the library's."""

    max_bins: int = option(32, Whole(4))
    rounds: int = option(300, Whole(1))
    leaves: int = option(3, Whole(2))
    step: float = option(0.01, Real(0))
    bins_share: float = option(0.1, Real(0, 1))


def plan(options: Options, setting: Setting) -> Plan:
    """Share mu out as the library shares its eps, and find what it has to be given.

    Raises
    ------
    InputError
        If the library is not installed, or this is not for it: more than two classes, no privacy, more
        numbers than it should write out.
    """
    eps, delta = setting.eps, setting.delta
    if importlib.util.find_spec("interpret") is None:
        raise InputError(_INSTALL)
    if math.isinf(eps):
        raise ConfigError("eps", eps, "a finite number with mechanism=dp_ebm, which always adds noise")
    if setting.n_classes != 2:
        said = f"mechanism=dp_ebm is for two classes, and these are {setting.n_classes} classes"
        raise InfeasibleError(f"{said}: dp_ebm has no other loss")
    numbers = setting.n_private * setting.n_features
    if numbers > _MOST or setting.n_features > _MOST_COLUMNS:
        raise InfeasibleError(
            f"mechanism=dp_ebm takes no sparse records, and {setting.n_private:,} x {setting.n_features:,} "
            f"is more than {_MOST_COLUMNS:,} columns or {_MOST:,} numbers; what would do: fewer columns"
        )
    mu = mu_of(eps, delta) * (1 - _MARGIN)
    share = options.bins_share
    # as the library would share (eps, delta): half of delta each
    of_bins, of_rounds = mu_of(share * eps, delta / 2), mu_of((1 - share) * eps, delta / 2)
    scale = mu / math.sqrt(2 * of_bins**2 + 4 * of_rounds**2)
    mu_bins, mu_rounds = scale * of_bins, scale * of_rounds
    # it takes (eps, delta) for each and solves for mu: any pair on the profile of that mu will do
    given = min(delta, profile(0.0, mu_bins))
    eps_bins, eps_rounds = eps_of_mu(mu_bins, given / 2), eps_of_mu(mu_rounds, given / 2)
    whole = eps_bins + eps_rounds
    margin = 1 / (1 - _MARGIN / 2)  # the deviations that are checked are those of a mu a little larger
    return DpEbmPlan(
        *(eps, delta, mu_bins * margin, mu_rounds * margin, whole, eps_bins / whole, given),
        *(options.max_bins, options.rounds, options.leaves, options.step),
    )
