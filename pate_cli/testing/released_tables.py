"""Tables that are released in checks: records of persons, made and written in each format."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np

from pate_cli.testing.unlike import MixedRecords

__all__ = ["BOUGHT", "CLASSES", "KINDS_ALONE", "SCHEMA", "TABLES", "N", "made", "write"]

N = 300
"""Records, or persons."""

PERSONS = [f"p{i:04}" for i in range(N)]
COLUMNS = ("person", "x1", "x2", "colour", "class")
COLOURS = ("red", "blue", "seen nowhere else", "")
CLASSES = ("no", "yes", "maybe", "of one record alone")
TABLES = ("csv", "jsonl", "parquet")
SCHEMA = "columns:\n  colour: {kind: category, values: [red, blue]}\n" + "".join(
    f"  {name}: {{kind: numeric, low: -8, high: 8, missing: true}}\n" for name in ("x1", "x2")
)
KINDS_ALONE = SCHEMA.replace(", low: -8, high: 8", "").replace(", values: [red, blue]", "")
BOUGHT = "classes: private\ncolumns:\n  colour: {kind: category, levels: private}\n"
BOUGHT += (
    "  x1: {kind: number, levels: private}\n  day: {kind: date, levels: private}\n"
    + SCHEMA.splitlines()[-1]
    + "\n"
)


def _day(number: float) -> str:
    """A date of a number; none where that is missing."""
    days = 0 if number != number else int(min(max(1000 * number, -7e5), 2.9e6))
    return "" if number != number else str(dt.date.fromordinal(dt.date(1970, 1, 1).toordinal() + days))


def made(seed: int, several: bool = False, n_classes: int = 3) -> MixedRecords:
    """Records of N persons: easy but for a tenth of the labels; a third class is rare."""
    rng = np.random.default_rng(seed)
    persons = np.repeat(np.arange(N), rng.integers(1, 4, N) if several else 1)
    n = len(persons)
    label = rng.integers(2, size=n)
    numbers = np.round(rng.normal(size=(n, 2)) + 2.5 * (2 * label - 1)[:, None], 3).astype(np.float64)
    y = np.where((n_classes > 2) & (persons % 60 == 7), 2, label ^ (rng.random(n) < 0.1))
    return MixedRecords(numbers, rng.integers(2, size=(n, 1)), y, persons)


def write(name: str, cells: MixedRecords, *, labels: bool = True, days: bool = False) -> None:
    """Write records, texts by their numbers in files of numbers; LIBSVM's points without labels have 0.

    A CSV file may have `days`, made of the second numbers: of the years 50 to 9900 at the ends.
    """
    X, y = np.column_stack([cells.numbers, cells.texts]).astype(float), cells.y * labels
    if name.endswith(".csv"):
        texts = [[COLOURS[code] for code in row] for row in cells.texts.tolist()]
        columns = zip(cells.persons.tolist(), cells.numbers.tolist(), texts, y.tolist(), strict=True)
        lines = [COLUMNS[: 4 + labels] + ("day",) * days]
        for person, numbers, named, label in columns:
            shown = ["" if x != x else f"{x:g}" if x == round(x, 3) else repr(x) for x in numbers]
            day = [_day(numbers[1])] * days
            lines.append((PERSONS[person], *shown, *named, CLASSES[label])[: 4 + labels] + tuple(day))
        Path(name).write_text("\n".join(map(",".join, lines)) + "\n")
    elif name.endswith((".jsonl", ".parquet")):
        import pandas as pd

        values = [[PERSONS[i] for i in cells.persons], *cells.numbers.T]
        values += [[COLOURS[code] for code in cells.texts[:, 0]], [CLASSES[label] for label in y]]
        frame = pd.DataFrame(dict(zip(COLUMNS[: 4 + labels], values, strict=False)))
        if name.endswith("parquet"):
            frame.to_parquet(name)
        else:
            frame.to_json(name, orient="records", lines=True, double_precision=15)
    elif name.endswith(".npz"):
        arrays: dict[str, Any] = {"X": X} | ({"y": y} if labels else {})
        np.savez(name, **arrays)
    else:
        rows = [f"{label} 1:{a!r} 2:{b!r} 3:{c!r}" for label, (a, b, c) in zip(y, X.tolist(), strict=True)]
        Path(name).write_text("\n".join(rows) + "\n")
