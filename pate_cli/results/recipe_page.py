"""The report of a recipe: does the paper's conclusion hold, and do its numbers; and of all claims at once."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from pate_cli.errors import count_of
from pate_cli.results import sentences
from pate_cli.results.boards import ACCURACY
from pate_cli.results.findings import Findings
from pate_cli.results.marks import listed, name
from pate_cli.results.next_steps import NextStep
from pate_cli.results.page import Fact, Page, Report, Section
from pate_cli.results.svg import Level, Line, colours, lines
from pate_cli.results.tables import ABSENT, Head, Table, number, span
from pate_cli.results.verdicts import (
    NOT_RUN,
    OWN,
    SHOWN,
    TOO_FEW,
    UNKNOWN,
    Verdict,
    counted,
    counts_of,
    ended,
)

__all__ = ["recipe_report"]

_TITLES = {
    "metrics": "Other measures",
    "paired": "Paired differences",
    "rows": "All runs",
    "settings": "Which setting gives which printed numbers",
}
_AGREES, _HIGHER, _LOWER = SHOWN["reproduces"], SHOWN["differs (above)"], SHOWN["differs (below)"]
_ASIDE = ("eps_ex_post",)  # claims that are no conclusion
_PAIRS = "Pairs of numbers: here/printed."
_COUNTS = (
    ("labels", "answered", "printed_queries", ".0f"),
    ("eps used", "eps_ex_post", "printed_eps_ex_post", ".2f"),
)
_PRINTED = "printed_accuracy"


def recipe_report(findings: Findings, next_step: NextStep | None = None) -> Report:
    """Answer, figure, rows beside the printed ones, what differs; the rest is folded."""
    judged = [verdict for verdict in findings.claims if verdict.label != OWN and verdict.verdict != OWN]
    table = _rows(findings) if findings.rows else findings.table.varying()
    headline = _headline(findings, judged)
    drawn = _drawn(findings)
    figure = _figure(findings)
    differs = [verdict for verdict in judged if verdict.word != _AGREES]
    sections = [] if figure else [Section("Figure" if len(drawn) == 1 else "Figures", _images(drawn))]
    sections.append(Section("Row by row" if findings.rows else "Table", [("table", table)]))
    sections.append(Section("What differs from the paper, or cannot be told", _claims(differs)))
    if next_step:
        sections.append(Section(f"Next: {next_step[0]}", [("code", next_step[1])]))
    page = Page(
        title=findings.about.title,
        kicker=f"{name(' '.join(findings.command[:3]))} · {findings.about.source}",
        answer=headline,
        lede=findings.about.shows if headline != findings.about.shows else "",
        caution=_caution(findings),
        facts=_facts(findings, judged),
        figure=figure,
        caption="Ours solid, with 95% intervals; dashed and hollow as printed." if figure else "",
        sections=[section for section in sections if section.blocks],
        details=_details(findings, judged, drawn if figure else {}),
        footer=[" · ".join(f"{key} {value}" for key, value in findings.sources.items())],
    )
    counts = [f"Claims of the paper: {counted(v.word for v in judged)}."] if judged and findings.rows else []
    return Report(
        answer=headline,
        table=table,
        page=page,
        notes=[*[_PAIRS] * bool(findings.rows), *counts, *[sentences.INSIDE] * findings.private],
        explain=[findings.table.note, *findings.notes],
        next_step=next_step,
        files={"table": findings.table, **findings.more},
        images=_files(drawn),
        verdicts=[asdict(v) | {"verdict": v.word} for v in (*findings.rows, *findings.claims)],
        failures=findings.failures,
    )


def _caution(findings: Findings) -> str:
    """Whom the page is for, where its data may be somebody's; and that a quick run decides nothing."""
    inside = "**Keep this page inside.** Its numbers come from private records without protection."
    quick = "A quick run, of small sizes: it shows that everything works, and decides nothing."
    return " ".join([inside] * findings.private + [quick] * findings.quick)


def _headline(findings: Findings, claims: Sequence[Verdict]) -> str:
    """Does the conclusion of the paper hold, and do its numbers."""
    numbers = _numbers(findings.rows)
    main = next((verdict for verdict in claims if not verdict.name.startswith(_ASIDE)), None)
    if not findings.rows or main is None:
        if not claims:
            return numbers or findings.about.shows
        words = listed(counts_of(verdict.word for verdict in claims))
        return f"The paper’s {count_of(len(claims), 'claim')}: {words}."
    conclusions = {
        _AGREES: "The paper’s conclusion holds",
        SHOWN["differs"]: "The paper’s conclusion does not hold here",
        UNKNOWN: "Whether the paper’s conclusion holds cannot be told",
        TOO_FEW: "Too few runs to tell whether the paper’s conclusion holds",
        NOT_RUN: "Whether the paper’s conclusion holds was not run",
    }
    conclusion = conclusions.get(main.word, f"The paper’s conclusion: {main.word}")
    return f"{conclusion}: {main.name}. {numbers}".strip()


def _numbers(rows: Sequence[Verdict]) -> str:
    """How many printed numbers agree, and by how much the others are off."""
    words = [verdict.word for verdict in rows]
    judged = [verdict for verdict in rows if verdict.word in (_AGREES, _HIGHER, _LOWER)]
    if not judged:
        return "" if {*words} <= {TOO_FEW} else f"Its numbers: {listed(counts_of(words))}."
    if {*words} == {_AGREES}:
        return f"All {len(rows)} printed numbers agree." if len(rows) > 1 else "The printed number agrees."
    parts = []
    for word in (_HIGHER, _LOWER):
        gaps = [abs(v.gap.mean) for v in rows if v.word == word and v.gap is not None]
        if gaps:
            points = span([100 * gap for gap in gaps], ".0f")
            parts.append(f"{len(gaps)} of {len(rows)} come out {points} points {word.partition(' ')[0]} here")
    if not parts:
        return f"Its numbers: {listed(counts_of(words))}."
    return f"Its numbers do not: {listed(parts)}."


def _rows(findings: Findings) -> Table:
    """Ours beside the printed numbers, and a verdict a row; a table of the paper's with 80 columns."""
    verdicts = {verdict.name: verdict for verdict in findings.rows}
    records = [record for record in findings.table.records if record["name"] in verdicts]
    several = len({(record["dataset"], record.get("panel")) for record in records}) > 1
    counts = [
        (head, ours, printed, form)
        for head, ours, printed, form in _COUNTS
        if any(record.get(printed) is not None for record in records)
    ]
    columns = [Head("data", numeric=False)] * several + [Head("method", numeric=False), Head("eps")]
    columns += [Head(head) for head, *_ in counts]
    columns += [Head("accuracy, %"), Head("differs by")]
    columns.append(Head("verdict", numeric=False, tags=True))
    cells = []
    for record in records:
        verdict = verdicts[record["name"]]
        line = [str(record.get("panel") or record["dataset"])] * several
        line += [str(record["method"]), number(record["eps"], "g")]
        line += [
            f"{number(record.get(ours), form)}/{number(record.get(printed), form)}"
            for _, ours, printed, form in counts
        ]
        gap = ABSENT  # of few repeats an interval of Student's t says nothing
        if verdict.interval and verdict.word != TOO_FEW:
            gap = verdict.interval.times(100).text(1, sign=True).replace("-", "−")
        line += [
            f"{ACCURACY.level(record['accuracy'])}/{ACCURACY.level(record[_PRINTED])}",
            gap,
            verdict.word,
        ]
        cells.append(line)
    note = f"{_PAIRS} {findings.table.note.rpartition('if known. ')[2]}"
    return Table(columns, cells, findings.table.records, note, title="Ours beside the printed numbers")


def _figure(findings: Findings) -> str:
    """Ours and the printed accuracy against eps, where the rows of one data set have both."""
    records = findings.table.records if findings.rows else []
    records = [record for record in records if record.get("accuracy") is not None]
    finite = [record for record in records if math.isfinite(record["eps"])]
    if len({record["eps"] for record in finite}) < 2 or len({record["dataset"] for record in records}) > 1:
        return ""
    methods = list(dict.fromkeys(str(record["method"]) for record in finite))
    points = [(str(record["method"]), record["eps"]) for record in finite]
    if len(set(points)) < len(points) or len(methods) > 4:
        return ""
    hues, drawn = colours(methods), []
    for key, origin, printed in (("accuracy", "here", False), (_PRINTED, "in the paper", True)):
        for method in methods:
            line = [
                (
                    record["eps"],
                    100 * record[key],
                    100 * half if not printed and (half := record["accuracy_ci95"]) else None,
                )
                for record in sorted(finite, key=lambda record: record["eps"])
                if record["method"] == method and record[key] is not None
            ]
            if line:
                main = not printed and method == methods[-1]
                drawn.append(Line(f"{method} {origin}", line, hues[method], main=main, printed=printed))
    without = [record["accuracy"] for record in records if math.isinf(record["eps"])]
    levels = [Level(f"without privacy, here {100 * max(without):.1f}", 100 * max(without))] if without else []
    values = "; ".join(f"{line.name}: {', '.join(f'{y:.1f}' for _, y, _ in line.points)}" for line in drawn)
    delta = max((record["delta"] or 0.0 for record in finite), default=0.0)
    words = "accuracy on unseen records, %"
    return lines(drawn, levels, title=f"{findings.about.title}: {words}", desc=values, y=words, delta=delta)


def _drawn(findings: Findings) -> dict[str, tuple[bytes, bytes, float]]:
    """The recipe's own figures by name: PNG, SVG, and width in CSS pixels."""
    if not findings.figures:
        return {}
    from pate_cli.results.figures import render  # matplotlib: a second

    return {label: render(draw, f"{findings.about.name}-{label}") for label, draw in findings.figures.items()}


def _images(drawn: dict[str, tuple[bytes, bytes, float]]) -> list[tuple[str, Any]]:
    return [
        ("svg", (f"{figure}: its numbers are in the tables", base64.b64encode(svg).decode(), round(width)))
        for figure, (_, svg, width) in drawn.items()
    ]


def _files(drawn: dict[str, tuple[bytes, bytes, float]]) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for index, (figure, (png, svg, _)) in enumerate(drawn.items()):
        stem = "figure" if index == 0 else f"figure-{figure}"
        files |= {f"{stem}.png": png, f"{stem}.svg": svg}
    return files


def _claims(claims: Sequence[Verdict]) -> list[tuple[str, Any]]:
    """Table of claims: what the paper says, what is seen here, and the verdict."""
    if not claims:
        return []
    columns = [Head(head, numeric=False, prose=True) for head in ("the paper says", "seen here")]
    columns.append(Head("verdict", numeric=False, tags=True))
    return [("table", Table(columns, [[v.name, v.reason, v.word] for v in claims], title="Claims"))]


def _facts(findings: Findings, claims: Sequence[Verdict]) -> list[Fact]:
    counts = sorted({int(record["n"]) for record in findings.table.records if record.get("n")})
    facts = []
    if findings.rows:
        facts.append(Fact("Rows", str(len(findings.rows)), counted(v.word for v in findings.rows)))
    if claims:
        facts.append(Fact("Claims of the paper", str(len(claims)), counted(v.word for v in claims)))
    if counts:
        facts.append(Fact("Measured", f"{counts[-1]} random splits", "of each row"))
    if findings.absent:
        facts.append(Fact("Without numbers", str(len(findings.absent)), "why is said below"))
    return facts[:4]


def _details(
    findings: Findings, claims: Sequence[Verdict], drawn: dict[str, tuple[bytes, bytes, float]]
) -> list[Section]:
    agreeing = [f"{v.name}: {v.reason}" for v in claims if v.word == _AGREES]
    questions = [f"{v.name}: {v.reason}" for v in findings.claims if v not in claims]
    reasons = [f"{verdict.name}: **{verdict.word}**, {verdict.reason}" for verdict in findings.rows]
    absent = [f"{row}: {ended(status)}: {why}" for row, status, why in findings.absent]
    printed = [f"{key}: {_value(value)}" for key, value in findings.about.printed.items()]
    measured: list[tuple[str, Any]] = [("code", [findings.command])]
    if findings.settings is not None and findings.settings.cells:
        measured.append(("table", findings.settings))
    if findings.commands:
        measured += [("p", "Each row by itself:"), ("code", list(findings.commands.values()))]
    sections = [
        Section("What agrees with the paper", [("list", agreeing)] if agreeing else []),
        Section("The verdict on each row", [("list", reasons)] if reasons else []),
        Section("Rows without numbers", [("list", absent)] if absent else [], "why"),
        Section("Questions of our own", [("list", questions)] if questions else []),
        *(Section(_TITLES.get(stem, stem), [("table", table)]) for stem, table in findings.more.items()),
        Section("Every number", [("table", findings.table)] if findings.rows else []),
        Section("Figures for a paper", _images(drawn)),
        Section("What to know about it", [("list", list(findings.notes))] if findings.notes else []),
        Section("Printed in the paper", [("list", printed)] if printed else []),
        Section("How this was measured", measured),
        Section(
            "Words",
            [("words", {w: sentences.GLOSSARY[w] for w in ("eps (privacy budget)", "accuracy", "±")})],
        ),
    ]
    return [section for section in sections if section.blocks]


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{key}: {item}" for key, item in value.items())
    return "; ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
