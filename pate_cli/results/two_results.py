"""Two results side by side: what differs in settings, in which measures, and what would tell them apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from pate_cli.errors import count_of
from pate_cli.results.answers import repeats_that_tell
from pate_cli.results.boards import ACCURACY
from pate_cli.results.interval import EPS_NOTE, GAP_NOTE, MEASURED, T_NOTE, Interval
from pate_cli.results.marks import listed, name
from pate_cli.results.means import MeasuredRow, flat, lead, other_splits, rows_of, sort_keys
from pate_cli.results.next_steps import NextStep, overrides
from pate_cli.results.page import Report
from pate_cli.results.settings import BASELINES, differing
from pate_cli.results.tables import ABSENT, Head, Table, number
from pate_cli.results.verdicts import ended

__all__ = ["compare_two"]

_SHOWN = {"accuracy": "accuracy, %", "roc_auc": "ROC AUC, %"}
_SHOWN |= {"n_answered": "labels given", "label_accuracy": "labels right, %"}
_SAME = ("dataset", "eps", "seed", "teachers")
_WORDS = {"n_teachers": "teachers", "budget": "questions"}
_MOST = 3  # settings that are shown
_PUBLIC = ("eps", "delta", "n_teachers", "budget", "plugin_code")


def compare_two(first: pd.DataFrame, second: pd.DataFrame) -> Report:
    """Compare two results; of two single rows the few settings and measures that matter.

    Rows of results with several are paired by what differs between the rows of one.
    """
    sides = rows_of(first), rows_of(second)
    tables = {"settings": _differences(*sides), "table": _table(*_pairs(*sides))}
    rows = [*sides[0], *sides[1]]
    if len(rows) != 2:
        return _many(tables)
    if without := [side for side, row in zip("AB", rows, strict=True) if not row.n]:
        has = "has" if len(without) == 1 else "have"
        answer = f"{listed(without)} {has} no numbers, so there is nothing to compare."
        return Report(answer=answer, table=tables["settings"], notes=tables["table"].footnotes, files=tables)
    a, b = _common(*rows)
    why = other_splits(a, b)
    gap = None if why else lead(a, b, "accuracy")
    points = gap and gap.times(100)
    names = [
        f"{name(row['method'])} ({side}, {_level(row)}%)" for side, row in zip("AB", (a, b), strict=True)
    ]
    step = None
    if points is None:
        answer = f"{listed(names)} cannot be compared split by split: {why or 'no repeat has both'}."
    elif not points.half_width and not points.mean:
        splits = "the one split" if points.n == 1 else f"each of {points.n} splits"
        answer = f"{listed(names)} are right on as many records in {splits}."
    elif points.half_width is None:
        points_text = ACCURACY.text(points, sign=True)
        few = "One split tells" if points.n == 1 else f"{points.n} splits that differ by the same tell"
        answer = f"{few} {listed(names)} apart by nothing that is sure: {points_text} points there."
    elif points.sign:
        better, worse = names if points.mean > 0 else names[::-1]
        points_text = ACCURACY.text(points if points.mean > 0 else -points)
        answer = f"{better} is better than {worse}, by {points_text} points on {points.n} splits."
    else:
        needed = repeats_that_tell(points)
        hint = f" About {needed:,} splits of these records would tell, if it stays." if needed else ""
        points_text = ACCURACY.text(points if points.mean >= 0 else -points)
        splits = f"on {points.n} splits: the difference is {points_text} points"
        answer = f"{listed(names)} cannot be told apart {splits}.{hint}"
        step = _sweep_of_both(rows, needed) if needed else None
    shown = tables["settings"].records
    of_method = "mechanism." if a["method"] != b["method"] else "mechanism.name"
    settings = [r for r in shown if not str(r["setting"]).startswith(of_method)][:_MOST]
    columns = [Head("", numeric=False), *(Head(side) for side in ("A", "B", "A less B"))]
    cells = [[_WORDS.get(key := str(r["setting"]), key), str(r["A"]), str(r["B"]), ""] for r in settings]
    cells += _measures(tables["table"].records)
    hidden = len(shown) + len(tables["table"].records)
    same = [_text(key, a) for key in _SAME if _text(key, a) and _text(key, a) == _text(key, b)]
    notes = [
        f"Same in both: {', '.join(same)}." if same else "",
        f"{some[0].upper()}{some[1:]}." if (some := _some(*rows)) else "",
        f"Every setting and measure ({hidden} rows): --all",
    ]
    return Report(
        answer=answer, table=Table(columns, cells), notes=[*filter(None, notes)], next_step=step, files=tables
    )


def _many(tables: dict[str, Table]) -> Report:
    """Results of several rows: accuracy of each pair."""
    table = tables["table"]
    gaps = [record["difference"] for record in table.records if record["measure"] == "accuracy"]
    paired = sum(gap is not None for gap in gaps)
    settings = count_of(len(tables["settings"].cells), "setting")
    answer = f"A and B differ in {settings}; {paired} of {len(gaps)} rows are at the same splits."
    if not gaps:
        answer = f"A and B differ in {settings}, and have no row in common."
    return Report(answer=answer, table=table, notes=list(table.footnotes), files=tables)


def _measures(records: Iterable[Mapping[str, Any]]) -> Iterator[list[str]]:
    """Cells of the measures that matter, of the records of `_table`."""
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


def _common(row: MeasuredRow, other: MeasuredRow) -> tuple[MeasuredRow, MeasuredRow]:
    """Two rows with the splits that both have, so that their means differ by their paired difference."""
    both = row.repeats.index.intersection(other.repeats.index)
    if other_splits(row, other) or both.empty:
        return row, other
    return replace(row, repeats=row.repeats.loc[both]), replace(other, repeats=other.repeats.loc[both])


def _defined(row: MeasuredRow, other: MeasuredRow, measure: str) -> tuple[MeasuredRow, MeasuredRow]:
    """Two rows with the splits where both have a measure, as of a student of one class not all do."""
    if measure not in row.repeats or measure not in other.repeats:
        return row, other
    sides = [each.repeats[each.repeats[measure].notna()] for each in (row, other)]
    return _common(replace(row, repeats=sides[0]), replace(other, repeats=sides[1]))


def _some(row: MeasuredRow, other: MeasuredRow) -> str:
    """Which splits are compared, if not all."""
    n, m = (each.n for each in _common(row, other))
    return f"of {row.n} and {other.n} splits the {n} that both have" if (n, m) != (row.n, other.n) else ""


def _text(key: str, row: MeasuredRow) -> str:
    if key == "eps":
        return f"eps {number(row['eps'], 'g')}"
    if key == "teachers":
        return count_of(row["n_teachers"], "teacher") if row["n_teachers"] else ""
    return "" if row[key] is None else f"seed {row[key]}" if key == "seed" else str(row[key])


def _sweep_of_both(rows: Sequence[MeasuredRow], needed: int) -> NextStep | None:
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
    if sum(text != typed[1][key] for key, text in typed[0].items()) > 1:  # a sweep would have more jobs
        each = [["pate", "run", *side.values(), f"repeats={needed}"] for side in typed]
        return "tell them apart", each
    return "tell them apart", [["pate", "run", "-m", *both, f"repeats={needed}"]]


# --- every setting that differs, and every measure ------------------------------------------------


def _differences(first: Sequence[MeasuredRow], second: Sequence[MeasuredRow]) -> Table:
    """Settings and public numbers whose values are not the same in two results, baselines apart.

    Where the file of one does not hold all settings (as that of a frontier), those that both have.
    """
    sides = [[row for row in rows if row["method"] not in BASELINES] or rows for rows in (first, second)]
    names = dict.fromkeys(n for rows in sides for row in rows for n in (*row.left, *_PUBLIC, "checksum"))
    whole = all(row["seed"] is not None for rows in sides for row in rows)
    records = []
    for setting in names:
        values = [_values(rows, setting) for rows in sides]
        if setting != "job" and values[0] != values[1] and (whole or ABSENT not in values):
            records.append({"setting": setting, "A": values[0], "B": values[1]})
    cells = [list(record.values()) for record in records]
    columns = [Head(head, numeric=False, prose=head != "setting") for head in ("setting", "A", "B")]
    footnotes = [] if cells else ["A and B have the same settings"]
    if not whole:
        footnotes.append("settings that only one of the files holds are left out")
    return Table(columns, cells, records, footnotes=footnotes)


def _values(rows: Sequence[MeasuredRow], name: str) -> str:
    """Values of a column over rows, in order."""
    texts = {row[name] if isinstance(row[name], str) else number(row[name], "g") for row in rows}
    texts = {text[:12] for text in texts} if name == "checksum" else texts
    texts = texts - {ABSENT} or texts
    return ", ".join(text for _, text in sorted(zip(sort_keys(texts), texts, strict=True)))


def _pairs(
    first: Sequence[MeasuredRow], second: Sequence[MeasuredRow]
) -> tuple[list[tuple[str, MeasuredRow, MeasuredRow]], list[str]]:
    """Rows of both that belong together, with what tells each pair from the others; and what has none."""
    names = dict.fromkeys(n for row in (*first, *second) for n in (*row.left, "eps") if n != "job")
    differing_settings = [differing([row.columns for row in rows], names) for rows in (first, second)]
    keys = [name for name in names if name in {*differing_settings[0], *differing_settings[1]}]

    def key(row: MeasuredRow) -> tuple[Any, ...]:
        return tuple(row[name] for name in keys)

    def label(row: MeasuredRow) -> str:
        return " ".join(f"eps {row[n]:g}" if n == "eps" else str(row[n]) for n in keys if row[n] is not None)

    others = {key(row): row for row in second}
    pairs = [(label(row), row, others[key(row)]) for row in first if key(row) in others]
    done = {key(row) for _, row, _ in pairs}
    footnotes = [f"only in A: {label(row)}" for row in first if key(row) not in done]
    footnotes += [f"only in B: {label(row)}" for row in second if key(row) not in done]
    return pairs, footnotes


def _table(pairs: Sequence[tuple[str, MeasuredRow, MeasuredRow]], footnotes: list[str]) -> Table:
    """Every measure of both, and its paired difference; of several rows a terminal shows accuracy alone."""
    several = len(pairs) > 1
    records, cells = list[dict[str, Any]](), []
    for label, row, other in pairs:
        why = other_splits(row, other)
        where = f"{label}: " if several else ""
        if some := _some(row, other):
            footnotes.append(f"{where}{some}")
        row, other = _common(row, other)
        for side, side_row in (("A", row), ("B", other)):
            if side_row.status != "ok":
                footnotes.append(f"{where}{side} {ended(side_row.status)}: {side_row.reason}")
        for measure in _measures_of(row, other):
            means = [each.over(measure) for each in ((row, other) if why else _defined(row, other, measure))]
            gap = None if why else lead(row, other, measure)
            record = {"row": label or None, "measure": measure} | flat({"A": means[0], "B": means[1]})
            records.append(
                record | flat({"difference": gap}) | {"n": gap.n if gap else 0, "reason": why or None}
            )
            shown = [*map(number, means), number(gap, "+.4f") if gap else ABSENT, str(gap.n if gap else 0)]
            if not several or measure == "accuracy":
                cells.append([label if several else measure, *shown])
        if why:
            footnotes.append(f"{where}no paired differences: {why}")
    heads = ["row" if several else "measure", "A ± ci95", "B ± ci95", "A less B ± ci95", "n"]
    columns = [Head(head, numeric=index > 0) for index, head in enumerate(heads)]
    note = f"{'Accuracy. ' * several}Differences repeat by repeat at the same splits. {MEASURED} "
    note += f"{T_NOTE}, {GAP_NOTE}."
    return Table(columns, cells, records, f"{note} {EPS_NOTE}", footnotes, EPS_NOTE)


def _measures_of(*rows: MeasuredRow) -> Iterable[str]:
    """Measures of rows, accuracy first; the time they took last."""
    names = dict.fromkeys(name for row in rows for name in row.measures)
    return sorted(names, key=lambda name: (name == "seconds", name != "accuracy"))
