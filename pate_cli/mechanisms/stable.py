"""Release of stable values: any function's value, if it is far enough from changing.

The distance to instability framework (Smith and Thakurta, COLT 2013) as BTT18 uses it: Algorithm 1 for one
query (`release_once`), and many online, with the sparse vector technique (`StableSession`). Sub-sample and
aggregate (`aggregate`) is one way to a value and its distance.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

import numpy as np

from pate_cli.errors import BudgetSpent
from pate_cli.privacy.above_threshold import AboveThreshold, SvtCalibration
from pate_cli.privacy.door import Door
from pate_cli.privacy.events import Event
from pate_cli.privacy.kinds import LaplaceNoise
from pate_cli.types import PrivacyLoss

__all__ = ["StableSession", "aggregate", "release_once", "stability_threshold"]

Value = TypeVar("Value", bound=Hashable)


@dataclass(frozen=True)
class _Stable(Event):
    """One value released if it is stable, (eps, delta)-DP; both add up."""

    eps: float
    delta: float

    @classmethod
    def compose(cls, counts: Mapping[Any, int], delta: float) -> tuple[float, float]:
        """See `Event`."""
        each = [(event.eps * count, event.delta * count) for event, count in counts.items()]
        return math.fsum(eps for eps, _ in each), math.fsum(delta for _, delta in each)


@dataclass(frozen=True, kw_only=True)
class _DistanceNoise(LaplaceNoise):
    """Laplace noise on a distance that decides whether a value is released: see `release_once`."""

    delta: float

    def event(self, size: int) -> _Stable:  # type: ignore[override]
        """See `Kind`."""
        return _Stable(super().event(size).eps, self.delta)


class StableSession(Generic[Value]):
    """Release values that are stable, refuse the others, stop at T refusals: BTT18's online query release.

    **Guarantee.** (eps, delta)-DP, the calibration's, for up to `ell` adaptively chosen functions ``f_j`` of
    the data, each given as its value and its distance to instability, if for all neighbouring D and D'

    - distances differ by at most 1, and
    - if ``f_j(D) != f_j(D')``, both distances are 0.

    Both hold of the papers' distance: the most records that can be changed without reaching a data set on
    which some neighbour's value differs. The range of ``f_j`` may be anything; in practice it is discrete, as
    no other value is ever stable. The proof stands at the top of `pate_cli.privacy.above_threshold`, which
    speaks of majorities and uses only these two properties. Neither a refused value nor any distance is
    released.

    Examples
    --------
    >>> from pate_cli.privacy.door import Door
    >>> from pate_cli.privacy.svt import calibrate
    >>> calibration = calibrate("tight", eps=1.0, delta=1e-6, ell=10, cutoff=2)
    >>> session = StableSession(calibration, Door.seeded(0))
    >>> session.release("a median of 12", distance=200), session.release("a mode of 7", distance=0)
    ('a median of 12', None)
    >>> value, distance = aggregate(["red"] * 60 + ["blue"] * 39)  # one output a disjoint part of the records
    >>> value, distance, session.release(value, distance), session.exhausted
    ('red', 10, None, True)

    References
    ----------
    BTT18, long version, Algorithm 3 and Theorem 3.6.
    """

    def __init__(self, calibration: SvtCalibration, door: Door) -> None:
        self._tests = AboveThreshold(calibration, door)

    @property
    def exhausted(self) -> bool:
        """Whether T values were refused, or `ell` asked for."""
        return self._tests.exhausted

    def spent(self) -> PrivacyLoss:
        """Loss after the fact: a report."""
        return self._tests.spent()

    def release(self, value: Value, distance: float) -> Value | None:
        """Release one value, or None if it is not stable enough; BudgetSpent if the session is exhausted.

        The value (not None) is PRIVATE until it is returned, its distance to instability (at least 0) always.
        """
        if self.exhausted:
            raise BudgetSpent("no further value is taken")
        _check(value, distance)
        values = np.empty(1, dtype=object)
        values[0] = value  # an object of any type, a tuple too
        stable, _, released = self._tests.test(np.array([float(distance)]), values)
        return np.asarray(released)[0] if stable[0, 0] else None


def stability_threshold(eps: float, delta: float, rule: Literal["tight", "bassily2018"] = "tight") -> float:
    """Threshold of `release_once`: ``ln(1/(2 delta))/eps``, or BTT18's ``ln(1/delta)/eps``, at least 0."""
    if not eps > 0 or not 0 < delta < 1:
        raise ValueError(f"eps > 0 and delta in (0, 1) are needed, got {eps} and {delta}")
    return max(0.0, -math.log(2 * delta if rule == "tight" else delta) / eps)


def release_once(
    value: Value,
    distance: float,
    *,
    eps: float,
    delta: float,
    door: Door,
    rule: Literal["tight", "bassily2018"] = "tight",
) -> Value | None:
    """Release one value if ``distance + Lap(1/eps) > threshold`` (BTT18 Algorithm 1, A_stab), else None.

    **Guarantee.** (eps, delta)-DP under the two conditions of `StableSession`. Where the values on D and D'
    agree, the answer is a function of the noisy distance alone, which is (eps, 0)-DP. Where they differ both
    distances are 0, and the value goes with probability ``P(Lap(1/eps) > threshold) =
    exp(-eps threshold)/2``, which is delta at `tight` (if ``delta <= 1/2``) and delta/2 at BTT18's threshold;
    it is refused with equal probability on both.

    Examples
    --------
    >>> from pate_cli.privacy.door import Door
    >>> release_once("e", 30, eps=1.0, delta=1e-6, door=Door.seeded(0))
    'e'
    """
    _check(value, distance)
    threshold = stability_threshold(eps, delta, rule)
    kind = _DistanceNoise(sensitivity=1.0, scale=1 / eps, delta=delta)
    return value if door.release(np.array([float(distance)]), kind)[0] > threshold else None


def aggregate(outputs: Sequence[Value]) -> tuple[Value, int]:
    """Sub-sample and aggregate (BTT18 long version, Algorithm 4): the commonest output, and its distance.

    `outputs` are any function's values on K disjoint parts of the records. PRIVATE. Of several that are
    equally common it is the one seen first. The distance, ``max(0, ceil((n1 - n2)/2) - 1)``, n1 and n2 the
    two largest counts, meets the two conditions of `StableSession` for every function, since one record
    changes one part.

    Examples
    --------
    >>> aggregate(["a"] * 7 + ["b"] * 2)
    ('a', 2)
    """
    (value, first), *others = Counter(outputs).most_common(2)
    second = others[0][1] if others else 0
    return value, max(0, (first - second + 1) // 2 - 1)


def _check(value: object, distance: float) -> None:
    if value is None or not distance >= 0:
        raise ValueError("a value and a distance of at least 0 are needed")
