"""What a run may spend, what it has spent, and how losses add up."""

from __future__ import annotations

import math

from pate_cli.errors import BudgetSpent
from pate_cli.types import PrivacyLoss

__all__ = ["Budget", "compose"]


def compose(*losses: PrivacyLoss) -> PrivacyLoss:
    """Add losses up: (sum of eps, sum of delta).

    Basic composition holds for any mechanisms in any adaptive order. Tighter, exact
    composition of like mechanisms happens before, inside `how` each loss was obtained.
    """
    return PrivacyLoss(
        math.fsum(loss.eps for loss in losses),
        math.fsum(loss.delta for loss in losses),
        " + ".join(loss.how for loss in losses) or "nothing released",
        any(loss.data_dependent for loss in losses),
    )


class Budget:
    """A privacy filter: what is spent through it never exceeds (eps, delta).

    **Guarantee.** Mechanisms may be chosen adaptively, each with a loss fixed before it
    runs; the whole is (eps, delta)-DP (Rogers et al. 2016, Theorem 5.1; with basic
    composition a filter costs nothing extra). A loss that depends on data is refused: it
    cannot be promised in advance.

    Parameters
    ----------
    eps, delta : float
    """

    def __init__(self, eps: float, delta: float) -> None:
        self.eps = eps
        self.delta = delta
        self._losses: list[PrivacyLoss] = []

    @property
    def spent(self) -> PrivacyLoss:
        """Everything spent so far."""
        return compose(*self._losses)

    def spend(self, loss: PrivacyLoss) -> None:
        """Take `loss` out of the budget, before the mechanism that causes it runs.

        Raises
        ------
        BudgetSpent
            If it does not fit; nothing is spent then.
        ValueError
            If the loss depends on data.
        """
        if loss.data_dependent:
            raise ValueError("a data-dependent loss cannot be promised in advance")
        after = compose(*self._losses, loss)
        if after.eps > self.eps or after.delta > self.delta:
            left = f"eps={self.eps - self.spent.eps:g}, delta={self.delta - self.spent.delta:g}"
            raise BudgetSpent(f"eps={loss.eps:g}, delta={loss.delta:g} asked, {left} left")
        self._losses.append(loss)
