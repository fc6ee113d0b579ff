"""Statements of a frontier, computed from its numbers whichever way they came out."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence

from pate_cli.results.boards import ALL_PRIVATE, LIMIT, MAJORITY, Board, Standing
from pate_cli.results.interval import Interval
from pate_cli.results.ranking import fewest_tables, friedman
from pate_cli.results.tables import number

__all__ = ["chosen_families", "counted", "frontier_statements", "leaderboard_statements"]


def frontier_statements(
    board: Board, releases: Mapping[tuple[str, float], Sequence[str]] | None = None
) -> list[str]:
    """Methods of no use, and which one to take at each eps; `releases` are overrides by method and eps.

    The last sentence has the command of a release, at the eps nearest to 1.
    """
    releases = releases or {}
    no_better, infeasible = {}, {}
    for name in board.methods:
        leads = {eps: board.lead(name, MAJORITY, eps) for eps in board.budgets}
        no_better[name] = [eps for eps, lead in leads.items() if lead is not None and lead.sign <= 0]
        rows = [board.row(name, eps) for eps in board.budgets]
        infeasible[name] = [row for row in rows if row.status == "infeasible"]
    sentences = [
        f"{name} is not better than a constant answer, as far as can be told, at eps {_listed(budgets)}."
        for name, budgets in no_better.items()
        if budgets
    ]
    sentences += [
        f"{name} is infeasible at eps {_listed(row['eps'] for row in rows)}: {rows[-1].reason}"
        for name, rows in infeasible.items()
        if rows
    ]
    best = {eps: next(iter(values)) for eps in board.budgets if (values := board.values(eps))}
    useful = {eps: name for eps, name in best.items() if eps not in no_better[name]}
    for eps, name in best.items():
        none = f"At eps {eps:g} no method is better than a constant answer, as far as can be told."
        sentences.append(_decision(board, eps, name, releases) if eps in useful else none)
    if useful and releases:
        eps = min(useful, key=lambda eps: abs(math.log(eps)))
        command = shlex.join(["pate", "run", "release=true", *releases[useful[eps], eps], f"eps={eps:g}"])
        public = " FILE has public points; or marginals, with dataset.schema." * ("=FILE" in command)
        sentences.append(
            f"The release: {command}.{public} This choice looked at private records; that of pate tune is in "
            "its guarantee."
        )
    return sentences


def _decision(
    board: Board, eps: float, best: str, releases: Mapping[tuple[str, float], Sequence[str]]
) -> str:
    """Method to use at a budget, how far it is from models without privacy, and which are as good."""
    of_mechanism = [text for text in releases.get((best, eps), ()) if text.startswith("mechanism")]
    text = f"At eps {eps:g} use {' '.join(of_mechanism) or best} ({number(board.values(eps)[best])}"
    limit = LIMIT if LIMIT in board.baselines else ALL_PRIVATE
    if limit in board.baselines and (gap := board.lead(limit, best, eps)) is not None:
        points = gap.times(100 if gap.mean >= 0 else -100).text(1)
        best_of = ", ".join(filter(None, [f"the {LIMIT}", " or ".join(board.families)]))
        shown = board.shown(limit) if limit == ALL_PRIVATE else best_of
        text += f"; {points} points {'below' if gap.mean >= 0 else 'above'} {shown}"
    leads = {name: board.lead(best, name, eps) for name in board.methods if name != best}
    close = [name for name, lead in leads.items() if lead and lead.sign == 0]
    return f"{text})" + (f"; {', '.join(close)} may be as good." if close else ".")


def _listed(values: Iterable[float]) -> str:
    return ", ".join(f"{value:g}" for value in sorted(values))


def leaderboard_statements(
    boards: Sequence[Board], standings: Mapping[float, Mapping[str, Standing]]
) -> list[str]:
    """Rank of the first method at each budget, and how many tables a test would take."""
    sentences = [_standing(boards, eps, those) for eps, those in standings.items()]
    first, *others = boards[0].methods
    if others and len(boards) < (least := fewest_tables(len(others))):
        those = f"{len(others)} other{'s' * (len(others) > 1)}"
        sentences.append(
            f"Of {counted(len(boards))} no test of {first} against {those} can say anything: whatever the "
            f"outcome, no p corrected by Holm could be below 0.05; that takes {least} tables."
        )
    return sentences


def _standing(boards: Sequence[Board], eps: float, standings: Mapping[str, Standing]) -> str:
    """Rank of the first method at a budget, and the tables on which another is better."""
    (first, *_), metric = boards[0].methods, boards[0].metric
    rank, of = standings[first].ranking.rank.mean, len(standings)
    text = f"At eps {eps:g} {first} has mean rank {rank:.2f} of {of} on {counted(len(boards))}"
    if below := standings[first].below:
        text += f", and is {metric.text(Interval.of(below))} {metric.unit} below the {LIMIT}"
    behind: list[str] = []
    level: list[str] = []
    for board in boards:
        values = board.values(eps)
        best = next(iter(values), first)
        if best == first:
            continue
        lead = board.lead(best, first, eps) if first in values else None
        if lead is None:
            behind.append(f"{board.name} ({board.row(first, eps).status})")
        else:
            those = behind if lead.sign > 0 else level
            those.append(f"{board.name} ({best} {metric.text(lead, sign=True)})")
    if behind:
        text += f". It is below the best row, beyond the interval, on {', '.join(behind)}"
    if level:
        text += f". Within the interval another has the larger mean on {', '.join(level)}"
    if not behind and not level:
        text += ". It is the best row on every table"
    p = friedman({name: standing.scores for name, standing in standings.items()})
    return text + (f". Friedman's test that all are alike: p = {p:.2g}." if p is not None else ".")


def counted(n: int) -> str:
    """Number of tables in words, as "1 table"."""
    return f"{n} table{'s' * (n > 1)}"


def chosen_families(boards: Sequence[Board]) -> list[str]:
    """Say which family of models is the limit, table by table."""
    sentences = []
    for board in boards:
        if counts := board.families:
            families = ", ".join(f"{name} at {count}" for name, count in counts.items())
            sentences.append(f"{LIMIT} on {board.name}: {families} of {sum(counts.values())} splits.")
    return sentences
