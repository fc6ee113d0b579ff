r"""A family of distributions with known Tsybakov parameter, and everything exact about thresholds on it.

x is uniform on [-1, 1] and, with ``a = (1 - tau)/tau``::

    P(y = 1 | x) = 1/2 + s(x) sign(x) |x|^a / 2,     s = s_left for x < 0, s_right for x >= 0

for strengths s in (0, 1]. Hypotheses are thresholds ``h_t(x) = 1(x >= t)`` (VC dimension 1);
the Bayes classifier is ``h* = h_0``. At threshold t, with s of the side of t::

    Dis(h_t, h*) = |t|/2
    Err(h_t) - Err(h*) = integral_0^|t| s x^a dx/2 = s tau |t|^(1/tau) / 2       (a + 1 = 1/tau)

so ``Err(h_t) - Err(h*) = (s tau/2) (2 Dis)^(1/tau)``: nothing is ever measured on a test sample.

**TNC with parameter tau holds, and with no larger one.** (Definition 8, for |r(x) - 1/2|,
which it prints as |r(x)|.) ``P(|2r - 1| <= u) = P(s |x|^a <= u) <= (u/s_min)^(1/a)`` and
``1/a = tau/(1 - tau)``; for tau = 1 the noise is bounded, ``|2r - 1| >= s_min``. Definition 9
follows for *every* labelling function h: on ``{h != h*}`` the excess risk is
``E[|2r - 1| 1(h != h*)] >= u (Dis(h, h*) - (u/s_min)^(1/a))``; the best u makes it a constant
times ``Dis^(1 + a) = Dis^(1/tau)``. For thresholds it is an equality up to s, so no larger tau will do.

**Why two strengths.** With s_left = s_right a teacher's threshold is as likely left of 0 as
right of it, the errors of teachers cancel in the vote, and no bound that adds them up can be
tight. With unequal strengths the median of a teacher's threshold is off 0 by as much as the
threshold itself, ``(1/N)^(tau/(2 - tau))`` on N records, and the vote of any number of
teachers keeps that error: Lemma 13 of LZCW21 is then tight for the vote too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pate_cli.types import FloatArray, IntArray, Votes

_BLOCK = 2**19
"""Records held at once: 4 MB an array, so that a few of them stay in the cache."""


@dataclass(frozen=True)
class Family:
    """One distribution of the family: tau in (0, 1], and the strengths s on either side, in (0, 1]."""

    tau: float
    left: float
    right: float

    @property
    def text(self) -> str:
        """Sentence for the notes of a study."""
        sides = (
            f"{self.left:g} left and {self.right:g} right of 0"
            if self.left != self.right
            else f"{self.left:g}"
        )
        return (
            "x uniform on [-1, 1], P(y = 1|x) = 1/2 + s sign(x)|x|^((1 - tau)/tau)/2, "
            f"s = {sides}; thresholds"
        )

    def advantage(self, x: FloatArray) -> FloatArray:
        """``2 P(y = 1 | x) - 1``, elementwise."""
        power = (1 - self.tau) / self.tau
        size = np.abs(x) if power == 1 else np.abs(x) ** power  # power 0: all ones
        return np.asarray(size * np.where(x < 0, -self.left, self.right), dtype=np.float64)

    def disagreement(self, t: Any) -> FloatArray:
        """``Dis(h_t, h*)``, elementwise for t in [-1, 1]."""
        return np.asarray(np.abs(np.asarray(t, dtype=float)) / 2)

    def excess(self, t: Any) -> FloatArray:
        """``Err(h_t) - Err(h*)``, elementwise for t in [-1, 1]."""
        t = np.asarray(t, dtype=float)
        strength = np.where(t < 0, self.left, self.right)
        return np.asarray(strength * self.tau * np.abs(t) ** (1 / self.tau) / 2)


def erm(x: FloatArray, y: Any) -> FloatArray:
    """Thresholds of least empirical risk, one for each row: x, ascending in [-1, 1], and y of shape (R, N).

    It is the middle of the interval between records in which the empirical risk is least; of several such
    intervals the leftmost in even rows and the rightmost in odd rows, so that ties favour no side.
    """
    rows, size = x.shape
    # risk of the cut before record j, less that of the cut before record 0
    risk = np.zeros((rows, size + 1), dtype=np.int32)
    np.cumsum(np.where(y, np.int8(1), np.int8(-1)), axis=1, out=risk[:, 1:], dtype=np.int32)
    cut = np.argmin(risk, axis=1)
    cut[1::2] = size - np.argmin(risk[1::2, ::-1], axis=1)
    row = np.arange(rows)
    below = np.where(cut > 0, x[row, cut - 1], -1.0)
    above = np.where(cut < size, x[row, np.minimum(cut, size - 1)], 1.0)
    return np.asarray((below + above) / 2)


def learn(x: FloatArray, labels: Any) -> float:
    """Threshold of least error on labelled points, of shape (m,)."""
    order = np.argsort(x)
    return float(erm(x[None, order], np.asarray(labels)[None, order] == 1)[0])


def train(family: Family, n_teachers: int, size: int, rng: np.random.Generator) -> FloatArray:
    """Thresholds of `n_teachers` teachers, each the ERM on `size` fresh records, shape (K,).

    Records are drawn in ascending order (partial sums of exponentials are uniform order
    statistics), which saves the sort.
    """
    thresholds = np.empty(n_teachers)
    at_once = max(2, _BLOCK // size // 2 * 2)  # even, for the ties
    for first in range(0, n_teachers, at_once):
        count = min(at_once, n_teachers - first)
        x = np.cumsum(rng.standard_exponential((count, size + 1)), axis=1)
        x = x[:, :-1] * (2 / x[:, -1:]) - 1
        y = 2 * rng.random((count, size), dtype=np.float32) - 1 < family.advantage(x)
        thresholds[first : first + count] = erm(x, y)
    return thresholds


def differing(trained: FloatArray, says_one: FloatArray) -> float:
    """Disagreement with h* of answers that are 1 with probability `says_one[j]` where j teachers vote 1."""
    cuts = np.concatenate([[-1.0], np.sort(trained), [1.0]])
    left, right = np.minimum(cuts, 0.0), np.maximum(cuts, 0.0)
    return float((says_one @ np.diff(left) + (1 - says_one) @ np.diff(right)) / 2)


def votes(thresholds: FloatArray, x: FloatArray) -> Votes:
    """Votes of the teachers at points x of shape (m,)."""
    ones: IntArray = np.searchsorted(np.sort(thresholds), x, side="right").astype(np.int64)
    return Votes(np.column_stack([len(thresholds) - ones, ones]), len(thresholds))


def vote_threshold(thresholds: FloatArray) -> float:
    """Threshold of the noiseless vote, 1 where at least K/2 teachers say so: itself a threshold."""
    middle = (len(thresholds) + 1) // 2 - 1
    return float(np.partition(thresholds, middle)[middle])
