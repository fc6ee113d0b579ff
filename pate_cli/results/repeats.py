"""The table of repeats: `repeats.csv`, one line a repeat, under the same names in every command.

Columns, in this order: `dataset` and `method`; `name` and `panel` of a row of a recipe, or `job` of a sweep,
and every setting in which the rows of the command differ; public numbers of the row (`eps`, `delta`, ...);
`row`, a hash of the configuration without `repeats`, and `checksum`, of the data; `repeat`, `status` and
`reason`; each measure and diagnostic under its name. A row that is not done has a line without a repeat,
whose status and reason say why.
"""

from __future__ import annotations

import contextlib
import csv
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pate_cli.errors import DataError, one_line, shortened
from pate_cli.results.record import RECORD_NAME, STATUSES, RunRecord, find_files, parse_record
from pate_cli.results.settings import NAMES, dataset_name, differing, row_hash, settings
from pate_cli.terminal import open_file, write_file

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["END", "REPEATS", "command_of", "find_repeats", "read_repeats", "started"]
__all__ += ["write_repeats_of_jobs"]

REPEATS = "repeats.csv"
"""Name of the file."""

_TEXTS = (
    "guarantee",
    "run_name",
    "tags",
    "overrides",
    "largest_class",
    "protects",
    "release",
    "plugin_code",
    "splits",
    "row",
    "checksum",
    "status",
    "reason",
    "note",
    "directory",
)
END = ("row", "checksum", "repeat", "status", "reason")  # between public numbers and measures
_MOST_REPEATS = 1_000_000  # of a row
_LARGEST = 1e100  # number that is measured; sums and squares of larger ones overflow
_RANGES = {"accuracy": (0.0, 1.0), "eps": (0.0, math.inf), "delta": (0.0, 1.0)}
_WORDS = (*STATUSES, "failed", "missing")  # of the column `status`


def write_repeats_of_jobs(directory: Path) -> None:
    """Write the `repeats.csv` of a sweep from the files of its jobs, which ran elsewhere; none of one job.

    A job whose files cannot be read is left out.
    """
    rows: list[_Row] = []
    for path in directory.glob(f"*/{RECORD_NAME}"):  # no deeper: `outputs` holds those of other commands
        job = {"job": path.parent.name}
        with contextlib.suppress(DataError):
            for row in _run(path):
                before_eps = dict(takewhile(lambda item: item[0] != "eps", row.columns.items()))
                rows.append(replace(row, columns=before_eps | job | row.columns))
    if len(rows) > 1:
        rows.sort(key=lambda row: (len(row.columns["job"]), row.columns["job"]))
        frame = _frame(rows, 0, constant=False).drop(columns="directory")
        write_file(directory / REPEATS, frame.to_csv(index=False), sync=False)


def command_of(path: Path) -> str:
    """Which command wrote a `repeats.csv`: sweep, recipe or frontier; empty if there is none of ours."""
    try:
        with open_file(path) as file:
            header = file.readline(2**20).decode().rstrip().split(",")
    except (OSError, UnicodeDecodeError):
        return ""
    if "repeat" not in header:
        return ""
    return "sweep" if "job" in header else "recipe" if "name" in header else "frontier"


def read_repeats(
    paths: str | Path | Iterable[str | Path] = "outputs", *, constant: bool = False
) -> pd.DataFrame:
    """Read the repeats of runs, sweeps, frontiers and recipes, also mixed.

    Parameters
    ----------
    paths : path-like or several
        Directories that are searched, or files (`repeats.csv`, `result.json`).
    constant : bool
        Whether to keep settings in which no rows differ.

    Returns
    -------
    DataFrame
        One line a repeat: `dataset`, `method`, settings in which rows differ, `eps`, `delta` and other public
        numbers, `row` (a hash of the configuration), `checksum` (of the data), `repeat`, `status`, `reason`,
        each measure and diagnostic by its name (measured on held-out records: not differentially private),
        and the `directory` it was read from. A row that is not done has a line without a repeat, whose status
        and reason say why. Without privacy `eps` is infinite. A repeat that stands in several directories
        counts once; ``attrs["left_out"]`` is the number of rows that others replace.

    Raises
    ------
    DataError
        If a file cannot be read, or there is none.

    Examples
    --------
    >>> repeats = read_repeats("outputs/frontier/mushroom-1a2b3c")  # doctest: +SKIP
    >>> repeats.groupby(["method", "eps"])["recall.p"].mean()  # doctest: +SKIP
    """
    names = [paths] if isinstance(paths, str | Path) else list(paths)
    repeats, unreadable = find_repeats(names, constant=constant)
    if unreadable:
        raise DataError(": ".join(map(str, unreadable[0])))
    if repeats.empty:
        raise DataError(
            f"{', '.join(map(str, names))}: no results found (no {REPEATS} or {RECORD_NAME} in it)"
        )
    return repeats


def find_repeats(
    paths: Iterable[str | Path], *, constant: bool = False
) -> tuple[pd.DataFrame, list[tuple[Path, str]]]:
    """Read repeats as `read_repeats` does, and name each file that cannot be read with the reason."""
    unreadable: list[tuple[Path, str]] = []
    rows: list[_Row] = []
    for path in find_files(paths, (RECORD_NAME, REPEATS), unreadable):  # the record of a run has its settings
        try:
            rows += _run(path) if path.suffix == ".json" else _comparison(path)
        except DataError as error:
            unreadable.append((path, one_line(str(error))))
    kept = _select(rows)
    return _frame(kept, len(rows) - len(kept), constant=constant), unreadable


@dataclass(frozen=True)
class _Row:
    """Lines of one row in one file."""

    columns: dict[str, Any]  # up to `checksum`
    lines: list[dict[str, Any]]  # of repeats, and of the end of the row
    started: float
    of_run: bool  # whether the columns have every setting

    @property
    def n(self) -> int:
        """Number of repeats that were done."""
        return sum(line["status"] == "ok" for line in self.lines)

    @property
    def finished(self) -> bool:
        """Whether no line says otherwise."""
        return all(line["status"] == "ok" for line in self.lines)


def _run(path: Path) -> list[_Row]:
    """Row of a run, with the settings of its record: files of earlier versions have the measures alone."""
    record = parse_record(path)
    columns: dict[str, Any] = {"dataset": dataset_name(record.config, record.dataset)}
    columns |= {"method": one_line(record.mechanism)}
    columns |= {name: text for name, text in settings(record.config).items() if name not in columns}
    delta_is_set = record.config.get("delta") is not None  # then a setting, by which rows are told apart
    columns |= {"delta": record.delta} if delta_is_set else {}
    columns |= {"eps": _stated_eps(record), "delta": record.delta}
    plan = {name: value for name, value in record.plan.items() if isinstance(value, int)}  # not `private`
    columns |= {"budget": plan.get("ell"), "cutoff": plan.get("cutoff")}
    columns |= {"n_teachers": record.n_teachers}
    file = path.with_name(REPEATS)
    if record.accuracy is not None and not file.is_file():
        raise DataError(f"there is no {REPEATS} beside it")
    try:
        parsed = _parsed(file) if file.is_file() else []
        _check_once(parsed)
    except DataError as error:
        raise DataError(f"{REPEATS} beside it: {error}") from error
    if parsed and "row" in parsed[0]:  # public numbers that a record has not
        public = takewhile(lambda name: name != "row", parsed[0])
        columns |= {name: parsed[0][name] for name in public if name not in columns}
    columns |= {"row": row_hash(record.config)}
    columns |= {"checksum": record.provenance.get("dataset_checksum") or None}
    lines: list[dict[str, Any]] = []
    for line in parsed:
        measured = {name.removeprefix("diagnostics."): value for name, value in line.items()}
        measured = {name: value for name, value in measured.items() if name not in (*columns, "directory")}
        if measured["repeat"] is not None:
            lines.append({"status": "ok", "reason": None} | measured)
    _check_measured(record, lines)
    if record.status != "ok" and all(line["status"] == "ok" for line in lines):
        lines.append({"repeat": None, "status": record.status, "reason": one_line(record.message or "")})
    return [_Row(columns | {"directory": str(path.parent)}, lines, started(record, path), of_run=True)]


def _check_measured(record: RunRecord, lines: Sequence[Mapping[str, Any]]) -> None:
    """Refuse (DataError) repeats that are not those of a record: of another run, or not all of them."""
    stated = record.accuracy
    if stated is None or record.status == "error":  # whose table may not have been written
        return
    accuracies = [line["accuracy"] for line in lines if line["status"] == "ok"]
    mean = math.fsum(accuracies) / len(accuracies) if accuracies else math.nan
    if len(accuracies) != stated.n or not math.isclose(mean, stated.mean, rel_tol=1e-9, abs_tol=1e-9):
        raise DataError(
            f"states {stated.n} repeats of mean accuracy {stated.mean:.6g}, and {REPEATS} beside it has"
            f" {len(accuracies)} of {mean:.6g}"
        )


def _check_once(lines: Iterable[Mapping[str, Any]]) -> None:
    """Refuse (DataError) lines of one row that have a repeat twice: it would count twice."""
    counts = Counter(line["repeat"] for line in lines if line["repeat"] is not None)
    if twice := [repeat for repeat, times in counts.items() if times > 1]:
        raise DataError(f"repeat {twice[0]:g} of a row stands there twice")


def _stated_eps(record: RunRecord) -> float | None:
    """Guarantee of a run; as it was asked for, as in other files, if that is it but for rounding."""
    try:
        asked = float(record.config["eps"])
    except (KeyError, TypeError, ValueError):
        return record.eps
    return asked if record.eps is not None and math.isclose(asked, record.eps, rel_tol=1e-9) else record.eps


def started(record: RunRecord, path: Path) -> float:
    """When a run began, in seconds; of a record that does not say when its file was written."""
    try:
        moment = datetime.fromisoformat(str(record.provenance.get("started")))
    except ValueError:
        return path.stat().st_mtime
    if not 1970 < moment.year < 9999:  # no calendar has the hours before or after
        return path.stat().st_mtime
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _comparison(path: Path) -> list[_Row]:
    """Rows of a sweep, a frontier or a recipe, but for jobs with a record of their own."""
    rows: dict[tuple[Any, ...], _Row] = {}
    for line in _parsed(path):
        if absent := [name for name in ("dataset", "method", *END) if name not in line]:
            raise DataError(f"not a {REPEATS} of pate: no column {', '.join(absent)}")
        if not (line["dataset"] and line["method"]):
            raise DataError("a line without a dataset or a method")
        if line.get("job") and (path.parent / line["job"] / RECORD_NAME).is_file():
            continue
        names = [*takewhile(lambda name: name != "repeat", line)]
        columns = {name: line[name] for name in names} | {"directory": str(path.parent)}
        row = _Row(columns, [], path.stat().st_mtime, of_run=False)
        measured = {name: value for name, value in line.items() if name not in columns}
        rows.setdefault(tuple(map(repr, columns.values())), row).lines.append(measured)
    for row in rows.values():
        _check_once(row.lines)
    return list(rows.values())


def _parsed(path: Path) -> list[dict[str, Any]]:
    """Lines of a `repeats.csv`, numbers as such and None where a cell is empty; DataError names the line."""
    try:
        with open_file(path) as file:
            text = file.read().decode("utf-8-sig")  # as a spreadsheet writes it
        header, *lines = [*csv.reader(text.splitlines(), strict=True)] or [[]]
    except OSError as error:
        raise DataError(error.strerror or str(error)) from error
    except (ValueError, csv.Error) as error:
        raise DataError(f"not a {REPEATS} of pate ({one_line(str(error))})") from error
    if not {"repeat", "eps"} <= set(header):
        raise DataError(f"not a {REPEATS} of pate: no columns repeat and eps")
    if twice := [name for name, times in Counter(header).items() if times > 1]:
        raise DataError(f"line 1: column {one_line(twice[0])} stands there twice")
    texts = {*_TEXTS, *(takewhile(lambda name: name != "eps", header) if header[0] == "dataset" else ())}
    parsed = []
    for number, line in enumerate(lines, start=2):
        if len(line) != len(header):
            raise DataError(f"line {number}: {len(line)} cells, not {len(header)}")
        try:
            parsed.append(
                {
                    name: None if not cell else one_line(cell) if name in texts else float(cell)
                    for name, cell in zip(header, line, strict=True)
                }
            )
        except ValueError as error:
            raise DataError(f"line {number}: {one_line(str(error))}") from error
        if reason := _wrong(parsed[-1]):
            raise DataError(f"line {number}: {reason}")
    if not text.endswith(("\n", "\r")):
        raise DataError(f"line {len(lines) + 1}: cut short: it has no end")
    return parsed


def _wrong(line: Mapping[str, Any]) -> str:
    """Why a line is not one of ours; empty if it is."""
    repeat, done = line["repeat"], line.get("status", "ok") == "ok"
    if isinstance(repeat, float) and not (0 <= repeat < _MOST_REPEATS and repeat.is_integer()):
        return f"repeat: got {repeat:g}; expected a whole number below 10^6"
    for name, value in line.items():
        low, high = _RANGES.get(name, (-_LARGEST, _LARGEST))
        endless = value == math.inf and name not in _RANGES and not name.startswith("n_")
        if isinstance(value, float) and not (low <= value <= high or endless):
            expected = f"in [{low:g}, {high:g}]" if name in _RANGES else "below 1e100"
            return f"{name}: got {value:g}; expected a number {expected}"
    if not done and line["status"] not in _WORDS:
        return f"status: got {shortened(str(line['status']))}; expected {', '.join(_WORDS)}"
    if done and repeat is not None and line.get("accuracy", 0) is None:
        return "accuracy: no number in a repeat that is ok"
    return ""


def _select(rows: Sequence[_Row]) -> list[_Row]:
    """Choose among rows of one name, configuration and data that stand in several directories.

    Of those that are finished the one with most repeats is kept, and of these the latest; if a later one did
    not finish, it is kept without its repeats. One that ended before its data were read is kept if it is the
    latest.
    """
    groups: dict[Any, list[_Row]] = {}
    order = {row.columns["directory"]: index for index, row in enumerate(rows)}
    for row in sorted(rows, key=lambda row: row.started):
        names = ("plugin_code", *NAMES)
        name = (row.columns["row"], *(row.columns.get(name) for name in names if name != "job"))
        groups.setdefault(name, []).append(row)
    kept = []
    for group in groups.values():
        for checksum in dict.fromkeys(row.columns["checksum"] for row in group):
            same = [row for row in group if row.columns["checksum"] == checksum]
            if checksum is None and same[-1] is not group[-1]:
                continue
            finished = [row for row in same if row.finished]
            kept += sorted(finished, key=lambda row: row.n)[-1:]
            if not same[-1].finished:
                last = same[-1]
                ends = [line for line in last.lines if line["status"] != "ok"]
                kept.append(replace(last, lines=ends) if finished else last)
    return sorted(kept, key=lambda row: order[row.columns["directory"]])


def _frame(rows: Sequence[_Row], left_out: int, *, constant: bool) -> pd.DataFrame:
    """Lines of all rows, with the settings in which they differ."""
    import pandas as pd

    of_runs = [row.columns for row in rows if row.of_run]
    named = {name: None for row in rows for name in takewhile(lambda name: name != "eps", row.columns)}
    stated = {name for row in rows if not row.of_run for name in row.columns}
    kept = {*differing(of_runs, named), *stated, "dataset", "method"}
    left = [name for name in named if constant or name in kept]
    names = {name: None for row in rows for name in row.columns if name not in (*named, *END, "directory")}
    measures = {
        name: None
        for row in rows
        for line in row.lines
        for name in line
        if name not in (*END, *named, *names)
    }
    columns = [*left, *names, *END, *measures, "directory"]
    lines = [row.columns | line for row in rows for line in row.lines]
    texts = dict.fromkeys((*left, *_TEXTS), object)
    kinds = {name: texts.get(name, float) for name in columns} | {"repeat": "Int64"}
    frame = pd.DataFrame(
        {name: pd.Series([line.get(name) for line in lines], dtype=kind) for name, kind in kinds.items()}
    )
    frame.attrs["left_out"] = left_out
    return frame
