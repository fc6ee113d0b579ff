"""Which code made a number, beside this package: sources that are loaded, and versions of packages."""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from types import ModuleType

from pate_cli.errors import ConfigError

__all__ = ["LoadedCode", "edited", "has_source", "loaded_code"]

_PACKAGE = Path(__file__).resolve().parents[2]
_KNOWN = (str(_PACKAGE), sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))
_SCRIPTS = ("__main__", "__mp_main__")  # whoever calls decides no number

_read: dict[str, tuple[object, str]] = {}
"""SHA-256 of each local module's file as it was when the module was first met here, with its spec."""


@dataclass(frozen=True)
class LoadedCode:
    """Code that a process had loaded when it was done with some numbers.

    Attributes
    ----------
    sources : dict of str to list of str
        SHA-256 and path of the file of each module outside site-packages and the standard library, by name.
    packages : dict of str to str
        Version of each distribution of which a module is loaded, by name.
    """

    sources: Mapping[str, list[str]]
    packages: Mapping[str, str]

    def is_current(self) -> bool:
        """Whether this process would load the same: what it has loaded counts, else what is on disk."""
        return all(_version(name) == version for name, version in self.packages.items()) and all(
            digest and digest == (_loaded_digest(name) if name in sys.modules else _digest(path))
            for name, (digest, path) in self.sources.items()
        )

    def check(self) -> None:
        """Refuse to work in a process that has loaded a module from another source.

        Raises
        ------
        ConfigError
        """
        for name, (digest, _) in self.sources.items():
            if name in sys.modules and _loaded_digest(name) != digest:
                raise ConfigError("estimator", name, "code whose source stays as it is during the work")


def loaded_code() -> LoadedCode:
    """Say which code this process has loaded.

    Data that code reads while it runs (a file of parameters, an environment variable) is not seen.
    """
    names = list(sys.modules)
    files = {name: _local_file(name) for name in names}
    sources = {name: [_loaded_digest(name), file] for name, file in files.items() if file}
    tops = {name.partition(".")[0] for name in names}
    packages = {name: _version(name) for top in tops for name in _distributions().get(top, ())}
    return LoadedCode(dict(sorted(sources.items())), dict(sorted(packages.items())))


def edited() -> list[str]:
    """Name the loaded modules whose file has changed since it was loaded."""
    files = ((name, _local_file(name)) for name in list(sys.modules))
    return [name for name, file in files if file and _digest(file) not in ("", _loaded_digest(name))]


def has_source(module: str) -> bool:
    """Whether a module, imported here, has a file to hash: those of a notebook or script count as none."""
    try:
        importlib.import_module(module)
    except (Exception, SystemExit):  # `learners.check_learner` says what is wrong with it
        return True
    return module not in _SCRIPTS and bool(vars(sys.modules[module]).get("__file__"))


def _local_file(name: str) -> str:
    """File of a loaded module outside site-packages, the standard library and this package; else empty."""
    module = sys.modules.get(name)
    file = vars(module).get("__file__") if isinstance(module, ModuleType) else None
    return file if isinstance(file, str) and name not in _SCRIPTS and _is_local(file) else ""


@cache
def _is_local(file: str) -> bool:
    path = Path(file)
    installed = {"site-packages", "dist-packages"}.intersection(path.parts)
    known = any(path.is_relative_to(place) for place in _KNOWN)
    return os.path.isabs(file) and not installed and not known


def _loaded_digest(name: str) -> str:
    """Digest of the file of a loaded module as it was when first asked for; a reload is another module."""
    file = _local_file(name)
    if not file:
        return ""
    spec = vars(sys.modules[name]).get("__spec__")
    if name not in _read or _read[name][0] is not spec:
        _read[name] = spec, _digest(file)
    return _read[name][1]


def _digest(path: str) -> str:
    """SHA-256 (hex) of a file, empty where it cannot be read."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return ""


@cache
def _distributions() -> Mapping[str, list[str]]:
    return metadata.packages_distributions()


@cache
def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""
