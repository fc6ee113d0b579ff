"""Features of a run: which teachers and students see them, their map, and what shared votes depend on."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pate_cli import features, learners, mechanisms, students
from pate_cli.features.kernel import MOST_DIRECTIONS
from pate_cli.types import Setting, Split

__all__ = ["in_codes", "sees_features", "teaching_key", "with_features"]


def in_codes(learner: Any, key: str, classes: Sequence[str]) -> Any:
    """Teacher or student with codes in place of the labels that its parameters name."""
    estimator, params = learners.by_code(learner.estimator, learner.params, classes, f"{key}.params")
    return replace(learner, estimator=estimator, params=params)


_last: tuple[Split, Hashable, Split] | None = None


def with_features(
    split: Split,
    setting: Setting,
    mechanism: mechanisms.Mechanism,
    most: int | None,
    rng: np.random.Generator,
    *,
    cached: bool,
) -> Split:
    """Give a split the map that its public points make, where teachers or students see features.

    There are at most so many features; by default as many as the mechanism says, or a teacher has records,
    from which it cannot learn about more, or as the kernel has where teachers see their own columns.
    With `cached` the last map is kept for the next who needs the same, in rows and parts of one repeat.
    """
    global _last
    s = setting
    if not ((s.teacher_mapped and mechanism.n_teachers) or s.student_mapped):
        return split
    most = (
        most or mechanism.directions or (s.n_private // s.n_teachers if s.teacher_mapped else MOST_DIRECTIONS)
    )
    most = min(most, MOST_DIRECTIONS)
    key = (s.features, most)
    if cached and _last is not None and _last[0] is split and _last[1] == key:
        return _last[2]
    _last = None  # not two of them in memory
    feature_map = features.fit(s.features, split.public.X, rng, most)
    parts = {name: getattr(split, name).with_features(feature_map) for name in ("private", "public", "test")}
    mapped = replace(split, **parts)
    if cached:
        _last = (split, key, mapped)
    return mapped


def sees_features(learner: Any, mapped: str, n_classes: int) -> bool:
    """Whether a teacher or student sees features: as its configuration says, else if it is linear."""
    if mapped == "none" or learner.features is not None:
        return mapped != "none" and bool(learner.features)
    if learner.estimator in students.LINEAR:
        return True
    estimator = learners.make_learner(learner.estimator, learner.params, seed=None, n_classes=n_classes)
    return learners.is_linear(estimator)


def teaching_key(config: Any) -> Hashable:
    """Key of all that votes depend on: runs with equal keys may share the teachers of the same repeat."""
    t, options = config.teacher, config.mechanism.options
    mapped = (options.features(config.features.name), config.features.directions)
    rule = type(options).auto_count.__qualname__
    chosen_from: tuple[Any, ...] = (config.eps, config.delta, rule) if t.auto_count else ()
    if config.dataset.options.get("public") == "marginals":  # whose noise depends on the mechanism's
        chosen_from = (config.eps, config.delta, rule, config.mechanism)
    data = (config.dataset, config.split, config.generate, config.evaluate)
    return repr((data, t, config.seed, mapped, chosen_from))
