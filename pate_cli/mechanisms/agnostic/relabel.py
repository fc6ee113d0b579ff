"""Sampling of private records, and relabelling by a hypothesis (NB20 Algorithm 2, LWY25 Algorithm 1)."""

from __future__ import annotations

from typing import Any

import numpy as np

from pate_cli.learners.hypotheses import HypothesisClass
from pate_cli.privacy.door import Door
from pate_cli.privacy.kinds import ExponentialChoice
from pate_cli.privacy.noise import Noise
from pate_cli.types import IntArray

__all__ = ["drawn", "relabel", "relabel_with_rest", "subset"]


def subset(n: int, size: int, noise: Noise) -> IntArray:
    """A uniformly random set of `size` of n records, in random order."""
    clocks = noise.exponential(1.0, n)
    if size == n:
        return np.argsort(clocks).astype(np.int64)
    first = np.argpartition(clocks, size)[:size]
    return first[np.argsort(clocks[first])].astype(np.int64)


def drawn(n: int, noise: Noise, size: int) -> IntArray:
    """Draw `size` of n records with replacement: their numbers in the order drawn."""
    return np.minimum((np.exp(-noise.exponential(1.0, size)) * n).astype(np.int64), n - 1)


def relabel(
    hypotheses: HypothesisClass, X: Any, y: IntArray, door: Door, *, relabel_eps: float = 1.0
) -> IntArray:
    """Relabel a sample by a hypothesis of the class that makes few mistakes on it. PRIVATE.

    **Guarantee.** None of its own: the candidates depend on the sample, and the labels are not
    released. An (eps, delta)-DP algorithm run on the result is
    ``(eps + 2 ln(1 + e^(relabel_eps/2)), delta)``-DP for neighbours that differ in one replaced record:
    (2.948, delta) for eps = relabel_eps = 1, where NB20 Lemma 5 has (4, 4e delta). Proof:
    `pate_cli.mechanisms.agnostic.accounting`.

    NB20 Algorithm 2; Beimel, Nissim and Stemmer 2015. The exponential mechanism with `relabel_eps` chooses
    among one hypothesis a dichotomy of X; inf is empirical risk minimisation.
    """
    dichotomies = hypotheses.dichotomies(X)
    chosen = door.keep(-dichotomies.mistakes(X, y), ExponentialChoice(sensitivity=1.0, eps=relabel_eps))
    return dichotomies.labels(int(chosen))


def relabel_with_rest(
    hypotheses: HypothesisClass, X: Any, rest: tuple[Any, IntArray], eps_in: float, door: Door
) -> IntArray:
    """Relabel a sample by a hypothesis chosen on the records outside it. PRIVATE.

    LWY25 Algorithm 1: X are the records of T, whose labels are not used, and `rest` is W, records and labels.
    The exponential mechanism with `eps_in` and scores ``q(h) = min_f dis_T(h, f) + err_W(f)``, f over the
    class, of sensitivity 1/|W|.

    **Guarantee.** None of its own; see `pate_cli.mechanisms.agnostic.accounting.transformed`.
    """
    dichotomies = hypotheses.dichotomies(X)
    # |W| q(h), of sensitivity 1
    scores = dichotomies.nearest(dichotomies.least_mistakes(*rest), len(rest[1]) / X.shape[0])
    return dichotomies.labels(int(door.keep(-scores, ExponentialChoice(sensitivity=1.0, eps=eps_in))))
