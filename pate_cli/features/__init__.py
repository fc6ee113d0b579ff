"""Maps from a record to features, made from public points alone; they cost no privacy.

`none` leaves records in their own columns, `kernel` is `KernelFeatures`; a map of another package is named by
the import path of a class with ``of(public, rng, directions)``, see `FeatureMap`.
"""

from __future__ import annotations

import importlib
from typing import Any, Protocol

import numpy as np

from pate_cli.errors import ConfigError
from pate_cli.plugins import what_failed
from pate_cli.types import FloatArray

__all__ = ["NAMES", "FeatureMap", "check", "fit"]

NAMES = ("none", "kernel")
"""Names of `features=`, beside import paths."""


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
    """
    from pate_cli.features.columns import is_text
    from pate_cli.features.kernel import KernelFeatures

    if name == "none" or is_text(public):
        return None
    if name == "kernel":
        return KernelFeatures.of(public, rng, directions=directions)
    return _imported(name).of(public, rng, directions)


def check(name: str) -> str:
    """Check the name of a map; ConfigError if there is none of that name."""
    if name not in NAMES:
        _imported(name)
    return name


def _imported(path: str) -> Any:
    module, _, name = path.rpartition(".")
    accepted = f"auto, {', '.join(NAMES)}, or the import path of a class with of(public, rng, directions)"
    try:
        map_class = getattr(importlib.import_module(module), name)
    except Exception as error:  # importing runs any code
        missing = isinstance(error, ModuleNotFoundError | AttributeError | ValueError)
        accepted += "" if missing else f"; importing it failed ({what_failed(error)})"
        own = "PYTHONPATH=. pate ... finds modules of this directory"
        raise ConfigError("features.name", path, accepted, own) from error
    if not callable(getattr(map_class, "of", None)):
        raise ConfigError("features.name", path, accepted)
    return map_class
