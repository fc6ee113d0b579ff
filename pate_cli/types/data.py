"""Records: as they are loaded, and as a split deals them out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pate_cli.types.basis import IntArray, _Private, without_tiny

if TYPE_CHECKING:
    import numpy as np

    from pate_cli.types.basis import Features

__all__ = ["Dataset", "Holdout", "Part", "PrivateRecords", "PublicPoints", "Split"]


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
    width_from_private : bool
        Whether the number of columns is the largest index in private records, which one of them may decide.
    remarks : tuple of str
        What the owner should know of the data as it was read, each a line. May quote a cell of the private
        file: said on the terminal, written nowhere.
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
    width_from_private: bool = False
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


@dataclass(frozen=True, repr=False, eq=False)
class PrivateRecords(_Private):
    """The private split. PRIVATE.

    Attributes
    ----------
    X : ndarray or csr_matrix of shape (n_private, d)
        `without_tiny` numbers, on which a learner might not end.
    y : ndarray of int64, shape (n_private,)
        Class codes.
    units : ndarray of int64, shape (n_private,), or None
        Whose each record is, ascending from 0 without gaps; None for each by itself.
    blocks : ndarray of int64, shape (b,), or None
        Sizes of runs of records, as of files, that a teacher's part must lie within; None for no such runs.
    """

    X: Any
    y: IntArray
    units: IntArray | None = None
    blocks: IntArray | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "X", without_tiny(self.X))

    @property
    def n_records(self) -> int:
        """Number of private records; public by assumption where there are no units."""
        return len(self.y)

    @property
    def n_units(self) -> int:
        """Number of those whom the guarantee protects: records, or persons; public by assumption."""
        return len(self.y) if self.units is None else int(self.units[-1]) + 1

    def one_each(self, rng: np.random.Generator) -> PrivateRecords:
        """Draw one record of each person: number ``floor(u c)`` of c, one u a person.

        So many u are drawn as there are persons, so how many records one has does not move another's draw.
        """
        import numpy as np

        if self.units is None:
            return self
        counts = np.bincount(self.units)
        drawn = np.floor(rng.random(len(counts)) * counts).astype(np.int64)
        rows = np.cumsum(counts) - counts + drawn
        return PrivateRecords(self.X[rows], self.y[rows])

    def __repr__(self) -> str:
        return f"PrivateRecords(n_records={self.n_records})"


@dataclass(frozen=True, eq=False)
class PublicPoints:
    """The unlabelled public split. PUBLIC.

    Attributes
    ----------
    X : ndarray or csr_matrix of shape (m, d)
        `without_tiny` numbers, as `PrivateRecords`.
    rows : ndarray of int64, shape (m,), or None
        Number of each point in the dataset, from 0; drawn without looking at any record.
    """

    X: Any = field(repr=False)
    rows: IntArray | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "X", without_tiny(self.X))

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
        `without_tiny` numbers, as `PrivateRecords`.
    y : ndarray of int64, shape (n,)
    """

    X: Any
    y: IntArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "X", without_tiny(self.X))

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
