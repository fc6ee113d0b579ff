"""An attack on boosting by scores for an audit: `learn` itself, on private sets that differ in one record."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pate_cli.mechanisms.protocol import SampledAttack
from pate_cli.mechanisms.score_boosting import PublicSide, ScoreBoostingPlan
from pate_cli.privacy.noise import Noise, SeededNoise
from pate_cli.types import FloatArray, PrivateRecords, PublicPoints

__all__ = ["attacks"]

_RUNS = 1000
_PUBLIC = PublicPoints(np.tile([[-1.0], [1.0]], (30, 1)))


def attacks(plan: ScoreBoostingPlan) -> list[SampledAttack]:
    """Make the attack: one teacher of two records, one of which is replaced so that it says the opposite.

    Public points of two kinds span one direction, so the teacher's vector of norm 1 is one number, 1 or -1:
    it moves by 2 in every round, as much as is allowed. The replaced record is far out of bounds, and its
    gradient in a calibration step turns about, too. The plan is made anew, as a run makes it, for two
    records and few public points, and the same eps, delta, rounds and classes; teachers are logistic
    regressions. What is public is made once: it is the same in every run.

    Samples hold all that is released: every noisy sum and every noisy gradient, and the model's scores on
    two public points.

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
        teacher=("logistic", {}),
    )
    tiny = replace(plan, setting=small)
    side = tiny.look_at(_PUBLIC, np.random.default_rng(0))

    def sample(neighbour: bool, rng: np.random.Generator, runs: int) -> FloatArray:
        replaced = -1e3 if neighbour else 1.0
        private = PrivateRecords(np.array([[-0.5], [replaced]]), np.array([0, 1]))
        noise = SeededNoise(np.random.SeedSequence(int(rng.integers(2**63))))
        return np.array([_learned(tiny, private, side, source, rng) for source in noise.spawn(runs)])

    return [SampledAttack("a teacher turned about by one record", sample, _RUNS)]


def _learned(
    plan: ScoreBoostingPlan, private: PrivateRecords, side: PublicSide, noise: Noise, rng: np.random.Generator
) -> FloatArray:
    """Learn once; all that is released, as numbers, as many whatever they are."""
    released: list[FloatArray] = []
    model = replace(plan, told=released.append).fit(private, side, noise, rng)
    longest = plan.width + 2  # of a gradient; one of fewer functions is shorter
    padded = [np.concatenate([one.ravel(), np.zeros(max(0, longest - one.size))]) for one in released]
    return np.concatenate([*padded, np.ravel(model.decision_function(_PUBLIC.X[:2]))])
