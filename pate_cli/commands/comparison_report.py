"""Reports of a frontier and of a leaderboard: tables, figure and statements, from their repeats."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

import pandas as pd
from matplotlib.figure import Figure

from pate_cli.engine.recipe_plan import Plan
from pate_cli.engine.sources import sources
from pate_cli.results.boards import BASELINES, NOT_PRIVATE, Board, Metric, Standing, boards_of, standings
from pate_cli.results.interval import Interval
from pate_cli.results.lines import Point, draw, points
from pate_cli.results.means import MeasuredRow
from pate_cli.results.page import About, Findings
from pate_cli.results.result_page import PRIVATE, shared_settings
from pate_cli.results.statements import (
    chosen_families,
    counted,
    frontier_statements,
    leaderboard_statements,
)
from pate_cli.results.tables import Table, number
from pate_cli.results.views import frontier_tables, leaderboard_tables

__all__ = ["frontier", "leaderboard"]

_REMARKS = (
    "The baselines are of the common configuration; a method that brings its own teachers or student is not "
    "bounded by them.",
    "noisy_gd and output_perturbation train one linear model on the private records themselves; the other "
    "methods treat teachers and student as black boxes, whatever they are.",
)

_FEW = 4  # most tables that are named in a title


def frontier(repeats: pd.DataFrame, plan: Plan, command: Sequence[str]) -> Findings:
    """Put a frontier together; `command` makes it again."""
    config, prepared = plan.rows[0].config, plan.rows[0].checked
    (board,) = boards_of(repeats, learner=config.student.estimator.rpartition(".")[2])
    title = f"{board.name}: accuracy against eps"
    delta, sizes = (prepared.delta, prepared.sizes) if prepared else (None, None)
    size = f"{sizes.n_private:,} private records, {sizes.n_public:,} public points" if sizes else ""
    splits = f"{config.repeats} random splits of {size}, the same for every method (seed {config.seed})"
    drawn, heading = points(board.every), f"{title}, {config.repeats} splits"
    return _findings(
        "frontier",
        [board],
        {board.name: plan},
        command,
        title=title,
        source=f"{splits}; delta = {number(delta, '.3g')}",
        shows="What each method gets for a budget, and what is got without privacy.",
        tables=frontier_tables(board),
        draw=lambda: draw(drawn, title=heading, shown=board.shown, width=5.2, height=3.4),
        notes=[*chosen_families([board]), *_REMARKS],
        said=frontier_statements(board, _releases(plan)),
    )


def leaderboard(
    repeats: pd.DataFrame,
    metric: Metric,
    plans: Mapping[str, Plan],
    missing: Sequence[tuple[str, str]],
    command: Sequence[str],
) -> Findings:
    """Put a leaderboard together, of datasets with the same methods and budgets.

    `missing` are data sets that are not on this machine, with the reason; `command` makes it again.
    """
    boards = boards_of(repeats, metric)
    by_eps = standings(boards)
    tables = ", ".join(board.name for board in boards) if len(boards) <= _FEW else counted(len(boards))
    config = next(iter(plans.values())).rows[0].config
    delta = "1/n, n the private records of a table" if config.delta is None else f"{config.delta:g}"
    return _findings(
        "leaderboard",
        boards,
        plans,
        command,
        title=f"{tables}: {metric.words} against eps",
        source=f"{config.repeats} random splits of each table, the same for every method (seed "
        f"{config.seed}); delta = {delta}",
        shows="Who is best on each table for a budget, and how far that is from what is got without privacy.",
        tables=leaderboard_tables(boards, by_eps),
        draw=functools.partial(_draw_leaderboard, boards, by_eps),
        notes=chosen_families(boards),
        said=leaderboard_statements(boards, by_eps),
        absent=[(name, "missing", why) for name, why in missing],
    )


def _findings(
    name: str,
    boards: Sequence[Board],
    plans: Mapping[str, Plan],
    command: Sequence[str],
    *,
    title: str,
    source: str,
    shows: str,
    tables: Mapping[str, Table],
    draw: Callable[[], Figure],
    notes: Sequence[str],
    said: list[str],
    absent: Sequence[tuple[str, str, str]] = (),
) -> Findings:
    """Put findings together; rows of a leaderboard are named by their dataset, too."""
    several = name == "leaderboard"

    def named(dataset: str, row: str) -> str:
        return f"{dataset}, {row}" if several else row

    rows = {
        named(board.name, _name(row)): row
        for board in boards
        for row in (*board.rows, *board.baselines.values())
    }
    data = {key: text for of, plan in plans.items() for key, text in plan.data(of if several else "").items()}
    described = [
        f"{boards[0].shown(one)}: {BASELINES[one]}. {NOT_PRIVATE.capitalize()}."
        for one in boards[0].baselines
    ]
    return Findings(
        about=About(name=name, title=title, source=source, shows=shows),
        command=list(command),
        table=tables["table"],
        more={stem: table for stem, table in tables.items() if stem != "table"},
        figures={"figure": draw},
        absent=[*absent, *((one, row.status, row.reason) for one, row in rows.items() if row.status != "ok")],
        notes=[*described, *notes],
        settings=shared_settings(
            [r.columns() for plan in plans.values() for r in plan.rows if r.method not in BASELINES]
        ),
        private=PRIVATE,
        statements=said,
        sources=sources() | data,
        commands={
            named(dataset, row.name): plan.command_of(row)
            for dataset, plan in plans.items()
            for row in plan.rows
            if row.name not in BASELINES
        },
        failures=[f"{one}: {row.reason}" for one, row in rows.items() if row.status == "failed"],
    )


def _releases(plan: Plan) -> dict[tuple[str, float], list[str]]:
    """Overrides of a release by method and eps, without those of experiments."""
    left_out = ("eps=", "repeats=", "seed=", "name=", "tags=", "compute")
    config, prepared = plan.rows[0].config, next((row.checked for row in plan.rows if row.checked), None)
    public = []
    if prepared and prepared.dataset.public is None and not config.split.public_from_private:
        own = "public" in config.dataset.options  # a file of the user's
        public = ["dataset.public=FILE" if own else "split.public_from_private=true"]
    return {
        (row.method, row.config.eps): [t for t in row.spec.overrides if not t.startswith(left_out)] + public
        for row in plan.rows
    }


def _name(row: MeasuredRow) -> str:
    return str(row["method"]) if row["method"] in BASELINES else f"{row['method']} eps={row['eps']:g}"


def _draw_leaderboard(boards: Sequence[Board], by_eps: Mapping[float, Mapping[str, Standing]]) -> Figure:
    """Distances to the best model without privacy and ranks, means over tables."""
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
