"""The command `pate`: picks a sub-command, and imports nothing else before that."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

from pate_cli import __version__
from pate_cli.errors import InputError

__all__ = ["COMMANDS", "entry_point", "main"]

COMMANDS = {
    "run": "train teachers, label privately, train a student, report accuracy and eps (-m for sweeps)",
    "table": "collect runs into one table: console, CSV, Markdown or LaTeX",
    "plan": "noise, threshold and teachers needed, before any training",
    "data": "list, fetch and verify the datasets",
    "predict": "label new points with a saved student",
}

_USAGE = """\
usage: pate COMMAND [ARGUMENTS]

Learn from private data through teachers, and say what it cost in privacy.

commands:
{commands}

options:
  -h, --help     show this
  --version      show the version
  -sc install=SHELL  print a completion script: eval "$(pate -sc install=bash)"

`pate COMMAND --help` says more. First steps:
  pate run mechanism=svt eps=1.0
  pate run -m dataset=mushroom mechanism=gaussian,active eps=0.5,1,2
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        Without the program's name; taken from `sys.argv` if left out.

    Returns
    -------
    int
        0 done, 1 our fault, 2 the user's input is wrong, 130 interrupted.
    """
    args = list(sys.argv[1:] if argv is None else argv)
    if args and args[0] in ("-sc", "--shell-completion"):
        return _complete(args)
    if not args or args[0] in ("-h", "--help"):
        commands = "\n".join(f"  {name:<10} {text}" for name, text in COMMANDS.items())
        sys.stdout.write(_USAGE.format(commands=commands))
        return 0
    if args[0] == "--version":
        sys.stdout.write(f"pate {__version__}\n")
        return 0
    name, *rest = args
    if name not in COMMANDS:
        return _refuse(f"{name}: no such command; there are: {', '.join(COMMANDS)}")
    try:
        return int(import_module(f"pate_cli.commands.{name}").main(rest))
    except InputError as error:
        return _refuse(str(error))
    except KeyboardInterrupt:
        sys.stderr.write("pate: interrupted\n")
        return 130
    except BrokenPipeError:  # the reader went away, as in `pate table ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except SystemExit as stop:  # argparse
        return stop.code if isinstance(stop.code, int) else 2


def entry_point() -> None:
    """Console script."""
    sys.exit(main())


def _refuse(message: str) -> int:
    sys.stderr.write(f"pate: {message}\n")
    return 2


def _complete(args: list[str]) -> int:
    """Complete sub-commands ourselves, and let Hydra complete what follows `run` and `plan`."""
    line = os.environ.get("COMP_LINE", "")
    words = line.split()
    if args[1:2] and args[1].startswith("query"):
        typed = words[1] if len(words) > 1 else ""
        if len(words) < 2 or (len(words) == 2 and not line.endswith(" ")):
            sys.stdout.write("\n".join(name for name in COMMANDS if name.startswith(typed)) + "\n")
            return 0
        if typed not in ("run", "plan"):
            return 0
        cut = line.index(typed, len(words[0])) + len(typed)
        os.environ["COMP_LINE"] = words[0] + line[cut:]
        shift = cut - len(words[0])
        os.environ["COMP_POINT"] = str(int(os.environ.get("COMP_POINT", len(line))) - shift)
    return int(import_module("pate_cli.commands.run").main(args))
