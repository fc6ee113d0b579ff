"""Votes of one repeat in the form that worker processes exchange and the cache stores."""

from __future__ import annotations

from dataclasses import dataclass, field

from pate_cli.types import IntArray

__all__ = ["VoteRecord"]


@dataclass(frozen=True, repr=False, eq=False)
class VoteRecord:
    """Vote counts of one repeat. PRIVATE, but unlike `pate_cli.types.Votes` it can be pickled."""

    counts: IntArray  # teachers that chose each class, shape (m, C)
    teacher_accuracy: float  # mean on the test split; not differentially private, as `ceilings`
    ceilings: dict[str, float] = field(default_factory=dict)  # accuracy on the exact votes, by student
