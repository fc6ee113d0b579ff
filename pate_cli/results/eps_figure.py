"""The figure of one data set: a measure against eps, with the names at the lines, and its caption."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pate_cli.results.answers import Advice
from pate_cli.results.marks import listed, name
from pate_cli.results.svg import Level, Line, colours, frame, lines

__all__ = ["eps_figure", "splits_of"]

_MOST_LINES = 8


def eps_figure(found: Advice) -> tuple[str, str]:
    """The measure against eps, and the caption; nothing where there is one eps."""
    board, metric = found.board, found.metric
    if len(board.budgets) < 2:
        return "", ""
    hues = colours([*found.verdicts])
    drawn: list[Line] = []
    without = []
    for of in sorted(found.verdicts, key=lambda of: of != found.method):
        rows = [(eps, board.cell(of, eps)) for eps in board.budgets]
        means = [(eps, row.over(metric.name)) for eps, row in rows if row is not None]
        points = [
            (eps, metric.scale * mean.mean, mean.half_width and metric.scale * mean.half_width)
            for eps, mean in means
            if mean is not None and math.isfinite(mean.mean)
        ]
        if points and len(drawn) < _MOST_LINES:
            drawn.append(Line(of, points, hues[of], main=of == found.method))
        elif not points:
            without.append(of)
    if not drawn:
        return "", ""
    levels = []
    if found.limit and (mean := board.baselines[found.limit].mean(metric.name)) is not None:
        levels.append(Level(f"without privacy {metric.level(mean)}", metric.scale * mean))
    if (constant := found.constant) is not None:
        text = f"{found.constant_words} {metric.level(constant)}"
        levels.append(Level(text, metric.scale * constant, dash=True, above=False))
    delta = max((row["delta"] for row in board.rows if row["delta"] is not None), default=0.0)
    about = "; ".join(
        f"{line.name}: {', '.join(f'{value:.1f}' for _, value, _ in line.points)}" for line in drawn
    )
    figure = lines(
        drawn,
        levels,
        title=f"{metric.words} against eps on {board.name}",
        desc=f"{about}. All numbers are in the table below.",
        y=f"{metric.words} on unseen records, {metric.percent.strip()}",
        delta=delta,
    )
    return figure, _caption(found, drawn, levels, without)


def _caption(found: Advice, drawn: Sequence[Line], levels: Sequence[Level], without: Sequence[str]) -> str:
    low, _, _ = frame(drawn, levels)
    text = [f"Mean of {splits_of(found)}"]
    text[0] += "; band and whiskers are 95% intervals." if found.repeats > 1 else "."
    for line in drawn:
        if (least := min(value for _, value, _ in line.points)) < low:
            text.append(f"{name(line.name)} goes below the frame, to {least:.1f}{found.metric.percent}.")
    if without:
        text.append(f"Without a number: {listed(map(name, without))}.")
    if len(found.verdicts) > len(drawn) + len(without):
        text.append(f"Shown are the {len(drawn)} best.")
    text.append("Under eps: how often the best attack on one record can be right; 50% is guessing.")
    return " ".join(text)


def splits_of(found: Advice) -> str:
    """How often it was measured, as "10 splits"."""
    counts = sorted({row.n for row in found.board.every if row.n}) or [0]
    text = " to ".join(f"{n}" for n in dict.fromkeys((counts[0], counts[-1])))
    seeds = {str(row["seed"]) for row in found.board.rows if ", " in str(row["seed"] or "")}
    of = f", of {len(next(iter(seeds)).split(', '))} seeds" if len(seeds) == 1 else ""
    return f"{text} split{'s' * (counts[-1] != 1)}{of}"
