"""Methods on several data sets: the best of each, ranks, win rates, and how far off the limits they are."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from pate_cli.results import sentences
from pate_cli.results.answers import USE, Advice
from pate_cli.results.boards import Board
from pate_cli.results.interval import GAP_NOTE, T_NOTE, Interval, simultaneous
from pate_cli.results.marks import listed, name
from pate_cli.results.means import flat
from pate_cli.results.page import Fact, Page, Report, Section
from pate_cli.results.ranking import Standing, fewest_tables, friedman, standings
from pate_cli.results.settings import LIMIT, NOT_PRIVATE, TRUE_LABELS
from pate_cli.results.svg import Line, colours, lines
from pate_cli.results.tables import ABSENT, Head, Table, number, span
from pate_cli.results.verdicts import ended

__all__ = ["tables_report"]

_MOST_LINES = 8


def tables_report(
    all_advice: Sequence[Advice], command: Sequence[str], absent: Sequence[tuple[str, str, str]]
) -> tuple[Page, Report]:
    """Page and report of several data sets; ranks where all have the same methods, eps, and a limit."""
    boards = [advice.board for advice in all_advice]
    ranked = all(board.is_grid and LIMIT in board.baselines for board in boards)
    ranked = ranked and len({(*board.methods, *board.budgets) for board in boards}) == 1
    by_eps = standings(boards) if ranked else {}
    headline = _headline(boards, by_eps, all_advice[0].eps) if ranked else _uses(all_advice)
    table = _overview(all_advice)
    files, tests = {"table": table}, list[str]()
    sections = [Section("Which method to use on each", [("table", table)])]
    details = [Section("How this was measured", [("code", [command])])]
    if ranked:
        files = {"table": _winners(boards), "ranks": _ranks(boards, by_eps)}
        tests = _tests(boards, by_eps)
        sections.insert(0, Section("Ranks and win rates", [("table", files["ranks"])]))
        details.insert(0, Section("Every data set, eps by eps", [("table", files["table"])]))
        details.insert(-1, Section("Tests over data sets", [("list", tests)]))
    reasons = [f"{dataset}: {status}: {why}" for dataset, status, why in absent]
    reasons += [
        f"{board.name}, {row['method']}: {ended(row.status)}: {row.reason}"
        for board in boards
        for row in board.every
        if row.status != "ok"
    ]
    if reasons:
        why = Section("Why some have no number", [("list", list(dict.fromkeys(reasons)))], "why")
        details.insert(int(ranked), why)
    first = _by_rank(by_eps[all_advice[0].eps])[0] if ranked else ""
    figure = _figure(boards, by_eps, first) if len(by_eps) > 1 else ""
    caption = "Distance to the best model without privacy, a mean over the data sets; below is better."
    names = _few([board.name for board in boards])
    splits = span([advice.repeats for advice in all_advice], "d")
    methods = list(dict.fromkeys(method for board in boards for method in board.methods))
    same = "the same for every method" if all(advice.same_splits for advice in all_advice) else ""
    page = Page(
        title=f"{len(boards)} data sets",
        kicker=f"{name(' '.join(command[:2]))} · {names}",
        answer=headline,
        caution=sentences.caution(all_advice[0]),
        facts=[
            Fact("Data sets", str(len(boards)), names),
            Fact("Methods", str(len(methods)), _few(methods)),
            Fact("Measure", all_advice[0].metric.words, "means of the splits of each"),
            Fact("Measured", f"{splits} random split{'s' * (splits != '1')}", same),
        ],
        figure=figure,
        caption=caption * bool(figure),
        sections=sections,
        details=details,
    )
    left_out = [f"{len(absent)} data sets are not here: the page says why."] if absent else []
    return page, Report(
        answer=headline,
        table=table,
        notes=[sentences.INSIDE, *left_out],
        explain=tests,
        files=files,
    )


def _few(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{', '.join(names[:3])} and {len(names) - 3} more"


def _headline(boards: Sequence[Board], by_eps: Mapping[float, Mapping[str, Standing]], eps: float) -> str:
    """Which method ranks first, on how many tables, and how far off the limit it is."""
    by_rank = _by_rank(by_eps[eps])
    first, metric = by_rank[0], boards[0].metric
    standing = by_eps[eps][first]
    tied = [m for m in by_rank if by_eps[eps][m].ranking.rank.mean == standing.ranking.rank.mean]
    if len(tied) > 1:
        rank = f"{standing.ranking.rank.mean:.1f} of {len(by_rank)} on {len(boards)} data sets"
        return f"{listed(map(name, tied))} rank first together: at eps {eps:g} their mean rank is {rank}."
    text = (
        f"{name(first)} ranks first: at eps {eps:g} its mean rank is {standing.ranking.rank.mean:.1f} of "
        f"{len(by_rank)} on {len(boards)} data sets, and its mean is the best on {standing.ranking.firsts}"
    )
    if standing.below:
        on_tables = f" on {len(standing.below)} of them" * (len(standing.below) < len(boards))
        gap = metric.text(Interval.of(standing.below))
        text += f", {gap} {metric.unit} {metric.less} than the {LIMIT}{on_tables}"
    return f"{text}."


def _by_rank(by_method: Mapping[str, Standing]) -> list[str]:
    """Methods, the first of the mean rank first."""
    return sorted(by_method, key=lambda method: by_method[method].ranking.rank.mean)


def _uses(all_advice: Sequence[Advice]) -> str:
    """The method to use on each data set."""
    parts = [
        f"{name(advice.method)} on {advice.board.name}" if advice.useful else f"none on {advice.board.name}"
        for advice in all_advice[:4]
    ]
    others = f", and the table says of {len(all_advice) - 4} more" if len(all_advice) > 4 else ""
    budgets = {advice.eps for advice in all_advice}
    at = f"At eps {budgets.pop():g} use" if len(budgets) == 1 else "Use"
    return f"{at} {listed(parts)}{others}."


def _overview(all_advice: Sequence[Advice]) -> Table:
    """A line a data set: the method to use, how good it is, what is lost, what a constant answer gets."""
    metric = all_advice[0].metric
    cells = []
    for advice in all_advice:
        value = advice.board.values(advice.eps).get(advice.method) if advice.method else None
        word = advice.verdicts.get(advice.method, "")
        cells.append(
            [
                *(advice.board.name, name(advice.method) if advice.method else ABSENT, f"{advice.eps:g}"),
                *(metric.level(value), metric.text(advice.lost()), metric.level(advice.constant)),
                "" if word == USE else word,
            ]
        )
    heads = [metric.heading, "lost", "constant answer"]
    columns = [Head("data set", numeric=False), Head("use", numeric=False), Head("eps")]
    columns += [*map(Head, heads), Head("verdict", numeric=False, tags=True)]
    note = "Lost to privacy: difference at the same splits, with a 95% interval."
    return Table(columns, cells, note=note, looks=[""] * len(cells), title="Each data set").filled()


def _tests(boards: Sequence[Board], by_eps: Mapping[float, Mapping[str, Standing]]) -> list[str]:
    """What tests over the tables say, and how many tables they take."""
    first, *others = boards[0].methods
    texts = []
    if others and len(boards) < (least := fewest_tables(len(others))):
        texts.append(
            f"Of {len(boards)} data sets no test of {first} against {len(others)} "
            f"other{'s' * (len(others) > 1)} can say anything: that takes {least}."
        )
    for eps, by_method in by_eps.items():
        p = friedman({method: standing.scores for method, standing in by_method.items()})
        texts += (
            [f"At eps {eps:g}, Friedman’s test that all are alike: p = {p:.2g}."] if p is not None else []
        )
    return [
        *texts,
        "p against the first method: Wilcoxon’s signed-rank test over data sets, corrected by Holm for the "
        "methods at one eps.",
    ]


def _figure(boards: Sequence[Board], by_eps: Mapping[float, Mapping[str, Standing]], main: str) -> str:
    """Distances to the best model without privacy; a mean over some of the tables does not compare."""
    metric, hues = boards[0].metric, colours(boards[0].methods)
    drawn = []
    for method in boards[0].methods[:_MOST_LINES]:
        points = [
            (eps, Interval.of(by_method[method].below).mean, None)
            for eps, by_method in by_eps.items()
            if len(by_method[method].below) == len(boards)
        ]
        if points:
            drawn.append(Line(method, points, hues[method], main=method == main))
    if not drawn:
        return ""
    words = f"{metric.unit} of {metric.words} {metric.less} than the {LIMIT}"
    return lines(drawn, [], title=words, desc=words, y=words)


def _winners(boards: Sequence[Board]) -> Table:
    """Best method of each table and budget, its distance to the limit, and that of the first method."""
    metric, first = boards[0].metric, boards[0].methods[0]
    below = f"{metric.unit} {metric.less} than the {LIMIT}"
    columns = [
        *(Head("data set", numeric=False), Head("eps"), Head("best method", numeric=False)),
        *(Head(f"{metric.words} ± ci95"), Head(LIMIT, detail=True), Head(f"its {below}")),
        Head(f"{metric.unit} {first} has {metric.less} than the {LIMIT}", detail=True),
        Head(f"{metric.unit} {first} has {metric.more} than the best other method"),
        Head(TRUE_LABELS, detail=True),
    ]
    cells, records = [], []
    for board, eps in itertools.product(boards, boards[0].budgets):
        values = board.values(eps)
        row = next(row for row in board.rows if (row["method"], row["eps"]) == (first, eps))
        best, second = next(iter(values), None), next((name for name in values if name != first), None)
        value = values[best] if best else None
        limit, true = (board.baselines[name].over(metric.name) for name in (LIMIT, TRUE_LABELS))
        gap = board.below(best, eps) if best else None
        first_gap = board.below(first, eps) if first in values else None
        lead = board.lead(first, second, eps) if first in values and second else None
        lead = lead and lead.at(simultaneous(len(values) - 1))  # to the best of the others
        line = [board.name, f"{eps:g}", best or ABSENT, number(value), number(limit), metric.text(gap)]
        line.append(metric.text(first_gap) if first in values else ended(row.status))
        line.append(metric.text(lead, sign=True))
        cells.append([*line, number(true)])
        record: dict[str, Any] = {"table": board.name, "eps": eps, "metric": metric.name}
        record |= {"n_private": row["n_private"], "delta": row["delta"]}
        record |= {"best": best, "first": first, "other": second}
        numbers = {metric.name: value, "without_privacy": limit, "student_on_true_labels": true}
        numbers |= {f"best_below_{metric.unit}": gap, f"first_below_{metric.unit}": first_gap}
        records.append(record | flat(numbers | {f"first_above_other_{metric.unit}": lead}))
    what = sentences.protected([row for board in boards for row in board.every])
    note = (
        f"Mean {metric.words} on held-out records and differences at the same splits; {T_NOTE}, "
        f"{GAP_NOTE}; of the first less the best other method it is corrected for the choice of that one. "
        f"The limit is the {LIMIT}: it, the student on true labels and the measuring are {NOT_PRIVATE}. eps "
        f"is the guarantee of one repeat, for {what}."
    )
    return Table(columns, cells, records, note)


def _ranks(boards: Sequence[Board], by_eps: Mapping[float, Mapping[str, Standing]]) -> Table:
    """Ranks of the methods at each budget, over tables."""
    metric, first, n = boards[0].metric, boards[0].methods[0], len(boards)
    columns = [Head("eps"), Head("method", numeric=False), Head("mean rank"), Head("win rate")]
    columns += [Head("first on", "data sets"), Head(f"{metric.unit} {metric.less} than the {LIMIT}")]
    columns += [Head(f"p against {first}")]
    cells, records = [], []
    for eps, by_method in by_eps.items():
        for method in _by_rank(by_method):
            ranking, _, gaps = by_method[method]
            gap = Interval.of(gaps) if gaps else None
            n_tables = f" ({len(gaps)})" if 0 < len(gaps) < n else ""
            cells.append([f"{eps:g}", method, number(ranking.rank, ".2f"), number(ranking.wins, ".2f")])
            cells[-1] += [str(ranking.firsts), f"{metric.text(gap)}{n_tables}", number(ranking.p, ".3g")]
            numbers = {"mean_rank": ranking.rank, "win_rate": ranking.wins, f"below_{metric.unit}": gap}
            record = {"eps": eps, "method": method, "tables": n, "tables_below": len(gaps)}
            records.append(record | flat(numbers) | {"first_on": ranking.firsts, "p": ranking.p})
    note = (
        f"Over {n} data sets, by the mean {metric.words} of each: ± is half a 95% interval of Student's "
        "t over them, as if drawn at random from those one might have. A method without a value on one "
        "is last there; the gap leaves such data sets out (how many are left, in brackets). p: Wilcoxon's "
        f"signed-rank test against {first}, corrected by Holm; {ABSENT} where too few data sets allow none."
    )
    return Table(columns, cells, records, note)
