"""Distributions of which everything is known; on the first three no hypothesis is right.

`noise` : x uniform on [0, 1], the label ``1(x >= 1/2)``, wrong with probability gamma: benign.

`coin` : x uniform on [0, 1], the label ``1(x >= 1/2)``, but a fair coin within gamma of 1/2. Every
threshold there has error gamma, so teachers choose any of them and disagree on a mass of 2 gamma.
*Thresholds cannot do worse.* If a < b are two of them, one or the other errs on each point of [a, b),
so its mass is at most the sum of their errors: where teachers have error at most gamma + alpha, all
but any share of them agree outside of a mass ``2 (gamma + alpha)``, whatever the distribution.

`features` : three binary features, each a copy of the (fair) label, each wrong on a mass gamma of its own.
The three stumps of error gamma are equally good, and on a mass 3 gamma a third of the teachers err.
This is where BTT18's counting argument is met: m (gamma + alpha) mistakes of each teacher are, at
worst, a third of the teachers on 3 m (gamma + alpha) queries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pate_cli.types import UNANSWERED, FloatArray, IntArray

HYPOTHESES = {"noise": "thresholds", "coin": "thresholds", "features": "stumps"}
"""The class that is learnt on each."""

WORST = {"noise": 1.0, "coin": 2.0, "features": 3.0}
"""Error of a vote that leaves all it is not sure of unanswered, in units of gamma."""


@dataclass(frozen=True)
class Instance:
    """One of the distributions; gamma, in (0, 1/3), is the least error of a hypothesis."""

    name: str
    gamma: float

    def points(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw n unlabelled points, shape (n, 1) or (n, 3)."""
        if self.name != "features":
            return rng.random((n, 1))
        label = rng.random(n) < 0.5
        region = np.floor(rng.random(n) / self.gamma)  # 0, 1, 2: that feature is wrong
        X = label[:, None] ^ (region[:, None] == np.arange(3))
        return np.asarray(X, dtype=np.float64)

    def ones(self, X: FloatArray) -> FloatArray:
        """``P(y = 1 | x)``, shape (n,)."""
        if self.name == "features":
            return np.asarray(X.sum(axis=1) >= 2, dtype=np.float64)
        x = X[:, 0]
        if self.name == "noise":
            return np.where(x >= 0.5, 1 - self.gamma, self.gamma)
        return np.where(np.abs(x - 0.5) < self.gamma, 0.5, (x >= 0.5).astype(float))

    def draw(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        """Draw n records: X and y."""
        X = self.points(n, rng)
        return X, (rng.random(n) < self.ones(X)).astype(np.int64)

    def error(self, X: FloatArray, labels: Any) -> float:
        """Expected share of points whose label differs from `labels`; one without a label counts as wrong."""
        p, labels = self.ones(X), np.asarray(labels)
        wrong = np.where(labels == 1, 1 - p, np.where(labels == UNANSWERED, 1.0, p))
        return float(wrong.mean())

    def best(self, X: FloatArray) -> float:
        """Expected error on these points of a hypothesis of error gamma, averaged over the best ones."""
        if self.name == "noise":
            return self.gamma
        if self.name == "coin":
            return float(np.mean(np.abs(X[:, 0] - 0.5) < self.gamma)) / 2
        disagree = (X[:, :1] != X).any(axis=1)
        return float(disagree.mean()) / 3


@dataclass(frozen=True)
class Sigmoid:
    """Records with ``|x| <= 1`` and ``P(y = 1 | x) = sigmoid(steepness x_1)``."""

    features: int
    steepness: float

    def points(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw n points, shape (n, features)."""
        X = rng.standard_normal((n, self.features))
        return np.asarray(X / np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True)))

    def p(self, X: FloatArray) -> FloatArray:
        """``P(y = 1 | x)``, shape (n,)."""
        return np.asarray(1 / (1 + np.exp(-self.steepness * X[:, 0])))

    def draw(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        """Draw n records."""
        X = self.points(n, rng)
        return X, (rng.random(n) < self.p(X)).astype(np.int64)
