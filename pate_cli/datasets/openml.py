"""A table of OpenML by its number: fetched once by scikit-learn, then read from a checked file of ours."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Collection
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from pate_cli.checks import Listed, Or, Whole, option
from pate_cli.datasets.files import download_directory, sha256
from pate_cli.datasets.options import AUTO, Cell, ColumnName, FilePath, TableOptions
from pate_cli.datasets.reading import CsvFormat, Table, read_csv
from pate_cli.datasets.tables import make_dataset
from pate_cli.errors import ConfigError, DataError
from pate_cli.types import Dataset
from pate_cli.writing import write_file

__all__ = ["Options", "load"]

_COLUMNS = Or("null", Listed(ColumnName()))


@dataclass(frozen=True)
class Options:
    """Options of `dataset=openml`; beside `data_id` those of a table, see `TableOptions`.

    Attributes
    ----------
    data_id : int or None
        Number of the table on openml.org.
    target : str or None
        None for the column that OpenML names.
    """

    data_id: int | None = option(None, Or("null", Whole(1)))
    target: str | None = option(None, Or("null", ColumnName("the name of the column that holds the class")))
    classes: list[str] | None = option(None, Or("null", Listed(ColumnName("a label"), 2)))
    unit: str | None = option(AUTO, Or("null", ColumnName("auto, or the name of a column")))
    schema: str | None = option(None, Or("null", FilePath()))
    columns: list[str] | None = option(None, _COLUMNS)
    drop: list[str] | None = option(None, _COLUMNS)
    numeric: list[str] | None = option(None, _COLUMNS)
    categories: list[str] | None = option(None, _COLUMNS)
    missing: list[str] | None = option(None, Or("null", Listed(Cell(), 1)))


@dataclass(frozen=True)
class _Kept:
    """What stands beside the table in the cache: `path.json`, written after it."""

    path: Path
    sha256: str
    target: str | None
    categories: list[str]
    title: str

    @property
    def record(self) -> Path:
        return self.path.with_suffix(".json")

    @classmethod
    def read(cls, path: Path) -> _Kept | None:
        """Read what is kept and check the table; None if there is nothing."""
        record = path.with_suffix(".json")
        if not record.is_file():
            return None
        try:
            content = json.loads(record.read_text(encoding="utf-8"))
            found = cls(path, **{key: content[key] for key in ("sha256", "target", "categories", "title")})
        except (OSError, ValueError, KeyError, TypeError):
            raise DataError(f"{record}: not what was written there; delete it to fetch it again") from None
        if sha256(path) != found.sha256:
            raise DataError(f"{path}: not the table that was fetched; delete {record} to fetch it again")
        return found


def load(name: str, options: Options) -> Dataset:
    """Load a table of OpenML, fetching it if it is not in the cache (`PATE_DATA`); see `make_dataset`.

    Raises
    ------
    ConfigError
        If an option is not accepted.
    DataError
        If it is not in the cache and cannot be fetched, or the cache was changed.
    """
    if options.data_id is None:
        raise ConfigError("dataset.data_id", None, "the number of a table on openml.org")
    path = download_directory() / "openml" / f"{options.data_id}.csv"
    kept = _Kept.read(path) or _fetch(options.data_id, path)
    target = options.target or kept.target
    if target is None and options.schema is None:
        raise ConfigError("dataset.target", None, f"the class: OpenML names none for {options.data_id}")
    named = {*(options.numeric or []), *(options.categories or []), *(options.drop or []), target}
    more = [column for column in kept.categories if column not in named] if options.schema is None else []
    if options.columns is not None:
        more = [column for column in more if column in options.columns]
    given = {field.name: getattr(options, field.name) for field in fields(options)}
    del given["data_id"]
    given |= {"target": target, "categories": [*(options.categories or []), *more] or None}
    form = CsvFormat(sep=",")

    def read(file: Path, text: Collection[str], wanted: str | None) -> Table:
        digest = hashlib.sha256()
        frame = read_csv(file, form, text, digest, wanted)
        return Table(frame, file, digest.hexdigest())

    return make_dataset(name, TableOptions(path=str(path), **given), read, kept.title)


def _fetch(data_id: int, path: Path) -> _Kept:
    """Fetch a table and keep it: the file first, then what vouches for it."""
    from sklearn.datasets import fetch_openml

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of versions, and of what parses it
            # what is kept is ours: a cache of scikit-learn's has no checksum of what is in it
            bunch: Any = fetch_openml(data_id=data_id, as_frame=True, parser="pandas", cache=False)
    except Exception as error:  # of the network, of OpenML, of parsing: many kinds
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DataError(
            f"dataset.data_id={data_id}: not in {path.parent}, and cannot be fetched from OpenML ({reason})"
        ) from None
    frame, target = bunch.frame, bunch.target_names[0] if len(bunch.target_names) == 1 else None
    categories = [str(name) for name in frame.columns if frame[name].dtype.kind not in "iuf"]
    content = frame.to_csv(index=False, lineterminator="\n").encode()
    title = f"{bunch.details.get('name', data_id)}, version {bunch.details.get('version', '?')}"
    kept = _Kept(path, hashlib.sha256(content).hexdigest(), target, categories, f"{title} of OpenML")
    record = {key: getattr(kept, key) for key in ("sha256", "target", "categories", "title")}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, content)
        write_file(kept.record, json.dumps({"data_id": data_id, **record}, indent=2) + "\n")
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror or error}") from None
    return kept
