"""A student on disk, with what is needed to use it: skops files, which run no code when opened."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pate_cli.errors import ConfigError, DataError
from pate_cli.types import _Private

__all__ = ["SavedStudent", "load_student", "save_student"]

_FORMAT = "pate student 1"
_TRUSTED_ROOMS = ("sklearn", "numpy", "scipy", "pate_cli")


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


def save_student(
    path: str | Path,
    student: Any,
    *,
    classes: Sequence[str],
    n_features: int,
    encoder: Any,
    meta: Mapping[str, Any],
) -> None:
    """Write a student to a file, atomically.

    Parameters
    ----------
    path : path-like
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
    ConfigError
        If the file cannot be written.
    """
    from skops.io import dumps

    if isinstance(student, _Private):
        raise TypeError(f"{type(student).__name__} is private and is not written anywhere")
    content = dumps(
        {
            "format": _FORMAT,
            "student": student,
            "classes": list(classes),
            "n_features": int(n_features),
            "encoder": encoder,
            "meta": dict(meta),
        }
    )
    path = Path(path)
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.chmod(temporary, 0o666 & ~_umask())
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise ConfigError(
            "model file", str(path), f"a path that can be written ({error.strerror})"
        ) from error


def load_student(path: str | Path, *, trust: Sequence[str] = ()) -> SavedStudent:
    """Read a student that `save_student` wrote.

    Only classes of scikit-learn, numpy, scipy and pate itself are brought back, and those named in
    `trust`: a file cannot make us run anything else.

    Parameters
    ----------
    path : path-like
    trust : sequence of str
        Further types to allow, as `mypackage.MyClassifier`.

    Returns
    -------
    SavedStudent

    Raises
    ------
    DataError
        If the file is missing, truncated, not a student, or holds a type that is not allowed.
    """
    from skops.io import get_untrusted_types, loads

    path = Path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error
    try:
        unknown = [name for name in get_untrusted_types(data=data) if name not in trust]
    except Exception as error:
        # A foreign file may fail anywhere in the reading of archive and schema.
        raise DataError(f"{path}: not a model written by pate, or cut short ({error})") from error
    for name in unknown:
        if not _is_ours(name):
            raise DataError(
                f"{path}: holds the type {name}, which is not one of {', '.join(_TRUSTED_ROOMS)}; "
                f"if you know where the file is from, pass --trust {name}"
            )
    try:
        content = loads(data, trusted=[*unknown, *trust])
    except Exception as error:
        raise DataError(f"{path}: cannot be read as a model written by pate ({error})") from error
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise DataError(f"{path}: not a model written by pate (accepted: {_FORMAT})")
    return SavedStudent(
        content["student"],
        tuple(content["classes"]),
        content["n_features"],
        content["encoder"],
        content["meta"],
    )


def _is_ours(name: str) -> bool:
    """Whether a type comes from a module we trust, and is a class: functions could be made to run."""
    import importlib

    module, _, attribute = name.rpartition(".")
    if module.partition(".")[0] not in _TRUSTED_ROOMS:
        return False
    try:
        return isinstance(getattr(importlib.import_module(module), attribute), type)
    except (ImportError, AttributeError):
        return False


def _umask() -> int:
    """Return the process's umask; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
