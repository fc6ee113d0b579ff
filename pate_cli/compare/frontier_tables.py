"""Tables of a frontier: methods by budget, every run, further metrics, paired differences."""

from __future__ import annotations

import math
from typing import Any

from pate_cli.compare.baselines import NOT_PRIVATE
from pate_cli.compare.boards import Board
from pate_cli.report.frame import flat, paired_difference, pivoted
from pate_cli.report.interval import T_NOTE
from pate_cli.report.runs_table import METRICS
from pate_cli.report.table import Column, Table, number
from pate_cli.reproduce.rows import DoneRow

__all__ = ["methods_table", "metrics_table", "paired_table", "runs_table"]

_NOTE = (
    f"Mean accuracy on held-out records; {T_NOTE}; the measuring itself is not differentially private. "
    "eps is the guarantee of one repeat, for one record replaced by another."
)


def methods_table(board: Board, delta: float | None) -> Table:
    """Accuracy: a line a method or baseline and a column a budget; as CSV a line for each of both."""
    budgets = board.budgets
    shown: dict[tuple[str, ...], dict[str, str]] = {}
    guarantees, records = [], []
    for name in board.methods:
        those = {row.eps: row for row in board.rows if row.method == name}
        pure = any(_delta(row) == 0 for row in those.values())
        guarantees.append("(eps, 0)-DP" if pure else "(eps, delta)-DP")
        shown[(name,)] = {f"eps {eps:g}": _accuracy(those[eps]) for eps in budgets}
        records += [_record(those[eps]) for eps in budgets]
    for one in board.baselines.values():
        guarantees.append("not private")
        shown[(one.name,)] = {f"eps {eps:g}": number(one.over("accuracy")) for eps in budgets}
        blank = dict.fromkeys(records[0])
        records.append(
            blank
            | {"kind": "yardstick", "method": one.name, "guarantee": NOT_PRIVATE, "eps": float("inf")}
            | {"n": len(one.units), "status": one.status}
            | flat({name: one.over(name) for name in ("accuracy", *METRICS)})
        )
    columns, cells = pivoted([Column("method", numeric=False)], [f"eps {eps:g}" for eps in budgets], shown)
    columns.append(Column("guarantee", numeric=False))
    cells = [[*row, guarantee] for row, guarantee in zip(cells, guarantees, strict=True)]
    return Table(columns, cells, records, f"{_NOTE} delta = {number(delta, '.3g')}.")


def _delta(row: DoneRow) -> float | None:
    return row.planned.prepared.plan.guarantee.delta if row.planned.prepared else None


def _accuracy(row: DoneRow) -> str:
    found = row.over("accuracy")
    return row.status if found is None else number(found)


def _mean(row: DoneRow, name: str, digits: int) -> str:
    found = row.over(name)
    unasked = row.budget is None and name in ("answered", "asked")  # nobody asks a private learner
    return number(None if found is None or unasked else found.mean, f".{digits}f")


def _record(row: DoneRow) -> dict[str, Any]:
    record: dict[str, Any] = {
        "kind": "method",
        "method": row.method,
        "dataset": row.dataset,
        "eps": row.eps,
        "delta": _delta(row),
        "guarantee": "differentially private",
        "status": row.status,
        "n": len(row.units),
        "n_teachers": row.n_teachers,
        "cutoff": row.cutoff,
    }
    names = ("accuracy", "answered", "asked", "eps_ex_post", "label_accuracy", "ceiling", *METRICS)
    return record | flat({name: row.over(name) for name in names}) | {"reason": row.message or None}


def metrics_table(board: Board) -> Table:
    """Further metrics of each row and baseline."""
    columns = [Column("method", numeric=False), Column("eps"), Column("accuracy ± ci95")]
    columns += [Column(name.replace("_", " ")) for name in METRICS]
    several = [
        *((row.method, row.eps, row) for row in board.rows),
        *((one.name, math.inf, one) for one in board.baselines.values()),
    ]
    cells, records = [], []
    for name, eps, one in several:
        found = {metric: one.over(metric) for metric in ("accuracy", *METRICS)}
        cells.append([name, f"{eps:g}", *(number(each) for each in found.values())])
        records.append({"method": name, "eps": eps} | flat(found))
    meanings = "; ".join(f"{name.replace('_', ' ')}: {meaning}" for name, meaning in METRICS.items())
    note = f"On held-out records, {NOT_PRIVATE}. {meanings[0].upper()}{meanings[1:]}. {T_NOTE}."
    return Table(columns, cells, records, note)


def runs_table(board: Board) -> Table:
    """Every row of a method with its queries and eps_ex_post."""
    columns = [Column("method", numeric=False), Column("eps"), Column("teachers"), Column("T")]
    columns += [Column("answered", "queries"), Column("asked", "queries"), Column("eps_ex_post")]
    columns += [Column("accuracy ± ci95"), Column("n"), Column("status", numeric=False)]
    cells = []
    for row in board.rows:
        line = [
            row.method,
            f"{row.eps:g}",
            number(row.n_teachers or None, ",d"),
            number(row.cutoff, "d"),
        ]
        line += [_mean(row, "answered", 1), _mean(row, "asked", 1), _mean(row, "eps_ex_post", 4)]
        line += [_accuracy(row), str(len(row.units)), row.status]
        cells.append(line)
    note = "eps_ex_post depends on the outputs: a report, not a guarantee."
    return Table(columns, cells, [_record(row) for row in board.rows], note)


def paired_table(board: Board) -> dict[str, Table]:
    """Differences to the first method, repeat by repeat; none if it is alone."""
    names = board.methods
    budgets = board.budgets
    if len(names) < 2:
        return {}
    at = {(row.method, row.eps): row.repeats for row in board.rows}
    others = {name: {eps: at[name, eps] for eps in budgets} for name in names[1:]}
    others |= {
        f"{one.name} ({NOT_PRIVATE})": dict.fromkeys(budgets, one.repeats) for one in board.baselines.values()
    }
    shown: dict[tuple[str, ...], dict[str, str]] = {}
    records = []
    for name, repeats in others.items():
        gaps = {eps: paired_difference(at[names[0], eps], repeats[eps], "accuracy") for eps in budgets}
        shown[(name,)] = {f"eps {eps:g}": gap.text(sign=True) for eps, gap in gaps.items() if gap}
        for eps, gap in gaps.items():
            pair = {"of": names[0], "minus": name, "eps": eps, "n": gap.n if gap else 0}
            records.append(pair | flat({"accuracy": gap}))
    note = f"Differences in accuracy at the same splits, repeat by repeat. {T_NOTE}."
    heads = [f"eps {eps:g}" for eps in budgets]
    columns, cells = pivoted([Column(f"{names[0]} less", numeric=False)], heads, shown)
    return {"paired": Table(columns, cells, records, note)}
