"""How steep the probabilities of a student of votes should be, by simulation with public points alone."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from pate_cli.types import FloatArray

__all__ = ["power_of"]

_STEEPNESS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # standard deviations of log-odds that are tried
_FUNCTIONS = 5  # of the prior, at each
_TEACHERS = 60  # on each
_MOST_RECORDS = 500  # of a teacher
_STEPS = 12  # of the teachers' fits; 48 change the power by 3% at most (adult, magic, mushroom, digits)
_POWERS = np.geomspace(0.25, 16.0, 61)
_LEAST = 1e-3  # share of a class


def power_of(student: Any, P: FloatArray, shares: FloatArray, noise: float, n_teachers: int) -> float:
    """Power of the shares that a student predicts which makes them probabilities: post-processing.

    Small teachers disagree more than the class probabilities do, and the student shrinks by the noise. Both
    are known: of functions F of the student's own prior, as steep as t, class probabilities
    ``p = softmax(log mean share + t F)`` give labels of public points, these teachers of as many records as
    the real ones have, these votes with the mechanism's noise on, and these a student like this one. The
    power with which its shares have the least log loss against p is found for each t; t is that of which the
    simulated shares vary over the points as much as the released ones do, noise taken out, found between
    two of those tried. The order of classes stays.

    `P` are the features of the points asked, shape (m, p), `shares` those released, with noise of a known
    standard deviation on each, shape (m, C). Only released and public numbers go in.
    """
    usual = np.log(np.clip(shares.mean(axis=0), _LEAST, 1.0))
    released = _energy(shares, n_teachers) - noise**2 * shares.shape[1]
    at = cache(_Simulation(P, usual, student.part_size, noise).run)
    below, above = _STEEPNESS[0], _STEEPNESS[-1]
    while between := [each for each in _STEEPNESS if below < each < above]:
        middle = between[(len(between) - 1) // 2]
        below, above = (middle, above) if at(middle)[0] < released else (below, middle)
    energies, powers = zip(at(below), at(above), strict=True)
    power = float(np.exp(np.interp(released, np.maximum.accumulate(energies), powers)))
    return power if np.isfinite(power) else 1.0


class _Simulation:
    """Teachers and a student on public points whose labels follow functions of a known steepness.

    Teachers are logistic regressions with a ridge of 1, a class against the rest. Their records x, of shape
    (teachers, size, d), are the same for all functions, and so is ``H = x^T x / 4 + I``, a bound on the
    Hessian of their loss: it is inverted once, and each step of Nesterov's accelerated gradient method only
    multiplies.
    """

    def __init__(self, P: FloatArray, usual: FloatArray, part_size: int, noise: float) -> None:
        from pate_cli.students.kernel import Directions

        self.P, self.usual, self.part_size, self.noise = P, usual, part_size, noise
        self.directions = Directions.of(P)
        self.rows = np.random.default_rng(0).integers(0, len(P), (_TEACHERS, min(part_size, _MOST_RECORDS)))
        # votes are signs, which single precision decides as well
        self.points = np.column_stack([P, np.ones(len(P))]).astype(np.float32)
        self.x = x = self.points[self.rows]
        turned, ridge = x.transpose(0, 2, 1), 4 * np.eye(min(x.shape[1:]), dtype=np.float32)
        self.few = x.shape[1] < x.shape[2]
        if self.few:
            self.solved = turned @ np.linalg.inv(x @ turned + ridge)  # (teachers, d, size): H^-1 x^T / 4
            self.smoothed = x @ self.solved
        else:
            self.solved = np.linalg.solve(turned @ x + ridge, turned)

    def run(self, steepness: float) -> tuple[float, float]:
        """Energy of the simulated shares, and the logarithm of the best power."""
        from scipy.special import softmax

        from pate_cli.students.kernel import KernelStudent

        P, C, noise, rng = self.P, len(self.usual), self.noise, np.random.default_rng(0)
        functions = (P - P.mean(axis=0)) @ rng.normal(size=(_FUNCTIONS, P.shape[1], C))
        functions /= np.maximum(functions.std(axis=(1, 2), keepdims=True), 1e-12)
        p = softmax(self.usual + steepness * functions, axis=2)
        exact = self.votes(p, rng) / _TEACHERS
        noisy = exact + noise * rng.normal(size=exact.shape)
        if C == 2:
            noisy[:, :, 0] = 1 - noisy[:, :, 1]
        losses = np.zeros(len(_POWERS))
        for true, shares in zip(p, noisy, strict=True):
            student = KernelStudent(self.part_size)
            student.fit_shares(P, shares, noise=noise, directions=self.directions)
            logs = np.log(student.predict_proba(P).T)  # (C, m)
            # a power of shares is divided by its sum over the classes
            sums = np.exp(_POWERS[:, None, None] * logs).sum(axis=1)
            losses += np.log(sums).sum(axis=1) - _POWERS * (true.T * logs).sum()
        energy = float(np.mean([_energy(shares, _TEACHERS) for shares in exact]))
        return energy, float(np.log(_POWERS[losses.argmin()]))

    def votes(self, p: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Counts of the teachers' votes on all points, where labels are drawn from p: shapes (k, m, C)."""
        from scipy.special import expit

        k, m, C = p.shape
        labels = (p[:, self.rows].cumsum(axis=3) > rng.random((k, *self.rows.shape, 1))).argmax(axis=3)
        one_hot = np.eye(C, dtype=np.float32)[labels.transpose(1, 2, 0)][..., C == 2 :]
        y = one_hot.reshape(*self.rows.shape, -1)
        fitted, ahead = np.zeros_like(y), np.zeros_like(y)
        for step in range(_STEPS):
            aim = ahead + 4 * (y - expit(ahead))
            before = fitted
            fitted = self.smoothed @ aim if self.few else self.x @ (self.solved @ aim)
            ahead = fitted + np.float32(step / (step + 3)) * (fitted - before)
        scores = (self.points @ (self.solved @ aim)).reshape(_TEACHERS, m, k, -1)
        voted = scores[..., 0] >= 0 if C == 2 else scores.argmax(axis=3)
        return np.stack([(voted == code).sum(axis=0).T for code in range(C)], axis=2).astype(np.float64)


def _energy(shares: FloatArray, n_teachers: int) -> float:
    """Mean squared distance of shares from their mean over points, less what few teachers add by chance."""
    chance = float((shares * (1 - shares)).sum(axis=1).clip(0).mean()) / max(n_teachers - 1, 1)
    return float(((shares - shares.mean(axis=0)) ** 2).sum(axis=1).mean()) - chance
