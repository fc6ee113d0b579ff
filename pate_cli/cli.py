"""The command `pate`: picks a sub-command, and imports nothing else before that."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TextIO

from pate_cli.errors import InputError, Terminated, shortened
from pate_cli.signals import terminable
from pate_cli.version import VERSION

__all__ = ["COMMANDS", "entry_point", "main"]

COMMANDS = {
    "run": "train teachers, label privately, train a student; -m for sweeps",
    "list": "which runs there are: newest first, how far they came",
    "compare": "what differs between two results, in settings and in measures",
    "table": "collect runs into one table: console, CSV, Markdown or LaTeX",
    "page": "one HTML file of a result, to send to somebody",
    "plot": "a figure of them for a paper: accuracy against eps; PDF, SVG or PNG",
    "plan": "noise, threshold and teachers needed, before any training",
    "tune": "choose between settings on held-out private records, and pay for it",
    "reproduce": "a paper's table or figure, ours beside the printed numbers",
    "frontier": "accuracy against eps for chosen methods, on one data set or on many",
    "audit": "attack the mechanism: measured lower bound on eps against the claim",
    "check": "put a mechanism, ours or yours, to the checks that all of them pass",
    "data": "describe a table of yours; list, fetch and verify the named datasets",
    "ledger": "the total budget of a dataset for real releases, and what is left",
    "verify": "check a release against its certificate and the ledger",
    "predict": "label new points with a saved student",
}

_USAGE = """\
usage: pate COMMAND [ARGUMENTS]

Learn from private data through teachers, and say what it cost in privacy.

commands:
{commands}

options:
  -h, --help         show this
  --version          show the version
  -sc install=SHELL  print a completion script: eval "$(pate -sc install=bash)"

`pate COMMAND --help` says more. First steps:
  pate run mechanism=svt eps=1.0
  pate run -m dataset=mushroom mechanism=gaussian,active eps=0.5,1,2
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line, that of the process by default.

    Returns
    -------
    int
        0 done, 1 internal error, 2 bad input, 129 the terminal was closed, 130 interrupted, 143 terminated.
    """
    _open_streams()
    _settle_terminal()
    try:
        with terminable():
            code = _main_named(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()  # a failed write shows here, not when the interpreter ends
        return code
    except InputError as error:
        if os.environ.get("HYDRA_FULL_ERROR") == "1":
            _show_plugin(error)
        return _fail(2, str(error))
    except Terminated as stop:
        return _fail(128 + stop.number, "terminated")
    except MemoryError:
        return _fail(1, "out of memory")
    except KeyboardInterrupt:
        return _fail(130, "interrupted")
    except BrokenPipeError:  # the reader went away, as in `pate table ... | head`
        return _let_go(0)
    except OSError as error:  # a full disk, as a rule
        if _is_removed():
            return _fail(2, "the current directory was removed; accepted: one that exists (cd)")
        reason, named = error.strerror or str(error), error.filename
        if error.errno in (errno.ENAMETOOLONG, errno.ELOOP):  # as typed
            return _fail(2, f"{shortened(str(named))}: {reason}; accepted: the name of a file or directory")
        if named is None and _is_lost(sys.stdout):
            named = "standard output"
        _let_go(1)
        return _fail(1, f"{named}: {reason}" if named else reason)
    except SystemExit as stop:  # argparse; and rich, when the reader went away
        if isinstance(stop.__context__, BrokenPipeError):
            return _let_go(0)
        import traceback

        *_, (frame, _) = traceback.walk_tb(stop.__traceback__)
        if frame.f_globals.get("__name__") != "argparse":
            from pate_cli.plugins import what_failed

            return _fail(2, f"{what_failed(stop)}: code that is not of pate ended the command")
        return stop.code if isinstance(stop.code, int) else 2


def entry_point() -> None:
    """Console script."""
    sys.exit(main())


def _main(args: list[str]) -> int:
    if not args or args[0] in ("-h", "--help"):
        commands = "\n".join(f"  {name:<11} {text}" for name, text in COMMANDS.items())
        return _say(_USAGE.format(commands=commands))
    if args[0] == "--version":
        return _say(f"pate {VERSION}\n")
    name, *argv = args
    if name in ("-sc", "--shell-completion"):
        return int(import_module("pate_cli.commands.completion").main(argv, list(COMMANDS)))
    if name == "leaderboard":
        name, argv = "frontier", import_module("pate_cli.config.renamed").leaderboard(argv)
    if name == "run" and "--dry-run" in argv:
        name, argv = "plan", [text for text in argv if text != "--dry-run"]
    if name not in COMMANDS:
        return _fail(2, f"{name}: no such command; there are: {', '.join(COMMANDS)}")
    if any(text.startswith("dataset=") and text.rstrip("'\"").endswith((".yaml", ".yml")) for text in argv):
        argv = import_module("pate_cli.config.schemas").with_schemas(argv)
    return int(import_module(f"pate_cli.commands.{name}").main(argv))


def _main_named(args: list[str]) -> int:
    """Carry out a command; what a plug-in raises is named."""
    try:
        return _main(args)
    except (InputError, MemoryError, BrokenPipeError):
        raise
    except Exception as error:
        from pate_cli.plugins import named

        if (refusal := named(error)) is error:
            raise
        raise refusal from error


def _show_plugin(error: InputError) -> None:
    """Print where code that is not ours raised an error."""
    import traceback

    from pate_cli.plugins import PluginError, place_of

    cause = error.__cause__  # none where it may be private
    if cause and (isinstance(error, PluginError) or place_of(cause)):
        traceback.print_exception(error)


def _say(text: str) -> int:
    sys.stdout.write(text)
    return 0


def _open_streams() -> None:
    """Open the standard streams that are closed, as a daemon's: files of ours would get their numbers."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            number = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(number, True)
            setattr(sys, name, os.fdopen(number, "r" if name == "stdin" else "w"))


def _settle_terminal() -> None:
    """Write what the streams' encoding lacks as escapes, and read a width or height of 0 as none."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    for name in ("COLUMNS", "LINES"):
        if not os.environ.get(name, "none").strip("0"):
            del os.environ[name]


def _is_removed() -> bool:
    """Whether there is no current directory."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _is_lost(stream: TextIO) -> bool:
    """Whether what a stream still holds cannot be written."""
    try:
        stream.flush()
    except OSError:
        return True
    return False


def _let_go(code: int) -> int:
    """Keep the interpreter from retrying the failed write at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _fail(code: int, message: str) -> int:
    sys.stderr.write(f"pate: {message}\n")
    return code
