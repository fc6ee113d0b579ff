"""SSPP (NB20 Algorithm 7, Alon, Bassily and Moran 2019): semi-private learning from public points."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pate_cli.checks import option
from pate_cli.learners.hypotheses import CLASSES, Dichotomies, HypothesisClass
from pate_cli.mechanisms.agnostic import common
from pate_cli.mechanisms.base import Mechanism, SampledAttack
from pate_cli.privacy.door import Door
from pate_cli.privacy.kinds import ExponentialChoice
from pate_cli.types import (
    Holdout,
    IntArray,
    PrivacyLoss,
    Private,
    PrivateRecords,
    PublicPoints,
    Released,
    Setting,
)

__all__ = ["Options", "Sspp", "calibrate"]


@dataclass(frozen=True)
class Options(common.HypothesisOptions):
    """Options of `mechanism=sspp`."""

    hypotheses: str = option("stumps", common.HYPOTHESES)
    calibration: str = option("tight", common.CALIBRATION)


@dataclass(frozen=True)
class Sspp(Mechanism):
    """One hypothesis for each labeling of the public points; one of them by the exponential mechanism.

    **Guarantee.** eps-DP (delta = 0) for neighbours that differ in one replaced private record: the
    candidates depend on public points alone, and one record changes each candidate's number of
    mistakes by at most 1. Nothing is assumed of the data. The published constants are already
    exact here, so both calibrations are the same. eps = inf chooses a candidate with the fewest mistakes.
    """

    eps: float
    hypotheses: HypothesisClass = field(repr=False)
    n_public: int

    @property
    def guarantee(self) -> PrivacyLoss:
        """Pure."""
        return PrivacyLoss(self.eps, 0.0, "exponential mechanism over labelings of the public points")

    def describe(self) -> dict[str, Any]:
        """Its public numbers."""
        return {"eps": self.eps, "hypotheses": self.hypotheses.name, "n_public": self.n_public}

    def release(
        self, private: Private, public: PublicPoints, door: Door, rng: np.random.Generator
    ) -> Released:
        """NB20 Algorithm 7: choose among the candidates; its labels of the public points are the answers."""
        S = private.records
        H = self.candidates(public)
        h = H.hypothesis(int(self.chosen(H, S, door)[0]))
        return Released(h, common.labels_of(h, public))

    def candidates(self, public: PublicPoints) -> Dichotomies:
        """One hypothesis for each labeling of the public points. PUBLIC."""
        common.listable_encoded(self.hypotheses, public.X)
        return self.hypotheses.dichotomies(public.X)

    def chosen(self, candidates: Dichotomies, private: PrivateRecords, door: Door, runs: int = 1) -> IntArray:
        """Choose among the candidates in each of independent runs; shape (R,)."""
        mistakes = np.tile(candidates.mistakes(private.X, private.y), (runs, 1))
        chosen: IntArray = door.release(-mistakes, ExponentialChoice(sensitivity=1.0, eps=self.eps))
        return chosen

    def measure(self, model: Any, test: Holdout) -> dict[str, float]:
        """Accuracy of the class's best hypothesis on the test split. NOT DP."""
        return common.best_hypothesis(self.hypotheses, test)

    def attacks(self) -> list[SampledAttack]:
        """The odd one out: of 21 thresholds one labels the single record 0 and the others 1.

        Whether the record's label is 0 or 1 moves that one's odds by nearly e^eps, as far as the guarantee
        allows.
        """
        tiny = Sspp(self.eps, CLASSES["thresholds"], 20)
        candidates = tiny.candidates(PublicPoints(np.arange(20.0)[:, None]))
        first, second = (PrivateRecords(np.array([[19.0]]), np.array([label])) for label in (0, 1))

        def chosen(private: PrivateRecords, door: Door, rng: np.random.Generator, runs: int) -> Any:
            return tiny.chosen(candidates, private, door, runs) == 20

        return [SampledAttack.on("odd one out", (first, second), chosen)]


def calibrate(options: Options, setting: Setting) -> Sspp:
    """Check the options and calibrate; see `pate_cli.mechanisms.base`."""
    hypotheses = common.chosen_class(options.hypotheses, setting, "sspp", infinite=True)
    common.listable(hypotheses, setting.n_public, setting, "what would do: a smaller split.public")
    return Sspp(setting.eps, hypotheses, setting.n_public)
