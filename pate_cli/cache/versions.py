"""Versions of whatever decides a number, so that what was kept by another version is not used."""

from __future__ import annotations

import hashlib
import importlib
import sys
from collections.abc import Sequence
from functools import cache
from importlib import metadata
from pathlib import Path

__all__ = ["learner_version", "library_versions", "source_version"]


def source_version(package: Path, rooms: Sequence[str], files: Sequence[str]) -> str:
    """Hash the source of some rooms and files of the package (12 hex digits)."""
    paths = [package / name for name in files]
    paths += [path for room in rooms for path in (package / room).rglob("*.py")]
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(f"{path.relative_to(package).as_posix()}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]


@cache
def library_versions() -> dict[str, str]:
    """Versions of the numeric libraries."""
    return {name: metadata.version(name) for name in ("numpy", "scipy", "scikit-learn", "libsvm-official")}


@cache
def learner_version(estimator: str) -> str | None:
    """Say which code is behind the name of a learner.

    Parameters
    ----------
    estimator : str
        A built-in name, or the import path of a class that can be imported.

    Returns
    -------
    str or None
        Empty where our own source and `library_versions` say it all; a hash of every package installed
        for a class of any of them, since it may call any other; None for a class from elsewhere, as
        a file of the user's, which may change without notice.
    """
    module, _, name = estimator.rpartition(".")
    if not module:
        return ""
    classes = getattr(importlib.import_module(module), name).__mro__
    tops = {module.partition(".")[0], *(cls.__module__.partition(".")[0] for cls in classes)}
    others = tops - {"sklearn", "numpy", "scipy", "pate_cli"} - set(sys.stdlib_module_names)
    if not others:
        return ""
    if not all(_is_installed(top) for top in others):
        return None
    return _environment()


def _is_installed(top: str) -> bool:
    """Whether a module came with an installed package, and not from a checkout."""
    file = getattr(sys.modules.get(top), "__file__", None)
    names = metadata.packages_distributions().get(top, [])
    return file is not None and any(
        Path(file).is_relative_to(str(metadata.distribution(name).locate_file(""))) for name in names
    )


@cache
def _environment() -> str:
    found = sorted({f"{item.name}=={item.version}" for item in metadata.distributions()})
    return hashlib.sha256("\n".join(found).encode()).hexdigest()[:12]
