"""The figure: growth of a repeat, and the wall time of the 16 cells."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

from benchmarks.repeats import Curve
from benchmarks.table4 import Comparison

__all__ = ["draw"]


def draw(curves: Sequence[Curve], comparison: Comparison | None, path: Path) -> None:
    """Write a PNG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for curve in curves:
        first = curve.sizes[0]
        label = f"{curve.name}: exponent {curve.exponent:.2f}"
        left.loglog([size / first for size in curve.sizes], curve.seconds, "o-", label=label)
    left.set(xlabel="times its smallest value", ylabel="seconds of a passive repeat", title="Growth")
    if curves:
        left.legend(fontsize="small")
    if comparison is not None:
        careful = comparison.repeats * statistics.median(comparison.careful)
        bars = right.barh(["scikit-learn + autodp", "pate"], [careful, statistics.median(comparison.ours)])
        right.bar_label(bars, fmt="%.0f s", padding=3)
        right.margins(x=0.2)
        right.set(
            xlabel="seconds", title=f"Table 4, {comparison.repeats} repeats: {comparison.ratio:.0f} times"
        )
    figure.savefig(path, dpi=150)
