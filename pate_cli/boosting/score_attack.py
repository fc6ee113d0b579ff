"""An attack on boosting by scores for an audit: `learn` itself, on private sets that differ in one record."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pate_cli.boosting.scores import ScoreBoostingPlan
from pate_cli.privacy.noise import Noise, SeededNoise
from pate_cli.private_learner import SampledAttack
from pate_cli.types import FloatArray, PrivateRecords, PublicPoints

__all__ = ["attacks"]

_RUNS = 1000
_PUBLIC = PublicPoints(np.array([[-1.0], [1.0]]))


def attacks(plan: ScoreBoostingPlan) -> list[SampledAttack]:
    """Make the attacks: one teacher of two records, one of which is replaced so that it says the opposite.

    Two public points span one direction, so the teacher's vector of norm 1 is one number, 1 or -1: it moves
    by 2 in every round, as much as is allowed. The replaced record is far out of bounds, or has another
    label, so that its gradient in a calibration step turns about, too. The plan is made anew, as a run
    makes it, for two records and two public points, and the same eps, delta, rounds and classes; teachers
    are logistic regressions, quick and never of one mind.

    Samples hold all that is released: every noisy sum and every noisy gradient, and the model's scores on
    the public points.

    Parameters
    ----------
    plan : ScoreBoostingPlan
        With noise: at eps = inf there is nothing to attack.
    """
    s = plan.setting
    small = replace(
        s,
        n_private=2,
        n_public=2,
        budget=1,
        n_features=1,
        n_teachers=1,
        sparse=False,
        teacher=("logistic", {}),
    )
    tiny = replace(plan, setting=small)
    pairs = {
        "a teacher turned about by one record": ((1.0, 1), (-1e3, 1)),
        "a teacher that one record makes a constant": ((1.0, 1), (1.0, 0)),
    }

    def attack(name: str) -> SampledAttack:
        def sample(neighbour: bool, rng: np.random.Generator, runs: int) -> FloatArray:
            x, label = pairs[name][int(neighbour)]
            private = PrivateRecords(np.array([[-0.5], [x]]), np.array([0, label]))
            noise = SeededNoise(np.random.SeedSequence(int(rng.integers(2**63))))
            return np.array([_learned(tiny, private, source, rng) for source in noise.spawn(runs)])

        return SampledAttack(name, sample, _RUNS)

    return [attack(name) for name in pairs]


def _learned(
    plan: ScoreBoostingPlan, private: PrivateRecords, noise: Noise, rng: np.random.Generator
) -> FloatArray:
    """Learn once; all that is released, as numbers, as many whatever they are."""
    released: list[FloatArray] = []
    model = replace(plan, told=released.append).learn(private, _PUBLIC, noise, rng).model
    longest = plan.width + 2  # of a gradient; one of fewer functions is shorter
    padded = [np.concatenate([one.ravel(), np.zeros(max(0, longest - one.size))]) for one in released]
    return np.concatenate([*padded, np.ravel(model.decision_function(_PUBLIC.X))])
