"""Labels as found in a file become class codes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pate_cli.errors import DataError
from pate_cli.types import IntArray

__all__ = ["encode_labels"]


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
    if np.issubdtype(found.dtype, np.floating):
        classes = tuple(str(int(v)) if v == int(v) else repr(float(v)) for v in found)
    else:
        classes = tuple(str(v) for v in found)
    if len(classes) == 1:
        raise DataError(f"{where}: every label is {classes[0]!r}; at least two classes are needed")
    if len(classes) > max(2, len(values) // 2):
        raise DataError(
            f"{where}: {len(classes)} different labels on {len(values)} records; classes are needed,"
            " not a number to predict"
        )
    return codes.astype(np.int64), classes
