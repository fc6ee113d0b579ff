"""A mechanism in a package of its own: each label by the exponential mechanism on its votes."""

from dataclasses import dataclass

import numpy as np

from pate_cli.checks import Real, option
from pate_cli.mechanisms.base import Mechanism, SampledAttack
from pate_cli.privacy.door import Door
from pate_cli.types import Answers, PrivacyLoss, Released, Votes


@dataclass(frozen=True)
class Options:
    """Options of `mechanism=exponential`."""

    share: float = option(1.0, Real(0, 1))


def calibrate(options, setting):
    """Share eps out equally: one query of eps/m for each public point."""
    return Exponential(setting.eps * options.share / setting.n_public, setting.n_public, setting.n_teachers)


@dataclass(frozen=True)
class Exponential(Mechanism):
    """Answer each point by the exponential mechanism on its counts.

    **Guarantee.** eps-DP for neighbours that differ in one private record: it changes one teacher, so each
    count by at most 1, and one answer is eps0-DP (McSherry, Talwar 2007); m = eps/eps0 of them add up.
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

    def release(self, private, public, door, rng):
        """Answer all public points."""
        labels = self.labels(private.votes(), door)
        return Released(None, Answers(np.arange(self.m), labels, n_teachers=self.n_teachers), self.guarantee)

    def labels(self, votes, door):
        """Label every query; released."""
        return door.exponential(votes.counts, sensitivity=1.0, eps=self.eps0)

    def attacks(self):
        """A tied vote, which one teacher turns, on every query."""

        def tied(neighbour, rng, runs):
            counts = np.tile([[5, 6] if neighbour else [6, 5]], (self.m, 1))
            doors = Door.seeded(int(rng.integers(2**63))).spawn(runs)
            return np.array([self.labels(Votes(counts, 11), door) for door in doors], dtype=float)

        return [SampledAttack("a tied vote", tied, 2000)]
