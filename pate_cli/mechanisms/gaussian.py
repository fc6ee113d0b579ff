"""The Gaussian mechanism on vote counts (LZCW21 Algorithm 1; Papernot et al. 2018)."""

from __future__ import annotations

import math

import numpy as np

from pate_cli.mechanisms.service import VoteService
from pate_cli.mechanisms.votes import majority
from pate_cli.privacy.gaussian import eps_of_mu
from pate_cli.privacy.noise import Noise
from pate_cli.privacy.odometer import gaussian_odometer
from pate_cli.types import FloatArray, IntArray, PrivacyLoss, Released, Votes

__all__ = ["GaussianService", "l2_sensitivity", "noisy_counts"]


def l2_sensitivity(n_classes: int) -> float:
    """L2 sensitivity of what is noised, in votes.

    Two classes: the count of class 1, which one vote moves by 1. More: the
    histogram, in which one vote leaves one class and joins another, sqrt(2).
    """
    return 1.0 if n_classes == 2 else math.sqrt(2.0)


def noisy_counts(counts: IntArray, n_teachers: int, sigma: float, noise: Noise) -> FloatArray:
    """Add noise to each row of votes.

    Parameters
    ----------
    counts : ndarray of int64, shape (m, C)
        Each row sums to K.
    n_teachers : int
        K.
    sigma : float
        In votes.
    noise : Noise

    Returns
    -------
    ndarray of float64, shape (m, C)
        For two classes the count of class 1 is noised, and class 0 gets what is left of K.
    """
    if counts.shape[1] == 2:
        ones = counts[:, 1] + noise.gaussian(sigma, len(counts))
        return np.column_stack([n_teachers - ones, ones])
    noisy: FloatArray = counts + noise.gaussian(sigma, counts.size).reshape(counts.shape)
    return noisy


class GaussianService(VoteService):
    """Noisy majority: release ``counts + N(0, sigma^2)`` and label by the largest.

    **Guarantee.** (eps, delta)-DP for neighbours that differ in one private record
    (replaced, or its part trained without it; n, K and the part sizes are public),
    for up to `ell` adaptively chosen queries: `ell` Gaussian mechanisms of L2
    sensitivity ``l2_sensitivity(C)`` compose to mu-GDP with
    ``mu = sensitivity * sqrt(ell) / sigma``, converted by the exact profile
    (Balle and Wang 2018; Dong, Roth, Su 2022). Labels are post-processing.
    Assumes that no two teachers share a record.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise, in votes.
    ell : int
        Queries the noise was calibrated for; the service takes no more.
    delta : float
        At which the loss after the fact is stated.
    sensitivity : float
        L2 sensitivity of one query, in votes.
    noise : Noise
    runs : int
        Independent runs side by side; see `VoteService`.
    """

    def __init__(
        self, sigma: float, ell: int, delta: float, sensitivity: float, noise: Noise, runs: int = 1
    ) -> None:
        self._sigma = sigma
        self._ell = ell
        self._delta = delta
        self._sensitivity = sensitivity
        self._noise = noise
        self.runs = runs
        self._asked = 0  # in every run: nothing that a run releases stops it

    @property
    def exhausted(self) -> bool:
        """Whether `ell` queries have been answered."""
        return self._asked >= self._ell

    @property
    def state(self) -> str:
        """How many queries have been answered."""
        return f"{self._asked} of {self._ell} queries have been answered"

    def ask(self, votes: Votes) -> Released:
        """Put queries to every run; see `VoteService`."""
        counts = votes.counts[: self._ell - self._asked]
        self._asked += len(counts)
        shape = (len(counts), self.runs)
        # a row a query and run, queries first: consecutive draws of one run are consecutive queries
        rows = np.repeat(counts, self.runs, axis=0)
        noisy = noisy_counts(rows, votes.n_teachers, self._sigma, self._noise)
        # for two classes: 1 where the noisy count of class 1 is at least K/2
        labels = majority(noisy).reshape(shape)
        return Released(labels, noisy.reshape(*shape, counts.shape[1]), np.ones(shape, dtype=bool))

    def spent(self) -> PrivacyLoss:
        """Loss of the queries asked so far (LZCW21's eps_ex_post): a report, not a guarantee."""
        mu = self._sensitivity * math.sqrt(self._asked) / self._sigma
        how = f"exact Gaussian profile of the {self._asked} queries asked"
        return PrivacyLoss(eps_of_mu(mu, self._delta), self._delta, how, data_dependent=True)

    def odometer(self) -> PrivacyLoss:
        """Valid at any stopping time; may pass the budget near its end (`pate_cli.privacy.odometer`)."""
        bound = gaussian_odometer(self._asked, self._ell, self._sigma, self._delta, self._sensitivity)
        return PrivacyLoss(bound, self._delta, "Gaussian odometer on 8 stages", data_dependent=True)
