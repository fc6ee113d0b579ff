"""Votes of one repeat and a few figures, as they go between processes and into the cache."""

from __future__ import annotations

from dataclasses import dataclass, field

from pate_cli.types import IntArray

__all__ = ["KeptVotes"]


@dataclass(frozen=True, repr=False, eq=False)
class KeptVotes:
    """Vote counts of one repeat. PRIVATE.

    Unlike `pate_cli.types.Votes` it can be pickled: it is what goes between the worker processes of
    one run, and into the cache.

    Attributes
    ----------
    counts : ndarray of int64, shape (m, C)
        How many teachers chose each class.
    teacher_accuracy : float
        Mean over teachers, on the test split. Not differentially private.
    ceilings : dict of str to float
        Accuracy of a student on the exact votes, by student, as far as known. Not differentially private.
    """

    counts: IntArray
    teacher_accuracy: float
    ceilings: dict[str, float] = field(default_factory=dict)

    def fits(self, n_queries: int, n_classes: int, n_teachers: int) -> bool:
        """Whether it can be the votes of `n_teachers` on `n_queries` points."""
        return (
            self.counts.shape == (n_queries, n_classes)
            and bool((self.counts >= 0).all())
            and bool((self.counts.sum(axis=1) == n_teachers).all())
        )

    def __repr__(self) -> str:
        return f"KeptVotes(n_queries={self.counts.shape[0]}, n_classes={self.counts.shape[1]})"
