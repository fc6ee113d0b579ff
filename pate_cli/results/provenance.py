"""Provenance of a result: versions, seed, data, time, command."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any

from pate_cli.version import VERSION

__all__ = ["collect_provenance", "versions"]


def collect_provenance(
    *, seed: int, dataset_checksum: str, started: datetime, seconds: float, command: Sequence[str]
) -> dict[str, Any]:
    """Provenance of a run, enough to do it again; the command as typed, shell-quoted."""
    return {
        "versions": versions(),
        "dataset_checksum": dataset_checksum,
        "seed": int(seed),
        "started": started.astimezone(UTC).isoformat(timespec="milliseconds"),
        "seconds": round(float(seconds), 3),
        "command": shlex.join(command),
    }


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
