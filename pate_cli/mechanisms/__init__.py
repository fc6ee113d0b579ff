"""Mechanisms: each is a module that releases labels or a model from private data; see `base`."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import pkgutil
from collections.abc import Mapping
from functools import cache
from typing import Any

from pate_cli.checks import read_options
from pate_cli.errors import ConfigError, typed_own
from pate_cli.mechanisms.base import Mechanism, SampledAttack, VoteMechanism
from pate_cli.mechanisms.contract import check_promise, lacks
from pate_cli.mechanisms.options import MechanismOptions
from pate_cli.plugins import calling, find_module, refuse_namesakes
from pate_cli.types import Setting

__all__ = ["GROUP", "Mechanism", "MechanismOptions", "SampledAttack", "VoteMechanism"]
__all__ += ["calibrate", "calibrated", "find", "names", "read"]

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
                refuse_namesakes("mechanism.name", name, GROUP, module)
                return module
    module = find_module("mechanism.name", name, GROUP)
    if module is None:
        raise ConfigError("mechanism.name", name, names(), typed_own("mechanism", name))
    if accepted := lacks(module):
        raise ConfigError("mechanism.name", name, accepted)
    return module


def names() -> list[str]:
    """Names of the mechanisms of this and of installed packages."""
    installed = []
    for room in _ROOMS:
        for info in pkgutil.iter_modules(importlib.import_module(room).__path__):
            if not info.ispkg and hasattr(importlib.import_module(f"{room}.{info.name}"), "Options"):
                installed.append(info.name)
    return sorted(installed + [point.name for point in importlib.metadata.entry_points(group=GROUP)])


def read(name: str, options: Mapping[str, Any]) -> Any:
    """Check the given options of a mechanism; raises InputError."""
    return read_options(find(name).Options, options, "mechanism.")


def calibrate(name: str, options: Mapping[str, Any], setting: Setting) -> Mechanism:
    """Calibrate a mechanism by name; raises InputError where an option is wrong or it cannot work."""
    return calibrated(name, read(name, options), setting)


def calibrated(name: str, options: MechanismOptions, setting: Setting) -> Mechanism:
    """Calibrate a mechanism by options that are read; ConfigError if somebody's module makes none."""
    module = find(name)
    with calling(module):
        mechanism = module.calibrate(options, setting)
    if not isinstance(mechanism, Mechanism):
        accepted = f"a module whose calibrate returns a Mechanism, not {type(mechanism).__name__}"
        raise ConfigError("mechanism.name", name, accepted)
    with calling(type(mechanism)):
        check_promise(mechanism)
    return mechanism
