"""Active queries next to passive ones, and a student that knows the noise on many public points."""

from __future__ import annotations

import os
import statistics
import tempfile
from pathlib import Path

from benchmarks.memory import watch
from benchmarks.repeats import repeat_of
from benchmarks.rows import Row
from benchmarks.timing import alternate
from pate_cli.errors import InputError

__all__ = ["measure"]

ACTIVE, SECONDS, MEGABYTES = 3.0, 10.0, 2_000.0
"""Times the passive repeat; seconds and megabytes of a run with a noise-aware student."""


def measure(rounds: int, *, quick: bool) -> list[Row]:
    """Time repeats on a9a and magic, where they are here, and a run with 20,000 public points."""
    rows = []
    for name in ("a9a", "magic"):
        try:
            rows.append(_active(name, min(rounds, 3)))
        except InputError:
            continue  # no such data here
    m = 2_000 if quick else 20_000
    with tempfile.TemporaryDirectory() as folder:
        given = [
            "run",
            f"dataset.n_records={75_000 + m}",
            "split.private=60000",
            f"split.public={m}",
            "eps=8",
        ]
        given += ["mechanism=gaussian", "compute.workers=1", "teacher.count=600"]
        peaks = {}
        for student in ("noise_aware", "logistic"):
            peaks[student] = watch([*given, f"student={student}"], folder)
    took, peak = peaks["noise_aware"]
    details = {"with_logistic_s": round(peaks["logistic"][0], 2)}
    name = f"noise-aware student, {m:,} public points"
    rows.append(Row("queries", f"{name}, whole run", took, "s", most=SECONDS, details=details))
    rows.append(Row("queries", f"{name}, peak memory", peak, "MB", most=MEGABYTES))
    rows.append(_landmarks(400 if quick else 2_500))
    return rows


def _landmarks(m: int) -> Row:
    """Accuracy that a noise-aware student loses by landmarks, where it can be fitted without them."""
    import numpy as np

    from pate_cli.students import gaussian_process
    from pate_cli.students.noise_aware import NoisyCountsClassifier

    rng = np.random.default_rng(0)
    most = gaussian_process.MOST_LANDMARKS
    X = rng.normal(size=(m + 10_000, 5))
    margin = X[:, 0] + np.sin(3 * X[:, 1]) + X[:, 2] * X[:, 3]
    ones = 600 / (1 + np.exp(-2 * margin[:m])) + 60 * rng.normal(size=m)
    counts = np.column_stack([600 - ones, ones])
    found = {}
    for few in (m * 3 // 5, m):
        gaussian_process.MOST_LANDMARKS = few
        try:
            student = NoisyCountsClassifier(60.0, 600, random_state=0).fit(X[:m], counts)
        finally:
            gaussian_process.MOST_LANDMARKS = most
        found[few] = float(np.mean(student.predict(X[m:]) == (margin[m:] > 0)))
    details = {f"accuracy_{few}_landmarks": round(value, 4) for few, value in found.items()}
    name = f"accuracy lost by {m * 3 // 5:,} landmarks of {m:,} points"
    return Row("queries", name, found[m] - found[m * 3 // 5], "share", details=details)


def _active(name: str, rounds: int) -> Row:
    from threadpoolctl import threadpool_limits

    given = [f"dataset={name}"]
    if name == "magic":
        path = Path(os.environ.get("PATE_DATA", "data"), "magic.csv")
        if not path.exists():
            raise InputError(f"{path}: no such file")
        with path.open(encoding="utf-8") as file:
            target = file.readline().strip().split(",")[-1]
        given = ["dataset=csv", f"dataset.path={path}", f"dataset.target={target}"]
    works = {mechanism: repeat_of([*given, f"mechanism={mechanism}"]) for mechanism in ("active", "gaussian")}
    with threadpool_limits(limits=1):
        times = alternate(works, rounds)
    ratio = statistics.median(a / b for a, b in zip(times["active"], times["gaussian"], strict=True))
    details = {f"{key}_s": round(statistics.median(values), 3) for key, values in times.items()}
    return Row("queries", f"active repeat, {name}", ratio, "times", "passive", ACTIVE, details=details)
