"""What a mechanism promises before it is calibrated: the base of its options."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from pate_cli.privacy.gaussian import mu_of

__all__ = ["MechanismOptions", "auto_count"]

_RATIO = 0.8
_FEWEST = 10
_FEWEST_RECORDS = 10


class MechanismOptions:
    """Base of the `Options` of a mechanism's module, a frozen dataclass: what is asked before calibration.

    Attributes
    ----------
    picks_queries : bool
        Whether it chooses `split.budget` of the public points, instead of taking all of them.
    features_default : str
        Features of a run with ``features=auto``: `kernel`, or `none` where it learns from own columns.
    checked : tuple of mappings
        Options that `pate check` tries beside the defaults, where these leave code unused.
    """

    picks_queries: ClassVar[bool] = False
    features_default: ClassVar[str] = "kernel"
    checked: ClassVar[tuple[Mapping[str, Any], ...]] = ()

    def label(self, name: str) -> str:
        """Its name in tables, which may depend on its options."""
        return name

    def answered_by(self, name: str) -> str:
        """Label of the mechanism that answers: itself, or that of which it only selects the queries."""
        return self.label(name)

    def features(self, asked: str) -> str:
        """Features of a run: as asked, or by default."""
        return self.features_default if asked == "auto" else asked

    def auto_count(self, n_private: int, n_classes: int, eps: float, delta: float) -> int:
        """Number of teachers from public numbers (`teacher.count=auto`); see the function."""
        return auto_count(n_private, n_classes, eps, delta)

    def best_points(self, n_private: int, n_features: int, eps: float) -> float | None:
        """Number of public points that minimises its bound (`split.public=auto`); None if it has none."""
        return None

    def audited_columns(self) -> int | None:
        """Number of columns in an audit, where its hypotheses are of just so many."""
        return None

    def audited_teachers(self) -> int | None:
        """Number of teachers in an audit, where its own attacks need few."""
        return None


def auto_count(n_private: int, n_classes: int, eps: float, delta: float) -> int:
    """Number of teachers K in [1, n] from public numbers alone, so it costs no privacy: `teacher.count=auto`.

    With s = n/K records a teacher there are two errors to balance. *Weak teachers*: a fit of s records is off
    by about r/s, with r the directions that matter, and so is the mean vote. *Noise*: on the votes of m
    queries at mu-GDP it is ``2 sqrt(m) s/(mu n)`` of them, of which a student that knows the r directions
    keeps ``2 sqrt(r) s/(mu n)``. Their sum is least at ``s^2 = sqrt(r) mu n/2``, so s is in proportion to
    ``sqrt(mu n)``; the factor, .8, is measured: half or twice of it costs 0 to 6 points
    (`benchmarks/ablation.md`). At least 10 records a teacher, and one a class; and 10 teachers where there
    are records for them. Hard labels lose what a student that knows the noise gets back, but no more than a
    few points. The sparse vector technique may refuse so few teachers, with the number that would do.

    Examples
    --------
    >>> [auto_count(6_499, 2, eps, 1 / 6_499) for eps in (0.5, 1, 2, math.inf)]
    [239, 176, 130, 10]
    """
    most = max(1, n_private // max(_FEWEST_RECORDS, n_classes))
    fewest = min(_FEWEST, most)
    if math.isinf(eps):
        return fewest
    size = _RATIO * math.sqrt(mu_of(eps, delta) * n_private)
    return min(most, max(fewest, int(n_private / size)))
