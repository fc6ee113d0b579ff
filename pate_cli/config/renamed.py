"""Names of version 0.1 that are others now: read by this version, with a line that says what to type."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from pate_cli.terminal import err

__all__ = ["current", "leaderboard", "now"]

_OVERRIDES = {
    "mechanism=confident_gnmax": ("mechanism=gnmax", "mechanism.confidence=0.75"),
    "mechanism=public_kernel": ("mechanism=best",),
    "mechanism.name=public_kernel": ("mechanism.name=best",),
}
_TABLES = ("--tables", "mushroom,a9a,adult,digits,synthetic")
"""What `pate leaderboard` measured by default."""


def current(argv: Sequence[str]) -> list[str]:
    """Write overrides as this version names them, in a sweep too; what is typed beside an old name counts.

    A name that is now two overrides is not one value of a sweep: there it is left as it is, and refused.
    """
    typed = {text.partition("=")[0] for text in argv}
    renamed: list[str] = []
    for text in argv:
        key, _, values = text.partition("=")
        points = [f"{key}={value}" for value in values.split(",")]
        new = [_OVERRIDES.get(point, (point,)) for point in points]
        if _OVERRIDES.keys().isdisjoint(points) or (len(points) > 1 and max(map(len, new)) > 1):
            renamed.append(text)
            continue
        first = f"{key}={','.join(overrides[0].partition('=')[2] for overrides in new)}"
        others = [other for other in new[0][1:] if other.partition("=")[0] not in typed]
        _say(text, " ".join([first, *others]))
        renamed += [first, *others]
    return renamed


def leaderboard(argv: Sequence[str]) -> list[str]:
    """Arguments of `pate frontier` that do what `pate leaderboard` did."""
    _say("pate leaderboard", "pate frontier --tables A,B,...")
    chosen = any(text.split("=")[0] in ("--table", "--tables") for text in argv)
    return [*argv, *(() if chosen or {"-h", "--help"} & set(argv) else _TABLES)]


def now(override: str) -> tuple[str, ...]:
    """What an old name is now, where it is one."""
    return _OVERRIDES.get(override, ())


@cache  # a command may read its overrides more than once
def _say(old: str, new: str) -> None:
    err().print(
        f"{old} is now {new}; the next version does not read the old name", soft_wrap=True, markup=False
    )
