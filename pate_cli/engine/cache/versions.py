"""Versions of whatever decides a number, so that what was kept by another version is not used."""

from __future__ import annotations

import hashlib
import importlib
import json
import platform
import sys
from functools import cache
from importlib import metadata
from pathlib import Path

from pate_cli.engine.cache.sources import Sources, as_loaded, as_they_are

__all__ = ["code_version", "has_changed", "learner_version", "library_versions", "module_version"]

_PACKAGE = Path(__file__).resolve().parents[2]


@cache
def code_version() -> str:
    """Hash all source of this package (12 hex digits): whichever file decides a number, it is among them."""
    digest = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        digest.update(f"{path.relative_to(_PACKAGE).as_posix()}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]


@cache
def library_versions() -> dict[str, str]:
    """Versions of the numeric libraries, and of Python."""
    names = ("numpy", "scipy", "scikit-learn", "libsvm-official")
    python = f"{platform.python_implementation()} {platform.python_version()} {platform.machine()}"
    return {name: metadata.version(name) for name in names} | {"python": python}


def learner_version(estimator: str) -> str | None:
    """Say which code is behind the name of a learner, as this process has loaded it.

    What a learner reads while it fits (a file of parameters, an environment variable) is not seen.

    Parameters
    ----------
    estimator : str
        A built-in name, or the import path of a class.

    Returns
    -------
    str or None
        Empty where `code_version` and `library_versions` say it all. Else a hash: of the source of the
        class's own module and of every local module it imports, directly or not; and, where any of them
        is of an installed package or imports one, of every package installed, since that may call any
        other. None if that cannot be told: there is no source, or it imports modules by name.
    """
    module, _, name = estimator.rpartition(".")
    if not module:
        return ""
    if not all(part.isidentifier() for part in estimator.split(".")):
        return None
    before = None if module in sys.modules else as_they_are([module])
    modules = _modules(module, name)
    return None if modules is None else _version(as_loaded(modules, before))


def module_version(name: str) -> str | None:
    """Say which code is behind a module that is loaded here, as `learner_version` does of a class."""
    return "" if name.partition(".")[0] == _PACKAGE.name else _version(as_loaded([name]))


def has_changed(estimator: str) -> bool:
    """Whether the source of a learner is another one than this process has loaded."""
    module, _, name = estimator.rpartition(".")
    modules = _modules(module, name) if module else None
    return modules is not None and as_loaded(modules) != as_they_are(modules)


def _modules(module: str, name: str) -> list[str] | None:
    """Modules that a class and those it inherits from stand in; None if there is no such class."""
    try:
        classes = getattr(importlib.import_module(module), name).__mro__
    except (Exception, SystemExit):  # `learners.check_learner` says what is wrong with it
        return None
    return [module, *(cls.__module__ for cls in classes)]


def _version(sources: Sources) -> str | None:
    if not sources.complete:
        return None
    if not sources.digests and not sources.packages:
        return ""
    kept = [sources.digests, _environment() if sources.packages else ""]
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()[:24]


@cache
def _environment() -> str:
    found = sorted({f"{item.name}=={item.version}" for item in metadata.distributions()})
    return hashlib.sha256("\n".join(found).encode()).hexdigest()[:12]
