"""Two results side by side: what differs in settings, in which measures, and what would tell them apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from pate_cli.results.answers import repeats_that_tell
from pate_cli.results.boards import ACCURACY
from pate_cli.results.interval import Interval
from pate_cli.results.marks import listed, name
from pate_cli.results.means import MeasuredRow, other_splits, paired_difference, rows_of
from pate_cli.results.next_steps import NextStep, overrides
from pate_cli.results.page import Report
from pate_cli.results.paired import compare
from pate_cli.results.tables import Head, Table, number

__all__ = ["compare_two"]

_SHOWN = {"accuracy": "accuracy, %", "roc_auc": "ROC AUC, %"}
_SHOWN |= {"n_answered": "labels given", "label_accuracy": "labels right, %"}
_SAME = ("dataset", "eps", "seed", "teachers")
_MOST = 3  # settings that are shown


def compare_two(first: pd.DataFrame, second: pd.DataFrame) -> Report:
    """Compare two results; of two single rows the five that matter."""
    every = compare(first, second)
    rows = [*rows_of(first), *rows_of(second)]
    if len(rows) != 2 or not all(row.n for row in rows):
        return _many(every)
    a, b = rows
    why = other_splits(a, b)
    gap = None if why else paired_difference(a, b, "accuracy")
    points = gap and gap.times(100)
    names = [f"{name(row['method'])} ({side}, {_level(row)}%)" for side, row in zip("AB", rows, strict=True)]
    step = None
    if points is None:
        answer = f"{listed(names)} cannot be compared split by split: {why or 'no repeat is common'}."
    elif points.half_width is None:
        by = ACCURACY.text(points, sign=True)
        answer = f"One split tells {listed(names)} apart by nothing that is sure: {by} points there."
    elif points.sign:
        better, worse = names if points.mean > 0 else names[::-1]
        by = ACCURACY.text(points if points.mean > 0 else -points)
        answer = f"{better} is better than {worse}, by {by} points on {points.n} splits."
    else:
        needed = repeats_that_tell(points)
        more = f" About {needed:,} splits would tell, if it stays." if needed else ""
        by = ACCURACY.text(points if points.mean >= 0 else -points)
        splits = f"on {points.n} splits: the difference is {by} points"
        answer = f"{listed(names)} cannot be told apart {splits}.{more}"
        step = _apart(rows, needed) if needed else None
    shown = every["settings"].records
    of_method = "mechanism." if a["method"] != b["method"] else "mechanism.name"
    known = [record for record in shown if not str(record["setting"]).startswith(of_method)]
    columns = [Head("", numeric=False), *(Head(side) for side in ("A", "B", "A less B"))]
    cells = [[str(r["setting"]), str(r["A"]), str(r["B"]), ""] for r in known[:_MOST]]
    cells += _measures(every["table"].records)
    hidden = len(shown) + len(every["table"].records)
    same = [_text(key, a) for key in _SAME if _text(key, a) and _text(key, a) == _text(key, b)]
    notes = [
        f"Same in both: {', '.join(same)}." if same else "",
        f"Every setting and measure ({hidden} rows): --all",
    ]
    return Report(
        answer=answer, table=Table(columns, cells), notes=[*filter(None, notes)], next_step=step, files=every
    )


def _many(every: dict[str, Table]) -> Report:
    """Results of several rows: accuracy of each pair."""
    table = every["table"]
    told = [record["difference"] for record in table.records if record["measure"] == "accuracy"]
    paired = sum(gap is not None for gap in told)
    unlike = len(every["settings"].cells)
    settings = f"{unlike} setting{'s' * (unlike != 1)}"
    answer = f"A and B differ in {settings}; {paired} of {len(told)} rows are at the same splits."
    return Report(answer=answer, table=table, notes=list(table.remarks), files=every)


def _measures(records: Iterable[Mapping[str, Any]]) -> Iterator[list[str]]:
    """Cells of the measures that matter, of the records of `compare`."""
    by_name = {record["measure"]: record for record in records}
    for measure, words in _SHOWN.items():
        record = by_name.get(measure, {})
        if record.get("A") or record.get("B"):
            scale = 100 if words.endswith("%") else 1
            means = [None if (mean := record[side]) is None else scale * mean for side in ("A", "B")]
            gap, half = record["difference"], record["difference_ci95"]
            less = None if gap is None else Interval(gap, half, record["n"]).times(scale)
            yield [words, *(number(mean, ".1f") for mean in means), ACCURACY.text(less, sign=True)]


def _level(row: MeasuredRow) -> str:
    return ACCURACY.level(row.over("accuracy"))


def _text(key: str, row: MeasuredRow) -> str:
    if key == "eps":
        return f"eps {number(row['eps'], 'g')}"
    if key == "teachers":
        return f"{row['n_teachers']:,.0f} teachers" if row["n_teachers"] else ""
    return "" if row[key] is None else f"seed {row[key]}" if key == "seed" else str(row[key])


def _apart(rows: Sequence[MeasuredRow], needed: int) -> NextStep | None:
    """The sweep of both, with as many repeats as would tell them apart."""
    typed = [
        {
            text.partition("=")[0]: text
            for text in overrides(row)
            if not text.startswith(("repeats=", "name=", "tags="))
        }
        for row in rows
    ]
    if not typed[0] or typed[0].keys() != typed[1].keys():
        return None
    both = [
        text if text == typed[1][key] else f"{text},{typed[1][key].partition('=')[2]}"
        for key, text in typed[0].items()
    ]
    return "tell them apart", [["pate", "run", "-m", *both, f"repeats={needed}"]]
