"""A student on disk, with what is needed to use it: skops files, which run no code when opened."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from pate_cli import console
from pate_cli.errors import ConfigError, DataError, one_line
from pate_cli.students.trusted import WRITTEN, Refused, foreign_types
from pate_cli.types import _Private
from pate_cli.writing import write_file

__all__ = ["SavedStudent", "dump_student", "load_student", "save_student", "skops_io"]

_FORMAT = "pate student 1"
_MOST_BYTES = 2**31
_PARTS = {
    "student": "a classifier",
    "classes": "a list of labels",
    "n_features": "a whole number of at least 1",
    "encoder": "null or a fitted ColumnTransformer",
    "meta": "a mapping",
}


@dataclass(frozen=True)
class SavedStudent:
    """A student and what is needed to use it. PUBLIC.

    Attributes
    ----------
    student : fitted scikit-learn classifier
        Predicts class codes.
    classes : tuple of str
        The label behind each code.
    n_features : int
        Number of columns of the data, before encoding.
    encoder : fitted scikit-learn transformer or None
        Turns rows of a table into those columns.
    meta : dict
        Facts about the run that made it.
    """

    student: Any = field(repr=False)
    classes: tuple[str, ...]
    n_features: int
    encoder: Any = field(repr=False)
    meta: dict[str, Any]


def dump_student(
    student: Any, *, classes: Sequence[str], n_features: int, encoder: Any, meta: Mapping[str, Any]
) -> bytes:
    """Give the content of a student's file.

    Parameters
    ----------
    student : fitted scikit-learn classifier
    classes : sequence of str
        The label behind each code.
    n_features : int
        Number of columns of the data, before encoding.
    encoder : fitted scikit-learn transformer or None
    meta : mapping of str to plain values
        Facts about the run; PUBLIC ones only.

    Raises
    ------
    TypeError
        If `student` is private, as teachers are.
    """
    if isinstance(student, _Private):
        raise TypeError(f"{type(student).__name__} is private and is not written anywhere")
    content: bytes = skops_io().dumps(
        {
            "format": _FORMAT,
            "student": student,
            "classes": list(classes),
            "n_features": int(n_features),
            "encoder": encoder,
            "meta": dict(meta),
        }
    )
    return content


def save_student(path: str | Path, student: Any, **about: Any) -> None:
    """Write a student to a file, atomically.

    Parameters
    ----------
    path : path-like
    student : fitted scikit-learn classifier
    **about
        As `dump_student` takes them.

    Raises
    ------
    TypeError
        If `student` is private, as teachers are.
    ConfigError
        If the file cannot be written.
    """
    content = dump_student(student, **about)
    path = Path(path)
    try:
        write_file(path, content)
    except OSError as error:
        raise ConfigError(
            "model file", str(path), f"a path that can be written ({error.strerror})"
        ) from error


def load_student(path: str | Path, *, trust: Sequence[str] = ()) -> SavedStudent:
    """Read a student that `save_student` wrote.

    Only the types of `pate_cli.students.trusted.WRITTEN` are brought back, and those named in `trust`. This
    is decided on the names in the file, before any module is imported for them.

    Parameters
    ----------
    path : path-like
    trust : sequence of str
        Further types to allow, by their exact names, as `mypackage.MyClassifier`. Their code is run.

    Returns
    -------
    SavedStudent

    Raises
    ------
    DataError
        If the file is missing, truncated, not a student, holds a type that is not allowed (names all of
        them), or an array that is not as its type has it.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error
    if len(data) > _MOST_BYTES:
        raise DataError(f"{path}: more than {_MOST_BYTES} bytes, not a model written by pate")
    try:
        known, foreign = foreign_types(data, trust)
    except Refused as error:
        raise DataError(f"{path}: not a model written by pate, or cut short ({error})") from error
    if foreign:
        some = "the type" if len(foreign) == 1 else "the types"
        raise DataError(
            f"{path}: holds {some} {', '.join(foreign)}, which pate does not write; if you know where the "
            f"file is from, pass {' '.join(f'--trust {name}' for name in foreign)}"
        )
    loads = skops_io().loads
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            content = loads(data, trusted=known)
        except Exception as error:
            raise DataError(f"{path}: cannot be read as a model written by pate ({error})") from error
    found = _student(content, path)
    from pate_cli.students.checked import check_loaded

    try:
        check_loaded([found.student, found.encoder], WRITTEN["ObjectNode"])
    except Exception as error:
        raise DataError(f"{path}: not a model written by pate: {error}") from error
    for text in dict.fromkeys(one_line(f"{path}: {warning.message}") for warning in said):
        console.err().print(text, markup=False, soft_wrap=True)  # another version of scikit-learn, as a rule
    return found


def skops_io() -> ModuleType:
    """Import `skops.io` without what it has no use for.

    To know the types of scikit-learn it walks through all its modules, those that import Dask, CuPy and
    PyTorch among them where these are installed, and what scikit-learn is tested with: seconds, in every run
    that writes a student.
    """
    unused = [f"sklearn.externals.array_api_compat.{name}" for name in ("cupy", "dask", "torch")]
    unused.append("pytest")
    unused = [name for name in unused if name not in sys.modules]
    for name in unused:
        sys.modules[name] = None  # type: ignore[assignment]  # Python's own sign: not to be imported
    try:
        import skops.io
    finally:
        for name in unused:
            del sys.modules[name]
    module: ModuleType = skops.io
    return module


def _student(content: Any, path: Path) -> SavedStudent:
    """Check that everything is there and of its kind."""
    from sklearn.base import is_classifier
    from sklearn.compose import ColumnTransformer

    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise DataError(f"{path}: not a model written by pate (accepted: {_FORMAT})")
    parts: list[Any] = [content.get(part) for part in _PARTS]
    student, classes, n_features, encoder, meta = parts
    try:
        predicts = is_classifier(student) and callable(student.predict)
    except Exception:  # whatever it is, it does not behave like one
        predicts = False
    good = (
        predicts,
        isinstance(classes, list) and bool(classes) and all(type(label) is str for label in classes),
        type(n_features) is int and n_features > 0,
        encoder is None or (isinstance(encoder, ColumnTransformer) and _is_fitted(encoder)),
        isinstance(meta, dict),
    )
    for (part, accepted), fine in zip(_PARTS.items(), good, strict=True):
        if not fine:
            raise DataError(f"{path}: not a model written by pate: {part} is not {accepted}")
    return SavedStudent(student, tuple(classes), n_features, encoder, meta)


def _is_fitted(encoder: Any) -> bool:
    return hasattr(encoder, "feature_names_in_") and hasattr(encoder, "transformers_")
