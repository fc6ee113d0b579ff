"""Tables of a recipe of runs: ours beside the printed numbers, and paired differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pate_cli.report.frame import flat
from pate_cli.report.interval import T_NOTE, Interval
from pate_cli.report.table import ABSENT, Column, Table, number
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
    shown: list[tuple[Column, Callable[[DoneRow], str]]] = [
        (Column("panel", numeric=False), lambda row: row.planned.spec.panel),
        (Column("dataset", numeric=False), lambda row: row.dataset),
        (Column("method", numeric=False), lambda row: row.method),
        (Column("teachers", detail=True), lambda row: _count(row.n_teachers)),
        (Column("T"), lambda row: _count(row.cutoff)),
        (Column("eps"), lambda row: number(row.eps, "g")),
        *(_compared(verdicts) if verdicts else _measured()),
    ]
    shown.insert(-1, (Column("n", detail=True), lambda row: str(len(row.units))))
    absent = {"panel": not any(row.planned.spec.panel for row in rows)}
    absent["T"] = all(row.cutoff is None for row in rows)
    shown = [(column, text) for column, text in shown if not absent.get(column.header)]
    return Table(
        [column for column, _ in shown],
        [[text(row) for _, text in shown] for row in rows],
        [_record(row, verdicts.get(row.name)) for row in rows],
        f"{NOTE} {rule(len(verdicts), margin)}" if verdicts else NOTE,
    )


def _measured() -> list[tuple[Column, Callable[[DoneRow], str]]]:
    """Columns where nothing is printed."""
    return [
        (Column("answered", "queries"), lambda row: _mean(row.over("answered"), ".1f")),
        (Column("asked", "queries"), lambda row: _mean(row.over("asked"), ".1f")),
        (Column("eps_ex_post"), lambda row: _mean(row.over("eps_ex_post"), ci=False)),
        (Column("accuracy ± ci95"), lambda row: _mean(row.over("accuracy"))),
        (Column("label agreement", detail=True), lambda row: _mean(row.over("label_agreement"))),
        (Column("status", numeric=False), lambda row: row.status),
    ]


def _compared(verdicts: dict[str, Verdict]) -> list[tuple[Column, Callable[[DoneRow], str]]]:
    """Columns of ours beside the paper's."""
    queries, loss, accuracy = "queries answered", "eps_ex_post", "accuracy ± ci95"

    def printed(name: str, form: str = ".4f", ci: str = "") -> Callable[[DoneRow], str]:
        return lambda row: number(row.printed.get(name), form, row.printed.get(ci))

    def verdict(row: DoneRow) -> str:
        judged = verdicts.get(row.name)
        return "" if judged is None else row.status if row.status != "ok" else judged.verdict

    return [
        (Column("ours", queries, detail=True), lambda row: _mean(row.over("answered"), ".1f")),
        (Column("paper", queries, detail=True), printed("queries", "g", "queries_ci")),
        (Column("ours", loss, detail=True), lambda row: _mean(row.over("eps_ex_post"), ci=False)),
        (
            Column("at the paper's queries", loss, detail=True),
            lambda row: number(row.eps_ex_post_at_printed),
        ),
        (Column("paper", loss, detail=True), printed("eps_ex_post")),
        (Column("ours", accuracy), lambda row: _mean(row.over("accuracy"))),
        (Column("paper", accuracy), printed("accuracy", ci="ci")),
        (
            Column("difference", accuracy),
            lambda row: ABSENT if row.difference is None else signed(row.difference),
        ),
        (Column("verdict", numeric=False, tags=True), verdict),
    ]


def _record(row: DoneRow, verdict: Verdict | None) -> dict[str, Any]:
    """Make a row of `table.csv`: everything, nothing rounded."""
    prepared = row.planned.prepared
    record: dict[str, Any] = {"name": row.name, "panel": row.planned.spec.panel}
    record |= {"dataset": row.dataset, "method": row.method, "status": row.status}
    record |= {"n_teachers": row.n_teachers, "cutoff": row.cutoff, "budget": row.budget}
    record |= {"n": len(row.units), "eps": row.eps, "delta": prepared.delta if prepared else None}
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
        gaps = {name: pair.over(name) for name in _PAIRED}
        n = gaps["accuracy"].n if gaps["accuracy"] else 0
        shown = [ABSENT if gap is None else signed(gap, digits_of(name)) for name, gap in gaps.items()]
        cells.append([pair.case, f"{pair.of.method} - {pair.minus.method}", str(n), *shown])
        record: dict[str, Any] = {"of": pair.of.name, "minus": pair.minus.name}
        record |= {"dataset": pair.of.dataset, "eps": pair.of.eps, "n": n}
        records.append(record | flat(gaps))
    note = f"Differences at the same splits, teachers, votes and order of points, repeat by repeat. {T_NOTE}."
    return Table(columns, cells, records, note)


def _mean(found: Interval | None, form: str = ".4f", *, ci: bool = True) -> str:
    if found is not None and form == ".1f" and found.half_width == 0 and found.mean.is_integer():
        return f"{found.mean:.0f}"
    return number(found if ci else found and found.mean, form)


def _count(value: int | None) -> str:
    return ABSENT if value is None else f"{value:,}"
