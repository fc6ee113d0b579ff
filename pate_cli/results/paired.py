"""Paired differences of the rows of a table to those of one method."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pate_cli.errors import InputError
from pate_cli.results.interval import EPS_NOTE, GAP_NOTE, MEASURED, T_NOTE
from pate_cli.results.means import MeasuredRow, by_settings, flat, lead, other_splits
from pate_cli.results.settings import differing
from pate_cli.results.tables import ABSENT, Head, Table, number

__all__ = ["paired"]


def paired(rows: Iterable[MeasuredRow], method: str) -> Table:
    """Difference in accuracy of each row to that of a method with the same data and eps.

    Of several rows of the method, that with the most settings in common. InputError if the method has no
    row, or several have as many.
    """
    rows = sorted((row for row in rows if row.n), key=by_settings)
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
    cells, records, footnotes = [], list[dict[str, Any]](), list[str]()
    for row in others:
        base, why = _base(row, [base for base in rows if base["method"] == method])
        gap = lead(row, base, "accuracy") if base else None
        if why and why not in footnotes:
            footnotes.append(why)
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
    note += f"{MEASURED} {T_NOTE}, {GAP_NOTE}; each holds by itself."
    return Table(columns, cells, records, note, footnotes, EPS_NOTE)


def _base(row: MeasuredRow, bases: Sequence[MeasuredRow]) -> tuple[MeasuredRow | None, str]:
    """Row to compare another one with; None with the reason if there is none."""
    where = f"{row['dataset']}, {row['method']}, eps {number(row['eps'], 'g')}"
    comparable = [base for base in bases if all(base[name] == row[name] for name in ("dataset", "eps"))]
    if not comparable and row["eps"] == float("inf"):  # a baseline, the same at every eps
        return None, ""
    if not comparable:
        return None, f"{where}: {bases[0]['method']} has no row with the same data and eps"
    same_splits = [base for base in comparable if not other_splits(row, base)]
    if not same_splits:
        return None, f"{where}: {other_splits(row, comparable[0])}"
    n_common = [sum(base[name] == row[name] for name in row.left) for base in same_splits]
    best = [base for base, count in zip(same_splits, n_common, strict=True) if count == max(n_common)]
    if len(best) > 1:
        settings = differing([base.columns for base in best], best[0].left)
        names = ", ".join(name for name in settings if name != "job") or "their directories"
        raise InputError(
            f"--paired {bases[0]['method']}: {where}: several of its rows fit, which differ in {names}; give "
            "the directories of one"
        )
    return best[0], ""
