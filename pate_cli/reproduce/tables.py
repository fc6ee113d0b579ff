"""Tables of a recipe of runs: ours beside the printed numbers, and paired differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pate_cli.report.frame import flat
from pate_cli.report.interval import T_NOTE, Interval
from pate_cli.report.table import Column, Table, number
from pate_cli.report.verdict import Verdict, rule
from pate_cli.reproduce.rows import DoneRow, Pair
from pate_cli.reproduce.verdicts import digits_of, signed

__all__ = ["paired_table", "runs_table"]

NOTE = (
    "eps is the guarantee of one repeat; eps_ex_post depends on the outputs: a report, not a guarantee. "
    "Accuracy is measured on held-out records: not differentially private. "
    f"{T_NOTE}; the paper's is as it is printed, and a difference is from the printed number itself."
)
_PAIRED = ("accuracy", "answered", "eps_ex_post")
_DIAGNOSTICS = ("label_agreement", "label_accuracy", "vote_accuracy", "teacher_accuracy", "ceiling")


def runs_table(rows: Sequence[DoneRow], verdicts: dict[str, Verdict], margin: float) -> Table:
    """Every row; ours beside the paper's and a verdict, where anything is printed."""
    printed = bool(verdicts)
    several = {
        "panel": any(row.planned.spec.panel for row in rows),
        "cutoff": any(row.cutoff is not None for row in rows),
    }
    columns = [Column("dataset", numeric=False), Column("method", numeric=False)]
    if several["panel"]:
        columns.insert(0, Column("panel", numeric=False))
    columns.append(Column("teachers", detail=True))
    if several["cutoff"]:
        columns.append(Column("T"))
    columns.append(Column("eps"))
    if printed:
        columns += [Column("ours", "queries answered", detail=True)]
        columns += [Column("paper", "queries answered", detail=True)]
        columns += [
            Column(head, "eps_ex_post", detail=True) for head in ("ours", "at the paper's queries", "paper")
        ]
        columns += [Column(head, "accuracy ± ci95") for head in ("ours", "paper", "difference")]
        columns += [Column("verdict", numeric=False, tags=True)]
    else:
        columns += [Column("answered", "queries"), Column("asked", "queries"), Column("eps_ex_post")]
        columns += [Column("accuracy ± ci95"), Column("label agreement", detail=True)]
        columns += [Column("status", numeric=False)]
    columns.insert(-1, Column("n", detail=True))
    cells = []
    for row in rows:
        spec, p = row.planned.spec, row.printed
        line = [spec.panel] if several["panel"] else []
        line += [row.dataset, row.method, _count(row.n_teachers)]
        line += [_count(row.cutoff)] if several["cutoff"] else []
        line.append(number(row.eps, "g"))
        accuracy, gap = row.over("accuracy"), row.difference
        if printed:
            verdict = verdicts.get(spec.name)
            word = "" if verdict is None else row.status if row.status != "ok" else verdict.verdict
            line += [_mean(row.over("answered"), ".1f"), number(p.get("queries"), "g", p.get("queries_ci"))]
            line += [_mean(row.over("eps_ex_post"), ".4f", ci=False)]
            line += [number(row.eps_ex_post_at_printed), number(p.get("eps_ex_post"))]
            line += [_mean(accuracy), number(p.get("accuracy"), ".4f", p.get("ci"))]
            line += ["–" if gap is None else signed(gap), str(len(row.units)), word]
        else:
            line += [_mean(row.over("answered"), ".1f"), _mean(row.over("asked"), ".1f")]
            line += [_mean(row.over("eps_ex_post"), ".4f", ci=False), _mean(accuracy)]
            line += [_mean(row.over("label_agreement")), str(len(row.units)), row.status]
        cells.append(line)
    note = f"{NOTE} {rule(len(verdicts), margin)}" if printed else NOTE
    records = [_record(row, verdicts.get(row.name)) for row in rows]
    return Table(columns, cells, records, note)


def _record(row: DoneRow, verdict: Verdict | None) -> dict[str, Any]:
    """Make a row of `table.csv`: everything, nothing rounded."""
    record: dict[str, Any] = {
        "name": row.name,
        "panel": row.planned.spec.panel,
        "dataset": row.dataset,
        "method": row.method,
        "status": row.status,
        "n_teachers": row.n_teachers,
        "cutoff": row.cutoff,
        "budget": row.budget,
        "n": len(row.units),
        "eps": row.eps,
        "delta": row.planned.prepared.delta if row.planned.prepared else None,
    }
    names = ("answered", "asked", "eps_ex_post", "accuracy", *_DIAGNOSTICS)
    record |= flat({name: row.over(name) for name in names})
    for name in ("queries", "queries_ci", "eps_ex_post", "accuracy", "ci"):
        record[f"printed_{name}"] = row.printed.get(name)
    return record | {
        "eps_ex_post_at_printed_queries": row.eps_ex_post_at_printed,
        **flat({"difference": row.difference}),
        "majority_rate": row.majority,
        "verdict": verdict.verdict if verdict else None,
        "reason": verdict.reason if verdict else row.message or None,
        "note": row.planned.spec.note or None,
    }


def paired_table(compared: Sequence[Pair]) -> Table:
    """Differences of two methods at the same splits."""
    columns = [Column("case", numeric=False), Column("difference", numeric=False), Column("n")]
    columns += [Column(name.replace("answered", "queries answered")) for name in _PAIRED]
    cells, records = [], []
    for pair in compared:
        names = f"{pair.of.method} - {pair.minus.method}"
        gaps = {name: pair.over(name) for name in _PAIRED}
        n = gaps["accuracy"].n if gaps["accuracy"] else 0
        shown = ["–" if gap is None else signed(gap, digits_of(name)) for name, gap in gaps.items()]
        cells.append([pair.case, names, str(n), *shown])
        record: dict[str, Any] = {
            "of": pair.of.name,
            "minus": pair.minus.name,
            "dataset": pair.of.dataset,
            "eps": pair.of.eps,
            "n": n,
        }
        records.append(record | flat(gaps))
    note = f"Differences at the same splits, teachers, votes and order of points, repeat by repeat. {T_NOTE}."
    return Table(columns, cells, records, note)


def _mean(found: Interval | None, form: str = ".4f", *, ci: bool = True) -> str:
    if found is not None and form == ".1f" and found.half_width == 0 and found.mean.is_integer():
        return f"{found.mean:.0f}"
    return number(found if ci else found and found.mean, form)


def _count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"
