"""Values that flow through a run: ``Dataset -> Split -> Votes -> Answers -> student -> RepeatResult``.

Private values (`PrivateRecords`, `Holdout`, `Votes`, `Private`) and public ones (`PublicPoints`, `Answers`,
`PrivacyLoss`) have different types. Private ones never show their content in `repr` and refuse to be pickled.
Records and votes cannot be changed in place: the methods of a table share them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pate_cli.matrices import read_only, within_bounds, without_tiny

if TYPE_CHECKING:
    import pandas as pd
    import scipy.sparse as sp

__all__ = ["UNANSWERED", "Answer", "Answers", "Dataset", "Features", "FloatArray", "Holdout"]
__all__ += ["IntArray", "Part", "PrivacyLoss", "Private", "PrivateRecords", "PublicPoints", "Released"]
__all__ += ["ReleasedLabels", "RepeatResult", "Setting", "Split", "Unanswered", "Votes", "_Private"]

IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]
Features: TypeAlias = "NDArray[np.float64] | sp.csr_matrix | pd.DataFrame"

_KEPT = 2**23  # most features of records that are kept: 64 MB

UNANSWERED = -1
"""Label code of a query the mechanism did not answer (the papers' bottom)."""
Unanswered: TypeAlias = Literal["drop", "random"]
"""Treatment of unanswered points: dropped, or labelled at random (LZCW21 Algorithm 3 line 4)."""


@dataclass(frozen=True)
class Part:
    """Records of a file of their own: public points, or records for the test."""

    X: Features = field(repr=False)  # n rows, with the columns of the private records
    y: IntArray | None = field(repr=False)  # class codes, shape (n,); None where the file has no labels
    checksum: str = ""  # SHA-256 (hex) of the file's bytes

    @property
    def n_records(self) -> int:
        """Number of records."""
        return int(self.X.shape[0])


@dataclass(frozen=True)
class Dataset:
    """Labelled records as they come from a loader, before any split.

    Where `public` or `test` have files of their own, X, y and `checksum` are of the private file.
    """

    name: str  # as in `dataset=NAME`
    X: Features = field(repr=False)  # n rows; `encoder` converts a DataFrame to numbers
    y: IntArray = field(repr=False)  # class codes 0 .. C-1, shape (n,)
    classes: tuple[str, ...]  # the label behind each code, as written in the source; empty to be bought
    checksum: str  # SHA-256 (hex) of the source files' bytes, or of the generator's parameters
    source: str  # origin of the records, in words
    encoder: Any = field(default=None, repr=False)  # unfitted; `fit` on public rows returns the fitted one
    public: Part | None = field(default=None, repr=False)  # None: a share of the records in X
    test: Part | None = field(default=None, repr=False)
    persons: IntArray | None = field(default=None, repr=False)  # person of each record, numbered from 0
    person_column: str | None = None  # name of the column with the persons
    classes_from_private: bool = True  # `classes` are neither declared nor in the public file
    labels: tuple[str, ...] = field(default=(), repr=False)  # PRIVATE: of each code, where classes are bought
    width_from_private: bool = False  # the number of columns is the largest index in private records
    labelled: NDArray[np.bool_] | None = field(default=None, repr=False)
    """Which records of its file have a label, where others are left out: that is not protected."""
    first_index: int | None = None  # index of the first column in its LIBSVM files, 0 or 1
    warnings: tuple[str, ...] = field(default=(), repr=False)
    """Warnings of the reader, a line each; may quote private cells, so they are shown and never written."""
    public_warnings: tuple[str, ...] = field(default=(), repr=False)  # those that no private record decides

    @property
    def digest(self) -> str:
        """SHA-256 (hex) that names the data: `checksum`, or its hash where a plug-in has another text."""
        text, digits = self.checksum, set("0123456789abcdef")
        return text if len(text) == 64 and {*text} <= digits else hashlib.sha256(text.encode()).hexdigest()

    @property
    def n_records(self) -> int:
        """Number of records."""
        return int(self.X.shape[0])

    @property
    def n_persons(self) -> int:
        """Number of persons; of records, where each is by itself."""
        return self.n_records if self.persons is None else int(self.persons.max()) + 1

    @property
    def n_features(self) -> int:
        """Number of columns of `X` before encoding."""
        return int(self.X.shape[1])

    @property
    def n_classes(self) -> int:
        """Number of classes, C."""
        return len(self.classes)


class _Private:
    """Base of values that must not leave a run except through a mechanism."""

    def __reduce__(self) -> Any:
        raise TypeError(f"{type(self).__name__} is private and is not written or sent anywhere")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: private>"


class _Records:
    """Base of records X, of which a map made from public points may make features."""

    X: Any
    features: Any

    def with_features(self, features: Any) -> Any:
        """Return the same with a map."""
        return replace(self, features=features)  # type: ignore[type-var]

    def seen(self, mapped: bool) -> Any:
        """Return the same, as a learner sees it: features in place of X if `mapped`, where there is a map."""
        return self._mapped if mapped and self.features is not None else self

    @cached_property
    def _mapped(self) -> Any:
        return replace(self, X=self._values(), features=None)  # type: ignore[type-var]

    def _values(self) -> Any:
        """Features of all records; of very many, they are made as they are asked for."""
        X = self.X
        rows = MappedRows(X, self.features)
        large = rows.shape[0] * rows.shape[1] > _KEPT
        return rows if large or hasattr(X, "shards") else self.features.values(X)


class _WithinBounds(_Records):
    """Base of records within the bounds of learners, so that one record makes a learner fail for no other."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "X", read_only(within_bounds(self.X)))


class MappedRows:
    """Features of records that are made when they are asked for; of shards, also read then."""

    def __init__(self, X: Any, features: Any) -> None:
        self._X, self._features = X, features
        self.shape = (X.shape[0], features.values(X[:1]).shape[1])
        if hasattr(X, "shards"):
            self.shards = X.shards

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        """All rows, some at a time."""
        at_once = max(1, _KEPT // self.shape[1])
        for first in range(0, self.shape[0], at_once):
            rows = slice(first, first + at_once)
            yield rows, self[rows]

    def __getitem__(self, rows: Any) -> Any:
        return without_tiny(self._features.values(self._X[rows]))


@dataclass(frozen=True, repr=False, eq=False)
class PrivateRecords(_Records, _Private):
    """The private split. PRIVATE; the numbers of records and of persons are public by assumption."""

    X: Any  # ndarray or csr_matrix of shape (n_private, d)
    y: IntArray  # class codes, shape (n_private,)
    persons: IntArray | None = None  # person of each record, ascending from 0 without gaps
    blocks: IntArray | None = None  # sizes of runs of records, as of files; no teacher's part crosses two
    features: Any = None  # map from X to features, made from public points, or None

    def __post_init__(self) -> None:
        object.__setattr__(self, "X", read_only(without_tiny(self.X)))  # on which a learner might not end
        object.__setattr__(self, "y", read_only(self.y))

    @property
    def n_records(self) -> int:
        """Number of private records."""
        return len(self.y)

    @property
    def n_persons(self) -> int:
        """Number of persons; of records, where each is by itself."""
        return len(self.y) if self.persons is None else int(self.persons[-1]) + 1

    def one_each(self, rng: np.random.Generator) -> PrivateRecords:
        """Draw one record of each person: number ``floor(u c)`` of c, one u a person.

        As many u are drawn as there are persons, so one person's number of records moves no other's draw.
        """
        if self.persons is None:
            return self
        counts = np.bincount(self.persons)
        rows = np.cumsum(counts) - counts + np.floor(rng.random(len(counts)) * counts).astype(np.int64)
        return PrivateRecords(self.X[rows], self.y[rows], features=self.features)


@dataclass(frozen=True, eq=False)
class PublicPoints(_WithinBounds):
    """The unlabelled public split. PUBLIC."""

    X: Any = field(repr=False)  # ndarray or csr_matrix of shape (m, d)
    rows: IntArray | None = field(default=None, repr=False)  # number of each point in its file, from 0
    features: Any = field(default=None, repr=False)  # map from X to features that these points made, or None

    def _values(self) -> Any:
        """Features of all points: students learn from them together."""
        return self.features.values(self.X)

    @property
    def n_points(self) -> int:
        """Number of public points, m."""
        return int(self.X.shape[0])


@dataclass(frozen=True, repr=False, eq=False)
class Holdout(_WithinBounds, _Private):
    """Labelled records for measuring only; figures measured on them are not differentially private."""

    X: Any  # ndarray or csr_matrix of shape (n, d)
    y: IntArray  # class codes, shape (n,)
    features: Any = None  # map from X to features, made from public points, or None


@dataclass(frozen=True)
class Split:
    """One random split of a dataset."""

    private: PrivateRecords  # for the teachers
    public: PublicPoints  # for the student's queries
    public_labels: Holdout  # true labels of the public points, -1 where unknown: for diagnostics only
    test: Holdout
    budget: int  # most labels an active learner may query
    held_out: Any = field(default=None, repr=False)  # PrivateRecords for an evaluation, or None
    encoder: Any = field(default=None, repr=False)  # fitted transformer of raw rows to features, or None
    generated: Any = field(default=None, repr=False)  # `Made`, of generated points


@dataclass(frozen=True, repr=False, eq=False)
class Votes(_Private):
    """Votes of K teachers on m public points. PRIVATE.

    One private record changes one teacher, so at most one vote a query: each row moves by one unit from one
    column to another.
    """

    counts: IntArray  # teachers that chose each class, shape (m, C); rows sum to `n_teachers`
    n_teachers: int  # K, public

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", read_only(self.counts))

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


@dataclass(frozen=True)
class PrivacyLoss:
    """A privacy loss and its proof. PUBLIC, unless `data_dependent`."""

    eps: float  # in [0, inf]
    delta: float  # in [0, 1)
    how: str  # the theorem behind the number, in a few words
    data_dependent: bool = False  # whether the number depends on the outputs (a report, not a guarantee)
    mu: float | None = None  # where the loss is proved mu-GDP, which is more than (eps, delta)


@dataclass(frozen=True)
class Answer:
    """The mechanism's answer to one query. PUBLIC."""

    label: int  # class code, or `UNANSWERED`
    noisy_counts: FloatArray | None = None  # shape (C,), where the mechanism releases them

    @property
    def answered(self) -> bool:
        """Whether there is a label."""
        return self.label != UNANSWERED


@dataclass(frozen=True, eq=False)
class Answers:
    """Everything the labelling released. PUBLIC."""

    asked: IntArray  # indices of the public points that reached the mechanism, in order, shape (q,)
    labels: IntArray  # class codes or `UNANSWERED`, shape (q,)
    noisy_counts: FloatArray | None = field(default=None, repr=False)  # shape (q, C)
    n_teachers: int | None = None  # K, public; None where there were no teachers
    noise: float | None = None  # standard deviation of the noise on a count, in votes
    part_size: int | None = None  # records of a teacher at least, public
    n_chosen: int | None = None  # queries after which an active learner stopped by itself, if it did

    @property
    def n_asked(self) -> int:
        """Queries that reached the mechanism, q."""
        return len(self.asked)

    @property
    def n_answered(self) -> int:
        """Queries with a label."""
        return int(np.count_nonzero(self.labels != UNANSWERED))


@dataclass(frozen=True, eq=False)
class ReleasedLabels:
    """Output of R independent runs of a mechanism for q queries. PUBLIC."""

    labels: IntArray  # class codes or `UNANSWERED`, shape (q, R)
    noisy_counts: FloatArray | None  # in votes, shape (q, R, C), where the mechanism releases them
    reached: NDArray[np.bool_]  # whether the run still took queries, shape (q, R): a prefix of each run


@dataclass(frozen=True)
class Setting:
    """Public numbers that a mechanism is calibrated from."""

    eps: float  # the budget of the whole mechanism
    delta: float
    n_private: int
    n_public: int
    budget: int  # most public points it may query (`split.budget`)
    n_features: int  # columns before encoding
    n_classes: int  # C
    n_teachers: int  # K, for mechanisms with teachers
    sparse: bool  # whether models see sparse features
    teacher: tuple[str, Mapping[str, Any]]  # learner and parameters, for `pate_cli.learners.make_learner`
    student: tuple[str, Mapping[str, Any]]  # likewise, for `pate_cli.students.fit_student`
    unanswered: Unanswered
    features: str = "auto"  # map that public points make, as `pate_cli.features.fit` takes it
    teacher_mapped: bool = False  # whether teachers see mapped records
    student_mapped: bool = False  # whether students and queries see mapped points
    classes: tuple[str, ...] = ()  # labels, of the codes in order; empty where there are no data


@dataclass(frozen=True, eq=False)
class Released:
    """Output of one run of a mechanism. PUBLIC, but for `not_private`."""

    model: Any  # fitted classifier of class codes; None where a student is to be fitted on the answers
    answers: Answers  # labels for public points; of length 0 if none
    not_private: dict[str, float] = field(default_factory=dict, repr=False)  # for experiments only
    chosen: str | None = None  # name of the candidate, where the mechanism chose between several


class Private(_Private):
    """Private side as a mechanism gets it: records, and the votes of teachers trained on them. PRIVATE.

    `vote` trains the configured teachers on disjoint parts and counts their votes on all public points. It is
    called at most once, and never by mechanisms that learn from the records themselves.
    """

    def __init__(self, records: PrivateRecords, vote: Callable[[], Votes] | None = None) -> None:
        self.records = records
        self._vote = vote
        self._votes: Votes | None = None

    def votes(self) -> Votes:
        """Votes of all teachers on all public points, in the order of the points."""
        if self._vote is None:
            raise RuntimeError("no teachers here")
        self._votes = self._vote() if self._votes is None else self._votes
        return self._votes


@dataclass(frozen=True)
class RepeatResult:
    """Measurements of one repeat; accuracy and diagnostics are not differentially private."""

    repeat: int  # 0-based
    n_teachers: int
    n_asked: int
    n_answered: int
    eps: float  # the guarantee, with delta
    delta: float
    eps_ex_post: float  # loss after the fact at the same delta; depends on the outputs, a report
    accuracy: float  # of the student on the test split, in [0, 1]
    seconds: float  # wall time
    diagnostics: dict[str, float] = field(default_factory=dict)
