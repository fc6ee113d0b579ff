"""Finished repeats on disk, found again by everything that they depend on.

An entry is one JSON file, named by its key and repeat: the key, the code that was loaded when it was made
(`engine/loaded.py`), the record, and a SHA-256 of all of it. It is written whole or not at all, and is used
only if every part is as it was written, the key is the one looked for and this process would load the same
code. No release reads or writes one. A finished repeat is public, but for what was measured on held-out
records.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pate_cli.datasets.content import fingerprint
from pate_cli.engine.loaded import LoadedCode, has_source, loaded_code
from pate_cli.errors import InputError
from pate_cli.pipeline import Outcome, Prepared
from pate_cli.results.settings import config_hash
from pate_cli.terminal import open_file, write_file
from pate_cli.types import Dataset, RepeatResult

__all__ = ["PLACE", "CacheKey", "RepeatRecord", "RepeatStore", "repeat_key", "vote_key"]

PLACE = ".finished"
"""Name of the directory of finished repeats, beside the results they went into."""

_NOTICES = "notices"  # hashes of those that were given

_SCHEMA = 5

_OLD = 3600.0
"""Seconds after which a temporary file is one that a killed run left."""


@dataclass(frozen=True)
class CacheKey:
    """Configuration and data that an entry depends on."""

    config: str  # the settings that count, or a hash of them
    dataset: str  # `datasets.content.fingerprint` of the records

    def file(self, repeat: int, suffix: str) -> str:
        """Name of the file of a repeat."""
        text = json.dumps(vars(self), sort_keys=True)
        return f"{_sha(text.encode())[:24]}-{repeat}{suffix}"


def repeat_key(raw: Mapping[str, Any], dataset: Dataset) -> CacheKey:
    """Key of the finished repeats of a composed configuration on a dataset."""
    student = raw["student"]
    names = [raw["teacher"]["estimator"], student["estimator"], (student.get("params") or {}).get("base")]
    modules = [name.rpartition(".")[0] for name in names if isinstance(name, str)]
    before = len(sys.modules)
    hashed = all(has_source(module) for module in modules if module)
    if len(sys.modules) > before:
        loaded_code()  # hashes learners as they were imported just now, should they be edited later
    config = config_hash({key: value for key, value in raw.items() if key != "repeats"})
    # what a learner without a source to hash has done is found by nobody
    return CacheKey(config if hashed else secrets.token_hex(8), fingerprint(dataset))


def vote_key(run: Prepared) -> CacheKey:
    """Key of the votes of a run: no names, no mechanism, no eps."""
    teacher, split = run.config.teacher, run.config.split
    parts = [run.sizes.n_private, run.sizes.n_public, split.mode, run.config.seed]
    parts += [teacher.estimator, teacher.params, run.n_teachers]
    parts += [each for each in (run.whole.marginals, run.whole.bought, run.whole.evaluation) if each]
    if run.setting.teacher_mapped:
        parts += [run.setting.features, run.config.features.directions]
    return CacheKey(json.dumps(parts, sort_keys=True, default=repr), fingerprint(run.dataset))


class Damaged(ValueError):
    """Bytes that are not the entry they should be."""


def _pack(key: CacheKey, repeat: int, record: Mapping[str, Any], loaded: LoadedCode) -> str:
    """Content of the file of an entry."""
    entry = {"schema": _SCHEMA, "key": vars(key), "repeat": repeat, "loaded": vars(loaded)}
    entry["record"] = record
    return json.dumps({"sha256": _digest(entry), "entry": entry})


def _unpack(content: bytes, key: CacheKey, repeat: int) -> dict[str, Any] | None:
    """Record of an entry; None where other code made it. Raises Damaged."""
    try:
        sealed = json.loads(content)
        entry = sealed["entry"]
        if sealed["sha256"] != _digest(entry):
            raise Damaged("changed")
        if (entry["schema"], entry["key"], entry["repeat"]) != (_SCHEMA, vars(key), repeat):
            raise Damaged("the entry of something else")
        record: dict[str, Any] = entry["record"]
        return record if LoadedCode(**entry["loaded"]).is_current() else None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise error if isinstance(error, Damaged) else Damaged("cut short or changed") from None


def _digest(entry: Mapping[str, Any]) -> str:
    return _sha(json.dumps(entry, sort_keys=True).encode())


def _sha(content: bytes | None) -> str:
    return "" if content is None else hashlib.sha256(content).hexdigest()


def _read(path: Path) -> bytes:
    """Content of a regular file; OSError, at once, for anything else."""
    with open_file(path) as file:
        return file.read()


def _write(path: Path, content: str | bytes) -> None:
    """Write a file in place of whatever has its name."""
    if path.is_symlink() or not path.is_file():
        _clear(path)
    write_file(path, content, sync=False)


def _clear(path: Path) -> None:
    """Remove a file; move a directory that has its name aside."""
    if path.is_dir() and not path.is_symlink():
        path.rename(path.with_name(f"{path.name}.{secrets.token_hex(4)}"))
    else:
        path.unlink(missing_ok=True)


def _remove_temporaries(directory: Path) -> None:
    """Remove files that killed runs left half written; a young one may be another run's at this moment."""
    for path in directory.glob(".*.tmp"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _OLD:
                path.unlink()


@dataclass(frozen=True)
class RepeatRecord(RepeatResult):
    """One repeat of one row: all of it public, but for what is measured on held-out records."""

    asked: list[int] = field(default_factory=list)  # public points, in the order asked
    unanswered: list[int] = field(default_factory=list)  # those of them without an answer
    student: str = ""  # SHA-256 (hex) of the file of the student, where it is kept

    @classmethod
    def of(cls, outcome: Outcome, seconds: float, student: bytes | None = None) -> RepeatRecord:
        """Record of an outcome, as it would be read back; `student` is the content of the student's file."""
        asked = outcome.answers.asked
        content = vars(outcome.result) | {"seconds": seconds, "asked": asked.tolist()}
        content |= {"unanswered": asked[outcome.answers.labels < 0].tolist(), "student": _sha(student)}
        return cls(**json.loads(json.dumps(content, default=np.generic.item)))  # of NumPy only numbers


@dataclass(frozen=True)
class RepeatStore:
    """Finished repeats in a directory, made with the first one; processes may share it."""

    directory: Path  # absolute: worker processes kept from before may stand elsewhere

    def find(self, key: CacheKey, repeat: int, *, student: bool) -> tuple[RepeatRecord, bytes | None] | None:
        """Find a repeat and, if wanted, its student's file; None unless both are there and reliable."""
        try:
            content = _unpack(_read(self.directory / key.file(repeat, ".json")), key, repeat)
            record = None if content is None else RepeatRecord(**content)
            file = _read(self.directory / key.file(repeat, ".skops")) if student else None
        except (OSError, Damaged, TypeError):
            return None
        return (record, file) if record and (file is None or _sha(file) == record.student) else None

    def write(
        self,
        key: CacheKey,
        record: RepeatRecord,
        student: bytes | None = None,
        loaded: LoadedCode | None = None,
    ) -> None:
        """Write a repeat, after its student's file; `loaded` is of the process that did the work."""
        try:
            self.directory.mkdir(exist_ok=True)
        except FileNotFoundError as error:
            above, why = str(self.directory.parent), "was removed while the run went on"
            raise FileNotFoundError(error.errno, why, above) from None
        # hundreds of them, and `find` refuses what is not whole: not worth waiting for the disk
        if student is not None:
            _write(self.directory / key.file(record.repeat, ".skops"), student)
        text = _pack(key, record.repeat, vars(record), loaded or loaded_code())
        _write(self.directory / key.file(record.repeat, ".json"), text)

    def unsaid(self, texts: Iterable[str]) -> list[str]:
        """Notices on a file that were not given beside these repeats before."""
        notice_hashes = self._given()
        return [text for text in texts if _sha(text.encode()) not in notice_hashes]

    def say(self, texts: Sequence[str]) -> None:
        """Remember notices as given."""
        if texts:
            lines = [*self._given(), *(_sha(text.encode()) for text in texts)]
            with contextlib.suppress(OSError):  # then they are given again
                _write(self.directory / _NOTICES, "\n".join(lines).encode())

    def _given(self) -> list[str]:
        try:
            return _read(self.directory / _NOTICES).decode("ascii", "replace").split()
        except OSError:
            return []

    def forget(self, key: CacheKey, repeats: int) -> None:
        """Remove the first repeats of a row, so that they are done again."""
        for repeat in range(repeats):
            _clear(self.directory / key.file(repeat, ".json"))

    def sweep(self) -> None:
        """Make what is above, and remove files that killed runs left half written; InputError for a file."""
        if os.path.lexists(self.directory) and not self.directory.is_dir():
            raise InputError(f"{self.directory}: is no directory; finished repeats are kept there: remove it")
        self.directory.parent.mkdir(parents=True, exist_ok=True)
        _remove_temporaries(self.directory)
