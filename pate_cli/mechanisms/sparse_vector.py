"""The plain sparse vector technique (BTT18 long version, Algorithm 1): numbers against a threshold.

The stable values of `pate_cli.mechanisms.stable` are built on it; by itself it serves any numbers.
"""

from __future__ import annotations

import numpy as np

from pate_cli.errors import BudgetSpent
from pate_cli.mechanisms.stable import StableService
from pate_cli.privacy.door import Door
from pate_cli.privacy.svt import SvtCalibration
from pate_cli.types import FloatArray, PrivacyLoss

__all__ = ["SparseVector"]


class SparseVector:
    """Say of one number after another whether it is above a threshold; stop at T that are not.

    **Guarantee.** (eps, delta)-DP, the calibration's, for neighbours on which every number asked about
    differs by at most 1, and for any number of adaptively chosen ones: the pattern proof at the top of
    `pate_cli.privacy.svt`, composed over T segments if the threshold is redrawn. Only "above" and "below"
    leave.

    As printed, Algorithm 1 goes on while ``c <= T``: it says "below" T + 1 times, and its proof pays for T.
    This stops at T. (LZCW21's Algorithm 6 has the same slip, and prints ``w + 1`` for ``w + Lap(lambda)``: a
    threshold without noise, with which every query after the first "below" costs something.)

    Parameters
    ----------
    calibration : SvtCalibration
        From `pate_cli.privacy.svt.above_threshold`.
    door : Door

    Examples
    --------
    >>> from pate_cli.privacy.door import Door
    >>> from pate_cli.privacy.svt import above_threshold
    >>> calibration = above_threshold("tight", eps=1.0, delta=1e-6, cutoff=2, threshold=50.0)
    >>> asked = SparseVector(calibration, Door.seeded(0))
    >>> asked.above(200.0), asked.above(0.0), asked.above(300.0), asked.above(0.0), asked.exhausted
    (True, False, True, False, True)

    References
    ----------
    BTT18, long version, Algorithm 1, Theorems 2.7 and 2.8; LZCW21 Algorithm 6, Lemmas 45 and 46.
    """

    def __init__(self, calibration: SvtCalibration, door: Door) -> None:
        if calibration.delta_stab:
            raise ValueError("a calibration of above_threshold is needed")
        self._service: StableService[bool] = StableService(calibration, door)

    @property
    def exhausted(self) -> bool:
        """Whether T numbers were below."""
        return self._service.exhausted

    def above(self, number: float) -> bool:
        """Ask about one number, PRIVATE.

        Raises
        ------
        BudgetSpent
            If T were below.
        """
        if self.exhausted:
            raise BudgetSpent(self._service.state)
        return self.above_all(np.array([number], dtype=float))[0]

    def above_all(self, numbers: FloatArray) -> list[bool]:
        """Ask about numbers in order; gives fewer answers where the T-th "below" comes first.

        Raises
        ------
        ValueError
            If one is not a number.
        """
        if np.isnan(numbers).any():
            raise ValueError("numbers are needed, not nan")
        return [bool(said) for said in self._service.release_all([True] * len(numbers), numbers)]

    def spent(self) -> PrivacyLoss:
        """Loss after the fact; see `StableService.spent`."""
        return self._service.spent()
