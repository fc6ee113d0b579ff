"""An attack on boosting for an audit: `learn` itself, on two private sets that differ in one record."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pate_cli.boosting.rounds import BoostingPlan
from pate_cli.mechanisms import GaussianPlan, VoteService
from pate_cli.privacy.noise import Noise, SeededNoise
from pate_cli.private_learner import SampledAttack
from pate_cli.types import Answer, FloatArray, PrivateRecords, PublicPoints, Votes

__all__ = ["attacks"]

_POINTS = 2
_RUNS = 2000


def attacks(plan: BoostingPlan) -> list[SampledAttack]:
    """Make the attack: two records, each alone with a teacher; one is replaced by another far away.

    A teacher of one record votes for its label, so the record moves one vote on every public point in
    every round, as much as is allowed. The plan is made anew, as a run makes it, for two records and two
    public points and the same eps, delta, rounds and classes; the student's step is a constant, for speed.

    Samples hold all that is released: the noisy counts of every round, as the mechanism gave them, and the
    model: its scores on the public points, and what it keeps of them.

    Parameters
    ----------
    plan : BoostingPlan
        With noise: at eps = inf there is nothing to attack.
    """
    s = plan.setting
    small = replace(s, n_private=2, n_public=_POINTS, budget=1, n_features=1, n_teachers=2, sparse=False)
    made = BoostingPlan.of(small, rounds=plan.rounds, step=plan.step, kernel="linear")
    if not isinstance(made.labelling, GaussianPlan):
        raise TypeError("boosting without noise has nothing to attack")
    tiny = replace(made, fit=_constant)
    public = PublicPoints(np.arange(float(_POINTS))[:, None])
    sides = (
        PrivateRecords(np.array([[0.0], [1.0]]), np.array([0, 1])),
        PrivateRecords(np.array([[0.0], [1e3]]), np.array([0, s.n_classes - 1 if s.n_classes > 2 else 0])),
    )

    def two_records(neighbour: bool, rng: np.random.Generator, runs: int) -> FloatArray:
        noise = SeededNoise(np.random.SeedSequence(int(rng.integers(2**63))))
        return np.array(
            [_learnt(tiny, sides[neighbour], public, source, rng) for source in noise.spawn(runs)]
        )

    return [SampledAttack("a record alone with its teacher", two_records, _RUNS)]


def _learnt(
    plan: BoostingPlan, private: PrivateRecords, public: PublicPoints, noise: Noise, rng: np.random.Generator
) -> FloatArray:
    """Learn once; all that is released, as numbers."""
    watched = _Watched(plan.labelling)
    model = replace(plan, labelling=watched).learn(private, public, noise, rng).model
    # of two classes the counts of the second say it all, the first's are what is left of K
    counts = np.concatenate(watched.released)[:, 1 if model.n_classes == 2 else 0 :]
    kept = [model.landmarks.distance, model.landmarks.norm, *np.ravel(model.landmarks.points)]
    return np.concatenate([np.ravel(counts), np.ravel(model.decision_function(public.X)), kept])


def _constant(spans: Any, counts: FloatArray, n_teachers: int, sigma: float) -> dict[str, FloatArray]:
    """A step that is the mean share of the votes less 1/C, on every point."""
    shares = counts.mean(axis=0, keepdims=True) / n_teachers - 1 / counts.shape[1]
    return {"intercept": shares[:, 1:] if counts.shape[1] == 2 else shares}


@dataclass(frozen=True)
class _Watched:
    """A calibrated mechanism whose service also keeps the noisy counts that it releases."""

    plan: Any
    released: list[FloatArray] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plan, name)

    def service(self, noise: Noise, runs: int = 1) -> Any:
        """Put it to work."""
        return _WatchedService(self.plan.service(noise, runs), self.released)


@dataclass(frozen=True)
class _WatchedService:
    inner: VoteService
    released: list[FloatArray]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def answer_all(self, votes: Votes) -> list[Answer]:
        answers = self.inner.answer_all(votes)
        self.released.append(np.array([answer.noisy_counts for answer in answers]))
        return answers
