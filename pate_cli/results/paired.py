"""Paired differences: of two results, and of the rows of a table to those of one method."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from pate_cli.errors import InputError
from pate_cli.results.interval import EPS_NOTE, T_NOTE
from pate_cli.results.means import (
    MeasuredRow,
    by_settings,
    flat,
    other_splits,
    paired_difference,
    rows_of,
    sort_keys,
)
from pate_cli.results.settings import BASELINES, differing
from pate_cli.results.tables import ABSENT, Head, Table, number

__all__ = ["compare", "differences", "paired"]

_PUBLIC = ("eps", "delta", "n_teachers", "budget")
_ENDED = {"infeasible": "cannot run", "failed": "broke off", "error": "broke off"}
_NOT_PRIVATE = "Measured on held-out records: not differentially private."


def paired(repeats: pd.DataFrame, method: str) -> Table:
    """Difference in accuracy of each row to that of a method with the same data and eps.

    Of several rows of the method, that with the most settings in common. InputError if the method has no
    row, or several have as many.
    """
    rows = sorted((row for row in rows_of(repeats) if row.n), key=by_settings)
    others = [row for row in rows if row["method"] != method]
    if len(others) == len(rows):
        names = ", ".join(dict.fromkeys(str(row["method"]) for row in rows))
        raise InputError(f"--paired: {method!r}: no such method here; there are: {names}")
    settings = dict.fromkeys(name for row in others for name in row.left if name not in ("method", "job"))
    extras = [name for name in differing([row.columns for row in others], settings) if name != "dataset"]
    difference = f"less {method}"
    columns = [Head(head, numeric=False) for head in ("dataset", "mechanism")]
    columns += [Head(name, numeric=False, detail=True) for name in extras]
    columns += [Head(head) for head in ("eps", "accuracy ± ci95", f"{difference} ± ci95", "n")]
    cells, records, remarks = [], list[dict[str, Any]](), list[str]()
    for row in others:
        base, why = _base(row, [base for base in rows if base["method"] == method])
        gap = paired_difference(row, base, "accuracy") if base else None
        if why and why not in remarks:
            remarks.append(why)
        texts = [str(row["dataset"]), str(row["method"]), *(str(row[name] or ABSENT) for name in extras)]
        shown = number(gap, "+.4f") if gap else ABSENT
        n = gap.n if gap else 0
        cells.append([*texts, number(row["eps"], "g"), number(row.over("accuracy")), shown, str(n)])
        record = {"dataset": row["dataset"], "mechanism": row["method"]} | {
            name: row[name] for name in extras
        }
        record |= {"eps": row["eps"], "of": method, "n": n}
        records.append(record | flat({"accuracy": row.over("accuracy"), "difference": gap}))
    note = f"{EPS_NOTE} Differences repeat by repeat at the same splits: above 0, better than {method}. "
    return Table(columns, cells, records, f"{note}{_NOT_PRIVATE} {T_NOTE}.", remarks, EPS_NOTE)


def _base(row: MeasuredRow, bases: Sequence[MeasuredRow]) -> tuple[MeasuredRow | None, str]:
    """Row to compare another one with; None with the reason if there is none."""
    where = f"{row['dataset']}, {row['method']}, eps {number(row['eps'], 'g')}"
    alike = [base for base in bases if all(base[name] == row[name] for name in ("dataset", "eps"))]
    if not alike and row["eps"] == float("inf"):  # a baseline, the same at every eps
        return None, ""
    if not alike:
        return None, f"{where}: {bases[0]['method']} has no row with the same data and eps"
    same = [base for base in alike if not other_splits(row, base)]
    if not same:
        return None, f"{where}: {other_splits(row, alike[0])}"
    common = [sum(base[name] == row[name] for name in row.left) for base in same]
    best = [base for base, count in zip(same, common, strict=True) if count == max(common)]
    if len(best) > 1:
        apart = differing([base.columns for base in best], best[0].left)
        names = ", ".join(name for name in apart if name != "job") or "their directories"
        raise InputError(
            f"--paired {bases[0]['method']}: {where}: several of its rows fit, which differ in {names}; give "
            "the directories of one"
        )
    return best[0], ""


def compare(first: pd.DataFrame, second: pd.DataFrame) -> dict[str, Table]:
    """Put two results side by side: settings in which they differ, and paired differences of measures.

    Rows of results with several are paired by what differs between the rows of one.
    """
    rows = [rows_of(repeats) for repeats in (first, second)]
    pairs, remarks = _pairs(*rows)
    return {"settings": differences(*rows), "table": _measures(pairs, remarks)}


def differences(first: Sequence[MeasuredRow], second: Sequence[MeasuredRow]) -> Table:
    """Settings and public numbers whose values are not the same in two results, baselines apart.

    Where the file of one does not hold all settings (as that of a frontier), those that both have.
    """
    sides = [[row for row in rows if row["method"] not in BASELINES] or rows for rows in (first, second)]
    names = dict.fromkeys(n for rows in sides for row in rows for n in (*row.left, *_PUBLIC, "checksum"))
    whole = all(row["seed"] is not None for rows in sides for row in rows)
    records = []
    for name in names:
        values = [_values(rows, name) for rows in sides]
        if name != "job" and values[0] != values[1] and (whole or ABSENT not in values):
            records.append({"setting": name, "A": values[0], "B": values[1]})
    cells = [list(record.values()) for record in records]
    columns = [Head(head, numeric=False, prose=head != "setting") for head in ("setting", "A", "B")]
    remarks = [] if cells else ["A and B have the same settings"]
    if not whole:
        remarks.append("settings that only one of the files holds are left out")
    return Table(columns, cells, records, remarks=remarks)


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
    apart = [differing([row.columns for row in rows], names) for rows in (first, second)]
    keys = [name for name in names if name in {*apart[0], *apart[1]}]

    def key(row: MeasuredRow) -> tuple[Any, ...]:
        return tuple(row[name] for name in keys)

    def said(row: MeasuredRow) -> str:
        return " ".join(f"eps {row[n]:g}" if n == "eps" else str(row[n]) for n in keys if row[n] is not None)

    others = {key(row): row for row in second}
    pairs = [(said(row), row, others[key(row)]) for row in first if key(row) in others]
    done = {key(row) for _, row, _ in pairs}
    alone = {"A": first, "B": second}
    remarks = [
        f"only in {name}: {said(row)}" for name, rows in alone.items() for row in rows if key(row) not in done
    ]
    return pairs, remarks


def _measures(pairs: Sequence[tuple[str, MeasuredRow, MeasuredRow]], remarks: list[str]) -> Table:
    """Every measure of both, and its paired difference; of several rows a terminal shows accuracy alone."""
    several = len(pairs) > 1
    records, cells = list[dict[str, Any]](), []
    for said, row, other in pairs:
        why = other_splits(row, other)
        where = f"{said}: " if several else ""
        for side, each in (("A", row), ("B", other)):
            if each.status != "ok":
                remarks.append(f"{where}{side} {_ENDED.get(each.status, 'did not end')}: {each.reason}")
        for name in _names(row, other):
            means = [each.over(name) for each in (row, other)]
            gap = None if why else paired_difference(row, other, name)
            record = {"row": said or None, "measure": name} | flat({"A": means[0], "B": means[1]})
            records.append(
                record | flat({"difference": gap}) | {"n": gap.n if gap else 0, "reason": why or None}
            )
            shown = [*map(number, means), number(gap, "+.4f") if gap else ABSENT, str(gap.n if gap else 0)]
            if not several or name == "accuracy":
                cells.append([said if several else name, *shown])
        if why:
            remarks.append(f"{where}no paired differences: {why}")
    heads = ["row" if several else "measure", "A ± ci95", "B ± ci95", "A less B ± ci95", "n"]
    columns = [Head(head, numeric=index > 0) for index, head in enumerate(heads)]
    note = (
        f"{'Accuracy. ' * several}Differences repeat by repeat at the same splits. {_NOT_PRIVATE} {T_NOTE}."
    )
    return Table(columns, cells, records, f"{note} {EPS_NOTE}", remarks, EPS_NOTE)


def _names(*rows: MeasuredRow) -> Iterable[str]:
    """Measures of rows, accuracy first; the time they took last."""
    names = dict.fromkeys(name for row in rows for name in row.measures)
    return sorted(names, key=lambda name: (name == "seconds", name != "accuracy"))
