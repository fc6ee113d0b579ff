"""Training teachers, next to the bare solver's loop over the same parts already cut out."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.commands import PATE
from benchmarks.memory import watch
from benchmarks.parts import SEED, bare_fits, private_records, sliced
from benchmarks.rows import Row, beside
from benchmarks.timing import alternate

__all__ = ["measure", "measure_any"]

MOST = 1.5
"""Times the same fits by hand that are wanted at most."""
FASTER, FLAT, BARE = 1.8, 1.1, 1.2
"""Times less time on two cores than on one; growth of memory with teachers; times the bare fits / cores."""

_POINTS = 1_000
"""Public points, and as many records for the test: teachers vote on both."""

LEARNERS = {
    "forests of 20 trees": ("sklearn.ensemble.RandomForestClassifier", {"n_estimators": 20}),
    "boosted trees": ("sklearn.ensemble.GradientBoostingClassifier", {"n_estimators": 20}),
    "nearest neighbours": ("sklearn.neighbors.KNeighborsClassifier", {}),
    "networks": ("sklearn.neural_network.MLPClassifier", {"hidden_layer_sizes": 16, "max_iter": 30}),
}

_BY_HAND = """
import importlib, json, sys, time, warnings
import numpy as np
warnings.simplefilter("ignore")
path, learner = sys.argv[1:3]
params, count, votes, first, of = map(json.loads, sys.argv[3:8])
module, _, name = learner.rpartition(".")
make = getattr(importlib.import_module(module), name)
data = np.load(path)
X, y = data["X"], data["y"]
order = np.random.default_rng(0).permutation(len(y))
private, rest = order[votes:], order[:votes]
start = time.perf_counter()
for part in np.array_split(private, count)[first::of]:
    model = make(**params).fit(X[part], y[part])
    if votes:
        model.predict(X[rest])
print(time.perf_counter() - start)
"""
"""What a user would write: fit a model on each part and let it say its classes for the public points; one of
so many processes does every so-manieth part."""


def measure(name: str, rounds: int) -> Row:
    """Time `pate_cli.teachers.train` on data set `name`.

    Raises
    ------
    RuntimeError
        If the two did not fit the same models: then their times say nothing.
    """
    from threadpoolctl import threadpool_limits

    from pate_cli import learners, teachers

    private, n_teachers, n_classes = private_records(name)
    pairs = sliced(private, n_teachers)
    learner = learners.make_learner("logistic", {}, seed=None, n_classes=n_classes)

    def ours() -> Any:
        rng = np.random.default_rng(SEED)
        return teachers.train(private, n_teachers=n_teachers, learner=learner, rng=rng, n_classes=n_classes)

    with threadpool_limits(limits=1):
        _check_same(ours(), bare_fits(pairs))
        times = alternate({"ours": ours, "bare": lambda: bare_fits(pairs)}, rounds)
    return beside("fits", f"{n_teachers} teachers, {name}", times, "same fits by hand", most=MOST)


def _check_same(ensemble: Any, bare: list[Any]) -> None:
    """Compare coefficients, up to what liblinear's own stopping rule leaves open."""

    def close(a: Any, b: Any) -> bool:
        return bool(np.allclose(a, b, rtol=2e-3, atol=2e-3))

    ours = [teacher.estimator for teacher in ensemble.teachers if len(teacher.classes) == 2]
    same = len(ours) == len(bare) and all(
        close(a.coef_, b.coef_) and close(a.intercept_, b.intercept_) for a, b in zip(ours, bare, strict=True)
    )
    if not same:
        raise RuntimeError("the bare loop does not fit the same models")


def measure_any(rounds: int, *, quick: bool) -> list[Row]:
    """Time ensembles of learners that are not linear: one core, two, by hand; and memory against teachers.

    By hand is a loop in one process over the parts, each model asked for the points that `pate` asks for; its
    time is divided by the cores.
    """
    n, count = (40_000, 80) if quick else (200_000, 400)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "records.npz")
        _save_records(path, n + 2 * _POINTS, 20)
        for name, (learner, params) in list(LEARNERS.items())[: 1 if quick else None]:
            k = count if name == "forests of 20 trees" else count // 4
            rows += _cores(name, learner, params, path, n, k, min(rounds, 3))
        few, many = (20, 160) if quick else (100, 1_600)
        learner, params = LEARNERS["forests of 20 trees"]
        peaks = {k: watch(_any(path, n, learner, params, k, 1), folder)[1] for k in (few, many)}
        name = f"memory of {many} forests of 20 trees, one process"
        details = {f"{k}_MB": round(megabytes) for k, megabytes in peaks.items()}
        rows.append(
            Row("ensembles", name, peaks[many] / peaks[few], "times", f"that of {few}", FLAT, details=details)
        )
    return rows


def _cores(
    name: str, learner: str, params: dict[str, Any], path: Path, n: int, count: int, rounds: int
) -> list[Row]:
    """Run on one core, on two, and by hand, in turn; by hand also as two processes: what two cores can."""
    given = [str(path), learner, json.dumps(params), str(count), str(2 * _POINTS)]
    by_hand = [
        [sys.executable, "-c", _BY_HAND, *given, str(first), str(of)] for of in (1, 2) for first in range(of)
    ]
    one, two, bare, apart = [], [], [], []
    used: dict[str, list[float]] = {"one": [], "two": [], "by_hand": [], "by_hand_apart": []}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            one.append(_seconds([[*PATE, *_any(path, n, learner, params, count, 1)]], folder, used["one"]))
            again = [*PATE, *_any(path, n, learner, params, count, 2), "--force"]
            two.append(_seconds([again], folder, used["two"]))
            bare.append(_seconds(by_hand[:1], folder, used["by_hand"], printed=True))
            apart.append(_seconds(by_hand[1:], folder, used["by_hand_apart"], printed=True))
    cores = min(2, os.cpu_count() or 1)
    details: dict[str, Any] = {"one_s": statistics.median(one), "two_s": statistics.median(two)}
    details |= {"by_hand_s": statistics.median(bare), "by_hand_apart_s": statistics.median(apart)}
    # of all processes together; where other programs want the cores too, compare these
    details |= {f"{key}_processor_s": statistics.median(values) for key, values in used.items()}
    details = {key: round(value, 2) for key, value in details.items()} | {"rounds": rounds}
    faster = statistics.median(a / b for a, b in zip(one, two, strict=True))
    ratio = statistics.median(b * cores / a for a, b in zip(bare, two, strict=True))
    possible = statistics.median(a / b for a, b in zip(bare, apart, strict=True))
    label = f"{count} {name}, two workers"
    return [
        Row(
            "ensembles",
            f"{count} {name}, two processes by hand, times less",
            possible,
            "times",
            "one by hand",
        ),
        Row(
            "ensembles", f"{label}, times less", faster, "times", "one worker", least=FASTER, details=details
        ),
        Row("ensembles", label, ratio, "times", f"fits by hand / {cores}", BARE, details=details),
    ]


def _any(path: Path, n: int, learner: str, params: dict[str, Any], count: int, workers: int) -> list[str]:
    given = [f"teacher.params.{key}={value}" for key, value in params.items()]
    return [
        *("run", "dataset=npz", f"dataset.path={path}", "mechanism=gaussian", f"teacher.count={count}"),
        *(f"split.private={n}", f"split.public={_POINTS}", f"teacher.estimator={learner}", *given),
        *(f"compute.workers={workers}",),
    ]


def _seconds(commands: list[list[str]], folder: str, used: list[float], *, printed: bool = False) -> float:
    """Wall time of commands side by side, or the longest they print; processor time goes into `used`."""
    before = os.times()
    start = time.perf_counter()
    running = [
        subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for command in commands
    ]
    said = [process.communicate()[0] for process in running]
    took, after = time.perf_counter() - start, os.times()
    for process in running:
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, process.args)
    used.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return max(map(float, said)) if printed else took


def _save_records(path: Path, n: int, d: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    odds = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.logistic(size=n)
    np.savez(path, X=X, y=(odds > 0).astype(np.int64))
