"""An attack on boosting by scores for an audit: `fit` itself, on private sets that differ in one record."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from pate_cli.mechanisms.base import SampledAttack
from pate_cli.mechanisms.scores.score_boosting import ScoreBoostingPlan
from pate_cli.privacy.door import RecordingDoor
from pate_cli.types import FloatArray, IntArray, PrivateRecords, PublicPoints

__all__ = ["Side", "attacks"]

_RUNS = 1000
_PUBLIC = PublicPoints(np.tile([[-1.0], [1.0]], (30, 1)))


def attacks(plan: ScoreBoostingPlan) -> list[SampledAttack]:
    """Make the attack: one teacher of two records, one of which is replaced so that it says the opposite.

    Public points of two kinds span one direction, so of two classes the teacher's vector of norm 1 is one
    number, 1 or -1: it moves by 2 in every round, as much as is allowed. The replaced record is far out of
    bounds, and its gradient in a calibration step changes sign, too. The plan is that of a run with two
    records, few public points and the same eps, delta, rounds and classes. What is public is made once.

    All sums of the rounds carry the same noise, and what one record moves has the same direction in each: so
    their total along it tells the two private sets apart, and a sample begins with that. Then come the sum of
    the steps' gradients, and the model's scores on two public points: at most 8 numbers.

    Parameters
    ----------
    plan : ScoreBoostingPlan
        With noise: at eps = inf there is nothing to attack.
    """
    small = replace(
        plan.setting,
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

    def numbers(private: PrivateRecords, door: RecordingDoor, rng: np.random.Generator) -> FloatArray:
        model = tiny.fit(private, side, door, rng)
        sums = slice(0, 2 * tiny.rounds, 2)  # rounds and steps take turns, and steps come last
        released = [out for _, out in door.released]
        along = sum(float(np.ravel(total) @ moved) for total in released[sums])
        del released[sums]
        gradients = np.zeros(tiny.longest)
        for one in released:  # one of fewer functions is shorter
            gradients[: len(one)] += one
        scores = np.ravel(model.decision_function(_PUBLIC.X[:2]))[:3]
        return np.concatenate([[along], gradients, scores])

    def sample(neighbour: bool, rng: np.random.Generator, runs: int) -> FloatArray:
        doors = RecordingDoor.seeded(int(rng.integers(2**63))).spawn(runs)
        return np.array([numbers(sets[neighbour], door, rng) for door in doors])

    return [SampledAttack("a teacher turned about by one record", sample, _RUNS)]


class Side(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classifies by the side of 0 that records of the last class are on: quickly fitted."""

    def fit(self, X: FloatArray, y: IntArray, sample_weight: FloatArray | None = None) -> Side:
        """Add up the records by class; weights are ignored."""
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
        """Probability 1 for the last class or for the first, shape (n, 2)."""
        last = self.decision_function(X) > 0
        return np.column_stack([~last, last]).astype(np.float64)
