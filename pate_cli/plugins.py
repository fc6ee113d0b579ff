"""Modules of other packages, by the name of an installed entry point or by import path."""

from __future__ import annotations

import importlib
import importlib.util
import traceback
from importlib import metadata
from typing import Any

from pate_cli.errors import ConfigError, one_line

__all__ = ["find_module", "what_failed"]


def find_module(key: str, name: str, group: str) -> Any:
    """Find the module of an installed entry point, else of an import path; None if there is none.

    A folder without code is no module. ConfigError names the key if importing it fails.
    """
    try:
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


def what_failed(error: Exception, file: str | None = None) -> str:
    """Kind of an error of somebody's code, what it says, and where; in `file`, if it passed there."""
    said = f"{type(error).__name__}: {one_line(str(error))}"
    frames = traceback.extract_tb(error.__traceback__)
    last = ([frame for frame in frames if frame.filename == file] or frames)[-1]
    within = not (last.filename.startswith("<") or isinstance(error, SyntaxError))
    return f"{said}; {last.filename}, line {last.lineno}" if within else said
