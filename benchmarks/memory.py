"""Peak memory and time of whole runs, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.commands import PATE
from benchmarks.rows import Row

__all__ = ["measure", "watch"]

REAL_SIM = (72_309, 20_958, 51)  # records, features, non-zeros a record
WATCHED = """
import os, sys, time
start = time.perf_counter()
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(child, 0)
print(time.perf_counter() - start, usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""
"""Run from a small process, as a child's peak is counted from what its parent had when it was started."""


def measure(*, quick: bool) -> Iterator[Row]:
    """Run at real-sim's shape, and on a million private records with ten thousand teachers."""
    shrink = 10 if quick else 1
    with tempfile.TemporaryDirectory() as folder:
        n_records = REAL_SIM[0] // shrink
        file = Path(folder, "sparse.libsvm")
        write_sparse(file, n_records, *REAL_SIM[1:])
        given = ["dataset=libsvm", f"dataset.path={file}", "teacher.size=100", "mechanism=gaussian"]
        name = f"sparse, {n_records:,} x {REAL_SIM[1]:,}"
        yield _peak(name, ["run", *given], folder, 2_000)
        n_private, n_teachers = 1_000_000 // shrink, 10_000 // shrink
        given = ["dataset=synthetic", f"dataset.n_records={n_private * 5 // 4}", f"split.private={n_private}"]
        given += [f"teacher.count={n_teachers}", "mechanism=svt"]
        name = f"synthetic, {n_private:,} private, {n_teachers:,} teachers"
        yield _peak(name, ["run", *given], folder, 8_000)


def _peak(name: str, arguments: list[str], folder: str, most: float) -> Row:
    took, megabytes = watch(arguments, folder)
    return Row("memory", name, megabytes, "MB", most=most, details={"s": round(took, 2)})


def watch(arguments: list[str], folder: str) -> tuple[float, float]:
    """Run `pate` with arguments in a folder: seconds of wall time, and megabytes at the peak."""
    command = [sys.executable, "-c", WATCHED, *PATE, *arguments]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    took, peak = done.stdout.split()[-2:]
    unit = 1e6 if sys.platform == "darwin" else 1e3  # bytes there, kibibytes on Linux
    return float(took), float(peak) * (1 if unit == 1e6 else 1.024) / unit


def write_sparse(path: Path, n_records: int, n_features: int, entries: int) -> None:
    """Write generated records in LIBSVM's format: `entries` non-zeros each on average, a noisy half-space."""
    import numpy as np

    rng = np.random.default_rng(0)
    normal = rng.standard_normal(n_features)
    lengths = rng.poisson(entries, n_records).clip(1)
    with path.open("w", encoding="ascii") as file:
        for length in lengths.tolist():
            where = np.unique((n_features * rng.random(length) ** 3).astype(np.int64))  # some are frequent
            values = rng.random(len(where)) + 0.1
            values /= np.linalg.norm(values)
            label = 1 if (values @ normal[where] > 0) ^ (rng.random() < 0.05) else -1
            pairs = zip((where + 1).tolist(), values.tolist(), strict=True)
            file.write(f"{label} " + " ".join(f"{index}:{value:.6f}" for index, value in pairs) + "\n")
        file.write(f"1 {n_features}:1\n")
