"""Votes, what a mechanism answers, and what that costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pate_cli.types.basis import UNANSWERED, FloatArray, IntArray, _Private

__all__ = ["Answer", "Answers", "Ask", "PrivacyLoss", "ReleasedLabels", "Unanswered", "Votes"]


@dataclass(frozen=True, repr=False, eq=False)
class Votes(_Private):
    """Votes of K teachers on m public points. PRIVATE.

    Changing one private record changes one teacher, so at most one vote a
    query: each row moves by one unit from one column to another.

    Attributes
    ----------
    counts : ndarray of int64, shape (m, C)
        How many teachers chose each class; rows sum to `n_teachers`.
    n_teachers : int
        K, public.
    """

    counts: IntArray
    n_teachers: int

    @property
    def n_queries(self) -> int:
        """Number of points voted on, m."""
        return int(self.counts.shape[0])

    @property
    def n_classes(self) -> int:
        """Number of classes, C."""
        return int(self.counts.shape[1])

    def at(self, index: Any) -> Votes:
        """Votes of some of the queries (an index, a slice or an array of indices)."""
        return Votes(np.atleast_2d(self.counts[index]), self.n_teachers)

    def __repr__(self) -> str:
        return f"Votes(n_queries={self.n_queries}, n_classes={self.n_classes}, n_teachers={self.n_teachers})"


@dataclass(frozen=True)
class PrivacyLoss:
    """A privacy loss and how it was obtained. PUBLIC, unless `data_dependent`.

    Attributes
    ----------
    eps : float
        In [0, inf].
    delta : float
        In [0, 1).
    how : str
        The theorem behind the number, in a few words.
    data_dependent : bool
        True where the number itself depends on the outputs (a report, not a guarantee).
    mu : float or None
        Where the loss is proved mu-GDP, which is more than (eps, delta); None elsewhere.
    """

    eps: float
    delta: float
    how: str
    data_dependent: bool = False
    mu: float | None = None


@dataclass(frozen=True)
class Answer:
    """The mechanism's answer to one query. PUBLIC.

    Attributes
    ----------
    label : int
        Class code, or `UNANSWERED`.
    noisy_counts : ndarray of float64, shape (C,), or None
        What the Gaussian mechanism released; None where the mechanism releases a label only.
    """

    label: int
    noisy_counts: FloatArray | None = None

    @property
    def answered(self) -> bool:
        """Whether a label was given."""
        return self.label != UNANSWERED


@dataclass(frozen=True, eq=False)
class Answers:
    """Everything the labelling released. PUBLIC.

    Attributes
    ----------
    asked : ndarray of int64, shape (q,)
        Indices of the public points that reached the mechanism, in the order asked.
    labels : ndarray of int64, shape (q,)
        Class codes, `UNANSWERED` where the mechanism gave none.
    noisy_counts : ndarray of float64, shape (q, C), or None
    n_teachers : int or None
        K, public; None where there were no teachers.
    n_chosen : int or None
        Queries after which an active learner wanted no further point; None where it did not stop by itself.
    """

    asked: IntArray
    labels: IntArray
    noisy_counts: FloatArray | None = field(default=None, repr=False)
    n_teachers: int | None = None
    n_chosen: int | None = None

    @property
    def n_asked(self) -> int:
        """Queries that reached the mechanism, q."""
        return len(self.asked)

    @property
    def n_answered(self) -> int:
        """Queries that got a label."""
        return int(np.count_nonzero(self.labels != UNANSWERED))


Ask: TypeAlias = Callable[[int], Answer]
"""Ask for the label of one public point, by index: all that an active learner sees of the private side."""


@dataclass(frozen=True, eq=False)
class ReleasedLabels:
    """What R independent runs of a mechanism released for q queries. PUBLIC.

    Attributes
    ----------
    labels : ndarray of int64, shape (q, R)
        Class codes, `UNANSWERED` where none was given.
    noisy_counts : ndarray of float64, shape (q, R, C), or None
        In votes; None where the mechanism releases labels only.
    reached : ndarray of bool, shape (q, R)
        Whether the run still took queries: of each run, the first so many.
    """

    labels: IntArray
    noisy_counts: FloatArray | None
    reached: NDArray[np.bool_]


Unanswered: TypeAlias = Literal["drop", "random"]
"""What becomes of unanswered points: dropped, or labelled at random (LZCW21 Algorithm 3 line 4)."""
