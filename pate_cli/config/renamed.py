"""Names of version 0.1 that are others now: read by this version, with a line that says what to type."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from pate_cli.terminal import err

__all__ = ["current", "leaderboard"]

_OVERRIDES = {
    "mechanism=confident_gnmax": ("mechanism=gnmax", "mechanism.confidence=0.75"),
    "mechanism=public_kernel": ("mechanism=best",),
    "mechanism.name=public_kernel": ("mechanism.name=best",),
}
_TABLES = ("--tables", "mushroom,a9a,adult,digits,synthetic")
"""What `pate leaderboard` measured by default."""


def current(argv: Sequence[str]) -> list[str]:
    """Write overrides as this version names them; what is typed beside an old name counts."""
    typed = {text.partition("=")[0] for text in argv}
    found: list[str] = []
    for text in argv:
        if text in _OVERRIDES:
            first, *others = _OVERRIDES[text]
            new = [first, *(other for other in others if other.partition("=")[0] not in typed)]
            _say(text, " ".join(new))
            found += new
        else:
            found.append(text)
    return found


def leaderboard(argv: Sequence[str]) -> list[str]:
    """Arguments of `pate frontier` that do what `pate leaderboard` did."""
    _say("pate leaderboard", "pate frontier --tables A,B,...")
    chosen = any(text.split("=")[0] in ("--table", "--tables") for text in argv)
    return [*argv, *(() if chosen or {"-h", "--help"} & set(argv) else _TABLES)]


@cache  # a command may read its overrides more than once
def _say(old: str, new: str) -> None:
    err().print(
        f"{old} is now {new}; the next version does not read the old name", soft_wrap=True, markup=False
    )
