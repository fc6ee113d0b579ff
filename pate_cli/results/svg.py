"""Figures of a page as SVG that follows its style sheet: dark mode and paper need no second drawing.

Each is drawn twice, for a wide and for a narrow screen; the sheet shows one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

from pate_cli.results.tables import short

__all__ = ["ALIASES", "FREQUENT", "Level", "Line", "Share", "best_attack", "colours", "lines"]
__all__ += ["ranges", "shares", "spread", "success"]

_HUES = ("blue", "orange", "green", "black", "pink", "sky", "gold", "violet")
FREQUENT = ("best", "gaussian", "active", "svt", "noisy_gd", "output_perturbation", "svt-liu2021")
"""Methods that have one hue in all figures, by their place."""

ALIASES = {"PSQ": "gaussian", "ASQ": "active", "svt tight": "svt", "svt liu2021": "svt-liu2021"}
"""Their names in recipes."""

_SIZE = 13  # of text, in units of the drawing
_LETTER = 8.2  # width of one, on average
_ROW = 26.0  # height of a row of `ranges`


@dataclass(frozen=True)
class Line:
    """A method: its points are (x, y, half of the interval or None)."""

    name: str
    points: Sequence[tuple[float, float, float | None]]
    colour: str = "blue"  # a class of the sheet
    main: bool = False  # the answer: thick, with a band
    printed: bool = False  # of a paper: dashed, hollow points


@dataclass(frozen=True)
class Level:
    """A thin horizontal line: what is got without privacy, or by a constant answer."""

    name: str
    y: float
    dash: bool = False
    above: bool = True  # where its words stand


def colours(names: Sequence[str]) -> dict[str, str]:
    """Hue of each method, the same in every figure that has frequent methods alone."""
    frequent = {name: ALIASES.get(name, name) for name in names}
    hues = {name: _HUES[FREQUENT.index(alias)] for name, alias in frequent.items() if alias in FREQUENT}
    free = [hue for hue in _HUES if hue not in hues.values()] or [*_HUES]
    others = [name for name in names if name not in hues]
    return hues | {name: free[number % len(free)] for number, name in enumerate(others)}


def best_attack(eps: float, delta: float = 0.0) -> float:
    """Success of the best attack that guesses between two equally likely values of a record, in percent."""
    if eps > 700:
        return 100.0
    return 100 * (math.exp(eps) + delta) / (1 + math.exp(eps))


def success(eps: float, delta: float) -> str:
    """`best_attack` as it is shown: in whole percent, with decimals where that would be 100."""
    percent = min(best_attack(eps, delta), 100.0)
    return f"{percent:.0f}" if percent < 99.5 else f"{percent:.4g}"


def spread(targets: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places near the wanted ones, in their order, at least `gap` apart and within the limits."""
    order = sorted(range(len(targets)), key=lambda i: targets[i])
    groups: list[tuple[float, int]] = []  # place of the first, how many
    for i in order:
        groups.append((targets[i], 1))
        while len(groups) > 1 and groups[-2][0] + groups[-2][1] * gap > groups[-1][0]:
            (first, n), (second, m) = groups[-2:]
            groups[-2:] = [((n * first + m * (second - n * gap)) / (n + m), n + m)]
    placed = [first + k * gap for first, n in groups for k in range(n)]
    over = max(0.0, placed[-1] - high) if placed else 0.0
    placed = [max(low + k * gap, y - over) for k, y in enumerate(placed)]
    places = [0.0] * len(targets)
    for i, y in zip(order, placed, strict=True):
        places[i] = y
    return places


def lines(
    drawn: Sequence[Line],
    levels: Sequence[Level],
    *,
    title: str,
    desc: str,
    y: str,
    delta: float | None = None,
) -> str:
    """SVG of values against eps, wide and narrow; with `delta`, the best attack's success below the axis."""
    return "\n".join(
        _lines(drawn, levels, title=title, desc=desc, y=y, delta=delta, wide=wide) for wide in (True, False)
    )


def frame(drawn: Sequence[Line], levels: Sequence[Level]) -> tuple[float, float, float]:
    """Ends and step of the y axis: from just below the lowest level, or line if there is none."""
    values = [value for line in drawn for _, value, _ in line.points]
    ends = [value + (half or 0) * (1 if line.main else 0) for line in drawn for _, value, half in line.points]
    bottom = min([level.y for level in levels] or values)
    top = max([*ends, *(level.y for level in levels)])
    if max(values) < bottom or not levels:
        bottom = min(values)
    room = (top - bottom) or abs(top) or 1.0
    power = 10.0 ** math.floor(math.log10(room / 4))
    step = next(power * by for by in (1, 2, 2.5, 5, 10) if room / (power * by) <= 5)
    return math.floor(bottom / step - 1e-9) * step, math.ceil(top / step - 1e-9) * step, step


def _lines(
    drawn: Sequence[Line],
    levels: Sequence[Level],
    *,
    title: str,
    desc: str,
    y: str,
    delta: float | None,
    wide: bool,
) -> str:
    ends = [
        short(line.name, 36 if wide else 14) + (f" {line.points[-1][1]:.1f}" if wide else "")
        for line in drawn
    ]
    panel = _Panel.of(drawn, levels, ends, percent=y.endswith("%"), attack=delta is not None, wide=wide)
    ident = "wide" if wide else "narrow"
    inside = (
        f'x="{panel.left}" y="{panel.top - 14}" width="{panel.width}" height="{panel.base - panel.top + 14}"'
    )
    curves, names = panel.curves(drawn, ends)
    parts = [
        f'<clipPath id="{ident}-c"><rect {inside}/></clipPath>',
        _words(0, 12, y, "soft fine"),
        *panel.grid(),
        *panel.axis_of_eps(delta),
        *panel.references(levels),
        f'<g clip-path="url(#{ident}-c)">',
        *curves,
        "</g>",
        *names,
    ]
    return _drawing(parts, panel.width, panel.height, title=title, desc=desc, wide=wide)


@dataclass(frozen=True)
class _Panel:
    """Where values against eps are drawn, in units of the drawing, and its parts."""

    wide: bool
    width: int
    height: int
    left: int
    right: float
    base: int  # the axis of eps
    marks: Sequence[float]  # every eps
    low: float
    high: float
    step: float

    top = 36

    @classmethod
    def of(
        cls,
        drawn: Sequence[Line],
        levels: Sequence[Level],
        ends: Sequence[str],
        *,
        percent: bool,
        attack: bool,
        wide: bool,
    ) -> _Panel:
        """Leave room for the words at the ends of lines, and for those below the axis."""
        width, height = (820, 330) if wide else (358, 380)
        least = (140 if wide else 106) if attack else 40  # the words below the axis
        right = max(least, min(max(map(len, ends)) * _LETTER + 26, 0.42 * width))
        low, high, step = frame(drawn, levels)
        high = 100.0 if percent and low < 100 < high else high  # an interval may reach beyond
        return cls(
            wide,
            width,
            height,
            left=44 if wide else 40,
            right=width - right,
            base=height - (46 if attack else 28),
            marks=sorted({at for line in drawn for at, _, _ in line.points}),
            low=low,
            high=high,
            step=step,
        )

    def x(self, eps: float) -> float:
        """Place of an eps on the logarithmic axis."""
        first, last = self.marks[0], self.marks[-1]
        share = math.log(eps / first) / math.log(last / first) if len(self.marks) > 1 else 0.5
        inset = 20 if self.wide else 14
        start, end = self.left + inset, self.right - inset / 2
        return start + (end - start) * share

    def y(self, value: float) -> float:
        """Place of a value."""
        return self.top + (self.base - self.top) * (self.high - value) / (self.high - self.low)

    def across(self, kind: str, y: str) -> str:
        """A horizontal line."""
        return f'<line class="{kind}" x1="{self.left}" x2="{self.right:.1f}" y1="{y}" y2="{y}"/>'

    def grid(self) -> Iterator[str]:
        """Horizontal lines and their values."""
        for k in range(round((self.high - self.low) / self.step) + 1):
            value = self.low + k * self.step
            yield self.across("grid", f"{self.y(value):.1f}")
            yield _words(self.left - 8, self.y(value) + 5, f"{value:.6g}", "soft", "end")

    def axis_of_eps(self, delta: float | None) -> Iterator[str]:
        """The axis, and below each eps the best attack's success at this delta, unless it is None."""
        base, beside = self.base, self.right + 18
        yield self.across("axis", str(base))
        for eps in _labelled(self.marks, self.x, 44 if delta is not None else 34):
            at = self.x(eps)
            yield f'<line class="axis" x1="{at:.1f}" x2="{at:.1f}" y1="{base}" y2="{base + 5}"/>'
            yield _words(at, base + 22, f"{eps:g}", "", "middle")
            if delta is not None:
                yield _words(at, base + 41, f"{success(eps, delta)}%", "soft fine", "middle")
        log = ", log scale" if self.wide and len(self.marks) > 1 else ""
        yield _words(beside, base + 22, f"eps{log}", "soft")
        if delta is not None:
            yield _words(beside, base + 41, f"{'best ' * self.wide}attack right in", "soft fine")

    def references(self, levels: Sequence[Level]) -> Iterator[str]:
        """Levels and their words, above or below them."""
        below = [not level.above and self.y(level.y) + 17 < self.base - 3 for level in levels]
        targets = [
            self.y(level.y) + (17 if under else -7) for level, under in zip(levels, below, strict=True)
        ]
        places = spread(targets, 15, self.top - 8, self.base - 3)
        for level, at in zip(levels, places, strict=True):
            yield self.across(f"ref{' dash' * level.dash}", f"{self.y(level.y):.1f}")
            yield _words(self.left + 4, at, level.name, "soft fine")

    def curves(self, drawn: Sequence[Line], ends: Sequence[str]) -> tuple[list[str], list[str]]:
        """The lines, the answer on top, and their names, led to where there is room."""
        curves, names = [], []
        targets = [self.y(min(max(line.points[-1][1], self.low), self.high)) for line in drawn]
        gap = min(_SIZE + 3, (self.base - self.top) / max(1, len(drawn)))
        places = spread(targets, gap, self.top - 4, self.base - 4)
        scale = (self.base - self.top) / (self.high - self.low)
        for k in sorted(range(len(drawn)), key=lambda k: drawn[k].main):
            line, at = drawn[k], places[k]
            # at one eps they stand side by side
            shift = (k - (len(drawn) - 1) / 2) * (4 if self.wide else 3) * min(1.0, 8 / len(drawn))
            points = [(self.x(eps) + shift, self.y(value), half) for eps, value, half in line.points]
            curves.append(_body(line, points, scale))
            a, b = points[-1][0] + 6, self.right + 18
            names.append(
                f'<g class="{line.colour}">'
                f'<path class="lead" d="M{a:.1f} {targets[k]:.1f} L{b - 5:.1f} {at:.1f}"/>'
                f"{_words(b, at + 5, ends[k], 'of big' if line.main else 'of')}</g>"
            )
        return curves, names


def _drawing(parts: Sequence[str], width: int, height: float, *, title: str, desc: str, wide: bool) -> str:
    """SVG element around the parts of a drawing, for a wide or a narrow screen."""
    ident = "wide" if wide else "narrow"
    return (
        f'<svg class="{ident}" viewBox="0 0 {width} {height:g}" role="img" '
        f'aria-labelledby="{ident}-t {ident}-d"><title id="{ident}-t">{escape(title)}</title>'
        f'<desc id="{ident}-d">{escape(desc)}</desc>{"".join(parts)}</svg>'
    )


def _body(line: Line, points: Sequence[tuple[float, float, float | None]], scale: float) -> str:
    """The marks of one line; half widths are in units of y."""
    kind = " ".join([line.colour, *["main"] * line.main, *["printed"] * line.printed])
    parts = []
    if line.main and any(half for *_, half in points):
        upper = [(a, b - (half or 0) * scale) for a, b, half in points]
        lower = [(a, b + (half or 0) * scale) for a, b, half in reversed(points)]
        edge = " ".join(f"{a:.1f},{b:.1f}" for a, b in upper + lower)
        parts.append(f'<polygon class="band" points="{edge}"/>')
    path = " ".join(f"{'L' if k else 'M'}{a:.1f} {b:.1f}" for k, (a, b, _) in enumerate(points))
    parts.append(f'<path class="run" d="{path}"/>')
    for a, b, half in points:
        if half and (not line.main or len(points) == 1):
            y1, y2 = b - half * scale, b + half * scale
            parts.append(f'<line class="whisker" x1="{a:.1f}" x2="{a:.1f}" y1="{y1:.1f}" y2="{y2:.1f}"/>')
        parts.append(f'<circle class="dot" cx="{a:.1f}" cy="{b:.1f}" r="{4 if line.main else 3.2}"/>')
    return f'<g class="{kind}">{"".join(parts)}</g>'


def _words(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    """A text at a place."""
    looks = f'class="{kind}" ' if kind else ""
    return f'<text {looks}text-anchor="{anchor}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'


def _labelled(marks: Sequence[float], place: Callable[[float], float], room: float) -> list[float]:
    """Marks of the x axis whose labels do not touch."""
    kept: list[float] = []
    for at in marks:
        if not kept or place(at) - place(kept[-1]) >= room:
            kept.append(at)
    return kept


class Share(NamedTuple):
    """One part of a stacked bar: a number of records, and what they are."""

    size: int
    words: str
    colour: str  # a class of the sheet
    pale: bool = False


def shares(rows: Sequence[tuple[str, Sequence[Share]]], *, title: str, desc: str) -> str:
    """SVG of stacked bars, wide and narrow; words stand in a part where there is room, else below its bar."""
    return "\n".join(_shares(rows, title, desc, wide=wide) for wide in (True, False))


def _shares(rows: Sequence[tuple[str, Sequence[Share]]], title: str, desc: str, *, wide: bool) -> str:
    width, bar = (820, 36) if wide else (358, 40)
    scale = width / max(sum(part.size for part in parts) for _, parts in rows)
    out, y = list[str](), 6.0
    for heading, parts in rows:
        out.append(_words(0, y + 13, heading, "big"))
        y += 22
        x, below = 0.0, []
        for part in parts:
            length = part.size * scale
            out.append(_rect(part, x, y, max(length - 2, 1.5), bar))
            if wide and part.pale and len(part.words) * _LETTER + 24 < length:
                out.append(_words(x + 12, y + bar / 2 + 4.5, part.words))
            else:
                below.append(part)
            x += length
        y += bar
        x = 0.0
        for k, part in enumerate(below):
            if k == 0 or not wide:
                y += 20
            out += [_rect(part, x, y - 10, 10, 10), _words(x + 17, y, part.words)]
            x += (len(part.words) * _LETTER + 48) * wide
        y += 30
    return _drawing(out, width, y - 22, title=title, desc=desc, wide=wide)


def ranges(rows: Sequence[tuple[str, tuple[float, float, float] | None]], *, title: str, desc: str) -> str:
    """SVG of percentages with their intervals, one per row, wide and narrow; None: cannot be told."""
    return "\n".join(_ranges(rows, title, desc, wide=wide) for wide in (True, False))


def _ranges(
    rows: Sequence[tuple[str, tuple[float, float, float] | None]], title: str, desc: str, *, wide: bool
) -> str:
    width, letters = (820, 30) if wide else (358, 14)
    names = [short(name, letters) for name, _ in rows]
    left = max(3, *map(len, names)) * _LETTER + 14
    right, bottom = width - 52.0, len(rows) * _ROW + 8

    def px(value: float) -> float:
        return left + (right - left) * value / 100

    out = []
    for value in (0, 25, 50, 75, 100):
        out.append(f'<line class="grid" x1="{px(value):.1f}" x2="{px(value):.1f}" y1="4" y2="{bottom}"/>')
        out.append(_words(px(value), bottom + 18, f"{value}{'%' * (value == 100)}", "soft", "middle"))
    for k, (name, (_, estimates)) in enumerate(zip(names, rows, strict=True)):
        y = 4 + k * _ROW + _ROW / 2
        out.append(_words(left - 14, y + 4.5, name, "", "end"))
        if estimates is None:
            out.append(_words(px(0) + 8, y + 4.5, "too few to tell", "soft"))
            continue
        estimate, low, high = estimates
        out.append(
            f'<g class="blue main">'
            f'<line class="run" x1="{px(low):.1f}" x2="{px(high):.1f}" y1="{y}" y2="{y}"/>'
            f'<circle class="dot" cx="{px(estimate):.1f}" cy="{y}" r="5"/></g>'
        )
        out.append(_words(right + 14, y + 4.5, f"{estimate:.0f}", "big"))
    return _drawing(out, width, bottom + 26, title=title, desc=desc, wide=wide)


def _rect(part: Share, x: float, y: float, width: float, height: float) -> str:
    kind = f"bar{' pale' * part.pale} {part.colour}"
    return f'<rect class="{kind}" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{height}" rx="2"/>'
