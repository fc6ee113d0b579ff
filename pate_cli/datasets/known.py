"""The datasets of LIBSVM's site that are known by name: `mushroom`, `a9a` and `real-sim`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pate_cli.datasets import files
from pate_cli.datasets.libsvm import parse
from pate_cli.datasets.reading import joint_digest
from pate_cli.datasets.three_files import encode_labels
from pate_cli.types import Dataset

__all__ = ["Options", "load"]


@dataclass(frozen=True)
class Options:
    """No options."""


def load(name: str, options: Options) -> Dataset:
    """Load `mushroom`, `a9a` (training and test file joined) or `real-sim`.

    Raises
    ------
    DataError
        If a file is not the official one, missing and cannot be downloaded, or changes while it is read.
    """
    import scipy.sparse as sp

    entry = files.ENTRIES[name]
    found = files.require(entry)
    parts = []
    for file in found:
        X, labels, checksum = parse(file.path, entry.n_features)
        file.check(checksum)
        parts.append((X, labels))
    y, classes = encode_labels(np.concatenate([y for _, y in parts]), name)
    return Dataset(
        name=name,
        X=sp.vstack([X for X, _ in parts], format="csr") if len(parts) > 1 else parts[0][0],
        y=y,
        classes=classes,
        checksum=joint_digest([file.sha256 for file in found]),
        source=f"{entry.source}: {', '.join(str(file.path) for file in found)}",
    )
