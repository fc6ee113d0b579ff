"""The version of the package, and of what its results depend on."""

from __future__ import annotations

import platform
from functools import cache

__all__ = ["VERSION", "versions"]

VERSION = "1.0.0"


def versions() -> dict[str, str | None]:
    """Versions of Python, pate and the libraries a result depends on; None for one that is not installed."""
    return {
        "python": platform.python_version(),
        "numpy": _version("numpy"),
        "scipy": _version("scipy"),
        "sklearn": _version("scikit-learn"),
        "libsvm": _version("libsvm-official"),
        "hydra": _version("hydra-core"),
        "pate": VERSION,
    }


@cache  # a sweep of hundreds of jobs asks for each
def _version(distribution: str) -> str | None:
    from importlib import metadata

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
