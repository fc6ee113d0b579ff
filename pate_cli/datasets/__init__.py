"""Datasets by name: the registry, and `load`.

A dataset is one module: ``Options``, a frozen dataclass whose fields are declared with their checks
(`pate_cli.checks.option`), and ``load(name, options) -> Dataset``. Importing this package is cheap:
scikit-learn, pandas and pooch are imported when a dataset is loaded or fetched.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
from dataclasses import is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pate_cli.checks import read_options
from pate_cli.datasets.labels import MANY
from pate_cli.datasets.names import alike
from pate_cli.datasets.split_sizes import SplitSizes, sizes, sizes_of
from pate_cli.datasets.splitting import cached_split, split
from pate_cli.describe_command import PACKED
from pate_cli.errors import ConfigError, count_of, typed_own
from pate_cli.plugins import calling, find_module, refuse_namesakes

if TYPE_CHECKING:
    from pate_cli.types import Dataset

__all__ = ["FILES", "GROUP", "NAMES", "SplitSizes", "becomes_sparse", "cached_split", "find"]
__all__ += ["kind_of", "load", "names", "sizes", "sizes_of", "split", "warnings_of"]

GROUP = "pate.datasets"
"""Group of entry points for datasets of other packages."""

FILES = ("path", "private", "public", "test", "schema")
"""Options that name a file of the user's."""

_FEW_TESTS = 100
"""Test records below which a run is warned: the standard error of an accuracy may be above 0.05."""

_FEW = 10
"""Records of a class below which a run is warned, where no teachers are counted."""

_MODULES = {
    "synthetic": "synthetic",
    "mushroom": "known_files",
    "a9a": "known_files",
    "real-sim": "known_files",
    "adult": "adult",
    "libsvm": "libsvm",
    "csv": "csv_files",
    "jsonl": "json_lines",
    "parquet": "parquet",
    "npz": "arrays",
    "shards": "shards",
    "digits": "digits",
    "thresholds": "thresholds",
}

_ENDINGS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npz": "npz",
}

NAMES: tuple[str, ...] = tuple(_MODULES)
"""Every name of this room."""


def names() -> list[str]:
    """List the datasets of this room and of installed packages."""
    return [*NAMES, *(point.name for point in importlib.metadata.entry_points(group=GROUP))]


@cache
def find(name: str) -> Any:
    """Find the module of a dataset: one of this room, of an installed package, or an import path."""
    if name in _MODULES:
        module = importlib.import_module(f"{__name__}.{_MODULES[name]}")
        refuse_namesakes("dataset.name", name, GROUP, module)
        return module
    module = find_module("dataset.name", name, GROUP)
    if module is None:
        raise ConfigError("dataset.name", name, names(), typed_own("dataset", name))
    if not (hasattr(module, "Options") and hasattr(module, "load")):
        raise ConfigError("dataset.name", name, "a module with Options and load; see docs/extending.md")
    if not is_dataclass(module.Options):
        raise ConfigError("dataset.name", name, "a module whose Options is a frozen dataclass")
    return module


def kind_of(path: Path) -> str:
    """Name of the dataset that reads a file, by its ending; libsvm where none has it.

    A dataset of another package names its endings in ``ENDINGS``; with ``read(path, text) -> Table`` its
    files can be described and predicted, too.
    """
    ending = (Path(path.stem) if path.suffix.lower() in PACKED else path).suffix.lower()
    if ending and (ending not in _ENDINGS or ending == ".json"):  # of which there are many kinds
        for point in importlib.metadata.entry_points(group=GROUP):
            if ending in getattr(find_module("dataset.name", point.name, GROUP), "ENDINGS", ()):
                return point.name
    return _ENDINGS.get(ending, "libsvm")


def load(name: str, **options: Any) -> Dataset:
    """Load a dataset, downloading its files if they are nowhere on this machine.

    Parameters
    ----------
    name : str
        One of `names()`, or the import path of a module that is one.
    **options
        See `Options` of its module.

    Raises
    ------
    InputError
        If the name is unknown, or an option is unknown or not accepted.
    DataError
        If a file is missing and cannot be downloaded, has a wrong checksum, or is malformed.
    """
    from pate_cli.datasets.contract import fault

    module = find(name)
    plain = {key: os.fspath(v) if isinstance(v, os.PathLike) else v for key, v in options.items()}
    checked = read_options(module.Options, plain, "dataset.")
    with calling(module):
        dataset: Dataset = module.load(name, checked)
    if name not in _MODULES and (wrong := fault(dataset)):
        accepted = f"a module whose load returns a whole Dataset, see pate_cli/types.py ({wrong})"
        raise ConfigError("dataset.name", name, accepted)
    private = {dataset.checksum, *(shard.checksum for shard in getattr(dataset.X, "shards", ()))}
    for key, part in (("public", dataset.public), ("test", dataset.test)):
        if part is not None and part.checksum in private:  # public points would be private records
            accepted = "a file of other records: this one is the private file"
            raise ConfigError(f"dataset.{key}", plain.get(key), accepted)
    if pair := alike([name for name in dataset.classes if isinstance(name, str)]):
        label_warning = (f"the labels {pair}; if they are one class, write them in one way",)
        public = () if dataset.classes_from_private else label_warning
        both = (dataset.warnings + label_warning, dataset.public_warnings + public)
        dataset = replace(dataset, warnings=both[0], public_warnings=both[1])
    return dataset


def warnings_of(dataset: Dataset, n_teachers: int, n_test: int) -> tuple[str, ...]:
    """Warn of few records in the test, and of many or rare classes. NOT differentially private.

    For an experiment; 0 for no teachers.
    """
    import numpy as np

    warnings = []
    if n_test < _FEW_TESTS:
        file = "dataset.test" if dataset.test else "split.private, split.public"
        warnings.append(
            f"{count_of(n_test, 'test record')} ({file}): the accuracy may be far from that on new records"
        )
    if dataset.n_classes > MANY:  # of those that are bought nothing is known
        warnings.append(
            f"{dataset.n_classes} classes: votes are spread over them, and few points get a clear majority;"
            " classes that are put together ask for less"
        )
    names = dataset.labels or dataset.classes
    counts = np.bincount(dataset.y, minlength=len(names))
    rare = int(counts.argmin())
    class_has = f"class {names[rare]!r} has {counts[rare]:,} of {count_of(dataset.n_records, 'record')}"
    if n_teachers and 2 * counts[rare] < n_teachers:
        few = f"so most of the {n_teachers:,} teachers never see it: its points will get other labels"
        warnings.append(f"{class_has}, {few} (teacher.count=, teacher.size= set how many there are)")
    elif counts[rare] < _FEW:
        few = "too few to be told from noise, so its points will get other labels"
        warnings.append(f"{class_has}: {few}")
    return tuple(warnings)


def becomes_sparse(dataset: Dataset) -> bool:
    """Whether the models will see sparse features; one-hot categories make a table sparse."""
    X: Any = dataset.X
    if hasattr(X, "shards"):
        return bool(X.sparse)
    if hasattr(X, "dtypes"):
        return any(dtype.kind not in "biuf" for dtype in X.dtypes)
    return hasattr(X, "tocsr")
