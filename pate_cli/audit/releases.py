"""Attacks on whole runs of a mechanism on votes, through its `release`."""

from __future__ import annotations

from typing import Any

import numpy as np

from pate_cli.mechanisms.base import Mechanism, SampledAttack
from pate_cli.mechanisms.votes import VoteAttack, on_counts
from pate_cli.privacy.door import Door
from pate_cli.students import asked
from pate_cli.types import FloatArray, Private, PrivateRecords, PublicPoints, Released, Setting, Votes

__all__ = ["default_attacks", "release_attack"]

_RUNS = 10_000


def default_attacks(mechanism: Mechanism, setting: Setting) -> list[VoteAttack]:
    """Worst-case votes for a mechanism that asks votes and brings no attacks; none for another."""
    if not mechanism.asks_votes:
        return []
    m, K = setting.n_public, mechanism.n_teachers or setting.n_teachers
    return [pair for pair in on_counts(m, K, setting.n_classes) if len(pair.counts) == m]


def release_attack(mechanism: Mechanism, setting: Setting, pair: VoteAttack) -> SampledAttack:
    """Run `release` on votes, of teachers whose records do not matter, with a public point for each query."""
    rng, m, n = np.random.default_rng(0), len(pair.counts), setting.n_private
    public = PublicPoints(rng.normal(size=(m, setting.n_features)))
    X, y = rng.normal(size=(n, setting.n_features)), rng.integers(setting.n_classes, size=n)

    def outputs(counts: Any, door: Door, rng: np.random.Generator, runs: int) -> FloatArray:
        votes = Votes(counts, int(counts[0].sum()))
        private = Private(PrivateRecords(X, y), lambda: votes)
        ways = door.spawn(runs)
        return np.stack([_as_numbers(mechanism.release(private, public, way, rng), public) for way in ways])

    return SampledAttack.on(pair.name, (pair.counts, pair.neighbour), outputs, _RUNS)


def _as_numbers(released: Released, public: PublicPoints) -> FloatArray:
    """For every public point its label (-2: not asked), noisy counts, and the class that a model predicts."""
    answers, numbers = released.answers, [np.full(public.n_points, -2.0)]
    numbers[0][answers.asked] = answers.labels
    if answers.noisy_counts is not None:
        noisy = np.zeros((public.n_points, answers.noisy_counts.shape[1]))
        noisy[answers.asked] = answers.noisy_counts
        numbers.append(noisy.ravel())
    if released.model is not None:
        numbers.append(asked(released.model, "predict", public.X))
    return np.concatenate(numbers)
