"""Findings of a frontier: tables, figure and statements about one data set."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from pate_cli.compare.boards import Board
from pate_cli.compare.findings import findings_of
from pate_cli.compare.frontier_tables import methods_table, metrics_table, paired_table, runs_table
from pate_cli.compare.statements import statements
from pate_cli.report.findings import Findings
from pate_cli.report.plot import draw
from pate_cli.report.points import points, rows_of_comparison
from pate_cli.report.table import number

__all__ = ["report"]

_REMARKS = (
    "The baselines are of the common configuration; a method that brings its own teachers or student is not "
    "bounded by them.",
    "noisy_gd and output_perturbation train one linear model on the private records themselves; the other "
    "methods treat teachers and student as black boxes, whatever they are.",
)


def report(board: Board, command: Sequence[str]) -> Findings:
    """Put a frontier together; `command` makes it again."""
    first = board.rows[0].planned
    prepared = next(iter(board.baselines.values())).planned.prepared
    delta, sizes = (prepared.delta, prepared.sizes) if prepared else (None, None)
    repeats, seed = first.config.repeats, first.config.seed
    title = f"{first.dataset}: accuracy against eps"
    size = f"{sizes.n_private:,} private records, {sizes.n_public:,} public points" if sizes else ""
    table = methods_table(board, delta)
    found = points(rows_of_comparison(table.records))
    source = f"{repeats} random splits of {size}, the same for every method (seed {seed})"
    return findings_of(
        "frontier",
        [board],
        command,
        title=title,
        source=f"{source}; delta = {number(delta, '.3g')}",
        shows="What each method gets for a budget, and what is got without privacy.",
        tables={
            "table": table,
            "rows": runs_table(board),
            "metrics": metrics_table(board),
            **paired_table(board),
        },
        draw=functools.partial(draw, found, title=f"{title}, {repeats} splits", width=6.4, height=4.0),
        notes=_REMARKS,
        statements=statements(board.rows, board.baselines),
    )
