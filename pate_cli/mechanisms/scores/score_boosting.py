"""Boosting by scores: teachers of any kind, whose real scores are released in weighted public directions."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pate_cli import teachers
from pate_cli.checks import Or, Real, Whole, option
from pate_cli.errors import ConfigError
from pate_cli.features.kernel import MOST_DIRECTIONS
from pate_cli.mechanisms.base import Mechanism, SampledAttack
from pate_cli.mechanisms.options import MechanismOptions
from pate_cli.mechanisms.scores.directions import PublicSide
from pate_cli.mechanisms.scores.student import FINEST, BoostedStudent, NewtonStep
from pate_cli.privacy.door import Door, RecordingDoor
from pate_cli.privacy.gaussian import mu_of, vector_mu, vector_sigma
from pate_cli.privacy.kinds import GaussianNoise
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

__all__ = ["Options", "ScoreBoosting", "calibrate"]

_SENSITIVITY = 2.0
"""L2 sensitivity of a sum of vectors of norm at most 1, one of which is replaced."""

_SENSITIVITY_OF_SHARES = math.sqrt(2.0)
"""The same, where no number of a vector is negative."""

_MOST = 2.0**53  # integers below it are exact in floating point
_REACH = 64.0  # standard deviations of the noise that stay below it
_LAST = 3  # steps of the calibration after all rounds

_FEWEST_RECORDS = 12  # of a teacher
_RECORDS = 0.35  # of a teacher, per root of mu n
_LARGEST_MU = 6.0  # for the rules: noise beyond is negligible


@dataclass(frozen=True)
class Options(MechanismOptions):
    """Options of `mechanism=score_boosting`."""

    rounds: int | None = option("auto", Or("auto", Whole(1, 100)))
    calibration: float | None = option("auto", Or("auto", Real(0, 1, open_above=True)))
    """Share of mu^2 for the private intercepts and slopes."""

    def auto_count(self, n_private: int, n_classes: int, eps: float, delta: float) -> int:
        """Choose the number of teachers, in [1, n_private], from public numbers (`teacher.count=auto`).

        Scores are averaged, not counted, so a teacher need only be right a little more often than wrong:
        where noise is what costs accuracy, many weak teachers serve better than few good ones, down to 12
        records each, or one a class. Where it is not, weak ones agree on another model than the best: a
        teacher then has ``0.35 sqrt(mu n)`` records.

        Examples
        --------
        >>> [Options().auto_count(6_499, 2, eps, 1 / 6_499) for eps in (0.5, 1, 2)]
        [541, 404, 298]
        """
        records = _RECORDS * math.sqrt(_largest_mu(eps, delta) * n_private)
        return max(1, int(n_private / max(_FEWEST_RECORDS, n_classes, records)))


def calibrate(options: Options, setting: Setting) -> Mechanism:
    """Share out the budget between rounds and steps."""
    share = options.calibration or (0.15 if setting.n_classes == 2 else 0.1)
    return ScoreBoosting(setting, options.rounds or auto_rounds(setting), share)


@dataclass(frozen=True)
class ScoreBoosting(Mechanism):
    r"""Boosting whose rounds release noisy sums of the teachers' scores, in public directions.

    Additive logistic regression (Friedman, Hastie, Tibshirani 2000) by teachers. In each of T rounds the
    private records, with weights ``(1 - p(y | x)) C/(C-1)`` by how wrong the student is, are dealt out to K
    teachers, any classifiers, and each scores the public points. Its vector is these scores less their mean,
    projected on orthogonal directions that the points span in a kernel, weighted by direction, scaled to
    norm 1. The noisy sum of the vectors is released. Their mean, shrunk by a Gaussian process that knows the
    noise, is a function h, with the teachers' attenuation (`Response.attenuation`) undone, and g is h without
    that, less h. The student's scores ``b + H + G`` become ``b + alpha H + beta h + gamma G + delta g``:
    intercept and slopes are fitted to the private records by a `NewtonStep`, and by three more after the
    last round.

    For more than two classes a teacher's vector is its probabilities (or votes) of all classes, scaled to
    norm 1: none is negative, so sqrt(2) is the sensitivity, not 2. An intercept of each class is fitted, and
    the slopes of H and h: no attenuation is undone.

    Many weak teachers agree on a direction long before their votes do, and a vector of norm 1 has the
    sensitivity of one vote for all directions at once.

    **Guarantee.** (eps, delta)-DP for neighbours that differ in one private record (replaced by any other
    of finite numbers; n, K and the part sizes are public). *A round's sum:* parts are dealt out
    independently of the records and disjoint, and a record's weight depends on it and on what was released
    before; so one replaced record changes one teacher, to the bit (`pate_cli.teachers`). Directions and
    their weights are made from public points and numbers. `teachers.sum_of_unit_vectors` then moves by at
    most 2 in L2, and its coordinates get N(0, (2/mu_r)^2): mu_r-GDP. (`teachers.sum_of_unit_shares` moves by
    at most sqrt(2), which then stands in place of 2.) *A calibration step:* mu_c-GDP, see `NewtonStep`.
    *All of it:* T rounds and T + 3 steps, adaptively composed, are mu-GDP with
    ``mu^2 = T mu_r^2 + (T + 3) mu_c^2`` (Dong, Roth, Su 2022, Corollary 2), where mu is the largest with
    which the exact profile (Balle and Wang 2018) gives (eps, delta). Shrinkage and the model are
    post-processing.

    *Integer noise* (`integer_noise`, for a release). A round's sum is whole multiples of `teachers.grain_of`,
    each teacher's vector rounded towards 0 by itself, and a step's of `student.grain_of`, each record's
    gradient rounded so; rounding adds nothing to what one record moves. In those units the noise is
    N_Z(0, sigma^2) on vectors of integers, whose proof is in `pate_cli.privacy.gaussian`: mu^2 adds up as
    above, and sigma^2 has 4 units more. A teacher that cannot be fitted is a constant one, so whether a
    release is made does not depend on the records. Without it the noise is a draw in floating point, for
    experiments.
    """

    in_words = "what teachers say of the public points is summed, in rounds, with noise of whole numbers"
    setting: Setting
    rounds: int  # T
    calibration: float  # share of mu^2 for the intercepts and slopes, in (0, 1)
    integer_noise: bool = False

    @property
    def guarantee(self) -> PrivacyLoss:
        """(eps, delta) for all rounds."""
        s = self.setting
        if math.isinf(s.eps):
            return PrivacyLoss(math.inf, 0.0, "no noise")
        of_all = f"{self.rounds} sums and {self.rounds + _LAST} gradients"
        if self.integer_noise:
            return PrivacyLoss(s.eps, s.delta, f"Gaussian profile of integer noise on {of_all}")
        return PrivacyLoss(s.eps, s.delta, f"exact Gaussian profile of {of_all}", mu=self.mu)

    @property
    def directions(self) -> int:
        """See `Mechanism`."""
        return MOST_DIRECTIONS

    @property
    def mu(self) -> float:
        """GDP parameter that all noise together is for."""
        s = self.setting
        if math.isinf(s.eps):
            return math.inf
        if self.integer_noise:
            of_sums = PublicSide.most_points(s.n_public) * self.width
            return vector_mu(s.eps, s.delta, (self.rounds + _LAST) * (of_sums + self.longest))
        return mu_of(s.eps, s.delta)

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
        names = ("rounds", "calibration", "sigma", "sensitivity", "mu_sum", "mu_step")
        numbers = {name: getattr(self, name) for name in names}
        return numbers | ({"integer_noise": True} if self.integer_noise else {})

    def release(
        self, private: Private, public: PublicPoints, door: Door, rng: np.random.Generator
    ) -> Released:
        """Do the rounds; see `Mechanism`."""
        model = self.fit(private.records, self.look_at(public, rng), door, rng)
        everything = np.arange(public.n_points, dtype=np.int64)
        answered = Answers(everything, model.predict(public.X), n_teachers=self.n_teachers)
        return Released(model, answered)

    def look_at(self, public: PublicPoints, rng: np.random.Generator) -> PublicSide:
        """See `Mechanism`."""
        return PublicSide.of(public, self.setting, self.sigma / self.n_teachers, rng)

    def fit(self, private: PrivateRecords, side: PublicSide, door: Door, rng: np.random.Generator) -> Any:
        """Do the rounds, all that reads private records; an audit attacks this."""
        s = self.setting
        student = BoostedStudent(
            side.space, private, NewtonStep(self.mu_step, self.width, self.integer_noise), door
        )
        seen = private.seen(s.teacher_mapped)
        for _ in range(self.rounds):
            ensemble = teachers.train(
                seen,
                n_teachers=s.n_teachers,
                learner=side.learner,
                rng=rng,
                n_classes=s.n_classes,
                sample_weight=student.mistakes(),
                strict=not self.integer_noise,
            )
            total = side.sum_of(ensemble)
            student.step(side.functions_of(self._noisy(total, door), self.sigma, s.n_teachers))
        for _ in range(_LAST):
            student.step()
        return student.model

    def _noisy(self, total: FloatArray, door: Door) -> FloatArray:
        """Release a round's sum."""
        grain = teachers.grain_of(self.n_teachers) if self.integer_noise else None
        sigma = self.sigma if grain is None else grain * vector_sigma(self.sensitivity / grain, self.mu_sum)
        noisy: FloatArray = door.release(
            total, GaussianNoise(sensitivity=self.sensitivity, sigma=sigma, grain=grain)
        )
        return noisy

    def with_exact_noise(self) -> Mechanism:
        """Calibrate for integer noise; raises ConfigError if it would exceed the integers exact in floats."""
        exact = replace(self, integer_noise=True)
        if _REACH * exact.sigma / teachers.grain_of(self.n_teachers) >= _MOST:
            raise ConfigError("eps", self.setting.eps, "more with release=true: its noise is too large")
        if _REACH * vector_sigma(FINEST, exact.mu_step) >= _MOST:
            accepted = "more with release=true: the noise of its steps is too large"
            raise ConfigError("mechanism.calibration", self.calibration, accepted)
        return exact

    def attacks(self) -> list[SampledAttack]:
        """One tree on two records on a line; replacing one of them reverses its predictions.

        Public points of two kinds span one direction, so of two classes the teacher's vector of norm 1 is one
        number, 1 or -1: it moves by 2 in every round, as much as is allowed. The record's gradient in a
        calibration step changes sign too.

        All sums have the same noise, and the record moves each in the same direction, so a sample begins with
        their total along it. Then come the sum of the steps' gradients, and the model's scores on two public
        points: at most 8 numbers.
        """
        x = np.tile([-1.0, 1.0], 30)
        public, T = PublicPoints(x[:, None]), self.rounds
        small = replace(self.setting, n_private=2, n_public=public.n_points, n_features=1, n_teachers=1)
        small = replace(small, budget=1, sparse=False, teacher=("tree", {}), teacher_mapped=False)
        tiny = replace(self, setting=small)
        side = tiny.look_at(public, np.random.default_rng(0))
        moved = (
            side.space.values.T @ x
            if self.width == 1
            else np.outer(x, [-1.0, 1.0] + [0.0] * (self.width - 2))
        )
        moved *= 2 / math.sqrt(len(x))
        sets = [PrivateRecords(np.array([[-0.5], [far]]), np.array([0, 1])) for far in (1.0, -1.4)]

        def one(private: PrivateRecords, door: RecordingDoor, rng: np.random.Generator) -> FloatArray:
            model = tiny.fit(private, side, door, rng)
            released = [out for _, out in door.released]
            sums, steps = released[: 2 * T : 2], released[1 : 2 * T : 2] + released[2 * T :]
            gradient = np.zeros(tiny.longest)
            for step in steps:  # one of fewer functions is shorter
                gradient[: len(step)] += step
            along = float(moved.ravel() @ sum(sums).ravel())
            return np.concatenate([[along], gradient, np.ravel(model.decision_function(public.X[:2]))[:3]])

        def outputs(private: PrivateRecords, door: Door, rng: np.random.Generator, runs: int) -> Any:
            return [one(private, RecordingDoor(each.noise), rng) for each in door.spawn(runs)]

        return [SampledAttack.on("a teacher turned about by one record", (sets[0], sets[1]), outputs, 1000)]


def auto_rounds(setting: Setting) -> int:
    """Choose the number of rounds from public numbers: fewer of several classes where noise is large.

    Shares of classes, unlike vectors in directions, are no better known for being asked again: a round costs
    as much as votes, and where noise drowns them four at half the signal each are worth less than one.
    """
    if setting.n_classes == 2:
        return 8
    mu = _largest_mu(setting.eps, setting.delta)
    return min(4, max(1, round(mu * setting.n_teachers / (4 * setting.n_classes))))


def _largest_mu(eps: float, delta: float) -> float:
    return _LARGEST_MU if math.isinf(eps) else min(mu_of(eps, delta), _LARGEST_MU)
