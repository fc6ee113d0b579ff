"""Non-private baselines: rows of the same schedule, at the splits of the methods.

None of them is differentially private. All but the best model are the student of the common configuration.
"""

from __future__ import annotations

import math
import time
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pate_cli.datasets.content import fingerprint
from pate_cli.engine.limits import best_model, fitted_model
from pate_cli.engine.recipe_plan import Plan
from pate_cli.engine.rows import Row
from pate_cli.mechanisms.base import Mechanism
from pate_cli.pipeline import Outcome, Prepared, Streams, Trained, split_of, teaching_key
from pate_cli.results.settings import BASELINES, EXACT, FAMILY, LIMIT, MAJORITY, NOT_PRIVATE, TRUE_LABELS
from pate_cli.students import fit_student
from pate_cli.students.metrics import measure
from pate_cli.types import Answers, PrivacyLoss, PublicPoints, Released, RepeatResult

__all__ = ["with_baselines"]


@dataclass(frozen=True)
class _NoMechanism(Mechanism):
    """Stands where a row has its mechanism: there are no teachers, and nothing is promised."""

    @property
    def guarantee(self) -> PrivacyLoss:
        return PrivacyLoss(math.inf, 1.0, NOT_PRIVATE)

    def describe(self) -> dict[str, Any]:
        return {}

    def release(self, *_: Any) -> Released:
        raise NotImplementedError("a baseline releases nothing")


class BaselineRow(Row):
    """Row of a baseline, for the scheduler."""

    def run(self, repeat: int, trained: Trained | None = None) -> Outcome:
        """Fit and measure the model of one repeat."""
        return _measured(self.name, self.prepared, repeat)


def with_baselines(plan: Plan, *, limit: bool) -> Plan:
    """Add the baselines to a plan with the row `EXACT`; `LIMIT` takes seconds a split."""
    exact = next(row for row in plan.rows if row.name == EXACT)
    if exact.checked is None:
        return plan
    whole = replace(exact.checked.whole, mechanism=_NoMechanism())
    prepared = replace(exact.checked, n_teachers=0, whole=whole)
    rows = []
    for name in BASELINES:
        if name != EXACT and (limit or name != LIMIT):
            key = replace(exact.key, config=f"{exact.key.config} {name}")
            spec = replace(exact.spec, name=name, method=name)
            rows.append(BaselineRow(spec, exact.raw, exact.config, prepared, key))
    return replace(plan, rows=[exact, *rows, *(row for row in plan.rows if row is not exact)])


def _measured(name: str, run: Prepared, repeat: int) -> Outcome:
    started = time.perf_counter()
    streams = Streams.of(run.config.seed, repeat)
    split = split_of(run, streams)
    run = run.after(split)
    model, family = _model(name, run, split, streams.student)
    accuracy, others = measure(model, split.test.X, split.test.y, run.dataset.classes)
    nothing = np.empty(0, dtype=np.int64)
    result = RepeatResult(
        repeat=repeat,
        n_teachers=0,
        n_asked=0,
        n_answered=0,
        eps=math.inf,
        delta=run.delta,
        eps_ex_post=math.inf,
        accuracy=accuracy,
        seconds=time.perf_counter() - started,
        diagnostics=({f"{FAMILY}{family}": 1.0} if family else {}) | others,
    )
    return Outcome(result, Answers(nothing, nothing), model, split.encoder, classes=run.dataset.classes)


_choices: dict[tuple[Hashable, str], int | None] = {}


def _chosen(run: Prepared) -> int | None:
    """Model without privacy that is the best on the private records of the first repeat, in any process."""
    key = (teaching_key(run.config), fingerprint(run.dataset))
    if key not in _choices:
        streams = Streams.of(run.config.seed, 0)
        split = split_of(run, streams)
        seed, n_classes = int(streams.student.integers(2**31)), run.after(split).dataset.n_classes
        _choices[key] = best_model(split.private.X, split.private.y, n_classes, seed)
    return _choices[key]


def _model(name: str, run: Prepared, split: Any, rng: np.random.Generator) -> tuple[Any, str]:
    """Fitted model of a baseline, and the family of the best one."""
    from sklearn.dummy import DummyClassifier

    seed, n_classes, student = int(rng.integers(2**31)), run.dataset.n_classes, run.config.student
    X, y = split.private.X, split.private.y
    if name == LIMIT:
        return fitted_model(_chosen(run), X, y, n_classes, seed)
    if name == MAJORITY:
        return DummyClassifier(strategy="prior").fit(X, y), ""
    if name == TRUE_LABELS:
        X, y = split.public.X, split.public_labels.y
    model = fit_student(
        PublicPoints(X, features=split.public.features),
        Answers(np.arange(len(y)), y),
        estimator=student.estimator,
        params=student.params,
        unanswered=student.unanswered,
        rng=rng,
        n_classes=n_classes,
        seed=seed,
        mapped=run.setting.student_mapped,
    )
    return model, ""
