"""A name becomes a `Dataset`; a `Dataset` becomes a `Split`.

Importing this package is cheap: scikit-learn, pandas and pooch are imported
when a dataset is loaded or fetched.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pate_cli.datasets.splitting import SplitSizes, sizes, split
from pate_cli.errors import ConfigError

if TYPE_CHECKING:
    from pate_cli.types import Dataset

__all__ = ["NAMES", "OPTIONS", "SplitSizes", "becomes_sparse", "load", "sizes", "split"]

OPTIONS: dict[str, dict[str, Any]] = {
    "synthetic": {"n_records": 75_000, "n_features": 5, "gap": 0.3, "flip": 0.05, "seed": 0},
    "mushroom": {},
    "a9a": {},
    "real-sim": {},
    "adult": {},
    "libsvm": {"path": None, "n_features": None},
    "csv": {"path": None, "target": None, "sep": ","},
    "digits": {},
    "thresholds": {"n_records": 75_000, "noise": 0.1, "threshold": 0.5, "seed": 0},
}
"""The options each dataset takes (`dataset.OPTION`), with their defaults."""

NAMES: tuple[str, ...] = tuple(OPTIONS)
"""Every name `load` knows."""

_LOADERS = {
    "synthetic": ("synthetic", "load_synthetic"),
    "mushroom": ("libsvm", "load_known"),
    "a9a": ("libsvm", "load_known"),
    "real-sim": ("libsvm", "load_known"),
    "adult": ("adult", "load_adult"),
    "libsvm": ("libsvm", "load_file"),
    "csv": ("tabular", "load_csv"),
    "digits": ("digits", "load_digits"),
    "thresholds": ("thresholds", "load_thresholds"),
}


def load(name: str, **options: Any) -> Dataset:
    """Load a dataset by name, downloading its files if they are nowhere on this machine.

    Parameters
    ----------
    name : str
        One of `NAMES`.
    **options
        What the dataset takes, see `OPTIONS`; what is left out, or None, keeps its default.

    Returns
    -------
    Dataset

    Raises
    ------
    ConfigError
        If the name or an option is unknown, or an option's value is not accepted.
    DataError
        If a file is missing and cannot be downloaded, has a wrong checksum, or is malformed.
    """
    if name not in _LOADERS:
        raise ConfigError("dataset", name, f"one of {', '.join(NAMES)}")
    given = {key: value for key, value in options.items() if value is not None}
    for key in given:
        if key not in OPTIONS[name]:
            known = ", ".join(f"dataset.{option}" for option in OPTIONS[name]) or "no options"
            raise ConfigError(f"dataset.{key}", given[key], f"{known} (dataset={name})")
    module, function = _LOADERS[name]
    loader = getattr(import_module(f"{__name__}.{module}"), function)
    dataset: Dataset = loader(name, **(OPTIONS[name] | given))
    return dataset


def becomes_sparse(dataset: Dataset) -> bool:
    """Whether the models will see sparse features; one-hot categories make a table sparse."""
    import numpy as np

    if isinstance(dataset.X, np.ndarray):
        return False
    dtypes = getattr(dataset.X, "dtypes", None)
    return dtypes is None or any(dtype.kind not in "biuf" for dtype in dtypes)
