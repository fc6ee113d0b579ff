"""The rounds of boosting, and what they cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pate_cli import learners, mechanisms, teachers
from pate_cli.boosting.model import BoostedClassifier
from pate_cli.privacy.noise import Noise
from pate_cli.private_learner import SampledAttack
from pate_cli.students.gaussian_process import KERNELS, Landmarks, learn_shares
from pate_cli.types import (
    Answer,
    Answers,
    FloatArray,
    Holdout,
    IntArray,
    Learnt,
    PrivacyLoss,
    PrivateRecords,
    PublicPoints,
    Setting,
    Votes,
)

__all__ = ["BoostingPlan"]


@dataclass(frozen=True)
class BoostingPlan:
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
    queries to one `mechanisms.GaussianService` calibrated for that many, which states the rest.

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

    References
    ----------
    Friedman, Hastie, Tibshirani. Additive logistic regression: a statistical view of boosting. Annals of
    Statistics 28(2), 2000. Papernot et al. Scalable private learning with PATE. ICLR 2018.
    """

    setting: Setting
    rounds: int
    step: float
    kernel: str
    labelling: mechanisms.LabellingPlan
    fit: Callable[..., dict[str, FloatArray]] = field(default=learn_shares, repr=False)

    @classmethod
    def of(cls, setting: Setting, *, rounds: int, step: float, kernel: str) -> BoostingPlan:
        """Calibrate for `rounds` rounds on all public points."""
        s = setting
        labelling = mechanisms.plan_gaussian(s.eps, s.delta, rounds * s.n_public, s.n_classes)
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

    def learn(
        self, private: PrivateRecords, public: PublicPoints, noise: Noise, rng: np.random.Generator
    ) -> Learnt:
        """Do the rounds; see `LearnerPlan`."""
        s = self.setting
        service = self.labelling.service(noise)
        sigma = getattr(self.labelling, "sigma", 0.0)
        landmarks = Landmarks(public.X, int(rng.integers(2**31)))
        names = [name for name in KERNELS if self.kernel in ("auto", name.partition(" ")[0])]
        spans = {name: landmarks.span(public.X, name) for name in names}
        learner = learners.make_learner(*s.teacher, seed=None, n_classes=s.n_classes)
        coefficients: dict[str, FloatArray] = {}
        model = BoostedClassifier(landmarks, coefficients, s.n_classes)
        weights = np.ones(private.n_records)
        scores = np.zeros((private.n_records, 1 if s.n_classes == 2 else s.n_classes))
        records = _bounded(private.X)
        for _ in range(self.rounds):
            ensemble = teachers.train(
                private,
                n_teachers=s.n_teachers,
                learner=learner,
                rng=rng,
                n_classes=s.n_classes,
                sample_weight=weights,
            )
            votes = ensemble.votes(public.X)
            told = _told(service.answer_all(votes), votes if math.isinf(s.eps) else None)
            found = self.fit(spans, told, s.n_teachers, sigma)
            added = {name: self.step * values for name, values in found.items()}
            for name, values in added.items():
                coefficients[name] = coefficients.get(name, 0.0) + values
            scores += landmarks.evaluate(records, added)  # of each record by itself
            weights = _weights(model.probabilities(scores), private.y)
        everything = np.arange(public.n_points, dtype=np.int64)
        answered = Answers(everything, model.predict(public.X), n_teachers=s.n_teachers)
        return Learnt(model, answered, service.spent())

    def measure(self, model: Any, test: Holdout) -> dict[str, float]:
        """Nothing of its own."""
        return {}

    def attacks(self) -> list[SampledAttack]:
        """Two private sets that differ in one record, for an audit, put to `learn` itself."""
        from pate_cli.boosting.attack import attacks

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
