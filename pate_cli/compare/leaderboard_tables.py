"""The tables of a leaderboard: winners, ranks, paired differences, and every row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pate_cli.compare.baselines import LIMIT, NOT_PRIVATE, TRUE_LABELS
from pate_cli.compare.boards import METRICS, Board, Metric, Place
from pate_cli.compare.ranking import Ranking
from pate_cli.report.frame import flat, pivoted
from pate_cli.report.interval import T_NOTE, Interval
from pate_cli.report.table import ABSENT, Column, Table, number

__all__ = ["paired", "ranks_table", "rows_table", "winners"]


def winners(places: Sequence[Place], first: str) -> Table:
    """Best method of each table and budget, its distance to the limit, and that of the first method.

    Parameters
    ----------
    places : sequence of Place
        At least one, a line each.
    first : str
        The method named first.
    """
    metric = places[0].metric
    columns = [
        *(Column("table", numeric=False), Column("eps"), Column("best method", numeric=False)),
        *(Column(_head(metric.name)), Column(LIMIT, detail=True)),
        Column(f"its {metric.unit} below the {LIMIT}"),
        Column(f"{metric.unit} of {first} below the {LIMIT}", detail=True),
        Column(f"{metric.unit} of {first} above the best other method"),
        Column(TRUE_LABELS, detail=True),
    ]
    cells, records = [], []
    for place in places:
        order, row, table = place.order, place.board.row(first, place.eps), place.board.name
        best = order[0] if order else None
        other = next((name for name in order if name != first), None)
        value = place.values[best] if best else None
        limit, true = (place.board.baselines[name].over(metric.name) for name in (LIMIT, TRUE_LABELS))
        gap = place.below(best) if best else None
        ours = place.below(first) if first in order else None
        lead = place.lead(first, other) if first in order and other else None
        cells.append(
            [table, f"{place.eps:g}", best or ABSENT, number(value), number(limit), metric.text(gap)]
        )
        cells[-1] += [metric.text(ours) if first in order else row.status, metric.text(lead, sign=True)]
        cells[-1] += [number(true)]
        run = row.planned.prepared
        record: dict[str, Any] = {"table": table, "eps": place.eps, "metric": metric.name}
        record |= {"n_private": run and run.sizes.n_private, "delta": run and run.delta}
        record |= {"best": best, "first": first, "other": other}
        found = {metric.name: value, "without_privacy": limit, "student_on_true_labels": true}
        found |= {f"best_below_{metric.unit}": gap, f"first_below_{metric.unit}": ours}
        records.append(record | flat(found | {f"first_above_other_{metric.unit}": lead}))
    note = (
        f"Mean {metric.words} on held-out records and differences at the same splits; {T_NOTE}. The limit is "
        f"the {LIMIT}: it, the student on true labels and the measuring are {NOT_PRIVATE}. eps is the "
        "guarantee of one repeat, for one record replaced by another."
    )
    return Table(columns, cells, records, note)


def _head(metric: str) -> str:
    return f"{metric} ± ci95"


def ranks_table(
    ranks: Mapping[float, Mapping[str, Ranking]],
    gaps: Mapping[tuple[float, str], Sequence[float]],
    metric: Metric,
    n_tables: int,
    first: str,
) -> Table:
    """Rank the methods at each budget, over tables.

    Parameters
    ----------
    ranks : mapping of float to mapping of str to Ranking
        By eps and method.
    gaps : mapping of (float, str) to sequence of float
        By eps and method: distances to the limit, of each table where there is one.
    metric : Metric
    n_tables : int
    first : str
        The method that the others are tested against.
    """
    columns = [Column("eps"), Column("method", numeric=False), Column("mean rank"), Column("win rate")]
    columns += [Column("first on", "tables"), Column(f"{metric.unit} below the {LIMIT}")]
    columns += [Column(f"p against {first}")]
    cells, records = [], []
    for eps, those in ranks.items():
        for name, one in sorted(those.items(), key=lambda item: item[1].rank.mean):
            held = gaps[eps, name]
            gap = Interval.of(held) if held else None
            of = f" ({len(held)})" if 0 < len(held) < n_tables else ""
            cells.append([f"{eps:g}", name, number(one.rank, ".2f"), number(one.wins, ".2f")])
            cells[-1] += [str(one.firsts), f"{metric.text(gap)}{of}", number(one.p, ".3g")]
            found = {"mean_rank": one.rank, "win_rate": one.wins, f"below_{metric.unit}": gap}
            record = {"eps": eps, "method": name, "tables": n_tables, "tables_below": len(held)}
            records.append(record | flat(found) | {"first_on": one.firsts, "p": one.p})
    note = (
        f"Over {n_tables} tables, by the mean {metric.words} of each: ± is half a 95% interval of Student's "
        "t over tables, as if drawn at random from those one might have. A method without a value on a table "
        "is last there; the gap leaves such tables out (how many are left, in brackets). p: Wilcoxon's "
        f"signed-rank test against {first} over tables, corrected by Holm; {ABSENT} where too few allow none."
    )
    return Table(columns, cells, records, note)


def paired(
    boards: Sequence[Board], methods: Sequence[str], budgets: Sequence[float], metric: Metric
) -> dict[str, Table]:
    """Hold the first method against each other on each table, repeat by repeat; nothing if it is alone."""
    first, *others = methods
    if not others:
        return {}
    shown: dict[tuple[str, ...], dict[str, str]] = {}
    records = []
    for board in boards:
        for other in others:
            leads = {eps: Place(board, eps, metric).lead(first, other) for eps in budgets}
            shown[board.name, other] = {
                f"eps {eps:g}": metric.text(lead, sign=True) for eps, lead in leads.items()
            }
            for eps, lead in leads.items():
                record = {"table": board.name, "of": first, "above": other, "eps": eps}
                found = flat({f"{metric.name}_{metric.unit}": lead})
                records.append(record | {"n": lead.n if lead else 0} | found)
    note = f"Differences in {metric.words} at the same splits, in {metric.unit}; above 0, {first} is better."
    keys = [Column("table", numeric=False), Column(f"{first} above", numeric=False)]
    columns, cells = pivoted(keys, [f"eps {eps:g}" for eps in budgets], shown)
    return {"paired": Table(columns, cells, records, f"{note} {T_NOTE}.")}


def rows_table(boards: Sequence[Board], metric: Metric) -> Table:
    """Every row and every baseline with every metric."""
    columns = [Column("table", numeric=False), Column("method", numeric=False), Column("eps")]
    columns += [Column(_head(name)) for name in METRICS]
    columns += [Column(f"{metric.unit} below the {LIMIT}"), Column("n"), Column("status", numeric=False)]
    cells, records = [], []
    for board in boards:
        table = board.name
        for row in board.rows:
            method, run = row.method, row.planned.prepared
            means = {name: row.over(name) for name in METRICS}
            below = Place(board, row.eps, metric).below(method)
            cells.append([table, method, f"{row.eps:g}", *map(number, means.values()), metric.text(below)])
            cells[-1] += [str(len(row.units)), row.status]
            record = {"table": table, "kind": "method", "method": method, "eps": row.eps}
            record |= {"delta": run and run.plan.guarantee.delta, "guarantee": "differentially private"}
            record |= {"n": len(row.units), "status": row.status, "reason": row.message or None}
            records.append(record | flat(means))
        for one in board.baselines.values():
            means, status = {name: one.over(name) for name in METRICS}, one.status
            cells.append([table, f"{one.name} ({NOT_PRIVATE})", "∞", *map(number, means.values()), ABSENT])
            cells[-1] += [str(len(one.units)), status]
            record = {"table": table, "kind": "yardstick", "method": one.name, "eps": math.inf, "delta": None}
            record |= {"guarantee": NOT_PRIVATE, "n": len(one.units), "status": status}
            record["reason"] = one.message or None
            records.append(record | flat(means))
    note = f"{ABSENT} where a student gives no scores, or no probabilities. {T_NOTE}."
    return Table(columns, cells, records, note)
