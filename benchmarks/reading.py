"""Reading a table of one's own next to `pandas.read_csv`: time, and memory beside what the imports take."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.memory import Peak
from benchmarks.timing import Result, Target

__all__ = ["measure"]

ROWS, NUMBERS, TEXTS = 200_000, 40, 9
TIMES, MEMORY = 3, 4
"""How much more time and memory than pandas is wanted at most."""

_IMPORTS = """
import resource, sys, time
import pandas, sklearn.preprocessing
import pate_cli.datasets.encoding, pate_cli.datasets.tabular
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.process_time()
"""
_TELL = """
print(time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
_READS = {
    "ours": "data = pate_cli.datasets.load('csv', path=sys.argv[1], target='y')",
    "bare": "data = pandas.read_csv(sys.argv[1])",
}


def measure(rounds: int, *, quick: bool) -> tuple[Result, list[Peak]]:
    """Read a file of 200,000 records with 50 columns, in a process of its own each time.

    Seconds are of the processor: what pandas waits for is not ours to mend.
    """
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in _READS}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        n = ROWS // (10 if quick else 1)
        _write(path, n)
        for _ in range(rounds):
            for name, read in _READS.items():
                taken[name].append(_run(_IMPORTS + read + _TELL, path))
    times = {name: [seconds for seconds, _ in values] for name, values in taken.items()}
    peaks = {name: min(kilobytes for _, kilobytes in values) / 1e3 for name, values in taken.items()}
    shape = f"{n:,} x {NUMBERS + TEXTS + 1}"
    result = Result(
        f"read csv, {shape}", "pandas", times["ours"], times["bare"], Target(TIMES, is_ratio=True)
    )
    return result, [
        Peak(f"read csv, {shape}", min(times["ours"]), peaks["ours"], MEMORY * peaks["bare"]),
        Peak(f"pandas.read_csv, {shape}", min(times["bare"]), peaks["bare"], MEMORY * peaks["bare"]),
    ]


def _run(code: str, path: Path) -> tuple[float, float]:
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=True, capture_output=True, text=True)
    seconds, kilobytes = done.stdout.split()[-2:]
    return float(seconds), float(kilobytes)


def _write(path: Path, n: int) -> None:
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(0)
    columns = {f"x{i}": np.round(rng.normal(size=n), 6) for i in range(NUMBERS)}
    columns |= {f"c{i}": rng.choice(list("abcdefgh"), n) for i in range(TEXTS)}
    pd.DataFrame(columns | {"y": rng.integers(2, size=n)}).to_csv(path, index=False)
