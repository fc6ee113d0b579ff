"""Runs from Python."""

from __future__ import annotations

import tempfile
from pathlib import Path

from pate_cli.commands.run import check_rows, run_jobs
from pate_cli.config import Composer
from pate_cli.config.command_line import checked
from pate_cli.errors import InputError
from pate_cli.results import RunRecord, read_record

__all__ = ["run"]


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
    composer, checked_overrides = Composer(), checked(overrides)
    if composer.compose(checked_overrides)["release"]:
        raise InputError("release: got True; accepted: false from Python; `pate run release=true` makes one")
    (job,) = check_rows(composer, [checked_overrides])
    with tempfile.TemporaryDirectory() as temporary:
        target = Path(directory or temporary).absolute()
        target.mkdir(parents=True, exist_ok=True)
        run_jobs({target: job}, target, force=force, sweep=False, command=["pate", "run", *overrides])
        return read_record(target / "result.json")
