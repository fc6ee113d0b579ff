"""Names and settings of rows: their hash, their text, those in which rows differ; and JSON's own types."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from os import PathLike
from pathlib import Path
from typing import Any

from pate_cli.errors import one_line

__all__ = ["ALL_PRIVATE", "APPROXIMATE", "BASELINES", "DEFAULT_METHODS", "EXACT", "FAMILY", "LIMIT"]
__all__ += ["NOT_PRIVATE", "PURE", "SYNONYMS", "TRUE_LABELS", "config_hash", "dataset_name", "differing"]
__all__ += ["MAJORITY", "NAMES", "RECORD", "plain", "row_hash", "settings"]

RECORD = "one record"
"""What a guarantee is for where no column says otherwise."""

PURE, APPROXIMATE = "(eps, 0)-DP", "(eps, delta)-DP"
"""Guarantees of a row."""

NAMES = ("dataset", "method", "name", "panel", "job")
"""Columns of a row that are no settings."""

NOT_PRIVATE = "not differentially private"
ALL_PRIVATE, TRUE_LABELS, MAJORITY = "all private records", "student on true labels", "majority class"
LIMIT = "best model without privacy"
EXACT = "student on exact votes"

DEFAULT_METHODS = "best,scores,gaussian,active,svt,svt-liu2021,noisy_gd,output_perturbation"
"""Methods of a frontier where none are named."""

FAMILY = "is "
"""Prefix of the family of the best model, among the diagnostics of its repeat."""

BASELINES = {
    LIMIT: "the best of gradient boosting, kernel machine and logistic regression on all private records, "
    "chosen by cross-validation at the first split",
    ALL_PRIVATE: "one model, of the student's kind, on all private records",
    TRUE_LABELS: "the student, true labels instead of teachers",
    EXACT: "the student, teachers without noise",
    MAJORITY: "always the most common class",
}
"""Non-private baselines: the name in files and the words of each, in the order shown."""

_NO_NUMBERS = ("hydra", "compute", "cache", "purpose", "name", "tags", "tracking")  # the last of old records
_IN_NAMES = ("dataset.name", "dataset.path", "mechanism.name", "mechanism.oracle", "eps", "delta", "repeats")
SYNONYMS = {"teacher.estimator": "teacher", "student.estimator": "student"}
SYNONYMS |= {"dataset.name": "dataset", "dataset.path": "dataset", "mechanism.name": "mechanism"}


def config_hash(config: Mapping[str, Any]) -> str:
    """Hash the configuration that decides a run's numbers, as 12 hex digits.

    SHA-256 of its canonical JSON without keys that change no number. `1` and `1.0` hash alike, but not in a
    learner's `params`, as scikit-learn takes `max_features=1` for one column, and `1.0` for all.
    """
    kept = _whole(plain({key: value for key, value in config.items() if key not in _NO_NUMBERS}, "config"))
    canonical = json.dumps(kept, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]


def row_hash(config: Mapping[str, Any]) -> str:
    """Hash of a configuration without `repeats`: repeat i is the same in all rows with this hash."""
    return config_hash({key: value for key, value in config.items() if key != "repeats"})


def plain(value: Any, where: str = "record") -> Any:
    """Convert a value to JSON's own types: infinities as "inf" and "-inf", nan as None.

    A `TypeError` names what has no place in a record (private values among them).
    """
    if isinstance(value, Enum):
        return value.name  # what the command line takes, and what OmegaConf writes
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None if math.isnan(value) else str(float(value))
    if isinstance(value, PathLike):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, f"{where}[{index}]") for index, item in enumerate(value)]
    # A NumPy scalar, known without importing NumPy; arrays are refused.
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        item = value.item()
        if type(item) is not type(value):
            return plain(item, where)
    raise TypeError(f"{where}: {type(value).__name__} is not written to a record")


def _whole(value: Any) -> Any:
    """Write whole floats as integers; not in `params`."""
    if isinstance(value, dict):
        return {key: item if key == "params" else _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


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

    walk("", {key: value for key, value in config.items() if key not in (*_NO_NUMBERS, "release", "ledger")})
    return texts


def dataset_name(config: Mapping[str, Any], default: str) -> str:
    """Name of a dataset: of its file, where it has one of the user's, or of the schema that names it."""
    group = config.get("dataset")
    paths = [group.get(key) for key in ("path", "private", "schema")] if isinstance(group, dict) else []
    name = next((Path(path).name for path in paths if isinstance(path, str) and path != "???"), default)
    return one_line(re.sub(r"\.schema\.ya?ml$", "", name))


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
