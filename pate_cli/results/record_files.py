"""Write the record of a run so that it is whole or absent, and find records again."""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from pate_cli.errors import DataError, one_line
from pate_cli.results.record import RunRecord
from pate_cli.terminal import open_file, write_file

__all__ = ["RECORD_NAME", "Found", "find_files", "find_records", "read_record", "write_record"]

RECORD_NAME = "result.json"

_ROOM = 4096
_KILLED = "its process is gone; finished repeats are in repeats.csv, and the same command goes on from there"


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
        return _read(Path(path))
    except DataError as error:
        raise DataError(f"{path}: {error}") from error


def find_records(paths: Iterable[str | Path]) -> Found:
    """Read every `result.json` in or below the given directories (a file given itself may have any name).

    Nothing is skipped in silence: what cannot be read is returned with the reason.
    """
    records = Found([], [])
    for file in find_files(paths, (RECORD_NAME,), records.unreadable):
        try:
            records.records.append(_read(file))
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

    seen: set[Path] = set()
    for path in map(Path, paths):
        files_here = [] if path.is_dir() else [path]
        for folder, below, files in os.walk(path, onerror=refuse) if path.is_dir() else ():
            below.sort(key=_numbers_by_size)  # jobs of a sweep: 2 before 10
            files_here += [Path(folder) / name for name in names if name in files][:1]
        for file in files_here:
            if (real := file.resolve()) not in seen:
                seen.add(real)
                yield file


def _numbers_by_size(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"([0-9]+)", name)]


def _read(path: Path) -> RunRecord:
    """Read a record; DataError gives the reason if that fails."""
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
