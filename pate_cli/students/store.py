"""Saved students: skops files, which run no code when opened."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from pate_cli import terminal
from pate_cli.errors import ConfigError, DataError, one_line
from pate_cli.students.trusted import WRITTEN, Refused, foreign_types
from pate_cli.types import _Private

__all__ = ["SavedStudent", "dump_student", "load_student", "save_student", "skops_io"]

_FORMAT = "pate student 1"
_MOST_BYTES = 2**31


@dataclass(frozen=True)
class SavedStudent:
    """Student, labels and encoder. PUBLIC."""

    student: Any = field(repr=False)  # fitted classifier; predicts class codes
    classes: tuple[str, ...]  # the label behind each code
    n_features: int  # columns of the data, before encoding
    encoder: Any = field(repr=False)  # fitted transformer of a table's rows to those columns, or None
    meta: dict[str, Any]  # public facts about the run that made it
    first_index: int | None = None  # index of the first column in LIBSVM files; None where it is not known


def dump_student(
    student: Any,
    *,
    classes: Sequence[str],
    n_features: int,
    encoder: Any,
    meta: Mapping[str, Any],
    first_index: int | None = None,
) -> bytes:
    """Content of the file of a student; TypeError for private values, as teachers are."""
    if isinstance(student, _Private):
        raise TypeError(f"{type(student).__name__} is private and is not written anywhere")
    parts = {"format": _FORMAT, "student": student, "classes": list(classes), "n_features": int(n_features)}
    parts |= {"encoder": encoder, "meta": dict(meta)}
    if first_index is not None:
        parts["first_index"] = first_index
    content: bytes = skops_io().dumps(parts)
    return content


def save_student(path: str | Path, student: Any, **about: Any) -> None:
    """Write a student to a file, atomically; see `dump_student`. ConfigError if it cannot be written."""
    content = dump_student(student, **about)
    try:
        terminal.write_file(path, content)
    except OSError as error:
        accepted = f"a path that can be written ({error.strerror})"
        raise ConfigError("model file", str(path), accepted) from error


def load_student(path: str | Path, *, trust: Sequence[str] = ()) -> SavedStudent:
    """Read a student that `save_student` wrote.

    Only the types of `pate_cli.students.trusted.WRITTEN` are restored, and those named in `trust`: exact
    names, as `mypackage.MyClassifier`, whose code is run. This is decided on the names in the file, before
    any module is imported for them. Raises `DataError` for a file that is missing, truncated, not a student,
    holds a type that is not allowed (names all of them), or an array that does not fit its type.
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
        accepted, foreign = foreign_types(data, trust)
    except Refused as error:
        raise DataError(f"{path}: not a model written by pate, or cut short ({error})") from error
    if foreign:
        some = "the type" if len(foreign) == 1 else "the types"
        raise DataError(
            f"{path}: holds {some} {', '.join(foreign)}, which pate does not write; if you know where the "
            f"file is from, pass {' '.join(f'--trust {name}' for name in foreign)}"
        )
    loads = skops_io().loads
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            content = loads(data, trusted=accepted)
        except Exception as error:
            raise DataError(f"{path}: cannot be read as a model written by pate ({error})") from error
    found = _student(content, path)
    from pate_cli.students.checked import check_loaded

    try:
        check_loaded([found.student, found.encoder], WRITTEN["ObjectNode"])
    except Exception as error:
        raise DataError(f"{path}: not a model written by pate: {error}") from error
    for text in dict.fromkeys(one_line(f"{path}: {warning.message}") for warning in warned):
        terminal.err().print(text, markup=False, soft_wrap=True)  # another version of scikit-learn, as a rule
    return found


def skops_io() -> ModuleType:
    """Import `skops.io` without Dask, CuPy, PyTorch and pytest, which take seconds.

    It imports all modules of scikit-learn, and these import those where they are installed.
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
    """Check that every part is there and of its kind."""
    from sklearn.base import is_classifier
    from sklearn.compose import ColumnTransformer

    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise DataError(f"{path}: not a model written by pate (accepted: {_FORMAT})")
    names = ("student", "classes", "n_features", "encoder", "meta", "first_index")
    parts: list[Any] = [content.get(name) for name in names]
    student, classes, n_features, encoder, meta, first_index = parts
    try:
        predicts = is_classifier(student) and callable(student.predict)
    except Exception:  # foreign code
        predicts = False
    labels = isinstance(classes, list) and bool(classes) and all(type(label) is str for label in classes)
    fitted = all(hasattr(encoder, name) for name in ("feature_names_in_", "transformers_"))
    encodes = encoder is None or (isinstance(encoder, ColumnTransformer) and fitted)
    for part, fine, accepted in (
        ("student", predicts, "a classifier"),
        ("classes", labels, "a list of labels"),
        ("n_features", type(n_features) is int and n_features > 0, "a whole number of at least 1"),
        ("encoder", encodes, "null or a fitted ColumnTransformer"),
        ("meta", isinstance(meta, dict), "a mapping"),
        (
            "first_index",
            first_index is None or (type(first_index) is int and first_index in (0, 1)),
            "0 or 1",
        ),
    ):
        if not fine:
            raise DataError(f"{path}: not a model written by pate: {part} is not {accepted}")
    return SavedStudent(student, tuple(classes), n_features, encoder, meta, first_index)
