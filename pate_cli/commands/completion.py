"""`pate -sc`: shell completion. Sub-commands are completed here, what follows `run` and `plan` by Hydra."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Sequence

from pate_cli.errors import InputError

__all__ = ["main"]

_SHELLS = ("bash", "fish", "zsh")
_WITH_CONFIG = ("run", "plan")


def main(argv: Sequence[str], commands: Sequence[str]) -> int:
    """Print a script, or the completions of the line in `COMP_LINE`; `commands` are the sub-commands."""
    asked = " ".join(argv)
    action, _, shell = asked.partition("=")
    if action not in ("install", "uninstall", "query") or shell not in _SHELLS:
        raise InputError(
            f"-sc {asked}: accepted: install=SHELL or uninstall=SHELL, SHELL one of bash, fish, zsh"
        )
    if action != "query":
        return _hydra(asked)
    line = os.environ.get("COMP_LINE", "")
    point = os.environ.get("COMP_POINT", "")
    line = line[: int(point)] if point.isdecimal() else line
    words = line.split()
    if len(words) < 2 or (len(words) == 2 and not line[-1].isspace()):
        typed = words[1] if len(words) == 2 else ""
        sys.stdout.write("\n".join(name for name in commands if name.startswith(typed)) + "\n")
    elif words[1] in _WITH_CONFIG:
        _query(asked, line)
    return 0


def _hydra(asked: str) -> int:
    """Hand over; imported here, as the names of the sub-commands are completed without waiting for it."""
    from pate_cli.commands import run

    return run.main(["-sc", asked])


def _query(asked: str, line: str) -> None:
    """Let Hydra complete a line without its sub-command."""
    _, _, rest = re.split(r"\s+", line.lstrip(), maxsplit=2)
    # Hydra wants options before overrides, and a path it knows how to strip
    sweep = re.search(r"(^|\s)(-m|--multirun)\s", rest)
    rest = re.sub(r"(^|\s)(-m|--multirun)(?=\s)", "", rest).lstrip()
    before = os.environ.get("COMP_LINE", "")
    os.environ["COMP_LINE"] = f"pate {'-m ' if sweep else ''}{rest}"
    printed = io.StringIO()
    try:
        # completion is not the place for errors of an unfinished line
        with (
            contextlib.suppress(Exception, SystemExit),
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            _hydra(asked)
    finally:
        os.environ["COMP_LINE"] = before
    sys.stdout.write(printed.getvalue())
