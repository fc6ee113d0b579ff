"""List of results below a directory, newest first, and one of them by its name or id."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pate_cli.errors import DataError, one_line
from pate_cli.results.record import RECORD_NAME, RunRecord, find_files, read_record
from pate_cli.results.repeats import REPEATS, find_repeats, read_repeats, started
from pate_cli.results.settings import dataset_name
from pate_cli.results.tables import Head, Table, span

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ResultEntry", "entries", "find", "listing"]

_HASH = re.compile(r"-([0-9a-f]{12})(?:-again)*$")
_WORST = ("error", "killed", "interrupted", "running", "unfinished", "ok", "infeasible")
_FEW = 2  # names that are listed; more are counted


@dataclass(frozen=True)
class ResultEntry:
    """One result: a run, or all that one command has measured."""

    directory: Path
    kind: str  # run, release, sweep, frontier or recipe
    started: datetime  # of a comparison of methods: when its file was written last
    status: str
    datasets: Sequence[str]
    methods: Sequence[str]
    eps: Sequence[float]
    name: str = ""
    tags: Sequence[str] = ()
    done: int = 0  # repeats
    asked: int | None = None  # repeats; None where no file says
    accuracies: Sequence[float] = ()  # means of its rows

    @property
    def id(self) -> str:
        """Hash in the name of a directory that pate chose, shortened; else the directory."""
        match = _HASH.search(self.directory.name)
        return match[1][:6] if match else str(self.directory)

    @property
    def what(self) -> str:
        """Its name, or data and methods; and its tags."""
        title = self.name or " ".join(filter(None, (_few(self.datasets, "data sets"), _few(self.methods))))
        return f"{title} [{' '.join(self.tags)}]" if self.tags else title


def entries(paths: Iterable[str | Path]) -> tuple[list[ResultEntry], list[tuple[Path, str]]]:
    """Results in and below directories, newest first; and each file that cannot be read with the reason."""
    unreadable: list[tuple[Path, str]] = []
    runs: dict[Path, list[ResultEntry]] = {}
    comparisons: list[ResultEntry] = []
    files = list(find_files(paths, (RECORD_NAME, REPEATS), unreadable))
    for path in sorted(files, key=lambda path: path.name == REPEATS):
        place = path.parent
        try:
            if path.name == RECORD_NAME:
                entry, of_sweep = _run(path), place.name.isdecimal() or (place.parent / REPEATS).is_file()
                runs.setdefault(place.parent if of_sweep else place, []).append(entry)
            elif place not in runs:  # that of a sweep is no more than its jobs'
                comparisons += _comparison(path)
        except DataError as error:
            unreadable.append((path, one_line(str(error).removeprefix(f"{path}: "))))
    results = [jobs[0] if jobs[0].directory == place else _sweep(place, jobs) for place, jobs in runs.items()]
    results += comparisons
    return sorted(results, key=lambda entry: entry.started, reverse=True), unreadable


def listing(results: Sequence[ResultEntry]) -> Table:
    """Table of results, a line each."""
    columns = [Head(head, numeric=head == "when") for head in ("when", "kind", "what")]
    columns += [Head("eps", detail=True), Head("status", numeric=False)]
    columns += [Head("repeats"), Head("accuracy"), Head("id", numeric=False)]
    cells = [
        [
            *(f"{entry.started.astimezone():%Y-%m-%d %H:%M}", entry.kind, entry.what),
            *(span(entry.eps, "g"), entry.status),
            str(entry.done) if entry.asked is None else f"{entry.done}/{entry.asked}",
            *(span(entry.accuracies, ".4f"), entry.id),
        ]
        for entry in results
    ]
    records: list[dict[str, Any]] = [
        {
            "directory": str(entry.directory),
            "id": entry.id,
            "kind": entry.kind,
            "started": entry.started.isoformat(timespec="seconds"),
            "name": entry.name or None,
            "tags": " ".join(entry.tags),
            "datasets": ", ".join(entry.datasets),
            "methods": ", ".join(entry.methods),
            "eps_least": min(entry.eps, default=None),
            "eps_largest": max(entry.eps, default=None),
            "status": entry.status,
            "repeats_done": entry.done,
            "repeats_asked": entry.asked,
            "accuracy_least": min(entry.accuracies, default=None),
            "accuracy_largest": max(entry.accuracies, default=None),
        }
        for entry in results
    ]
    return Table(columns, cells, records, "pate compare and pate page take an id, a name, or a directory.")


def find(text: str, below: str | Path = "outputs") -> Path:
    """Directory of a result: as given, or the newest below `below` with this name or the start of its id."""
    if text and Path(text).exists():
        return Path(text)
    results, _ = entries([below]) if Path(below).is_dir() else ([], [])
    for entry in results:
        hashed = _HASH.search(entry.directory.name)
        if text == entry.name or (len(text) >= 4 and hashed and hashed[1].startswith(text)):
            return entry.directory
    nowhere = "no such file or directory, and no name or id of a result in"
    raise DataError(f"{text or repr(text)}: {nowhere} {below}; see pate list")


def _run(path: Path) -> ResultEntry:
    record = read_record(path)
    release = bool(record.config.get("release"))
    asked = record.config.get("repeats")
    measured = record.accuracy
    done, means = (measured.n, [measured.mean]) if measured else (0, list[float]())
    if not done and path.with_name(REPEATS).is_file():  # it goes on, or was killed
        accuracies = read_repeats(path)["accuracy"].dropna()
        done, means = len(accuracies), [float(accuracies.mean())] if len(accuracies) else []
    return ResultEntry(
        path.parent,
        "release" if release else "run",
        datetime.fromtimestamp(started(record, path), UTC),
        record.status,
        [dataset_name(record.config, record.dataset)],
        [one_line(record.mechanism)],
        [] if record.eps is None else [record.eps],
        name=one_line(str(record.config.get("name") or "")),
        tags=_tags(record),
        done=done or int(release and record.status == "ok"),
        asked=asked if isinstance(asked, int) else int(release) or None,
        accuracies=means,
    )


def _tags(record: RunRecord) -> list[str]:
    tags = record.config.get("tags")
    return [one_line(str(tag)) for tag in tags] if isinstance(tags, list) else []


def _sweep(place: Path, jobs: Sequence[ResultEntry]) -> ResultEntry:
    """Put the jobs of a sweep together; its status is the worst."""
    asked = [job.asked for job in jobs if job.asked is not None]
    return ResultEntry(
        place,
        "sweep",
        min(job.started for job in jobs),
        min((job.status for job in jobs), key=_WORST.index),
        _distinct(job.datasets for job in jobs),
        _distinct(job.methods for job in jobs),
        _distinct(job.eps for job in jobs),
        name=", ".join(_distinct([job.name] if job.name else [] for job in jobs)),
        tags=_distinct(job.tags for job in jobs),
        done=sum(job.done for job in jobs),
        asked=sum(asked) if len(asked) == len(jobs) else None,
        accuracies=[mean for job in jobs for mean in job.accuracies],
    )


def _comparison(path: Path) -> list[ResultEntry]:
    """Entry of a frontier or a recipe; none of a table whose lines all stand in the files of jobs."""
    repeats, unreadable = find_repeats([path], constant=True)
    if unreadable:
        raise DataError(unreadable[0][1])
    if repeats.empty:
        return []
    if "accuracy" not in repeats:  # no repeat is done
        repeats["accuracy"] = math.nan
    private = repeats[repeats["eps"] != math.inf]
    means = private.groupby(["row", "dataset", "method"])["accuracy"].mean().dropna()
    datasets = [str(name) for name in repeats["dataset"].unique()]
    kind = "recipe" if "name" in repeats else "frontier"
    status = "ok" if (path.parent / "table.csv").is_file() else "unfinished"  # a page may be missing
    entry = ResultEntry(
        path.parent,
        kind,
        datetime.fromtimestamp(path.stat().st_mtime, UTC),
        "error" if (repeats["status"] == "failed").any() else status,
        datasets,
        [str(name) for name in private["method"].unique()],
        [float(eps) for eps in private["eps"].dropna().unique()],
        name=_first(repeats, "run_name"),
        tags=_first(repeats, "tags").split(),
        done=int((repeats["status"] == "ok").sum()),
        accuracies=[float(mean) for mean in means],
    )
    return [entry]


def _first(repeats: pd.DataFrame, column: str) -> str:
    return next((str(value) for value in repeats.get(column, ()) if value), "")


def _distinct(lists: Iterable[Sequence[Any]]) -> list[Any]:
    return list(dict.fromkeys(item for items in lists for item in items))


def _few(names: Sequence[str], many: str = "methods") -> str:
    return ", ".join(names) if len(names) <= _FEW else f"{len(names)} {many}"
