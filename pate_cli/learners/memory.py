"""Whether a learner of another package remembers: one record would then move more than its own teacher."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
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
    before = [_Held.of(owner) for owner in owners]
    ours, other = (X, y), (3.0 * X[::-1, ::-1], np.roll(y, 1))
    states = random.getstate(), np.random.get_state()  # noqa: NPY002 - code that is not ours uses it
    try:
        alone, again, after = (_answers(learner, fits, before) for fits in ([ours], [ours], [other, ours]))
    finally:
        for owner in before:
            owner.put_back()
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


@dataclass(frozen=True)
class _Held:
    """What a class or module holds: its names, their values, and what is in those that can be changed.

    Values stay the objects they are, for some are known by that, as the one that stands for no argument.
    """

    owner: Any
    names: set[str]
    values: dict[str, Any]
    within: dict[str, Any]

    @classmethod
    def of(cls, owner: Any) -> _Held:
        """Look at it now."""
        values = {name: value for name, value in vars(owner).items() if _is_data(name, value)}
        within = {name: _within(value) for name, value in values.items()}
        return cls(owner, set(vars(owner)), values, within)

    def put_back(self) -> None:
        """Have it hold that again."""
        for name in [name for name, value in vars(self.owner).items() if _is_data(name, value)]:
            if name not in self.names:
                delattr(self.owner, name)
        for name, value in self.values.items():
            if vars(self.owner).get(name, self) is not value:
                setattr(self.owner, name, value)
            _refill(value, self.within[name])


def _is_data(name: str, value: Any) -> bool:
    code = callable(value) or isinstance(value, ModuleType | classmethod | staticmethod | property)
    return not code and not name.startswith("__")


def _within(value: Any) -> Any:
    """What is in a value that can be changed."""
    if isinstance(value, np.random.Generator):
        return value.bit_generator.state
    if isinstance(value, np.random.RandomState | random.Random):
        return value.get_state() if isinstance(value, np.random.RandomState) else value.getstate()
    if isinstance(value, list | dict | set | np.ndarray):
        return value.copy()
    return dict(getattr(value, "__dict__", {}))


def _refill(value: Any, within: Any) -> None:
    if isinstance(value, np.random.Generator):
        value.bit_generator.state = within
    elif isinstance(value, np.random.RandomState):
        value.set_state(within)
    elif isinstance(value, random.Random):
        value.setstate(within)
    elif isinstance(value, list):
        value[:] = within
    elif isinstance(value, dict | set):
        value.clear()
        value.update(within)
    elif isinstance(value, np.ndarray):
        if value.flags.writeable:
            value[...] = within
    elif hasattr(value, "__dict__"):
        vars(value).clear()
        vars(value).update(within)


def _answers(learner: Any, fits: list[Any], before: list[_Held]) -> list[Any]:
    """What copies say that are fitted one after another, the last of them, of its own records."""
    from sklearn.base import clone

    for owner in before:
        owner.put_back()
    for X, y in fits:
        random.seed(0)
        np.random.seed(0)  # noqa: NPY002
        model = clone(learner)
        model.fit(X.copy(), y.copy())
        methods = [name for name in ("predict", "predict_proba") if hasattr(model, name)]
        answers = [np.asarray(getattr(model, name)(X.copy())) for name in methods]
    return answers
