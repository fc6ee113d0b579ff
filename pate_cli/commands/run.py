"""`pate run`: from a config to an accuracy and epsilon table.

Jobs of a sweep are rows of one schedule; where more of Hydra is used (a launcher, a sweeper, callbacks, a
log), Hydra runs them.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from pate_cli import terminal
from pate_cli.commands.hydra_runtime import run_by_hydra
from pate_cli.commands.printing import split_output_options
from pate_cli.commands.reporting import show_report
from pate_cli.config import Composer, command_line
from pate_cli.engine.rows import Row, check_rows
from pate_cli.engine.run_dir import ended, execute
from pate_cli.errors import ConfigError, DataError, InputError, one_line
from pate_cli.plugins import named, python_path
from pate_cli.release import NoLedgerError
from pate_cli.release.release import release
from pate_cli.results import read_record
from pate_cli.results.next_steps import ledger_init, shell_words
from pate_cli.results.record import RECORD_NAME
from pate_cli.results.repeats import REPEATS, command_of, write_repeats_of_jobs
from pate_cli.results.settings import row_hash

__all__ = ["check_rows", "main", "run_jobs", "start"]

_LAUNCHERS = ("joblib.", "submitit.")
"""Modules whose exceptions mean that a launcher has lost the process of a job."""

_SINGLE = {"hydra.sweep": "is of a sweep (-m); of a run it is hydra.run.dir"}
_SWEEP = {"hydra.run": "is of a single run; with -m it is hydra.sweep.dir"}


def main(argv: list[str]) -> int:
    """Run `pate run`; 1 if a job failed."""
    options, argv = split_output_options(argv)
    show = functools.partial(show_report, options=options, command="run")
    return start(argv, command=["pate", "run", *argv], show=show)[0]


def start(
    argv: list[str],
    candidates: Sequence[Mapping[str, Any]] = (),
    *,
    command: Sequence[str],
    show: Callable[..., None],
) -> tuple[int, Path]:
    """Check every job before anything is written, then run them; the exit code and the directory.

    `candidates` are of `pate tune`; `command` is as typed; `show` prints the report, with the page's file.
    """
    line = command_line.parse_argv(argv)
    composer = Composer(line.config_dir, line.config_name, candidates)
    if line.only_shows:
        _show(line, composer)
        return 0, Path()
    command_line.refuse_unused(line.overrides, _SWEEP if line.multirun else _SINGLE)
    if line.sweeper and line.force:
        raise InputError(f"--force: not with hydra/sweeper={line.sweeper}, whose points are not known before")
    lists = command_line.jobs(line)
    if not line.multirun and composer.compose(lists[0])["release"]:  # a loader of others sees the records
        with terminal.only_ours():
            return _run(line, composer, lists, candidates, command=command, show=show)
    return _run(line, composer, lists, candidates, command=command, show=show)


def _run(
    line: command_line.CommandLine,
    composer: Composer,
    lists: Sequence[Sequence[str]],
    candidates: Sequence[Mapping[str, Any]],
    *,
    command: Sequence[str],
    show: Callable[..., None],
) -> tuple[int, Path]:
    jobs = check_rows(composer, lists, sweep=line.multirun)
    releases = any(job.raw["release"] for job in jobs)
    if releases and (line.multirun or line.force):
        option = "-m" if line.multirun else "--force"
        raise ConfigError("release", True, f"false with {option}; releases are made one by one, and charged")
    key = "hydra.sweep.dir" if line.multirun else "hydra.run.dir"
    chosen = composer.directory(lists[0], multirun=line.multirun)
    if line.multirun:
        _check_names(composer.names(lists, more=bool(line.sweeper)))
    target = _default_target(line, jobs) if chosen is None else Path(chosen).absolute()
    terminal.check_directory(target, key, parents=True)
    places = [target / str(number) for number in range(len(jobs))] if line.multirun else [target]
    plain = composer.is_plain(lists[0])
    planned = [] if line.sweeper else jobs
    run_here = functools.partial(
        run_jobs,
        finished=Path("outputs").absolute() if chosen is None else target,
        force=line.force,
        sweep=line.multirun,
        command=command,
        show=show,
    )
    if line.sweeper:
        terminal.notice(
            f"hydra/sweeper={line.sweeper}: accuracy is measured on held-out records, so choosing by it is"
            " not differentially private"
        )
    callbacks: list[str] = []  # that raised
    try:
        with terminal.only_writer(target, key) as new, _no_trace_if_refused(target, new, release=releases):
            _check_target(line, target, dict(zip(places, jobs, strict=True)), key, releases=releases)
            if plain:
                run_here(_places(line, lists, jobs, target))
            else:
                callbacks = run_by_hydra(line, run_here, target, candidates=candidates, files=not releases)
    except KeyboardInterrupt:
        if target.exists():
            _end(target, command, 1, sweep=False, show=show)
        raise
    except NoLedgerError as error:
        raise NoLedgerError(error.path, f"start one with: {_ledger_init(line, lists[0], jobs[0])}") from None
    except Exception as error:
        if not (line.multirun and type(error).__module__.startswith(_LAUNCHERS)):
            raise
        reason = next(iter(str(error).splitlines()), "") or type(error).__name__
        terminal.notice(f"a job was killed; jobs elsewhere go on, and pate table collects them ({reason})")
    if line.multirun and not plain:
        write_repeats_of_jobs(target)
    code = _end(target, command, len(planned), sweep=line.multirun, show=show)
    for message in callbacks:
        terminal.notice(one_line(message[0].lower() + message[1:]))
    return code or int(bool(callbacks)), target


def _check_names(names: Sequence[str]) -> None:
    """Refuse names of jobs of which two are one directory, or one is not in that of the sweep."""
    accepted = "a name that differs by job, as ${hydra.job.num} or ${hydra.job.override_dirname}"
    seen = set[str]()
    for name in names:
        if name in seen or name == ".":
            raise ConfigError("hydra.sweep.subdir", name, accepted)
        if name == ".." or name.startswith(("../", "/")):
            raise ConfigError("hydra.sweep.subdir", name, "a name within the directory of the sweep")
        seen.add(name)


def _check_target(
    line: command_line.CommandLine, target: Path, places: Mapping[Path, Row], key: str, *, releases: bool
) -> None:
    """Refuse a directory that has results of another command, or other results that these would replace."""
    if releases and any(target.iterdir()):
        raise ConfigError(key, str(target), "a new or an empty directory for a release")
    if line.multirun and (earlier := command_of(target / REPEATS)) not in ("", "sweep"):
        raise InputError(f"{key} {target}: has {REPEATS} of a {earlier}; give another directory")
    if not line.sweeper:
        _check_mixed(target, [*places], key)
    for place, job in places.items():
        _check_replaced(place, job, key, force=line.force)


def _ledger_init(line: command_line.CommandLine, overrides: Sequence[str], job: Row) -> str:
    """The command that starts a ledger with room for this release."""
    cost = job.prepared.whole.guarantee
    config_dir = ["--config-dir", line.config_dir] if line.config_dir else []
    init = ledger_init([*config_dir, *line.as_typed(overrides)], cost.eps, cost.delta)
    return " ".join(shell_words([*python_path(), *init]))


def _end(target: Path, command: Sequence[str], n_jobs: int, *, sweep: bool, show: Callable[..., None]) -> int:
    """Show what was measured, write the page of a sweep, and name what did not finish; the exit code."""
    from pate_cli.results.means import rows_of
    from pate_cli.results.overview import warnings
    from pate_cli.results.page import PAGE, write_page
    from pate_cli.results.repeats import find_repeats
    from pate_cli.results.report import report, sources_of

    place = target.relative_to(Path.cwd()) if target.is_relative_to(Path.cwd()) else target
    problems, any_record = ended(target, n_jobs=n_jobs)
    repeats = find_repeats([place], constant=True)[0] if any_record else None
    if repeats is not None and not repeats.empty:
        full_report = report(repeats, command, sources_of([place], repeats))
        full_report = replace(full_report, files={"table": full_report.files.get("rows", full_report.table)})
        done = sweep and bool((repeats["status"] == "ok").any())
        missing = write_page(target, full_report.html) if done else ""
        show(full_report, place=str(place / PAGE) if done and not missing else "")
        for text in [] if sweep else [text for row in rows_of(repeats) for text in warnings(row)]:
            terminal.out().print(f"warning: {text}", markup=False, highlight=False)
        if missing:
            terminal.notice(missing)
        problems = [*full_report.failures, *problems]
    terminal.err().print(f"written to {place}", style="dim", markup=False, soft_wrap=True)
    for problem in filter(None, dict.fromkeys(problems)):
        terminal.notice(problem)
    return 1 if problems else 0


def _show(line: command_line.CommandLine, composer: Composer) -> None:
    """Show help or a configuration through Hydra, after our checks, whose messages are better."""
    if "-sc" not in line.argv and "--shell-completion" not in line.argv:
        for number, job in enumerate(command_line.jobs(line)):
            composer.compose(job, number if line.multirun else None)
    hydra_stderr = io.StringIO()
    try:
        with contextlib.redirect_stderr(hydra_stderr):
            run_by_hydra(line, lambda _: [None])
    except SystemExit as end:  # Hydra's, behind its help
        if end.code:
            raise InputError(hydra_stderr.getvalue().strip().rpartition("\n")[2]) from None
    sys.stderr.write(hydra_stderr.getvalue())


def run_jobs(
    jobs: Mapping[Path, Row],
    finished: Path,
    *,
    force: bool,
    sweep: bool,
    command: Sequence[str],
    show: Callable[..., None] = lambda _: None,
) -> list[float | None]:
    """Run jobs, or make the one release, which `show` prints; the mean accuracy of each job."""
    if any(job.raw["release"] for job in jobs.values()):  # public files only: no record of a failure
        ((directory, job),) = jobs.items()
        show(release(job.prepared, job.raw, directory))
        return [None]
    return execute(jobs, finished, force=force, sweep=sweep, command=command)


def _places(
    line: command_line.CommandLine, lists: Sequence[Sequence[str]], jobs: Sequence[Row], target: Path
) -> dict[Path, Row]:
    """Directory of each job, with the files that Hydra leaves; of a sweep the jobs have one each."""
    from omegaconf import OmegaConf

    places: dict[Path, Row] = {}
    for number, (job, overrides) in enumerate(zip(jobs, lists, strict=True)):
        directory = target / str(number) if line.multirun else target
        try:
            directory.mkdir(parents=True, exist_ok=True)
            if not job.raw["release"]:  # overrides as typed may name places of this machine
                (directory / ".hydra").mkdir(exist_ok=True)
                typed = [text for text in line.as_typed(overrides) if not text.startswith("hydra.")]
                OmegaConf.save(OmegaConf.create(job.raw), directory / ".hydra" / "config.yaml")
                OmegaConf.save(OmegaConf.create(typed), directory / ".hydra" / "overrides.yaml")
            places[directory] = job
        except OSError as error:  # of a sweep the other jobs go on
            if not line.multirun:
                raise
            terminal.notice(str(error))
    return places


def _default_target(line: command_line.CommandLine, jobs: Sequence[Row]) -> Path:
    """Directory of the run or the sweep, named by time and configuration."""
    label, code = jobs[0].label, jobs[0].code
    if line.multirun:
        label = "sweep-search" if line.sweeper else f"sweep-{len(jobs)}"
        code = hashlib.sha256("".join(job.code for job in jobs).encode()).hexdigest()[:12]
    now = datetime.now()
    target = Path("outputs", f"{now:%Y-%m-%d}", f"{now:%H-%M-%S-%f}-{label}-{code}").absolute()
    while target.exists():
        target = target.with_name(f"{target.name}-again")
    return target


def _check_mixed(target: Path, places: Sequence[Path], key: str) -> None:
    """Refuse (InputError) a directory with results of another command, which these would stand beside."""
    records = [target / RECORD_NAME, *target.glob(f"[0-9]*/{RECORD_NAME}")]
    others = [path for path in records if path.parent not in places and path.is_file()]
    if others or (target in places and (target / REPEATS).is_file() and not records[0].is_file()):
        which = others[0] if others else target / REPEATS
        named = which.relative_to(target)
        raise InputError(f"{key} {target}: has {named} of another command; give another directory")


def _check_replaced(place: Path, job: Row, key: str, *, force: bool) -> None:
    """Refuse (InputError) to replace a release; without `force`, name a run of another configuration."""
    try:
        earlier = read_record(place / RECORD_NAME)
    except DataError:
        return
    if earlier.config.get("release"):
        raise InputError(f"{key} {place}: has the files of a release; give another directory")
    if not force and row_hash(earlier.config) != row_hash(job.raw):
        which = f"{earlier.dataset}, {earlier.mechanism}, eps {earlier.eps}"
        terminal.notice(f"{place}: a run of another configuration ({which}) is replaced")


@contextlib.contextmanager
def _no_trace_if_refused(target: Path, new: Sequence[Path], *, release: bool) -> Iterator[None]:
    """Remove the files of a run refused before its first repeat was done, where its directory is `new`.

    A release removes its own files, unless it is charged.
    """
    try:
        yield
    except Exception as error:
        refusal = named(error, quoted=not release)
        refused = isinstance(refusal, InputError)
        if refused and new and not release and not list(target.rglob("repeats.csv")):
            shutil.rmtree(target, ignore_errors=True)
        if refusal is error:
            raise
        raise refusal from None if release else error
