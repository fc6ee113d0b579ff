"""The page of any result, put together from its repeats: what one sends to somebody who was not there."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from pate_cli.errors import InputError
from pate_cli.results.boards import BASELINES
from pate_cli.results.means import MeasuredRow, flat, rows_of
from pate_cli.results.overview import overview
from pate_cli.results.page import About, Findings
from pate_cli.results.paired import paired
from pate_cli.results.record_files import find_records
from pate_cli.results.settings import NAMES
from pate_cli.results.tables import Column, Table, number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PRIVATE", "findings_of", "shared_settings", "sources_of"]

_PRIVATE = (
    "Private, by the guarantee: what one repeat publishes, its labels and its student. eps, with delta, "
    "bounds how much any one record can change its probability: by a factor of e^eps at most; the smaller, "
    "the better. Publishing several repeats costs more."
)
_NOT_PRIVATE = (
    "Not private: accuracy and every other measure, also without noise and in the figure. They are computed "
    "from held-out records; do not publish them about private data. eps used depends on the outputs: a "
    "report, not a guarantee."
)
_PUBLIC = (
    "Taken as public: the public points, columns and classes, the number of private records, the settings."
)
PRIVATE = (_PRIVATE, _NOT_PRIVATE, _PUBLIC)
"""What of a result is private, and what is not."""


def findings_of(
    repeats: pd.DataFrame, command: Sequence[str], sources: Mapping[str, str], title: str = ""
) -> Findings:
    """Tables, figure and sentences of results read with every setting; `command` makes the page again."""
    rows = rows_of(repeats)
    done = [row for row in rows if row.n]
    private = [row for row in done if row["method"] not in BASELINES]
    table = overview(repeats)
    about = f"{_few(rows, 'dataset')}: {_few(private or rows, 'method')}"
    counts = sorted({row.n for row in done}) or [0]
    splits = " to ".join(str(n) for n in dict.fromkeys((counts[0], counts[-1])))
    more = {"measures": _measures(done)}
    if pairs := _pairs(repeats, private):
        more["paired"] = pairs
    figures, undrawn = _figures(rows)
    return Findings(
        about=About(
            name="page",
            title=title or about,
            source=f"{about}; random splits: {splits}",
            shows=_shows(rows),
        ),
        command=list(command),
        table=table,
        more={name: each for name, each in more.items() if each.cells},
        figures=figures,
        notes=[undrawn] if undrawn else [],
        absent=[(_name(row), row.status, row.reason) for row in rows if row.status != "ok"],
        settings=shared_settings([row.columns for row in rows]),
        private=PRIVATE,
        sources=dict(sources),
    )


def sources_of(places: Sequence[Path], repeats: pd.DataFrame) -> dict[str, str]:
    """Directories, commands and versions of the runs in `places`, and checksums of the data."""
    records = find_records(places).records
    commands = dict.fromkeys(str(record.provenance.get("command") or "") for record in records)
    sources = {"read from": ", ".join(map(str, places))}
    if made_by := "; ".join(filter(None, commands)):
        sources["made by"] = made_by
    named = dict.fromkeys(zip(repeats["dataset"], repeats["checksum"], strict=True))
    sources |= {f"data: {name}": f"SHA-256 {checksum}" for name, checksum in named if checksum}
    for record in records[:1]:
        versions = record.provenance.get("versions") or {}
        sources["versions"] = ", ".join(f"{name} {text}" for name, text in versions.items() if text)
    return sources


def _shows(rows: Sequence[MeasuredRow]) -> str:
    """What was asked, in a sentence."""
    budgets = sorted({row["eps"] for row in rows if row["eps"] is not None and math.isfinite(row["eps"])})
    at = f" at eps {', '.join(f'{eps:g}' for eps in budgets)}" if budgets else ""
    return f"How well does a model from private records do{at}, and what did it cost in privacy?"


def _few(rows: Sequence[MeasuredRow], name: str) -> str:
    names = list(dict.fromkeys(str(row[name]) for row in rows))
    return ", ".join(names) if len(names) <= 4 else f"{len(names)} {name}s"


def _name(row: MeasuredRow) -> str:
    return f"{row['dataset']}, {row['method']}, eps {number(row['eps'], 'g')}"


def _figures(rows: Sequence[MeasuredRow]) -> tuple[dict[str, Callable[[], Figure]], str]:
    """Accuracy against eps; none, with the reason, where rows of a line differ in more than eps."""
    if len({row["eps"] for row in rows if row["eps"] is not None and math.isfinite(row["eps"])}) < 2:
        return {}, ""
    from pate_cli.results.lines import draw, points  # matplotlib: a second, for pages with a figure

    try:
        drawn = points(rows)
    except InputError as error:
        return {}, f"There is no figure: {str(error).partition(';')[0]}."
    width = 5.2 if len({point.panel for point in drawn}) == 1 else 8.4
    return {"figure": functools.partial(draw, drawn, width=width, height=3.4)}, ""


def shared_settings(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Settings and public numbers that all rows with any share; rows are columns of `repeats.csv`."""
    left = (name for row in rows for name in takewhile(lambda name: name != "eps", row))
    names = dict.fromkeys(name for name in left if name == "dataset" or name not in NAMES)
    names |= dict.fromkeys(("delta", "guarantee", "n_private", "n_public", "n_test", "n_teachers"))
    values = {name: {_text(row[name]) for row in rows if row.get(name) is not None} for name in names}
    same = {name: texts.pop() for name, texts in values.items() if len(texts) == 1}
    records = [{"setting": name, "value": text} for name, text in same.items() if text != "null"]
    columns = [Column("setting", numeric=False), Column("value", numeric=False)]
    return Table(columns, [list(record.values()) for record in records], records)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else number(value, "g")


def _measures(rows: Sequence[MeasuredRow]) -> Table:
    """Every measure of a single row; several rows have their table."""
    if len(rows) != 1:
        return Table([], [])
    (row,) = rows
    means = {name: row.over(name) for name in row.measures}
    records = [{"measure": name} | flat({"mean": mean}) for name, mean in means.items()]
    columns = [Column("measure", numeric=False), Column("mean ± ci95")]
    return Table(columns, [[name, number(mean)] for name, mean in means.items()], records)


def _pairs(repeats: pd.DataFrame, private: Sequence[MeasuredRow]) -> Table | None:
    """Differences to the method with the largest mean accuracy, where there are several."""
    means: dict[str, list[float]] = {}
    for row in private:
        means.setdefault(str(row["method"]), []).append(row.mean("accuracy") or 0.0)
    if len(means) < 2:
        return None
    best = max(means, key=lambda name: sum(means[name]) / len(means[name]))
    try:
        return paired(repeats, best)
    except InputError:  # several rows of it fit another one
        return None
