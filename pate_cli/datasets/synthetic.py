"""The embedded dataset: a half-space with label noise, made on the spot."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pate_cli.checks import Real, Whole, option
from pate_cli.errors import ConfigError
from pate_cli.types import Dataset

__all__ = ["Options", "load", "made"]

_ROWS = 2**16


_MOST = 10**9
"""Numbers drawn at most: 8 GB."""


@dataclass(frozen=True)
class Options:
    """Options of `dataset=synthetic`.

    `gap` is the least distance of a point from the plane, on either side; `flip` the probability that a label
    is wrong; `seed` that of the data, not of the run.
    """

    n_records: int = option(75_000, Whole(10))
    n_features: int = option(5, Whole(1))
    gap: float = option(0.3, Real(0, 10, closed_below=True))
    flip: float = option(0.05, Real(0, 0.5, closed_below=True, open_above=True))
    seed: int = option(0, Whole(0))


def load(name: str, options: Options) -> Dataset:
    """Draw points on both sides of a plane through the origin and flip some of their labels.

    Points are standard Gaussian given that they keep the distance `gap` from the
    plane, whose unit normal is drawn uniformly. A label is the side of the plane,
    flipped with probability `flip`; so no classifier does better than `1 - flip`.
    """
    if options.n_records * options.n_features > _MOST:
        accepted = f"at most {_MOST // options.n_features}, of {options.n_features} features"
        raise ConfigError("dataset.n_records", options.n_records, accepted)
    X, y = _draw(**asdict(options))
    if len(np.unique(y)) < 2:
        raise ConfigError("dataset.n_records", options.n_records, "enough records for both classes to occur")
    # The version stands for the code below: raise it when that draws other numbers.
    written = json.dumps({"version": 1, **asdict(options)})
    return made(name, X, y, ("-1", "1"), "half-space with label noise", options, written)


def made(
    name: str, X: Any, y: Any, classes: tuple[str, ...], what: str, options: Any, written: str
) -> Dataset:
    """A dataset that is drawn as its options say; `written` stands for all that its records depend on."""
    source = f"{what}: " + ", ".join(f"{key}={value}" for key, value in asdict(options).items())
    return Dataset(name, X, y, classes, hashlib.sha256(written.encode()).hexdigest(), source)


def _draw(n_records: int, n_features: int, gap: float, flip: float, seed: int) -> tuple[Any, Any]:
    from scipy.special import ndtr, ndtri

    rng = np.random.default_rng(seed)
    normal = rng.standard_normal(n_features)
    normal /= np.linalg.norm(normal)
    X = rng.standard_normal((n_records, n_features))
    side = rng.choice([-1.0, 1.0], size=n_records)
    # Replace the component along the normal by a Gaussian given that it exceeds
    # the gap; 1 - U is in (0, 1], which keeps the quantile finite.
    beyond = -ndtri((1.0 - rng.random(n_records)) * ndtr(-gap))
    shift = side * np.maximum(beyond, gap) - X @ normal
    for rows in range(0, n_records, _ROWS):  # no second array of all points
        X[rows : rows + _ROWS] += np.outer(shift[rows : rows + _ROWS], normal)
    flipped = rng.random(n_records) < flip
    return X, ((side > 0) ^ flipped).astype(np.int64)
