"""Release of stable values: any function's value, if it is far enough from changing.

The distance to instability framework (Smith and Thakurta 2013) as BTT18 uses it: Algorithm 1
for one query, and online, over many, with the sparse vector technique (`StableSession`).
Labelling by votes is one use of it (`pate_cli.mechanisms.sparse_vector`); sub-sample and aggregate
(`aggregate`) turns any function of records into another.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from pate_cli.errors import BudgetSpent
from pate_cli.privacy.above_threshold import Decisions
from pate_cli.privacy.door import Door
from pate_cli.privacy.svt import SvtCalibration
from pate_cli.types import FloatArray, IntArray, PrivacyLoss

__all__ = ["StableSession", "aggregate", "release_once", "stability_threshold"]

Value = TypeVar("Value", bound=Hashable)


class StableSession(Generic[Value]):
    """Release values that are stable, refuse the others, stop at T refusals: BTT18's online query release.

    **Guarantee.** (eps, delta)-DP, the calibration's, for up to `ell` adaptively chosen functions
    ``f_j`` of the data, each given as its value and its distance to instability, if for all
    neighbouring D and D'

    - distances differ by at most 1, and
    - if ``f_j(D) != f_j(D')``, both distances are 0.

    Both hold of "the most records that can be changed, whichever they are, without reaching a
    data set on which some neighbour's value differs": the definition of the papers. The range of
    ``f_j`` may be anything; in practice it is discrete, as no other value is ever stable. The proof
    stands at the top of `pate_cli.privacy.svt`, which speaks of majorities and uses only these two
    properties. Neither a refused value nor any distance leaves.

    Parameters
    ----------
    calibration : SvtCalibration
        From `pate_cli.privacy.svt.calibrate`.
    door : Door
    runs : int
        R, independent runs side by side that are asked the same; a session at work is the case of one run.

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
    BTT18, long version, Algorithm 3 and Theorem 3.6; A. Smith, A. Thakurta. COLT 2013.
    """

    def __init__(self, calibration: SvtCalibration, door: Door, runs: int = 1) -> None:
        self._c = calibration
        self.runs = runs
        self._tests = door.above_threshold(calibration, runs)

    @property
    def exhausted(self) -> bool:
        """Whether in every run T values were refused, or `ell` were asked for."""
        return not self._tests.taking.any()

    @property
    def state(self) -> str:
        """How many values were refused, in the first run."""
        c, tests = self._c, self._tests
        return f"{tests.below[0]} unstable answers of {c.cutoff}, {tests.asked[0]} queries of {c.ell}"

    def test(
        self,
        distances: IntArray | FloatArray,
        values: NDArray[Any] | None = None,
        among: NDArray[np.bool_] | None = None,
    ) -> Decisions:
        """Test the distances of consecutive queries, whose values go if they are stable.

        Parameters
        ----------
        distances, values : ndarray of shape (m,)
            PRIVATE.
        among : ndarray of bool, shape (R,), optional
            Runs that ask; all if left out.
        """
        return self._tests.test(distances, among, values)

    def release(self, value: Value, distance: float) -> Value | None:
        """Release one value, or refuse it.

        Parameters
        ----------
        value : hashable
            Not None. PRIVATE until it is returned.
        distance : float
            Its distance to instability, at least 0. PRIVATE.

        Returns
        -------
        The value, or None if it is not stable enough.

        Raises
        ------
        BudgetSpent
            If the session is exhausted.
        ValueError
            If the value is None or the distance negative.
        """
        if self.exhausted:
            raise BudgetSpent(self.state)
        if value is None or not distance >= 0:
            raise ValueError("a value and a distance of at least 0 are needed")
        return self.release_all([value], np.array([distance], dtype=float))[0]

    def release_all(self, values: Sequence[Value], distances: IntArray | FloatArray) -> list[Value | None]:
        """Release values in order until the T-th refusal, in one run; may give fewer than there are."""
        if self.runs != 1:
            raise ValueError(f"values are released in one run, and there are {self.runs}")
        objects = np.empty(len(values), dtype=object)
        objects[:] = values
        stable, reached, released = self.test(distances[: len(values)], objects)
        taken = int(np.count_nonzero(reached))
        return [
            value if passed else None
            for value, passed in zip(np.asarray(released)[:taken], stable[:taken, 0].tolist(), strict=True)
        ]

    def spent(self) -> PrivacyLoss:
        """Loss after the fact: the smaller of the budget and the pathwise loss of the pattern seen."""
        c, refused = self._c, int(self._tests.below[0])
        pathwise = c.pathwise_eps(refused, open_segment=bool(self._tests.open[0]))
        if pathwise < c.eps:
            how = f"pathwise loss of {refused} unstable answers, delta for stability"
            return PrivacyLoss(pathwise, c.delta, how, data_dependent=True)
        return PrivacyLoss(
            c.eps, c.delta, "the budget (the pathwise loss is no smaller)", data_dependent=True
        )


def stability_threshold(eps: float, delta: float, rule: Literal["tight", "bassily2018"] = "tight") -> float:
    """Threshold of `release_once`: ``ln(1/(2 delta))/eps``, or BTT18's ``ln(1/delta)/eps``, at least 0.

    Raises
    ------
    ValueError
        If eps is not positive or delta not in (0, 1).
    """
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
    """Release one value if ``distance + Lap(1/eps) > threshold`` (BTT18 Algorithm 1, A_stab).

    **Guarantee.** (eps, delta)-DP under the two conditions of `StableSession`. Where the values on D
    and D' agree, the answer is a function of the noisy distance alone, which is (eps, 0)-DP. Where
    they differ both distances are 0, and the value goes with probability
    ``P(Lap(1/eps) > threshold) = exp(-eps threshold)/2``, which is delta at `tight` (if
    ``delta <= 1/2``) and delta/2 at BTT18's threshold; it is refused with equal probability on both.

    Parameters
    ----------
    value : hashable
    distance : float
        At least 0. PRIVATE, as the value is.
    eps, delta : float
    door : Door
    rule : {"tight", "bassily2018"}
        See `stability_threshold`.

    Returns
    -------
    The value, or None.

    Examples
    --------
    >>> from pate_cli.privacy.door import Door
    >>> door = Door.seeded(0)
    >>> release_once("e", 30, eps=1.0, delta=1e-6, door=door)
    'e'
    """
    if value is None or not distance >= 0:
        raise ValueError("a value and a distance of at least 0 are needed")
    noisy = door.laplace(np.array([float(distance)]), sensitivity=1.0, scale=1 / eps)
    return value if noisy[0] > stability_threshold(eps, delta, rule) else None


def aggregate(outputs: Sequence[Value]) -> tuple[Value, int]:
    """Sub-sample and aggregate (BTT18 long version, Algorithm 4): the commonest output, and its distance.

    Parameters
    ----------
    outputs : sequence of hashable
        Any function's value on each of K disjoint parts of the records; not empty. PRIVATE.

    Returns
    -------
    value : hashable
        Of several that are equally common, the one seen first.
    distance : int
        ``max(0, ceil((n1 - n2)/2) - 1)``, n1 and n2 the two largest counts: as of votes, it meets the
        two conditions of `StableSession` whatever the function, since one record changes one part.

    Examples
    --------
    >>> aggregate(["a"] * 7 + ["b"] * 2)
    ('a', 2)
    """
    (value, first), *others = Counter(outputs).most_common(2)
    second = others[0][1] if others else 0
    return value, max(0, (first - second + 1) // 2 - 1)
