"""Findings of a frontier or a leaderboard, from its tables and what the boards have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pate_cli.compare.baselines import BASELINES, NOT_PRIVATE
from pate_cli.compare.boards import Board
from pate_cli.config.recipes import Recipe
from pate_cli.report.findings import Findings
from pate_cli.report.table import Table
from pate_cli.reproduce.sources import sources

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["findings_of"]


def findings_of(
    name: str,
    boards: Sequence[Board],
    command: Sequence[str],
    *,
    title: str,
    source: str,
    shows: str,
    tables: dict[str, Table],
    draw: Callable[[], Figure],
    notes: Sequence[str],
    statements: list[str],
    absent: Sequence[tuple[str, str, str]] = (),
) -> Findings:
    """Put findings together; the rows of a leaderboard are named by their board, too.

    `tables` has the main one first, `absent` the data sets that are not on this machine.
    """
    prefixed = name == "leaderboard"
    repeats = boards[0].rows[0].planned.config.repeats
    rows = {
        f"{board.name}, {row.name}" if prefixed else row.name: (board, row)
        for board in boards
        for row in (*board.rows, *board.baselines.values())
    }
    first, *more = tables
    return Findings(
        recipe=Recipe(name, title, source, shows, "runs", repeats=repeats),
        command=list(command),
        table=tables[first],
        more={stem: tables[stem] for stem in more},
        figures={"figure": draw},
        absent=[
            *absent,
            *((name, row.status, row.message) for name, (_, row) in rows.items() if row.status != "ok"),
        ],
        notes=[
            *(f"{name}: {BASELINES[name]}. {NOT_PRIVATE.capitalize()}." for name in boards[0].baselines),
            *notes,
        ],
        statements=statements,
        sources=sources()
        | {
            key: value
            for board in boards
            for key, value in board.plan.data(board.name if prefixed else "").items()
        },
        commands={
            name: board.plan.command_of(row.planned)
            for name, (board, row) in rows.items()
            if row.name not in BASELINES
        },
        failures=[f"{name}: {row.message}" for name, (_, row) in rows.items() if row.status == "failed"],
    )
