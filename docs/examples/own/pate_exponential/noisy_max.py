"""Report noisy max with exponential noise: a kind of release, and an event of its own."""

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np

from pate_cli.errors import ConfigError
from pate_cli.mechanisms.base import Session, VoteMechanism
from pate_cli.mechanisms.options import MechanismOptions
from pate_cli.privacy.events import Event
from pate_cli.privacy.kinds import Kind
from pate_cli.types import PrivacyLoss, ReleasedLabels


@dataclass(frozen=True)
class Zcdp(Event):
    """A rho-zCDP release: rho adds up, and rho + 2 sqrt(rho ln(1/delta)) is its eps (Bun, Steinke 2016)."""

    takes_delta = True
    rho: float

    @classmethod
    def compose(cls, counts, delta):
        """(eps, delta) of all events of this class."""
        rho = math.fsum(event.rho * count for event, count in counts.items())
        return rho + 2 * math.sqrt(rho * math.log(1 / delta)), delta


@dataclass(frozen=True, kw_only=True)
class NoisyMax(Kind):
    """In each row the index of the largest score with Exp(2 sensitivity/eps) noise.

    eps-DP for each row, all of whose scores move by the sensitivity at most (McKenna, Sheldon 2020; Ding et
    al. 2021), and so eps^2/2-zCDP (Bun, Steinke 2016, Proposition 1.4).
    """

    norm = math.inf
    eps: float

    def draw(self, noise, value):
        """Release the indices alone."""
        drawn = noise.exponential(2 * self.sensitivity / self.eps, value.size).reshape(value.shape)
        return np.argmax(value + drawn, axis=1)

    def event(self, size):
        """Cost of one row."""
        return Zcdp(self.eps**2 / 2)

    def draws(self, value, out):
        """A number for each score."""
        return Counter({("exponential", 2 * self.sensitivity / self.eps): value.size})


@dataclass(frozen=True)
class Options(MechanismOptions):
    """Options of `mechanism=noisy_max`: none."""


def calibrate(options, setting):
    """Share rho out equally: one query for each public point."""
    s = setting
    if math.isinf(s.eps):
        raise ConfigError("eps", s.eps, "a finite number with mechanism=noisy_max")
    log = math.log(1 / s.delta)
    rho = (math.sqrt(log + s.eps) - math.sqrt(log)) ** 2
    sizes = {"ell": s.n_public, "n_teachers": s.n_teachers, "n_classes": s.n_classes}
    return LargestCount(math.sqrt(2 * rho / s.n_public), s.eps, s.delta, **sizes)


@dataclass(frozen=True)
class LargestCount(VoteMechanism):
    """Label each point by the largest count with exponential noise.

    **Guarantee.** (eps, delta)-DP for neighbours that differ in one private record: it changes one teacher,
    so each count by at most 1, and one answer is eps0^2/2-zCDP (`NoisyMax`); m of them add up (`Zcdp`).
    """

    eps0: float
    eps: float
    delta: float

    @property
    def guarantee(self):
        """The loss of all queries."""
        return PrivacyLoss(self.eps, self.delta, f"zCDP of {self.ell} noisy maxima")

    def session(self, door, runs=1):
        """Start a session; see `VoteMechanism`."""
        return Labels(self, door, runs)

    def describe(self):
        """Its public numbers."""
        return {"eps": self.eps, "delta": self.delta, "ell": self.ell, "eps0": self.eps0}


class Labels(Session):
    """``argmax_j (n_j + Exp(2/eps0))`` for each query; guarantee: see `LargestCount`."""

    def __init__(self, mechanism, door, runs=1):
        self.mechanism, self.door, self.runs, self.asked = mechanism, door, runs, 0

    @property
    def exhausted(self):
        """Whether all queries were taken."""
        return self.asked >= self.mechanism.ell

    def ask(self, votes):
        """Put queries to every run; see `Session`."""
        counts = votes.counts[: self.mechanism.ell - self.asked]
        self.asked += len(counts)
        rows = np.repeat(counts, self.runs, axis=0)
        labels = self.door.release(rows, NoisyMax(sensitivity=1.0, eps=self.mechanism.eps0), len(rows))
        shape = (len(counts), self.runs)
        return ReleasedLabels(labels.reshape(shape), None, np.ones(shape, dtype=bool))
