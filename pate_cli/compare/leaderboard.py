"""Findings of a leaderboard: methods on many data sets, their ranks, and their distance to the best model."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from pate_cli.compare.boards import Board, Metric, Place
from pate_cli.compare.drawing import draw_leaderboard
from pate_cli.compare.findings import findings_of
from pate_cli.compare.leaderboard_statements import chosen_families, counted, significance, standing
from pate_cli.compare.leaderboard_tables import paired, ranks_table, rows_table, winners
from pate_cli.compare.ranking import ranking
from pate_cli.compare.tables import TableSpec
from pate_cli.report.findings import Findings

__all__ = ["leaderboard"]


def leaderboard(
    boards: Sequence[Board], missing: Sequence[TableSpec], metric: Metric, command: Sequence[str]
) -> Findings:
    """Put a leaderboard together.

    Parameters
    ----------
    boards : sequence of Board
        At least one, all with the same methods and budgets.
    missing : sequence of TableSpec
        Data sets that are not on this machine.
    metric : Metric
    command : sequence of str
        That makes it again.
    """
    methods, budgets = boards[0].methods, boards[0].budgets
    places = {eps: [Place(board, eps, metric) for board in boards] for eps in budgets}
    scores = {
        eps: {name: [_score(place, name) for place in places[eps]] for name in methods} for eps in budgets
    }
    ranks = {eps: ranking(scores[eps]) for eps in budgets}
    gaps = {
        (eps, name): [gap.mean for place in places[eps] if (gap := place.below(name)) is not None]
        for eps in budgets
        for name in methods
    }
    config = boards[0].rows[0].planned.config
    those = counted(len(boards))
    splits = f"{config.repeats} random splits of each table, the same for every method (seed {config.seed})"
    delta = "1/n, n the private records of a table" if config.delta is None else f"{config.delta:g}"
    said = [text for eps in budgets for text in standing(places[eps], ranks[eps], scores[eps], methods)]
    return findings_of(
        "leaderboard",
        boards,
        command,
        title=f"{those}: {metric.words} against eps",
        source=f"{splits}; delta = {delta}",
        shows="Who is best on each table for a budget, and how far that is from what is got without privacy.",
        tables={
            "table": winners(
                [place for board in zip(*places.values(), strict=True) for place in board], methods[0]
            ),
            "ranks": ranks_table(ranks, gaps, metric, len(boards), methods[0]),
            **paired(boards, methods, budgets, metric),
            "rows": rows_table(boards, metric),
        },
        draw=functools.partial(
            draw_leaderboard, f"{those}, {config.repeats} splits", metric, ranks, gaps, len(boards)
        ),
        notes=chosen_families(boards),
        statements=said + significance(len(boards), methods),
        absent=[(one.name, "missing", one.missing) for one in missing],
    )


def _score(place: Place, method: str) -> float | None:
    found = place.values.get(method)
    return None if found is None else place.metric.sign * found.mean
