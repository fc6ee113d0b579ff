"""Reading one's own files beside what reads them by hand, in processor time."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.measure import Row, alternate, ratio, watch

__all__ = ["measure", "write_sparse"]

_IMPORTS = """
import pathlib, sys, time
import pandas, sklearn.preprocessing, pyarrow.parquet, sklearn.datasets
from pate_cli import datasets
from pate_cli.datasets import libsvm
start = time.process_time()
"""
_READS = {
    "csv": ("datasets.load('csv', path=sys.argv[1], target='y')", "pandas.read_csv"),
    "parquet": ("datasets.load('parquet', path=sys.argv[1], target='y')", "pandas.read_parquet"),
    "libsvm": ("libsvm.load_file(pathlib.Path(sys.argv[1]))", "sklearn.datasets.load_svmlight_file"),
}


def measure(rounds: int, *, quick: bool) -> Iterator[Row]:
    """Read a table of 200,000 records with 50 columns, and sparse records; each time in a new process."""
    import pandas as pd

    n = 20_000 if quick else 200_000
    rng = np.random.default_rng(0)
    columns = {f"x{i}": np.round(rng.normal(size=n), 6) for i in range(40)}
    columns |= {f"c{i}": rng.choice(list("abcdefgh"), n) for i in range(9)}
    table = pd.DataFrame(columns | {"y": rng.integers(2, size=n)})
    with tempfile.TemporaryDirectory() as folder:
        table.to_csv(Path(folder, "csv"), index=False)
        table.to_parquet(Path(folder, "parquet"), index=False)
        write_sparse(Path(folder, "libsvm"), n // 4, 20_000, 50)
        for kind, (ours, bare) in _READS.items():
            works = {
                "ours": _reader(ours, folder, kind),
                "bare": _reader(f"{bare}(sys.argv[1])", folder, kind),
            }
            size = Path(folder, kind).stat().st_size / 1e6
            yield ratio("reading", f"{kind}, {size:.0f} MB", alternate(works, rounds), bare)


def _reader(read: str, folder: str, kind: str) -> Callable[[], float]:
    code = f"{_IMPORTS}{read}\nprint(time.process_time() - start)"
    return lambda: float(watch([sys.executable, "-c", code, kind], folder).printed.split()[-1])


def write_sparse(path: Path, n_records: int, n_features: int, entries: int) -> None:
    """Write generated records in LIBSVM's format: about `entries` non-zeros each, labels of a half-space."""
    import scipy.sparse as sp
    from sklearn.datasets import dump_svmlight_file

    rng = np.random.default_rng(0)
    X = sp.random(n_records, n_features, entries / n_features, "csr", random_state=rng)
    y = np.where(X @ rng.standard_normal(n_features) > 0, 1, -1)
    dump_svmlight_file(X, y, str(path), zero_based=False)
