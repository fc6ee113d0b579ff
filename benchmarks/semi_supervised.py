"""Compare students that use unlabelled public points: `student=kernel`, and two of scikit-learn.

    python -m benchmarks.semi_supervised

Active queries label at most a third of the public points (LZCW21 section 1: the others "can be used for
semi-supervised learning"). All students get the same answers; logistic regression uses the labelled points
alone. Accuracy in percent, with the half-width of the 95% interval of the difference from `student=kernel`,
which is what the run has; measured on held-out records: not differentially private.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier

from benchmarks.ablation import TABLES
from pate_cli import datasets, pipeline
from pate_cli.config import compose, parse
from pate_cli.matrices import dense
from pate_cli.results.interval import Interval

STUDENTS = {
    "logistic": LogisticRegression,
    "self-training": lambda: SelfTrainingClassifier(LogisticRegression()),
    "label spreading": lambda: LabelSpreading("knn", n_neighbors=7),
}


def accuracies(table: str, eps: float, splits: int) -> dict[str, list[float]]:
    """Accuracy of each student on each of the splits."""
    settings = [
        "mechanism=active",
        "mechanism.fill=false",
        f"eps={eps}",
        "split.public=600",
        "split.private=0.7",
    ]
    config = parse(compose([*TABLES[table], *settings]))
    run = pipeline.prepare(config, datasets.load(config.dataset.name, **config.dataset.options))
    found: dict[str, list[float]] = {name: [] for name in ("student=kernel", *STUDENTS)}
    for repeat in range(splits):
        outcome = pipeline.run_repeat(run, repeat)
        found["student=kernel"].append(outcome.result.accuracy)
        split = pipeline.split_of(run, pipeline.Streams.of(config.seed, repeat))
        labels = np.full(split.public.n_points, -1)
        labels[outcome.answers.asked] = outcome.answers.labels
        for name, make in STUDENTS.items():
            used = labels >= 0 if name == "logistic" else slice(None)
            model: Any = make_pipeline(StandardScaler(), make())
            model.fit(dense(split.public.X)[used], labels[used])
            found[name].append(float(np.mean(model.predict(dense(split.test.X)) == split.test.y)))
    return found


def main() -> None:
    """Measure, and print a table."""
    warnings.simplefilter("ignore")  # of a graph in several parts
    shown = Table("table", "student=kernel", *STUDENTS, title="eps = 1")
    for table in TABLES:
        measured = accuracies(table, eps=1.0, splits=4)
        kernel = np.array(measured.pop("student=kernel"))
        gaps = [Interval.of(list(100 * (np.array(values) - kernel))) for values in measured.values()]
        shown.add_row(
            table, f"{100 * kernel.mean():.1f}", *(f"{gap.mean:+.1f} ± {gap.half_width:.1f}" for gap in gaps)
        )
    Console().print(shown)


if __name__ == "__main__":
    main()
