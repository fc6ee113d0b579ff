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
from pate_cli.results.answers import NO_USE, UNSURE, USE, Advice, advise, measure_of
from pate_cli.results.boards import ACCURACY, Board, Metric, boards_of
from pate_cli.results.details import details, eps_figure, splits_of
from pate_cli.results.many_tables import tables_report
from pate_cli.results.marks import guaranteed, listed, name, plain, rounded_up
from pate_cli.results.means import MeasuredRow, flat, rows_of
from pate_cli.results.next_steps import (
    compare_methods,
    lacking,
    more_repeats,
    of_persons,
    release_step,
    typed_value,
)
from pate_cli.results.overview import overview
from pate_cli.results.page import Fact, Page, Report, Section
from pate_cli.results.paired import paired
from pate_cli.results.record import find_records
from pate_cli.results.settings import BASELINES, LIMIT, MAJORITY, NOT_PRIVATE
from pate_cli.results.tables import ABSENT, Head, Table, number
from pate_cli.results.verdicts import ended

__all__ = ["report", "sources_of"]

_MOST_ROWS = 15  # of the main table
_MOST_EPS = 5  # columns of it
_ENDED = ("interrupted", "running", "killed")
_FAILED = ("failed", "error")
_ON_TERMINAL = {NO_USE: "no use here", UNSURE: "may be no use"}


def report(
    repeats: pd.DataFrame,
    command: Sequence[str],
    sources: Mapping[str, str],
    *,
    title: str = "",
    metric: Metric | None = None,
    absent: Sequence[tuple[str, str, str]] = (),
    extra_sections: Sequence[Section] = (),
) -> Report:
    """Put the report of repeats together; `command` makes it again.

    The measure follows from the data unless it is given; `absent` are data sets that are not on this machine;
    `extra_sections` are somebody else's.
    """
    rows = rows_of(repeats)
    boards = boards_of(rows)
    metric = metric or measure_of(boards)
    all_advice = [advise(board, metric) for board in boards]
    first = next((a.method for a in all_advice if a.method), "")
    many = len(boards) > 1
    page, base = tables_report(all_advice, command, absent) if many else _single(all_advice[0], command)
    left_out = repeats.attrs.get("left_out", 0)
    files = {"paired": _paired(rows, first), "rows": overview(rows, metrics=True, left_out=left_out)}
    done = count_of(sum(row.n for row in rows), "repeat")
    origin = f"made from {done}, of `repeats.csv` beside this page or the runs"
    page = replace(
        page,
        title=title or f"{page.title}: {plain(page.answer)}",
        sections=[*page.sections, *extra_sections],
        footer=[" · ".join([origin, *(f"{key} {value}" for key, value in sources.items())])],
    )
    return replace(
        base,
        page=page,
        files={**base.files, **{stem: table for stem, table in files.items() if table.cells}},
        failures=[
            f"{f'{board.name}, ' * many}{_row_name(row)}: {row.reason}"
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


def _single(advice: Advice, command: Sequence[str]) -> tuple[Page, Report]:
    """Page and report of one data set."""
    board, single_row = advice.board, len(advice.board.rows) == 1
    headline = sentences.headline(advice, board.name if single_row else "")
    clause = sentences.constant_clause(advice) if advice.useful else ""
    table = main_table(advice)
    step = release_step(advice) or more_repeats(advice, command)
    if single_row and not board.baselines:
        step = compare_methods(board.rows[0]) or step
    figure, caption = eps_figure(advice)
    alone = single_row and not advice.limit  # in lines, without a table and its verdict
    sections = [] if alone else [Section(table.title, [("table", table)])]
    if step is not None:
        note = [("note", _publishing(advice, step[1]))] if step[0] == "publish it" else []
        sections.append(Section(f"Next: {step[0]}", [("code", step[1]), *note]))
    lack = "" if step else lacking(advice)
    if lack:
        sections.append(Section("Next: publish it", [("p", lack)]))
    page = Page(
        title=board.name,
        kicker=_kicker(advice, command),
        answer=headline,
        lede=sentences.lede(advice),
        caution=sentences.caution(advice),
        facts=_facts(advice),
        figure=figure,
        caption=caption,
        sections=sections,
        details=details(advice, command),
    )
    return page, Report(
        answer=f"{headline[:-1]}; {clause}." if clause else headline,
        table=_for_terminal(table, advice.metric),
        lines=_lines(advice) if alone else (),
        notes=[*_notes(advice), *([lack] if lack else [])],
        explain=[*([] if alone else sentences.verdict_rule(advice)), *_meanings(advice)],
        next_step=step,
        files={"table": Table(table.columns, table.cells, _records(board))},
    )


def main_table(advice: Advice) -> Table:
    """Methods by eps in the measure of the answer, what each is off, and a verdict a row."""
    board, metric = advice.board, advice.metric
    budgets = _columns(advice)
    versus = advice.limit or advice.method
    at_eps = f"eps {advice.eps:g}" if math.isfinite(advice.eps) else "eps ∞"
    heading = f"lost at {at_eps}" if advice.limit else f"{metric.less} than {name(advice.method)}, {at_eps}"
    cells, looks = [], []

    def add_row(label: str, method: str, verdict: str, look: str) -> None:
        by_eps = [board.cell(method, eps) for eps in budgets]
        values = [metric.level(row.over(metric.name)) if row else ABSENT for row in by_eps]
        gap = board.lead(versus, method, advice.eps) if advice.limit else advice.lead(method)
        gap = None if method == versus else gap
        cells.append([label, *values, metric.text(gap) if gap else "", verdict])
        looks.append(look)

    if advice.limit:
        add_row("without privacy", advice.limit, "", "ref")
    order = sorted(advice.verdicts, key=lambda method: method != advice.method)
    for method in order[:_MOST_ROWS]:
        verdict = advice.verdicts[method]
        add_row(name(method), method, verdict, "pick" if verdict == USE else "")
    if MAJORITY in board.baselines or advice.constant is not None:
        gap = board.lead(versus, MAJORITY, advice.eps) if advice.limit else None
        levels = [metric.level(advice.constant)] * len(budgets)
        cells.append([advice.constant_words, *levels, metric.text(gap) if gap else "", ""])
        looks.append("ref")
    columns = [Head("method", numeric=False), *(Head(f"eps {eps:g}") for eps in budgets)]
    columns += [Head(heading), Head("verdict", numeric=False, tags=True)]
    note = f"Mean of {splits_of(advice)} on records not used in training."
    if any(line[-2] for line in cells):
        head = "Lost" if advice.limit else metric.less.capitalize()
        n = 1 if advice.limit else advice.comparisons(advice.eps)
        note += f" {head}: difference at the same splits, with a 95% interval"
        note += f", which holds for all {n} comparisons together." if n > 1 else "."
    if len(order) > _MOST_ROWS:
        note += f" {len(order) - _MOST_ROWS} more methods are among all runs."
    unit = "percent" if metric.percent == "%" else metric.unit
    title = f"{metric.words[0].upper()}{metric.words[1:]} in {unit}"
    return Table(columns, cells, note=note, looks=looks, title=title).filled()


def _columns(advice: Advice) -> list[float]:
    """Values of eps that have a column: all, or the one spoken of and others spread over the range."""
    budgets = advice.board.budgets
    if len(budgets) <= _MOST_EPS:
        return budgets
    step = (len(budgets) - 1) / (_MOST_EPS - 1)
    chosen = {budgets[round(k * step)] for k in range(_MOST_EPS)} - {advice.eps}
    inner_first = sorted(chosen, key=lambda eps: eps in (budgets[0], budgets[-1]))
    return sorted([*inner_first[-_MOST_EPS + 1 :], advice.eps])


def _for_terminal(table: Table, metric: Metric) -> Table:
    """The same with the short words, and the measure above the methods."""
    cells = [[_ON_TERMINAL.get(cell, cell) for cell in row] for row in table.cells]
    return Table([Head(metric.heading, numeric=False), *table.columns[1:]], cells)


def _notes(advice: Advice) -> list[str]:
    hidden = len(advice.board.budgets) - len(_columns(advice))
    methods = max(0, len(advice.verdicts) - _MOST_ROWS)
    hidden_parts = [
        count_of(hidden, "more budget") if hidden else "",
        count_of(methods, "more method") if methods else "",
    ]
    if math.isfinite(advice.eps) and any(row["eps"] == math.inf for row in advice.board.rows):
        hidden_parts.append("eps=inf (pate table)")
    not_shown = f" Not shown: {', '.join(filter(None, hidden_parts))}." if any(hidden_parts) else ""
    mean = (
        f"Mean of {splits_of(advice, ' of these records')}, ± half a 95% interval."
        if advice.repeats > 1
        else "One split."
    )
    if not advice.method:
        methods_by_reason: dict[str, dict[str, None]] = {}
        for row in advice.board.rows:
            if row.reason:
                reason = f"{ended(row.status, row.n)}: {row.reason}"
                methods_by_reason.setdefault(reason, {})[row["method"]] = None
        return [f"{listed(map(name, methods))} {reason}" for reason, methods in methods_by_reason.items()]
    stopped = [
        f"{_row_name(row)}: {ended(row.status, row.n)}: {row.reason}"
        for row in advice.board.every
        if row.status in _ENDED
    ]
    return [*stopped[:2], sentences.INSIDE, f"{mean}{not_shown} Of columns: --explain"]


def _meanings(advice: Advice) -> list[str]:
    what = sentences.protected(advice.board.every)
    texts = [f"eps: {sentences.meaning_of_eps(what)}", f"±: {sentences.GLOSSARY['±']}"]
    if advice.limit == LIMIT:
        texts.append(f"without privacy: {BASELINES[LIMIT]}; it must not be published.")
    return texts


def _lines(advice: Advice) -> list[tuple[str, str, str]]:
    """A single row in four lines: label, value and note."""
    row, metric = advice.board.rows[0], advice.metric
    value = row.over(metric.name)
    lines = []
    if value is not None:
        level = f"{metric.level(value, ci=True)}{metric.percent}"
        lines.append((metric.words, level, f"mean of {splits_of(advice)}"))
    if (constant := advice.constant) is not None:
        lines.append(("constant answer", f"{metric.level(constant)}{metric.percent}", advice.constant_words))
    if row["eps"] == math.inf:
        lines.append(("guarantee", "none", ""))
    elif row["eps"] is not None:
        failing = "" if row["delta"] is None else f"delta {rounded_up(row['delta'], 3):.3g}, "
        what = sentences.protected([row])
        lines.append(("guarantee", f"eps {guaranteed(row['eps'])}", f"{failing}for {what}, of one run"))
    if row["n_teachers"]:
        asked, answered = row.mean("n_asked"), row.mean("n_answered")
        labels = f"{count_of(answered or 0, 'label')} for {count_of(asked, 'question')}" if asked else ""
        lines.append(("teachers", f"{row['n_teachers']:,.0f}", labels))
    return lines


def _facts(advice: Advice) -> list[Fact]:
    """Four facts: records, classes, guarantee, how often it was measured."""
    board = advice.board
    row = advice.row or next(iter(board.rows or board.every))
    facts = []
    if row["n_private"]:
        parts = [
            f"{row[f'n_{part}']:,.0f} {word}"
            for part, word in (("public", "public"), ("test", "to test"))
            if row[f"n_{part}"]
        ]
        counted = "Persons" if of_persons(row) else "Records"
        facts.append(Fact(counted, f"{row['n_private']:,.0f} private", ", ".join(parts)))
    if row.classes:
        share = advice.largest_share
        largest = "" if share is None else f"the largest has {ACCURACY.level(share)}% of the records"
        facts.append(Fact("Classes", str(len(row.classes)), largest))
    if math.isfinite(advice.eps):
        finite = [r for r in board.every if r["eps"] is not None and math.isfinite(r["eps"])]
        deltas = {r["delta"] for r in finite} - {None}
        delta = f", delta {'at most ' * (len(deltas) > 1)}{rounded_up(max(deltas), 2):.2g}" if deltas else ""
        facts.append(Fact("Guarantee", f"{sentences.protected(finite)}{delta}", "for each eps, of one run"))
    same = "the same for every method" if len(board.methods) > 1 and advice.same_splits else ""
    facts.append(Fact("Measured", splits_of(advice), same))
    return facts


def _kicker(advice: Advice, command: Sequence[str]) -> str:
    target = next((text for row in advice.board.rows if (text := typed_value(row, "dataset.target"))), "")
    predicting = f", predicting {name(target)}" if target else ""
    return f"{name(' '.join(command[:2]))} · {advice.board.name}{predicting}"


def _publishing(advice: Advice, commands: Sequence[Sequence[str]]) -> str:
    """What the lines of a release do: the last makes it."""
    command = commands[-1]
    row, nearest = advice.row, " (of the measured eps the nearest to 1)" * (len(advice.board.budgets) > 1)
    share = next(text.partition("=")[2] for text in command if text.lstrip("+").startswith("evaluate="))
    lines = [
        "writes down how the table is read, which no record of a release decides",
        "states, once, how much may ever be spent on these records",
        f"spends eps {advice.eps:g} of it{nearest}, and measures the quality with noise on a share of {share}"
        " of the private records",
    ][-len(commands) :]
    numbers = ("first line", "second", "third")
    text = " ".join(f"The {number} {what}." for number, what in zip(numbers, lines, strict=False))
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
    for method in (*board.methods, *board.baselines):
        for row in (row for row in board.every if row["method"] == method):
            kind, guarantee = "method", "differentially private"
            if method in BASELINES:
                kind, guarantee = "yardstick", NOT_PRIVATE
            record: dict[str, Any] = {"kind": kind, "method": method, "guarantee": guarantee}
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
    sources |= {f"data: {label}": f"SHA-256 {str(checksum)[:12]}…" for label, checksum in named if checksum}
    for record in records[:1]:
        versions = record.provenance.get("versions") or {}
        sources["versions"] = ", ".join(f"{label} {text}" for label, text in versions.items() if text)
    return sources
