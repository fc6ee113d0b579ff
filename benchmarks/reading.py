"""Reading one's own files next to what reads them by hand: time, and memory beside what the imports take."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.memory import REAL_SIM, write_sparse
from benchmarks.rows import Row, beside

__all__ = ["measure"]

ROWS, NUMBERS, TEXTS = 200_000, 40, 9
TIMES, MEMORY = 3, 4
"""How much more time and memory than pandas is wanted at most."""

_IMPORTS = r"""
import pathlib, re, sys, time
import pandas, sklearn.preprocessing, pyarrow.parquet, sklearn.datasets
import pate_cli.datasets.encoding, pate_cli.datasets.csv_files, pate_cli.datasets.parquet
import pate_cli.datasets.libsvm
def peak():  # not ru_maxrss, which begins with what the parent had
    return int(re.search(r"VmHWM:\s*(\d+)", pathlib.Path("/proc/self/status").read_text())[1])
before = peak()
start = time.process_time()
"""
_TELL = """
print(time.process_time() - start, peak() - before)
"""
_READS = {
    "csv": {
        "ours": "data = pate_cli.datasets.load('csv', path=sys.argv[1], target='y')",
        "bare": "data = pandas.read_csv(sys.argv[1])",
    },
    "parquet": {
        "ours": "data = pate_cli.datasets.load('parquet', path=sys.argv[1], target='y')",
        "bare": "data = pandas.read_parquet(sys.argv[1])",
    },
}
_SPARSE = {
    "ours": "data = pate_cli.datasets.libsvm.parse(pathlib.Path(sys.argv[1]))",
    "bare": "data = sklearn.datasets.load_svmlight_file(sys.argv[1])",
}
PARSER = 1.2
"""Times scikit-learn's parser."""


def measure(rounds: int, *, quick: bool) -> list[Row]:
    """Read a table of 200,000 records with 50 columns, and sparse records, in a process of its own each time.

    Seconds are of the processor: what others wait for is not ours to mend.
    """
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        n = ROWS // (10 if quick else 1)
        shape = f"{n:,} x {NUMBERS + TEXTS + 1}"
        for kind, path in _write(Path(folder), n).items():
            taken = _in_turn(_READS[kind], path, rounds)
            times = {name: [seconds for seconds, _ in values] for name, values in taken.items()}
            peak = {name: min(kilobytes for _, kilobytes in values) / 1e3 for name, values in taken.items()}
            rows.append(beside("reading", f"{kind}, {shape}", times, f"pandas.read_{kind}", most=TIMES))
            details = {"bare_MB": round(peak["bare"], 1)}
            rows.append(
                Row(
                    *("reading", f"{kind}, {shape}: memory beside the imports", peak["ours"], "MB"),
                    *(f"{MEMORY} x pandas", MEMORY * peak["bare"]),
                    details=details,
                )
            )
        return [*rows, *_sparse(rounds, folder, quick=quick)]


def _sparse(rounds: int, folder: str, *, quick: bool) -> list[Row]:
    path = Path(folder, "sparse.libsvm")
    write_sparse(path, REAL_SIM[0] // (10 if quick else 1), *REAL_SIM[1:])
    taken = _in_turn(_SPARSE, path, rounds)
    times = {name: [seconds for seconds, _ in values] for name, values in taken.items()}
    name = f"parse libsvm, {path.stat().st_size / 1e6:.0f} MB"
    return [beside("reading", name, times, "load_svmlight_file", most=PARSER)]


def _in_turn(reads: dict[str, str], path: Path, rounds: int) -> dict[str, list[tuple[float, float]]]:
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in reads}
    for _ in range(rounds):
        for name, read in reads.items():
            taken[name].append(_run(_IMPORTS + read + _TELL, path))
    return taken


def _run(code: str, path: Path) -> tuple[float, float]:
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=True, capture_output=True, text=True)
    seconds, kilobytes = done.stdout.split()[-2:]
    return float(seconds), float(kilobytes)


def _write(folder: Path, n: int) -> dict[str, Path]:
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(0)
    columns = {f"x{i}": np.round(rng.normal(size=n), 6) for i in range(NUMBERS)}
    columns |= {f"c{i}": rng.choice(list("abcdefgh"), n) for i in range(TEXTS)}
    table = pd.DataFrame(columns | {"y": rng.integers(2, size=n)})
    paths = {kind: folder / f"table.{kind}" for kind in _READS}
    table.to_csv(paths["csv"], index=False)
    table.to_parquet(paths["parquet"], index=False)
    return paths
