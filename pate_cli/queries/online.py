"""Disagreement-based active learning by one pass of gradient steps, with importance weights for the oracle.

The learner is one half-space w that takes a gradient step of the logistic loss for each label, in the order
asked. A step of length eta for a record (x, y) of weight g moves w.x by at most ``g eta |x|^2``, the slope of
the loss being at most 1; so a step changes the label of x at a weight of at least

    g(x) = |w.x| / (eta |x|^2)

and x is in the region of disagreement if ``g(x) <= t U(t)``, with U(t) as in `half_spaces` and Err the share
of labels that w missed when it was given them among all t points seen.

References
----------
N. Karampatziakis, J. Langford. Online importance weight aware updates. UAI 2011. S. Yan, K. Chaudhuri,
T. Javidi. Active learning with logged data. ICML 2018.
"""

from __future__ import annotations

import math

import numpy as np

from pate_cli.matrices import dense
from pate_cli.types import FloatArray, IntArray, PublicPoints

__all__ = ["OnlineLearner"]


class OnlineLearner:
    """Active learner of one half-space and a constant feature, for two classes.

    **Guarantee.** As `ActiveLearner`: post-processing of released answers.

    A larger `mellowness`, c0 >= 0, asks more. `student.estimator=sgd` with this `step`, eta > 0, one pass,
    and a `clip` above every row's length learns the same w from the answers.
    """

    def __init__(self, points: PublicPoints, mellowness: float, step: float) -> None:
        self._X = points.X
        self._c0, self._step = mellowness, step
        self._w = np.zeros(self._X.shape[1] + 1)
        self._seen = self._mistakes = 0

    def next_wanted(self, stream: IntArray) -> int | None:
        """Place of the first point of the stream in the region of disagreement; None if there is none."""
        for place, index in enumerate(stream.tolist()):
            self._seen += 1
            x = self._row(index)
            weight = abs(float(self._w @ x)) / (self._step * float(x @ x))
            log = math.log(self._seen + 1)
            if weight <= self._c0 * (math.sqrt(self._mistakes * log) + log):
                return place
        return None

    def learn(self, index: int, label: int) -> None:
        """Take a step for a label, 0 or 1, that was released."""
        x, sign = self._row(index), 2 * label - 1
        margin = sign * float(self._w @ x)
        self._mistakes += margin <= 0
        slope = math.exp(-np.logaddexp(0.0, margin))
        self._w += self._step * sign * slope * x

    def _row(self, index: int) -> FloatArray:
        return np.append(dense(self._X[[index]])[0], 1.0)
