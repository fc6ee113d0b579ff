"""Repeats and settings as pandas frames: means, paired differences, settings in which runs differ, pivots."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pate_cli.errors import one_line
from pate_cli.results.interval import Interval
from pate_cli.results.record import RunRecord
from pate_cli.results.tables import ABSENT, Column, number

__all__ = ["ALWAYS", "SYNONYMS", "differing", "flat", "frame_of", "mean_of", "paired_difference"]
__all__ += ["pivoted", "ranks", "settings", "telling"]

_NO_NUMBERS = (
    "hydra",
    "compute",
    "cache",
    "release",
    "purpose",
    "ledger",
    "tracking",
)  # the last of old records
_IN_NAMES = ("dataset.name", "dataset.path", "mechanism.name", "mechanism.oracle")
ALWAYS = ("dataset", "mechanism", "teachers", "eps")  # have a column in any case

SYNONYMS = {"teacher.estimator": "teacher", "student.estimator": "student"}
SYNONYMS |= {"dataset.name": "dataset", "dataset.path": "dataset", "mechanism.name": "mechanism"}


def frame_of(repeats: Sequence[Any]) -> pd.DataFrame:
    """Measures of a row's repeats, a column each; the index is the number of the repeat."""
    own = {"n_teachers": "n_teachers", "answered": "n_answered", "asked": "n_asked"}
    own |= {"eps_ex_post": "eps_ex_post", "accuracy": "accuracy"}
    lines = [{key: getattr(one, name) for key, name in own.items()} | one.diagnostics for one in repeats]
    return pd.DataFrame(lines, index=[one.repeat for one in repeats], dtype=float)


def mean_of(repeats: pd.DataFrame, name: str) -> Interval | None:
    """Mean of a measure over the repeats in which it is defined; None if there is none."""
    values = repeats[name].dropna() if name in repeats else ()
    return Interval.of(values) if len(values) else None


def paired_difference(of: pd.DataFrame, minus: pd.DataFrame, name: str) -> Interval | None:
    """Mean difference of a measure over the repeats both have: the same splits, teachers and points."""
    if name not in of or name not in minus:
        return None
    gaps = of[name] - minus[name]
    gaps = gaps[np.isfinite(gaps)]
    return Interval.of(gaps) if len(gaps) else None


def flat(found: Mapping[str, Interval | None]) -> dict[str, float | None]:
    """Columns of a CSV file: each mean by its name, and its half width as NAME_ci95."""
    columns: dict[str, float | None] = {}
    for name, one in found.items():
        columns |= {name: one.mean if one else None, f"{name}_ci95": one.half_width if one else None}
    return columns


def pivoted(
    keys: Sequence[Column], heads: Sequence[str], cells: Mapping[tuple[str, ...], Mapping[str, str]]
) -> tuple[list[Column], list[list[str]]]:
    """Columns and cells of a table with a row for each key, and a column for each of `heads`."""
    lines = [[*key, *(row.get(head, ABSENT) for head in heads)] for key, row in cells.items()]
    return [*keys, *map(Column, heads)], lines


def settings(record: RunRecord) -> dict[str, str]:
    """All settings of a run as text, by dotted name, and its data."""
    found: dict[str, str] = {}

    def walk(name: str, value: Any) -> None:
        if isinstance(value, dict):
            for key, item in value.items():
                walk(f"{name}.{key}" if name else str(key), item)
        elif name not in _IN_NAMES:
            if isinstance(value, list) and all(isinstance(item, dict) and "label" in item for item in value):
                value = ", ".join(str(item["label"]) for item in value)  # candidates
            text = value if isinstance(value, str) else json.dumps(value)
            text = f"{value:g}" if isinstance(value, float) else text
            found[one_line(SYNONYMS.get(name, name))] = one_line(text)

    walk("", {key: value for key, value in record.config.items() if key not in _NO_NUMBERS})
    data = record.config.get("dataset")
    path = data.get("path") if isinstance(data, dict) else None
    name = Path(path).name if isinstance(path, str) else record.dataset
    found |= {"dataset": one_line(name), "mechanism": one_line(record.mechanism)}
    seed, checksum = record.provenance.get("seed"), str(record.provenance.get("dataset_checksum") or "")
    known = {
        "eps": record.eps,
        "teachers": record.n_teachers,
        "seed": seed if isinstance(seed, int) else None,
    }
    found |= {
        key: number(value, "g" if key == "eps" else "d") for key, value in known.items() if value is not None
    }
    return found | ({"data": one_line(checksum[:12])} if checksum else {})


def differing(runs: pd.DataFrame, *, always: bool = False) -> list[str]:
    """Name the settings in which runs differ, with `always` those, too, that have a column in any case.

    A setting that some runs do not have tells those apart that could have it: `mechanism.cutoff` is
    compared among runs of one mechanism, `teacher.params.C` among those of one teacher.
    """
    found = []
    for key in map(str, runs):
        owner = key.partition(".")[0]
        if key == "data":  # files differ from dataset to dataset: only another content of one counts
            alike = [name for name in map(str, runs) if name.partition(".")[0] == "dataset"]
        else:
            alike = [owner] if owner in runs and owner != key else []
        parts = [part for _, part in runs.groupby(alike, dropna=False)[key]] if alike else [runs[key]]
        within = any(len(part.unique()) > 1 for part in parts)
        if within or (key != "data" and len(runs[key].dropna().unique()) > 1):
            found.append(key)
    return [key for key in found if always or key not in ALWAYS]


def telling(keys: Sequence[str], runs: pd.DataFrame) -> list[str]:
    """Sort settings: first the one that separates most runs, then the one that separates most of the rest."""
    left, told = list(keys), [key for key in ALWAYS if key in runs]
    while left:
        left.remove(best := max(left, key=lambda key: len(runs[[*told, key]].drop_duplicates())))
        told.append(best)
    return [key for key in told if key in keys]


def ranks(texts: Sequence[str]) -> list[tuple[int, float, str]]:
    """Sort key: numbers by their size, then other texts, then absent ones."""
    ranks = []
    for text in texts:
        try:
            ranks.append((0, float(text.replace("∞", "inf")), text))
        except ValueError:
            ranks.append((2 if text == ABSENT else 1, 0.0, text))
    return ranks
