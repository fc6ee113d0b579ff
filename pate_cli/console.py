"""One place that writes to the terminal: results to stdout, everything else to stderr."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["err", "out"]


@cache
def out() -> Console:
    """Console for results (stdout)."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=False)


@cache
def err() -> Console:
    """Console for messages and progress (stderr)."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)
