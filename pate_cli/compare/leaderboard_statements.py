"""Statements of a leaderboard, computed from its numbers."""

from __future__ import annotations

from collections.abc import Sequence

from pate_cli.compare.baselines import LIMIT, families
from pate_cli.compare.boards import Board, Place
from pate_cli.compare.ranking import Ranking, fewest_tables, friedman
from pate_cli.report.interval import Interval

__all__ = ["chosen_families", "counted", "significance", "standing"]


def standing(
    places: Sequence[Place],
    ranks: dict[str, Ranking],
    scores: dict[str, list[float | None]],
    methods: Sequence[str],
) -> list[str]:
    """Rank of the first method at a budget, and the tables on which another one is better."""
    first, metric, eps = methods[0], places[0].metric, places[0].eps
    own = ranks[first]
    on = f"of {len(methods)} on {counted(len(places))}"
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
        best, name = order[0], place.board.name
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


def significance(n_tables: int, methods: Sequence[str]) -> list[str]:
    """Say where too few tables allow no test of the first method against the others."""
    others = len(methods) - 1
    if not others or n_tables >= (least := fewest_tables(others)):
        return []
    those = f"{others} other{'s' * (others > 1)}"
    return [
        f"Of {counted(n_tables)} no test of {methods[0]} against {those} can say anything: whatever the "
        f"outcome, no p corrected by Holm could be below 0.05; that takes {least} tables."
    ]


def counted(n: int) -> str:
    """Number of tables in words, as "1 table"."""
    return f"{n} table{'s' * (n > 1)}"


def chosen_families(boards: Sequence[Board]) -> list[str]:
    """Say which family of models is the limit, table by table."""
    said = []
    for board in boards:
        found = families(unit.diagnostics for unit in board.baselines[LIMIT].units)
        if found:
            those = ", ".join(f"{name} at {count}" for name, count in found.items())
            said.append(f"{LIMIT} on {board.name}: {those} of {sum(found.values())} splits.")
    return said
