"""Code that a process has loaded: hashes of sources and versions of packages."""

from __future__ import annotations

import hashlib
import importlib
import os
import platform
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from types import ModuleType

from pate_cli.errors import ConfigError, InputError
from pate_cli.plugins import contained

__all__ = ["LoadedCode", "code_version", "has_source", "library_versions", "loaded_code"]

_PACKAGE = Path(__file__).resolve().parents[1]
_NOT_LOCAL = (str(_PACKAGE), sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))
_SCRIPTS = ("__main__", "__mp_main__")  # whoever calls decides no number

_digests: dict[str, tuple[object, str]] = {}
"""Spec of each local module, and SHA-256 of its file as it was when the module was first seen here."""


@dataclass(frozen=True)
class LoadedCode:
    """Code that a process had loaded when it computed some numbers."""

    versions: Mapping[str, str]  # hash of the source of `pate_cli`, the numeric libraries, Python
    packages: Mapping[str, str]  # version of each distribution of which a module is loaded, by name
    sources: Mapping[str, list[str]]  # SHA-256 and path of each module outside site-packages, by name

    def is_current(self) -> bool:
        """Whether this process would load the same code: loaded modules first, then files on disk."""
        return (
            self.versions == _versions()
            and all(_version(name) == version for name, version in self.packages.items())
            and all(
                digest and digest == (_loaded_digest(name) if name in sys.modules else _digest(path))
                for name, (digest, path) in self.sources.items()
            )
        )

    def is_loaded(self) -> bool:
        """Whether the modules outside site-packages are those that this process has loaded."""
        return all(
            [_loaded_digest(name), _local_file(name)] == source for name, source in self.sources.items()
        )

    def check(self) -> None:
        """Refuse (InputError) to work in a process that has loaded other code."""
        for name, version in self.versions.items():
            if (here := _versions()[name]) != version:
                raise InputError(f"{name} is {here} in a worker process, {version} in the first: start again")
        for name, (digest, _) in self.sources.items():
            if name in sys.modules and _loaded_digest(name) != digest:
                raise ConfigError("estimator", name, "code whose source stays as it is during the work")


_found: tuple[set[str], LoadedCode] | None = None


def loaded_code() -> LoadedCode:
    """Find the code that this process has loaded; anew only where a module came, went or was reloaded.

    Data that code reads while it runs (a file of parameters, an environment variable) is not seen.
    """
    global _found
    names = set(sys.modules)
    if _found is None or _found[0] != names or not _found[1].is_loaded():
        _found = names, _walk(names)
    return _found[1]


def _walk(names: Iterable[str]) -> LoadedCode:
    """Code of the modules of these names."""
    tops = {name.partition(".")[0] for name in names}
    packages = {name for top in tops for name in _distributions().get(top, ())}
    sources = {name: [_loaded_digest(name), file] for name in sorted(names) if (file := _local_file(name))}
    return LoadedCode(_versions(), {name: _version(name) for name in sorted(packages)}, sources)


@cache
def code_version() -> str:
    """Hash of all source of this package (12 hex digits)."""
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


def has_source(module: str) -> bool:
    """Whether a module, imported here, has a file to hash: those of a notebook or script count as none."""
    try:
        with contained():
            importlib.import_module(module)
    except Exception:  # `learners.check_learner` says what is wrong with it
        return True
    return module not in _SCRIPTS and bool(vars(sys.modules[module]).get("__file__"))


def _versions() -> dict[str, str]:
    return {"pate": code_version(), **library_versions()}


def _local_file(name: str) -> str:
    """File of a loaded module outside site-packages, the standard library and this package; else empty."""
    module = sys.modules.get(name)
    file = vars(module).get("__file__") if isinstance(module, ModuleType) else None
    return file if isinstance(file, str) and name not in _SCRIPTS and _is_local(file) else ""


@cache
def _is_local(file: str) -> bool:
    path = Path(file)
    installed = {"site-packages", "dist-packages"}.intersection(path.parts)
    return os.path.isabs(file) and not installed and not any(map(path.is_relative_to, _NOT_LOCAL))


def _loaded_digest(name: str) -> str:
    """Digest of the file of a loaded module as it was when first asked for; a reload is another module."""
    file = _local_file(name)
    if not file:
        return ""
    spec = vars(sys.modules[name]).get("__spec__")
    if name not in _digests or _digests[name][0] is not spec:
        _digests[name] = spec, _digest(file)
    return _digests[name][1]


def _digest(path: str) -> str:
    """SHA-256 (hex) of a file, empty where it cannot be read."""
    try:
        state = os.stat(path)
        return _digest_of(path, state.st_ino, state.st_size, state.st_mtime_ns)
    except OSError:
        return ""


@cache
def _digest_of(path: str, *state: int) -> str:
    """SHA-256 (hex) of a file, read once in each state of it."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


@cache
def _distributions() -> Mapping[str, list[str]]:
    return metadata.packages_distributions()


@cache
def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""
