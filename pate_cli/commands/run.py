"""`pate run`: from a config to an accuracy and epsilon table."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pate_cli import terminal
from pate_cli.config import command_line, composition
from pate_cli.config.command_line import CommandLine
from pate_cli.config.rows import compose_all
from pate_cli.engine import execution
from pate_cli.engine.parallel import die_with, terminable
from pate_cli.engine.schedule import check_places
from pate_cli.engine.store import PLACE, CacheKey, RepeatStore
from pate_cli.errors import ConfigError, InfeasibleError, InputError
from pate_cli.report import config_hash

if TYPE_CHECKING:
    from omegaconf import DictConfig

__all__ = ["main"]

_LAUNCHERS = ("joblib.", "submitit.")
"""Where the exceptions of a launcher come from that has lost a job's process."""

_NOT_PRIVATE = "accuracy is measured on held-out records, so choosing by it is not differentially private"

_SINGLE = {"hydra.sweep": "is of a sweep (-m); of a run it is hydra.run.dir"}
_SWEEP = {"hydra.run": "is of a single run; with -m it is hydra.sweep.dir"}


@dataclass(frozen=True)
class _Job:
    """What is kept of a job that was checked; its data are let go.

    Attributes
    ----------
    raw : dict
        Its composed configuration.
    label, code : str
        What its directory is named by.
    release : bool
    repeats : int
        That finished ones may be found of; 0 for a release, and for a job that is infeasible.
    key : CacheKey or None
    loss : (float, float)
        (eps, delta) of one repeat.
    refusal : InfeasibleError or None
    """

    raw: dict[str, Any]
    label: str
    code: str
    release: bool
    repeats: int = 0
    key: CacheKey | None = None
    loss: tuple[float, float] = (0.0, 0.0)
    refusal: InfeasibleError | None = None


def main(argv: list[str]) -> int:
    """Check every job before anything is written, then run them.

    Jobs are run here one after another; where Hydra is asked for more (a launcher, a sweeper, callbacks,
    a log), it runs them.

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
    line = command_line.parse_argv(argv)
    command = ["pate", "run", *argv]
    if line.only_shows:
        _show(line, command)
        return 0
    command_line.refuse_unused(line.overrides, _SWEEP if line.multirun else _SINGLE)
    if line.sweeper and line.force:
        raise InputError(f"--force: not with hydra/sweeper={line.sweeper}, whose points are not known before")
    execution.forget()
    lists = command_line.jobs(line)
    jobs = _checked(line, lists)
    release = any(job.release for job in jobs)
    if release and (line.multirun or line.force):
        option = "-m" if line.multirun else "--force"
        raise ConfigError("release", True, f"false with {option}; releases are made one by one, and charged")
    target, chosen = _target(line, lists[0], jobs)
    key = "hydra.sweep.dir" if line.multirun else "hydra.run.dir"
    _check_writable(key, target)
    if release and target.exists() and any(target.iterdir()):
        raise ConfigError(key, str(target), "a new or an empty directory for a release")
    plain = composition.is_plain(lists[0], line.config_dir, line.config_name)
    known = [] if line.sweeper else jobs
    store = _store(target if chosen else Path("outputs").absolute(), known, force=line.force)
    if line.sweeper:
        text = f"pate: hydra/sweeper={line.sweeper}: {_NOT_PRIVATE}"
        terminal.err().print(text, markup=False, soft_wrap=True)
    try:
        with terminable(), _no_trace_if_refused(target, release=release):
            if plain:
                _run_jobs(line, lists, jobs, target, store, command)
            else:
                given = [*line.argv, f"{key}={composition.quoted(str(target))}"]
                # Hydra's files would hold paths of this machine
                given += ["hydra.output_subdir=null"] * release
                _hydra(line, given, command, store)
    except KeyboardInterrupt:
        if target.exists():
            execution.show_table(target)
        raise
    except Exception as error:
        if not (line.multirun and type(error).__module__.startswith(_LAUNCHERS)):
            raise
        _say_lost(error)
    return execution.show_table(target, n_jobs=len(known))


def _checked(line: CommandLine, lists: Sequence[Sequence[str]]) -> list[_Job]:
    """Check every job, and where its work is to be done, before anything is written.

    Raises
    ------
    InputError
        Unless it is a point of a sweep that cannot work while others can.
    """
    jobs: list[_Job] = []
    configs: dict[Any, Any] = {}  # one for each place of work
    for raw in compose_all(lists, line):
        try:
            run = execution.checked(raw)
        except InfeasibleError as error:
            jobs.append(_Job(raw, "", config_hash(raw), raw["release"], refusal=error))
            continue
        config = run.config
        if config.ledger is not None and not config.release:
            raise ConfigError("ledger", config.ledger, "null without release=true, which alone reads it")
        configs.setdefault((config.compute, config.cache), config)
        repeats = 0 if config.release else config.repeats
        jobs.append(_Job(raw, run.label, run.config_hash, config.release, repeats, run.key, run.row.loss))
    if all(job.refusal for job in jobs) and jobs[0].refusal:
        raise jobs[0].refusal
    check_places(configs.values())
    return jobs


def _show(line: CommandLine, command: Sequence[str]) -> None:
    """Let Hydra show what was asked for, after the checks that give better messages than its own."""
    if "-sc" not in line.argv and "--shell-completion" not in line.argv:
        for job in command_line.jobs(line):
            composition.compose(job, line.config_dir, line.config_name)
    _hydra(line, line.argv, command, RepeatStore(Path()))  # which nobody looks into


def _store(beside: Path, jobs: Sequence[_Job], *, force: bool) -> RepeatStore:
    """Where finished repeats are kept; says how many are there, or removes them if all is to be done anew."""
    store = RepeatStore(beside / PLACE)
    store.sweep()
    wanted = [(job.key, n, job.loss) for job in jobs if job.key for n in range(job.repeats)]
    if force:
        for job in jobs:
            if job.key:
                store.forget(job.key, job.repeats)
    elif found := sum(store.find(*one, student=one[1] == 0) is not None for one in wanted):
        text = f"pate: {found} of {len(wanted)} repeats were done before; --force does them anew"
        terminal.err().print(text, markup=False, soft_wrap=True)
    return store


def _run_jobs(
    line: CommandLine,
    lists: Sequence[Sequence[str]],
    jobs: Sequence[_Job],
    target: Path,
    store: RepeatStore,
    command: Sequence[str],
) -> None:
    """Run the jobs one after another, each in a directory of its own in a sweep.

    What each was composed to is written where Hydra would write it.
    """
    from omegaconf import OmegaConf

    for number, (job, overrides) in enumerate(zip(jobs, lists, strict=True)):
        directory = target / str(number) if line.multirun else target
        directory.mkdir(parents=True, exist_ok=True)
        if not job.release:  # what a user writes may name places of this machine
            (directory / ".hydra").mkdir(exist_ok=True)
            given = [text for text in overrides if not text.startswith("hydra.")]
            OmegaConf.save(OmegaConf.create(job.raw), directory / ".hydra" / "config.yaml")
            OmegaConf.save(OmegaConf.create(given), directory / ".hydra" / "overrides.yaml")
        execution.execute(job.raw, directory, store, sweep=line.multirun, command=command)


def _hydra(line: CommandLine, argv: Sequence[str], command: Sequence[str], store: RepeatStore) -> None:
    """Hand over to Hydra, which reads `sys.argv`."""
    import hydra

    raised: list[Exception] = []
    main, more = composition.sources(line.config_dir, line.config_name)
    if main == composition.conf_dir():
        more = []  # --config-dir says it

    @hydra.main(version_base="1.3", config_path=str(main), config_name=composition.CONFIG)
    def run_one(cfg: DictConfig) -> float:
        """Run one job; its accuracy for a sweeper that looks for the best, 0 where there is none."""
        from hydra.core.hydra_config import HydraConfig
        from omegaconf import OmegaConf

        raw: Any = OmegaConf.to_container(cfg, resolve=True)
        if multiprocessing.parent_process() is not None:  # of hydra/launcher=joblib
            die_with(os.getppid())
        where = Path(HydraConfig.get().runtime.output_dir)
        try:
            return execution.execute(raw, where, store, sweep=line.multirun, command=command) or 0.0
        except (InputError, OSError) as error:  # round Hydra, which would say more than one line
            raised.append(error)
            return 0.0

    before = sys.argv, os.environ.get("HYDRA_FULL_ERROR")
    sys.argv = ["pate", *argv, *more]
    os.environ["HYDRA_FULL_ERROR"] = "1"  # exceptions come back to us
    try:
        run_one()
    finally:
        sys.argv = before[0]
        if before[1] is None:
            del os.environ["HYDRA_FULL_ERROR"]
        else:
            os.environ["HYDRA_FULL_ERROR"] = before[1]
    if raised:
        raise raised[0]


def _say_lost(error: Exception) -> None:
    """Say that a process of the sweep died (killed, out of memory, out of time) before its job's end."""
    reason = next(iter(str(error).splitlines()), "") or type(error).__name__
    text = f"pate: a job was killed; jobs elsewhere go on, and pate table collects them ({reason})"
    terminal.err().print(text, markup=False, soft_wrap=True)


def _target(line: CommandLine, first: Sequence[str], jobs: Sequence[_Job]) -> tuple[Path, bool]:
    """Directory of the run or the sweep, named by time and configuration, unless the user has chosen one."""
    chosen = composition.chosen_directory(first, line.config_dir, line.config_name, multirun=line.multirun)
    if chosen is not None:
        return Path(chosen).absolute(), True
    label, code = jobs[0].label, jobs[0].code
    if line.multirun:
        label = "sweep-search" if line.sweeper else f"sweep-{len(jobs)}"
        code = hashlib.sha256("".join(job.code for job in jobs).encode()).hexdigest()[:12]
    now = datetime.now()
    target = Path("outputs", f"{now:%Y-%m-%d}", f"{now:%H-%M-%S-%f}-{label}-{code}").absolute()
    while target.exists():
        target = target.with_name(f"{target.name}-again")
    return target, False


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
def _no_trace_if_refused(target: Path, *, release: bool) -> Iterator[None]:
    """Remove what a run has written that was refused before its first repeat was done.

    Of a release only empty directories: it takes back what it wrote itself, unless it is charged.
    """
    there = next(path for path in (target, *target.parents) if path.exists())
    try:
        yield
    except InputError:
        if there != target and not list(target.rglob("repeats.csv")):
            if not release:
                shutil.rmtree(target, ignore_errors=True)
            with suppress(OSError):  # not empty
                for path in (target, *target.parents):
                    if path == there:
                        break
                    if path.exists():
                        path.rmdir()
        raise
