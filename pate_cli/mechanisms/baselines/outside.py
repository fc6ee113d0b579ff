"""Libraries that cannot share our environment: run by an interpreter of their own, in a child process.

What is sent and what comes back goes through pipes, as an `.npz` each: private records touch no disk. The
child works in a directory of its own, which nobody else may read and which is removed when it has ended.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pate_cli.errors import ConfigError, InputError, shortened

__all__ = ["KEY", "Arrays", "Failed", "answer", "checked", "interpreter"]

Arrays: TypeAlias = dict[str, NDArray[Any]]

KEY = "mechanism.python"

_PATIENCE = 300.0
"""Seconds that the trial before a run may take: a library that is imported for the first time is compiled."""


class Failed(InputError):
    """A child process that ended without an answer.

    Parameters
    ----------
    python : str
        Its interpreter.
    how : str
        What it did instead, a sentence about the interpreter without its subject.
    """

    def __init__(self, python: str, how: str) -> None:
        self.python, self.how = python, how
        super().__init__(f"{KEY}: {shortened(python)} {how}")

    def __reduce__(self) -> Any:  # from a worker process: `args` are not what `__init__` takes
        return Failed, (self.python, self.how)


def interpreter(
    python: str | None, script: ModuleType, trial: Mapping[str, Any], version: str, recipe: str
) -> str:
    """Make sure, before anything is written, that an interpreter has the library: on made-up records.

    Parameters
    ----------
    python : str or None
        The interpreter.
    script : module
        Of ours; what the child runs.
    trial : mapping of str to number or tuple
        A job that holds nothing private. One that went well is not run again in this process.
    version : str
        Of the library, the one whose source was read: the first of the `versions` that are answered.
    recipe : str
        The command that makes such an environment.

    Returns
    -------
    str
        The interpreter.

    Raises
    ------
    ConfigError
        Naming `mechanism.python`, what is wrong with it, and the command.
    """
    accepted = f"the path of an interpreter that has the library, as made by: {recipe}"
    if python is None:
        raise ConfigError(KEY, python, accepted)
    try:
        there = str(_tried(python, script, tuple(trial.items())).get("versions", ["another"])[0])
        if there != version:
            raise Failed(python, f"has version {shortened(there)}")
    except Failed as failed:
        raise ConfigError(KEY, python, f"{accepted}; this one {failed.how}") from None
    return python


@cache
def _tried(python: str, script: ModuleType, trial: tuple[tuple[str, Any], ...]) -> Arrays:
    return answer(python, script, {name: np.asarray(value) for name, value in trial}, seconds=_PATIENCE)


def answer(python: str, script: ModuleType, job: Mapping[str, Any], seconds: float | None = None) -> Arrays:
    """Send arrays to a child process and wait for the arrays it answers with.

    Parameters
    ----------
    python : str
        Its interpreter: a path, or a name on PATH.
    script : module
        What it runs, in `outside_child`: `answer`, from the arrays of the job to those it answers with.
    job : mapping of str to array
    seconds : float, optional
        It may take; no limit unless given.

    Raises
    ------
    Failed
        If there is no such interpreter, or it ends without an answer.
    """
    found = shutil.which(os.path.expanduser(python))
    if found is None or script.__file__ is None:
        raise Failed(python, "is no program")
    sent = io.BytesIO()
    np.savez(sent, **job)
    with tempfile.TemporaryDirectory(prefix="pate-outside-") as scratch:  # mode 700
        # isolated: without it the child would look for its library beside the script, where ours has its name
        child = Path(__file__).with_name("outside_child.py")
        command = [
            os.path.abspath(found),
            "-I",
            *(str(Path(each).resolve()) for each in (child, script.__file__)),
        ]
        surroundings = {**os.environ, "TMPDIR": scratch}
        try:
            done = subprocess.run(
                command,
                input=sent.getbuffer(),
                capture_output=True,
                cwd=scratch,
                env=surroundings,
                timeout=seconds,
                check=False,
            )
        except OSError as error:
            raise Failed(python, f"cannot be run ({error.strerror})") from None
        except subprocess.TimeoutExpired:
            raise Failed(python, f"gave no answer in {seconds:g} seconds") from None
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["it said nothing"]
        raise Failed(python, f"ended with exit code {done.returncode}: {shortened(lines[-1])}")
    try:
        with np.load(io.BytesIO(done.stdout), allow_pickle=False) as answered:
            return {name: answered[name] for name in answered.files}
    except (ValueError, OSError, EOFError, AttributeError, zipfile.BadZipFile):
        raise Failed(python, "answered what cannot be read") from None


def checked(python: str, arrays: Arrays, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Take finite floats of a shape from an interpreter's answer; raises Failed if there are none."""
    found = arrays.get(name)
    if found is None or found.shape != shape or found.dtype != np.float64 or not np.isfinite(found).all():
        raise Failed(python, f"answered without {name} of {shape} finite numbers")
    return found
