"""Style of figures: series differ in colour, marker and line, for printers without colours too."""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import ScaledTranslation

from pate_cli.results.svg import ALIASES, FREQUENT

__all__ = ["STYLES", "band", "below_axis", "hollow", "image", "look", "new_figure", "number_axis"]
__all__ += ["reference", "render", "styles", "within_shares"]

_SETTINGS: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "lines.markersize": 5,
    "lines.linewidth": 1.2,
    "svg.fonttype": "path",
}
# colours that differ in lightness and to colour-blind eyes (Okabe and Ito)
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#000000", "#CC79A7", "#56B4E9", "#E69F00", "#7A5195")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
_LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))


def look(style: int) -> dict[str, Any]:
    """Colour, marker and line of a series, by its number: series differ in all three."""
    return {
        "color": _COLOURS[style % len(_COLOURS)],
        "marker": _MARKERS[style % len(_MARKERS)],
        "linestyle": _LINES[style % len(_LINES)],
    }


STYLES = tuple(look(style) for style in range(len(_COLOURS)))

_METHODS = (*FREQUENT, "score_boosting", "gnmax", "lnmax", "soft", "active-svt", "scores")
"""Methods that have a style of their own in every figure, by their place; any other name gets one too."""


def styles(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Style of each method by its name: the same in every figure that has the same methods.

    Frequent methods have their own in any figure; others get, in the order of their names, one that no
    frequent method has, in a colour that the figure has not, as long as there is one.
    """
    names = list(dict.fromkeys(names))
    frequent = {name: ALIASES.get(name, name) for name in names}
    numbers = {name: _METHODS.index(alias) for name, alias in frequent.items() if alias in _METHODS}
    for name in sorted(set(names) - set(numbers)):
        taken = set(numbers.values())
        colours = {number % len(_COLOURS) for number in taken}
        if len(colours) == len(_COLOURS):
            colours = set()  # none is left
        numbers[name] = next(
            n for n in itertools.count(len(_METHODS)) if n not in taken and n % len(_COLOURS) not in colours
        )
    return {name: look(numbers[name]) for name in names}


def new_figure(
    columns: int = 1,
    rows: int = 1,
    *,
    sharey: bool = False,
    panel: tuple[float, float] = (4.6, 4.0),
    margin: tuple[float, float] = (0.0, 0.0),
) -> tuple[Figure, list[Axes]]:
    """Make a figure without pyplot's global state, and its panels in reading order.

    `panel` and `margin` are width and height in inches; one panel alone is wider.
    """
    width = 1.4 * panel[0] if columns == rows == 1 else panel[0] * columns
    figure = Figure(figsize=(margin[0] + width, margin[1] + panel[1] * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False, sharey=sharey)
    axes = [axis for row in panels for axis in row]
    for axis in axes:
        axis.grid(visible=True, which="major", color="0.88", linewidth=0.6)
        axis.set_axisbelow(True)
    return figure, axes


def band(axis: Axes, x: Any, mean: Any, half_width: Any, *, label: str, style: dict[str, Any]) -> None:
    """Draw a series with its 95% confidence band, which on a log axis stays above zero."""
    mean, half_width = np.asarray(mean, dtype=float), np.asarray(half_width, dtype=float)
    low = mean - half_width
    if axis.get_yscale() == "log":
        low = np.maximum(low, mean / 100)
    axis.fill_between(x, low, mean + half_width, color=style["color"], alpha=0.18, linewidth=0)
    axis.plot(x, mean, label=label, markersize=4, linewidth=1.2, **style)


def reference(axis: Axes, y: float, label: str, *, linestyle: str = "--") -> None:
    """Draw a horizontal line to compare with, and name it in the legend."""
    axis.axhline(y, color="0.4", linestyle=linestyle, linewidth=1.0, label=label)


def within_shares(axis: Axes) -> None:
    """End the y axis where shares end: an interval of few repeats may be wider than what is possible."""
    low, high = axis.get_ylim()
    axis.set_ylim(max(low, -0.02), min(high, 1.02))


def number_axis(axis: Axes, values: Sequence[float], name: str) -> None:
    """Label the x axis at these values, ascending, on a log scale if all are above zero."""
    low, high = (values[0], values[-1]) if values else (1.0, 1.0)
    if low > 0:
        axis.set_xscale("log")
        room = (high / low) ** 0.06 if high > low else 1.5
        axis.set_xlim(low / room, high * room)
    shown = values[:: math.ceil(len(values) / 8) or 1]
    axis.set_xticks(shown, [f"{value:g}" for value in shown])
    axis.set_xticks([], minor=True)
    axis.set_xlabel(f"{name} (log scale)" if low > 0 else name)
    axis.grid(visible=False, axis="x")


def below_axis(axis: Axes, rows: Sequence[tuple[Sequence[float], dict[str, Any]]]) -> None:
    """Mark values of x between the x axis and its labels, each row with the hollow mark of its series."""
    line = 0.9 * mpl.rcParams["font.size"]
    axis.tick_params(axis="x", direction="in", pad=3.5 + line * len(rows))
    for index, (at, style) in enumerate(rows):
        down = ScaledTranslation(0, -line * (index + 0.6) / 72, axis.figure.dpi_scale_trans)
        axis.plot(
            at,
            [0.0] * len(at),
            transform=axis.get_xaxis_transform() + down,
            clip_on=False,
            **hollow(style),
        )


def hollow(style: dict[str, Any]) -> dict[str, Any]:
    """Mark of a series where it has no value."""
    marks = {"marker": style["marker"], "color": style["color"]}
    return marks | {"linestyle": "none", "markersize": 4, "markerfacecolor": "white"}


_METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}
"""Without the time: the same bytes for the same figure."""


def image(draw: Callable[[], Figure], form: str, font_size: float) -> bytes:
    """Draw a figure for a paper as "pdf", "svg" or "png"."""
    # 42: letters of a PDF as TrueType, which publishers ask for
    style: dict[Any, Any] = {"font.size": font_size, "axes.titlesize": font_size, "pdf.fonttype": 42}
    with mpl.rc_context({**_SETTINGS, **style, "svg.hashsalt": "plot"}):
        return _saved(draw(), form, 300)


def render(draw: Callable[[], Figure], salt: str) -> tuple[bytes, bytes, float]:
    """Draw a figure: PNG, SVG and the width in CSS pixels; always the same bytes."""
    with mpl.rc_context({**_SETTINGS, "svg.hashsalt": salt}):
        figure = draw()
        return _saved(figure, "png", 150), _saved(figure, "svg", 150), float(figure.get_figwidth() * 96)


def _saved(figure: Figure, form: str, dpi: int) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format=form, dpi=dpi, metadata=_METADATA[form])
    return file.getvalue()
