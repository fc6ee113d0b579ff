"""Random streams of a repeat."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Streams"]


@dataclass(frozen=True)
class Streams:
    """Independent random streams of one repeat.

    The first four depend on `seed` and `repeat` alone, so two mechanisms at one
    seed see the same split, teachers and query order; noise has its own.
    """

    split: np.random.Generator
    teachers: np.random.Generator
    queries: np.random.Generator
    student: np.random.Generator
    noise: np.random.SeedSequence
    features: np.random.Generator  # landmarks among public points
    points: np.random.SeedSequence  # noise on marginals, of which an experiment's public points are made

    @classmethod
    def of(cls, seed: int, repeat: int) -> Streams:
        """Streams of repeat number `repeat` of a run with `seed`."""
        return cls._from(np.random.SeedSequence(seed, spawn_key=(repeat,)))

    @classmethod
    def fresh(cls) -> Streams:
        """Streams from the operating system's entropy, which is stored nowhere: for a release."""
        return cls._from(np.random.SeedSequence())

    @classmethod
    def _from(cls, root: np.random.SeedSequence) -> Streams:
        *data, noise, features, points = root.spawn(7)
        split, teachers_, order, student = (np.random.default_rng(child) for child in data)
        return cls(split, teachers_, order, student, noise, np.random.default_rng(features), points)
