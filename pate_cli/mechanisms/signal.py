"""Signal against noise of the teachers' votes or scores, from public numbers."""

from __future__ import annotations

import math

__all__ = ["LEAST_SIGNAL", "signal_of"]

LEAST_SIGNAL = 2.0
"""Below it nothing was learned in any of 8 of 63 cells of `gaussian`; above it, at times still nothing."""


def signal_of(mu: float, n_teachers: int, n_classes: int) -> float:
    """Signal of K teachers' votes of a class, against mu-GDP noise.

    Were the votes of C classes dealt evenly, a class has K/C at each of m points; along one direction over
    all points that is ``sqrt(m) K/C``, against noise of one count, which is ``sqrt(2 m)/mu`` (of two classes
    ``sqrt(m)/mu``). So m cancels.
    """
    return mu * n_teachers / (2.0 if n_classes == 2 else math.sqrt(2) * n_classes)
