"""Three LIBSVM files to try presets on: they differ in dimension, balance, noise and number of classes.

Example: python -m benchmarks.own_data DIRECTORY
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

__all__ = ["FILES", "write"]

FILES: dict[str, dict[str, Any]] = {
    "wide": {"n_samples": 12_000, "n_features": 60, "n_informative": 20, "n_redundant": 10, "flip_y": 0.02},
    "skewed": {"n_samples": 20_000, "n_features": 12, "n_informative": 6, "weights": [0.85], "flip_y": 0.1},
    "classes": {"n_samples": 10_000, "n_features": 30, "n_informative": 12, "n_classes": 5, "flip_y": 0.05},
}
"""File to the parameters of scikit-learn's `make_classification`."""


def write(directory: Path, seed: int = 2026) -> None:
    """Write the files, `NAME.libsvm`; the same bytes for a seed."""
    from sklearn.datasets import dump_svmlight_file, make_classification

    for number, (name, spec) in enumerate(FILES.items()):
        X, y = make_classification(**spec, random_state=seed + number)
        dump_svmlight_file(X.round(4), y, str(directory / f"{name}.libsvm"), zero_based=False)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
