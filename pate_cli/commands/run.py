"""`pate run`: from a config to an accuracy and epsilon table."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pate_cli import console
from pate_cli.config import composition
from pate_cli.config.composition import CommandLine
from pate_cli.engine import repeats
from pate_cli.engine.parallel import die_with, terminable
from pate_cli.errors import ConfigError, InputError

if TYPE_CHECKING:
    from omegaconf import DictConfig

__all__ = ["main"]

_LAUNCHERS = ("joblib.", "submitit.")
"""Where the exceptions of a launcher come from that has lost a job's process."""


def main(argv: list[str]) -> int:
    """Check everything first, then let Hydra run the job or the sweep.

    Parameters
    ----------
    argv : list of str
        Arguments after `pate run`.

    Returns
    -------
    int
        0, or 1 if a job failed.

    Raises
    ------
    InputError
        Before anything is written; or once a fit has shown what no check could foresee.
    OSError
        If a file cannot be written.
    """
    line = composition.parse_argv(argv)
    command = ["pate", "run", *argv]
    if line.only_shows:
        _show(line, command)
        return 0
    from pate_cli.engine import execution

    execution.forget()
    places: set[Any] = set()
    lists = composition.jobs(line)
    names = [_name(execution.checked(raw), places) for raw in composition.compose_all(lists, line.config_dir)]
    release = any(releases for *_, releases in names)
    if release and line.multirun:
        raise ConfigError("release", True, "false in a sweep (-m); releases are made one by one")
    target = _target(line, lists[0], [(label, code) for label, code, _ in names])
    key = "hydra.sweep.dir" if line.multirun else "hydra.run.dir"
    _check_writable(key, target)
    argv = [*line.argv, f"{key}={composition.quoted(str(target))}"]
    if release:
        if target.exists() and any(target.iterdir()):
            raise ConfigError(key, str(target), "a new or an empty directory for a release")
        argv.append("hydra.output_subdir=null")  # which would hold paths of this machine
    try:
        with terminable(), _no_trace_if_refused(target):
            _hydra(argv, command)
    except KeyboardInterrupt:
        if target.exists():
            execution.show_table(target)
        raise
    except Exception as error:
        if not (line.multirun and type(error).__module__.startswith(_LAUNCHERS)):
            raise
        _say_lost(error)
    return execution.show_table(target, n_jobs=len(lists))


def _show(line: CommandLine, command: Sequence[str]) -> None:
    """Let Hydra show what was asked for, after the checks that give better messages than its own."""
    if "-sc" not in line.argv and "--shell-completion" not in line.argv:
        for job in composition.jobs(line):
            composition.compose(job, line.config_dir)
    _hydra(line.argv, command)


def _hydra(argv: Sequence[str], command: Sequence[str]) -> None:
    """Hand over to Hydra, which reads `sys.argv`."""
    import hydra

    raised: list[Exception] = []

    def job(cfg: DictConfig) -> None:
        from hydra.core.hydra_config import HydraConfig
        from hydra.types import RunMode
        from omegaconf import OmegaConf

        from pate_cli.engine import execution

        raw: Any = OmegaConf.to_container(cfg, resolve=True)
        chosen = HydraConfig.get()
        if multiprocessing.parent_process() is not None:  # of hydra/launcher=joblib
            die_with(os.getppid())
        sweep = chosen.mode == RunMode.MULTIRUN
        try:
            execution.execute(raw, Path(chosen.runtime.output_dir), sweep=sweep, command=command)
        except (InputError, OSError) as error:  # round Hydra, which would say more than one line
            raised.append(error)

    before = sys.argv, os.environ.get("HYDRA_FULL_ERROR")
    sys.argv = ["pate", *argv]
    os.environ["HYDRA_FULL_ERROR"] = "1"  # exceptions come back to us
    try:
        with _composed_once():
            hydra.main(version_base="1.3", config_path=str(composition.conf_dir()), config_name="config")(
                job
            )()
    finally:
        sys.argv = before[0]
        if before[1] is None:
            del os.environ["HYDRA_FULL_ERROR"]
        else:
            os.environ["HYDRA_FULL_ERROR"] = before[1]
    if raised:
        raise raised[0]


@contextmanager
def _composed_once() -> Iterator[None]:
    """Spare Hydra's sweeper a rehearsal of every job: `main` has composed them all by now."""
    from hydra._internal.core_plugins.basic_sweeper import BasicSweeper

    sweeper_class: Any = BasicSweeper
    rehearse = sweeper_class.validate_batch_is_legal

    def unless_done(sweeper: Any, batch: Any) -> None:
        if sweeper.params:  # jobs we have not seen, from a configuration of the user's
            rehearse(sweeper, batch)

    sweeper_class.validate_batch_is_legal = unless_done
    try:
        yield
    finally:
        sweeper_class.validate_batch_is_legal = rehearse


def _say_lost(error: Exception) -> None:
    """Say that a process of the sweep died (killed, out of memory, out of time) before its job's end."""
    reason = next(iter(str(error).splitlines()), "") or type(error).__name__
    text = f"pate: a job was killed; jobs elsewhere go on, and pate table collects them ({reason})"
    console.err().print(text, markup=False, soft_wrap=True)


def _name(run: Any, places: set[Any]) -> tuple[str, str, bool]:
    """What a directory is named by, and whether it is a release; the run, with its data, is let go.

    Where the work is to be done is checked, but not a place that is among `places` already.
    """
    if run.config.compute not in places:
        repeats.check(run.prepared)
        places.add(run.config.compute)
    return run.label, run.config_hash, run.config.release


def _target(line: CommandLine, first: Sequence[str], names: Sequence[tuple[str, str]]) -> Path:
    """Directory of the run or the sweep: chosen by the user, or named by time and configuration."""
    chosen = composition.chosen_directory(first, line.config_dir, multirun=line.multirun)
    if chosen is not None:
        return Path(chosen).absolute()
    label, code = names[0]
    if line.multirun:
        label = f"sweep-{len(names)}"
        code = hashlib.sha256("".join(code for _, code in names).encode()).hexdigest()[:12]
    now = datetime.now()
    target = Path("outputs", f"{now:%Y-%m-%d}", f"{now:%H-%M-%S-%f}-{label}-{code}").absolute()
    while target.exists():
        target = target.with_name(f"{target.name}-again")
    return target


def _check_writable(key: str, target: Path) -> None:
    """Refuse a directory that cannot be written, and leave no trace of having tried."""
    base = target
    try:
        while not base.exists() and base != base.parent:
            base = base.parent
        if not base.is_dir():
            raise NotADirectoryError(20, "not a directory")
        with tempfile.TemporaryDirectory(dir=base, prefix=".pate-"):
            pass
    except OSError as error:
        why = f"a directory that can be written ({base}: {error.strerror or error})"
        raise ConfigError(key, str(target), why) from error


@contextmanager
def _no_trace_if_refused(target: Path) -> Iterator[None]:
    """Remove what a run has written that was refused before its first repeat was done."""
    there = next(path for path in (target, *target.parents) if path.exists())
    try:
        yield
    except InputError:
        if there != target and not list(target.rglob("repeats.csv")):
            shutil.rmtree(target, ignore_errors=True)
            for path in target.parents:
                if path == there or any(path.iterdir()):
                    break
                path.rmdir()
        raise
