"""Versions of whatever decides a number, so that what was kept by another version is not used."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from importlib import metadata
from pathlib import Path

__all__ = ["code_version", "library_versions"]

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
