"""Points on a line with one change of label, and label noise: the data of the theorems."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

import numpy as np

from pate_cli.checks import Real, Whole, option
from pate_cli.datasets.synthetic import made
from pate_cli.errors import ConfigError
from pate_cli.types import Dataset, FloatArray, IntArray

__all__ = ["Options", "load"]


@dataclass(frozen=True)
class Options:
    """Options of `dataset=thresholds`.

    The label changes at `threshold`, and is wrong with probability `noise`; `seed` is that of the data, not
    of the run. Ten million records take about half a second and 160 MB.
    """

    n_records: int = option(75_000, Whole(10, 10**9))
    noise: float = option(0.1, Real(0, 0.5, closed_below=True, open_above=True))
    threshold: float = option(0.5, Real(0, 1, closed_below=True))
    seed: int = option(0, Whole(0))


def load(name: str, options: Options) -> Dataset:
    """Draw x uniformly on [0, 1] and label it ``1(x >= threshold)``, flipped with probability `noise`.

    The best hypothesis of the class, and of all, is the threshold itself; its error is `noise`.
    """
    X, y = _draw(**asdict(options))
    if not 0 < np.count_nonzero(y) < len(y):
        raise ConfigError("dataset.threshold", options.threshold, "a number at which both classes occur")
    # The version stands for the code below: raise it when that draws other numbers.
    written = json.dumps({"thresholds": 1, **asdict(options)}, sort_keys=True)
    return made(name, X, y, ("0", "1"), "uniform on [0, 1], one threshold", options, written)


def _draw(n_records: int, noise: float, threshold: float, seed: int) -> tuple[FloatArray, IntArray]:
    rng = np.random.default_rng(seed)
    X = rng.random((n_records, 1))
    y = (X[:, 0] >= threshold).astype(np.int64)
    if noise:
        y ^= rng.random(n_records) < noise
    return X, y
