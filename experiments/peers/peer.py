"""Base class and checks of the mechanisms of other packages."""

from __future__ import annotations

import importlib
import math
import warnings
from dataclasses import dataclass
from typing import Any

from pate_cli.errors import ConfigError, InputError
from pate_cli.mechanisms.base import Mechanism
from pate_cli.types import Setting


@dataclass(frozen=True)
class Peer(Mechanism):
    """A mechanism without teachers, to compare with; the subclass states its guarantee."""

    eps: float
    delta: float

    def describe(self) -> dict[str, Any]:
        """Its public numbers."""
        return {name: value for name, value in vars(self).items() if isinstance(value, int | float)}


def check(name: str, module: str, package: str, setting: Setting) -> None:
    """Refuse a run without the package, or without privacy."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of its own imports
            importlib.import_module(module)
    except ImportError as error:
        raise InputError(f"mechanism={name} needs {package}; pip install {package}") from error
    if math.isinf(setting.eps):
        raise ConfigError("eps", setting.eps, f"a finite number: mechanism={name} always adds noise")
