"""Reports of a frontier and of a leaderboard: tables, figure and statements."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from statistics import fmean

from matplotlib.figure import Figure

from pate_cli.compare import statements
from pate_cli.compare.boards import Board, Standing, standings
from pate_cli.compare.findings import findings_of
from pate_cli.compare.views import frontier_tables, leaderboard_tables
from pate_cli.results.interval import Interval
from pate_cli.results.lines import Point, draw, points, rows_of_comparison
from pate_cli.results.page import Findings
from pate_cli.results.tables import number

__all__ = ["frontier", "leaderboard"]

_REMARKS = (
    "The baselines are of the common configuration; a method that brings its own teachers or student is not "
    "bounded by them.",
    "noisy_gd and output_perturbation train one linear model on the private records themselves; the other "
    "methods treat teachers and student as black boxes, whatever they are.",
)


def frontier(board: Board, command: Sequence[str]) -> Findings:
    """Put a frontier together; `command` makes it again."""
    config, prepared = board.rows[0].planned.config, board.plan.rows[0].prepared
    title = f"{board.rows[0].dataset}: accuracy against eps"
    delta, sizes = (prepared.delta, prepared.sizes) if prepared else (None, None)
    size = f"{sizes.n_private:,} private records, {sizes.n_public:,} public points" if sizes else ""
    splits = f"{config.repeats} random splits of {size}, the same for every method (seed {config.seed})"
    tables = frontier_tables(board)
    found = points(rows_of_comparison(tables["table"].records))
    return findings_of(
        "frontier",
        [board],
        command,
        title=title,
        source=f"{splits}; delta = {number(delta, '.3g')}",
        shows="What each method gets for a budget, and what is got without privacy.",
        tables=tables,
        draw=functools.partial(draw, found, title=f"{title}, {config.repeats} splits", width=6.4, height=4.0),
        notes=_REMARKS,
        said=statements.frontier(board),
    )


def leaderboard(
    boards: Sequence[Board], missing: Sequence[tuple[str, str]], command: Sequence[str]
) -> Findings:
    """Put a leaderboard together, of boards with the same methods, budgets and metric.

    `missing` are data sets that are not on this machine, with the reason; `command` makes it again.
    """
    found, metric = standings(boards), boards[0].metric
    config = boards[0].rows[0].planned.config
    those = statements.counted(len(boards))
    delta = "1/n, n the private records of a table" if config.delta is None else f"{config.delta:g}"
    return findings_of(
        "leaderboard",
        boards,
        command,
        title=f"{those}: {metric.words} against eps",
        source=f"{config.repeats} random splits of each table, the same for every method (seed "
        f"{config.seed}); delta = {delta}",
        shows="Who is best on each table for a budget, and how far that is from what is got without privacy.",
        tables=leaderboard_tables(boards, found),
        draw=functools.partial(_draw_leaderboard, boards, found),
        notes=statements.chosen_families(boards),
        said=statements.leaderboard(boards, found),
        absent=[(name, "missing", why) for name, why in missing],
    )


def _draw_leaderboard(boards: Sequence[Board], standings: Mapping[float, Mapping[str, Standing]]) -> Figure:
    """Distances to the best model without privacy and ranks, means over tables."""
    metric, n = boards[0].metric, len(boards)
    limit = f"{metric.unit} of {metric.name} below the\nbest model without privacy, {statements.counted(n)}"
    lines = [(eps, name, one) for eps, those in standings.items() for name, one in those.items()]
    # a mean over some of the tables does not compare with the others: not drawn
    found = [
        Point(limit, name, eps, Interval(fmean(one.below), None, n))
        for eps, name, one in lines
        if len(one.below) == n
    ]
    ranks = [(eps, name, one.ranking.rank.mean) for eps, name, one in lines]
    found += [Point("mean rank, 1 the best", name, eps, Interval(rank, None, n)) for eps, name, rank in ranks]
    figure = draw(found, y="", width=9.2, height=4.0)
    figure.axes[-1].invert_yaxis()
    return figure
