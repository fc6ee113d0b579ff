"""`mechanism=svt`: the sparse vector technique, with T from public numbers, BTT18 or a private estimate."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pate_cli.checks import Or, Real, Whole, option
from pate_cli.errors import ConfigError
from pate_cli.mechanisms import gaussian, teaching
from pate_cli.mechanisms.base import UNPROVED, Mechanism, SampledAttack, VoteMechanism
from pate_cli.mechanisms.options import MechanismOptions
from pate_cli.mechanisms.sparse_vector import CALIBRATION, cutoff_for_error, printed_sizes, stable_labels
from pate_cli.mechanisms.votes import Step, Steps
from pate_cli.privacy.above_threshold import AboveThreshold
from pate_cli.privacy.door import Door
from pate_cli.privacy.events import Account, Pure
from pate_cli.privacy.kinds import LaplaceNoise
from pate_cli.types import (
    FloatArray,
    PrivacyLoss,
    Private,
    PrivateRecords,
    PublicPoints,
    Released,
    Setting,
    Votes,
)

__all__ = ["Options", "PrivateCutoff", "calibrate"]

_ERROR = 0.25
"""Error of the teachers in an audit of the private cutoff."""


@dataclass(frozen=True)
class Options(MechanismOptions):
    """Options of `mechanism=svt`.

    `holdout` and `share` are of ``cutoff=private``; `alpha`, `gamma` and `beta` of ``cutoff=paper``.
    """

    checked = (
        {"cutoff": 2, "calibration": "liu2021"},
        {"cutoff": "private"},
    )

    calibration: str = option("tight", CALIBRATION)
    cutoff: int | str | None = option(
        "auto", Or("auto", Or("private", Or("paper", Whole(1), gives="paper"), gives="private"))
    )
    holdout: float = option(0.1, Real(0, 1, open_above=True))
    share: float = option(0.1, Real(0, 1, open_above=True))
    alpha: float = option(0.05, Real(0, 1, open_above=True))
    gamma: float = option(0.0, Real(0, 1, closed_below=True, open_above=True))
    beta: float = option(0.05, Real(0, 1, open_above=True))

    def label(self, name: str) -> str:
        """Where T is private, teachers have fewer records."""
        return "svt_private" if self.cutoff == "private" else "svt"

    def best_points(self, n_private: int, n_features: int, eps: float) -> float:
        """Number of public points m* that minimises the bound of Theorem 10 at tau = 1 (LZCW21 Remark 12).

        ``d/m + m d^2/(n eps)^2``, without constants and logarithms: ``n eps/sqrt(d)``. Theorem 5's bound of
        the realizable case, in place of d/m its root, has ``(n eps)^(4/3)/d`` (Remark 6).
        """
        return n_private * eps / math.sqrt(n_features)


def calibrate(options: Options, setting: Setting) -> Mechanism:
    """Calibrate for all public points; without privacy it is the exact majority."""
    s, o, T, K = setting, options, options.cutoff, setting.n_teachers
    if T == "paper" and o.calibration != "bassily2018":
        accepted = "auto, private or a whole number >= 1; paper with mechanism.calibration=bassily2018"
        raise ConfigError("mechanism.cutoff", T, accepted)
    if T == "private":
        return _private_cutoff(o, s)
    if math.isinf(s.eps):
        return replace(gaussian.calibrate(gaussian.Options(), s), labels_only=True)
    if isinstance(T, str):  # paper
        T, K = printed_sizes(o.gamma + o.alpha, o.beta, s)
    return stable_labels(
        s.eps,
        s.delta,
        s.n_public,
        K,
        rule=o.calibration,
        cutoff=T,
        n_records=s.n_private,
        n_classes=s.n_classes,
    )


def _private_cutoff(options: Options, setting: Setting) -> PrivateCutoff:
    """Hold back a fraction `holdout` of the records, spend a `share` of eps on the estimate."""
    K, eps, rule = setting.n_teachers, setting.eps, options.calibration
    n_holdout = max(1, round(options.holdout * setting.n_private))
    if setting.n_private - n_holdout < K:
        accepted = f"a fraction that leaves a record for each of {K} teachers"
        raise ConfigError("mechanism.holdout", options.holdout, accepted)
    if math.isinf(eps):
        return PrivateCutoff(setting, rule, n_holdout, 0.0, math.inf)
    scale = max(1 / (K * options.share * eps), 1 / (n_holdout * eps))
    mechanism = PrivateCutoff(setting, rule, n_holdout, scale, eps - 1 / (K * scale))
    # refuses what cannot answer even with the smallest T
    stable_labels(mechanism.eps_svt, setting.delta, setting.n_public, K, rule=rule, cutoff=1)
    return mechanism


@dataclass(frozen=True)
class PrivateCutoff(Mechanism):
    """The sparse vector technique with T from a private estimate of the teachers' error.

    At random, `n_holdout` records are held back and the others dealt to K teachers. Let q be the mean over
    teachers and held-back records of ``1(teacher errs on record)``. ``q + Lap(scale)`` is released, T is
    computed from it, and the sparse vector technique with that T labels the public points.

    **Guarantee.** (eps, delta)-DP for neighbours that differ in one private record. The record is in one
    of two places, by chance and not by the data:

    - *held back*: q moves by at most ``1/n_holdout`` (K teachers, each right or wrong on one record),
      and no teacher has seen it, so all else is post-processing: ``1/(n_holdout scale) <= eps``, pure.
    - *with a teacher*: that teacher may change on every held-back record at once, which moves q by at
      most ``1/K``: ``eps_estimate = 1/(K scale)``, pure. For every T the sparse vector technique is
      (eps_svt, delta)-DP; the two compose to ``(eps_estimate + eps_svt, delta)``, and
      ``eps_svt = eps - eps_estimate``.

    The sensitivity of q is therefore ``max(1/K, 1/n_holdout)``, not the ``1/n_holdout`` of a fixed
    classifier's error. And it must be the *mean* error of a teacher: the error of the teachers' *vote*
    can go from 0 to 1 with one teacher, where margins are one vote. As a record never pays for both, the
    two places share eps in parallel: ``scale = max(1/(K share eps), 1/(n_holdout eps))``.

    References
    ----------
    BTT18, Theorem 3.2 and Remark 1.
    """

    setting: Setting
    rule: str
    n_holdout: int  # records held back, at least 1
    scale: float  # of the Laplace noise on q; 0 at eps = inf
    eps_svt: float  # left for the sparse vector technique where a teacher's record changes

    @property
    def eps_estimate(self) -> float:
        """Cost of the estimate to a teacher's record."""
        return self.setting.eps - self.eps_svt if self.scale else 0.0

    @property
    def guarantee(self) -> PrivacyLoss:
        """(eps, delta) for estimate and labels together."""
        s = self.setting
        if not self.scale:
            return PrivacyLoss(math.inf, 0.0, "no noise")
        how = f"Laplace on the teachers' error (eps {self.eps_estimate:.4g}) + sparse vector, {self.rule}"
        return PrivacyLoss(s.eps, s.delta, how)

    @property
    def n_teachers(self) -> int:
        """K."""
        return self.setting.n_teachers

    @property
    def n_held_out(self) -> int:
        """See `Mechanism`."""
        return self.n_holdout

    @property
    def spends_all(self) -> bool:
        """See `Mechanism`."""
        return self.rule == "tight"

    def loss(self, spent: Account) -> PrivacyLoss:
        """Larger of the costs of the two places of a record."""
        if not self.scale:
            return self.guarantee
        if not spent.only(Pure, AboveThreshold):
            return UNPROVED
        eps, delta = AboveThreshold.compose(spent)
        # the door counts a teacher's record; one held back moves the estimate alone, by 1/n_holdout
        held_back = Pure.sum(spent) * self.n_teachers / self.n_holdout
        return PrivacyLoss(max(Pure.sum(spent) + eps, held_back), delta, "the worse of two places")

    @property
    def asks_at_most(self) -> int:
        """See `Mechanism`."""
        return self.setting.n_public

    def describe(self) -> dict[str, Any]:
        """Its public numbers; T itself is chosen in each repeat."""
        names = ("n_holdout", "scale", "eps_estimate", "eps_svt")
        numbers = {"ell": self.setting.n_public, "rule": self.rule, "cutoff": "private"}
        return numbers | {name: getattr(self, name) for name in names}

    def release(
        self, private: Private, public: PublicPoints, door: Door, rng: np.random.Generator
    ) -> Released:
        """Hold back, train, estimate, choose T, label all public points, fit the student."""
        records, s = private.records, self.setting
        dealt = rng.permutation(records.n_records)
        back, for_teachers = dealt[: self.n_holdout], dealt[self.n_holdout :]
        ensemble = teaching.train_teachers(
            s,
            PrivateRecords(records.X[for_teachers], records.y[for_teachers], features=records.features),
            rng,
        )
        for_estimate, for_labels = door.spawn(2)
        error = 1 - ensemble.accuracy(records.seen(s.teacher_mapped).X[back], records.y[back])
        labelling = self.labelling(float(self.estimate(error, for_estimate)[0]))
        teachers = Private(records, lambda: ensemble.votes(public.seen(s.teacher_mapped).X))
        labelled = labelling.release(teachers, public.seen(s.student_mapped), for_labels, rng)
        model = teaching.fit_student(s, public, labelled.answers, rng)
        return Released(model, labelled.answers)

    def estimate(self, error: float, door: Door, runs: int = 1) -> FloatArray:
        """Release the teachers' mean error in every run, shape (R,). PRIVATE in, public out."""
        # of a teacher's record; `loss` has that of one held back
        kind = LaplaceNoise(sensitivity=1 / self.n_teachers, scale=self.scale)
        noisy: FloatArray = door.release(np.full(runs, error), kind)
        return noisy

    def labelling(self, estimate: float) -> VoteMechanism:
        """Calibrate the sparse vector technique with T chosen from the released estimate: post-processing."""
        s = self.setting
        if not self.scale:
            return gaussian.calibrate(gaussian.Options(), s)
        sizes = (self.eps_svt, s.delta, s.n_public, s.n_teachers)
        return stable_labels(*sizes, rule=self.rule, cutoff=cutoff_for_error(estimate, *sizes, self.rule))

    def after(self, spent: Account) -> PrivacyLoss:
        """See `Mechanism`."""
        if not self.scale:
            return self.guarantee
        labels = AboveThreshold.after(spent)
        eps = max(self.eps_estimate + labels.eps, 1 / (self.n_holdout * self.scale))
        how = f"Laplace on the teachers' error + {labels.how}"
        return PrivacyLoss(min(eps, self.setting.eps), labels.delta, how, data_dependent=True)

    def with_exact_noise(self) -> Mechanism:
        """Refuse: the estimate has no exact noise."""
        raise ConfigError("mechanism.cutoff", "private", "auto, or a whole number >= 1, with release=true")

    def attacks(self) -> list[SampledAttack]:
        """Worst-case errors and votes for an audit, of the two places of a record.

        Samples have shape (runs, 1 + m): the released estimate, then for each query its label, -1 for
        unstable, -2 where the run took no more.
        """
        K, m, steps = self.n_teachers, self.setting.n_public, Steps(self.n_teachers)
        labelling = functools.cache(self.labelling)
        expected: Any = labelling(_ERROR)
        kinds: dict[str, tuple[float, list[Step]]] = {
            "a held-back record": (1 / self.n_holdout, [(steps.half_way[0], steps.half_way[0])] * m),
            "a teacher's record, critical queries": (1 / K, [steps.critical] * m),
            "a teacher's record, queries half-way": (1 / K, [steps.half_way] * m),
            "the same, at the threshold, more and less in turn": (
                1 / K,
                steps.in_turn(expected.calibration.threshold, m),
            ),
        }

        def outputs(side: Any, door: Door, rng: np.random.Generator, runs: int) -> FloatArray:
            """Outputs at an error of the teachers, and so many votes for class 1 of each query.

            T is chosen from the estimate in steps of 1/20 (post-processing): few to calibrate.
            """
            error, ones = side
            for_estimate, for_labels = door.spawn(2)
            estimates = self.estimate(error, for_estimate, runs)
            rounded = np.round(np.clip(estimates, 0.0, 0.5) * 20) / 20
            votes = Votes(np.column_stack([K - ones, ones]), K)
            out = np.full((runs, 1 + votes.n_queries), -2.0)
            out[:, 0] = estimates
            values = np.unique(rounded).tolist()
            for value, each in zip(values, for_labels.spawn(len(values)), strict=True):
                among = np.flatnonzero(rounded == value)
                released = labelling(value).session(each, len(among)).ask(votes)
                out[among, 1:] = np.where(released.reached, released.labels, -2).T
            return out

        attacks = []
        for name, (moved, queries) in kinds.items():
            ones = np.array(queries).T
            sides = ((_ERROR, ones[0]), (_ERROR + moved, ones[1]))
            attacks.append(SampledAttack.on(name, sides, outputs, runs=100_000))
        return attacks
