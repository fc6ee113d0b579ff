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
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from pate_cli import datasets, report, terminal
from pate_cli.config import DatasetConfig, RunConfig, parse
from pate_cli.datasets.content import fingerprint
from pate_cli.engine import schedule
from pate_cli.engine.parallel import terminable
from pate_cli.engine.progress import reporting
from pate_cli.engine.schedule import Done, Row
from pate_cli.engine.store import CacheKey, RepeatRecord, RepeatStore, repeat_key
from pate_cli.engine.tracking import check_tracking, track
from pate_cli.engine.vote_store import VoteStore
from pate_cli.errors import InfeasibleError, InputError
from pate_cli.pipeline import Prepared, prepare
from pate_cli.release.release import release
from pate_cli.terminal import write_file
from pate_cli.types import Dataset

__all__ = ["CheckedRun", "checked", "execute", "forget", "show_table"]

_PAUSE = 1.0
"""Least seconds between two writings of `repeats.csv`."""

_UNFINISHED = "not done: it still goes on, or was killed; finished repeats are in repeats.csv"


@dataclass(frozen=True)
class CheckedRun:
    """A configuration that has passed every check there is before training."""

    config: RunConfig
    config_hash: str
    prepared: Prepared
    key: CacheKey

    @property
    def label(self) -> str:
        """Dataset and mechanism, for the name of a directory."""
        return f"{self.config.dataset.name}-{self.config.mechanism.label}"

    @property
    def row(self) -> Row:
        """The only row of the run."""
        return Row(self.label, self.prepared, self.key, with_student=True)


def checked(raw: dict[str, Any]) -> CheckedRun:
    """Check a composed configuration, its data and its mechanism; the last one is remembered.

    Raises
    ------
    InputError
    """
    config = parse(raw)
    if config.tracking is not None:
        check_tracking()
    return _checked(json.dumps(raw), _state(config.dataset))


@lru_cache(maxsize=1)
def _checked(text: str, state: tuple[int, ...]) -> CheckedRun:
    raw = json.loads(text)
    config = parse(raw)
    dataset = _dataset(config.dataset)
    key = repeat_key(raw, fingerprint(dataset))
    return CheckedRun(config, report.config_hash(raw), prepare(config, dataset), key)


def forget() -> None:
    """Forget configurations, data and votes seen before: files may have changed since."""
    _checked.cache_clear()
    _load.cache_clear()
    _votes.cache_clear()
    _say_once.cache_clear()


def execute(
    raw: dict[str, Any], directory: Path, store: RepeatStore, *, sweep: bool, command: Sequence[str]
) -> float | None:
    """Run one configuration and leave its files in `directory`.

    Files: `result.json`, `repeats.csv` (repeats as they finish), `student.skops` (of the first repeat).

    Parameters
    ----------
    raw : dict
        The composed configuration.
    directory : Path
    store : RepeatStore
        Repeats that are found here are not done again. A release does not look.
    sweep : bool
        Whether it is one job of several.
    command : sequence of str
        As typed.

    Returns
    -------
    float or None
        Mean accuracy of the repeats; None of a release, and where there is none.

    Raises
    ------
    InputError, OSError
        Outside a sweep. Within one no failure is raised: it is recorded, and the other jobs go on.
    """
    if raw.get("release"):  # public files only: not even the record of a failure
        release(checked(raw).prepared, raw, directory)
        return None
    files = _Files(directory, raw, command)
    try:
        run = checked(raw)
        files.start(run)
        for remark in run.prepared.remarks:
            _say_once(f"pate: {remark}")
        # jobs of a sweep side by side would write over each other's bar
        shown = terminal.err().is_terminal and multiprocessing.parent_process() is None
        with (
            terminable(),
            reporting(f"{run.label} eps={run.config.eps:g}", "repeats", shown=shown) as advance,
            contextlib.closing(schedule.do([run.row], store, _votes(), advance, strict=True)) as finished,
        ):
            for done in finished:
                files.add(done)
        files.finish("ok")
    except KeyboardInterrupt:
        files.finish("interrupted", f"interrupted after {len(files.done)} of {raw.get('repeats')} repeats")
        raise
    except (InputError, OSError) as error:  # the user's to mend, or a full disk: one line says it
        with contextlib.suppress(OSError):
            infeasible = sweep and isinstance(error, InfeasibleError)
            files.finish("infeasible" if infeasible else "error", str(error))
        if not sweep:
            raise
    except Exception as error:
        terminal.err().print(traceback.format_exc(), markup=False, soft_wrap=True)
        files.finish("error", f"{type(error).__name__}: {error}")
    accuracy = report.summarise([unit.result for unit in files.done]).accuracy
    return accuracy.mean if accuracy else None


class _Files:
    """The files of one run, kept up to date while it goes on."""

    def __init__(self, directory: Path, raw: dict[str, Any], command: Sequence[str]) -> None:
        self.done: list[RepeatRecord] = []
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
        self._record("running", _UNFINISHED)

    def add(self, done: Done) -> None:
        if done.student is not None:
            write_file(self._directory / "student.skops", done.student)
        if done.unit is not None:
            insort(self.done, done.unit, key=lambda unit: unit.repeat)
        if time.monotonic() - self._written >= _PAUSE:
            self._write_repeats()
            self._written = time.monotonic()

    def finish(self, status: str, message: str | None = None) -> None:
        if self.done:
            self._write_repeats()
        record = self._record(status, message)
        if status == "ok" and self._raw.get("tracking") and (problem := track(record, self._directory)):
            terminal.err().print(f"pate: {problem}", markup=False, soft_wrap=True)

    def _write_repeats(self) -> None:
        report.write_repeats(self._directory, [unit.result for unit in self.done])

    def _record(self, status: str, message: str | None) -> report.RunRecord:
        raw, run = self._raw, self._run
        summary: dict[str, Any] = dict(vars(report.summarise([unit.result for unit in self.done])))
        if run is not None and not self.done:
            p = run.prepared
            summary |= {"eps": p.plan.guarantee.eps, "delta": p.delta, "n_teachers": p.n_teachers}
        if status == "infeasible":
            summary["eps"] = float(raw["eps"])  # what was asked for, to tell it from the other points
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
        return record


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
        report.run_table(found.records, width=terminal.out().width).show()
    fine = ("ok", "infeasible")  # that a point of a sweep cannot work is a finding
    bad = sum(record.status not in fine for record in found.records) + len(found.unreadable)
    lost = max(0, n_jobs - len(found.records) - len(found.unreadable))
    for path, reason in found.unreadable:
        terminal.err().print(f"pate: {path}: {reason}", markup=False, soft_wrap=True)
    shown = directory.relative_to(Path.cwd()) if directory.is_relative_to(Path.cwd()) else directory
    terminal.err().print(f"written to {shown}", style="dim", markup=False, soft_wrap=True)
    if n_jobs > 1 and bad + lost:
        terminal.err().print(f"pate: {bad + lost} of {n_jobs} jobs did not finish", markup=False)
    return 1 if bad + lost else 0


@cache
def _say_once(text: str) -> None:
    """Say it, but not again for the next job of a sweep."""
    terminal.err().print(text, style="dim", markup=False, soft_wrap=True)


def _dataset(config: DatasetConfig) -> Dataset:
    return _load(config.name, json.dumps(config.options, sort_keys=True), _state(config))


def _state(config: DatasetConfig) -> tuple[int, ...]:
    """What a file of the user's shows of itself without being read: a change of it is seen."""
    found: list[int] = []
    for path in map(config.options.get, datasets.FILES):
        if isinstance(path, str):
            with contextlib.suppress(OSError):  # which the loader will say better
                status = Path(path).expanduser().stat()
                found += [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns]
    return tuple(found)


@lru_cache(maxsize=2)
def _load(name: str, options: str, state: tuple[int, ...]) -> Dataset:
    return datasets.load(name, **json.loads(options))


@lru_cache(maxsize=1)
def _votes() -> VoteStore:
    """Votes that the jobs of one command share."""
    return VoteStore()
