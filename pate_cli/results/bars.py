"""Bars of records, and values with their intervals: figures of a release, as SVG like those of `svg`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pate_cli.results.svg import LETTER, drawing, short, words

__all__ = ["Share", "ranges", "shares"]

_ROW = 26.0  # height of a row of `ranges`


class Share(NamedTuple):
    """So many records of a bar, and what they are."""

    size: int
    words: str
    colour: str  # a class of the sheet
    pale: bool = False


def shares(rows: Sequence[tuple[str, Sequence[Share]]], *, title: str, desc: str) -> str:
    """Both drawings of bars on one scale; words stand in a part where there is room, else below its bar."""
    return "\n".join(_shares(rows, title, desc, wide=wide) for wide in (True, False))


def _shares(rows: Sequence[tuple[str, Sequence[Share]]], title: str, desc: str, *, wide: bool) -> str:
    width, bar = (820, 36) if wide else (358, 40)
    scale = width / max(sum(part.size for part in parts) for _, parts in rows)
    out, y = list[str](), 6.0
    for heading, parts in rows:
        out.append(words(0, y + 13, heading, "big"))
        y += 22
        x, below = 0.0, []
        for part in parts:
            length = part.size * scale
            out.append(_rect(part, x, y, max(length - 2, 1.5), bar))
            if wide and part.pale and len(part.words) * LETTER + 24 < length:
                out.append(words(x + 12, y + bar / 2 + 4.5, part.words))
            else:
                below.append(part)
            x += length
        y += bar
        x = 0.0
        for k, part in enumerate(below):
            if k == 0 or not wide:
                y += 20
            out += [_rect(part, x, y - 10, 10, 10), words(x + 17, y, part.words)]
            x += (len(part.words) * LETTER + 48) * wide
        y += 30
    return drawing(out, width, y - 22, title=title, desc=desc, wide=wide)


def ranges(rows: Sequence[tuple[str, tuple[float, float, float] | None]], *, title: str, desc: str) -> str:
    """Both drawings of percentages with their intervals, a row each; None: cannot be told."""
    return "\n".join(_ranges(rows, title, desc, wide=wide) for wide in (True, False))


def _ranges(
    rows: Sequence[tuple[str, tuple[float, float, float] | None]], title: str, desc: str, *, wide: bool
) -> str:
    width, letters = (820, 30) if wide else (358, 14)
    names = [short(name, letters) for name, _ in rows]
    left = max(3, *map(len, names)) * LETTER + 14
    right, bottom = width - 52.0, len(rows) * _ROW + 8

    def px(value: float) -> float:
        return left + (right - left) * value / 100

    out = []
    for value in (0, 25, 50, 75, 100):
        out.append(f'<line class="grid" x1="{px(value):.1f}" x2="{px(value):.1f}" y1="4" y2="{bottom}"/>')
        out.append(words(px(value), bottom + 18, f"{value}{'%' * (value == 100)}", "soft", "middle"))
    for k, (name, (_, told)) in enumerate(zip(names, rows, strict=True)):
        y = 4 + k * _ROW + _ROW / 2
        out.append(words(left - 14, y + 4.5, name, "", "end"))
        if told is None:
            out.append(words(px(0) + 8, y + 4.5, "too few to tell", "soft"))
            continue
        estimate, low, high = told
        out.append(
            f'<g class="blue main">'
            f'<line class="run" x1="{px(low):.1f}" x2="{px(high):.1f}" y1="{y}" y2="{y}"/>'
            f'<circle class="dot" cx="{px(estimate):.1f}" cy="{y}" r="5"/></g>'
        )
        out.append(words(right + 14, y + 4.5, f"{estimate:.0f}", "big"))
    return drawing(out, width, bottom + 26, title=title, desc=desc, wide=wide)


def _rect(part: Share, x: float, y: float, width: float, height: float) -> str:
    kind = f"bar{' pale' * part.pale} {part.colour}"
    return f'<rect class="{kind}" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{height}" rx="2"/>'
