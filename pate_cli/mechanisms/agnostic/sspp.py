"""SSPP (NB20 Algorithm 7, Alon, Bassily and Moran 2019): semi-private learning from public points."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pate_cli.checks import option
from pate_cli.learners.hypotheses import CLASSES, Dichotomies, HypothesisClass
from pate_cli.mechanisms.agnostic import options as checks
from pate_cli.mechanisms.base import Mechanism, SampledAttack
from pate_cli.privacy.door import Door
from pate_cli.types import (
    Answers,
    FloatArray,
    Holdout,
    IntArray,
    PrivacyLoss,
    Private,
    PrivateRecords,
    PublicPoints,
    Released,
    Setting,
)

__all__ = ["Options", "SsppPlan", "calibrate", "labels_of"]


@dataclass(frozen=True)
class Options:
    """Options of `mechanism=sspp`."""

    hypotheses: str = option("stumps", checks.HYPOTHESES)
    calibration: str = option("tight", checks.CALIBRATION)


@dataclass(frozen=True)
class SsppPlan(Mechanism):
    """One hypothesis for each labeling of the public points; one of them by the exponential mechanism.

    **Guarantee.** eps-DP (delta = 0) for neighbours that differ in one replaced private record: the
    candidates depend on public points alone, and one record changes each candidate's number of
    mistakes by at most 1. Nothing is assumed of the data. The published constants are already
    exact here, so both calibrations are the same.

    Attributes
    ----------
    eps : float
        inf chooses a candidate with the fewest mistakes.
    hypotheses : HypothesisClass
    n_private, n_public : int

    References
    ----------
    NB20 Algorithm 7.
    """

    eps: float
    hypotheses: HypothesisClass = field(repr=False)
    n_private: int
    n_public: int

    @property
    def guarantee(self) -> PrivacyLoss:
        """Pure."""
        return PrivacyLoss(self.eps, 0.0, "exponential mechanism over labelings of the public points")

    @property
    def n_teachers(self) -> int:
        """None."""
        return 0

    def describe(self) -> dict[str, Any]:
        """Its public numbers."""
        return {"eps": self.eps, "hypotheses": self.hypotheses.name, "n_public": self.n_public}

    def candidates(self, public: PublicPoints) -> Dichotomies:
        """One hypothesis for each labeling of the public points. PUBLIC."""
        checks.listable_encoded(self.hypotheses, public.X)
        return self.hypotheses.dichotomies(public.X)

    def chosen(self, candidates: Dichotomies, private: PrivateRecords, door: Door, runs: int = 1) -> IntArray:
        """Choose among the candidates in each of independent runs; shape (R,)."""
        mistakes = np.tile(candidates.mistakes(private.X, private.y), (runs, 1))
        return door.exponential(-mistakes, sensitivity=1.0, eps=self.eps)

    def release(
        self, private: Private, public: PublicPoints, door: Door, rng: np.random.Generator
    ) -> Released:
        """Choose; the answers are the chosen hypothesis's labels of the public points."""
        records = private.records
        candidates = self.candidates(public)
        model = candidates.hypothesis(int(self.chosen(candidates, records, door)[0]))
        return Released(model, labels_of(model, public), self.guarantee)

    def measure(self, model: Any, test: Holdout) -> dict[str, float]:
        """Accuracy, on the test split, of the best hypothesis of the class for that split. NOT DP."""
        return best_hypothesis(self.hypotheses, test)

    def attacks(self) -> list[SampledAttack]:
        """Worst-case pairs of private sets for an audit."""
        return _attacks(self)


def best_hypothesis(hypotheses: HypothesisClass, test: Holdout) -> dict[str, float]:
    """Accuracy of the class's best hypothesis on the test split itself; nothing where it takes too long."""
    try:
        best = hypotheses.erm(test.X, test.y)
    except ValueError:
        return {}
    return {"best_hypothesis": float(np.mean(best.predict(test.X) == test.y))}


def labels_of(model: Any, public: PublicPoints) -> Answers:
    """Labels of all public points by a released model: post-processing."""
    return Answers(np.arange(public.n_points), np.asarray(model.predict(public.X), dtype=np.int64))


def calibrate(options: Options, setting: Setting) -> SsppPlan:
    """Check the options and make the plan; see `pate_cli.mechanisms.base`."""
    checks.two_classes(setting, "sspp")
    chosen = CLASSES[options.hypotheses]
    checks.listable(chosen, setting.n_public, setting, "what would do: a smaller split.public")
    return SsppPlan(setting.eps, chosen, setting.n_private, setting.n_public)


def _attacks(plan: SsppPlan) -> list[SampledAttack]:
    """Attacks for an audit: ``sample(neighbour, rng, runs)`` gives outputs as numbers, shape (runs, k).

    The odd one out: of 21 thresholds one says 0 of the single record and the others say 1. Whether its
    label is 0 or 1 moves that one's odds by nearly e^eps, as far as the guarantee allows.
    """

    def odd_one_out(neighbour: bool, rng: np.random.Generator, runs: int) -> FloatArray:
        points = PublicPoints(np.arange(20.0)[:, None])
        tiny = SsppPlan(plan.eps, CLASSES["thresholds"], 1, 20)
        record = PrivateRecords(np.array([[19.0]]), np.array([1 if neighbour else 0]))
        noise = Door.seeded(int(rng.integers(2**63)))
        chosen = tiny.chosen(tiny.candidates(points), record, noise, runs)
        return np.asarray(chosen == 20, dtype=float)[:, None]

    return [SampledAttack("odd one out", odd_one_out)]
