"""An audit of one release: many records of two versions each, one of which is drawn, and guesses of which.

Steinke, Nasr, Jagielski, Privacy auditing with one (1) training run, NeurIPS 2023, Theorem 5.2, for every
point of the curve of mu-GDP: each (eps, delta) of it holds, so each bounds the same probability, and the
least bound does. Neighbours are sets in which one record is replaced by its other version.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.stats import binom

from pate_cli.privacy.composition import root_on_safe_side
from pate_cli.privacy.gaussian import profile
from pate_cli.types import FloatArray

__all__ = ["guesses_right", "mu_of_guesses", "p_value"]

_EPS = np.geomspace(1e-3, 60.0, 120)
_MOST_MU = 40.0


def p_value(m: int, guesses: int, right: int, mu: float) -> float:
    """Bound the probability that `right` or more of `guesses` on m drawn bits are right, under mu-GDP."""
    least = 1.0
    for eps in _EPS.tolist():
        tails = binom.sf(right - 1 - np.arange(right + 1), guesses, 1 / (1 + math.exp(-eps)))
        steps = (tails[1:] - tails[0]) / np.arange(1, right + 1)
        least = min(least, float(tails[0] + 2 * m * profile(eps, mu) * steps.max(initial=0.0)))
    return least


def mu_of_guesses(m: int, guesses: int, right: int, confidence: float) -> float:
    """Lower bound on mu that holds at the confidence, from one release."""

    def likely(mu: float) -> float:
        return p_value(m, guesses, right, mu) - (1 - confidence)

    if likely(0.0) > 0:
        return 0.0
    return _MOST_MU if likely(_MOST_MU) < 0 else root_on_safe_side(likely, 0.0, _MOST_MU, below=True)


def guesses_right(scores: FloatArray, bits: Any, guesses: int) -> int:
    """Count right guesses: the sign of a score, for those that are farthest from 0."""
    surest = np.argsort(-np.abs(scores), kind="stable")[:guesses]
    return int(((scores[surest] > 0) == np.asarray(bits)[surest]).sum())
