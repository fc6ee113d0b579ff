"""The private, the public and the test file of a user: their options, and one `Dataset` of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pate_cli.checks import Listed, Or, Text, option
from pate_cli.datasets.labels import Labels, classes_of, identity, most_classes
from pate_cli.describe_command import AUTO
from pate_cli.errors import ConfigError
from pate_cli.terminal import typed_path
from pate_cli.types import Dataset, IntArray, Part

__all__ = ["GENERATED", "Cell", "FileOptions", "LoadedFile", "TableOptions", "dataset_of"]

_PATH = Or("null", Text("""a path; in quotes where it looks like something else: 'dataset.path="2024"'"""))

GENERATED = ("ranges", "marginals")
"""What `dataset.public` may be in place of a file; see `generated.Generated`."""


@dataclass(frozen=True)
class Cell:
    """A text, or a number that stands for one, as the name of a column or a label."""

    what: str = "a text or a number, as it stands in the file"
    empty: bool = False

    def take(self, value: object) -> str:
        """See `Check`."""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError
        if value == "" and not self.empty:
            raise ValueError
        return str(value)

    def describe(self) -> str:
        """See `Check`."""
        return self.what


@dataclass(frozen=True)
class FileOptions:
    """Options of every dataset of the user's files; public points and test records may have their own.

    `classes` are the labels, in the order of their codes; None to read them from the public file, or the
    private one.
    """

    path: str | None = option(None, _PATH)
    private: str | None = option(None, _PATH)  # another name for it
    public: str | None = option(None, _PATH)
    test: str | None = option(None, _PATH)
    classes: list[str] | None = option(None, Or("null", Listed(Cell("a label"), 2)))

    @property
    def generated(self) -> bool:
        """Whether the public points are made by the run, of declared columns, and have no file."""
        return self.public in GENERATED

    def paths(self, what: str) -> tuple[Path, Path | None, Path | None]:
        """Paths of the private file (`what` it is, for a message), the public and the test file."""
        if self.path and self.private:
            raise ConfigError("dataset.private", self.private, "null with dataset.path: they are the same")
        private = self.path or self.private
        if not private:
            raise ConfigError("dataset.path", None, f"the path of {what}")
        if self.generated and not hasattr(self, "schema"):
            raise ConfigError(
                "dataset.public", self.public, "a file; dataset=csv, jsonl or parquet needs none"
            )
        files = (None if self.generated else self.public, self.test)
        public, test = (typed_path(path) if path else None for path in files)
        return typed_path(private), public, test


_COLUMNS = Or("null", Listed(Cell("the name of a column")))


@dataclass(frozen=True)
class TableOptions(FileOptions):
    """Options of a table.

    All records of a person, named by the column `unit`, are protected together; None for each record by
    itself. `auto` is that of the schema; else None, but refused where a column looks like one of persons.
    """

    target: str | None = option(None, Or("null", Cell("the name of the column that holds the class")))
    unit: str | None = option(AUTO, Or("null", Cell("auto, or the name of a column")))
    schema: str | None = option(None, _PATH)
    columns: list[str] | None = option(None, _COLUMNS)
    drop: list[str] | None = option(None, _COLUMNS)
    numeric: list[str] | None = option(None, _COLUMNS)
    categories: list[str] | None = option(None, _COLUMNS)
    missing: list[str] | None = option(None, Or("null", Listed(Cell(empty=True))))

    @property
    def words(self) -> list[str]:
        """Further words for a missing value, in all columns."""
        return [word.strip() for word in self.missing or []]


@dataclass(frozen=True, eq=False)
class LoadedFile:
    """A file as read: features, labels (`Labels`; None: none), and `place(row)` for messages."""

    path: Path
    X: Any
    labels: Any
    checksum: str
    place: Callable[[int], str]
    column: str = ""


def dataset_of(
    name: str,
    declared: Sequence[str] | None,
    private: LoadedFile,
    public: LoadedFile | None,
    test: LoadedFile | None,
    bought: bool = False,
    persons: IntArray | None = None,
    person_column: str | None = None,
    **more: Any,
) -> Dataset:
    """Code the labels of the files by one list of classes; `more` are further fields of the `Dataset`.

    The list is the one declared; else that of the public file, where it has labels; else it is read from the
    private file. One label on all public points is a placeholder: they are taken as unlabelled. Of classes
    that are to be `bought` nothing is known: the codes are those of all labels there are. Of others each
    label is one or is refused, whatever the others are; a list that is read has no two that read alike.
    """
    n = private.X.shape[0] if persons is None else int(persons.max()) + 1  # public
    named = public if public and public.labels and len(public.labels.names) > 1 else None
    if bought:
        labels = Labels.joined([file.labels for file in (private, test) if file is not None])
        classes = tuple(sorted(labels.names))
    elif declared is None:
        source = named or private
        column = f", column {source.column!r} (dataset.target)" if source.column else ""
        labels = source.labels.distinct("the label", source.place)
        classes = classes_of(labels, f"{source.path}{column}", n)
    else:
        classes = tuple(label.strip() for label in declared)
        if len(set(map(identity, classes))) < len(classes):
            accepted = "labels that are all different, as numbers too"
            raise ConfigError("dataset.classes", list(declared), accepted)
        if len(classes) > (most := most_classes(n)):
            accepted = f"at most {most} for {n} {person_column or 'records'}"
            raise ConfigError("dataset.classes", f"{len(classes)} labels", accepted)
    return Dataset(
        name=name,
        X=private.X,
        y=private.labels.among(classes, private.place),
        classes=() if bought else classes,
        labels=classes if bought else (),
        checksum=private.checksum,
        source=str(private.path),
        public=None if public is None else _part(public, classes if named else None),
        test=None if test is None else _part(test, classes),
        classes_from_private=declared is None and named is None and not bought,
        persons=persons,
        person_column=person_column,
        **more,
    )


def _part(file: LoadedFile, classes: tuple[str, ...] | None) -> Part:
    return Part(file.X, None if classes is None else file.labels.among(classes, file.place), file.checksum)
