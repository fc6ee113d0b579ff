"""A directory of Parquet or LIBSVM files, which together are larger than memory: one is read at a time.

Only the files' labels and sizes are kept. `ShardedFeatures` can be sent to workers, of Dask too: each reads
the files that its own teachers need.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pate_cli.checks import Or, Whole, listed, option
from pate_cli.datasets import kind_of
from pate_cli.datasets import parquet as parquet_files
from pate_cli.datasets.labels import Labels
from pate_cli.datasets.libsvm import load_file
from pate_cli.datasets.reading import RecordTable, joint_digest
from pate_cli.datasets.three_files import Cell, FileOptions, LoadedFile, dataset_of
from pate_cli.errors import ConfigError, DataError, InputError
from pate_cli.matrices import without_tiny
from pate_cli.types import Dataset, IntArray

__all__ = ["Options", "Shard", "ShardedFeatures", "load"]


@dataclass(frozen=True)
class Options(FileOptions):
    """Options of `dataset=shards`; `path` is a directory, `public` and `test` are single files of its kind.

    Parquet files have a column `target`, and numbers in all others; LIBSVM files `n_features` columns, or as
    many as the public file.
    """

    target: str | None = option(None, Or("null", Cell("the name of the column that holds the class")))
    n_features: int | None = option(None, Or("null", Whole(1, 2**31 - 1)))
    first_index: int = option(1, Whole(0, 1))


def load(name: str, options: Options) -> Dataset:
    """Read labels and sizes of all files; features stay where they are.

    Teachers are dealt file by file: see `teachers.parts.partition_blocks` for what that means for privacy.
    """
    where, public_path, test_path = options.paths("a directory of Parquet or LIBSVM files")
    paths, warnings = _files(where)
    parquet = kind_of(paths[0]) == "parquet"
    if not parquet and (kind := kind_of(paths[0])) != "libsvm":
        raise DataError(f"{paths[0]}: a file of dataset={kind}; shards are Parquet or LIBSVM files")
    opened = _parquet(paths, options.target) if parquet else _libsvm(paths, public_path, options)
    files, n_features, read, first_index, unused = opened
    if unused:
        warnings = (
            *warnings,
            f"{where}: not used {listed([name or repr(name) for name in unused])}: row names",
        )
    shards = tuple(Shard(file.path.absolute(), file.checksum, len(file.labels.codes)) for file in files)
    public, test = (None if path is None else read(path) for path in (public_path, test_path))
    ends = np.cumsum([shard.n_records for shard in shards])

    def place(row: int) -> str:
        at = int(np.searchsorted(ends, row, side="right"))
        return f"{files[at].path}, record {row + 1 - ends[at] + shards[at].n_records}"

    private = LoadedFile(
        where,
        ShardedFeatures(shards, n_features, not parquet, read),
        Labels.joined(file.labels for file in files),
        joint_digest([shard.checksum for shard in shards]),
        place,
        (options.target or "") if parquet else "",
    )
    return dataset_of(
        name, options.classes, private, public, test, first_index=first_index, warnings=warnings
    )


def _files(where: Path) -> tuple[list[Path], tuple[str, ...]]:
    """Files of a directory and those below it in the order of their paths, all of one kind; and warnings."""
    if not where.is_dir():
        raise DataError(f"{where}: no such directory; one file: dataset=parquet or dataset=libsvm")
    paths: list[Path] = []
    hidden: list[str] = []
    _collect(where, paths, hidden)
    if not paths:
        raise DataError(f"{where}: no files in it")
    parquet = {path: kind_of(path) == "parquet" for path in paths}
    if other := [path for path in paths if parquet[path] != parquet[paths[0]]]:
        raise DataError(f"{where}: {paths[0].name} and {other[0].name} are of two kinds; one is accepted")
    seen: dict[tuple[int, int], Path] = {}
    for path in paths:
        status = path.stat()
        if (first := seen.setdefault((status.st_dev, status.st_ino), path)) != path:
            raise DataError(f"{path}: the same file as {first}; accepted: each file once")
    warnings = [f"{where}: not read, as hidden: {listed(hidden)}"] if hidden else []
    if keys := {
        part.partition("=")[0] for p in paths for part in p.relative_to(where).parts[:-1] if "=" in part
    }:
        warnings.append(f"{where}: values in names of directories are not used: {listed(sorted(keys))}")
    return paths, tuple(warnings)


def _collect(directory: Path, paths: list[Path], hidden: list[str]) -> None:
    """Add the files below a directory; nothing else is in it, but for hidden names (. and _)."""
    try:
        inside = sorted(directory.iterdir())
    except OSError as error:
        raise DataError(f"{directory}: cannot be read ({error.strerror})") from None
    for path in inside:
        if path.name[0] in "._":
            hidden.append(path.name)
        elif path.is_dir() and not path.is_symlink():
            _collect(path, paths, hidden)
        elif path.is_file():
            paths.append(path)
        else:
            raise DataError(f"{path}: neither a file nor a directory, and links are followed to files alone")


Opened = tuple[list[LoadedFile], int, Callable[[Path], LoadedFile], int | None, list[str]]
"""Files without their features, number of columns, a function that reads a file (for workers too), the index
of the first column, where columns have no names, and the columns of row names, which are not used."""


def _without_records(file: LoadedFile) -> LoadedFile:
    """A file's labels and checksum alone; its `place` would keep the table that it was read from."""
    return replace(file, X=None, place=str)


def _libsvm(paths: list[Path], public: Path | None, options: Options) -> Opened:
    """Read all files once."""
    first = options.first_index
    if options.n_features is None and public is None:
        accepted = "the number of columns, for no single record may decide it; or dataset.public, a file"
        raise ConfigError("dataset.n_features", None, accepted)
    n_features = options.n_features or int(load_file(public or paths[0], first_index=first).X.shape[1])
    read = partial(load_file, n_features=n_features, first_index=first)
    return [_without_records(read(path)) for path in paths], n_features, read, first, []


def _parquet(paths: list[Path], target: str | None) -> Opened:
    """Read all files once; columns are those of the first."""
    if target is None:
        raise ConfigError("dataset.target", None, "the name of the column that holds the class")
    first = parquet_files.read(paths[0], {target})
    unused = [name for name in first.columns if name != target and first.has_row_names(name)]
    columns = [name for name in first.columns if name not in (target, *unused)]
    if target not in first.columns or not columns:
        raise ConfigError("dataset.target", target, f"a column of {paths[0]}: {', '.join(first.columns)}")
    files = [_without_records(_numbers(first, columns, target))]
    read = partial(_read_parquet, columns=columns, target=target)
    files += [_without_records(read(path)) for path in paths[1:]]
    return files, len(columns), read, None, unused


def _read_parquet(path: Path, *, columns: list[str], target: str) -> LoadedFile:
    return _numbers(parquet_files.read(path, {target}), columns, target)


def _numbers(table: RecordTable, columns: list[str], target: str) -> LoadedFile:
    """Features and labels of a table whose columns are all numbers, but for the target."""
    frame = table.frame
    expected = {*columns, target}
    read = {name for name in table.columns if name in expected or not table.has_row_names(name)}
    if other := sorted(expected ^ read):
        raise DataError(f"{table.path}: other columns than in the first file: {', '.join(other)}")
    for name in columns:
        if frame[name].dtype.kind != "f":
            raise DataError(f"{table.path}: column {name!r} is not of numbers alone; shards take numbers")
    X = frame[columns].to_numpy()
    bad = ~np.isfinite(X).all(axis=1)
    if bad.any():
        raise DataError(f"{table.place(int(bad.argmax()))}: a number is missing or not finite")
    labels = table.labels(target, (), "dataset.target", distinct=False)
    return LoadedFile(table.path, X, labels, table.checksum, table.place)


@dataclass(frozen=True)
class Shard:
    """One file of records: its absolute path, its checksum when first read, and its number of records."""

    path: Path
    checksum: str
    n_records: int


class ShardedFeatures:
    """Rows of features in several files, in their order; `X[rows]` reads the files it needs, one at a time.

    A file that has changed since the first reading ends the run. `X[rows]` is a csr_matrix where it is
    `sparse`. `read` can be sent to workers. `index`, ascending, selects rows of the shards; None for all.
    """

    def __init__(
        self,
        shards: tuple[Shard, ...],
        n_features: int,
        sparse: bool,
        read: Callable[[Path], LoadedFile],
        index: IntArray | None = None,
    ) -> None:
        self.shards = shards
        self.sparse = sparse
        self._read = read
        self._index = index
        self._ends = np.cumsum([shard.n_records for shard in shards])
        self.shape = (int(self._ends[-1]) if index is None else len(index), n_features)
        self._last: tuple[int, Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_last": None}

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise InputError(
            "dataset=shards: this would need all records at once; mechanisms of teachers' votes do not"
        )

    def take(self, index: IntArray) -> ShardedFeatures:
        """Select some of the rows, ascending, without reading them."""
        if self._index is not None or (np.diff(index) <= 0).any():
            raise ValueError("rows of all shards, ascending, are taken once")
        return ShardedFeatures(self.shards, self.shape[1], self.sparse, self._read, index)

    @property
    def blocks(self) -> IntArray:
        """Number of these rows in each shard."""
        if self._index is None:
            return np.diff(self._ends, prepend=0)
        return np.diff(np.searchsorted(self._index, self._ends), prepend=0)

    def __getitem__(self, rows: Any) -> Any:
        import scipy.sparse as sp

        index = np.arange(self._ends[-1]) if self._index is None else self._index
        at = index[rows]
        if not len(at):
            return sp.csr_matrix((0, self.shape[1])) if self.sparse else np.zeros((0, self.shape[1]))
        of = np.searchsorted(self._ends, at, side="right")
        order = np.argsort(of, kind="stable")
        blocks = []
        for shard in np.unique(of).tolist():
            start = self._ends[shard - 1] if shard else 0
            blocks.append(self._loaded(shard)[at[order[of[order] == shard]] - start])
        joined = sp.vstack(blocks, format="csr") if self.sparse else np.concatenate(blocks)
        return joined[np.argsort(order)]

    def _loaded(self, number: int) -> Any:
        if self._last is None or self._last[0] != number:
            self._last = None  # not two of them in memory
            shard = self.shards[number]
            file = self._read(shard.path)
            if file.checksum != shard.checksum:
                raise DataError(f"{shard.path}: has changed while it was used; start again")
            self._last = (number, without_tiny(file.X))
        return self._last[1]
