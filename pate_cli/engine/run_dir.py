"""Directories of runs: jobs are done as rows of one schedule, and the files of each are kept up to date."""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import shlex
import traceback
from bisect import insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pate_cli import terminal
from pate_cli.engine import schedule
from pate_cli.engine.progress import Advance, reporting
from pate_cli.engine.rows import Row
from pate_cli.engine.store import PLACE, RepeatRecord, RepeatStore
from pate_cli.errors import InputError
from pate_cli.results.record import RECORD_NAME, RunRecord, find_records, write_record
from pate_cli.results.repeats_file import RepeatsFile, summarise
from pate_cli.terminal import write_file
from pate_cli.version import versions

__all__ = ["ended", "execute"]

_UNFINISHED = "not done: it still goes on, or was killed; finished repeats are in repeats.csv"


def execute(
    jobs: Mapping[Path, Row], directory: Path, *, force: bool = False, sweep: bool, command: Sequence[str]
) -> list[float | None]:
    """Run jobs side by side, each into its directory; its files are final as soon as it ends.

    Finished repeats are kept below `directory`, and not done again, unless with `force`. In a sweep the
    others go on if a job fails, or its files cannot be written; else InputError and OSError are raised.
    Returns the mean accuracy of each job, None where no repeat is done; `command` is as typed.
    """
    runs = {str(path): _RunDirectory(path, job, command, in_sweep=sweep) for path, job in jobs.items()}
    store = RepeatStore(directory / PLACE)
    store.sweep()
    table = _table_of_sweep(jobs) if sweep and len(jobs) > 1 else None
    try:
        rows = _started(runs, jobs, store, force=force, sweep=sweep)
        new = _warn(rows, store)
        title = f"{rows[0].label} eps={rows[0].config.eps:g}" if len(rows) == 1 else f"{len(rows)} jobs"
        with (
            reporting(title, "repeats", lines=False) as advance,
            contextlib.closing(
                schedule.do(rows, store, _telling(advance), strict=not sweep, students=True)
            ) as finished,
        ):
            for done in finished:
                run = runs[done.row]
                if not run.finished:
                    with _ending_alone(run, sweep=sweep):
                        run.add(done)
                if table is not None:
                    done.write(table, done.row)
        store.say(new)
    except (Exception, KeyboardInterrupt) as error:
        _break_off(runs.values(), table, error)
        expected = isinstance(error, (InputError, OSError))  # the user's to mend, or a full disk: one line
        if not isinstance(error, Exception) or (expected and not sweep):
            raise
        text = f"pate: {schedule.reason(error)}" if expected else traceback.format_exc()
        terminal.err().print(text, markup=False, soft_wrap=True)
    if table is not None:
        table.write()
    return [run.accuracy for run in runs.values()]


def _started(
    runs: Mapping[str, _RunDirectory],
    jobs: Mapping[Path, Row],
    store: RepeatStore,
    *,
    force: bool,
    sweep: bool,
) -> list[Row]:
    """Start the jobs that can run; of a sweep the others end with their reason, else that is raised."""
    rows = []
    for (name, run), job in zip(runs.items(), jobs.values(), strict=True):
        with _ending_alone(run, sweep=sweep):
            if job.checked is None:
                run.finish(job.status, job.message)
                if not sweep:
                    raise job.refusal
                continue
            if force:
                store.forget(job.key, job.config.repeats)
            run.start(record=not sweep or job.config.repeats > 1)
            rows.append(replace(job, spec=replace(job.spec, name=name)))
    return rows


def _warn(rows: Sequence[Row], store: RepeatStore) -> list[str]:
    """Print the warnings of all jobs, each once; on a file only those that are new, which are returned."""
    of_files = {text for row in rows for text in row.prepared.dataset.warnings}
    warnings = dict.fromkeys(text for row in rows for text in row.prepared.warnings)
    new = store.unsaid(text for text in warnings if text in of_files)
    for warning in [text for text in warnings if text in new or text not in of_files]:
        terminal.notice(warning, "dim")
    return new


def _break_off(runs: Iterable[_RunDirectory], table: RepeatsFile | None, error: BaseException) -> None:
    """End all jobs with the error, and keep what is measured."""
    for run in runs:
        if not run.finished:
            with contextlib.suppress(OSError):
                run.stop(error)
    if table is not None:
        with contextlib.suppress(OSError):
            table.write()


def _table_of_sweep(jobs: Mapping[Path, Row]) -> RepeatsFile:
    """Table of the repeats of all jobs, in the directory above theirs."""
    rows = {str(path): job.columns(job=path.name) for path, job in jobs.items()}
    return RepeatsFile(next(iter(jobs)).parent, rows)


@contextlib.contextmanager
def _ending_alone(run: _RunDirectory, *, sweep: bool) -> Iterator[None]:
    """In a sweep, end a job whose files cannot be written; the others go on."""
    try:
        yield
    except OSError as error:
        if not sweep:
            raise
        terminal.notice(schedule.reason(error))
        with contextlib.suppress(OSError):
            run.stop(error)


def _telling(advance: Advance) -> Advance:
    """Progress callback that also prints, at its first call, how many repeats were found."""
    printed: list[int] = []

    def tell(done: float, done_before: int, total: int) -> None:
        if done == done_before > 0 and not printed:
            printed.append(done_before)
            terminal.notice(f"{done_before} of {total} repeats were done before; --force does them anew")
        advance(done, done_before, total)

    return tell


class _RunDirectory:
    """`result.json`, `repeats.csv` and `student.skops` (of the first repeat) of one run; command as typed."""

    def __init__(self, directory: Path, row: Row, command: Sequence[str], *, in_sweep: bool) -> None:
        self.finished, self._in_sweep = False, in_sweep
        self._directory, self._row = directory, row
        self._command = command
        self._started = datetime.now()
        self._done: list[RepeatRecord] = []
        self._failed: list[str] = []
        self._table = RepeatsFile(directory, {"": row.columns()})

    @property
    def accuracy(self) -> float | None:
        """Mean accuracy of the repeats done, None where there is none."""
        interval = summarise(self._done).accuracy
        return interval.mean if interval else None

    def start(self, *, record: bool = True) -> None:
        """Remove the files of an earlier run; write that this one goes on, unless it ends soon."""
        for name in ("repeats.csv", "student.skops", "result.json"):
            (self._directory / name).unlink(missing_ok=True)
        if record:
            self._write_record("running", _UNFINISHED)

    def add(self, done: schedule.Done) -> None:
        """Write a repeat; after the last one the run is finished."""
        self._check_directory()
        done.write(self._table, "")
        if done.student is not None:
            write_file(self._directory / "student.skops", done.student, sync=False)  # the store has it, too
        if done.repeat is not None:
            insort(self._done, done.repeat, key=lambda repeat: repeat.repeat)
        if done.failure is not None:
            if done.failure.trace and not self._failed:
                terminal.err().print(done.failure.trace, markup=False, soft_wrap=True)
            self._failed.append(done.failure.message)
        if len(self._done) + len(self._failed) == self._row.config.repeats:
            self.finish("error" if self._failed else "ok", next(iter(self._failed), None))

    def stop(self, error: BaseException) -> None:
        """Write why the run ended before its last repeat."""
        if isinstance(error, Exception):
            self.finish("error", schedule.reason(error))
        else:
            done = f"interrupted after {len(self._done)} of {self._row.config.repeats} repeats"
            self.finish("interrupted", done)

    def finish(self, status: str, message: str | None = None) -> None:
        """Write the final record."""
        self.finished = True
        if status != "ok" and not self._failed:
            self._table.end("", status, message or "")
        self._check_directory()
        try:
            if self._done:
                self._table.write()
        except OSError as error:
            status, message = "error", message or str(error)
            raise
        finally:
            self._write_last(status, message)

    def _check_directory(self) -> None:
        if not self._directory.is_dir():
            text = "was removed while the run went on"
            raise FileNotFoundError(errno.ENOENT, text, str(self._directory))

    def _write_last(self, status: str, message: str | None) -> None:
        """Write the final record; on a full disk that of the run that goes on makes room for it."""
        try:
            self._write_record(status, message)
        except OSError:
            (self._directory / RECORD_NAME).unlink(missing_ok=True)
            self._write_record(status, message)

    def _write_record(self, status: str, message: str | None) -> None:
        row, prepared = self._row, self._row.checked
        summary: dict[str, Any] = dict(vars(summarise(self._done)))
        if prepared and not self._done:
            summary |= {"eps": prepared.whole.guarantee.eps, "delta": prepared.delta}
            summary |= {"n_teachers": prepared.n_teachers}
        if status == "infeasible":
            summary["eps"] = row.config.eps  # as typed, to tell it from the other points
        provenance: dict[str, Any] = {"versions": versions(), "seed": row.config.seed}
        provenance |= {"dataset_checksum": prepared.dataset.digest if prepared else ""}
        provenance |= {"started": self._started.astimezone(UTC).isoformat(timespec="milliseconds")}
        provenance |= {"seconds": round((datetime.now() - self._started).total_seconds(), 3)}
        provenance |= {"command": shlex.join(self._command)}
        if status == "running":
            provenance |= {"process": {"host": platform.node(), "pid": os.getpid()}}
        record = RunRecord(
            status=status,
            dataset=row.config.dataset.name,
            mechanism=row.config.mechanism.label,
            config=row.raw,
            sizes=prepared.counts if prepared else {},
            plan={"protects": prepared.protects, **prepared.whole.describe()} if prepared else {},
            provenance=provenance,
            message=message,
            **summary,
        )
        # of hundreds of jobs, each found again in the store: not worth waiting for the disk
        write_record(self._directory, record, sync=not self._in_sweep)


def ended(directory: Path, *, n_jobs: int = 1) -> tuple[list[str], bool]:
    """Say what of a run, or of a sweep of `n_jobs`, did not finish; and whether a record is there at all."""
    records = find_records([directory])
    fine = ("ok", "infeasible")  # that a point of a sweep cannot work is a finding
    bad = sum(record.status not in fine for record in records.records) + len(records.unreadable)
    lost = max(0, n_jobs - len(records.records) - len(records.unreadable))
    problems = [f"{path}: {reason}" for path, reason in records.unreadable]
    if bad + lost:
        problems.append(f"{bad + lost} of {n_jobs} jobs did not finish" if n_jobs > 1 else "")
    return problems, bool(records.records)
