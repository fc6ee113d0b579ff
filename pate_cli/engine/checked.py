"""Configurations checked against their data, before any training."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pate_cli import datasets, report
from pate_cli.config import DatasetConfig, parse
from pate_cli.datasets import files
from pate_cli.engine.store import repeat_key
from pate_cli.engine.task import Row
from pate_cli.errors import InputError
from pate_cli.pipeline import prepare
from pate_cli.types import Dataset

__all__ = ["Job", "checked", "forget", "missing_data"]


@dataclass(frozen=True, eq=False)
class Job:
    """One composed configuration: checked, or refused."""

    raw: dict[str, Any]
    run: Row | None  # without a name: that is given by the command that schedules it
    refusal: InputError | None = None  # why there is no `run`

    @classmethod
    def of(cls, raw: dict[str, Any]) -> Job:
        """Check a composed configuration."""
        try:
            return cls(raw, checked(raw))
        except InputError as error:
            return cls(raw, None, error)

    @property
    def code(self) -> str:
        """Hash of the configuration."""
        return report.config_hash(self.raw)


def checked(raw: dict[str, Any]) -> Row:
    """Check (InputError) a composed configuration, its data and its mechanism; a dataset is loaded once."""
    config = parse(raw)
    options = json.dumps(config.dataset.options, sort_keys=True, default=str)
    dataset = _load(config.dataset.name, options, _state(config.dataset))
    key = repeat_key(raw, dataset)
    return Row("", prepare(config, dataset), key)


def missing_data(name: str) -> str:
    """Name the files of a dataset that are not on this machine and how to get them; empty if all are here."""
    if name not in files.ENTRIES:
        return ""
    absent = [file for file in files.ENTRIES[name].files if files.find(file) is None]
    if not absent:
        return ""
    get = " and ".join(f"{file.name} ({file.url})" for file in absent)
    return f"{get} is not on this machine: pate data fetch {name}, or put it where PATE_DATA points"


def forget() -> None:
    """Forget datasets loaded before: files may have changed since."""
    _load.cache_clear()


def _state(config: DatasetConfig) -> tuple[int, ...]:
    """Identity, size and time of the dataset's files, by which a change of them is noticed."""
    found: list[int] = []
    for path in map(config.options.get, datasets.FILES):
        if isinstance(path, str):
            with contextlib.suppress(OSError):  # the loader reports it
                status = Path(path).expanduser().stat()
                found += [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns]
    return tuple(found)


@cache
def _load(name: str, options: str, state: tuple[int, ...]) -> Dataset:
    return datasets.load(name, **json.loads(options))
