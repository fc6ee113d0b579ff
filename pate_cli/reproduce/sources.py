"""Versions that numbers depend on."""

from __future__ import annotations

from pate_cli import __version__
from pate_cli.engine.loaded import code_version, library_versions

__all__ = ["sources"]


def sources() -> dict[str, str]:
    """Versions of the program and of the libraries."""
    versions = ", ".join(f"{name} {version}" for name, version in library_versions().items())
    return {"pate": f"{__version__}, source {code_version()}", "libraries": versions}
