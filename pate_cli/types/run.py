"""What a mechanism is given and gives, and what a repeat comes to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pate_cli.types.answers import Answers, PrivacyLoss, Unanswered, Votes
from pate_cli.types.basis import _Private
from pate_cli.types.data import PrivateRecords

__all__ = ["Private", "Released", "RepeatResult", "Setting"]


@dataclass(frozen=True)
class Setting:
    """What a private learner is calibrated from: public numbers, all of it.

    Attributes
    ----------
    eps, delta : float
        The budget of the whole learner.
    n_private, n_public : int
        Private records and public points.
    budget : int
        Most public points it may ask about (`split.budget`).
    n_features : int
        Columns before encoding.
    n_classes : int
        C.
    n_teachers : int
        K, for learners that train teachers.
    sparse : bool
        Whether models see sparse features.
    teacher : tuple of (str, mapping)
        Learner and parameters, for `pate_cli.learners.make_learner`.
    student : tuple of (str, mapping)
        Learner and parameters, for `pate_cli.students.fit_student`.
    unanswered : {"drop", "random"}
        What becomes of points without a label.
    """

    eps: float
    delta: float
    n_private: int
    n_public: int
    budget: int
    n_features: int
    n_classes: int
    n_teachers: int
    sparse: bool
    teacher: tuple[str, Mapping[str, Any]]
    student: tuple[str, Mapping[str, Any]]
    unanswered: Unanswered


@dataclass(frozen=True, eq=False)
class Released:
    """What a mechanism released in one run. PUBLIC, but for `not_private`.

    Attributes
    ----------
    model : fitted classifier or None
        Predicts class codes; None where a student is to be fitted on the answers.
    answers : Answers
        Labels it gave public points; of length 0 if none.
    spent : PrivacyLoss
        Loss after the fact: a report.
    not_private : dict of str to float
        Figures for experiments only: NOT differentially private.
    """

    model: Any
    answers: Answers
    spent: PrivacyLoss
    not_private: dict[str, float] = field(default_factory=dict, repr=False)


class Private(_Private):
    """The private side as a mechanism gets it: records, and the votes of teachers trained on them. PRIVATE.

    Parameters
    ----------
    records : PrivateRecords
    vote : callable, optional
        Trains the teachers of the configuration on disjoint parts and lets them vote on all public points.
        Called at most once, and not at all by mechanisms that learn from the records themselves.
    """

    def __init__(self, records: PrivateRecords, vote: Callable[[], Votes] | None = None) -> None:
        self.records = records
        self._vote = vote
        self._votes: Votes | None = None

    def votes(self) -> Votes:
        """Votes of all teachers on all public points, in the order of the points."""
        if self._votes is None:
            if self._vote is None:
                raise RuntimeError("no teachers here")
            self._votes = self._vote()
        return self._votes

    def __repr__(self) -> str:
        return f"Private({self.records!r})"


@dataclass(frozen=True)
class RepeatResult:
    """What one repeat measured.

    Attributes
    ----------
    repeat : int
        0-based.
    n_teachers, n_asked, n_answered : int
    eps, delta : float
        The guarantee.
    eps_ex_post : float
        Loss after the fact at the same delta; depends on the outputs, a report.
    accuracy : float
        Of the student on the test split, in [0, 1]. Not differentially private.
    seconds : float
        Wall time.
    diagnostics : dict of str to float
        Not differentially private.
    """

    repeat: int
    n_teachers: int
    n_asked: int
    n_answered: int
    eps: float
    delta: float
    eps_ex_post: float
    accuracy: float
    seconds: float
    diagnostics: dict[str, float] = field(default_factory=dict)
