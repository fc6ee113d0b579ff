"""Versions that numbers depend on."""

from __future__ import annotations

from typing import Any

from pate_cli.datasets.known_datasets import ENTRIES, missing
from pate_cli.engine.loaded import code_version, library_versions
from pate_cli.version import VERSION

__all__ = ["dependencies", "sources"]


def sources() -> dict[str, str]:
    """Versions of the program and of the libraries."""
    libraries = ", ".join(f"{name} {version}" for name, version in library_versions().items())
    return {"pate": f"{VERSION}, source {code_version()}", "libraries": libraries}


def dependencies() -> dict[str, Any]:
    """Code and libraries that numbers depend on, and the data sets on this machine."""
    on_disk = [name for name in ENTRIES if not missing(name)]
    return {"code": code_version(), "libraries": library_versions(), "data": on_disk}
