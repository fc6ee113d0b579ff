"""A mechanism in a package of its own: each label by the exponential mechanism on its votes."""

from dataclasses import dataclass

import numpy as np

from pate_cli.checks import Real, option
from pate_cli.mechanisms.protocol import Plan, SampledAttack
from pate_cli.privacy.noise import SeededNoise
from pate_cli.types import Answers, PrivacyLoss, Released, Votes


@dataclass(frozen=True)
class Options:
    """Options of `mechanism=exponential`."""

    share: float = option(1.0, Real(0, 1))


def plan(options, setting):
    """Share eps out equally: one query of eps/m for each public point."""
    return ExponentialPlan(
        setting.eps * options.share / setting.n_public, setting.n_public, setting.n_teachers
    )


@dataclass(frozen=True)
class ExponentialPlan(Plan):
    """Answer each point by the largest of its counts plus exponential noise of scale 2/eps0.

    **Guarantee.** eps-DP for neighbours that differ in one private record: it changes one teacher, so each
    count by at most 1, and one answer is eps0-DP (McKenna, Sheldon 2020); m = eps/eps0 of them add up.
    """

    eps0: float
    m: int
    n_teachers: int = 0
    asks_votes = True

    @property
    def guarantee(self):
        """Pure."""
        return PrivacyLoss(self.m * self.eps0, 0.0, f"{self.m} exponential mechanisms")

    def describe(self):
        """Give its public numbers."""
        return {"ell": self.m, "eps_per_query": self.eps0}

    def release(self, private, public, noise, rng):
        """Answer all public points."""
        labels = self.labels(private.votes(), noise)
        return Released(None, Answers(np.arange(self.m), labels, n_teachers=self.n_teachers), self.guarantee)

    def labels(self, votes, noise):
        """Label every query; released."""
        scale = 2 / self.eps0 if np.isfinite(self.eps0) else 0.0
        return (
            votes.counts + noise.exponential(scale, votes.counts.size).reshape(votes.counts.shape)
        ).argmax(1)

    def attacks(self):
        """A tied vote, which one teacher turns, on every query."""

        def tied(neighbour, rng, runs):
            counts = np.tile([[5, 6] if neighbour else [6, 5]], (self.m, 1))
            noise = SeededNoise(np.random.SeedSequence(int(rng.integers(2**63))))
            return np.array(
                [self.labels(Votes(counts, 11), source) for source in noise.spawn(runs)], dtype=float
            )

        return [SampledAttack("a tied vote", tied, 2000)]
