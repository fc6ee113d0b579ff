"""Doing a configured run: repeats, files, the table at the end.

Between the pipeline (one repeat, no files) and the commands.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import time
import traceback
from bisect import insort
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pate_cli import console, report
from pate_cli.config import DatasetConfig, RunConfig, parse
from pate_cli.engine import repeats
from pate_cli.engine.parallel import terminable
from pate_cli.errors import ConfigError, InputError
from pate_cli.types import Dataset, RepeatResult

if TYPE_CHECKING:
    from pate_cli.engine.votes import Shelf
    from pate_cli.pipeline import Outcome, Prepared

__all__ = ["CheckedRun", "checked", "execute", "forget", "show_table"]

_PAUSE = 1.0
"""Least seconds between two writings of `repeats.csv`."""


@dataclass(frozen=True)
class CheckedRun:
    """A configuration that has passed every check there is before training."""

    config: RunConfig
    config_hash: str
    prepared: Prepared

    @property
    def label(self) -> str:
        """Dataset and mechanism, for the name of a directory."""
        return f"{self.config.dataset.name}-{self.config.mechanism.label}"


def checked(raw: dict[str, Any]) -> CheckedRun:
    """Check a composed configuration, its data and its mechanism; the last one is remembered.

    Raises
    ------
    InputError
    """
    config = parse(raw)
    return _checked(json.dumps(raw), _state(config.dataset))


@lru_cache(maxsize=1)
def _checked(text: str, state: tuple[int, ...]) -> CheckedRun:
    raw = json.loads(text)
    config = parse(raw)
    if config.cache:
        from pate_cli.engine.cache import learner_version
        from pate_cli.engine.votes import check_cache

        check_cache()
        learner_version(config.teacher.estimator)  # sees its source before anybody else imports it
    dataset = _dataset(config.dataset)
    from pate_cli.pipeline import prepare

    return CheckedRun(config, report.config_hash(raw), prepare(config, dataset))


def forget() -> None:
    """Forget configurations and data seen before: files may have changed since."""
    _checked.cache_clear()
    _load.cache_clear()
    _shelf.cache_clear()
    _say_once.cache_clear()


def execute(raw: dict[str, Any], directory: Path, *, sweep: bool, command: Sequence[str]) -> None:
    """Run one configuration and leave its files in `directory`.

    Files: `result.json`, `repeats.csv` (repeats as they finish), `student.skops` (of the first repeat).

    Raises
    ------
    InputError, OSError
        Outside a sweep. Within one no failure is raised: it is recorded, and the other jobs go on.
    """
    if raw.get("release"):  # public files only: not even the record of a failure
        from pate_cli.release.making import release

        release(checked(raw).prepared, raw, directory)
        return
    files = _Files(directory, raw, command)
    try:
        run = checked(raw)
        files.start(run)
        for remark in run.prepared.remarks:
            _say_once(f"pate: {remark}")
        with (
            terminable(),
            _progress(run) as tell,
            contextlib.closing(repeats.outcomes(run.prepared, tell, _shelf())) as outcomes,
        ):
            for outcome in outcomes:
                files.add(outcome)
        files.finish("ok")
    except KeyboardInterrupt:
        files.finish("interrupted", f"interrupted after {len(files.done)} of {raw.get('repeats')} repeats")
        raise
    except (InputError, OSError) as error:  # the user's to mend, or a full disk: one line says it
        with contextlib.suppress(OSError):
            files.finish("error", str(error))
        if not sweep:
            raise
    except Exception as error:
        console.err().print(traceback.format_exc(), markup=False, soft_wrap=True)
        files.finish("error", f"{type(error).__name__}: {error}")


class _Files:
    """The files of one run, kept up to date while it goes on."""

    def __init__(self, directory: Path, raw: dict[str, Any], command: Sequence[str]) -> None:
        self.done: list[RepeatResult] = []
        self._directory = directory
        self._raw = raw
        self._command = command
        self._started = datetime.now()
        self._run: CheckedRun | None = None
        self._written = -_PAUSE  # when repeats.csv was, by time.monotonic

    def start(self, run: CheckedRun) -> None:
        for name in ("repeats.csv", "student.skops"):  # of an earlier run in the same place
            (self._directory / name).unlink(missing_ok=True)
        self._run = run
        self._record(
            "running", "not done: it still goes on, or was killed; finished repeats are in repeats.csv"
        )

    def add(self, outcome: Outcome) -> None:
        if outcome.result.repeat == 0:
            self._save_student(outcome)
        insort(self.done, outcome.result, key=lambda result: result.repeat)
        if time.monotonic() - self._written >= _PAUSE:
            report.write_repeats(self._directory, self.done)
            self._written = time.monotonic()

    def finish(self, status: str, message: str | None = None) -> None:
        if self.done:
            report.write_repeats(self._directory, self.done)
        self._record(status, message)

    def _save_student(self, outcome: Outcome) -> None:
        from pate_cli.students import save_student

        if self._run is None:
            raise RuntimeError("a repeat before its run has started")
        prepared = self._run.prepared
        guarantee = prepared.plan.guarantee
        try:
            save_student(
                self._directory / "student.skops",
                outcome.student,
                classes=prepared.dataset.classes,
                n_features=getattr(outcome.student, "n_features_in_", prepared.dataset.n_features),
                encoder=outcome.encoder,
                meta={"dataset": prepared.dataset.name, "eps": guarantee.eps, "delta": guarantee.delta},
            )
        except ConfigError as error:
            # a disk that fills up is not what the user typed
            raise error.__cause__ if isinstance(error.__cause__, OSError) else error from error

    def _record(self, status: str, message: str | None) -> None:
        raw, run = self._raw, self._run
        summary: dict[str, Any] = dict(vars(report.summarise(self.done)))
        if run is not None and not self.done:
            p = run.prepared
            summary |= {"eps": p.plan.guarantee.eps, "delta": p.delta, "n_teachers": p.n_teachers}
        seed = raw.get("seed")
        record = report.RunRecord(
            status=status,
            dataset=str(raw.get("dataset", {}).get("name")),
            mechanism=run.config.mechanism.label if run else str(raw.get("mechanism", {}).get("name")),
            config=raw,
            sizes=_sizes(run.prepared) if run else {},
            plan={"protects": run.prepared.protects, **run.prepared.plan.describe()} if run else {},
            provenance=report.collect_provenance(
                seed=seed if isinstance(seed, int) else 0,
                dataset_checksum=run.prepared.dataset.checksum if run else "",
                started=self._started,
                seconds=(datetime.now() - self._started).total_seconds(),
                command=self._command,
            ),
            message=message,
            **summary,
        )
        report.write_record(self._directory, record)


def _sizes(p: Prepared) -> dict[str, int | None]:
    return {
        "n_records": p.dataset.n_records,
        "n_private": p.sizes.n_private,
        "n_public": p.sizes.n_public,
        "n_test": p.sizes.n_test,
        "n_features": p.dataset.n_features,
        "n_classes": p.dataset.n_classes,
        "budget": p.sizes.budget,
    }


def show_table(directory: Path, *, n_jobs: int = 1) -> int:
    """Print the table of what a run or a sweep left, and give the exit code.

    Parameters
    ----------
    directory : Path
    n_jobs : int
        How many jobs there should be a record of.
    """
    found = report.find_records([directory])
    if found.records:
        report.to_console(report.run_table(found.records), console.out())
    bad = sum(record.status != "ok" for record in found.records) + len(found.unreadable)
    lost = max(0, n_jobs - len(found.records) - len(found.unreadable))
    for path, reason in found.unreadable:
        console.err().print(f"pate: {path}: {reason}", markup=False, soft_wrap=True)
    shown = directory.relative_to(Path.cwd()) if directory.is_relative_to(Path.cwd()) else directory
    console.err().print(f"written to {shown}", style="dim", markup=False, soft_wrap=True)
    if n_jobs > 1 and bad + lost:
        console.err().print(f"pate: {bad + lost} of {n_jobs} jobs did not finish", markup=False)
    return 1 if bad + lost else 0


@cache
def _say_once(text: str) -> None:
    """Say it, but not again for the next job of a sweep."""
    console.err().print(text, style="dim", markup=False, soft_wrap=True)


def _dataset(config: DatasetConfig) -> Dataset:
    return _load(config.name, json.dumps(config.options, sort_keys=True), _state(config))


def _state(config: DatasetConfig) -> tuple[int, ...]:
    """What a file of the user's shows of itself without being read: a change of it is seen."""
    from pate_cli.datasets import FILES

    found: list[int] = []
    for path in map(config.options.get, FILES):
        if isinstance(path, str):
            with contextlib.suppress(OSError):  # which the loader will say better
                status = Path(path).expanduser().stat()
                found += [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns]
    return tuple(found)


@lru_cache(maxsize=2)
def _load(name: str, options: str, state: tuple[int, ...]) -> Dataset:
    from pate_cli import datasets

    return datasets.load(name, **json.loads(options))


@lru_cache(maxsize=1)
def _shelf() -> Shelf:
    """Votes that the jobs of one command share."""
    from pate_cli.engine.votes import Shelf

    return Shelf()


@contextlib.contextmanager
def _progress(run: CheckedRun) -> Iterator[Callable[[float], None]]:
    """A bar on a terminal, nothing otherwise; tell what it gives how many repeats are done."""
    if not console.err().is_terminal or multiprocessing.parent_process() is not None:
        yield lambda _: None  # jobs of a sweep side by side would write over each other's
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console.err(), transient=True) as bar:
        task = bar.add_task(f"{run.label} eps={run.config.eps:g}", total=run.config.repeats)
        yield lambda done: bar.update(task, completed=done)
