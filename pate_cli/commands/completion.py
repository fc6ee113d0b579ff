"""`pate -sc`: shell completion of the names of the sub-commands, by Hydra's script."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from pate_cli.errors import InputError

__all__ = ["main"]

_SHELLS = ("bash", "fish", "zsh")


def main(argv: Sequence[str], commands: Sequence[str]) -> int:
    """Print a script, or the sub-commands that complete the line in `COMP_LINE`."""
    asked = " ".join(argv)
    action, _, shell = asked.partition("=")
    if action not in ("install", "uninstall", "query") or shell not in _SHELLS:
        raise InputError(
            f"-sc {asked}: accepted: install=SHELL or uninstall=SHELL, SHELL one of bash, fish, zsh"
        )
    if action != "query":
        from pate_cli.commands import run

        return run.main(["-sc", asked])
    line, point = os.environ.get("COMP_LINE", ""), os.environ.get("COMP_POINT", "")
    line = line[: int(point)] if point.isdecimal() else line
    words = line.split()
    if len(words) < 2 or (len(words) == 2 and not line[-1].isspace()):
        typed = words[1] if len(words) == 2 else ""
        sys.stdout.write("\n".join(name for name in commands if name.startswith(typed)) + "\n")
    return 0
