"""Maps from a record to features, made from public points alone; they cost no privacy.

`none` leaves records in their own columns, `kernel` is `KernelFeatures`; a map of another package is named by
the import path of a class with ``of(public, rng, directions)``, see `FeatureMap`.
"""

from __future__ import annotations

import importlib
from typing import Any, Protocol

import numpy as np

from pate_cli.errors import ConfigError
from pate_cli.plugins import contained, what_failed
from pate_cli.types import FloatArray

__all__ = ["NAMES", "FeatureMap", "check", "fit"]

NAMES = ("none", "kernel")
"""Names of `features=`, beside import paths."""

_TRIED = 64
"""Public points on which a map of another package is tried."""


class FeatureMap(Protocol):
    """Map from records to features, made from public points. PUBLIC.

    The features of a record are a function of that record and of public points: the same to the bit wherever
    the record stands and whatever the others are, and finite for any finite record.
    """

    def values(self, X: Any) -> FloatArray:
        """Features of records, ndarray or csr_matrix of shape (n, d): shape (n, p), of variance about 1."""


def fit(name: str, public: Any, rng: np.random.Generator, directions: int) -> Any:
    """Make a map from public points of shape (m, d), with at most so many features; `rng` draws points.

    None, for records in their own columns, for `none`, and for text, of which public points span too little.
    ConfigError if a map of another package is not what `FeatureMap` says, on public points.
    """
    from pate_cli.features.columns import is_text
    from pate_cli.features.kernel import KernelFeatures

    if name == "none" or is_text(public):
        return None
    if name == "kernel":
        return KernelFeatures.of(public, rng, directions=directions)
    return _tried(name, _imported(name), public, rng, directions)


def _tried(name: str, map_class: Any, public: Any, rng: np.random.Generator, directions: int) -> Any:
    """Make a map of another package; see that it is a function of a record, as far as public points tell."""
    from pate_cli.features.stable_rows import by_row, row_peaks
    from pate_cli.matrices import LARGEST, dense

    points = public[:_TRIED].copy()
    before = dense(points).copy()
    far = np.arange(len(before)) % 2 == 0  # every second point goes far away, and all in another order
    others = by_row(np.multiply, points, np.where(far, LARGEST / np.maximum(row_peaks(points), 1.0), 1.0))
    try:
        with np.errstate(all="ignore"), contained():
            feature_map = map_class.of(public, rng, directions)
            tries = [np.asarray(feature_map.values(X), dtype=float) for X in (points, others[::-1], points)]
    except Exception as error:  # of somebody's code; at a private record it would tell of that record
        why = what_failed(error)
        raise ConfigError("features.name", name, f"a map of any record ({why})") from error
    first, second, again = tries
    if first.ndim != 2 or {each.shape for each in tries} != {(len(before), first.shape[1])}:
        accepted = "a map to features of shape (n, p)"
    elif not all(np.isfinite(each).all() for each in tries):
        accepted = f"a map with finite features of any record, of numbers up to {LARGEST:g}"
    elif not all(np.array_equal(dense(each), before) for each in (points, public[:_TRIED])):
        accepted = "a map that leaves the records as they are"
    elif not (np.array_equal(first, again) and np.array_equal(first[~far], second[::-1][~far])):
        accepted = "a map whose features of a record are equal to the bit, wherever it stands and each time"
    else:
        return feature_map
    raise ConfigError("features.name", name, accepted)


def check(name: str) -> str:
    """Check the name of a map; ConfigError if there is none of that name."""
    if name not in NAMES:
        _imported(name)
    return name


def _imported(path: str) -> Any:
    module, _, name = path.rpartition(".")
    accepted = f"auto, {', '.join(NAMES)}, or the import path of a class with of(public, rng, directions)"
    try:
        with contained():
            map_class = getattr(importlib.import_module(module), name)
    except Exception as error:  # importing runs any code
        missing = isinstance(error, ModuleNotFoundError | AttributeError | ValueError)
        accepted += "" if missing else f"; importing it failed ({what_failed(error)})"
        own_hint = "PYTHONPATH=. pate ... finds modules of this directory"
        raise ConfigError("features.name", path, accepted, own_hint) from error
    if not callable(getattr(map_class, "of", None)):
        raise ConfigError("features.name", path, accepted)
    return map_class
