r"""Tables in LaTeX that fit the line, with graphicx alone; rules are those of booktabs where it is loaded.

A column with the same cell in every row goes to the note. A table wider than the line is shrunk to it by
``\resizebox``; one longer than a page becomes several, each with the heading.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pate_cli.report.table import Column, Table

__all__ = ["latex"]

_PAGE = 40  # rows of one `tabular`, which LaTeX does not break
_NEEDS = (
    r"% needs \usepackage{graphicx}; rules look better with \usepackage{booktabs}",
    r"\providecommand{\toprule}{\hline}\providecommand{\midrule}{\hline}\providecommand{\bottomrule}{\hline}",
)
_OPEN = r"\par\noindent\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
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
    lines = [*_NEEDS, *remarks]
    for start in range(0, len(cells), _PAGE):
        lines.append(_tabular(columns, cells[start : start + _PAGE]))
    return "\n".join([*lines, *([rf"{{\footnotesize {_tex(note)}\par}}"] if note else [])]) + "\n"


def _tabular(columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> str:
    import pandas as pd

    groups = [_tex(column.group) for column in columns]
    heads = [_HEADERS.get(column.header, _tex(column.header)) for column in columns]
    frame = pd.DataFrame([list(map(_tex, row)) for row in cells])
    frame.columns = pd.MultiIndex.from_arrays([groups, heads]) if any(groups) else pd.Index(heads)
    shape = "".join("r" if column.numeric else "l" for column in columns)
    style = frame.style.hide(axis="index")
    text = style.to_latex(column_format=shape, hrules=True, multicol_align="c")
    return f"{_OPEN}\n{text}}}\n\\par\\smallskip"


def _tex(text: str) -> str:
    r"""Escape for LaTeX; `[` and `*` at the start of a row would be read as an option of `\\`."""
    text = re.sub(r"(?<![\w.])-(?=\d)", "−", text)
    return "".join(_TEX.get(char) or _letter(char) for char in text)


def _letter(char: str) -> str:
    # of Latin letters with a sign, those of Latin-1: LaTeX's own fonts lack some of the others
    latin = char.isalpha() and ord(char) < 256 and char not in "ÐÞðþªºµ"
    return char if latin or " " <= char <= "~" else "?"


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
