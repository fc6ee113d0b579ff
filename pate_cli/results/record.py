"""Record of a run: its configuration, measurements and privacy loss; and its file, whole or absent."""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import UnionType
from typing import Any, NamedTuple

from pate_cli.errors import DataError, one_line
from pate_cli.results.interval import Interval
from pate_cli.results.settings import config_hash, plain
from pate_cli.terminal import open_file, write_file

__all__ = ["RECORD_NAME", "SCHEMA_VERSION", "STATUSES", "Found", "RunRecord", "Summary", "find_files"]
__all__ += ["find_records", "parse_record", "read_record", "write_record"]

RECORD_NAME = "result.json"
SCHEMA_VERSION = 1
STATUSES = ("ok", "error", "interrupted", "running", "killed", "infeasible")

_WIDEST = 6.36  # half the 95% interval of 0 and 1, by Student's t with one degree of freedom: 12.706 / 2
_LAW = "Student's t"
_ROOM = 4096
_KILLED = "its process is gone; finished repeats are in repeats.csv, and the same command goes on from there"
DIAGNOSTICS_NOTE = "not differentially private"
NOTES = {
    "eps": "the guarantee of one repeat, with delta; publishing several repeats costs more",
    "eps_ex_post": "mean over repeats; depends on the outputs: a report, not a guarantee",
    "accuracy": "measured on held-out records: not differentially private; ci95 is half a two-sided 95% "
    "interval of Student's t over the n repeats",
}


@dataclass(frozen=True, kw_only=True)
class Summary:
    """Summary of the repeats of one configuration; every field None (or empty) without repeats."""

    n_teachers: int | None = None  # the same in every repeat
    n_asked: float | None = None  # queries, mean over repeats
    n_answered: float | None = None
    eps: float | None = None  # the guarantee of one repeat, in [0, inf]: the largest over repeats
    delta: float | None = None  # in [0, 1)
    eps_ex_post: float | None = None  # mean; depends on the outputs: a report, not a guarantee
    accuracy: Interval | None = None  # on the test split, not differentially private
    diagnostics: dict[str, float | None] = field(default_factory=dict)  # means where defined, not DP either


@dataclass(frozen=True, kw_only=True)
class RunRecord(Summary):
    """The record of one run, as `result.json` holds it (every key: outputs/README.md).

    ValueError if a value is out of its range.
    """

    status: str  # one of STATUSES
    dataset: str
    mechanism: str
    config: dict[str, Any]  # resolved, in JSON's own types (an infinity is the string "inf")
    config_hash: str = ""  # see `config_hash`; computed when left empty
    sizes: dict[str, int | None] = field(default_factory=dict)  # of the data
    plan: dict[str, Any] = field(default_factory=dict)  # the mechanism's public calibration
    provenance: dict[str, Any] = field(default_factory=dict)  # see `collect_provenance`
    message: str | None = None  # why the run did not finish
    schema_version: int = SCHEMA_VERSION

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise ValueError(f"status: got {self.status!r}; expected one of {', '.join(STATUSES)}")
        # Written this way round so that nan, which compares false, is refused.
        if self.eps is not None and not self.eps >= 0:
            raise ValueError(f"eps: got {self.eps}; expected a number in [0, inf]")
        if self.delta is not None and not 0 <= self.delta < 1:
            raise ValueError(f"delta: got {self.delta}; expected a number in [0, 1)")
        object.__setattr__(self, "config", plain(self.config, "config"))
        if not self.config_hash:
            object.__setattr__(self, "config_hash", config_hash(self.config))

    def to_dict(self) -> dict[str, Any]:
        """Make the content of `result.json`: JSON's own types, infinities as "inf", nan as null."""
        content = {name: getattr(self, name) for name in ("schema_version", *_KINDS)}
        if (mean := self.accuracy) is not None:
            content["accuracy"] = {"mean": mean.mean, "ci95": mean.half_width, "n": mean.n, "law": _LAW}
        content["diagnostics"] = {"note": DIAGNOSTICS_NOTE, **self.diagnostics}
        result: dict[str, Any] = plain(content)
        return {**result, "notes": NOTES}

    @classmethod
    def from_dict(cls, content: object) -> RunRecord:
        """Read the content of `result.json`; ValueError names a key that is missing or wrong."""
        if not isinstance(content, dict):
            raise ValueError("not a JSON object")
        version = content.get("schema_version")
        if version != SCHEMA_VERSION:
            raise ValueError(f"schema_version: got {version!r}; this version of pate reads {SCHEMA_VERSION}")
        values: dict[str, Any] = {}
        for name, kind in _KINDS.items():
            if name not in content:
                raise ValueError(f"no key {name!r}")
            values[name] = _with_infinities(content[name]) if name in _NUMERIC else content[name]
            if not isinstance(values[name], kind) or isinstance(values[name], bool):
                raise ValueError(f"{name}: expected {kind if isinstance(kind, UnionType) else kind.__name__}")
        for name, kind in (("dataset_checksum", str), ("versions", dict)):
            if not isinstance(values["provenance"].get(name), kind | None):
                raise ValueError(f"provenance: {name}: expected {kind.__name__}")
        if values["accuracy"] is not None:
            values["accuracy"] = _accuracy(values["accuracy"])
        values["diagnostics"].pop("note", None)
        for name, value in values["diagnostics"].items():
            if not isinstance(value, int | float | None) or (
                name == "ceiling" and not 0 <= (value or 0) <= 1
            ):
                raise ValueError(f"diagnostics: {name}: got {value!r}; expected a number")
        return cls(**values)


def _accuracy(content: dict[str, Any]) -> Interval:
    """Read an interval of shares; versions that did not write the law had 1.96 s/sqrt(n)."""
    try:
        mean, half, n = content["mean"], content["ci95"], content["n"]
        possible = 0 <= mean <= 1 and n >= 1 and 0 <= (half or 0) <= _WIDEST
    except (KeyError, TypeError):
        possible = False
    if not possible:
        raise ValueError(f"accuracy: expected mean in [0, 1], ci95 in [0, {_WIDEST}] or null and n >= 1")
    old = half is not None and n > 1 and "law" not in content
    return Interval.around(mean, half / 1.96, n) if old else Interval(mean, half, n)


def _with_infinities(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_infinities(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_infinities(item) for item in value]
    return float(value) if value in ("inf", "-inf") else value


# where "inf" is a number; elsewhere it is a name
_NUMERIC = {"n_asked", "n_answered", "eps", "delta", "eps_ex_post", "plan", "diagnostics"}

_NUMBER = int | float | None
_KINDS: dict[str, type | UnionType] = {
    **dict.fromkeys(("status", "dataset", "mechanism", "config_hash"), str),
    "sizes": dict,
    "n_teachers": int | None,
    **dict.fromkeys(("n_asked", "n_answered", "eps", "delta", "eps_ex_post"), _NUMBER),
    "accuracy": dict | None,
    **dict.fromkeys(("diagnostics", "plan", "provenance"), dict),
    "message": str | None,
    "config": dict,
}
"""Every key of the file but the version, in the file's order."""


# --- its file ------------------------------------------------------------------------------------


class Found(NamedTuple):
    """Records found by a search, and each file that could not be read with the reason."""

    records: list[RunRecord]
    unreadable: list[tuple[Path, str]]


def write_record(directory: str | Path, record: RunRecord, *, sync: bool = True) -> Path:
    """Write `result.json` into a directory, which is made if absent; an earlier one stays if that fails.

    That of a run that goes on is longer than it needs to be: on a full disk it makes room for the last one.
    """
    # Strict JSON: a nan or an infinity here is a bug, not something to write.
    text = json.dumps(record.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    Path(directory).mkdir(parents=True, exist_ok=True)
    return write_file(
        Path(directory) / RECORD_NAME, text + " " * (record.status == "running") * _ROOM, sync=sync
    )


def read_record(path: str | Path) -> RunRecord:
    """Read one `result.json`; a `DataError` names the file and why it cannot be read."""
    try:
        return parse_record(Path(path))
    except DataError as error:
        raise DataError(f"{path}: {error}") from error


def find_records(paths: Iterable[str | Path]) -> Found:
    """Read every `result.json` in or below the given directories (a file given itself may have any name).

    Nothing is skipped in silence: what cannot be read is returned with the reason.
    """
    records = Found([], [])
    for file in find_files(paths, (RECORD_NAME,), records.unreadable):
        try:
            records.records.append(parse_record(file))
        except DataError as error:
            records.unreadable.append((file, one_line(str(error))))
    return records


def find_files(
    paths: Iterable[str | Path], names: Sequence[str], unreadable: list[tuple[Path, str]]
) -> Iterator[Path]:
    """Files among `paths`, and the first of `names` in each directory and those below it; a file once.

    Links to directories are not followed; a directory that cannot be read is added to `unreadable`.
    """

    def refuse(error: OSError) -> None:
        unreadable.append((Path(error.filename or path), error.strerror or str(error)))

    seen: set[str] = set()
    for path in map(Path, paths):
        files_here = [] if path.is_dir() else [path]
        for folder, below, files in os.walk(path, onerror=refuse) if path.is_dir() else ():
            below.sort(key=_numbers_by_size)  # jobs of a sweep: 2 before 10
            files_here += [Path(folder) / name for name in names if name in files][:1]
        for file in files_here:
            if (real := os.path.realpath(file)) not in seen:  # of a link to itself, too
                seen.add(real)
                yield file


def _numbers_by_size(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"([0-9]+)", name)]


def parse_record(path: Path) -> RunRecord:
    """Read a record; a `DataError` gives the reason alone."""
    try:
        with open_file(path) as file:
            content = json.loads(file.read().decode(), parse_constant=_not_json)
        record = RunRecord.from_dict(content)
    except OSError as error:
        raise DataError(error.strerror or str(error)) from error
    except json.JSONDecodeError as error:
        raise DataError(f"line {error.lineno}: not valid JSON: {error.msg}") from error
    except UnicodeDecodeError as error:
        raise DataError("not UTF-8 text") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"not the record of a run: {error}") from error
    if record.status == "running" and _is_gone(record.provenance.get("process")):
        return replace(record, status="killed", message=_KILLED)
    return record


def _is_gone(process: Any) -> bool:
    """Whether a process, of `provenance`, was one of this machine, and is no more."""
    if not isinstance(process, dict) or process.get("host") != platform.node():
        return False
    try:
        os.kill(process["pid"], 0)
    except ProcessLookupError:
        return True
    except (OSError, KeyError, TypeError, OverflowError):
        pass
    return False


def _not_json(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
