"""Whole commands, start-up included, next to a bare interpreter doing what cannot be avoided."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.parts import private_records, sliced
from benchmarks.timing import Result, Target, alternate

__all__ = ["measure_help", "measure_run"]

REPO = Path(__file__).resolve().parent.parent
PATE = [sys.executable, "-m", "pate_cli"]
BARE_FITS = """
import sys, numpy as np
sys.path.insert(0, sys.argv[2])
from benchmarks.parts import bare_fits
data = np.load(sys.argv[1])
bare_fits(list(zip(np.split(data["X"], data["cuts"]), np.split(data["y"], data["cuts"]))))
"""


def measure_help(rounds: int) -> list[Result]:
    """`pate --help` next to an interpreter that does nothing."""
    with tempfile.TemporaryDirectory() as folder:
        contestants = {
            "ours": _command([*PATE, "--help"], folder),
            "bare": _command([sys.executable, "-c", "pass"], folder),
        }
        times = alternate(contestants, rounds)
    return [Result("pate --help", "python -c pass", times["ours"], times["bare"], Target(0.3))]


def measure_run(rounds: int) -> list[Result]:
    """`pate run mechanism=svt eps=1.0` next to importing scikit-learn, alone and with the teachers' fits."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "parts.npz")
        _save_parts(file)
        imports = "import numpy, scipy, sklearn.linear_model"
        contestants = {
            "ours": _command([*PATE, "run", "mechanism=svt", "eps=1.0"], folder),
            "import": _command([sys.executable, "-c", imports], folder),
            "fits": _command([sys.executable, "-c", BARE_FITS, str(file), str(REPO)], folder),
        }
        times = alternate(contestants, rounds)
    name = "pate run, svt"
    return [
        Result(name, "sklearn + its fits", times["ours"], times["fits"], Target(6)),
        Result(name, "import sklearn", times["ours"], times["import"]),
    ]


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
