"""Whole commands, start-up included, next to a bare interpreter doing what cannot be avoided."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.parts import private_records, sliced
from benchmarks.rows import Row, beside
from benchmarks.timing import alternate

__all__ = ["measure_help", "measure_run"]

HELP, RUN, IMPORTS = 0.02, 2.0, 0.7
"""Seconds that are wanted at most of `pate --help`, of the default run, and of its imports."""

REPO = Path(__file__).resolve().parent.parent
PATE = [sys.executable, "-m", "pate_cli"]
BARE_FITS = """
import sys, numpy as np
sys.path.insert(0, sys.argv[2])
from benchmarks.parts import bare_fits
data = np.load(sys.argv[1])
bare_fits(list(zip(np.split(data["X"], data["cuts"]), np.split(data["y"], data["cuts"]))))
"""


def measure_help(rounds: int) -> list[Row]:
    """`pate --help` next to an interpreter that does nothing."""
    with tempfile.TemporaryDirectory() as folder:
        contestants = {
            "ours": _command([*PATE, "--help"], folder),
            "bare": _command([sys.executable, "-c", "pass"], folder),
        }
        times = alternate(contestants, rounds)
    return [beside("commands", "pate --help", times, "python -c pass", seconds=HELP)]


def measure_run(rounds: int) -> list[Row]:
    """`pate run mechanism=svt eps=1.0` next to its teachers' fits by scikit-learn; and its imports."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "parts.npz")
        _save_parts(file)
        contestants = {
            "ours": _command([*PATE, "run", "mechanism=svt", "eps=1.0"], folder),
            "bare": _command([sys.executable, "-c", BARE_FITS, str(file), str(REPO)], folder),
        }
        times = alternate(contestants, rounds)
        took = [_imports(folder) for _ in range(rounds)]
        details = {"rounds": rounds}
    return [
        beside("commands", "pate run, svt", times, "sklearn + its fits", seconds=RUN),
        Row(
            "commands", "pate run, svt: imports", statistics.median(took), "s", most=IMPORTS, details=details
        ),
    ]


def _imports(folder: str) -> float:
    """Seconds that the imports of a run take by `python -X importtime`, those of the standard library too."""
    command = [
        sys.executable,
        "-X",
        "importtime",
        "-m",
        "pate_cli",
        "run",
        "mechanism=svt",
        "eps=1.0",
        "--force",
    ]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    lines = [line.split("|") for line in done.stderr.splitlines() if line.startswith("import time:")]
    return sum(int(own.removeprefix("import time:")) for own, *_ in lines[1:]) / 1e6


def _save_parts(file: Path) -> None:
    private, n_teachers, _ = private_records("synthetic")
    pairs = sliced(private, n_teachers)
    cuts = np.cumsum([len(y) for _, y in pairs])[:-1]
    np.savez(
        file, X=np.concatenate([X for X, _ in pairs]), y=np.concatenate([y for _, y in pairs]), cuts=cuts
    )


def _command(command: list[str], folder: str) -> Callable[[], object]:
    def run() -> None:
        subprocess.run(command, cwd=folder, check=True, capture_output=True)

    return run
