"""Training teachers, next to the bare solver's loop over the same parts already cut out."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.parts import SEED, bare_fits, private_records, sliced
from benchmarks.timing import Result, Target, alternate

__all__ = ["measure"]

TARGET = Target(1.5, is_ratio=True)


def measure(name: str, rounds: int) -> Result:
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
    return Result(f"{n_teachers} teachers, {name}", "same fits by hand", times["ours"], times["bare"], TARGET)


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
