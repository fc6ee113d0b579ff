"""The report of any table of repeats: the answer, its figure and table, and the page.

A run, a sweep, a frontier and results put together by hand are one thing here: rows with a data set, a method
and eps. One data set has its methods by eps; of several `many_tables` has the winners and ranks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from pate_cli.errors import InputError, count_of
from pate_cli.results import sentences
from pate_cli.results.answers import NO_USE, UNLIKE, USE, Advice, answer, ended, measure_of
from pate_cli.results.boards import ACCURACY, Board, Metric, boards_of
from pate_cli.results.details import details, eps_figure, splits_of
from pate_cli.results.many_tables import tables_report
from pate_cli.results.marks import listed, name, plain
from pate_cli.results.means import MeasuredRow, flat, rows_of
from pate_cli.results.next_steps import compare_methods, more_repeats, release_step, typed_value
from pate_cli.results.overview import overview
from pate_cli.results.page import Fact, Page, Report, Section
from pate_cli.results.paired import paired
from pate_cli.results.record import find_records
from pate_cli.results.settings import BASELINES, LIMIT, MAJORITY, NOT_PRIVATE
from pate_cli.results.tables import ABSENT, Head, Table, number

__all__ = ["report", "sources_of"]

_MOST_ROWS = 15  # of the main table
_MOST_EPS = 5  # columns of it
_ENDED = ("interrupted", "running", "killed")
_FAILED = ("failed", "error")
_ON_TERMINAL = {NO_USE: "no use here"}


def report(
    repeats: pd.DataFrame,
    command: Sequence[str],
    sources: Mapping[str, str],
    *,
    title: str = "",
    metric: Metric | None = None,
    absent: Sequence[tuple[str, str, str]] = (),
    more: Sequence[Section] = (),
) -> Report:
    """Put the report of repeats together; `command` makes it again.

    The measure follows from the data unless it is given; `absent` are data sets that are not on this machine;
    `more` are sections of somebody else's.
    """
    rows = rows_of(repeats)
    boards = boards_of(rows)
    metric = metric or measure_of(boards)
    answers = [answer(board, metric) for board in boards]
    first = next((a.method for a in answers if a.method), "")
    several = len(boards) > 1
    page, found = tables_report(answers, command, absent) if several else _single(answers[0], command)
    left_out = repeats.attrs.get("left_out", 0)
    files = {"paired": _paired(rows, first), "rows": overview(rows, metrics=True, left_out=left_out)}
    done = count_of(sum(row.n for row in rows), "repeat")
    made = f"made from {done}, of `repeats.csv` beside this page or the runs"
    page = replace(
        page,
        title=title or f"{page.title}: {plain(page.answer)}",
        sections=[*page.sections, *more],
        footer=[" · ".join([made, *(f"{key} {value}" for key, value in sources.items())])],
    )
    return replace(
        found,
        page=page,
        files={**found.files, **{stem: table for stem, table in files.items() if table.cells}},
        failures=[
            f"{f'{board.name}, ' * several}{_row_name(row)}: {row.reason}"
            for board in boards
            for row in board.every
            if row.status in _FAILED
        ],
    )


def _paired(rows: Sequence[MeasuredRow], first: str) -> Table:
    """Differences to a method, repeat by repeat; none where several rows of it fit another one."""
    try:
        return paired(rows, first)
    except InputError:
        return Table([], [])


def _single(found: Advice, command: Sequence[str]) -> tuple[Page, Report]:
    """Page and report of one data set."""
    board, alone = found.board, len(found.board.rows) == 1
    headline = sentences.headline(found, board.name if alone else "")
    clause = sentences.constant_clause(found) if found.useful else ""
    table = main_table(found)
    step = release_step(found) or more_repeats(found, command)
    if alone and not board.baselines:
        step = compare_methods(board.rows[0]) or step
    figure, caption = eps_figure(found)
    sections = [] if alone and not found.limit else [Section(table.title, [("table", table)])]
    if step is not None:
        note = [("note", _publishing(found, step[1][-1]))] if step[0] == "publish it" else []
        sections.append(Section(f"Next: {step[0]}", [("code", step[1]), *note]))
    page = Page(
        title=board.name,
        kicker=_kicker(found, command),
        answer=headline,
        lede=sentences.lede(found),
        caution=sentences.caution(found),
        facts=_facts(found),
        figure=figure,
        caption=caption,
        sections=sections,
        details=details(found, command),
    )
    return page, Report(
        answer=f"{headline[:-1]}; {clause}." if clause else headline,
        table=_for_terminal(table, found.metric),
        lines=_lines(found) if alone and not found.limit else (),
        notes=_notes(found),
        explain=[*sentences.verdict_rule(found), *_meanings(found)],
        next_step=step,
        files={"table": Table(table.columns, table.cells, _records(board))},
    )


def main_table(found: Advice) -> Table:
    """Methods by eps in the measure of the answer, what each is off, and a verdict a row."""
    board, metric = found.board, found.metric
    budgets = _columns(found)
    versus = found.limit or found.method
    at = f"eps {found.eps:g}" if math.isfinite(found.eps) else "eps ∞"
    off = f"lost at {at}" if found.limit else f"{metric.less} than {name(found.method)}, {at}"
    cells, looks = [], []

    def row_of(label: str, of: str, verdict: str, look: str) -> None:
        by_eps = [board.cell(of, eps) for eps in budgets]
        values = [metric.level(row.over(metric.name)) if row else ABSENT for row in by_eps]
        gap = board.lead(versus, of, found.eps) if of != versus else None
        cells.append([label, *values, metric.text(gap) if gap else "", verdict])
        looks.append(look)

    if found.limit:
        row_of("without privacy", found.limit, "", "ref")
    order = sorted(found.verdicts, key=lambda of: of != found.method)
    for of in order[:_MOST_ROWS]:
        row_of(name(of), of, found.verdicts[of], "pick" if found.verdicts[of] == USE else "")
    if MAJORITY in board.baselines or found.constant is not None:
        gap = board.lead(versus, MAJORITY, found.eps)
        levels = [metric.level(found.constant)] * len(budgets)
        cells.append([found.constant_words, *levels, metric.text(gap) if gap else "", ""])
        looks.append("ref")
    columns = [Head("method", numeric=False), *(Head(f"eps {eps:g}") for eps in budgets)]
    columns += [Head(off), Head("verdict", numeric=False, tags=True)]
    note = f"Mean of {splits_of(found)} on records not used in training."
    if any(line[-2] for line in cells):
        head = "Lost" if found.limit else metric.less.capitalize()
        note += f" {head}: difference at the same splits, with a 95% interval."
    if len(order) > _MOST_ROWS:
        note += f" {len(order) - _MOST_ROWS} more methods are among all runs."
    unit = "percent" if metric.percent == "%" else metric.unit
    title = f"{metric.words[0].upper()}{metric.words[1:]} in {unit}"
    return Table(columns, cells, note=note, looks=looks, title=title).filled()


def _columns(found: Advice) -> list[float]:
    """Values of eps that have a column: all, or the one spoken of and others spread over the range."""
    budgets = found.board.budgets
    if len(budgets) <= _MOST_EPS:
        return budgets
    step = (len(budgets) - 1) / (_MOST_EPS - 1)
    chosen = {budgets[round(k * step)] for k in range(_MOST_EPS)} - {found.eps}
    inner_first = sorted(chosen, key=lambda eps: eps in (budgets[0], budgets[-1]))
    return sorted([*inner_first[-_MOST_EPS + 1 :], found.eps])


def _for_terminal(table: Table, metric: Metric) -> Table:
    """The same with the short words, and the measure above the methods."""
    cells = [[_ON_TERMINAL.get(cell, cell) for cell in row] for row in table.cells]
    return Table([Head(metric.heading, numeric=False), *table.columns[1:]], cells)


def _notes(found: Advice) -> list[str]:
    hidden = len(found.board.budgets) - len(_columns(found))
    methods = max(0, len(found.verdicts) - _MOST_ROWS)
    left = [
        count_of(hidden, "more budget") if hidden else "",
        count_of(methods, "more method") if methods else "",
    ]
    if math.isfinite(found.eps) and any(row["eps"] == math.inf for row in found.board.rows):
        left.append("eps=inf (pate table)")
    rest = f" Not shown: {', '.join(filter(None, left))}." if any(left) else ""
    mean = f"Mean of {splits_of(found)}, ± half a 95% interval." if found.repeats > 1 else "One split."
    if not found.method:
        refused: dict[str, dict[str, None]] = {}
        for row in found.board.rows:
            if row.reason:
                refused.setdefault(f"{ended(row.status)}: {row.reason}", {})[row["method"]] = None
        return [f"{listed(map(name, of))} {why}" for why, of in refused.items()]
    stopped = [
        f"{_row_name(row)}: {row.status}: {row.reason}" for row in found.board.every if row.status in _ENDED
    ]
    return [*stopped[:2], sentences.INSIDE, f"{mean}{rest} Of columns: --explain"]


def _meanings(found: Advice) -> list[str]:
    what = sentences.protected(found.board.every)
    texts = [f"eps: {sentences.meaning_of_eps(what)}", f"±: {sentences.GLOSSARY['±']}"]
    if found.limit == LIMIT:
        texts.append(f"without privacy: {BASELINES[LIMIT]}; it must not be published.")
    return texts


def _lines(found: Advice) -> list[tuple[str, str, str]]:
    """A single row in four lines: label, value and note."""
    row, metric = found.board.rows[0], found.metric
    value = row.over(metric.name)
    lines = []
    if value is not None:
        level = f"{metric.level(value, ci=True)}{metric.percent}"
        lines.append((metric.words, level, f"mean of {splits_of(found)}"))
    if (constant := found.constant) is not None:
        lines.append(("constant answer", f"{metric.level(constant)}{metric.percent}", found.constant_words))
    if row["eps"] == math.inf:
        lines.append(("guarantee", "none", ""))
    elif row["eps"] is not None:
        failing = "" if row["delta"] is None else f"delta {row['delta']:.3g}, "
        what = sentences.protected([row])
        lines.append(("guarantee", f"eps {row['eps']:g}", f"{failing}for {what}, of one run"))
    if row["n_teachers"]:
        asked, given = row.mean("n_asked"), row.mean("n_answered")
        labels = f"{count_of(given or 0, 'label')} for {count_of(asked, 'question')}" if asked else ""
        lines.append(("teachers", f"{row['n_teachers']:,.0f}", labels))
    return lines


def _facts(found: Advice) -> list[Fact]:
    """Four facts: records, classes, guarantee, how often it was measured."""
    board = found.board
    row = found.row or next(iter(board.rows or board.every))
    facts = []
    if row["n_private"]:
        parts = [
            f"{row[f'n_{of}']:,.0f} {word}"
            for of, word in (("public", "public"), ("test", "to test"))
            if row[f"n_{of}"]
        ]
        facts.append(Fact("Records", f"{row['n_private']:,.0f} private", ", ".join(parts)))
    if row.classes:
        share = found.largest_share
        largest = "" if share is None else f"the largest has {ACCURACY.level(share)}% of the records"
        facts.append(Fact("Classes", str(len(row.classes)), largest))
    if math.isfinite(found.eps):
        finite = [each for each in board.every if each["eps"] is not None and math.isfinite(each["eps"])]
        deltas = {each["delta"] for each in finite} - {None}
        delta = f", delta {'at most ' * (len(deltas) > 1)}{max(deltas):.2g}" if deltas else ""
        facts.append(Fact("Guarantee", f"{sentences.protected(finite)}{delta}", "for each eps, of one run"))
    same = "the same for every method" if len(board.methods) > 1 and not found.named(UNLIKE) else ""
    facts.append(Fact("Measured", splits_of(found), same))
    return facts


def _kicker(found: Advice, command: Sequence[str]) -> str:
    target = next((text for row in found.board.rows if (text := typed_value(row, "dataset.target"))), "")
    predicting = f", predicting {name(target)}" if target else ""
    return f"{name(' '.join(command[:2]))} · {found.board.name}{predicting}"


def _publishing(found: Advice, command: Sequence[str]) -> str:
    """What the two lines of a release do: `command` is the second."""
    row, nearest = found.row, " (the eps nearest to 1)" * (len(found.board.budgets) > 1)
    share = next(text.partition("=")[2] for text in command if text.lstrip("+").startswith("evaluate="))
    text = (
        "The first line, once, states how much may ever be spent on these records. The second spends eps "
        f"{found.eps:g} of it{nearest}, and measures the quality with noise on a share of {share} of the "
        "private records."
    )
    if "split.public_from_private=true" not in command:
        return text
    opened = (
        f"the columns of {count_of(row['n_public'], 'record')}" if row and row["n_public"] else "some columns"
    )
    return (
        f"{text} It makes {opened} public (`split.public_from_private`); if you have public records of the "
        "same kind, `dataset.public=FILE` takes its place."
    )


def _records(board: Board) -> list[dict[str, Any]]:
    """Lines of the table's file: one for each method and baseline, at each eps."""
    records = []
    for of in (*board.methods, *board.baselines):
        for row in (row for row in board.every if row["method"] == of):
            kind, guarantee = "method", "differentially private"
            if of in BASELINES:
                kind, guarantee = "yardstick", NOT_PRIVATE
            record: dict[str, Any] = {"kind": kind, "method": of, "guarantee": guarantee}
            record |= {"eps": row["eps"], "n": row.n, "status": row.status, "reason": row.reason or None}
            measured = {metric: row.over(metric) for metric in dict.fromkeys(("accuracy", board.metric.name))}
            records.append(record | flat(measured))
    return records


def _row_name(row: MeasuredRow) -> str:
    eps = "" if row["method"] in BASELINES else f" eps={number(row['eps'], 'g')}"
    return f"{row['method']}{eps}"


def sources_of(places: Sequence[Path], repeats: pd.DataFrame) -> dict[str, str]:
    """Directories and versions of the runs in `places`, and checksums of the data."""
    records = find_records(places).records
    sources = {"read from": ", ".join(map(str, places))}
    named = dict.fromkeys(zip(repeats["dataset"], repeats["checksum"], strict=True))
    sources |= {f"data: {of}": f"SHA-256 {str(checksum)[:12]}…" for of, checksum in named if checksum}
    for record in records[:1]:
        versions = record.provenance.get("versions") or {}
        sources["versions"] = ", ".join(f"{of} {text}" for of, text in versions.items() if text)
    return sources
