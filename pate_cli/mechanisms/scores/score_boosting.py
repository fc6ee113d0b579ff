"""Boosting by scores: teachers of any kind, whose real scores are released in weighted public directions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from pate_cli import learners, teachers
from pate_cli.checks import Or, Real, Whole, option
from pate_cli.errors import ConfigError
from pate_cli.mechanisms.base import Mechanism, SampledAttack
from pate_cli.mechanisms.direct.clipped_gradients import probabilities
from pate_cli.mechanisms.direct.public_features import SHUFFLED, PublicKernelClassifier, enough_points
from pate_cli.mechanisms.direct.rows import UNIT
from pate_cli.mechanisms.scores.calibration import FINEST, NewtonStep
from pate_cli.mechanisms.scores.counting import auto_count, auto_rounds
from pate_cli.mechanisms.scores.directions import PublicDirections, Response, direction_weights, response_of
from pate_cli.mechanisms.scores.shrinkage import shrunk, shrunk_constant
from pate_cli.privacy.door import Door
from pate_cli.privacy.gaussian import mu_of
from pate_cli.privacy.integer import vector_mu, vector_sigma
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

__all__ = ["IntegerScoreBoostingPlan", "Options", "ScoreBoostingPlan", "auto_count", "calibrate"]

_SENSITIVITY = 2.0
"""L2 sensitivity of a sum of vectors of norm at most 1, one of which is replaced."""

_SENSITIVITY_OF_SHARES = math.sqrt(2.0)
"""The same, where no number of a vector is negative."""

_MOST = 2.0**53  # integers below it are exact in floating point
_REACH = 64.0  # standard deviations of the noise that stay below it
_LAST = 3  # steps of the calibration after all rounds

_FINER = 100.0  # unit of means, so that amplitudes of all sizes can be told from none
_NOTHING = 1e-12  # standard deviation of a function below which it is none
_ROWS = 4096  # records at a time: a constant


class PublicSide(NamedTuple):
    """What is made from public points alone.

    Attributes
    ----------
    points : ndarray or csr_matrix of shape (m, d)
        Those that teachers are asked about.
    space : PublicDirections
    weights : ndarray of shape (r,)
        Of the directions.
    response : Response or None
        What teachers say along them; of two classes.
    """

    points: Any
    space: PublicDirections
    weights: FloatArray
    response: Response | None = None

    def functions_of(self, total: FloatArray, sigma: float, n_teachers: int) -> list[Function]:
        """Make functions of a noisy sum: of vectors along directions, or of shares at points.

        Of vectors two: what teachers say with a part of what they lose put back, and a correction, the
        same as they say it less this: private records tell how much of it is better taken away again.
        """
        means, noise = total / n_teachers, sigma / n_teachers
        variances = self.space.variances
        if self.response is None:
            constant = shrunk_constant(means, noise)
            return [Function(shrunk(self.space.values.T @ means, noise, self.weights, variances), constant)]
        energy = self.response.energy
        chance = energy / max(float(self.weights**2 @ energy), 1e-300) / n_teachers
        found = shrunk(means[:, None] * _FINER, noise * _FINER, self.weights, variances, chance * _FINER**2)
        restored = found / self.response.lost[:, None]
        return [Function(one, np.zeros(1)) for one in (restored, found - restored)]


@dataclass(frozen=True)
class Options:
    """Options of `mechanism=score_boosting`."""

    rounds: int | None = option("auto", Or("auto", Whole(1, 100)))
    calibration: float | None = option("auto", Or("auto", Real(0, 1, open_above=True)))
    """Share of mu^2 for the private intercepts and slopes."""


def calibrate(options: Options, setting: Setting) -> Mechanism:
    """Share out the budget; the rounds come with the run."""
    share = options.calibration or (0.15 if setting.n_classes == 2 else 0.1)
    return ScoreBoostingPlan(setting, options.rounds or auto_rounds(setting), share)


@dataclass(frozen=True)
class ScoreBoostingPlan(Mechanism):
    r"""Boosting by scores: the student adds, in each round, what teachers say on what it still gets wrong.

    Teachers may be any classifiers. In a round the records, with weights ``(1 - p(y | x)) C/(C-1)`` by how
    wrong the student is on them, are dealt out to K teachers, and each scores the public points. Of its
    scores one vector is kept: their mean over the points taken out, projected on orthogonal directions that
    the public points span in a kernel, weighted by direction, scaled to norm 1. The noisy sum of these
    vectors is released. Their mean, shrunk by a Gaussian process that knows the noise, is a function h, what
    teachers lose (`Response.lost`) put back, and g is h without that, less h. The student's scores are
    ``b + H + G``, and become ``b + alpha H + beta h + gamma G + delta g``: intercept and slopes fitted to
    the private records by a `NewtonStep` of its own, and by three more after the last round.

    For more than two classes, where a teacher's scores are its probabilities (or its votes) of all classes,
    these are scaled to norm 1 as they are, so that none is negative and sqrt(2) is the sensitivity, not 2;
    the mean over points, a function's constant, then comes with them, and an intercept of each class is
    fitted, and the slopes of H and h: nothing is put back.

    Why so: many weak teachers agree on a direction long before their votes do, and an intercept that most
    of them share swallows votes but not centred scores. A vector of norm 1 has the sensitivity of one vote
    for all directions at once; the weights share the noise out among them.

    **Guarantee.** (eps, delta)-DP for neighbours that differ in one private record (replaced by any other
    of finite numbers; n, K and the part sizes are public). *A round's sum:* parts are dealt out
    independently of the records and disjoint, and a record's weight depends on it and on what was released
    before; so one replaced record changes one teacher, to the bit (`pate_cli.teachers`). Directions and
    their weights are made from public points and numbers. `teachers.sum_of_unit_vectors` then moves by at
    most 2 in L2, and its coordinates get N(0, (2/mu_r)^2): mu_r-GDP. (`teachers.sum_of_unit_shares` moves by
    at most sqrt(2), which then stands in place of 2.) *A calibration step:* mu_c-GDP, see
    `NewtonStep`. *All of it:* T rounds and T + 3 steps, adaptively composed, are mu-GDP with
    ``mu^2 = T mu_r^2 + (T + 3) mu_c^2`` (Dong, Roth, Su 2022, Corollary 2), where mu is the largest with
    which the exact profile (Balle and Wang 2018) gives (eps, delta); `calibration` is the share of
    ``mu^2`` that the steps have. Shrinkage and the model are post-processing. The noise itself is a
    continuous draw in floating point here, as in every experiment.

    Attributes
    ----------
    setting : Setting
    rounds : int
        T.
    calibration : float
        Share of mu^2 for the intercepts and slopes, in (0, 1).

    References
    ----------
    Friedman, Hastie, Tibshirani. Additive logistic regression: a statistical view of boosting. Annals of
    Statistics 28(2), 2000. Papernot et al. Scalable private learning with PATE. ICLR 2018.
    """

    setting: Setting
    rounds: int
    calibration: float
    whole: ClassVar[bool] = False

    @property
    def guarantee(self) -> PrivacyLoss:
        """(eps, delta) for all rounds."""
        s = self.setting
        if math.isinf(s.eps):
            return PrivacyLoss(math.inf, 0.0, "no noise")
        how = f"exact Gaussian profile of {self.rounds} sums and {self.rounds + _LAST} gradients"
        return PrivacyLoss(s.eps, s.delta, how, mu=self.mu)

    @property
    def mu(self) -> float:
        """GDP parameter of all that is released."""
        return math.inf if math.isinf(self.setting.eps) else mu_of(self.setting.eps, self.setting.delta)

    @property
    def mu_sum(self) -> float:
        """GDP parameter of one round's sum, mu_r."""
        return self.mu * math.sqrt((1 - self.calibration) / self.rounds)

    @property
    def mu_step(self) -> float:
        """GDP parameter of one calibration step, mu_c."""
        return self.mu * math.sqrt(self.calibration / (self.rounds + _LAST))

    @property
    def sensitivity(self) -> float:
        """L2 sensitivity of one round's sum."""
        return _SENSITIVITY if self.width == 1 else _SENSITIVITY_OF_SHARES

    @property
    def sigma(self) -> float:
        """Standard deviation of the noise on a coordinate of a sum; 0 for eps = inf."""
        return self.sensitivity / self.mu_sum

    @property
    def n_teachers(self) -> int:
        """K, in each round."""
        return self.setting.n_teachers

    @property
    def longest(self) -> int:
        """Most numbers of a gradient: intercepts, and slopes of functions of before and of a round.

        Of two classes two of each, of more one.
        """
        return self.width + (4 if self.width == 1 else 2)

    @property
    def width(self) -> int:
        """Columns of the scores, q: 1 for two classes, else one a class."""
        return 1 if self.setting.n_classes == 2 else self.setting.n_classes

    def describe(self) -> dict[str, Any]:
        """Its public numbers."""
        return {
            "rounds": self.rounds,
            "calibration": self.calibration,
            "sigma": self.sigma,
            "sensitivity": self.sensitivity,
            "mu_sum": self.mu_sum,
            "mu_step": self.mu_step,
        }

    def release(
        self, private: Private, public: PublicPoints, door: Door, rng: np.random.Generator
    ) -> Released:
        """Do the rounds; see `Mechanism`."""
        model = self.fit(private.records, self.look_at(public, rng), door, rng)
        everything = np.arange(public.n_points, dtype=np.int64)
        answered = Answers(everything, model.predict(public.X), n_teachers=self.n_teachers)
        return Released(model, answered, self.guarantee)

    def look_at(self, public: PublicPoints, rng: np.random.Generator) -> PublicSide:
        """Make all that is made from public points; no private record is there to be looked at."""
        if self.width > 1:
            space = PublicDirections.of(public.X, rng)
            return PublicSide(public.X, space, np.ones(len(space.variances)))
        points = enough_points(public.X, rng)
        space = PublicDirections.of(points, rng)
        response = response_of(space, points, self.setting, rng)
        weights = direction_weights(response, space.variances, self.sigma / self.n_teachers)
        return PublicSide(points, space, weights, response)

    def fit(
        self, private: PrivateRecords, side: PublicSide, door: Door, rng: np.random.Generator
    ) -> PublicKernelClassifier:
        """Do the rounds, all that looks at private records; an audit attacks this."""
        s, (points, space, weights, _) = self.setting, side
        learner = learners.make_learner(*s.teacher, seed=None, n_classes=s.n_classes)
        newton = NewtonStep(self.mu_step, self.width, self.whole)
        student = _Student(space, private, newton, door)
        for _ in range(self.rounds):
            ensemble = teachers.train(
                private,
                n_teachers=s.n_teachers,
                learner=learner,
                rng=rng,
                n_classes=s.n_classes,
                sample_weight=student.wrong(),
                strict=not self.whole,
            )
            if self.width > 1:
                total = teachers.sum_of_unit_shares(ensemble, points)
            else:
                total = teachers.sum_of_unit_vectors(ensemble, points, space.values * weights)
            student.step(side.functions_of(self.noisy(total, door), self.sigma, s.n_teachers))
        for _ in range(_LAST):
            student.step([])
        return PublicKernelClassifier(space.features, space.weights(*student.function))

    def noisy(self, total: FloatArray, door: Door) -> FloatArray:
        """Release a round's sum."""
        unit = teachers.unit_of(self.n_teachers) if self.whole else None
        sigma = self.sigma if unit is None else unit * vector_sigma(self.sensitivity / unit, self.mu_sum)
        return door.gaussian(total, sensitivity=self.sensitivity, sigma=sigma, unit=unit)

    def with_exact_noise(self) -> Mechanism:
        """Calibrate for integer noise; see `IntegerScoreBoostingPlan`.

        Raises
        ------
        ConfigError
            If it would pass the integers that are exact in floating point.
        """
        exact = IntegerScoreBoostingPlan(self.setting, self.rounds, self.calibration)
        if _REACH * exact.sigma / teachers.unit_of(self.n_teachers) >= _MOST:
            raise ConfigError("eps", self.setting.eps, "more with release=true: its noise is too large")
        if _REACH * vector_sigma(FINEST, exact.mu_step) >= _MOST:
            accepted = "more with release=true: the noise of its steps is too large"
            raise ConfigError("mechanism.calibration", self.calibration, accepted)
        return exact

    def attacks(self) -> list[SampledAttack]:
        """Private sets that differ in one record, for an audit, put to `fit` itself."""
        from pate_cli.mechanisms.scores.attack import attacks

        return attacks(self)


@dataclass(frozen=True)
class IntegerScoreBoostingPlan(ScoreBoostingPlan):
    """`ScoreBoostingPlan` for a release: all noise is N_Z(0, sigma^2), in units of what is added up.

    **Guarantee.** (eps, delta)-DP under the assumptions of `ScoreBoostingPlan`. A round's sum is whole
    multiples of `teachers.unit_of`, each teacher's vector rounded towards 0 by itself, and a step's of
    `score_calibration.grain_of`, each record's gradient rounded so; rounding adds nothing to what one record
    moves. In those units the noise is integer noise on vectors of integers, whose proof is in
    `pate_cli.privacy.integer`: mu^2 adds up over rounds and steps as in `ScoreBoostingPlan`, and sigma^2 has
    4 units more. A teacher that cannot be fitted is a constant one, so whether a release is made does
    not depend on the records.
    """

    whole: ClassVar[bool] = True

    @property
    def guarantee(self) -> PrivacyLoss:
        """(eps, delta) for all rounds."""
        s = self.setting
        how = f"Gaussian profile of integer noise on {self.rounds} sums and {self.rounds + _LAST} gradients"
        return PrivacyLoss(s.eps, s.delta, how)

    @property
    def mu(self) -> float:
        """GDP parameter that all noise together is for."""
        s = self.setting
        of_sums = max(s.n_public, SHUFFLED) * self.width
        return vector_mu(s.eps, s.delta, (self.rounds + _LAST) * (of_sums + self.longest))

    def describe(self) -> dict[str, Any]:
        """Its public numbers."""
        return super().describe() | {"integer_noise": True}


class Function(NamedTuple):
    """A function: coefficients along directions, of shape (r, q), and a constant, of shape (q,)."""

    coefficients: FloatArray
    constant: FloatArray

    def plus(self, other: Function, slope: float) -> Function:
        """Add a multiple of another."""
        return Function(
            self.coefficients + slope * other.coefficients, self.constant + slope * other.constant
        )


class _Student:
    """The student on its way: what is public of it, and its values at the records. PRIVATE.

    Its scores are an intercept, for more than two classes one of each, and a sum of functions, each with a
    slope of its own.

    Attributes
    ----------
    intercept : ndarray of shape (q,)
        PUBLIC.
    functions : list of Function
        PUBLIC. Those of one kind added up over the rounds: what is told, and corrections.
    """

    def __init__(
        self, space: PublicDirections, private: PrivateRecords, newton: NewtonStep, door: Door
    ) -> None:
        self._space, self._newton, self._door, self._y = space, newton, door, private.y
        self._features = space.features.apply(private.X)
        self._scores = np.zeros((private.n_records, newton.width))
        self._values: list[FloatArray] = []
        self.intercept = np.zeros(newton.width)
        self.functions: list[Function] = []

    @property
    def function(self) -> Function:
        """Its scores, as one function. PUBLIC."""
        total = self._nothing()
        for one in self.functions:
            total = total.plus(one, 1.0)
        return Function(total.coefficients, total.constant + self.intercept)

    def wrong(self) -> FloatArray:
        """How wrong it is on each record: 1 for one that guesses; never 0, a teacher needs weight."""
        shares = probabilities(self._scores)
        if shares.shape[1] == 1:
            shares = np.hstack([1 - shares, shares])
        n_classes = shares.shape[1]
        missed = (1 - shares[np.arange(len(self._y)), self._y]) * n_classes / (n_classes - 1)
        weights: FloatArray = np.maximum(missed, 1e-6)
        return weights

    def step(self, found: Sequence[Function]) -> None:
        """Add functions, if any, and fit intercept and slopes by one step."""
        while len(self.functions) < len(found):
            self.functions.append(self._nothing())
            self._values.append(np.zeros_like(self._scores))
        parts = [(one, values, 1.0) for one, values in zip(self.functions, self._values, strict=True)]
        parts += [(one, self._at_records(one), 0.0) for one in found]
        known = [self._space.values @ one.coefficients + one.constant for one, *_ in parts]
        together = len(self.functions)
        # a correction in units of what it corrects: the damping then keeps small ones to what they were
        firsts = [known[i - i % together] for i in range(len(parts))]
        spreads = [float(np.sqrt(np.mean(there**2))) for there in firsts]
        heard = [i for i, spread in enumerate(spreads) if spread > _NOTHING]
        at = self._newton.take(
            np.concatenate([self.intercept, [parts[i][2] * spreads[i] for i in heard]]),
            [known[i] / spreads[i] for i in heard],
            [parts[i][1] / spreads[i] for i in heard],
            self._y,
            self._door,
        )
        slopes = np.zeros(len(parts))
        slopes[heard] = at[len(self.intercept) :] / np.array(spreads)[heard]
        self.intercept = at[: len(self.intercept)]
        self.functions = [self._nothing() for _ in self.functions]
        self._values = [np.zeros_like(self._scores) for _ in self.functions]
        for i, (one, values, _) in enumerate(parts):
            place = i % together
            self.functions[place] = self.functions[place].plus(one, slopes[i])
            self._values[place] += slopes[i] * values
        self._scores = sum(self._values, np.tile(self.intercept, (len(self._y), 1)))

    def _nothing(self) -> Function:
        width = self._newton.width
        return Function(np.zeros((len(self._space.variances), width)), np.zeros(width))

    def _at_records(self, function: Function) -> FloatArray:
        """Values of a function at the records, shape (n, q)."""
        weights = self._space.weights(*function) * UNIT
        values = np.empty_like(self._scores)
        for first in range(0, len(values), _ROWS):
            rows = slice(first, first + _ROWS)
            values[rows] = self._features[rows] @ weights
        return values
