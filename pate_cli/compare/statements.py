"""Statements of a frontier or a leaderboard, computed from its numbers whichever way they came out."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

from pate_cli.compare.baselines import ALL_PRIVATE, LIMIT, MAJORITY, families
from pate_cli.compare.boards import Board, Standing
from pate_cli.compare.ranking import fewest_tables, friedman
from pate_cli.reproduce.rows import DoneRow
from pate_cli.results.interval import Interval
from pate_cli.results.tables import number

__all__ = ["chosen_families", "counted", "frontier", "leaderboard"]


def frontier(board: Board) -> list[str]:
    """Best method at each eps, sparse vector against the Gaussian mechanism, and methods of no use."""
    said = [text for eps in board.budgets for text in _best(board, eps)]
    said += [*_sparse_vector(board), *_calibrations(board)]
    no_better, infeasible = {}, {}
    for name in board.methods:
        leads = {eps: board.lead(name, MAJORITY, eps) for eps in board.budgets}
        no_better[name] = [eps for eps, lead in leads.items() if lead is not None and lead.sign <= 0]
        rows = [board.row(name, eps) for eps in board.budgets]
        infeasible[name] = [row for row in rows if row.status == "infeasible"]
    said += [
        f"{name} is not better than a constant answer, as far as can be told, at eps {_listed(those)}."
        for name, those in no_better.items()
        if those
    ]
    return said + [
        f"{name} is infeasible at eps {_listed(row.eps for row in those)}: {those[-1].message}"
        for name, those in infeasible.items()
        if those
    ]


def _best(board: Board, eps: float) -> list[str]:
    """Best method of a budget, those within its interval, and the distance to all private records."""
    values = board.values(eps)
    if not values:
        return []
    best, *others = values
    text = f"At eps {eps:g} the best mean accuracy is that of {best}, {number(values[best])}"
    leads = {name: board.lead(best, name, eps) for name in board.methods if name in others}
    if close := [name for name, lead in leads.items() if lead and lead.sign == 0]:
        text += f"; the difference to {', '.join(close)} is within its interval"
    if (gap := board.lead(ALL_PRIVATE, best, eps)) is not None:
        text += f". {ALL_PRIVATE.capitalize()}, without privacy, give {gap.text(sign=True)} more"
    if LIMIT in board.baselines and (gap := board.below(best, eps)) is not None:
        text += f"; the {LIMIT} gives {gap.text(sign=True)} more"
    return [f"{text}."]


def _sparse_vector(board: Board) -> list[str]:
    """Compare each method over sparse vector with those over the Gaussian mechanism that ask as it does."""
    used = {row.method: row.planned.config.mechanism for row in board.rows}
    others = [name for name, mechanism in used.items() if mechanism.oracle == "gaussian"]
    said = []
    for name in (name for name, mechanism in used.items() if mechanism.oracle == "svt"):
        alike = [other for other in others if _strategy(used[other]) == _strategy(used[name])]
        said += [_compared(board, name, other) for other in alike or others]
    return said


def _strategy(mechanism: object) -> str:
    """Query strategy: `passive`, or the name of the mechanism that picks points."""
    name: str = getattr(mechanism, "name", "")
    return "passive" if name in ("gaussian", "svt") else name


def _compared(board: Board, name: str, other: str) -> str:
    alike = "no difference that can be told"
    cases: dict[str, list[str]] = {"better": [], "worse": [], alike: []}
    for eps in board.budgets:
        lead, text = board.lead(name, other, eps), f"{eps:g}"
        if lead is not None:
            word = {1: "better", -1: "worse", 0: alike}[lead.sign]
            cases[word].append(f"{text} ({lead.text(sign=True)})")
        else:
            statuses = [board.row(one, eps).status for one in (name, other)]
            word = next((status for status in statuses if status != "ok"), "not measured")
            cases.setdefault(word, []).append(text)
    parts = [] if cases["better"] else ["better nowhere"]
    parts += [f"{word} at eps {', '.join(those)}" for word, those in cases.items() if those]
    return f"{name} against {other}, accuracy at the same splits: {'; '.join(parts)}."


def _calibrations(board: Board) -> list[str]:
    """How many queries `tight` answers for one that `liu2021` does, where they differ in nothing else."""
    rows: dict[str, list[DoneRow]] = {"tight": [], "liu2021": []}
    for row in sorted(board.rows, key=lambda row: row.eps):
        mechanism = row.planned.config.mechanism
        if mechanism.oracle == "svt" and mechanism.options.calibration in rows:
            rows[mechanism.options.calibration].append(row)
    said = []
    for tight, liu in itertools.product(rows["tight"], rows["liu2021"]):
        if _setting(tight) == _setting(liu) and (tight.units or liu.units):
            ours, theirs = tight.over("answered"), liu.over("answered")
            text = f"At eps {tight.eps:g}, of {tight.budget or liu.budget} queries, {_answers(tight)}; "
            text += f"with liu2021 {_answers(liu)}"
            if ours and theirs and theirs.mean:
                text += f": {ours.mean / theirs.mean:.1f} times as many"
            said.append(f"{text}.")
    return said


def _setting(row: DoneRow) -> tuple[object, ...]:
    mechanism = row.planned.config.mechanism
    return _strategy(mechanism), mechanism.options.cutoff, row.eps, row.planned.teaching


def _answers(row: DoneRow) -> str:
    if (answered := row.over("answered")) is None:
        return f"{row.method} is {row.status}"
    return f"{row.method} answers {number(answered, '.1f')}"


def _listed(values: Iterable[float]) -> str:
    return ", ".join(f"{value:g}" for value in sorted(values))


def leaderboard(boards: Sequence[Board], standings: Mapping[float, Mapping[str, Standing]]) -> list[str]:
    """Rank of the first method at each budget, and how many tables a test would take."""
    said = [_standing(boards, eps, those) for eps, those in standings.items()]
    first, *others = boards[0].methods
    if others and len(boards) < (least := fewest_tables(len(others))):
        those = f"{len(others)} other{'s' * (len(others) > 1)}"
        said.append(
            f"Of {counted(len(boards))} no test of {first} against {those} can say anything: whatever the "
            f"outcome, no p corrected by Holm could be below 0.05; that takes {least} tables."
        )
    return said


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
    p = friedman({name: one.scores for name, one in standings.items()})
    return text + (f". Friedman's test that all are alike: p = {p:.2g}." if p is not None else ".")


def counted(n: int) -> str:
    """Number of tables in words, as "1 table"."""
    return f"{n} table{'s' * (n > 1)}"


def chosen_families(boards: Sequence[Board]) -> list[str]:
    """Say which family of models is the limit, table by table."""
    said = []
    for board in boards:
        if found := families(unit.diagnostics for unit in board.baselines[LIMIT].units):
            those = ", ".join(f"{name} at {count}" for name, count in found.items())
            said.append(f"{LIMIT} on {board.name}: {those} of {sum(found.values())} splits.")
    return said
