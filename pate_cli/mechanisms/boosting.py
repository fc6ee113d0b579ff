"""The rounds of boosting, and what they cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pate_cli import learners, teachers
from pate_cli.checks import OneOf, Real, Whole, option
from pate_cli.mechanisms.gaussian import plan_gaussian
from pate_cli.mechanisms.protocol import LabellingPlan, Plan, SampledAttack
from pate_cli.privacy.noise import Noise
from pate_cli.students.boosted import BoostedClassifier
from pate_cli.students.gaussian_process import KERNELS, MOST_LANDMARKS, Landmarks, learn_shares
from pate_cli.types import (
    Answer,
    Answers,
    FloatArray,
    IntArray,
    PrivacyLoss,
    Private,
    PublicPoints,
    Released,
    Setting,
    Votes,
)

__all__ = ["BoostingPlan", "Options", "plan"]


@dataclass(frozen=True)
class Options:
    """Options of `mechanism=boosting`."""

    rounds: int = option(4, Whole(1, 100))
    step: float = option(4.0, Real(0, 100))
    kernel: str = option("auto", OneOf(("auto", "linear", "rbf")))


def plan(options: Options, setting: Setting) -> Plan:
    """Calibrate for `rounds` rounds on all public points."""
    return BoostingPlan.of(setting, rounds=options.rounds, step=options.step, kernel=options.kernel)


@dataclass(frozen=True)
class BoostingPlan(Plan):
    """Boosting by votes: in each round all teachers vote on all public points, and the student adds a step.

    A record's weight in round t is how wrong the student of the rounds before is on it,
    ``(1 - p(y | x)) C/(C-1)`` (the gradient of its log loss: LogitBoost's and gradient boosting's
    weights, so that label noise cannot take over as with AdaBoost). The records are dealt out to K
    teachers, each fits its part with these weights, and all vote on every public point. The mechanism
    releases the noisy counts; a Gaussian process that knows sigma and K (`students.gaussian_process`)
    turns them into a function, and the student's scores take `step` times it. Where votes are noisier,
    the function is smaller: the step sizes itself.

    Weak teachers are off in the same way, which no number of them mends; a second round mends it. So
    parts may be smaller and teachers more (`teacher.count=auto`), and the noise matters less.

    **Guarantee.** (eps, delta)-DP for neighbours that differ in one private record (replaced, or its
    part trained without it; n, K and the part sizes are public). In every round the parts are dealt
    out independently of the records and are disjoint, and a record's weight depends on that record and on
    the student so far, which is post-processing of earlier counts: one changed record changes
    at most one teacher of a round, so at most one vote a query. The ``rounds * m`` queries are adaptive
    queries to one `mechanisms.GaussianService` calibrated for that many, which states the rest. A release
    puts them to one `IntegerGaussianService`: votes are whole numbers in every round, so nothing is rounded,
    and its bound, too, is of adaptive queries. A teacher that cannot be fitted is a constant one there, so
    whether a release is made does not depend on the records.

    Attributes
    ----------
    setting : Setting
    rounds : int
        T.
    step : float
        Scores per share of the votes; 4 is Newton's, for the logistic function's slope of 1/4 at 0.
    kernel : {"auto", "linear", "rbf"}
    labelling : GaussianPlan or NoPrivacyPlan
    fit : callable
        What turns the noisy counts of a round into the student's step, as `learn_shares` does:
        post-processing, whatever it is. An audit takes a quicker one.
    whole : bool
        Whether it is calibrated for a release, with integer noise.

    References
    ----------
    Friedman, Hastie, Tibshirani. Additive logistic regression: a statistical view of boosting. Annals of
    Statistics 28(2), 2000. Papernot et al. Scalable private learning with PATE. ICLR 2018.
    """

    setting: Setting
    rounds: int
    step: float
    kernel: str
    labelling: LabellingPlan
    fit: Callable[..., dict[str, FloatArray]] = field(default=learn_shares, repr=False)
    whole: bool = False

    @classmethod
    def of(cls, setting: Setting, *, rounds: int, step: float, kernel: str) -> BoostingPlan:
        """Calibrate for `rounds` rounds on all public points."""
        s = setting
        labelling = plan_gaussian(s.eps, s.delta, rounds * s.n_public, s.n_classes)
        return cls(setting, rounds, step, kernel, labelling)

    @property
    def guarantee(self) -> PrivacyLoss:
        """What all rounds are promised to cost."""
        return self.labelling.guarantee

    @property
    def n_teachers(self) -> int:
        """K, in each round."""
        return self.setting.n_teachers

    def describe(self) -> dict[str, Any]:
        """Its public numbers."""
        return {"rounds": self.rounds, "step": self.step, "kernel": self.kernel, **self.labelling.describe()}

    def release(
        self, private: Private, public: PublicPoints, noise: Noise, rng: np.random.Generator
    ) -> Released:
        """Do the rounds; see `Plan`."""
        records = private.records
        s = self.setting
        service = self.labelling.service(noise)
        sigma = getattr(self.labelling, "sigma", 0.0)
        landmarks = Landmarks(public.X, int(rng.integers(2**31)))
        names = [name for name in KERNELS if self.kernel in ("auto", name.partition(" ")[0])]
        spans = {name: landmarks.span(public.X, name) for name in names}
        learner = learners.make_learner(*s.teacher, seed=None, n_classes=s.n_classes)
        coefficients: dict[str, FloatArray] = {}
        model = BoostedClassifier(landmarks, coefficients, s.n_classes)
        weights = np.ones(records.n_records)
        scores = np.zeros((records.n_records, 1 if s.n_classes == 2 else s.n_classes))
        bounded = _bounded(records.X)
        for _ in range(self.rounds):
            ensemble = teachers.train(
                records,
                n_teachers=s.n_teachers,
                learner=learner,
                rng=rng,
                n_classes=s.n_classes,
                sample_weight=weights,
                strict=not self.whole,
            )
            votes = ensemble.votes(public.X)
            told = _told(service.answer_all(votes), votes if math.isinf(s.eps) else None)
            found = self.fit(spans, told, s.n_teachers, sigma)
            added = {name: self.step * values for name, values in found.items()}
            for name, values in added.items():
                coefficients[name] = coefficients.get(name, 0.0) + values
            scores += landmarks.evaluate(bounded, added)  # of each record by itself
            weights = _weights(model.probabilities(scores), records.y)
        everything = np.arange(public.n_points, dtype=np.int64)
        answered = Answers(everything, model.predict(public.X), n_teachers=s.n_teachers)
        return Released(model, answered, service.spent())

    def model_bytes(self, n_features: int) -> int:
        """Room for the model: its landmarks, and what stands at them; see `Plan`."""
        s = self.setting
        width = 1 if s.n_classes == 2 else s.n_classes
        return 8 * min(s.n_public, MOST_LANDMARKS) * (n_features + width * len(KERNELS))

    def for_release(self, setting: Setting) -> Plan:
        """Calibrate anew for integer noise on the votes of all rounds.

        Raises
        ------
        ConfigError
            If eps asks for less noise than the integer Gaussian's bounds are for, or for none.
        """
        exact = self.labelling.with_integer_noise(n_classes=setting.n_classes, n_teachers=self.n_teachers)
        return replace(self, labelling=exact, whole=True)

    def attacks(self) -> list[SampledAttack]:
        """Two private sets that differ in one record, for an audit, put to `release` itself."""
        from pate_cli.mechanisms.boosting_attack import attacks

        return attacks(self)


def _told(answers: list[Answer], exact: Votes | None) -> FloatArray:
    """Counts that the student may see, shape (m, C): the noisy ones, or at eps = inf the exact ones."""
    if exact is not None:
        return exact.counts.astype(float)
    return np.vstack([answer.noisy_counts for answer in answers if answer.noisy_counts is not None])


def _bounded(X: Any) -> Any:
    """Features cut off at 1e30, each by itself: then every score is a number."""
    if isinstance(X, np.ndarray):
        return np.clip(np.nan_to_num(X), -1e30, 1e30)
    X = X.copy()
    X.data = np.clip(np.nan_to_num(X.data), -1e30, 1e30)
    return X


def _weights(probabilities: FloatArray, y: IntArray) -> FloatArray:
    """How wrong the student is on each record: 1 for one that guesses; never 0, a teacher needs weight."""
    n_classes = probabilities.shape[1]
    wrong = (1 - probabilities[np.arange(len(y)), y]) * n_classes / (n_classes - 1)
    weights: FloatArray = np.maximum(wrong, 1e-6)
    return weights
