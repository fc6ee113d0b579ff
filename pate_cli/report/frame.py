"""Rows by repeats by measures: means, paired differences, the settings in which rows differ, and pivots."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from pate_cli.errors import one_line
from pate_cli.report.interval import Interval, paired
from pate_cli.report.record import RunRecord
from pate_cli.report.table import ABSENT, Column, number

__all__ = ["ALWAYS", "SYNONYMS", "Repeat", "differing", "flat", "mean_of", "measured", "paired_difference"]
__all__ += ["pivoted", "ranks", "settings", "telling"]

_NO_NUMBERS = ("hydra", "compute", "cache", "release", "purpose", "ledger", "tracking")
_IN_NAMES = ("dataset.name", "mechanism.name", "mechanism.oracle")  # of the dataset and the mechanism
ALWAYS = ("dataset", "mechanism", "teachers", "eps")  # have a column in any case

SYNONYMS = {"teacher.estimator": "teacher", "student.estimator": "student"}
SYNONYMS |= {"dataset.name": "dataset", "mechanism.name": "mechanism"}

_OWN = {"answered": "n_answered", "asked": "n_asked"}


class Repeat(Protocol):
    """One repeat of a row; its other measures are attributes."""

    @property
    def repeat(self) -> int:
        """Number, from 0: the same split in every row."""

    @property
    def diagnostics(self) -> dict[str, float | None]:
        """Further measures by name."""


def measured(repeats: Sequence[Repeat], name: str) -> dict[int, float]:
    """Values of n_teachers, answered, asked, eps_ex_post, accuracy or a diagnostic, by repeat."""
    if name in ("n_teachers", "eps_ex_post", "accuracy", *_OWN):
        return {one.repeat: float(getattr(one, _OWN.get(name, name))) for one in repeats}
    values = {one.repeat: one.diagnostics.get(name) for one in repeats}
    return {repeat: float(value) for repeat, value in values.items() if value is not None}


def mean_of(repeats: Sequence[Repeat], name: str) -> Interval | None:
    """Mean of a measure over the repeats in which it is defined; None if there is none."""
    values = measured(repeats, name).values()
    return Interval.of(values) if values else None


def paired_difference(of: Sequence[Repeat], minus: Sequence[Repeat], name: str) -> Interval | None:
    """Mean difference of a measure over the repeats both have: the same splits, teachers and points."""
    return paired(measured(of, name), measured(minus, name))


def flat(found: Mapping[str, Interval | None]) -> dict[str, float | None]:
    """Columns of a CSV file: each mean by its name, and its half width as NAME_ci95."""
    columns: dict[str, float | None] = {}
    for name, one in found.items():
        columns |= {name: one.mean if one else None, f"{name}_ci95": one.half_width if one else None}
    return columns


def pivoted(
    keys: Sequence[Column],
    heads: Sequence[str],
    cells: Mapping[tuple[str, ...], Mapping[str, str]],
    group: str = "",
) -> tuple[list[Column], list[list[str]]]:
    """Columns and cells of a table with a row for each key and a column for each value of one setting.

    `keys` are the columns of a key's parts, `heads` the values and `group` the name of the setting.
    """
    more = [Column(head, group, short=f"{group}\n{head}" if group else "") for head in heads]
    return [*keys, *more], [[*key, *(row.get(head, ABSENT) for head in heads)] for key, row in cells.items()]


def settings(record: RunRecord) -> dict[str, str]:
    """All settings of a run as text, by dotted name, and its data."""
    found: dict[str, str] = {}

    def walk(name: str, value: Any) -> None:
        if isinstance(value, dict):
            for key, item in value.items():
                walk(f"{name}.{key}" if name else str(key), item)
        elif name not in _IN_NAMES:
            text = value if isinstance(value, str) else json.dumps(value)
            text = f"{value:g}" if isinstance(value, float) else text
            found[one_line(SYNONYMS.get(name, name))] = one_line(text)

    walk("", {key: value for key, value in record.config.items() if key not in _NO_NUMBERS})
    found |= {"dataset": one_line(record.dataset), "mechanism": one_line(record.mechanism)}
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


def differing(given: Sequence[dict[str, str]], *, always: bool = False) -> list[str]:
    """Name the settings in which runs differ, with `always` those, too, that have a column in any case.

    A setting that some runs do not have tells those apart that could have it: `mechanism.cutoff` is
    compared among runs of one mechanism, `teacher.params.C` among those of one teacher.
    """
    found = []
    for key in dict.fromkeys(key for one in given for key in one):
        owner = key.partition(".")[0]
        alike: dict[str, set[str | None]] = {}
        for one in given:
            # files differ from dataset to dataset: only another content under the same settings counts
            of = [v for k, v in one.items() if k.partition(".")[0] == "dataset"] if key == "data" else []
            alike.setdefault(json.dumps([of, "" if key == owner else one.get(owner)]), set()).add(
                one.get(key)
            )
        values = {one[key] for one in given if key in one}
        if (len(values) > 1 and key != "data") or any(len(those) > 1 for those in alike.values()):
            found.append(key)
    return [key for key in found if always or key not in ALWAYS]


def telling(keys: Sequence[str], given: Sequence[dict[str, str]]) -> list[str]:
    """Sort settings: first the one that tells most runs apart, then that which tells most of the rest."""
    left, told = list(keys), [tuple(one.get(key) for key in ALWAYS) for one in given]
    found = []
    while left:
        counts = {key: len({(*t, one.get(key)) for t, one in zip(told, given, strict=True)}) for key in left}
        best = max(left, key=lambda key: counts[key])
        told = [(*t, one.get(best)) for t, one in zip(told, given, strict=True)]
        found.append(best)
        left.remove(best)
    return found


def ranks(texts: Sequence[str]) -> list[tuple[int, float, str]]:
    """Sort key: numbers by their size, then other texts, then absent ones."""
    ranks = []
    for text in texts:
        try:
            ranks.append((0, float(text.replace("∞", "inf")), text))
        except ValueError:
            ranks.append((2 if text == ABSENT else 1, 0.0, text))
    return ranks
