"""Findings of a frontier or a leaderboard, from its tables and the rows of its boards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from pate_cli.compare.baselines import BASELINES, NOT_PRIVATE
from pate_cli.compare.boards import Board
from pate_cli.config.recipes import Recipe
from pate_cli.reproduce.sources import sources
from pate_cli.results.page import Findings
from pate_cli.results.tables import Table

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
    tables: Mapping[str, Table],
    draw: Callable[[], Figure],
    notes: Sequence[str],
    said: list[str],
    absent: Sequence[tuple[str, str, str]] = (),
) -> Findings:
    """Put findings together; rows of a leaderboard are named by their board, too."""
    several = name == "leaderboard"
    rows = {
        f"{board.name}, {row.name}" if several else row.name: (board, row)
        for board in boards
        for row in (*board.rows, *board.baselines.values())
    }
    data = {k: text for board in boards for k, text in board.plan.data(board.name if several else "").items()}
    described = [f"{one}: {BASELINES[one]}. {NOT_PRIVATE.capitalize()}." for one in boards[0].baselines]
    return Findings(
        recipe=Recipe(name, title, source, shows, "runs", repeats=boards[0].rows[0].planned.config.repeats),
        command=list(command),
        table=tables["table"],
        more={stem: table for stem, table in tables.items() if stem != "table"},
        figures={"figure": draw},
        absent=[
            *absent,
            *((one, row.status, row.message) for one, (_, row) in rows.items() if row.status != "ok"),
        ],
        notes=[*described, *notes],
        statements=said,
        sources=sources() | data,
        commands={
            one: board.plan.command_of(row.planned)
            for one, (board, row) in rows.items()
            if row.name not in BASELINES
        },
        failures=[f"{one}: {row.message}" for one, (_, row) in rows.items() if row.status == "failed"],
    )
