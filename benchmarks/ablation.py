"""Measure what each tuned constant of teachers, votes and scores is worth.

    python -m benchmarks.ablation                       # all constants: an hour
    python -m benchmarks.ablation _RATIO --splits 4     # one of them

A row is a constant at another value: points of accuracy gained or lost on the same splits and noise, with the
half-width of the 95% interval of the paired difference. The three tables were in view when the constants were
chosen; accuracies are measured on held-out records: not differentially private.
"""

from __future__ import annotations

import argparse
import math
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from pate_cli import datasets, pipeline
from pate_cli.config import compose, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
TABLES = {
    "mushroom": ["dataset=mushroom"],
    **{
        name: ["dataset=csv", f"dataset.path={DATA / name}.csv", "dataset.target=target"]
        for name in ("magic", "spambase")
    },
}


class Constant(NamedTuple):
    """A constant of a module (or a key), the values it is tried at, and the mechanism that shows it."""

    module: str  # none for a key
    name: str
    tried: tuple[Any, ...]
    mechanism: str


_COUNT, _SCORES = "pate_cli.mechanisms.options", "pate_cli.mechanisms.scores"
CONSTANTS = (
    Constant(_COUNT, "_RATIO", (0.4, 1.6), "gaussian"),
    Constant(_COUNT, "_FEWEST_RECORDS", (5, 20), "gaussian"),
    Constant("", "mechanism.rounds", (1, 2, 8), "scores"),
    Constant("", "teacher.size", (6, 25), "scores"),
    Constant("", "features.directions", (20, 40, 100), "scores"),
    Constant(f"{_SCORES}.scores", "_COUNTS", (0.01, 0.1), "scores"),
    Constant(f"{_SCORES}.residual_teachers", "_FLATTER", (0.5, 1.0), "scores"),
    Constant(f"{_SCORES}.directions", "_FOLDS", (3, 10), "scores"),
    Constant(f"{_SCORES}.directions", "_ENOUGH", (0, 30, 1000), "scores"),  # 0: not looked at
    Constant(f"{_SCORES}.score_boosting", "_RECORDS", (0.2, 0.7), "score_boosting"),
    Constant(f"{_SCORES}.score_boosting", "_FEWEST_RECORDS", (6, 25), "score_boosting"),
    Constant("", "mechanism.rounds", (4, 16), "score_boosting"),
    Constant("", "mechanism.calibration", (0.05, 0.3), "score_boosting"),
    Constant(f"{_SCORES}.directions", "_UNDONE", (0.0, 0.5), "score_boosting"),
    Constant(f"{_SCORES}.directions", "_HOPE", (0.5, 8.0), "score_boosting"),
    Constant(f"{_SCORES}.directions", "_FLATTER", (0.5, 1.0), "score_boosting"),
    Constant(f"{_SCORES}.directions", "_POWER", (1, 3), "score_boosting"),
    Constant(f"{_SCORES}.student", "_CLIP", (0.25, 1.0), "score_boosting"),
)


def accuracies(table: str, mechanism: str, eps: float, splits: int, *overrides: str) -> list[float]:
    """Accuracy on each of the splits."""
    config = parse(compose([*TABLES[table], f"mechanism={mechanism}", f"eps={eps}", *overrides]))
    dataset = datasets.load(config.dataset.name, **config.dataset.options)
    run = pipeline.prepare(config, dataset)
    return [pipeline.run_repeat(run, repeat).result.accuracy for repeat in range(splits)]


@contextmanager
def changed(constant: Constant, value: Any) -> Iterator[None]:
    """Give a constant of ours another value."""
    if not constant.module:
        yield
        return
    module = import_module(constant.module)
    kept = getattr(module, constant.name)
    setattr(module, constant.name, value)
    try:
        yield
    finally:
        setattr(module, constant.name, kept)


def main() -> None:
    """Measure, and print a table."""
    from scipy import stats

    parser = argparse.ArgumentParser(prog="python -m benchmarks.ablation", description=__doc__)
    parser.add_argument("names", nargs="*", help="constants; default: all")
    parser.add_argument("--splits", type=int, default=4)
    parser.add_argument("--eps", type=float, default=0.5)
    options = parser.parse_args()
    constants = [each for each in CONSTANTS if not options.names or each.name in options.names]
    title = f"points against the default, eps {options.eps:g}"
    shown = Table("constant", "value", "mechanism", *TABLES, title=title)
    kept: dict[tuple[str, str], list[float]] = {}
    for constant in track(constants, console=Console(stderr=True)):
        for value in constant.tried:
            cells = []
            for table in TABLES:
                given = (table, constant.mechanism)
                if given not in kept:
                    kept[given] = accuracies(*given, options.eps, options.splits)
                overrides = [] if constant.module else [f"{constant.name}={value}"]
                with changed(constant, value):
                    found = accuracies(*given, options.eps, options.splits, *overrides)
                differences = 100 * np.subtract(found, kept[given])
                n = len(differences)
                error = differences.std(ddof=1) / math.sqrt(n) if n > 1 else math.nan
                cells.append(f"{differences.mean():+.1f} ± {stats.t.ppf(0.975, n - 1) * error:.1f}")
            shown.add_row(constant.name, str(value), constant.mechanism, *cells)
    Console().print(shown)


if __name__ == "__main__":
    main()
