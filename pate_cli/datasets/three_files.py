"""The private, the public and the test file of a user: their options, and one `Dataset` of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pate_cli.checks import Listed, Or, Text, option
from pate_cli.errors import ConfigError, DataError
from pate_cli.types import Dataset, IntArray, Part

__all__ = ["PATH", "Cell", "FileOptions", "LoadedFile", "dataset_of", "encode_labels", "texts_of"]

PATH = Or("null", Text("""a path; in quotes where it looks like something else: 'dataset.path="2024"'"""))


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

    path: str | None = option(None, PATH)
    private: str | None = option(None, PATH)  # another name for it
    public: str | None = option(None, PATH)
    test: str | None = option(None, PATH)
    classes: list[str] | None = option(None, Or("null", Listed(Cell("a label"), 2)))

    def paths(self, what: str) -> tuple[Path, Path | None, Path | None]:
        """Paths of the private file (`what` it is, for a message), the public and the test file."""
        if self.path and self.private:
            raise ConfigError("dataset.private", self.private, "null with dataset.path: they are the same")
        private = self.path or self.private
        if not private:
            raise ConfigError("dataset.path", None, f"the path of {what}")
        public, test = (Path(path).expanduser() if path else None for path in (self.public, self.test))
        return Path(private).expanduser(), public, test


@dataclass(frozen=True, eq=False)
class LoadedFile:
    """A file as read: features, labels (floats or texts; None: none), and `place(row)` for messages."""

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
    **more: Any,
) -> Dataset:
    """Code the labels of the files by one list of classes; `more` are further fields of the `Dataset`.

    The list is the one declared; else that of the public file, where it has labels; else it is read from the
    private file. One label on all public points is a placeholder: they are taken as unlabelled.
    """
    named = None if public is None or public.labels is None else public
    if named is not None and (named.labels == named.labels[0]).all():
        named = None
    if declared is None:
        source = named or private
        column = f", column {source.column!r}" if source.column else ""
        classes = encode_labels(source.labels, f"{source.path}{column}")[1]
    else:
        classes = tuple(map(_plain_label, declared))
        if len(set(classes)) < len(classes):
            raise ConfigError("dataset.classes", list(declared), "labels that are all different")
    return Dataset(
        name=name,
        X=private.X,
        y=_codes(private, classes),
        classes=classes,
        checksum=private.checksum,
        source=str(private.path),
        public=None if public is None else _part(public, classes if named else None),
        test=None if test is None else _part(test, classes),
        classes_from_private=declared is None and named is None,
        **more,
    )


def encode_labels(values: NDArray[Any], where: str) -> tuple[IntArray, tuple[str, ...]]:
    """Class codes in sorted order, by value for numbers, by text otherwise; and the label behind each code.

    Examples
    --------
    >>> encode_labels(np.array([1.0, -1.0, 1.0]), "file")
    (array([1, 0, 1]), ('-1', '1'))
    """
    found, codes = np.unique(values, return_inverse=True)
    classes = tuple(texts_of(found))
    if len(classes) == 1:
        raise DataError(f"{where}: every label is {classes[0]!r}; at least two classes are needed")
    if len(classes) > max(2, len(values) // 2):
        raise DataError(
            f"{where}: {len(classes)} different labels on {len(values)} records; classes are needed,"
            " not a number to predict"
        )
    return codes.astype(np.int64), classes


def texts_of(values: NDArray[Any]) -> list[str]:
    """Labels as they are shown: whole numbers without a point or sign."""
    if np.issubdtype(values.dtype, np.floating):
        return [str(int(v)) if v == int(v) else repr(float(v)) for v in values]
    return [str(v) for v in values]


def _part(file: LoadedFile, classes: tuple[str, ...] | None) -> Part:
    return Part(file.X, None if classes is None else _codes(file, classes), file.checksum)


def _codes(file: LoadedFile, classes: tuple[str, ...]) -> IntArray:
    found, where = np.unique(file.labels, return_inverse=True)
    numbers = {label: code for code, label in enumerate(classes)}
    names = texts_of(found)
    codes = np.array([numbers.get(text, -1) for text in names], dtype=np.int64)[where]
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        shown = ", ".join(map(repr, classes[:10])) + (", ..." if len(classes) > 10 else "")
        raise DataError(
            f"{file.place(row)}: the label {names[where[row]]!r} is none of the classes {shown};"
            " dataset.classes=[...] says which there are"
        )
    return codes


def _plain_label(label: str) -> str:
    """Bring a declared label into the form of those read: +1 and 1.0 are 1."""
    try:
        number = float(label)
    except ValueError:
        return label
    return texts_of(np.array([number]))[0] if math.isfinite(number) else label
