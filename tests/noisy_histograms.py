"""A plug-in for tests: Laplace noise on the votes of all queries, m releases of L1 sensitivity 2."""

from dataclasses import dataclass

import numpy as np

from pate_cli.mechanisms.base import Mechanism
from pate_cli.mechanisms.options import MechanismOptions
from pate_cli.privacy.kinds import LaplaceNoise
from pate_cli.types import Answers, PrivacyLoss, Released


@dataclass(frozen=True)
class Options(MechanismOptions):
    """It has none."""


def calibrate(options, setting):
    return NoisyHistograms(setting.eps, setting.n_public, setting.n_teachers)


@dataclass(frozen=True)
class NoisyHistograms(Mechanism):
    """Histograms of the votes on m queries: one teacher moves each by 2 in L1, so eps/m pays for one."""

    eps: float
    m: int
    n_teachers: int = 0
    asks_votes = True
    persons = "parts"

    @property
    def guarantee(self):
        return PrivacyLoss(self.eps, 0.0, f"{self.m} noisy histograms")

    @property
    def releases(self):
        return self.m

    def describe(self):
        return {"ell": self.m}

    def release(self, private, public, door, rng):
        votes, scale = private.votes(), 2 * self.releases / self.eps
        noisy = door.release(votes.counts, LaplaceNoise(sensitivity=2.0, scale=scale), self.releases)
        answers = Answers(np.arange(self.m), noisy.argmax(axis=1), noisy, self.n_teachers)
        return Released(None, answers)
