"""Mechanisms: each is a module that releases labels or a model from private data; see `base`."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import pkgutil
from collections.abc import Mapping
from functools import cache
from typing import Any, cast

from pate_cli.checks import read_options
from pate_cli.errors import ConfigError
from pate_cli.mechanisms.base import Mechanism, MechanismOptions, SampledAttack, VoteMechanism
from pate_cli.types import Setting

__all__ = ["GROUP", "Mechanism", "SampledAttack", "VoteMechanism"]
__all__ += ["best_points", "calibrate", "checked_options", "features_of", "find", "label", "names", "oracle"]
__all__ += ["picks_queries", "read"]

GROUP = "pate.mechanisms"
"""Entry points of mechanisms of other packages: a name and a module."""

_ROOMS = (__name__, f"{__name__}.agnostic", f"{__name__}.direct", f"{__name__}.scores")


@cache
def find(name: str) -> Any:
    """Find the module of a mechanism: of this package, of an installed one, or by import path.

    ConfigError names `mechanism.name` and the mechanisms there are.
    """
    for room in _ROOMS:
        if name.isidentifier() and importlib.util.find_spec(f"{room}.{name}") is not None:
            module = importlib.import_module(f"{room}.{name}")
            if hasattr(module, "Options"):
                return module
    for point in importlib.metadata.entry_points(group=GROUP, name=name):
        return point.load()
    if (module := _imported(name)) is not None:
        if hasattr(module, "Options") and hasattr(module, "calibrate"):
            return module
        raise ConfigError("mechanism.name", name, "a module with Options and calibrate (docs/extending.md)")
    raise ConfigError("mechanism.name", name, ", ".join(names()))


def _imported(name: str) -> Any:
    """Module of an import path; None if there is none."""
    try:
        if not all(part.isidentifier() for part in name.split(".")) or not importlib.util.find_spec(name):
            return None
    except ImportError:  # of a package above it
        return None
    return importlib.import_module(name)


def names() -> list[str]:
    """Names of the mechanisms of this and of installed packages."""
    installed = []
    for room in _ROOMS:
        for info in pkgutil.iter_modules(importlib.import_module(room).__path__):
            if not info.ispkg and hasattr(importlib.import_module(f"{room}.{info.name}"), "Options"):
                installed.append(info.name)
    return sorted(installed + [point.name for point in importlib.metadata.entry_points(group=GROUP)])


def read(name: str, given: Mapping[str, Any]) -> Any:
    """Check the given options of a mechanism; raises InputError."""
    return read_options(find(name).Options, given, "mechanism.")


def label(name: str, options: Any) -> str:
    """Name of a mechanism in tables, which may depend on its options."""
    return (
        options.label(name) if isinstance(options, MechanismOptions) else _hook(name, "label", options, name)
    )


def oracle(name: str, options: Any) -> str:
    """Name of the mechanism that answers: itself, or that of which it only selects the queries."""
    if isinstance(options, MechanismOptions):
        return options.answered_by(name)
    return _hook(name, "oracle", options, label(name, options))


def _hook(name: str, hook: str, options: Any, default: str) -> str:
    """As a module without `MechanismOptions` says: to be dropped."""
    return str(getattr(find(name), hook)(options)) if hasattr(find(name), hook) else default


def picks_queries(name: str) -> bool:
    """Whether a mechanism chooses `split.budget` of the public points, instead of taking all of them."""
    return _promises(name).picks_queries


def best_points(name: str, n: int, d: int, eps: float) -> float:
    """Number of public points of `split.public=auto`, from public numbers: n records of d columns."""
    module = find(name)
    if not hasattr(module, "best_points"):
        having = " or ".join(other for other in names() if hasattr(find(other), "best_points"))
        raise ConfigError("split.public", "auto", f"a number, or null; auto with mechanism={having}")
    return float(module.best_points(n, d, eps))


def checked_options(name: str) -> tuple[dict[str, Any], ...]:
    """Options that `pate check` puts a mechanism to; by default its defaults."""
    return tuple(getattr(find(name), "checked_options", ({},)))


def features_of(name: str, asked: str) -> str:
    """Features of a run: as asked; for `auto` what the mechanism prefers, `kernel` if it does not say."""
    return _promises(name).features_default if asked == "auto" else asked


def _promises(name: str) -> type[MechanismOptions]:
    options: Any = find(name).Options
    if issubclass(options, MechanismOptions):
        return cast("type[MechanismOptions]", options)
    old = {"features_default": getattr(find(name), "features_default", "kernel")}  # to be dropped
    return type("Options", (MechanismOptions,), old)


def calibrate(name: str, given: Mapping[str, Any], setting: Setting) -> Mechanism:
    """Calibrate a mechanism by name; raises InputError where an option is wrong or it cannot work."""
    mechanism: Mechanism = find(name).calibrate(read(name, given), setting)
    return mechanism
