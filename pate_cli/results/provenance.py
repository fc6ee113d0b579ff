"""Provenance of a result: the hash of its configuration, versions, seed, command; and JSON's own types."""

from __future__ import annotations

import hashlib
import json
import math
import platform
import shlex
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from os import PathLike
from typing import Any

from pate_cli.version import VERSION

__all__ = ["collect_provenance", "config_hash", "plain", "versions"]

_NO_NUMBERS = ("hydra", "compute", "cache", "purpose", "name", "tags", "tracking")  # the last of old records


def config_hash(config: Mapping[str, Any]) -> str:
    """Hash the configuration that decides a run's numbers, as 12 hex digits.

    SHA-256 of its canonical JSON without keys that change no number. `1` and `1.0` hash alike, but not in a
    learner's `params`, as scikit-learn takes `max_features=1` for one column, and `1.0` for all.
    """
    kept = _whole(plain({key: value for key, value in config.items() if key not in _NO_NUMBERS}, "config"))
    canonical = json.dumps(kept, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]


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


def plain(value: Any, where: str = "record") -> Any:
    """Convert a value to JSON's own types: infinities as "inf" and "-inf", nan as None.

    A `TypeError` names what has no place in a record (private values among them).
    """
    if isinstance(value, Enum):
        return value.name  # what the command line takes, and what OmegaConf writes
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None if math.isnan(value) else str(float(value))
    if isinstance(value, PathLike):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, f"{where}[{index}]") for index, item in enumerate(value)]
    # A NumPy scalar, known without importing NumPy; arrays are refused.
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        item = value.item()
        if type(item) is not type(value):
            return plain(item, where)
    raise TypeError(f"{where}: {type(value).__name__} is not written to a record")


def _whole(value: Any) -> Any:
    """Write whole floats as integers; not in `params`."""
    if isinstance(value, dict):
        return {key: item if key == "params" else _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


@cache  # a sweep of hundreds of jobs asks for each
def _version(distribution: str) -> str | None:
    from importlib import metadata

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
