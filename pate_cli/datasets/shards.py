"""A directory of Parquet or LIBSVM files, which together are larger than memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pate_cli.checks import Or, Whole, option
from pate_cli.datasets import libsvm
from pate_cli.datasets.files import joint_digest
from pate_cli.datasets.labels import encode_parts
from pate_cli.datasets.options import ColumnName, FileOptions
from pate_cli.datasets.parquet import read_parquet
from pate_cli.datasets.sharded import Shard, ShardedFeatures
from pate_cli.errors import ConfigError, DataError
from pate_cli.types import Dataset, Part

__all__ = ["Options", "load"]

_PARQUET = ".parquet"


@dataclass(frozen=True)
class Options(FileOptions):
    """Options of `dataset=shards`; `path` is a directory, `public` and `test` are single files of its kind.

    Attributes
    ----------
    target : str or None
        Column that holds the class, in Parquet files; all others hold numbers.
    n_features : int or None
        Number of columns of LIBSVM files; None for that of the public file.
    """

    target: str | None = option(None, Or("null", ColumnName("the name of the column that holds the class")))
    n_features: int | None = option(None, Or("null", Whole(1, 2**31 - 1)))


def load(name: str, options: Options) -> Dataset:
    """Read labels and sizes of all files; features stay where they are.

    Teachers are dealt file by file: see `teachers.parts.partition_blocks` for what that means for privacy.

    Raises
    ------
    ConfigError
        If an option does not fit the files.
    DataError
        If a file cannot be used; names it.
    """
    where = options.private_path("a directory of Parquet or LIBSVM files")
    paths = _files(where)
    parquet = paths[0].suffix == _PARQUET
    single = [None if path is None else Path(path).expanduser() for path in (options.public, options.test)]
    columns: list[str] | None = None
    if parquet:
        if options.target is None:
            raise ConfigError("dataset.target", None, "the name of the column that holds the class")
        columns = _columns(paths[0], options.target)
        read = partial(_read_parquet, columns=columns, target=options.target)
        n_features = len(columns)
    else:
        n_features = options.n_features or (_width(single[0]) if single[0] else 0)
        if not n_features:
            accepted = "the number of columns, for no single record may decide it; or dataset.public, a file"
            raise ConfigError("dataset.n_features", None, accepted)
        read = partial(libsvm.parse, n_features=n_features)
    shards, labels = [], []
    for path in paths:
        _, y, checksum = read(path)
        shards.append(Shard(path.absolute(), checksum, len(y)))
        labels.append(y)
    public, test = (None if path is None else read(path) for path in single)
    parts: list[Any] = [
        np.concatenate(labels),
        None if public is None else public[1],
        None if test is None else test[1],
    ]
    if parts[1] is not None and not np.isin(parts[1], parts[0]).any():
        parts[1] = None  # placeholders
    files = (where, *single)
    y, classes, from_private = encode_parts(
        parts,
        [None if path is None else str(path) for path in files],
        options.classes,
        lambda part, row: f"{files[part]}, record {row + 1}",
    )

    def part(file: Any, codes: Any) -> Part | None:
        return None if file is None else Part(file[0], codes, file[2])

    return Dataset(
        name=name,
        X=ShardedFeatures(tuple(shards), n_features, not parquet, partial(_features, read)),
        y=y[0],
        classes=classes,
        checksum=joint_digest([shard.checksum for shard in shards]),
        source=str(where),
        public=part(public, y[1]),
        test=part(test, y[2]),
        classes_from_private=from_private,
    )


def _files(where: Path) -> list[Path]:
    """Files of a directory in the order of their names, all of one kind."""
    if not where.is_dir():
        raise DataError(f"{where}: no such directory; one file: dataset=parquet or dataset=libsvm")
    paths = sorted(path for path in where.iterdir() if path.is_file() and path.name[0] not in "._")
    if not paths:
        raise DataError(f"{where}: no files in it")
    other = [path for path in paths if (path.suffix == _PARQUET) != (paths[0].suffix == _PARQUET)]
    if other:
        raise DataError(f"{where}: {paths[0].name} and {other[0].name} are of two kinds; one is accepted")
    return paths


def _columns(path: Path, target: str) -> list[str]:
    frame = read_parquet(path, {target}).frame
    if target not in frame.columns or len(frame.columns) < 2:
        raise ConfigError("dataset.target", target, f"a column of {path}: {', '.join(map(str, frame))}")
    return [str(name) for name in frame.columns if name != target]


def _width(path: Path) -> int:
    return int(libsvm.parse(path)[0].shape[1])


def _read_parquet(path: Path, *, columns: list[str], target: str) -> tuple[Any, Any, str]:
    table = read_parquet(path, {target})
    frame = table.frame
    if sorted(map(str, frame.columns)) != sorted([*columns, target]):
        found = sorted({*columns, target} ^ set(map(str, frame.columns)))
        raise DataError(f"{path}: other columns than in the first file: {', '.join(found)}")
    for name in columns:
        if frame[name].dtype.kind != "f":
            raise DataError(f"{path}: column {name!r} is not of numbers alone; shards take numbers")
    X = frame[columns].to_numpy()
    bad = ~np.isfinite(X).all(axis=1)
    if bad.any():
        raise DataError(f"{table.place(int(bad.argmax()))}: a number is missing or not finite")
    labels = np.asarray(frame[target].astype(object), dtype=str)
    if (labels == "").any():
        raise DataError(f"{table.place(int((labels == '').argmax()))}: target {target!r} is empty")
    return X, labels, table.checksum


def _features(read: Any, path: Path) -> tuple[Any, str]:
    X, _, checksum = read(path)
    return X, checksum
