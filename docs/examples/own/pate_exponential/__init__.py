"""A mechanism in a package of its own: each label by the exponential mechanism on its votes."""

from dataclasses import dataclass

import numpy as np

from pate_cli.checks import Real, option
from pate_cli.mechanisms.base import Session, VoteMechanism
from pate_cli.mechanisms.options import MechanismOptions
from pate_cli.privacy.kinds import ExponentialChoice
from pate_cli.types import PrivacyLoss, ReleasedLabels


@dataclass(frozen=True)
class Options(MechanismOptions):
    """Options of `mechanism=exponential`."""

    share: float = option(1.0, Real(0, 1))


def calibrate(options, setting):
    """Share eps out equally: one query of eps/m for each public point."""
    s = setting
    sizes = {"ell": s.n_public, "n_teachers": s.n_teachers, "n_classes": s.n_classes}
    return Exponential(s.eps * options.share / s.n_public, **sizes)


@dataclass(frozen=True)
class Exponential(VoteMechanism):
    """Answer each point by the exponential mechanism on its counts.

    **Guarantee.** eps-DP for neighbours that differ in one private record: it changes one teacher, so each
    count by at most 1, and one answer is eps0-DP (McSherry, Talwar 2007); m = eps/eps0 of them add up.
    """

    eps0: float

    @property
    def guarantee(self):
        """Pure."""
        return PrivacyLoss(self.ell * self.eps0, 0.0, f"{self.ell} exponential mechanisms")

    def describe(self):
        """Give its public numbers."""
        return {"ell": self.ell, "eps_per_query": self.eps0}

    def session(self, door, runs=1):
        """Start one run, or several side by side."""
        return Labels(self, door, runs)


class Labels(Session):
    """One run's labels, or those of several runs; see `Exponential`."""

    def __init__(self, mechanism, door, runs):
        self.mechanism, self.door, self.runs, self.asked = mechanism, door, runs, 0

    @property
    def exhausted(self):
        """Whether `ell` queries have been answered."""
        return self.asked >= self.mechanism.ell

    def ask(self, votes):
        """Put queries to every run: one choice, and so one release, a query and run."""
        counts = votes.counts[: self.mechanism.ell - self.asked]
        scores = np.repeat(counts[:, None], self.runs, axis=1)
        labels = self.door.release(scores, ExponentialChoice(sensitivity=1.0, eps=self.mechanism.eps0))
        self.asked += len(counts)
        return ReleasedLabels(labels, None, np.ones(labels.shape, dtype=bool))
