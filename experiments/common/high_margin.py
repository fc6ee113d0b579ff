"""Sizes of LZCW21 Proposition 18: unstable answers and teachers under the high-margin condition."""

from __future__ import annotations

import math

from pate_cli.privacy.svt import liu2021_scale


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
