"""Whether a learner of another package remembers: one record would then move more than its own teacher."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from typing import Any

import numpy as np

from pate_cli.plugins import may_be_plugin

__all__ = ["remembers"]


def remembers(learner: Any, X: Any, y: Any) -> str:
    """Name of a class of a plug-in that learns otherwise after another fit in this process; empty if none.

    All that its classes and their modules hold is put back before each try, so that what the first fit of
    all has left there is seen, too. One that is not a function of its seed cannot be judged so.
    """
    classes = [cls for cls in _classes(learner) if may_be_plugin(cls.__module__)]
    if not classes:
        return ""
    owners = [*classes, *(module for cls in classes if (module := sys.modules.get(cls.__module__)))]
    before = [(owner, dict(_held(owner))) for owner in owners]
    ours, other = (X, y), (3.0 * X[::-1, ::-1], np.roll(y, 1))
    states = random.getstate(), np.random.get_state()  # noqa: NPY002 - code that is not ours uses it
    try:
        alone, again, after = (_answers(learner, fits, before) for fits in ([ours], [ours], [other, ours]))
    finally:
        _put_back(before)
        random.setstate(states[0])
        np.random.set_state(states[1])  # noqa: NPY002
    moved = _alike(alone, again) and not _alike(alone, after)
    return f"{classes[0].__module__}.{classes[0].__qualname__}" if moved else ""


def _alike(one: list[Any], other: list[Any]) -> bool:
    """Whether answers are equal, but for how sums of probabilities are rounded."""
    pairs = list(zip(one, other, strict=True))
    return np.array_equal(*pairs[0]) and all(np.allclose(*pair, rtol=0, atol=1e-6) for pair in pairs[1:])


def _classes(learner: Any) -> Iterator[type]:
    """Classes of a learner and of those within it, with all that they are made of."""
    parts = learner.get_params(deep=True).values()
    for each in (learner, *(part for part in parts if hasattr(part, "get_params"))):
        yield from type(each).__mro__


def _held(owner: Any) -> Iterator[tuple[str, Any]]:
    """Copies of the values that a class or module holds; code and what cannot be copied are left out."""
    for name, value in list(vars(owner).items()):
        code = callable(value) or type(value) is type(sys) or isinstance(value, classmethod | staticmethod)
        if not (code or isinstance(value, property) or name.startswith("__")):
            with suppress(Exception):
                yield name, deepcopy(value)


def _put_back(before: list[tuple[Any, dict[str, Any]]]) -> None:
    for owner, values in before:
        for name in dict(_held(owner)).keys() - values.keys():
            delattr(owner, name)
        for name, value in values.items():
            setattr(owner, name, deepcopy(value))


def _answers(learner: Any, fits: list[Any], before: list[tuple[Any, dict[str, Any]]]) -> list[Any]:
    """What copies say that are fitted one after another, the last of them, of its own records."""
    from sklearn.base import clone

    _put_back(before)
    for X, y in fits:
        random.seed(0)
        np.random.seed(0)  # noqa: NPY002
        model = clone(learner)
        model.fit(X.copy(), y.copy())
        methods = [name for name in ("predict", "predict_proba") if hasattr(model, name)]
        answers = [np.asarray(getattr(model, name)(X.copy())) for name in methods]
    return answers
