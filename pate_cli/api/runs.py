"""Runs from Python, and the results of many as a DataFrame."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pate_cli.commands.run import check_jobs, run_jobs
from pate_cli.config import Composer
from pate_cli.config.command_line import checked
from pate_cli.errors import InputError
from pate_cli.report import RunRecord, find_records, read_record
from pate_cli.report.runs_table import run_table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["results", "run"]


def run(*overrides: str, directory: str | Path | None = None, force: bool = False) -> RunRecord:
    """Do a run, as ``pate run`` does, and return the content of its ``result.json``.

    Parameters
    ----------
    *overrides : str
        As typed: ``run("dataset=mushroom", "mechanism=svt", "eps=1.0")``. Not a release.
    directory : path-like, optional
        Of its files; default: a temporary directory.
    force : bool
        Whether to redo finished repeats that are stored in `directory`.

    Raises
    ------
    InputError
        If the configuration cannot be used, in one line; then nothing is written.
    """
    composer, given = Composer(), checked(overrides)
    if composer.compose(given)["release"]:
        raise InputError("release: got True; accepted: false from Python; `pate run release=true` makes one")
    (job,) = check_jobs(composer, [given])
    with tempfile.TemporaryDirectory() as temporary:
        target = Path(directory or temporary).absolute()
        target.mkdir(parents=True, exist_ok=True)
        run_jobs({target: job}, target, force=force, sweep=False, command=["pate", "run", *overrides])
        return read_record(target / "result.json")


def results(*paths: str | Path) -> pd.DataFrame:
    """Collect runs, as ``pate table`` does: a row a run, every number in full.

    Parameters
    ----------
    *paths : path-like
        Directories that are searched, or files; default: ``outputs``.

    Raises
    ------
    InputError
        If a file cannot be read.
    """
    import pandas as pd

    found = find_records(paths or ("outputs",))
    if found.unreadable:
        path, reason = found.unreadable[0]
        raise InputError(f"{path}: {reason}")
    return pd.DataFrame(run_table(found.records, metrics=True).records)
