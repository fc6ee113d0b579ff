"""One self-contained page: no network, no script, readable on a telephone and on a desk."""

from __future__ import annotations

import base64
import html
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pate_cli.report.findings import Findings
from pate_cli.report.table import tag
from pate_cli.report.verdict import Verdict

__all__ = ["Drawn", "document", "page"]


class Drawn(NamedTuple):
    """A figure: its name, its SVG, and its width in CSS pixels."""

    name: str
    svg: bytes
    width: float


_CSS = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 88rem; padding: 1.5rem 1.25rem 4rem; background: #fff; color: #1b1b1b;
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .4rem; }
h2 { font-size: 1.15rem; margin: 2.4rem 0 .6rem; padding-bottom: .25rem; border-bottom: 1px solid #ddd; }
p { max-width: 46rem; margin: .5rem 0; overflow-wrap: anywhere; }
.source, .note { color: #555; font-size: .9rem; }
.scroll { overflow-x: auto; margin: .8rem 0; }
table { border-collapse: collapse; font-size: .86rem; font-variant-numeric: tabular-nums;
  white-space: nowrap; }
th, td { padding: .32rem .55rem; text-align: left; border-bottom: 1px solid #e6e6e6; vertical-align: bottom; }
thead th { border-bottom: 2px solid #999; font-weight: 600; white-space: normal; }
td.reason { white-space: normal; min-width: 22rem; }
thead tr:first-child:not(:last-child) th, thead tr:first-child td { border-bottom: 0; }
th.group { text-align: center; border-bottom: 1px solid #bbb !important; }
.number { text-align: right; }
tbody tr:hover { background: #f6f8fa; }
figure { margin: .8rem 0; }
figcaption { font-size: .9rem; color: #555; margin: .2rem 0 1.6rem; }
figure img { display: block; max-width: 100%; height: auto; }
.tag { display: inline-block; padding: .05rem .5rem; border: 1px solid #999; border-radius: .7rem;
  font-size: .8rem; font-weight: 600; white-space: nowrap; }
.reproduces { background: #e3f1e5; border-color: #4b8b56; }
.differs { background: #fbe5e1; border-color: #b5533f; }
.undecided, .missing, .printed, .no { background: #f1f1f1; }
.quick { background: #fff3cf; border-color: #b58a00; }
dl { margin: .6rem 0; }
dt { margin-top: .9rem; font-weight: 600; }
dd { margin: .2rem 0 0; max-width: 60rem; overflow-wrap: anywhere; }
ul { padding-left: 1.2rem; max-width: 60rem; }
li { margin: .3rem 0; overflow-wrap: anywhere; }
pre { background: #f6f8fa; padding: .7rem .9rem; overflow-x: auto; font-size: .82rem; border-radius: .3rem; }
summary { cursor: pointer; }
@media (max-width: 600px) {
  body { padding: 1rem .9rem 3rem; }
  h1 { font-size: 1.3rem; }
  figcaption { font-size: .9rem; color: #555; margin: .2rem 0 1.6rem; }
figure img { max-width: none; width: var(--width); }
}
"""


def document(title: str, parts: Sequence[str]) -> str:
    """Put parts, which are HTML, into a page of their own."""
    head = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<link rel="icon" href="data:,">',
        f"<title>{_text(title)}</title>",
        f"<style>{_CSS}</style>",
        "</head>",
        "<body>",
        f"<h1>{_text(title)}</h1>",
    ]
    return "\n".join([*head, *parts, "</body>", "</html>"]) + "\n"


def page(findings: Findings, figures: Sequence[Drawn]) -> str:
    """Build the report.

    Parameters
    ----------
    findings : Findings
    figures : sequence of Drawn
    """
    recipe, command = findings.recipe, shlex.join(findings.command)
    parts = [
        f"<p>{_text(recipe.shows)}</p>",
        f'<p class="source">{_text(recipe.source)}. Made by <code>{_text(command)}</code>.</p>',
    ]
    if findings.quick:
        parts.append('<p><span class="tag quick">quick run</span> small sizes, to see that it works: '
                     "not the numbers to look at.</p>")  # fmt: skip
    counts = Counter(verdict.verdict for verdict in findings.rows)
    if counts:
        parts.append(f"<p>{' '.join(f'{tag(word)} {count} rows' for word, count in counts.items())}</p>")
    for index, drawn in enumerate(figures):
        caption = drawn.name if len(figures) > 1 else ""
        parts += [*(["<h2>Figures</h2>"] if index == 0 else []), _figure(findings, drawn, caption)]
    parts += ["<h2>Table</h2>", findings.table.to_html()]
    if findings.statements:
        parts += ["<h2>What is seen</h2>", _list(findings.statements)]
    if findings.claims:
        parts += ["<h2>What the paper says, and what is seen here</h2>", _verdicts(findings.claims)]
    if findings.rows:
        listed = [(verdict.name, verdict.verdict, verdict.reason) for verdict in findings.rows]
        parts += ["<h2>Row by row</h2>", _reasons("verdict", listed)]
    elif findings.absent:
        parts += ["<h2>Rows without numbers</h2>", _reasons("status", findings.absent)]
    for name, table in findings.more.items():
        parts += [f"<h2>{_HEADINGS.get(name, _text(name))}</h2>", table.to_html()]
    if recipe.printed:
        parts += ["<h2>Printed in the paper</h2>", f'<dl class="printed">{_printed(recipe.printed)}</dl>']
    if findings.notes:
        parts += ["<h2>Notes</h2>", _list(findings.notes)]
    parts += ["<h2>Where the numbers come from</h2>", _sources(findings)]
    return document(recipe.title, parts)


_HEADINGS = {
    "paired": "Paired differences",
    "ranks": "Ranks and win rates",
    "rows": "The runs",
    "settings": "Which setting gives which printed numbers",
}


def _figure(findings: Findings, drawn: Drawn, caption: str) -> str:
    said = f"<figcaption>{_text(caption)}</figcaption>" if caption else ""
    source = base64.b64encode(drawn.svg).decode()
    alt = f"{findings.recipe.title}: {drawn.name}. The numbers are in the tables below."
    return (
        f'<figure class="scroll"><img alt="{_text(alt)}" style="--width: {drawn.width:.0f}px" '
        f'src="data:image/svg+xml;base64,{source}">{said}</figure>'
    )


def _verdicts(verdicts: Sequence[Verdict]) -> str:
    items = [
        f"<dt>{_text(verdict.name)} {tag(verdict.verdict)}</dt><dd>{_text(verdict.reason)}</dd>"
        for verdict in verdicts
    ]
    return f"<dl>{''.join(items)}</dl>"


def _reasons(what: str, rows: Sequence[tuple[str, str, str]]) -> str:
    """Table of rows with a word and the reason for it."""
    lines = [
        f'<tr><td>{_text(name)}</td><td>{tag(word)}</td><td class="reason">{_text(reason)}</td></tr>'
        for name, word, reason in rows
    ]
    head = f'<tr><th scope="col">row</th><th scope="col">{what}</th><th scope="col">reason</th></tr>'
    table = f"<table><thead>{head}</thead><tbody>{''.join(lines)}</tbody></table>"
    return f'<div class="scroll" tabindex="0">{table}</div>'


def _sources(findings: Findings) -> str:
    items = [f"<li><b>{_text(key)}</b>: {_text(value)}</li>" for key, value in findings.sources.items()]
    again = f"<p>The same again:</p><pre>{_text(shlex.join(findings.command))}</pre>"
    parts = [f"<ul>{''.join(items)}</ul>", again]
    if findings.commands:
        lines = "\n".join(f"# {name}\n{shlex.join(command)}" for name, command in findings.commands.items())
        parts.append(f"<details><summary>Each row by itself</summary><pre>{_text(lines)}</pre></details>")
    return "\n".join(parts)


def _printed(printed: Mapping[str, Any]) -> str:
    items = []
    for key, value in printed.items():
        value = "; ".join(map(str, value)) if isinstance(value, list) else value
        said = (
            "; ".join(f"{name}: {item}" for name, item in value.items())
            if isinstance(value, Mapping)
            else value
        )
        items.append(f"<dt>{_text(key)}</dt><dd>{_text(said)}</dd>")
    return "".join(items)


def _list(texts: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{_text(text)}</li>' for text in texts)}</ul>"


def _text(text: str) -> str:
    return html.escape(str(text))
