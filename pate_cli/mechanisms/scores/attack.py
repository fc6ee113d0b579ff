"""An attack on boosting by scores for an audit: `fit` itself, on private sets that differ in one record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from pate_cli.mechanisms.base import SampledAttack
from pate_cli.mechanisms.scores.score_boosting import PublicSide, ScoreBoostingPlan
from pate_cli.privacy.door import RecordingDoor
from pate_cli.types import FloatArray, IntArray, PrivateRecords, PublicPoints

__all__ = ["Side", "attacks"]

_RUNS = 1000
_PUBLIC = PublicPoints(np.tile([[-1.0], [1.0]], (30, 1)))


def attacks(plan: ScoreBoostingPlan) -> list[SampledAttack]:
    """Make the attack: one teacher of two records, one of which is replaced so that it says the opposite.

    Public points of two kinds span one direction, so of two classes the teacher's vector of norm 1 is one
    number, 1 or -1: it moves by 2 in every round, as much as is allowed. The replaced record is far out of
    bounds, and its gradient in a calibration step turns about, too. The plan is made anew, as a run makes
    it, for two records and few public points, and the same eps, delta, rounds and classes; teachers say on
    which side of 0 the class of the higher code is. What is public is made once: it is the same in every run.

    All sums of the rounds carry the same noise, and what one record moves has the same direction in each: so
    what tells the two private sets apart is their total along it, which a sample begins with. Then come, all
    of a kind added up, the gradients of the steps, and the model's scores on two public points.

    Parameters
    ----------
    plan : ScoreBoostingPlan
        With noise: at eps = inf there is nothing to attack.
    """
    s = plan.setting
    small = replace(
        s,
        n_private=2,
        n_public=_PUBLIC.n_points,
        budget=1,
        n_features=1,
        n_teachers=1,
        sparse=False,
        teacher=(f"{__name__}.{Side.__name__}", {}),
    )
    tiny = replace(plan, setting=small)
    side = tiny.look_at(_PUBLIC, np.random.default_rng(0))
    sets = [PrivateRecords(np.array([[-0.5], [x]]), np.array([0, 1])) for x in (1.0, -1e3)]
    exact = []
    for one in sets:  # the first release of a run, before noise
        door = RecordingDoor.seeded(0)
        tiny.fit(one, side, door, np.random.default_rng(0))
        exact.append(door.released[0][0].value)
    moved = np.ravel(exact[0] - exact[1])

    def sample(neighbour: bool, rng: np.random.Generator, runs: int) -> FloatArray:
        noise = RecordingDoor.seeded(int(rng.integers(2**63)))
        found = (_Released(tiny, sets[neighbour], side, source, rng) for source in noise.spawn(runs))
        return np.array([one.numbers(moved) for one in found])

    return [SampledAttack("a teacher turned about by one record", sample, _RUNS)]


class Side(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Says on which side of 0 the records of the last class are, and nothing more: quickly fitted."""

    def fit(self, X: FloatArray, y: IntArray, sample_weight: FloatArray | None = None) -> Side:
        """Add up the records by class; weights count for nothing."""
        self.classes_ = np.unique(y)
        self.slope_ = float(X[:, 0] @ np.where(y == self.classes_[-1], 1.0, -1.0))
        return self

    def decision_function(self, X: FloatArray) -> FloatArray:
        """Score of the last class, shape (n,)."""
        found: FloatArray = np.sign(self.slope_ * X[:, 0])
        return found

    def predict(self, X: FloatArray) -> IntArray:
        """Class codes, shape (n,)."""
        return np.asarray(self.classes_)[-(self.decision_function(X) > 0).astype(np.int64)]

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """All for the last class or for the first, shape (n, 2)."""
        last = self.decision_function(X) > 0
        return np.column_stack([~last, last]).astype(np.float64)


class _Released:
    """All that one run releases."""

    def __init__(
        self,
        plan: ScoreBoostingPlan,
        private: PrivateRecords,
        side: PublicSide,
        door: RecordingDoor,
        rng: Any,
    ) -> None:
        model = plan.fit(private, side, door, rng)
        told = [out for _, out in door.released]
        self._longest = plan.longest
        steps = [2 * t + 1 for t in range(plan.rounds)] + list(range(2 * plan.rounds, len(told)))
        self.sums: Sequence[FloatArray] = [told[2 * t] for t in range(plan.rounds)]
        self._gradients = [told[t] for t in steps]
        self._scores = np.ravel(model.decision_function(_PUBLIC.X[:2]))[:3]

    def numbers(self, moved: FloatArray) -> FloatArray:
        """Numbers for the audit, at most 8."""
        along = sum(float(np.ravel(total) @ moved) for total in self.sums)
        gradients = np.zeros(self._longest)
        for one in self._gradients:  # one of fewer functions is shorter
            gradients[: len(one)] += one
        return np.concatenate([[along], gradients, self._scores])
