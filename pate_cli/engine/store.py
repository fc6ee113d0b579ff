"""Finished repeats and votes, found again by what they depend on.

An entry is one JSON file, named by its key and repeat: the key, the code that was loaded when it was made
(`engine/loaded.py`), the record, and a SHA-256 of all of it. It is written whole or not at all, and is used
only if every part is as it was written, the key is the one asked for and this process would load the same
code. No release reads or writes one.

A finished repeat is public, but for what was measured on held-out records. VOTES ARE PRIVATE: the exact
counts, computed from private records without noise. They stay in memory for the jobs of one command; with
`cache=true` they are also written to a directory that only its owner can enter, and may delete.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import secrets
import stat
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from pate_cli import console, mechanisms
from pate_cli.datasets.content import fingerprint
from pate_cli.engine.loaded import LoadedCode, edited, has_source, loaded_code
from pate_cli.errors import ConfigError
from pate_cli.pipeline import Outcome, Prepared, Trained
from pate_cli.report import config_hash
from pate_cli.report.provenance import plain
from pate_cli.teachers.kept import KeptVotes
from pate_cli.types import RepeatResult
from pate_cli.writing import write_file

__all__ = ["PLACE", "CacheKey", "RepeatRecord", "RepeatStore", "VoteDirectory", "VoteStore", "repeat_key"]
__all__ += ["vote_directory", "vote_key", "votes_of"]

PLACE = ".finished"
"""Name of the directory of finished repeats, beside the results they went into."""

_SCHEMA = 4
_OLD = 3600.0  # seconds after which a temporary file is nobody's
_MEMORY = 2**26  # bytes of votes kept in memory
_SIZE = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_OWN = "a directory of your own that nobody else can enter (chmod 700), not a link"


@dataclass(frozen=True)
class CacheKey:
    """Configuration and data that an entry depends on.

    Attributes
    ----------
    config : str
        The settings that count, or a hash of them.
    dataset : str
        `datasets.content.fingerprint` of the records.
    token : str
        Where a learner has no source to hash, a random number: no other command finds the entry. Else empty.
    """

    config: str
    dataset: str
    token: str = ""

    def file(self, repeat: int, suffix: str) -> str:
        """Name of the file of a repeat."""
        text = json.dumps(asdict(self), sort_keys=True)
        return f"{_sha(text.encode())[:24]}-{repeat}{suffix}"


def repeat_key(raw: Mapping[str, Any], records: str) -> CacheKey:
    """Key of the finished repeats of a composed configuration on records of that fingerprint."""
    student = raw["student"]
    names = [raw["teacher"]["estimator"], student["estimator"], (student.get("params") or {}).get("base")]
    modules = [name.rpartition(".")[0] for name in names if isinstance(name, str)]
    modules.append(mechanisms.find(raw["mechanism"]["name"]).__name__)
    hashed = all(has_source(module) for module in modules if module)
    loaded_code()  # hashes learners as they were imported just now, should they be edited later
    config = config_hash({key: value for key, value in raw.items() if key != "repeats"})
    return CacheKey(config, records, "" if hashed else secrets.token_hex(8))


def vote_key(run: Prepared) -> CacheKey:
    """Key of the votes of a run: no names, no mechanism, no eps."""
    teacher, split = run.config.teacher, run.config.split
    parts = [run.sizes.n_private, run.sizes.n_public, split.mode, run.config.seed]
    parts += [teacher.estimator, teacher.params, run.n_teachers]
    return CacheKey(json.dumps(parts, sort_keys=True, default=repr), fingerprint(run.dataset))


class _Damaged(ValueError):
    """Bytes that are not the entry they should be."""


def _pack(key: CacheKey, repeat: int, record: Mapping[str, Any], loaded: LoadedCode) -> str:
    """Content of the file of an entry."""
    entry = {"schema": _SCHEMA, "key": asdict(key), "repeat": repeat, "loaded": asdict(loaded)}
    entry["record"] = record
    return json.dumps({"sha256": _digest(entry), "entry": entry}, allow_nan=False)


def _unpack(content: bytes, key: CacheKey, repeat: int) -> dict[str, Any] | None:
    """Record of an entry; None where other code made it. Raises _Damaged."""
    try:
        sealed = json.loads(content)
        entry = sealed["entry"]
        if sealed["sha256"] != _digest(entry):
            raise _Damaged("changed")
        if (entry["schema"], entry["key"], entry["repeat"]) != (_SCHEMA, asdict(key), repeat):
            raise _Damaged("the entry of something else")
        record: dict[str, Any] = entry["record"]
        return record if LoadedCode(**entry["loaded"]).is_current() else None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise error if isinstance(error, _Damaged) else _Damaged("cut short or changed") from None


def _digest(entry: Mapping[str, Any]) -> str:
    return _sha(json.dumps(entry, sort_keys=True).encode())


def _sha(content: bytes | None) -> str:
    return "" if content is None else hashlib.sha256(content).hexdigest()


def _remove_old_temporaries(directory: Path) -> None:
    """Remove what killed runs left half written; what is young may be another run's at this moment."""
    for path in directory.glob(".*.tmp"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _OLD:
                path.unlink()


@dataclass(frozen=True)
class RepeatRecord:
    """One repeat of one row: all of it public, but for what is measured on held-out records.

    Attributes
    ----------
    repeat : int
    n_teachers, n_asked, n_answered : int
    eps, delta, eps_ex_post, accuracy, seconds : float
    diagnostics : dict of str to float or None
        Not differentially private.
    asked, unanswered : list of int
        Public points asked, in the order asked, and those of them without an answer.
    student : str
        SHA-256 (hex) of the file of the student, where it is kept; else empty.
    """

    repeat: int
    n_teachers: int
    n_asked: int
    n_answered: int
    eps: float
    delta: float
    eps_ex_post: float
    accuracy: float
    seconds: float
    diagnostics: dict[str, float | None]
    asked: list[int]
    unanswered: list[int]
    student: str = ""

    @classmethod
    def of(cls, outcome: Outcome, seconds: float, student: bytes | None = None) -> RepeatRecord:
        """Record of an outcome, as it would be read back; `student` is the content of the student's file."""
        asked = outcome.answers.asked
        content = vars(outcome.result) | {"seconds": seconds, "asked": asked.tolist()}
        content |= {"unanswered": asked[outcome.answers.labels < 0].tolist(), "student": _sha(student)}
        return cls.read(plain(content))

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> RepeatRecord:
        """Read what `content` gave; raises KeyError, TypeError, ValueError or AttributeError for others."""
        infinite = {name: float(value) for name, value in content.items() if value in ("inf", "-inf")}
        diagnostics = {
            name: float(value) if isinstance(value, str) else value
            for name, value in content["diagnostics"].items()
        }
        return cls(**{**content, **infinite, "diagnostics": diagnostics})

    def content(self) -> dict[str, Any]:
        """All of it in JSON's own types."""
        content: dict[str, Any] = plain(asdict(self))
        return content

    @property
    def result(self) -> RepeatResult:
        """Result of the repeat, as the pipeline gave it."""
        values = {field.name: getattr(self, field.name) for field in fields(RepeatResult)}
        measured = {name: math.nan if value is None else value for name, value in self.diagnostics.items()}
        return RepeatResult(**values | {"diagnostics": measured})


@dataclass(frozen=True)
class RepeatStore:
    """Finished repeats in a directory, which is made with the first one; processes may share it.

    Attributes
    ----------
    directory : Path
        Absolute: worker processes kept from before may stand elsewhere.
    """

    directory: Path

    def read(self, key: CacheKey, repeat: int, loss: tuple[float, float]) -> RepeatRecord | None:
        """Read a repeat; None if there is none that can be relied on, or its (eps, delta) is not `loss`."""
        try:
            record = _unpack((self.directory / key.file(repeat, ".json")).read_bytes(), key, repeat)
            found = None if record is None else RepeatRecord.read(record)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None
        return found if found and (found.repeat, found.eps, found.delta) == (repeat, *loss) else None

    def find(
        self, key: CacheKey, repeat: int, loss: tuple[float, float], *, student: bool
    ) -> tuple[RepeatRecord, bytes | None] | None:
        """Find a repeat and, if wanted, the content of its student's file; None if either is not there."""
        record = self.read(key, repeat, loss)
        if record is None or not student:
            return None if record is None else (record, None)
        try:
            content = (self.directory / key.file(repeat, ".skops")).read_bytes()
        except OSError:
            return None
        return (record, content) if _sha(content) == record.student else None

    def write(
        self,
        key: CacheKey,
        record: RepeatRecord,
        student: bytes | None = None,
        loaded: LoadedCode | None = None,
    ) -> None:
        """Write a repeat, after its student's file; `loaded` is of the process that did the work."""
        self.directory.mkdir(parents=True, exist_ok=True)
        # hundreds of them, and `read` refuses what is not whole: not worth waiting for the disk
        if student is not None:
            write_file(self.directory / key.file(record.repeat, ".skops"), student, sync=False)
        text = _pack(key, record.repeat, record.content(), loaded or loaded_code())
        write_file(self.directory / key.file(record.repeat, ".json"), text, sync=False)

    def forget(self, key: CacheKey, repeats: int) -> None:
        """Remove the first repeats of a row, so that they are done again."""
        for repeat in range(repeats):
            (self.directory / key.file(repeat, ".json")).unlink(missing_ok=True)

    def sweep(self) -> None:
        """Remove what killed runs left half written."""
        _remove_old_temporaries(self.directory)


class VoteDirectory:
    """Votes on disk, readable by their owner alone. PRIVATE.

    What cannot be written or read never stops a run: one line says so, and the run goes on without.

    Parameters
    ----------
    path : Path
        Absolute.
    limit : int
        Bytes of all entries together; the least recently used go first.
    """

    def __init__(self, path: Path, limit: int) -> None:
        self.path = path
        self.limit = limit
        self._room = -1  # bytes left, as far as this process knows
        self._broken = False

    def check(self) -> None:
        """Refuse (ConfigError) a directory that others can enter; one that is not there yet is fine."""
        if not hasattr(os, "geteuid"):
            raise ConfigError("cache", True, "false: a cache needs owner-only directories (Linux, macOS)")
        try:
            status = self.path.lstat()
        except FileNotFoundError:
            return
        except OSError:
            raise ConfigError("PATE_CACHE", str(self.path), _OWN) from None
        if not (stat.S_ISDIR(status.st_mode) and _is_own(status)):
            raise ConfigError("PATE_CACHE", str(self.path), _OWN)

    def recall(self, key: CacheKey, repeat: int) -> KeptVotes | None:
        """Votes of a repeat; None if there are none that can be relied on, or other code made them."""
        path = self.path / key.file(repeat, ".votes")
        with self._tolerated():
            self.check()
            try:
                record = _unpack(_read_own(path), key, repeat)
                if record is not None:
                    counts = np.array(record["counts"], dtype=np.int64)
                    return KeptVotes(counts, record["teacher_accuracy"], record["ceilings"])
            except FileNotFoundError:
                pass
            except _Damaged as error:
                self._say(f"{path}: {error}; made again")
        return None

    def keep(self, key: CacheKey, repeat: int, votes: KeptVotes) -> None:
        """Write votes in place of earlier ones."""
        if self._broken:
            return
        record = {name: getattr(votes, name) for name in ("teacher_accuracy", "ceilings")}
        content = _pack(key, repeat, record | {"counts": votes.counts.tolist()}, loaded_code())
        if len(content) > self.limit:
            return
        path = self.path / key.file(repeat, ".votes")
        with self._tolerated():
            self.check()
            for directory in reversed([self.path, *self.path.parents]):
                if not os.path.lexists(directory):
                    with contextlib.suppress(FileExistsError):  # another process was faster
                        directory.mkdir(0o700)
            with contextlib.suppress(FileNotFoundError):
                if not stat.S_ISREG(path.lstat().st_mode):  # which would be followed, or written into
                    path.unlink()
            write_file(path, content, permissions=0o600)
            self._room -= len(content)
            if self._room < 0:
                self._trim()

    def _trim(self) -> None:
        """Remove the least recently used entries beyond the limit, and what killed runs left half written."""
        _remove_old_temporaries(self.path)
        entries = []
        for path in self.path.glob("*.votes"):
            with contextlib.suppress(FileNotFoundError):  # another process was faster
                entries.append((path.lstat(), path))
        entries.sort(key=lambda entry: -entry[0].st_mtime_ns)
        self._room = self.limit
        for status, path in entries:
            if status.st_size <= self._room:
                self._room -= status.st_size
            else:
                path.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _tolerated(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ConfigError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            self._say(f"{self.path}: {reason or error}; going on without")
            self._broken = True

    def _say(self, text: str) -> None:
        if not self._broken:
            console.err().print(f"pate: cache: {text}", markup=False, soft_wrap=True)


def vote_directory() -> VoteDirectory:
    """The directory `PATE_CACHE` names, else `pate/votes` in the user's cache directory; 2 GB at most.

    `PATE_CACHE_LIMIT` sets another size; raises ConfigError where it is none.
    """
    text = os.environ.get("PATE_CACHE_LIMIT") or "2GB"
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([KMGT]?)B?", text.strip().upper(), re.ASCII)
    if not found:
        raise ConfigError("PATE_CACHE_LIMIT", text, "a size, as 500MB or 2GB")
    limit = int(float(found[1]) * _SIZE[found[2]])
    named = os.environ.get("PATE_CACHE")
    if named:
        return VoteDirectory(Path(named).expanduser().absolute(), limit)
    import platformdirs

    return VoteDirectory((platformdirs.user_cache_path("pate") / "votes").absolute(), limit)


def _is_own(status: os.stat_result) -> bool:
    """Whether something belongs to the user, and nobody else can get at it."""
    return status.st_uid == os.geteuid() and not stat.S_IMODE(status.st_mode) & 0o077


def _read_own(path: Path) -> bytes:
    """Content of a file that is the user's alone; it counts as used now."""
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        status = os.fstat(file)
        if not (stat.S_ISREG(status.st_mode) and _is_own(status)):
            raise _Damaged("open to others")
        with contextlib.suppress(OSError):
            os.utime(file)
        with os.fdopen(file, "rb", closefd=False) as stream:
            return stream.read()
    finally:
        os.close(file)


def votes_of(trained: Trained) -> KeptVotes:
    """Votes of a repeat, for `VoteStore.keep`. PRIVATE."""
    counts = np.array(trained.votes.counts)  # joblib may have lent us a file
    return KeptVotes(counts, trained.teacher_accuracy, trained.ceilings)


class VoteStore:
    """Votes in memory for the jobs of one command, and on disk with `cache=true`. PRIVATE.

    All reading and writing is done by the process that was started; workers are handed votes, and hand back
    new ones.
    """

    def __init__(self) -> None:
        self._memory: OrderedDict[tuple[CacheKey, int], KeptVotes] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()
        self._said: set[str] = set()

    @cached_property
    def _directory(self) -> VoteDirectory:
        return vote_directory()

    def recall(self, run: Prepared, repeat: int) -> KeptVotes | None:
        """Votes of a repeat, if they are there."""
        key = vote_key(run)
        with self._lock:
            votes = self._memory.get((key, repeat))
            if votes is not None:
                self._memory.move_to_end((key, repeat))
        if votes is None and self._on_disk(run):
            votes = self._directory.recall(key, repeat)
            if votes is not None:
                self._remember(key, repeat, votes)
        if votes is None or not votes.fits(run.sizes.n_public, run.dataset.n_classes, run.n_teachers):
            return None
        return votes

    def keep(self, runs: Sequence[Prepared], repeat: int, votes: KeptVotes) -> None:
        """Keep the votes of a repeat that these runs share, all of them with one key."""
        key = vote_key(runs[0])
        self._remember(key, repeat, votes)
        if self._on_disk(runs[0]):
            self._directory.keep(key, repeat, votes)

    def _remember(self, key: CacheKey, repeat: int, votes: KeptVotes) -> None:
        """Keep votes in memory; the least recently used go first."""
        with self._lock:
            earlier = self._memory.pop((key, repeat), None)
            self._size -= earlier.counts.nbytes if earlier else 0
            self._memory[key, repeat] = votes
            self._size += votes.counts.nbytes
            while self._size > _MEMORY:
                self._size -= self._memory.popitem(last=False)[1].counts.nbytes

    def _on_disk(self, run: Prepared) -> bool:
        """Whether disk is to be used; not where it is not sure what code made the votes."""
        if not run.config.cache or run.config.release:
            return False
        name = run.config.teacher.estimator
        module = name.rpartition(".")[0]
        if module and not has_source(module):
            why = f"{name}: its source cannot be told"
        elif changed := edited():  # worker processes may have loaded what is there now
            why = f"{changed[0]}: its source has changed since it was loaded"
        elif module.partition(".")[0] not in ("", "sklearn") and run.config.compute.address is not None:
            why = f"{name}: workers elsewhere may have another one"
        else:
            return True
        if why not in self._said:
            self._said.add(why)
            console.err().print(f"pate: cache: {why}: votes are not kept", markup=False, soft_wrap=True)
        return False
