"""Scores: a few noisy sums of unit vectors, each what one teacher of any kind says of the public points."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pate_cli import teachers
from pate_cli.checks import Whole, option
from pate_cli.errors import ConfigError
from pate_cli.features.classifiers import FeatureClassifier, probabilities
from pate_cli.features.kernel import MOST_DIRECTIONS
from pate_cli.features.stable_rows import integer_product, to_integers
from pate_cli.mechanisms.base import Mechanism, SampledAttack
from pate_cli.mechanisms.options import MechanismOptions
from pate_cli.mechanisms.scores.directions import PublicDirections, map_of, squares_elsewhere
from pate_cli.mechanisms.scores.residual_teachers import (
    Gains,
    RidgeTeachers,
    posterior_mean,
    residual_teachers,
)
from pate_cli.mechanisms.signal import signal_of
from pate_cli.privacy.door import Door, RecordingDoor
from pate_cli.privacy.gaussian import mu_of, vector_mu, vector_sigma
from pate_cli.privacy.kinds import GaussianNoise
from pate_cli.teachers.parts import deal
from pate_cli.types import (
    Answers,
    FloatArray,
    PrivacyLoss,
    Private,
    PrivateRecords,
    PublicPoints,
    Released,
    Setting,
)

__all__ = ["Options", "Scores", "calibrate"]

_RECORDS = 12  # of a teacher
_COUNTS = 0.03  # share of mu^2 for the class counts
_DIRECTIONS = (0.7, 20, 100)  # a unit of mu K, fewest and most
_LARGEST_MU = 6.0  # for that rule: noise beyond is negligible
_SENSITIVITY = 2.0
"""L2 sensitivity of a sum of vectors of norm at most 1, one of which is replaced."""

_OF_COUNTS = math.sqrt(2.0)
"""That of the class counts: one goes down, one up."""

_MOST = 2.0**53  # integers below it are exact in floating point
_REACH = 64.0  # standard deviations of the noise that stay below it


@dataclass(frozen=True)
class Options(MechanismOptions):
    """Options of `mechanism=scores`."""

    checked = ({"rounds": 2},)

    rounds: int = option(3, Whole(1, 100))

    def auto_count(self, n_private: int, n_classes: int, eps: float, delta: float) -> int:
        """Choose the number of teachers, in [1, n_private] (`teacher.count=auto`): 12 records each.

        Fewer records a teacher are better, and one each is `mechanism=best`: 12 is what a learner needs.
        """
        return max(1, n_private // _RECORDS)


def calibrate(options: Options, setting: Setting) -> Scores:
    """Share out the budget between the class counts and the rounds."""
    return Scores(setting, options.rounds)


@dataclass(frozen=True, eq=False)
class PublicPart:
    """All that a run makes from public points and numbers."""

    space: PublicDirections
    learners: Any  # RidgeTeachers or Classifiers
    gains: Gains
    squares: FloatArray  # (r,): mean square of each direction at points that did not make it


@dataclass(frozen=True)
class Scores(Mechanism):
    r"""Boosting by rounds of noisy sums of the teachers' scores, as unit vectors along public directions.

    Public points span functions Q_j of mean 0 and mean square 1, orthogonal over the points, of which the
    features have variance lam_j (`PublicDirections`). Noisy class counts give an intercept b, the logarithms
    of the shares. In each of T rounds every record has its residual ``R = onehot(y) - softmax(b + Q theta)``,
    a number for each class; the records are dealt out to K teachers, each of which fits the residuals of its
    records and scores the public points. Its vector u is ``w_j beta_jc``, beta the coefficients of its
    scores, scaled to norm 1 over all directions and classes together. The noisy sum of these is released. Its
    mean is, by teachers of public points (`Gains`), a known response to the coefficients of the
    residuals' expectation and noise of a known size, of which a Gaussian process has the posterior mean;
    C times that, which is the inverse curvature of the logistic loss at equal shares, is added to theta:
    less of it along directions whose squares are larger at other points (`squares_elsewhere`), and in
    proportion to the residuals, whose size a vector does not tell but the model's shares do.
    The model is ``softmax(b + Q theta)``, and so are its probabilities.

    The teachers are ridge regressions in the features where the learner is the default one and sees them
    (`RidgeTeachers`), else any classifiers (`Classifiers`). The response is that of each direction by itself,
    or, for linear classifiers of their own columns, a matrix where it predicts better (`Gains`).

    **Guarantee.** (eps, delta)-DP for neighbours that differ in one person: all of a person's records,
    replaced by any others, as many or not; a record is a person where the data name none. n, the number of
    persons, K and the numbers of persons a part are public.

    1. *Counts.* Of each person one record is counted, drawn without regard to others. One count goes down
       and one up: sqrt(2) in L2, and N(0, 2/mu_0^2) on each is mu_0-GDP.
    2. *A round.* b, Q, theta, w and the learner are functions of public points, public numbers and what was
       released before. Given these, a record's residual is a function of that record alone, to the bit
       (`PublicDirections.at`, `integer_product`: sums of whole numbers, which are exact; assumed is that exp
       gives the same bits for the same number wherever it stands in an array). Parts are disjoint, hold
       persons whole, and are dealt without looking at a record; so another person changes the data of one
       teacher. No number of a teacher's vector goes through those of another part: parts are fitted in
       groups whose shapes and places are public, and alone where persons have several records; a fit that
       fails is that part's alone, and its vector 0. `teachers.sum_of_units` makes each vector one of norm at
       most 1, of whole multiples of a power of two, whose sum is exact. So the sum moves by at most 2 in L2,
       whatever the teacher is, and N(0, (2/mu_t)^2) on each of its numbers is mu_t-GDP.
    3. *All of it.* Adaptive composition (Dong, Roth, Su 2022, Corollary 2): ``mu^2 = mu_0^2 + T mu_t^2``,
       mu the largest with which the exact profile (Balle and Wang 2018) gives (eps, delta). Three hundredths
       of mu^2 are the counts'. The rest is post-processing.
    4. *Integer noise* (`integer_noise`, for a release). Counts are integers, and sums integers in units of
       `teachers.grain_of`; both get N_Z(0, sigma^2) in these units, whose proof is in
       `pate_cli.privacy.gaussian` (vectors of integers). Without it the noise is drawn in floating point.
    """

    setting: Setting
    rounds: int  # T
    integer_noise: bool = False

    persons = "parts"
    in_words = "what teachers say of the public points is summed, with noise of whole numbers"

    @property
    def guarantee(self) -> PrivacyLoss:
        """(eps, delta) for the counts and all rounds."""
        s = self.setting
        if math.isinf(s.eps):
            return PrivacyLoss(math.inf, 0.0, "no noise")
        of_all = f"class counts and {self.rounds} sums"
        if self.integer_noise:
            return PrivacyLoss(s.eps, s.delta, f"Gaussian profile of integer noise on {of_all}")
        return PrivacyLoss(s.eps, s.delta, f"exact Gaussian profile of {of_all}", mu=self.mu)

    @property
    def mu(self) -> float:
        """GDP parameter that all noise together is for."""
        s = self.setting
        if math.isinf(s.eps):
            return math.inf
        if self.integer_noise:
            return vector_mu(s.eps, s.delta, s.n_classes * (1 + self.rounds * MOST_DIRECTIONS))
        return mu_of(s.eps, s.delta)

    @property
    def mu_sum(self) -> float:
        """GDP parameter of one round's sum, mu_t."""
        return self.mu * math.sqrt((1 - _COUNTS) / self.rounds)

    @property
    def mu_counts(self) -> float:
        """GDP parameter of the class counts, mu_0."""
        return self.mu * math.sqrt(_COUNTS)

    @property
    def sigma(self) -> float:
        """Standard deviation of the noise on a number of a sum; 0 for eps = inf."""
        if self._grain is None:
            return _SENSITIVITY / self.mu_sum
        return self._grain * vector_sigma(_SENSITIVITY / self._grain, self.mu_sum)

    @property
    def count_sigma(self) -> float:
        """Standard deviation of the noise on a class count, in records."""
        if self._grain is None:
            return _OF_COUNTS / self.mu_counts
        return vector_sigma(_OF_COUNTS, self.mu_counts)

    @property
    def _grain(self) -> float | None:
        return teachers.grain_of(self.n_teachers) if self.integer_noise else None

    @property
    def n_teachers(self) -> int:
        """K, in each round."""
        return self.setting.n_teachers

    @property
    def signal(self) -> float:
        """See `Mechanism`."""
        return signal_of(self.mu, self.n_teachers, self.setting.n_classes)

    def better(self, setting: Setting) -> str | None:
        """See `Mechanism`: in columns of their own, what teachers say lies along no direction alone."""
        return None if setting.teacher_mapped else "score_boosting"

    @property
    def directions(self) -> int:
        """Most directions: 0.7 mu K over the root of C - 1, in [20, 100].

        A direction is worth its share of a vector's norm where the signal along it, of K teachers, is above
        the noise, which is ``1/mu`` times a constant.
        """
        s, (factor, fewest, most) = self.setting, _DIRECTIONS
        mu = _LARGEST_MU if math.isinf(s.eps) else min(mu_of(s.eps, s.delta), _LARGEST_MU)
        return int(min(max(factor * mu * s.n_teachers / math.sqrt(s.n_classes - 1), fewest), most))

    def describe(self) -> dict[str, Any]:
        """Its public numbers."""
        numbers = {
            "rounds": self.rounds,
            "directions": f"at most {self.directions}",
            "sigma": self.sigma,
            "sensitivity": _SENSITIVITY,
            "count_sigma": self.count_sigma,
            "mu_sum": self.mu_sum,
            "mu_counts": self.mu_counts,
        }
        return numbers | ({"integer_noise": True} if self.integer_noise else {})

    def release(
        self, private: Private, public: PublicPoints, door: Door, rng: np.random.Generator
    ) -> Released:
        """Release class counts and the rounds' sums; see `Mechanism`."""
        model = self.fit(private.records, self.look_at(public, rng), door, rng)
        everything = np.arange(public.n_points, dtype=np.int64)
        answered = Answers(everything, model.predict(public.X), n_teachers=self.n_teachers)
        return Released(model, answered)

    def look_at(self, public: PublicPoints, rng: np.random.Generator) -> PublicPart:
        """See `Mechanism`."""
        s = self.setting
        space = PublicDirections.of(public.X, map_of(public, rng, self.directions))
        points = public.seen(s.teacher_mapped).X
        learners = residual_teachers(space, points, s, strict=not self.integer_noise)
        gains = Gains.of(space, learners, s, rng)
        return PublicPart(space, learners, gains, squares_elsewhere(public, len(gains.weights), rng))

    def fit(self, private: PrivateRecords, side: PublicPart, door: Door, rng: np.random.Generator) -> Any:
        """Release counts and sums, all that reads private records; an audit attacks this."""
        C, K, gains = self.setting.n_classes, self.n_teachers, side.gains
        intercept = self._intercept(private, door, rng)
        theta = np.zeros((len(gains.weights), C))
        values = side.space.at(private.X)
        rows, onehot = to_integers(values), np.eye(C)[private.y]
        seen = private.seen(self.setting.teacher_mapped)
        noise = ((self.sigma / K) ** 2 + gains.energy / K) * (1 - 1 / C)
        response = gains.response * side.squares
        at_points = side.space.values * math.sqrt(len(side.space.values))
        kind = GaussianNoise(sensitivity=_SENSITIVITY, sigma=self.sigma, grain=self._grain)
        for _ in range(self.rounds):
            shares = probabilities(intercept + integer_product(rows, to_integers(theta.T)))
            residuals = onehot - shares
            if isinstance(side.learners, RidgeTeachers):
                vectors = side.learners.fit(private, values, residuals, deal(private, K, rng))
            else:
                vectors = side.learners.fit(seen, residuals, K, rng)
            total = teachers.sum_of_units(_weighted(vectors, gains.weights), K).reshape(theta.shape)
            noisy = door.release(total, kind) / K
            mean = noisy - noisy.mean(axis=1, keepdims=True)
            size = _size_of_residuals(probabilities(intercept + at_points @ theta))
            theta = theta + C * size * posterior_mean(mean, response, side.space.shares, noise)
        return _model(side.space, theta, intercept)

    def _intercept(self, private: PrivateRecords, door: Door, rng: np.random.Generator) -> FloatArray:
        """Logarithms of noisy class shares, shrunk to equal ones where noise is as large (James-Stein)."""
        C, n = self.setting.n_classes, self.setting.n_private
        counts = np.bincount(private.one_each(rng).y, minlength=C).astype(np.float64)
        grain = 1.0 if self.integer_noise else None
        kind = GaussianNoise(sensitivity=_OF_COUNTS, sigma=self.count_sigma, grain=grain)
        noisy = door.release(counts, kind)
        deviations = noisy - noisy.mean()
        chance = (C - 1) * self.count_sigma**2 / max(float((deviations**2).sum()), 1e-300)
        shrunk = n / C + deviations * max(0.0, 1 - chance)
        shrunk = np.maximum(shrunk, min(max(self.count_sigma, 1.0), n / C))
        return np.asarray(np.log(shrunk / shrunk.sum()))

    def with_exact_noise(self) -> Scores:
        """Calibrate for integer noise; raises ConfigError if it would exceed the integers exact in floats."""
        exact = replace(self, integer_noise=True)
        if _REACH * exact.sigma / teachers.grain_of(self.n_teachers) >= _MOST:
            raise ConfigError("eps", self.setting.eps, "more with release=true: its noise is too large")
        return exact

    def attacks(self) -> list[SampledAttack]:
        """One teacher of one record, which replaced turns its vector about.

        Public points of two kinds span one direction, so the vector of a ridge regression is the sign of
        where its record lies, or of its label; it moves by 2 in every round, as much as is allowed, and so do
        the counts where the label is another.

        All sums have the same noise, and the record moves each in the same direction, so a sample begins with
        their total along it. Then come the counts, and the model's probabilities on two public points.
        """
        x = np.tile([-1.0, 1.0], 30)
        small = replace(self.setting, n_private=1, n_public=len(x), n_features=1, n_teachers=1, budget=1)
        small = replace(small, sparse=False, teacher=("logistic", {}), teacher_mapped=True)
        tiny, public = replace(self, setting=small), PublicPoints(x[:, None])
        side = tiny.look_at(public, np.random.default_rng(0))
        C = self.setting.n_classes

        def one(private: PrivateRecords, door: RecordingDoor, rng: np.random.Generator) -> FloatArray:
            model = tiny.fit(private, side, door, rng)
            counts, *sums = [out for _, out in door.released]
            total = np.sum(sums, axis=0)
            probabilities = model.predict_proba(public.X[:2]).ravel()
            return np.concatenate(
                [[float(total[0, 0] - total[0, 1])], counts[:2], probabilities[: 2 * min(C, 3)]]
            )

        def outputs(private: PrivateRecords, door: Door, rng: np.random.Generator, runs: int) -> Any:
            return [one(private, RecordingDoor(each.noise), rng) for each in door.spawn(runs)]

        def of(place: float, label: int) -> PrivateRecords:
            return PrivateRecords(np.array([[place]]), np.array([label]))

        pairs = {
            "a teacher turned about by its record's label": (of(1.0, 0), of(1.0, 1)),
            "a teacher turned about by where its record lies": (of(1.0, 0), of(-1.0, 0)),
        }
        return [SampledAttack.on(name, pair, outputs, 1000) for name, pair in pairs.items()]


def _weighted(vectors: Iterator[FloatArray], weights: FloatArray) -> Iterator[FloatArray]:
    """Weigh the directions of teachers' coefficients (k, r, C), and make each a row. PRIVATE."""
    with np.errstate(all="ignore"):
        for block in vectors:
            yield (block * weights[:, None]).reshape(len(block), -1)


def _size_of_residuals(shares: FloatArray) -> float:
    """Root mean square of the residuals where shares (m, C) are right; 1 where all classes are as likely."""
    left = 1 - float((shares**2).sum(axis=1).mean()) if len(shares) else 0.0
    return math.sqrt(max(left, 0.0) / (1 - 1 / shares.shape[1]))


def _model(space: PublicDirections, theta: FloatArray, intercept: FloatArray) -> FeatureClassifier:
    """Classifier with the probabilities ``softmax(intercept + Q theta)``."""
    function = np.vstack([theta * math.sqrt(len(space.values)), intercept])
    if function.shape[1] == 2:
        function = function[:, 1:] - function[:, :1]
    return space.model(function)
