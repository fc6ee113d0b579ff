"""How steep the probabilities of a student of votes should be, by simulation with public points alone."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pate_cli.types import FloatArray

if TYPE_CHECKING:
    from pate_cli.students.kernel import Directions

__all__ = ["power_of"]

_STEEPNESS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # standard deviations of log-odds that are tried
_FUNCTIONS = 5  # of the prior, at each
_TEACHERS = 60  # on each
_MOST_RECORDS = 500  # of a teacher
_NEWTON = 4  # steps of logistic regressions from 0, of two classes; of more one
_POWERS = np.geomspace(0.25, 16.0, 61)
_LEAST = 1e-3  # share of a class
_NEVER = 1e-9  # how often a record counts that a teacher has not


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
    from pate_cli.students.kernel import Directions

    usual = np.log(np.clip(shares.mean(axis=0), _LEAST, 1.0))
    released = _energy(shares, n_teachers) - noise**2 * shares.shape[1]
    at = cache(partial(_simulated, P, Directions.of(P), usual, student.part_size, noise))
    below, above = _STEEPNESS[0], _STEEPNESS[-1]
    while between := [each for each in _STEEPNESS if below < each < above]:
        middle = between[(len(between) - 1) // 2]
        below, above = (middle, above) if at(middle)[0] < released else (below, middle)
    energies, powers = zip(at(below), at(above), strict=True)
    power = float(np.exp(np.interp(released, np.maximum.accumulate(energies), powers)))
    return power if np.isfinite(power) else 1.0


def _simulated(
    P: FloatArray, directions: Directions, usual: FloatArray, part_size: int, noise: float, steepness: float
) -> tuple[float, float]:
    """Energy of the simulated shares, and the logarithm of the best power, where functions are so steep."""
    from scipy.special import softmax

    from pate_cli.students.kernel import KernelStudent

    rng, (m, C) = np.random.default_rng(0), (len(P), len(usual))
    seen, centred = np.column_stack([P, np.ones(m)]), P - P.mean(axis=0)
    losses, energy = np.zeros(len(_POWERS)), 0.0
    for _ in range(_FUNCTIONS):
        drawn = centred @ rng.normal(size=(P.shape[1], C))
        p = softmax(usual + steepness * drawn / max(float(drawn.std()), 1e-12), axis=1)
        exact = _votes(seen, p, min(part_size, _MOST_RECORDS), rng) / _TEACHERS
        noisy = exact + noise * rng.normal(size=exact.shape)
        if C == 2:
            noisy[:, 0] = 1 - noisy[:, 1]
        fitted = KernelStudent(part_size).fit_shares(P, noisy, noise=noise, directions=directions)
        logs = np.log(fitted.predict_proba(P)).T  # a power of shares is divided by its sum over the classes
        sums = np.exp(_POWERS[:, None, None] * logs).sum(axis=1)
        losses += np.log(sums).sum(axis=1) - _POWERS * (p.T * logs).sum()
        energy += _energy(exact, _TEACHERS) / _FUNCTIONS
    return energy, float(np.log(_POWERS[losses.argmin()]))


def _votes(seen: FloatArray, p: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
    """Votes on all points of teachers of public points with labels drawn from p: counts, shape (m, C)."""
    m, C = p.shape
    rows = rng.integers(0, m, (_TEACHERS, size))
    labels = (p[rows].cumsum(axis=2) > rng.random((_TEACHERS, size, 1))).argmax(axis=2)
    seen = seen.astype(np.float32)  # votes are signs, which single precision decides as well
    if size < m:
        x, y = seen[rows], np.eye(C, dtype=np.float32)[labels]
    else:  # a teacher has points several times: they are fitted once each
        places = (np.arange(_TEACHERS)[:, None] * m + rows) * C + labels
        y = np.bincount(places.ravel(), minlength=_TEACHERS * m * C).reshape(-1, m, C).astype(np.float32)
        x = seen[None]
    votes = np.arange(m) * C + _logistic(x, y, seen).argmax(axis=2)
    return np.bincount(votes.ravel(), minlength=m * C).reshape(m, C).astype(np.float64)


def _logistic(x: FloatArray, y: FloatArray, points: FloatArray) -> FloatArray:
    """Scores of points by logistic regressions with a ridge of 1, a class against the rest: (k, m, C).

    A step is a weighted ridge regression; from 0 all classes have the same weights. Records x have shape
    (k, s, d), or (1, s, d) where all have the same, and y, of shape (k, s, C), says how often each is of
    which class.
    """
    from scipy.special import expit

    two, turned = y.shape[2] == 2, x.transpose(0, 2, 1)
    n = np.maximum(y.sum(axis=2, keepdims=True), _NEVER)
    y = y[:, :, 1:] if two else y
    fitted, few = np.zeros_like(y), x.shape[1] < x.shape[2]
    inner, ridge = (x @ turned if few else None), np.eye(min(x.shape[1:]), dtype=x.dtype)
    for _ in range(_NEWTON if two else 1):
        p = expit(fitted)
        curved = n * np.maximum(p[:, :, :1] * (1 - p[:, :, :1]), _LEAST)
        aim = fitted + (y - n * p) / curved
        if few:
            weights = turned @ np.linalg.solve(inner + ridge / curved, aim)
        else:
            weights = np.linalg.solve(turned @ (curved * x) + ridge, turned @ (curved * aim))
        fitted = x @ weights
    scores: FloatArray = points @ weights
    return np.concatenate([-scores, scores], axis=2) if two else scores


def _energy(shares: FloatArray, n_teachers: int) -> float:
    """Mean squared distance of shares from their mean over points, less what few teachers add by chance."""
    chance = float((shares * (1 - shares)).sum(axis=1).clip(0).mean()) / max(n_teachers - 1, 1)
    return float(((shares - shares.mean(axis=0)) ** 2).sum(axis=1).mean()) - chance
