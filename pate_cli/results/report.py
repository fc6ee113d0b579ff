"""The report of any table of repeats: what was asked, what came out, and what is private.

A sweep, a frontier and results put together by hand are one thing here: rows with a data set, a method and
eps. One data set has its methods by eps; several have their winners and ranks.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import pandas as pd

from pate_cli.errors import InputError
from pate_cli.results.boards import (
    ACCURACY,
    BASELINES,
    LIMIT,
    NOT_PRIVATE,
    TRUE_LABELS,
    Board,
    Metric,
    Standing,
    boards_of,
    standings,
)
from pate_cli.results.interval import T_NOTE, Interval
from pate_cli.results.means import MeasuredRow, flat, pivoted, rows_of
from pate_cli.results.overview import overview
from pate_cli.results.page import About, Findings
from pate_cli.results.paired import paired
from pate_cli.results.record_files import find_records
from pate_cli.results.settings import NAMES, PURE
from pate_cli.results.statements import (
    chosen_families,
    counted,
    frontier_statements,
    leaderboard_statements,
)
from pate_cli.results.tables import ABSENT, Column, Table, number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PRIVATE", "report", "shared_settings", "sources_of"]

PRIVATE = (
    "Private, by the guarantee: what one repeat publishes, its labels and its student. eps, with delta, "
    "bounds how much any one record can change its probability: by a factor of e^eps at most; the smaller, "
    "the better. Publishing several repeats costs more.",
    "Not private: accuracy and every other measure, also without noise and in the figure. They are computed "
    "from held-out records; do not publish them about private data. eps used depends on the outputs: a "
    "report, not a guarantee.",
    "Taken as public: the public points, columns and classes, the number of private records, the settings.",
)
"""What of a result is private, and what is not."""

_FEW = 4  # most names that stand in a title

Figures = dict[str, Callable[[], "Figure"]]


def report(
    repeats: pd.DataFrame,
    command: Sequence[str],
    sources: Mapping[str, str],
    *,
    name: str = "page",
    title: str = "",
    metric: Metric = ACCURACY,
    learner: str = "",
    releases: Mapping[tuple[str, float], Sequence[str]] | None = None,
    absent: Sequence[tuple[str, str, str]] = (),
    commands: Mapping[str, Sequence[str]] | None = None,
) -> Findings:
    """Put the report of repeats together; `command` makes it again.

    `learner` is the student's, `releases` are overrides of a release by method and eps, `absent` are data
    sets that are not on this machine, and `commands` do each row by itself.
    """
    rows = rows_of(repeats)
    private = [row for row in rows if row["method"] not in BASELINES]
    boards = boards_of(rows, metric, learner)
    about = f"{_few(rows, 'dataset')}: {_few(private or rows, 'method')}"
    counts = sorted({row.n for row in rows if row.n}) or [0]
    splits = " to ".join(str(n) for n in dict.fromkeys((counts[0], counts[-1])))
    name_of = functools.partial(_name, several=len(boards) > 1)
    tables, figures, said, notes = _views(repeats, rows, boards, releases)
    described = [
        f"{boards[0].shown(name)}: {BASELINES[name]}. {NOT_PRIVATE.capitalize()}."
        for name in boards[0].baselines
    ]
    return Findings(
        about=About(
            name=name,
            title=title or about,
            source=f"{about}; random splits: {splits}",
            shows=_shows(private),
        ),
        command=list(command),
        table=tables.pop("table"),
        more={name: table for name, table in tables.items() if table.cells},
        figures=figures,
        absent=[*absent, *((name_of(row), row.status, row.reason) for row in rows if row.status != "ok")],
        notes=[*described, *chosen_families(boards), *notes],
        settings=shared_settings([row.columns for row in private or rows]),
        private=PRIVATE,
        statements=said,
        sources=dict(sources),
        commands={name: list(each) for name, each in (commands or {}).items()},
        failures=[f"{name_of(row)}: {row.reason}" for row in rows if row.status == "failed"],
    )


def _views(
    repeats: pd.DataFrame,
    rows: Sequence[MeasuredRow],
    boards: Sequence[Board],
    releases: Mapping[tuple[str, float], Sequence[str]] | None,
) -> tuple[dict[str, Table], Figures, list[str], list[str]]:
    """Tables by the stem of their files, figures, statements and notes."""
    every = overview(repeats, metrics=True)
    gridded = all(board.is_grid for board in boards)
    first = next((name for board in boards for name in board.methods), "")
    pairs = _pairs(repeats, first) if len({row["method"] for row in rows} - {*BASELINES}) > 1 else {}
    alike = len({(*board.methods, *board.budgets) for board in boards}) == 1
    if gridded and alike and len(boards) > 1 and LIMIT in boards[0].baselines:
        by_eps = standings(boards)
        tables = {"table": _winners(boards), "ranks": _ranks(boards, by_eps), **pairs, "rows": every}
        figures: Figures = {"figure": functools.partial(_draw_standings, boards, by_eps)}
        return tables, figures, leaderboard_statements(boards, by_eps), []
    figures, notes = _figures(rows, boards)
    if gridded and len(boards) == 1 and len(rows) > 1:
        tables = {"table": _by_eps(boards[0]), **pairs, "rows": every}
        return tables, figures, frontier_statements(boards[0], releases), notes
    return {"table": overview(repeats), **pairs, "measures": _measures(rows)}, figures, [], notes


def _pairs(repeats: pd.DataFrame, first: str) -> dict[str, Table]:
    try:
        return {"paired": paired(repeats, first)}
    except InputError:  # several rows of it fit another one
        return {}


def _figures(rows: Sequence[MeasuredRow], boards: Sequence[Board]) -> tuple[Figures, list[str]]:
    """Accuracy against eps; none, with the reason, where rows of a line differ in more than eps."""
    if len({eps for board in boards for eps in board.budgets}) < 2:
        return {}, []
    from pate_cli.results.lines import draw, points  # matplotlib: a second, for pages with a figure

    try:
        drawn = points(rows)
    except InputError as error:
        return {}, [f"There is no figure: {str(error).partition(';')[0]}."]
    width = 5.2 if len(boards) == 1 else 8.4
    return {"figure": functools.partial(draw, drawn, shown=boards[0].shown, width=width, height=3.4)}, []


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
    return ", ".join(names) if len(names) <= _FEW else f"{len(names)} {name}s"


def _name(row: MeasuredRow, *, several: bool) -> str:
    name = str(row["method"]) if row["method"] in BASELINES else f"{row['method']} eps={row['eps']:g}"
    return f"{row['dataset']}, {name}" if several else name


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
    done = [row for row in rows if row.n]
    if len(done) != 1:
        return Table([], [])
    means = {name: done[0].over(name) for name in done[0].measures}
    records = [{"measure": name} | flat({"mean": mean}) for name, mean in means.items()]
    columns = [Column("measure", numeric=False), Column("mean ± ci95")]
    return Table(columns, [[name, number(mean)] for name, mean in means.items()], records)


def _by_eps(board: Board) -> Table:
    """Accuracy: a line a method or baseline and a column a budget; in files a line for each of both."""
    shown: dict[tuple[str, ...], dict[str, str]] = {}
    records = []
    for name in (*board.methods, *board.baselines):
        of_name = [row for row in board.every if row["method"] == name]
        pure = any(row["guarantee"] == PURE for row in of_name)
        guarantee = "not private" if name in BASELINES else PURE if pure else "(eps, delta)-DP"
        by_eps = {eps: board.row(name, eps) for eps in board.budgets}
        shown[board.shown(name), guarantee] = {
            f"eps {eps:g}": number(row.over("accuracy")) if row.n else row.status
            for eps, row in by_eps.items()
        }
        kind = "yardstick" if name in BASELINES else "method"
        for row in of_name:
            of = NOT_PRIVATE if name in BASELINES else "differentially private"
            record: dict[str, Any] = {"kind": kind, "method": name, "guarantee": of}
            record |= {"eps": row["eps"], "n": row.n, "status": row.status, "reason": row.reason or None}
            records.append(record | flat({"accuracy": row.over("accuracy")}))
    delta = max((row["delta"] for row in board.every if row["delta"] is not None), default=None)
    note = (
        f"Mean accuracy on held-out records; {T_NOTE}; the measuring itself is not differentially private. "
        "eps is the guarantee of one repeat, for one record replaced by another. "
        f"delta = {number(delta, '.3g')}."
    )
    keys = [Column("method", numeric=False), Column("guarantee", numeric=False)]
    columns, lines = pivoted(keys, [f"eps {eps:g}" for eps in board.budgets], shown)
    return Table(columns, lines, records, note)


def _winners(boards: Sequence[Board]) -> Table:
    """Best method of each table and budget, its distance to the limit, and that of the first method."""
    metric, first = boards[0].metric, boards[0].methods[0]
    below = f"{metric.unit} below the {LIMIT}"
    columns = [
        *(Column("table", numeric=False), Column("eps"), Column("best method", numeric=False)),
        *(Column(f"{metric.name} ± ci95"), Column(LIMIT, detail=True), Column(f"its {below}")),
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
        record |= {"n_private": row["n_private"], "delta": row["delta"]}
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


def _ranks(boards: Sequence[Board], by_eps: Mapping[float, Mapping[str, Standing]]) -> Table:
    """Ranks of the methods at each budget, over tables."""
    metric, first, n = boards[0].metric, boards[0].methods[0], len(boards)
    columns = [Column("eps"), Column("method", numeric=False), Column("mean rank"), Column("win rate")]
    columns += [Column("first on", "tables"), Column(f"{metric.unit} below the {LIMIT}")]
    columns += [Column(f"p against {first}")]
    cells, records = [], []
    for eps, by_method in by_eps.items():
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


def _draw_standings(boards: Sequence[Board], by_eps: Mapping[float, Mapping[str, Standing]]) -> Figure:
    """Distances to the best model without privacy and ranks, means over tables."""
    from pate_cli.results.lines import Point, draw

    metric, n = boards[0].metric, len(boards)
    limit = f"{metric.unit} of {metric.name} below the\nbest model without privacy, {counted(n)}"
    lines = [(eps, name, standing) for eps, by_name in by_eps.items() for name, standing in by_name.items()]
    # a mean over some of the tables does not compare with the others: not drawn
    drawn = [
        Point(limit, name, eps, Interval(fmean(standing.below), None, n))
        for eps, name, standing in lines
        if len(standing.below) == n
    ]
    ranks = [(eps, name, standing.ranking.rank.mean) for eps, name, standing in lines]
    drawn += [Point("mean rank, 1 the best", name, eps, Interval(rank, None, n)) for eps, name, rank in ranks]
    figure = draw(drawn, y="", width=9.2, height=4.0)
    figure.axes[-1].invert_yaxis()
    return figure
