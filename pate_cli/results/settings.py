"""Settings of rows as text, and those in which rows differ."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pate_cli.errors import one_line
from pate_cli.results.provenance import config_hash

__all__ = ["APPROXIMATE", "NAMES", "PURE", "SYNONYMS", "dataset_name", "differing", "row_hash", "settings"]

PURE, APPROXIMATE = "(eps, 0)-DP", "(eps, delta)-DP"
"""Guarantees of a row."""

NAMES = ("dataset", "method", "name", "panel", "job")
"""Columns of a row that are no settings."""

_NO_NUMBERS = ("hydra", "compute", "cache", "release", "purpose", "ledger", "name", "tags", "tracking")
_IN_NAMES = ("dataset.name", "dataset.path", "mechanism.name", "mechanism.oracle", "eps", "delta", "repeats")
SYNONYMS = {"teacher.estimator": "teacher", "student.estimator": "student"}
SYNONYMS |= {"dataset.name": "dataset", "dataset.path": "dataset", "mechanism.name": "mechanism"}


def row_hash(config: Mapping[str, Any]) -> str:
    """Hash of a configuration without `repeats`: repeat i is the same in all rows with this hash."""
    return config_hash({key: value for key, value in config.items() if key != "repeats"})


def settings(config: Mapping[str, Any]) -> dict[str, str]:
    """Settings of a configuration as text, by dotted name, but for those that have a column in any case."""
    texts: dict[str, str] = {}

    def walk(name: str, value: Any) -> None:
        if isinstance(value, Mapping):
            for key, item in value.items():
                walk(f"{name}.{key}" if name else str(key), item)
        elif name not in _IN_NAMES:
            if isinstance(value, list) and all(isinstance(item, dict) and "label" in item for item in value):
                value = ", ".join(str(item["label"]) for item in value)  # candidates
            text = value if isinstance(value, str) else json.dumps(value, default=str)
            text = f"{value:g}" if isinstance(value, float) else text
            texts[one_line(SYNONYMS.get(name, name))] = one_line(text)

    walk("", {key: value for key, value in config.items() if key not in _NO_NUMBERS})
    return texts


def dataset_name(config: Mapping[str, Any], default: str) -> str:
    """Name of a dataset: of its file, where it has one of the user's."""
    group = config.get("dataset")
    paths = [group.get(key) for key in ("path", "private")] if isinstance(group, dict) else []
    return one_line(
        next((Path(path).name for path in paths if isinstance(path, str) and path != "???"), default)
    )


def differing(rows: Sequence[Mapping[str, Any]], keys: Iterable[str]) -> list[str]:
    """Name the settings in which rows differ that have any.

    A setting that some rows do not have tells those apart that could have it: `mechanism.cutoff` is compared
    among rows of one mechanism, `teacher.params.C` among those of one teacher.
    """
    different, keys = [], list(keys)
    rows = [row for row in rows if any(row.get(key) is not None for key in keys if key not in NAMES)]
    for key in keys:
        owner = (
            ""
            if "." not in key
            else {"mechanism": "method"}.get(key.partition(".")[0], key.partition(".")[0])
        )
        groups: dict[Any, set[Any]] = {}
        for row in rows:
            groups.setdefault(row.get(owner), set()).add(row.get(key))
        values = {row[key] for row in rows if row.get(key) is not None}
        if len(values) > 1 or any(len(group) > 1 for group in groups.values()):
            different.append(key)
    return different
