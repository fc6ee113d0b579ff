"""Many tables: who is best on each, how far off the best model without privacy, and how all rank."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from pate_cli.compare.baselines import BASELINES, LIMIT, NOT_PRIVATE, families
from pate_cli.compare.boards import Board, Metric, Place
from pate_cli.compare.drawing import draw_leaderboard
from pate_cli.compare.leaderboard_tables import paired, ranks_table, rows_table, winners
from pate_cli.compare.ranking import Ranking, fewest_tables, friedman, ranking
from pate_cli.compare.tables import TableSpec
from pate_cli.config.recipes import Recipe
from pate_cli.report.findings import Findings
from pate_cli.report.interval import Interval
from pate_cli.report.table import number
from pate_cli.reproduce.assemble import sources

__all__ = ["leaderboard"]

_ONE_OVER_N = "1/n, n the private records of a table"


def leaderboard(
    boards: Sequence[Board], missing: Sequence[TableSpec], metric: Metric, command: Sequence[str]
) -> Findings:
    """Put a leaderboard together.

    Parameters
    ----------
    boards : sequence of Board
        At least one, all with the same methods and budgets.
    missing : sequence of TableSpec
        Tables that are not on this machine.
    metric : Metric
    command : sequence of str
        What makes it again.
    """
    methods = list(dict.fromkeys(row.method for row in boards[0].rows))
    budgets = sorted({row.eps for row in boards[0].rows})
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
    title = f"{_tables(len(boards))}: {metric.words} against eps"
    splits = f"{config.repeats} random splits of each table, the same for every method (seed {config.seed})"
    recipe = Recipe(
        name="leaderboard",
        title=title,
        source=f"{splits}; delta = {_ONE_OVER_N if config.delta is None else number(config.delta, 'g')}",
        shows="Who is best on each table for a budget, and how far that is from what is got without privacy.",
        kind="runs",
        repeats=config.repeats,
    )
    rows = {
        f"{board.spec.name}, {row.name}": (board, row)
        for board in boards
        for row in (*board.rows, *board.baselines.values())
    }
    absent = [(one.name, "missing", one.missing) for one in missing]
    absent += [(name, row.status, row.message) for name, (_, row) in rows.items() if row.status != "ok"]
    every = [place for eps in budgets for place in places[eps]]
    return Findings(
        recipe=recipe,
        command=list(command),
        table=winners(sorted(every, key=lambda place: boards.index(place.board)), methods[0]),
        more={
            "ranks": ranks_table(ranks, gaps, metric, len(boards), methods[0]),
            **paired(boards, methods, budgets, metric),
            "rows": rows_table(boards, metric),
        },
        figures={
            "figure": functools.partial(
                draw_leaderboard,
                f"{_tables(len(boards))}, {config.repeats} splits",
                metric,
                ranks,
                gaps,
                len(boards),
            )
        },
        absent=absent,
        notes=[
            *(f"{name}: {what}. {NOT_PRIVATE.capitalize()}." for name, what in BASELINES.items()),
            *_chosen(boards),
        ],
        statements=[
            text for eps in budgets for text in _statements(places[eps], ranks[eps], scores[eps], methods)
        ]
        + _significance(len(boards), methods),
        sources=sources()
        | {key: value for board in boards for key, value in board.plan.data(board.spec.name).items()},
        commands={
            name: board.plan.command_of(row.planned)
            for name, (board, row) in rows.items()
            if row.name not in BASELINES
        },
        failures=[f"{name}: {row.message}" for name, (_, row) in rows.items() if row.status == "failed"],
    )


def _score(place: Place, method: str) -> float | None:
    found = place.values.get(method)
    return None if found is None else place.metric.sign * found.mean


def _statements(
    places: Sequence[Place],
    ranks: dict[str, Ranking],
    scores: dict[str, list[float | None]],
    methods: Sequence[str],
) -> list[str]:
    """Say of a budget how the first method stands, and on which tables it is not the best row."""
    first, metric, eps = methods[0], places[0].metric, places[0].eps
    own = ranks[first]
    on = f"of {len(methods)} on {_tables(len(places))}"
    text = f"At eps {eps:g} {first} has mean rank {own.rank.mean:.2f} {on}"
    gaps = [gap.mean for place in places if (gap := place.below(first)) is not None]
    if gaps:
        text += f", and is {metric.text(Interval.of(gaps))} {metric.unit} below the {LIMIT}"
    behind: list[str] = []
    level: list[str] = []
    for place in places:
        order = place.order
        if not order or order[0] == first:
            continue
        best, name = order[0], place.board.spec.name
        lead = place.lead(best, first) if first in order else None
        if lead is None:
            behind.append(f"{name} ({place.board.row(first, eps).status})")
        else:
            said = f"{name} ({best} {metric.text(lead, sign=True)})"
            (behind if lead.sign > 0 else level).append(said)
    if behind:
        text += f". It is below the best row, beyond the interval, on {', '.join(behind)}"
    if level:
        text += f". Within the interval another has the larger mean on {', '.join(level)}"
    if not behind and not level:
        text += ". It is the best row on every table"
    p = friedman(scores)
    return [text + (f". Friedman's test that all are alike: p = {p:.2g}." if p is not None else ".")]


def _significance(n_tables: int, methods: Sequence[str]) -> list[str]:
    others = len(methods) - 1
    if not others or n_tables >= (least := fewest_tables(others)):
        return []
    those = f"{others} other{'s' * (others > 1)}"
    return [
        f"Of {_tables(n_tables)} no test of {methods[0]} against {those} can say anything: whatever the "
        f"outcome, no p corrected by Holm could be below 0.05; that takes {least} tables."
    ]


def _tables(n: int) -> str:
    return f"{n} table{'s' * (n > 1)}"


def _chosen(boards: Sequence[Board]) -> list[str]:
    """Which model is the limit, table by table."""
    said = []
    for board in boards:
        found = families(board.baselines[LIMIT].units)
        if found:
            those = ", ".join(f"{name} at {count}" for name, count in found.items())
            said.append(f"{LIMIT} on {board.spec.name}: {those} of {sum(found.values())} splits.")
    return said
