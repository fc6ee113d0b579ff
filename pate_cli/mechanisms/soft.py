"""Soft labels (BTT18, long version, Algorithms 6 to 8): teachers have scores, bins of scores are released.

A query's scores are put into bins of width alpha. If the fullest bin is stable, its middle is the
answer; if not, fresh noise, and the fullest of the bins shifted by alpha/2 is tested; if that is
not stable either, the answer is bottom. The student learns from the scores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pate_cli.checks import Real, option
from pate_cli.errors import ConfigError, InfeasibleError
from pate_cli.mechanisms import score_bins
from pate_cli.mechanisms.base import Mechanism, SampledAttack
from pate_cli.mechanisms.sparse_vector import CALIBRATION, CUTOFF, auto_cutoff, can_answer, fewest_teachers
from pate_cli.mechanisms.teaching import fit_student, make_teacher, train_teachers
from pate_cli.privacy import svt
from pate_cli.privacy.door import Door
from pate_cli.types import (
    UNANSWERED,
    Answers,
    FloatArray,
    IntArray,
    PrivacyLoss,
    Private,
    PublicPoints,
    Released,
    Setting,
)

__all__ = ["Options", "SoftPlan", "calibrate", "fit_on_scores"]


class _Width:
    """1 over a whole number: the width of a bin."""

    def take(self, value: object) -> float:
        width = Real(1e-6, 0.5, closed_below=True).take(value)
        if abs(round(1 / width) * width - 1) > 1e-3:  # 0.333 is meant to be a third
            raise ValueError
        return width

    def describe(self) -> str:
        return "1 over a whole number of at least 2, as 0.1"


_WIDTH = _Width()


@dataclass(frozen=True)
class SoftPlan(Mechanism):
    """Soft labels, calibrated; see `pate_cli.mechanisms.score_bins.SoftSession` for the guarantee.

    Attributes
    ----------
    setting : Setting
    n_bins : int
        B, at least 2.
    cutoff : int
        T: queries that may go unanswered, if both their tests fail.
    calibration : SvtCalibration or None
        For 2 T and twice the number of queries; None at eps = inf.
    """

    persons = "parts"
    setting: Setting
    n_bins: int
    cutoff: int
    calibration: svt.SvtCalibration | None

    @property
    def guarantee(self) -> PrivacyLoss:
        """(eps, delta) for the whole run."""
        c = self.calibration
        if c is None:
            return PrivacyLoss(math.inf, 0.0, "no noise")
        return PrivacyLoss(c.eps, c.delta, f"sparse vector, {c.rule}: {c.cutoff} failed tests of bins")

    @property
    def n_teachers(self) -> int:
        """K."""
        return self.setting.n_teachers

    def describe(self) -> dict[str, Any]:
        """Its public numbers; `tests` are the sub-queries the noise is calibrated for."""
        c = self.calibration
        numbers: dict[str, Any] = {
            "ell": self.setting.n_public,
            "width": 1 / self.n_bins,
            "cutoff": self.cutoff,
        }
        if c is None:
            return numbers
        return numbers | {
            "rule": c.rule,
            "tests": c.ell,
            "failed_tests": c.cutoff,
            "threshold": c.threshold,
            "threshold_scale": c.threshold_scale,
            "query_scale": c.query_scale,
            "redraw": c.redraw,
            "noise": c.noise,
        }

    def unanswered(self) -> str | None:
        """Say how many queries may fail both tests; see `Mechanism`."""
        if self.calibration is None:
            return None
        return (
            f"at most {self.cutoff:,} of {self.setting.n_public:,} queries stay unanswered before the cutoff"
            f" ends the run, as {self.calibration.cutoff:,} failed tests do"
        )

    def release(
        self, private: Private, public: PublicPoints, door: Door, rng: np.random.Generator
    ) -> Released:
        """Train teachers, ask for the score of every public point, fit the student on the scores."""
        s = self.setting
        ensemble = train_teachers(s, private.records, rng)
        order = rng.permutation(public.n_points)
        session = score_bins.SoftSession(self.calibration, door)
        released = session.answer_all(score_bins.score_bins(ensemble, public.X[order], self.n_bins))
        asked = order[: len(released)]
        scores = np.array([np.nan if score is None else score for score in released])
        labels = np.where(np.isnan(scores), UNANSWERED, scores >= 0.5).astype(np.int64)
        model = fit_on_scores(s, public, asked, scores, rng)
        return Released(model, Answers(asked, labels, n_teachers=s.n_teachers), session.spent())

    def attacks(self) -> list[SampledAttack]:
        """Worst-case scores for an audit."""
        if self.calibration is None:
            raise ValueError("nothing to attack at eps = inf")
        return score_bins.attacks(self.calibration, self.n_teachers, self.n_bins, self.setting.n_public)


@dataclass(frozen=True)
class Options:
    """Options of `mechanism=soft`."""

    width: float = option(0.1, _WIDTH)
    calibration: svt.Calibration = option("tight", CALIBRATION)
    cutoff: int | None = option("auto", CUTOFF)


def calibrate(options: Options, setting: Setting) -> SoftPlan:
    """Check the options and calibrate; refuse what cannot work.

    Raises
    ------
    ConfigError
        If an option's value, the teacher or the student is not accepted.
    InfeasibleError
        If even unanimous scores would go unanswered half of the time.
    """
    if setting.n_classes != 2:
        accepted = f"a mechanism for {setting.n_classes} classes, as gaussian; soft labels are of two"
        raise ConfigError("mechanism.name", "soft", accepted)
    n_bins, rule, cutoff = round(1 / options.width), options.calibration, options.cutoff
    if cutoff is not None and cutoff > setting.n_public:
        accepted = f"auto, or a whole number from 1 to the number of queries, {setting.n_public}"
        raise ConfigError("mechanism.cutoff", cutoff, accepted)
    _check_learners(setting)
    if math.isinf(setting.eps):
        return SoftPlan(setting, n_bins, setting.n_public, None)
    eps, delta, tests, K = setting.eps, setting.delta, 2 * setting.n_public, setting.n_teachers
    try:
        T = max(1, auto_cutoff(eps, delta, tests, K, rule) // 2) if cutoff is None else cutoff
        c, least = svt.calibrate(rule, eps, delta, tests, 2 * T), svt.calibrate(rule, eps, delta, tests, 2)
    except ValueError as error:
        accepted = f"tight or liu2021 at eps={eps:g}; {error}"
        raise ConfigError("mechanism.calibration", rule, accepted) from error
    if not can_answer(c, K):
        fewer = "; or mechanism.cutoff=1" if T > 1 and fewest_teachers(least) <= K else ""
        raise InfeasibleError(
            f"mechanism=soft cannot answer with {K} teachers at eps={eps:g}, cutoff={T}"
            f" (2 x {T} failed tests), calibration={rule}: the threshold, {c.threshold:.1f}, is out of reach"
            f" of unanimous scores; what would do: at least {fewest_teachers(c)} teachers"
            f" (teacher.count, or less teacher.size){fewer}"
        )
    return SoftPlan(setting, n_bins, T, c)


def _check_learners(setting: Setting) -> None:
    if not hasattr(make_teacher(setting), "predict_proba"):
        accepted = "a learner with scores in [0, 1] (predict_proba), as logistic, with mechanism=soft"
        raise ConfigError("teacher.estimator", setting.teacher[0], accepted)
    X = np.random.default_rng(0).random((40, 8))
    scores = np.where(X[:, 0] > 0.5, 0.8, 0.1)
    fit_on_scores(setting, PublicPoints(X), np.arange(40), scores, np.random.default_rng(0))


def fit_on_scores(
    setting: Setting, public: PublicPoints, asked: IntArray, scores: FloatArray, rng: np.random.Generator
) -> Any:
    """Fit a student on scores: each point once with label 1 and weight p, once with 0 and 1 - p.

    Parameters
    ----------
    setting : Setting
    public : PublicPoints
    asked : ndarray of int64, shape (q,)
    scores : ndarray of float64, shape (q,)
        NaN where unanswered: left out, or 1/2 where the student takes random labels for these.
    rng : Generator

    Raises
    ------
    ConfigError
        If the student cannot learn from weighted records.
    """
    if setting.unanswered == "random":
        scores = np.where(np.isnan(scores), 0.5, scores)
    weights = np.concatenate([scores, 1 - scores])
    labels = np.repeat([1, 0], len(asked))
    used = weights > 0
    twice = Answers(np.concatenate([asked, asked])[used], labels[used])
    return fit_student(setting, public, twice, rng, unanswered="drop", weights=weights[used])
