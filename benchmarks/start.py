"""Whole small commands, start-up included, beside a bare interpreter doing what cannot be avoided."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.fits import private_parts
from benchmarks.measure import PATE, Row, alternate, ratio, watch

__all__ = ["measure"]

_FITS = """
import sys
import numpy as np
from benchmarks.fits import fit_by_hand
data = np.load(sys.argv[1])
fit_by_hand(list(zip(np.split(data["X"], data["cuts"]), np.split(data["y"], data["cuts"]))))
"""


def measure(rounds: int, *, quick: bool) -> Iterator[Row]:
    """Time `pate --help`, and the default run beside its teachers' fits by scikit-learn."""
    with tempfile.TemporaryDirectory() as folder:

        def command(*typed: str) -> Callable[[], float]:
            return lambda: watch(typed, folder).seconds

        contestants = {"ours": command(*PATE, "--help"), "bare": command(sys.executable, "-c", "pass")}
        yield ratio("start", "pate --help", alternate(contestants, rounds), "python -c pass")
        file = Path(folder, "parts.npz")
        _, _, parts = private_parts("synthetic")
        cuts = np.cumsum([len(y) for _, y in parts])[:-1]
        np.savez(file, X=np.vstack([X for X, _ in parts]), y=np.concatenate([y for _, y in parts]), cuts=cuts)
        contestants = {
            "ours": command(*PATE, "run", "mechanism=svt", "eps=1.0", "--force"),
            "bare": command(sys.executable, "-c", _FITS, str(file)),
        }
        yield ratio(
            "start", "pate run mechanism=svt eps=1.0", alternate(contestants, rounds), "its fits by hand"
        )
