"""The figure: how much longer a repeat takes as sizes grow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.rows import Row

__all__ = ["draw"]


def draw(rows: Sequence[Row], path: Path) -> None:
    """Write a PNG of the rows of growth that belong to no family; nothing if there are none."""
    from matplotlib.figure import Figure

    curves = [row for row in rows if row.part == "growth" and not row.family]
    if not curves:
        return
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for row in curves:
        sizes, seconds = row.details["sizes"], row.details["seconds"]
        axes.loglog([size / sizes[0] for size in sizes], seconds, "o-", label=f"{row.name}: {row.value:.2f}")
    axes.set(
        xlabel="times its smallest value", ylabel="seconds of a passive repeat", title="Growth: exponents"
    )
    axes.legend(fontsize="small")
    figure.savefig(path, dpi=150)
