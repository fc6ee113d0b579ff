"""Tables of a frontier or a leaderboard: views of the same rows, in which the data set is one more column."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from pate_cli.results.boards import (
    BASELINES,
    LIMIT,
    METRICS,
    NOT_PRIVATE,
    TRUE_LABELS,
    Board,
    Metric,
    Standing,
)
from pate_cli.results.interval import T_NOTE, Interval
from pate_cli.results.means import MeasuredRow, flat, pivoted
from pate_cli.results.overview import METRICS as FIGURES
from pate_cli.results.settings import PURE
from pate_cli.results.tables import ABSENT, Column, Table, number

__all__ = ["frontier_tables", "leaderboard_tables"]

_QUERIES = ("answered", "asked", "eps_ex_post", "label_accuracy", "ceiling")


def _with_ci(*names: str) -> list[str]:
    return [column for name in names for column in (name, f"{name}_ci95")]


_FRONTIER = ["kind", "method", "dataset", "eps", "delta", "guarantee", "status", "n", "n_teachers", "cutoff"]
_FRONTIER += [*_with_ci("accuracy", *_QUERIES, *FIGURES), "reason"]
_LEADERBOARD = ["table", "kind", "method", "eps", "delta", "guarantee", "n", "status", "reason"]
_LEADERBOARD += _with_ci(*METRICS)


def _record(board: Board, row: MeasuredRow) -> dict[str, Any]:
    """Every number of a row, unrounded; a baseline has no queries."""
    record: dict[str, Any] = {"table": board.name, "method": row["method"], "eps": row["eps"], "n": row.n}
    record |= {"status": row.status, "reason": row.reason or None}
    record |= flat({name: row.over(name) for name in ("accuracy", *FIGURES)})
    if row["method"] in BASELINES:
        return record | {"kind": "yardstick", "guarantee": NOT_PRIVATE}
    record |= {"kind": "method", "guarantee": "differentially private", "dataset": row["dataset"]}
    record |= {"delta": _delta(row), "n_teachers": _whole(row["n_teachers"]), "cutoff": _whole(row["cutoff"])}
    return record | flat({name: row.over(name) for name in _QUERIES})


def _delta(row: MeasuredRow) -> float | None:
    """Delta of the guarantee, which a pure mechanism does not use."""
    return 0.0 if row["guarantee"] == PURE else row["delta"]


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _cells(board: Board, row: MeasuredRow) -> dict[str, str]:
    """Cells of a row by the heading of their column."""
    private, metric = row["method"] not in BASELINES, board.metric
    means = {name: row.mean(name) for name in _QUERIES}
    if row["budget"] is None:  # of a private learner, which asks nothing
        means |= {"answered": None, "asked": None}
    below = board.below(row["method"], row["eps"]) if private and metric.unit else None
    return {
        "table": board.name,
        "method": row["method"] if private else f"{board.shown(row['method'])} ({NOT_PRIVATE})",
        "eps": number(row["eps"], "g"),
        "teachers": number(_whole(row["n_teachers"]) or None, ",d"),
        "T": number(_whole(row["cutoff"]), "d"),
        "answered": number(means["answered"], ".1f"),
        "asked": number(means["asked"], ".1f"),
        "eps used": number(means["eps_ex_post"]),
        **{_head(name): number(row.over(name)) for name in ("accuracy", *FIGURES)},
        _below(metric): metric.text(below),
        "n": str(row.n),
        "status": row.status,
    }


def _head(metric: str) -> str:
    return f"{metric} ± ci95"


def _below(metric: Metric) -> str:
    return f"{metric.unit} below the {LIMIT}"


def _rows_table(
    boards: Sequence[Board], columns: Sequence[Column], names: Sequence[str], note: str, *, baselines: bool
) -> Table:
    """A line a row, with chosen columns; `names` are those in CSV."""
    rows = [(b, row) for b in boards for row in (*b.rows, *(b.baselines.values() if baselines else ()))]
    cells = [_cells(board, row) for board, row in rows]
    records = [_record(board, row) for board, row in rows]
    return Table(
        list(columns),
        [[line[column.header] for column in columns] for line in cells],
        [{name: record.get(name) for name in names} for record in records],
        note,
    )


def _columns(*heads: str) -> list[Column]:
    return [Column(head, numeric=head not in ("table", "method", "status")) for head in heads]


def _at(eps: float) -> str:
    return f"eps {eps:g}"


def frontier_tables(board: Board) -> dict[str, Table]:
    """Accuracy by method and budget, every row, further metrics, and paired differences."""
    queries = [Column("answered", "queries"), Column("asked", "queries")]
    rows = [*_columns("method", "eps", "teachers", "T"), *queries]
    rows += _columns("eps used", _head("accuracy"), "n", "status")
    spent = "eps used depends on the outputs: a report, not a guarantee."
    metrics = _columns("method", "eps", *map(_head, ("accuracy", *FIGURES)))
    meanings = "; ".join(f"{name}: {meaning}" for name, meaning in FIGURES.items())
    figures = f"On held-out records, {NOT_PRIVATE}. {meanings}. {T_NOTE}."
    names = ["method", "eps", *_with_ci("accuracy", *FIGURES)]
    return {
        "table": _methods_table(board),
        "rows": _rows_table([board], rows, _FRONTIER, spent, baselines=False),
        "metrics": _rows_table([board], metrics, names, figures, baselines=True),
        **_paired([board], "minus"),
    }


def leaderboard_tables(
    boards: Sequence[Board], standings: Mapping[float, Mapping[str, Standing]]
) -> dict[str, Table]:
    """Best methods, ranks, paired differences, and every row."""
    below = _below(boards[0].metric)
    columns = _columns("table", "method", "eps", *map(_head, METRICS), below, "n", "status")
    note = f"{ABSENT} where a student gives no scores, or no probabilities. {T_NOTE}."
    return {
        "table": _winners(boards),
        "ranks": _ranks(boards, standings),
        **_paired(boards, "above"),
        "rows": _rows_table(boards, columns, _LEADERBOARD, note, baselines=True),
    }


def _methods_table(board: Board) -> Table:
    """Accuracy: a line a method or baseline and a column a budget; as CSV a line for each of both."""
    shown: dict[tuple[str, ...], dict[str, str]] = {}
    guarantees = []
    for name in (*board.methods, *board.baselines):
        by_eps = {eps: board.row(name, eps) for eps in board.budgets}
        pure = any(_delta(row) == 0 for row in by_eps.values())
        private = "(eps, 0)-DP" if pure else "(eps, delta)-DP"
        guarantees.append("not private" if name in BASELINES else private)
        means = {eps: row.over("accuracy") for eps, row in by_eps.items()}
        shown[(board.shown(name),)] = {
            _at(eps): number(one) if one else by_eps[eps].status for eps, one in means.items()
        }
    columns, cells = pivoted(_columns("method"), list(map(_at, board.budgets)), shown)
    delta = max((row["delta"] for row in board.every if row["delta"] is not None), default=None)
    note = (
        f"Mean accuracy on held-out records; {T_NOTE}; the measuring itself is not differentially private. "
        "eps is the guarantee of one repeat, for one record replaced by another. "
        f"delta = {number(delta, '.3g')}."
    )
    return Table(
        [*columns, Column("guarantee", numeric=False)],
        [[*row, guarantee] for row, guarantee in zip(cells, guarantees, strict=True)],
        [
            {name: record.get(name) for name in _FRONTIER}
            for record in (_record(board, row) for row in (*board.rows, *board.baselines.values()))
        ],
        note,
    )


def _paired(boards: Sequence[Board], word: str) -> dict[str, Table]:
    """Differences of the first method to the others, repeat by repeat; none if it is alone."""
    (first, *others), metric = boards[0].methods, boards[0].metric
    if not others:
        return {}
    several = word == "above"  # a leaderboard, whose baselines are in its other tables
    shown: dict[tuple[str, ...], dict[str, str]] = {}
    records = []
    for board in boards:
        against = {name: name for name in others}
        if not several:
            against |= {name: f"{board.shown(name)} ({NOT_PRIVATE})" for name in board.baselines}
        for name, full in against.items():
            leads = {eps: board.lead(first, name, eps) for eps in board.budgets}
            key = (board.name, full) if several else (full,)
            shown[key] = {_at(eps): metric.text(lead, sign=True) for eps, lead in leads.items()}
            for eps, lead in leads.items():
                record: dict[str, Any] = {"table": board.name} if several else {}
                record |= {"of": first, word: full, "eps": eps, "n": lead.n if lead else 0}
                records.append(record | flat({"_".join(filter(None, [metric.name, metric.unit])): lead}))
    unit = f", in {metric.unit}" if metric.unit else ""
    note = f"Differences in {metric.words} at the same splits, repeat by repeat{unit}; above 0, {first} is"
    keys = [*_columns("table")[:several], Column(f"{first} {'above' if several else 'less'}", numeric=False)]
    columns, cells = pivoted(keys, list(map(_at, boards[0].budgets)), shown)
    return {"paired": Table(columns, cells, records, f"{note} better. {T_NOTE}.")}


def _winners(boards: Sequence[Board]) -> Table:
    """Best method of each table and budget, its distance to the limit, and that of the first method."""
    metric, first = boards[0].metric, boards[0].methods[0]
    columns = [
        *(Column("table", numeric=False), Column("eps"), Column("best method", numeric=False)),
        *(Column(_head(metric.name)), Column(LIMIT, detail=True)),
        Column(f"its {_below(metric)}"),
        Column(f"{metric.unit} of {first} below the {LIMIT}", detail=True),
        Column(f"{metric.unit} of {first} above the best other method"),
        Column(TRUE_LABELS, detail=True),
    ]
    cells, records = [], []
    for board, eps in itertools.product(boards, boards[0].budgets):
        values, row = board.values(eps), board.row(first, eps)
        best, other = next(iter(values), None), next((name for name in values if name != first), None)
        value = values[best] if best else None
        limit, true = (board.baselines[name].over(metric.name) for name in (LIMIT, TRUE_LABELS))
        gap = board.below(best, eps) if best else None
        ours = board.below(first, eps) if first in values else None
        lead = board.lead(first, other, eps) if first in values and other else None
        line = [board.name, f"{eps:g}", best or ABSENT, number(value), number(limit), metric.text(gap)]
        line += [metric.text(ours) if first in values else row.status, metric.text(lead, sign=True)]
        cells.append([*line, number(true)])
        record: dict[str, Any] = {"table": board.name, "eps": eps, "metric": metric.name}
        record |= {"n_private": _whole(row["n_private"]), "delta": row["delta"]}
        record |= {"best": best, "first": first, "other": other}
        numbers = {metric.name: value, "without_privacy": limit, "student_on_true_labels": true}
        numbers |= {f"best_below_{metric.unit}": gap, f"first_below_{metric.unit}": ours}
        records.append(record | flat(numbers | {f"first_above_other_{metric.unit}": lead}))
    note = (
        f"Mean {metric.words} on held-out records and differences at the same splits; {T_NOTE}. The limit is "
        f"the {LIMIT}: it, the student on true labels and the measuring are {NOT_PRIVATE}. eps is the "
        "guarantee of one repeat, for one record replaced by another."
    )
    return Table(columns, cells, records, note)


def _ranks(boards: Sequence[Board], standings: Mapping[float, Mapping[str, Standing]]) -> Table:
    """Ranks of the methods at each budget, over tables."""
    metric, first, n = boards[0].metric, boards[0].methods[0], len(boards)
    columns = [Column("eps"), Column("method", numeric=False), Column("mean rank"), Column("win rate")]
    columns += [Column("first on", "tables"), Column(_below(metric)), Column(f"p against {first}")]
    cells, records = [], []
    for eps, by_method in standings.items():
        for name, (ranking, _, gaps) in sorted(by_method.items(), key=lambda item: item[1].ranking.rank.mean):
            gap = Interval.of(gaps) if gaps else None
            of = f" ({len(gaps)})" if 0 < len(gaps) < n else ""
            cells.append([f"{eps:g}", name, number(ranking.rank, ".2f"), number(ranking.wins, ".2f")])
            cells[-1] += [str(ranking.firsts), f"{metric.text(gap)}{of}", number(ranking.p, ".3g")]
            numbers = {"mean_rank": ranking.rank, "win_rate": ranking.wins, f"below_{metric.unit}": gap}
            record = {"eps": eps, "method": name, "tables": n, "tables_below": len(gaps)}
            records.append(record | flat(numbers) | {"first_on": ranking.firsts, "p": ranking.p})
    note = (
        f"Over {n} tables, by the mean {metric.words} of each: ± is half a 95% interval of Student's "
        "t over tables, as if drawn at random from those one might have. A method without a value on a table "
        "is last there; the gap leaves such tables out (how many are left, in brackets). p: Wilcoxon's "
        f"signed-rank test against {first} over tables, corrected by Holm; {ABSENT} where too few allow none."
    )
    return Table(columns, cells, records, note)
