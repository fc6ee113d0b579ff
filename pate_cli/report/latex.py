r"""Tables in LaTeX that fit a page.

A column with the same cell in every row goes to the note. Of the rest, up to `_LONG` rows are one
`tabular`; where it is estimated to be wider than the line, `adjustbox` shrinks it to the line. More rows
are a `longtable`, which goes on over pages with its heading repeated and cannot be shrunk: there the size
of the letters is chosen by the estimated width. The packages needed are said in the first line.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pate_cli.report.table import Column, Table

__all__ = ["latex"]

_LONG = 40
_LINE = 345.0  # points, of the class `article` at 10 pt
_SIGN, _GAP, _TIGHT = 5.0, 12.0, 6.0  # points of a sign, and between columns: as they come, and drawn in
_SIZES = {"": 1.0, r"\small": 0.9, r"\footnotesize": 0.8, r"\scriptsize": 0.7, r"\tiny": 0.5}
_HEADERS = {"eps": r"$\varepsilon$", "eps_ex_post": r"$\varepsilon_{\mathrm{ex\,post}}$"}


def latex(table: Table) -> str:
    r"""Write a table, ready for \input."""
    remarks = [f"% {remark}" for remark in table.remarks]
    if not table.cells:
        return "\n".join(remarks) + "\n"
    kept = [index for index in range(len(table.columns)) if not table.constant(index)]
    kept = kept or list(range(len(table.columns)))
    same = [f"{c.full} {table.cells[0][i]}" for i, c in enumerate(table.columns) if i not in kept]
    note = " ".join(filter(None, [table.note, f"In every row: {'; '.join(same)}." if same else ""]))
    columns = [table.columns[index] for index in kept]
    cells = [[row[index] for index in kept] for row in table.cells]
    longest = [
        max(map(len, [column.header, *those]))
        for column, those in zip(columns, zip(*cells, strict=True), strict=True)
    ]
    head, body = _head(columns), [_line(map(_tex, row)) for row in cells]
    shape = "".join("r" if column.numeric else "l" for column in columns)
    below = [rf"{{\footnotesize {_tex(note)}\par}}"] if note else []
    if len(cells) <= _LONG:
        wide = sum(longest) * _SIGN + len(longest) * _GAP > _LINE
        lines = [r"\usepackage{adjustbox,booktabs}" if wide else r"\usepackage{booktabs}", *remarks]
        lines += [r"\begin{adjustbox}{max width=\linewidth}"] if wide else []
        lines += [rf"\begin{{tabular}}{{{shape}}}", r"\toprule", *head, r"\midrule", *body]
        lines += [r"\bottomrule", r"\end{tabular}", *([r"\end{adjustbox}"] if wide else [])]
        lines += [r"\par\smallskip", *below] if below else []
    else:
        needs = {size: sum(longest) * _SIGN * scale + len(longest) * _TIGHT for size, scale in _SIZES.items()}
        size = next((size for size, width in needs.items() if width <= _LINE), r"\tiny")
        lines = [r"\usepackage{booktabs,longtable}", *remarks, r"\begingroup", r"\setlength{\tabcolsep}{3pt}"]
        lines += [*([size] if size else []), rf"\begin{{longtable}}{{{shape}}}", r"\toprule", *head]
        lines += [r"\midrule", r"\endhead", r"\bottomrule", r"\endfoot", *body, r"\end{longtable}"]
        lines += [*below, r"\endgroup"]
    return "\n".join([f"% needs {lines[0]}", *lines[1:]]) + "\n"


def _head(columns: list[Column]) -> list[str]:
    lines = []
    if any(column.group for column in columns):
        heads, rules, start = [], [], 1
        for name, run in groupby(columns, key=lambda column: column.group):
            width = len(list(run))
            heads.append(rf"\multicolumn{{{width}}}{{c}}{{{_tex(name)}}}" if name else "&" * (width - 1))
            if name:
                rules.append(rf"\cmidrule(lr){{{start}-{start + width - 1}}}")
            start += width
        lines = [_line(heads), " ".join(rules)]
    return [*lines, _line(_HEADERS.get(column.header, _tex(column.header)) for column in columns)]


def _line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _tex(text: str) -> str:
    r"""Escape for LaTeX; `[` and `*` at the start of a row would be read as an option of `\\`."""
    text = re.sub(r"(?<![\w.])-(?=\d)", "−", text)
    return "".join(_TEX.get(char) or _letter(char) for char in text)


def _letter(char: str) -> str:
    name = unicodedata.name(char, "")
    if name.startswith("GREEK SMALL LETTER "):
        letter = name.rpartition(" ")[2].lower()
        return rf"$\{'var' * (letter == 'epsilon')}{letter}$"
    return char if char.isascii() or name.startswith("LATIN ") else "?"


_TEX: dict[str, str] = {char: f"\\{char}" for char in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "[": "{[}",
    "*": "{*}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "∞": r"$\infty$",
    "–": "--",
    "−": "$-$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "×": r"$\times$",
}
"""What LaTeX would not print as it stands."""
