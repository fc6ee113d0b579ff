"""What flows through a run: one frozen dataclass a stage, shapes written on it.

``Dataset -> Split -> Votes -> Answers -> student -> RepeatResult``

Private values (`PrivateRecords`, `Votes`) and public values (`PublicPoints`,
`Answers`, `PrivacyLoss`) are different types. Private ones never show their
content in `repr`, and refuse to be pickled by accident into a public output.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd
    import scipy.sparse as sp

    Features: TypeAlias = NDArray[np.float64] | sp.csr_matrix | pd.DataFrame

IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]

UNANSWERED = -1
"""Label code of a query the mechanism did not answer (the papers' bottom)."""


@dataclass(frozen=True)
class Part:
    """Records of a file of their own: public points, or records for the test.

    Attributes
    ----------
    X : ndarray, csr_matrix or DataFrame of n rows
        With the columns of the private records.
    y : ndarray of int64, shape (n,), or None
        Class codes; None where the file has no labels.
    checksum : str
        SHA-256 (hex) of the file's bytes.
    """

    X: Features = field(repr=False)
    y: IntArray | None = field(repr=False)
    checksum: str = ""

    @property
    def n_records(self) -> int:
        """Number of records."""
        return int(self.X.shape[0])


@dataclass(frozen=True)
class Dataset:
    """Labelled records as they come from a loader, before any split.

    Attributes
    ----------
    name : str
        Name of the dataset, as in `dataset=NAME`.
    X : ndarray of shape (n, d), csr_matrix of shape (n, d) or DataFrame of n rows
        Features. Sparse stays sparse. A DataFrame is turned into numbers by
        `encoder`, fitted on the public split alone.
    y : ndarray of int64, shape (n,)
        Class codes 0 .. C-1.
    classes : tuple of str
        The label behind each code, as written in the source.
    checksum : str
        SHA-256 (hex) of the source files' bytes, or of the generator's parameters.
    source : str
        Where the records came from, for people.
    encoder : scikit-learn transformer, `TableEncoder` or None
        Unfitted: its `fit` on public rows gives the fitted transformer. None where X is numeric already.
    public, test : Part or None
        Where they have files of their own; then X, y and `checksum` are of the private file. None for a
        share of the records in X.
    units : ndarray of int64, shape (n,), or None
        Whose each record of X is, from 0, where several are one person's; None for each by itself.
    unit : str or None
        What to call one of them: the column that says it.
    classes_from_private : bool
        Whether `classes` were read from private records: neither declared nor in the public file.
    remarks : tuple of str
        What a user should know of the data as it was read, each a line; of public facts.
    """

    name: str
    X: Features = field(repr=False)
    y: IntArray = field(repr=False)
    classes: tuple[str, ...]
    checksum: str
    source: str
    encoder: Any = field(default=None, repr=False)
    public: Part | None = field(default=None, repr=False)
    test: Part | None = field(default=None, repr=False)
    units: IntArray | None = field(default=None, repr=False)
    unit: str | None = None
    classes_from_private: bool = True
    remarks: tuple[str, ...] = field(default=(), repr=False)

    @property
    def n_records(self) -> int:
        """Number of records."""
        return int(self.X.shape[0])

    @property
    def n_units(self) -> int:
        """Number of those whom the guarantee protects: of persons where a column says whose a record is."""
        return self.n_records if self.units is None else int(self.units.max()) + 1

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


@dataclass(frozen=True, repr=False, eq=False)
class PrivateRecords(_Private):
    """The private split. PRIVATE.

    Attributes
    ----------
    X : ndarray or csr_matrix of shape (n_private, d)
    y : ndarray of int64, shape (n_private,)
        Class codes.
    units : ndarray of int64, shape (n_private,), or None
        Whose each record is, ascending from 0 without gaps; None for each by itself.
    """

    X: Any
    y: IntArray
    units: IntArray | None = None

    @property
    def n_records(self) -> int:
        """Number of private records; public by assumption where there are no units."""
        return len(self.y)

    @property
    def n_units(self) -> int:
        """Number of those whom the guarantee protects: records, or persons; public by assumption."""
        return len(self.y) if self.units is None else int(self.units[-1]) + 1

    def __repr__(self) -> str:
        return f"PrivateRecords(n_records={self.n_records})"


@dataclass(frozen=True, eq=False)
class PublicPoints:
    """The unlabelled public split. PUBLIC.

    Attributes
    ----------
    X : ndarray or csr_matrix of shape (m, d)
    rows : ndarray of int64, shape (m,), or None
        Number of each point in the dataset, from 0; drawn without looking at any record.
    """

    X: Any = field(repr=False)
    rows: IntArray | None = field(default=None, repr=False)

    @property
    def n_points(self) -> int:
        """Number of public points, m."""
        return int(self.X.shape[0])


@dataclass(frozen=True, repr=False, eq=False)
class Holdout(_Private):
    """Labelled records for measuring only; what is measured on them is not differentially private.

    Attributes
    ----------
    X : ndarray or csr_matrix of shape (n, d)
    y : ndarray of int64, shape (n,)
    """

    X: Any
    y: IntArray

    def __repr__(self) -> str:
        return f"Holdout(n_records={len(self.y)})"


@dataclass(frozen=True)
class Split:
    """One random split of a dataset.

    Attributes
    ----------
    private : PrivateRecords
        What the teachers learn from.
    public : PublicPoints
        What the student may ask about.
    public_labels : Holdout
        The public points with their true labels, -1 where they have none: for diagnostics only.
    test : Holdout
        Held out for accuracy.
    budget : int
        Number of labels the active learner may ask for.
    encoder : fitted scikit-learn transformer or None
        Turns raw rows into the features the models see.
    """

    private: PrivateRecords
    public: PublicPoints
    public_labels: Holdout
    test: Holdout
    budget: int
    encoder: Any = field(default=None, repr=False)


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
    sigma : float or None
        Standard deviation of the noise on a count, in votes; None where no counts are released.
    n_teachers : int or None
        K, public; None where there were no teachers.
    n_chosen : int or None
        Queries after which an active learner wanted no further point; None where it did not stop by itself.
    """

    asked: IntArray
    labels: IntArray
    noisy_counts: FloatArray | None = field(default=None, repr=False)
    sigma: float | None = None
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
    odometer : PrivacyLoss or None
        Bound on the loss so far that is valid wherever the run stops; None for the budget.
    not_private : dict of str to float
        Figures for experiments only: NOT differentially private.
    """

    model: Any
    answers: Answers
    spent: PrivacyLoss
    odometer: PrivacyLoss | None = None
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
    eps_odometer : float
        Loss so far by a valid odometer at the same delta; depends on the outputs.
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
    eps_odometer: float
    accuracy: float
    seconds: float
    diagnostics: dict[str, float] = field(default_factory=dict)
