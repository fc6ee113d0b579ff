"""Parameters of learners about classes: labels as in the data become codes, and codes those of a part."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from pate_cli.errors import ConfigError

__all__ = ["by_code", "limit_to"]

_BY_CLASS = ("class_weight", "class_weights", "class_prior", "priors", "sampling_strategy")
_SHARES = ("class_prior", "priors")  # of them, those that add up to 1
_ONE_CLASS = ("constant", "pos_label")
_OF_TWO = ("scale_pos_weight", "monotonic_cst", "monotone_constraints")
_GRIDS = ("param_grid", "param_distributions")
_NAMES = (*_BY_CLASS, *_ONE_CLASS, *_OF_TWO, *_GRIDS)

_Change = Callable[[str, Any], Any]
"""New value of a parameter, by its name and value; the same object where there is nothing to change."""


def by_code(
    estimator: Any, params: Mapping[str, Any], classes: Sequence[str], key: str
) -> tuple[Any, dict[str, Any]]:
    """Learner and parameters with codes in place of the labels that they name.

    A mapping by class has labels as in the data for keys, or codes if one of its keys is no label; lists are
    in the order of `classes`. ConfigError for a key that is neither, and for a parameter that is meant for
    two classes where there are more; `key` is that of the parameters, for messages.
    """

    def change(name: str, value: Any) -> Any:
        where, last = f"{key}.{name}", _last(name)
        if last in _OF_TWO:
            if len(classes) > 2 and not (value is None or (np.isscalar(value) and value == 1)):
                raise ConfigError(where, value, f"nothing with {len(classes)} classes: it is meant for two")
        elif isinstance(value, Mapping):
            return dict(zip(_codes(list(value), classes, where), value.values(), strict=True))
        elif last in _ONE_CLASS and value is not None:
            return _codes([value], classes, where)[0]
        return value

    if not hasattr(estimator, "get_params"):
        return estimator, {name: _changed(name, value, change) for name, value in params.items()}
    from sklearn.base import clone

    copy = clone(estimator)
    return (copy if _change(copy, change) else estimator), dict(params)


def limit_to(learner: Any, codes: Mapping[int, int], n_classes: int) -> Any:
    """Limit a learner's parameters to the classes that its records have; returns the learner.

    `codes` gives the number of each of these, by its code among `n_classes`.
    """

    def change(name: str, value: Any) -> Any:
        last = _last(name)
        if last in _OF_TWO or isinstance(value, str):
            return value
        if isinstance(value, Mapping):
            kept = {
                code: class_value
                for code, class_value in value.items()
                if code in codes or code not in range(n_classes)
            }
            return {codes.get(code, code): class_value for code, class_value in kept.items()}
        if last in _ONE_CLASS:
            return value if value is None else codes.get(value, -1)
        if not isinstance(value, Sequence | np.ndarray) or len(value) != n_classes:
            return value
        part = np.asarray([value[code] for code in codes], dtype=np.float64)
        return part / part.sum() if last in _SHARES and part.sum() > 0 else part.tolist()

    _change(learner, change)
    return learner


def _change(learner: Any, change: _Change) -> bool:
    """Change parameters of a learner and of those in it, in place; whether there was anything to change."""
    params = learner.get_params(deep=True)
    new = dict[str, Any]()
    for name, value in params.items():
        if _last(name) in _NAMES and not _of_others(name, learner, params):
            changed = _changed(name, value, change)
            new |= {} if changed is value else {name: changed}
    if new:
        learner.set_params(**new)
    return bool(new)


def _of_others(name: str, learner: Any, params: Mapping[str, Any]) -> bool:
    """Whether a parameter belongs to a learner of two classes for each pair or one against the rest."""
    *path, last = name.split("__")
    owners = [learner, *(params.get("__".join(path[: end + 1])) for end in range(len(path)))]
    from sklearn.base import is_classifier

    reduced = any(type(owner).__module__ == "sklearn.multiclass" for owner in owners)
    return reduced or (last == "constant" and not is_classifier(owners[-1]))


def _changed(name: str, value: Any, change: _Change) -> Any:
    """Value of a parameter (a grid of values, a mapping of parameters), changed where it is about classes."""
    last = _last(name)
    if last in _GRIDS and isinstance(value, Mapping):
        return {
            key: [_changed(key, item, change) for item in values] if isinstance(values, Sequence) else values
            for key, values in value.items()
        }
    if last in _GRIDS and isinstance(value, Sequence):
        return [_changed(name, item, change) for item in value]
    if last == "base_params" and isinstance(value, Mapping):
        return {key: _changed(key, item, change) for key, item in value.items()}
    return change(name, value) if last in _NAMES else value


def _codes(named: Sequence[Any], classes: Sequence[str], where: str) -> list[int]:
    """Codes of classes that are named by their labels, or all by their codes."""
    codes = [_code(name, classes) for name in named]
    if None in codes and all(type(name) is int and 0 <= name < len(classes) for name in named):
        codes = list(named)
    for name, code in zip(named, codes, strict=True):
        if code is None or codes.count(code) > 1:
            shown = ", ".join(classes[:20]) + (", ..." if len(classes) > 20 else "")
            raise ConfigError(where, name, f"labels of the data, each once: {shown}")
    return [code for code in codes if code is not None]


def _code(name: Any, classes: Sequence[str]) -> int | None:
    """Code of a label: its text, or a number that is one label's alone."""
    text = str(name).lower() if isinstance(name, bool) and str(name) not in classes else str(name)
    if text in classes:
        return list(classes).index(text)
    equal = [code for code, label in enumerate(classes) if _number(label) == _number(text) is not None]
    return equal[0] if len(equal) == 1 else None


def _number(text: str) -> Decimal | None:
    try:
        return None if "_" in text else Decimal(text)
    except InvalidOperation:
        return None


def _last(name: str) -> str:
    return name.rpartition("__")[2]
