"""Code that is not ours: found, kept from ending the process, and named where it fails."""

from __future__ import annotations

import importlib
import importlib.util
import os
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import metadata
from typing import Any, NoReturn

from pate_cli.errors import ConfigError, one_line

__all__ = ["contained", "find_module", "what_failed"]


def find_module(key: str, name: str, group: str) -> Any:
    """Find the module of an installed entry point, else of an import path; None if there is none.

    A folder without code is no module. ConfigError names the key if importing it fails.
    """
    try:
        with contained():
            for point in metadata.entry_points(group=group, name=name):
                return point.load()
            if not all(part.isidentifier() for part in name.split(".")) or name == "__main__":
                return None
            spec = importlib.util.find_spec(name)
            return None if spec is None or spec.origin is None else importlib.import_module(name)
    except Exception as error:  # importing runs any code
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing is not None and f"{name}.".startswith(f"{missing}."):  # a package above it
            return None
        accepted = f"a module that can be imported; importing it failed ({what_failed(error)})"
        raise ConfigError(key, name, accepted) from error


@contextmanager
def contained() -> Iterator[None]:
    """Raise RuntimeError for what would end the process, as `sys.exit`; restore the working directory.

    A crash of compiled code ends the process even so (docs/running.md).
    """
    here = None
    with suppress(OSError):  # it may have been removed
        here = os.getcwd()
    end, ours = os._exit, (os.getpid(), threading.get_ident())

    def refuse(status: int) -> NoReturn:
        if (os.getpid(), threading.get_ident()) == ours:
            raise SystemExit(f"os._exit({status})")
        end(status)  # of a process that the code has forked, or of another thread

    os._exit = refuse
    try:
        yield
    except BaseException as error:
        if isinstance(error, (Exception, KeyboardInterrupt)):
            raise
        raise RuntimeError(f"{type(error).__name__}: {error}") from error  # panics of Rust, too
    finally:
        os._exit = end
        if here is not None:
            with suppress(OSError):
                os.chdir(here)


def what_failed(error: BaseException, file: str | None = None) -> str:
    """Kind of an error of somebody's code, what it says, and where; in `file`, if it passed there."""
    if error.__cause__ is not None and not isinstance(error.__cause__, Exception):
        error = error.__cause__  # of `contained`
    said = f"{type(error).__name__}: {one_line(str(error))}".removesuffix(": ")
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    last = ([frame for frame in frames if frame.filename == file] or frames)[-1]
    within = not (last.filename.startswith("<") or isinstance(error, SyntaxError))
    return f"{said}; {last.filename}, line {last.lineno}" if within else said
