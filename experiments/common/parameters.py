"""Checks of parameters that several studies have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pate_cli.checks import Check, Real, Whole, take

PROBABILITY = Real(0, 1, open_above=True)

BUDGET: dict[str, Check] = {"eps": Real(0), "delta": PROBABILITY, "beta": PROBABILITY}
"""Beta is the probability of failure."""

SAMPLING: dict[str, Check] = {"repeats": Whole(2), "seed": Whole(0)}


def one_for_each(of: str, p: Mapping[str, Any], checks: Mapping[str, Any], *keys: str) -> None:
    """Refuse lists that are shorter than that of parameter `of` (ConfigError)."""
    for key in keys:
        take(f"params.{key}", p[key], replace(checks[key], at_least=len(p[of])))
