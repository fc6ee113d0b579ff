"""Training teachers, beside scikit-learn's own fits of the same parts, and on two workers beside one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import PATE, Row, alternate, ratio, watch

__all__ = ["fit_by_hand", "measure", "private_parts", "repeat_of"]

_FOREST = "teacher.estimator=sklearn.ensemble.RandomForestClassifier"


def measure(rounds: int, *, quick: bool) -> Iterator[Row]:
    """Time training and a whole passive repeat; then forests, which have no batched solver."""
    for name in ("synthetic", "mushroom") if quick else ("synthetic", "mushroom", "a9a"):
        yield from _linear(name, rounds)
    yield _forests(rounds, 20_000 if quick else 100_000)


def _linear(name: str, rounds: int) -> list[Row]:
    """Time logistic teachers; raises RuntimeError if the fits by hand are not the same models."""
    from threadpoolctl import threadpool_limits

    from pate_cli import learners, teachers

    private, n_classes, parts = private_parts(name)
    n_teachers = private.n_records // _size(name)
    learner = learners.make_learner("logistic", {}, seed=None, n_classes=n_classes)

    def train() -> Any:
        rng = np.random.default_rng(0)
        return teachers.train(private, n_teachers=n_teachers, learner=learner, rng=rng, n_classes=n_classes)

    def by_hand() -> Any:
        return fit_by_hand(parts)

    whole = repeat_of([f"dataset={name}", "mechanism=gaussian"])
    with threadpool_limits(limits=1):
        _check_same(train(), by_hand())
        training = alternate({"ours": train, "bare": by_hand}, rounds)
        repeats = alternate({"ours": whole, "bare": by_hand}, rounds)
    return [
        ratio("fits", f"{n_teachers} teachers, {name}", training, "same fits by hand"),
        ratio("fits", f"passive repeat, {name}", repeats, "its teachers by hand"),
    ]


def _forests(rounds: int, n: int) -> Row:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + 2_000, 20))
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.logistic(size=len(X)) > 0
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder, "records.npz"), X=X, y=y.astype(np.int64))
        given = ["run", "dataset=npz", "dataset.path=records.npz", f"teacher.count={n // 500}", "--force"]
        given += [f"split.private={n}", "split.public=1000", _FOREST, "teacher.params.n_estimators=20"]

        def on(workers: int) -> Callable[[], float]:
            return lambda: watch([*PATE, *given, f"compute.workers={workers}"], folder).seconds

        times = alternate({"ours": on(min(2, os.cpu_count() or 1)), "bare": on(1)}, min(rounds, 2))
    return ratio("fits", f"{n // 500} forests of 20 trees, two workers", times, "one worker")


def _size(name: str) -> int:
    return 20 if name == "synthetic" else 100


def private_parts(name: str) -> tuple[Any, int, list[tuple[Any, Any]]]:
    """Private records of a data set, its number of classes, and the parts of its teachers, cut out."""
    from pate_cli import datasets, teachers

    dataset = datasets.load(name)
    public = 400 if name == "synthetic" else 0.02
    split = datasets.split(dataset, private=0.8, public=public, budget=0.3, rng=np.random.default_rng(0))
    private = split.private
    parts = teachers.partition(private.n_records, private.n_records // _size(name), np.random.default_rng(0))
    pairs = [(private.X[part], private.y[part]) for part in parts]
    return private, dataset.n_classes, [(X, y) for X, y in pairs if len(np.unique(y)) == 2]


def fit_by_hand(parts: list[tuple[Any, Any]]) -> list[Any]:
    """Fit what a user of scikit-learn would fit: the same solver and settings as `teacher=logistic`."""
    from sklearn.linear_model import LogisticRegression

    return [LogisticRegression(solver="liblinear", max_iter=1000).fit(X, y) for X, y in parts]


def _check_same(ensemble: Any, bare: list[Any]) -> None:
    """Compare coefficients, up to what liblinear's own stopping rule leaves open."""
    ours = [teacher.estimator for teacher in ensemble.teachers if len(teacher.classes) == 2]
    one, other = (np.array([[*m.coef_[0], *m.intercept_] for m in models]) for models in (ours, bare))
    if one.shape != other.shape or not np.allclose(one, other, rtol=2e-3, atol=2e-3):
        raise RuntimeError("the bare loop does not fit the same models")


def repeat_of(overrides: list[str]) -> Callable[[], None]:
    """Make a function that does the first repeat of a configuration; loading and calibration are done."""
    from pate_cli import datasets
    from pate_cli.config import parse
    from pate_cli.config.hydra_composition import Composer
    from pate_cli.pipeline import prepare, run_repeat

    config = parse(Composer().compose(overrides))
    prepared = prepare(config, datasets.load(config.dataset.name, **config.dataset.options))

    def repeat() -> None:
        run_repeat(prepared, 0)

    return repeat
