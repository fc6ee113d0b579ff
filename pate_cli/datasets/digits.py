"""Hand-written digits as scikit-learn bundles them: real, offline, ten classes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from pate_cli.types import Dataset

__all__ = ["Options", "load"]


@dataclass(frozen=True)
class Options:
    """No options."""


def load(name: str, options: Options) -> Dataset:
    """Load 1,797 images of 8 x 8 pixels, divided by the format's largest pixel, 16."""
    from sklearn.datasets import load_digits as bundled

    X, y = bundled(return_X_y=True)
    X, y = np.ascontiguousarray(X, dtype=np.float64), np.ascontiguousarray(y, dtype=np.int64)
    return Dataset(
        name=name,
        X=X / 16,
        y=y,
        classes=tuple(str(digit) for digit in range(10)),
        checksum=hashlib.sha256(X.tobytes() + y.tobytes()).hexdigest(),
        source="UCI optical recognition of handwritten digits (test part), bundled with scikit-learn",
    )
