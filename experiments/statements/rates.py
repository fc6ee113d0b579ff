"""The learning bounds of LZCW21 as functions of n, m, eps: rates, and bounds with the proofs' constants.

A rate leaves out constants and logarithms: ``a m'^-p + b m'^q`` over the number m' <= m
of public points that are labelled (Remarks 6, 12 and 29: not all need be). d is the VC
dimension, tau the parameter of the Tsybakov noise condition (1: bounded noise; the rates
of the realizable case), theta the disagreement coefficient.

The bounds of the realizable case follow the proofs line by line, with the constants of
Lemmas 3, 4, 35, 36 and 37. The proofs for tau < 1 rest on Lemma 38 and that of active
queries on Theorem 22's C1 and C2, which come without constants.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pate_cli.privacy.svt import liu2021_scale

__all__ = ["ALGORITHMS", "EXPLICIT", "Problem", "TwoTerms"]
__all__ += ["best_bound", "high_margin_sizes", "printed_rate", "rate", "terms"]

ALGORITHMS = ("gaussian", "svt before", "svt", "active")
"""Columns of Table 1."""


@dataclass(frozen=True)
class Problem:
    """Parameters of a bound besides n, m and eps: VC dimension, tau, disagreement coefficient, Err(h*).

    Only "svt before" outside the realizable case depends on Err(h*).
    """

    d: float
    tau: float
    theta: float
    err_star: float = 0.0


@dataclass(frozen=True)
class TwoTerms:
    """``offset + a m^-p + b m^q``, to be minimised over m; all but offset and q positive, q >= 0."""

    a: float
    p: float
    b: float
    q: float
    offset: float = 0.0

    def at(self, m: float) -> float:
        """Value at m."""
        return float(self.offset + self.a * m**-self.p + self.b * m**self.q)

    def best_m(self, most: float = math.inf) -> float:
        """The minimiser that is at most `most`."""
        if self.q == 0:
            return most
        return float(min(most, (self.a * self.p / (self.b * self.q)) ** (1 / (self.p + self.q))))


def terms(algorithm: str, n: float, eps: float, problem: Problem, *, realizable: bool) -> TwoTerms:
    """Rate of a theorem (28, 5, 10 or 22) in the points labelled; realizable: h* is never wrong."""
    d, tau = problem.d, 1.0 if realizable else problem.tau
    private = n * eps
    if algorithm == "gaussian":
        power = tau / (2 - tau)
        return TwoTerms(d, 1.0, (d / private) ** power, power / 2)
    if algorithm == "svt":
        power = tau / (4 - 3 * tau)
        return TwoTerms(d, 1.0, (d / private) ** (2 * power), power)
    if algorithm == "active":
        # the student asks Otilde(theta d) labels, however many points there are
        power = tau / (2 - tau)
        return TwoTerms(d, 1.0, (d**1.5 * problem.theta**0.5 / private) ** power, 0.0)
    if realizable:
        return TwoTerms(math.sqrt(d), 0.5, (d / private) ** 2, 1.0)
    return TwoTerms(math.sqrt(d), 0.5, (d / private) ** (2 / 3), 1 / 3, 13 * problem.err_star)


def rate(algorithm: str, n: float, m: float, eps: float, problem: Problem, *, realizable: bool) -> float:
    """Rate of the theorem, the best number of points being labelled; m may be inf."""
    two = terms(algorithm, n, eps, problem, realizable=realizable)
    return two.at(two.best_m(m))


def printed_rate(
    algorithm: str, n: float, m: float, eps: float, problem: Problem, *, realizable: bool
) -> float:
    """Entry of Table 1 as printed, the larger of its two terms; same parameters as `rate`."""
    d, tau, private = problem.d, problem.tau, n * eps
    if algorithm == "svt before":
        if realizable:
            return float(max(d / private ** (2 / 3), math.sqrt(d / m)))
        return float(13 * problem.err_star + max(d**0.6 / private**0.4, math.sqrt(d / m)))
    if algorithm == "gaussian":
        first = d / private ** (2 / 3) if realizable else (d**1.5 / private) ** (2 * tau / (4 - tau))
    else:
        numerator = d**1.5 * (problem.theta**0.5 if algorithm == "active" else 1.0)
        first = (numerator / private) ** (1.0 if realizable else tau / (2 - tau))
    return float(max(first, d / m))


# --- bounds with every constant, realizable case ------------------------------------------------


def _teacher_error(size: float, d: float, log_failures: float) -> float:
    """Lemma 37 with Err(h*) = 0; `log_failures` is log(4/gamma), after any union bound."""
    return 4 * (d * math.log(max(size, 1.0)) + log_failures) / size


def _lemma3_teachers(ell: float, cutoff: float, eps: float, delta: float, beta: float) -> float:
    """K of Lemma 3."""
    return (
        136
        * math.log(4 * ell * cutoff / min(delta, beta / 2))
        * math.sqrt(cutoff * math.log(2 / delta))
        / eps
    )


def explicit_gaussian(n: float, m: float, eps: float, delta: float, failure: float, d: float) -> float:
    """Theorem 28, realizable: ``2D + 2 sqrt(D b) + 4b`` with D from Lemma 37, K as the theorem says."""
    inverse = math.log(1 / delta)
    root = math.sqrt(m * inverse) + math.sqrt(m * inverse + eps * m)
    teachers = 6 * math.sqrt(math.log(2 * n)) * root / eps
    if teachers >= n:
        return math.inf
    error = _teacher_error(n / teachers, d, math.log(8 * teachers / failure))
    distance = 3 * error + 1 / n
    b = (d * math.log(m) + math.log(8 / failure)) / m
    return 2 * distance + 2 * math.sqrt(distance * b) + 4 * b


def explicit_svt_before(n: float, m: float, eps: float, delta: float, failure: float, d: float) -> float:
    """Theorem 5, realizable: ``2T/m`` and the Hoeffding form of Lemma 36; T of Theorem 5, K of Lemma 3."""
    deviation = math.sqrt(m * math.log(m / failure) / 2)

    def mistakes(teachers: float) -> float:
        return m * _teacher_error(n / teachers, d, math.log(4 / failure)) + deviation

    cutoff = _smallest_cutoff(mistakes, n, m, eps, delta, failure)
    b = (d + math.log(4 / failure)) / m
    return 2 * cutoff / m + 2 * math.sqrt(b) + 4 * b


def explicit_svt(n: float, m: float, eps: float, delta: float, failure: float, d: float) -> float:
    """Theorem 10, realizable: ``4T/m + 5 (d + log(4/gamma))/m``, T = 3B by Lemmas 14, 35 and 37."""

    def mistakes(teachers: float) -> float:
        expected = m * _teacher_error(n / teachers, d, math.log(4 * teachers / failure))
        unlikely = math.log(teachers / failure)
        return expected + math.sqrt(2 * expected * unlikely) + 2 / 3 * unlikely

    cutoff = _smallest_cutoff(mistakes, n, m, eps, delta, failure)
    return 4 * cutoff / m + 5 * (d + math.log(4 / failure)) / m


def _smallest_cutoff(
    mistakes: Callable[[float], float], n: float, m: float, eps: float, delta: float, failure: float
) -> float:
    """Solve ``T = 3 mistakes(K(T))``, from below; inf if no T up to m does."""
    cutoff = 1.0
    for _ in range(500):
        teachers = _lemma3_teachers(m, cutoff, eps, delta, failure)
        if teachers >= n:
            return math.inf
        wanted = 3 * mistakes(teachers)
        if wanted > m:
            return math.inf
        if wanted <= cutoff * (1 + 1e-9):
            return cutoff
        cutoff = wanted
    return math.inf


Explicit = Callable[[float, float, float, float, float, float], float]

EXPLICIT: dict[str, Explicit] = {
    "gaussian": explicit_gaussian,
    "svt before": explicit_svt_before,
    "svt": explicit_svt,
}
"""Bounds of the realizable case with every constant: (n, m, eps, delta, failure, d) -> excess risk."""


def best_bound(algorithm: str, n: float, eps: float, delta: float, failure: float, d: float) -> float:
    """Explicit bound at the best number of labelled points (a grid of 16 a decade), at most 1."""
    grid = 10 ** np.arange(0.5, 2 * math.log10(n), 1 / 16)
    return min(1.0, *(EXPLICIT[algorithm](n, float(m), eps, delta, failure, d) for m in grid))


# --- unstable answers and teachers under the high-margin condition -------------------------------


def high_margin_sizes(
    eps: float, delta: float, ell: float, beta: float, *, nu: float, xi: float
) -> tuple[float, float, float]:
    """T and K of LZCW21 Proposition 18: K as printed, and as its proof needs it for the distance tested.

    The proof compares the margin ``n1 - n2``, at least ``2 K xi - sqrt(2 K ln(3m/gamma))``, to the
    threshold; Algorithm 2 compares ``ceil((n1 - n2)/2) - 1``, which may be half of that less one. With
    the noise that the proof allows, ``x = sqrt(K)`` solves ``xi x^2 - sqrt(ln(3m/gamma)/2) x = need``.

    `ell` is m, the number of queries, and `beta` the probability of failure (gamma in the paper). All but a
    share nu of the points have an expected margin above xi in (0, 1/2) (Definition 17). Returns T, K as
    printed and K as needed, before rounding.
    """
    rare = math.log(3 / beta)
    cutoff = nu * ell + math.sqrt(2 * nu * ell * rare) + 2 / 3 * rare
    scale = liu2021_scale(eps, delta, cutoff)
    union = math.log(3 * ell / beta)
    printed = max(2 * union / xi**2, 3 * scale * (math.log(4 * ell / delta) + union) / xi)
    draws = ell + cutoff
    need = 1 + 3 * scale * (math.log(2 * draws / delta) + math.log(3 * draws / (2 * beta)))
    spread = math.sqrt(union / 2)
    root = (spread + math.sqrt(spread**2 + 4 * xi * need)) / (2 * xi)
    return cutoff, printed, root**2
