"""Labels as found in a file become class codes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pate_cli.errors import ConfigError, DataError
from pate_cli.types import IntArray

__all__ = ["encode_labels", "encode_parts", "texts_of"]


def encode_labels(values: NDArray[Any], where: str) -> tuple[IntArray, tuple[str, ...]]:
    """Class codes in sorted order: by value for numbers, by text otherwise.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Finite floats, or strings.
    where : str
        What to name in an error, e.g. the file.

    Returns
    -------
    codes : ndarray of int64, shape (n,)
        0 .. C-1.
    classes : tuple of str
        The label behind each code; whole numbers without a point or sign ("+1" and "1.0" are "1").

    Raises
    ------
    DataError
        If there is only one class, or so many that the labels are no classes.

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


def encode_parts(
    values: Sequence[NDArray[Any] | None],
    names: Sequence[str | None],
    declared: Sequence[str] | None,
    place: Callable[[int, int], str],
) -> tuple[list[Any], tuple[str, ...], bool]:
    """Class codes of the private, the public and the test file, by one list of classes.

    The list is the one declared; without it that of the public file, where it has labels; else it is read
    from the private file. One label on all public points is a placeholder: they are taken as unlabelled.

    Parameters
    ----------
    values : sequence of three ndarrays of shape (n,), or None
        As of `encode_labels`; None for a file that is not there or has no labels.
    names : sequence of three str or None
        The files, for messages.
    declared : sequence of str or None
    place : callable
        From a part (0 to 2) and a row to what to name in an error, as a line of a file.

    Returns
    -------
    codes : list of three ndarrays of int64, or None
    classes : tuple of str
    from_private : bool
        Whether the list was read from the private file.

    Raises
    ------
    DataError
        Naming the first label that is not in the list; or as `encode_labels`.
    """
    private, public, test = values
    if public is not None and (public == public[0]).all():
        public = None
    if declared is not None:
        classes: tuple[str, ...] = tuple(map(_plain, declared))
        if len(set(classes)) < len(classes):
            raise ConfigError("dataset.classes", list(declared), "labels that are all different")
    elif public is not None:
        classes = encode_labels(public, str(names[1]))[1]
    else:
        classes = encode_labels(private, str(names[0]))[1]  # type: ignore[arg-type]
    codes = [_codes(held, classes, partial(place, part)) for part, held in enumerate((private, public, test))]
    return codes, classes, declared is None and public is None


def _codes(
    values: NDArray[Any] | None, classes: tuple[str, ...], place: Callable[[int], str]
) -> IntArray | None:
    if values is None:
        return None
    found, where = np.unique(values, return_inverse=True)
    numbers = {label: code for code, label in enumerate(classes)}
    known = np.array([numbers.get(text, -1) for text in texts_of(found)], dtype=np.int64)
    codes = known[where]
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        shown = ", ".join(map(repr, classes[:10])) + (", ..." if len(classes) > 10 else "")
        raise DataError(
            f"{place(row)}: the label {texts_of(values[row : row + 1])[0]!r} is none of the classes {shown};"
            " dataset.classes=[...] says which there are"
        )
    return codes


def texts_of(values: NDArray[Any]) -> list[str]:
    """Labels as they are shown: whole numbers without a point or sign."""
    if np.issubdtype(values.dtype, np.floating):
        return [str(int(v)) if v == int(v) else repr(float(v)) for v in values]
    return [str(v) for v in values]


def _plain(label: str) -> str:
    """Bring a declared label into the form of those read: +1 and 1.0 are 1."""
    try:
        number = float(label)
    except ValueError:
        return label
    return texts_of(np.array([number]))[0] if math.isfinite(number) else label
