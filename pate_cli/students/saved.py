"""Saved students: skops files, which run no code when opened."""

from __future__ import annotations

import io
import json
import os
import warnings
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pate_cli import terminal
from pate_cli.errors import ConfigError, DataError, one_line
from pate_cli.matrices import within_bounds
from pate_cli.students.metrics import asked, by_class
from pate_cli.students.trusted import WRITTEN, foreign_types
from pate_cli.types import FloatArray, IntArray, _Private

__all__ = ["SavedStudent", "dump_student", "load_student", "read_student", "save_student"]

_FORMAT = "pate student 1"
_MOST_BYTES = 2**31
_MOST_FEATURES = 2**31 - 1
"""As of `dataset.n_features`: no run makes a student of more."""


@dataclass(frozen=True)
class SavedStudent:
    """Student, labels and encoder. PUBLIC."""

    student: Any = field(repr=False)  # fitted classifier; predicts class codes
    classes: tuple[str, ...]  # the label behind each code
    n_features: int  # columns of the data, before encoding
    encoder: Any = field(repr=False)  # fitted transformer of a table's rows to those columns, or None
    meta: dict[str, Any]  # public facts about the run that made it
    first_index: int | None = None  # index of the first column in LIBSVM files; None where it is not known

    def codes(self, X: Any) -> IntArray:
        """Class codes, shape (m,); errors of the classifier, or ValueError for a code that is no class."""
        predicted = _applied(self.student, X, lambda student, rows: asked(student, "predict", rows))
        codes: IntArray = np.asarray(predicted).astype(np.int64)
        if codes.shape != (X.shape[0],) or (codes < 0).any() or (codes >= len(self.classes)).any():
            raise ValueError(f"gives a code that is not one of its {len(self.classes)} classes")
        return codes

    def probabilities(self, X: Any) -> FloatArray | None:
        """Probability of each class, shape (m, C); None from a student without; ValueError beyond [0, 1]."""
        if not hasattr(self.student, "predict_proba"):
            return None
        n_classes = len(self.classes)
        shares: FloatArray | None = _applied(
            self.student, X, lambda student, rows: by_class(student, "predict_proba", rows, n_classes)
        )
        if shares is not None and not ((shares >= 0) & (shares <= 1)).all():
            raise ValueError("gives a probability that is not in [0, 1]")
        return shares


def _applied(student: Any, X: Any, call: Callable[[Any, Any], Any]) -> Any:
    """Result of `call(student, X)`; on dense copies of sparse rows, if the student takes no others."""
    X = within_bounds(X)  # as in training
    from pate_cli.learners.dense import WIDEST, DenseInput

    with np.errstate(all="ignore"):  # what comes of wrong numbers is refused, in one line
        try:
            return call(student, X)
        except (TypeError, ValueError):
            if isinstance(X, np.ndarray) or X.shape[1] > WIDEST:
                raise
        return call(DenseInput(student), X)


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
    import skops.io

    if isinstance(student, _Private):
        raise TypeError(f"{type(student).__name__} is private and is not written anywhere")
    parts = {"format": _FORMAT, "student": student, "classes": list(classes), "n_features": int(n_features)}
    parts |= {"encoder": encoder, "meta": dict(meta)}
    if first_index is not None:
        parts["first_index"] = first_index
    return _without_addresses(skops.io.dumps(parts))


def _without_addresses(data: bytes) -> bytes:
    """Rewrite a skops file so that it depends on its content alone.

    skops names objects by their memory address and members carry the time of writing; neither says anything
    of the student, but an address may depend on what else the process holds, and that may be private.
    Addresses become 0, 1, ... in order of appearance. Types that an older scikit-learn knows by a name of its
    own are written as its later versions do, so that these read the file, too.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    numbers: dict[int, int] = {}
    files: dict[str, str] = {}

    def renamed(node: dict[str, Any]) -> dict[str, Any]:
        """Rename one node of the schema; a dictionary with a key "file" or "__id__" holds nodes there."""
        if node.get("__class__") == "_RemainderColsList":  # up to 1.7: a list that warns who changes it
            remainder: dict[str, Any] = node["content"]["content"]["data"]
            return remainder
        if node.get("__module__") == "_loss":  # up to 1.8
            node["__module__"] = "sklearn._loss._loss"
        if isinstance(address := node.get("__id__"), int):
            node["__id__"] = numbers.setdefault(address, len(numbers))
        if isinstance(file := node.get("file"), str):
            node["file"] = files.setdefault(file, f"{len(files)}{Path(file).suffix}")
        return node

    schema = json.loads(members.pop("schema.json"), object_hook=renamed)
    if files.keys() != members.keys():
        raise RuntimeError("skops: a member that its schema does not name")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for old, new in files.items():
            archive.writestr(zipfile.ZipInfo(new), members[old])
        archive.writestr(zipfile.ZipInfo("schema.json"), json.dumps(schema))
    return buffer.getvalue()


def save_student(path: str | Path, student: Any, **about: Any) -> None:
    """Write a student to a file, atomically; see `dump_student`. ConfigError if it cannot be written."""
    content = dump_student(student, **about)
    try:
        terminal.write_file(path, content)
    except OSError as error:
        accepted = f"a path that can be written ({error.strerror})"
        raise ConfigError("model file", str(path), accepted) from error


def load_student(path: str | Path, *, trust: Sequence[str] = ()) -> SavedStudent:
    """Read the file of a student that `save_student` wrote; see `read_student`."""
    try:
        with terminal.open_file(path) as file:
            if os.fstat(file.fileno()).st_size > _MOST_BYTES:
                raise DataError(f"{path}: more than {_MOST_BYTES} bytes, not a model written by pate")
            data = file.read()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error
    return read_student(data, path, trust=trust)


def read_student(data: bytes, path: str | Path, *, trust: Sequence[str] = ()) -> SavedStudent:
    """Restore a student from the content of its file, whose path is for messages.

    Only the types of `pate_cli.students.trusted.WRITTEN` are restored, and those named in `trust`: exact
    names, as `mypackage.MyClassifier`, whose code is run. This is decided on the names in the file, before
    any module is imported for them. Raises `DataError` for a file that is truncated, not a student, unpacks
    to too much, holds a type that is not allowed (names all of them), or would lead compiled code astray.
    """
    try:
        foreign = foreign_types(data, trust)
    except Exception as error:  # a foreign file may fail anywhere
        why = str(error) or type(error).__name__
        raise DataError(f"{path}: not a model written by pate, or cut short ({why})") from error
    if foreign:
        some = "the type" if len(foreign) == 1 else "the types"
        raise DataError(
            f"{path}: holds {some} {', '.join(foreign)}, which pate does not write; if you know where the "
            f"file is from, pass {' '.join(f'--trust {name}' for name in foreign)}"
        )
    import skops.io

    from pate_cli.students.checked import check_loaded

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            content = skops.io.loads(data, trusted=[*WRITTEN, *trust])
        except Exception as error:
            raise DataError(f"{path}: cannot be read as a model written by pate ({error})") from error
    saved = _student(content, path)
    try:
        check_loaded(saved.student, saved.encoder, n_classes=len(saved.classes), n_features=saved.n_features)
    except Exception as error:
        raise DataError(f"{path}: not a model written by pate: {error}") from error
    for text in dict.fromkeys(one_line(f"{path}: {warning.message}") for warning in warned):
        terminal.err().print(text, markup=False, soft_wrap=True)  # another version of scikit-learn, as a rule
    return saved


def _student(content: Any, path: str | Path) -> SavedStudent:
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
    fitted = all(hasattr(encoder, name) for name in ("feature_names_in_", "transformers_"))
    fine = {
        "student": predicts,
        "classes": isinstance(classes, list) and bool(classes) and all(type(name) is str for name in classes),
        "n_features": type(n_features) is int and 0 < n_features <= _MOST_FEATURES,
        "encoder": encoder is None or (isinstance(encoder, ColumnTransformer) and fitted),
        "meta": isinstance(meta, dict),
        "first_index": first_index is None or (type(first_index) is int and first_index in (0, 1)),
    }
    if wrong := [name for name in names if not fine[name]]:
        raise DataError(f"{path}: not a model written by pate: {wrong[0]} is of another kind")
    return SavedStudent(student, tuple(classes), n_features, encoder, meta, first_index)
