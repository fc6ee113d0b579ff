"""Runs of one command, done as rows of one schedule, with the files of each."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pate_cli import terminal
from pate_cli.engine import schedule
from pate_cli.engine.checked import Job, checked, forget
from pate_cli.engine.progress import Advance, reporting
from pate_cli.engine.run_files import RunFiles, show_table
from pate_cli.engine.store import PLACE, RepeatStore
from pate_cli.engine.task import reason
from pate_cli.errors import InfeasibleError, InputError

__all__ = ["Job", "checked", "execute", "forget", "show_table"]


def execute(
    jobs: Mapping[Path, Job], directory: Path, *, force: bool = False, sweep: bool, command: Sequence[str]
) -> list[float | None]:
    """Run jobs side by side, each into its directory; its files are final as soon as it ends.

    Finished repeats are kept below `directory`, and not done again, unless with `force`. In a sweep the
    others go on if a job fails, or its files cannot be written; else InputError and OSError are raised.
    Returns the mean accuracy of each job, None where no repeat is done; `command` is as typed.
    """
    files = {str(path): RunFiles(path, job, command) for path, job in jobs.items()}
    rows, remarks = [], dict[str, None]()
    store = RepeatStore(directory / PLACE)
    store.sweep()
    try:
        for (name, kept), job in zip(files.items(), jobs.values(), strict=True):
            with _ending_alone(kept, sweep=sweep):
                if job.run is None:
                    refusal = job.refusal or InputError(name)
                    infeasible = isinstance(refusal, InfeasibleError)
                    kept.finish("infeasible" if infeasible else "error", str(refusal))
                    if not sweep:
                        raise refusal
                    continue
                if force:
                    store.forget(job.run.key, job.run.config.repeats)
                kept.start(record=not sweep or job.run.config.repeats > 1)
                rows.append(replace(job.run, name=name, with_student=True))
                remarks |= dict.fromkeys(job.run.prepared.remarks)
        for remark in remarks:
            terminal.err().print(f"pate: {remark}", style="dim", markup=False, soft_wrap=True)
        with (
            reporting(_title(jobs), "repeats", lines=False) as advance,
            contextlib.closing(schedule.do(rows, store, _telling(advance), strict=not sweep)) as finished,
        ):
            for done in finished:
                kept = files[done.row]
                if not kept.finished:
                    with _ending_alone(kept, sweep=sweep):
                        kept.add(done)
    except KeyboardInterrupt:
        for kept in _unfinished(files):
            with contextlib.suppress(OSError):
                kept.interrupt()
        raise
    except Exception as error:
        known = isinstance(error, (InputError, OSError))  # the user's to mend, or a full disk: one line
        if sweep or not known:
            text = f"pate: {error}" if known else traceback.format_exc()
            terminal.err().print(text, markup=False, soft_wrap=True)
        for kept in _unfinished(files):
            with contextlib.suppress(OSError):
                kept.finish("error", reason(error))
        if known and not sweep:
            raise
    return [kept.accuracy for kept in files.values()]


@contextlib.contextmanager
def _ending_alone(kept: RunFiles, *, sweep: bool) -> Iterator[None]:
    """In a sweep, end a job whose files cannot be written; the others go on."""
    try:
        yield
    except OSError as error:
        if not sweep:
            raise
        terminal.err().print(f"pate: {error}", markup=False, soft_wrap=True)
        with contextlib.suppress(OSError):
            kept.finish("error", str(error))


def _telling(advance: Advance) -> Advance:
    """Progress callback that also prints, at its first call, how many repeats were found."""

    def tell(done: float, found: int, total: int) -> None:
        if done == found > 0:
            text = f"pate: {found} of {total} repeats were done before; --force does them anew"
            terminal.err().print(text, markup=False, soft_wrap=True)
        advance(done, found, total)

    return tell


def _unfinished(files: Mapping[str, RunFiles]) -> list[RunFiles]:
    return [kept for kept in files.values() if not kept.finished]


def _title(jobs: Mapping[Path, Job]) -> str:
    runs = [job.run for job in jobs.values() if job.run]
    return f"{runs[0].label} eps={runs[0].config.eps:g}" if len(runs) == 1 else f"{len(runs)} jobs"
