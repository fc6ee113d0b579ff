"""What a check raises."""

from __future__ import annotations

__all__ = ["CheckFailed", "require"]


class CheckFailed(AssertionError):
    """A mechanism does not keep what it promises."""


def require(holds: object, why: str) -> None:
    """Raise CheckFailed, which says why, unless something holds."""
    if not holds:
        raise CheckFailed(why)
