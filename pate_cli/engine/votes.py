"""Votes kept on disk with `cache=true`. PRIVATE.

They are the exact counts, computed from private records without noise, in a directory that only its owner
can enter, and may delete. Entries are as `engine/store.py` has them. No release reads or writes one.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import numpy as np

from pate_cli import terminal
from pate_cli.datasets.content import fingerprint
from pate_cli.engine.loaded import edited, has_source, loaded_code
from pate_cli.engine.store import CacheKey, Damaged, pack, remove_old_temporaries, unpack
from pate_cli.errors import ConfigError
from pate_cli.pipeline import Prepared, Trained
from pate_cli.teachers.vote_record import VoteRecord
from pate_cli.terminal import write_file

__all__ = ["VoteDirectory", "VoteStore", "vote_directory", "vote_key", "votes_of"]

_LIMIT = 2 * 10**9
"""Bytes of all entries together; the least recently used go first."""

_OWN = "a directory of your own that nobody else can enter (chmod 700), not a link"


def vote_key(run: Prepared) -> CacheKey:
    """Key of the votes of a run: no names, no mechanism, no eps."""
    teacher, split = run.config.teacher, run.config.split
    parts = [run.sizes.n_private, run.sizes.n_public, split.mode, run.config.seed]
    parts += [teacher.estimator, teacher.params, run.n_teachers]
    return CacheKey(json.dumps(parts, sort_keys=True, default=repr), fingerprint(run.dataset))


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

    def __init__(self, path: Path, limit: int = _LIMIT) -> None:
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

    def recall(self, key: CacheKey, repeat: int) -> VoteRecord | None:
        """Votes of a repeat; None if there are none that can be relied on, or other code made them."""
        path = self.path / key.file(repeat, ".votes")
        with self._tolerated():
            self.check()
            try:
                record = unpack(_read_own(path), key, repeat)
                if record is not None:
                    counts = np.array(record["counts"], dtype=np.int64)
                    return VoteRecord(counts, record["teacher_accuracy"], record["ceilings"])
            except FileNotFoundError:
                pass
            except Damaged as error:
                self._say(f"{path}: {error}; made again")
        return None

    def keep(self, key: CacheKey, repeat: int, votes: VoteRecord) -> None:
        """Write votes in place of earlier ones."""
        if self._broken:
            return
        record = {name: getattr(votes, name) for name in ("teacher_accuracy", "ceilings")}
        content = pack(key, repeat, record | {"counts": votes.counts.tolist()}, loaded_code())
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
        remove_old_temporaries(self.path)
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
            terminal.err().print(f"pate: cache: {text}", markup=False, soft_wrap=True)


def vote_directory() -> VoteDirectory:
    """The directory `PATE_CACHE` names, else `pate/votes` in the user's cache directory."""
    named = os.environ.get("PATE_CACHE")
    if named:
        return VoteDirectory(Path(named).expanduser().absolute())
    import platformdirs

    return VoteDirectory((platformdirs.user_cache_path("pate") / "votes").absolute())


def _is_own(status: os.stat_result) -> bool:
    """Whether something belongs to the user, and nobody else can get at it."""
    return status.st_uid == os.geteuid() and not stat.S_IMODE(status.st_mode) & 0o077


def _read_own(path: Path) -> bytes:
    """Content of a file that is the user's alone; it counts as used now."""
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        status = os.fstat(file)
        if not (stat.S_ISREG(status.st_mode) and _is_own(status)):
            raise Damaged("open to others")
        with contextlib.suppress(OSError):
            os.utime(file)
        with os.fdopen(file, "rb", closefd=False) as stream:
            return stream.read()
    finally:
        os.close(file)


def votes_of(trained: Trained) -> VoteRecord:
    """Votes of a repeat, for `VoteStore.keep`. PRIVATE."""
    counts = np.array(trained.votes.counts)  # joblib may have lent us a file
    return VoteRecord(counts, trained.teacher_accuracy, trained.ceilings)


class VoteStore:
    """Votes of runs with `cache=true`. PRIVATE.

    All reading and writing is done by the process that was started; workers are handed votes, and hand back
    new ones.
    """

    def __init__(self) -> None:
        self._said: set[str] = set()

    @cached_property
    def _directory(self) -> VoteDirectory:
        return vote_directory()

    def recall(self, run: Prepared, repeat: int) -> VoteRecord | None:
        """Votes of a repeat, if they are there."""
        votes = self._directory.recall(vote_key(run), repeat) if self._is_kept(run) else None
        fits = votes and votes.fits(run.sizes.n_public, run.dataset.n_classes, run.n_teachers)
        return votes if fits else None

    def keep(self, run: Prepared, repeat: int, votes: VoteRecord) -> None:
        """Keep the votes of a repeat, for all runs with the same key."""
        if self._is_kept(run):
            self._directory.keep(vote_key(run), repeat, votes)

    def _is_kept(self, run: Prepared) -> bool:
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
            terminal.err().print(f"pate: cache: {why}: votes are not kept", markup=False, soft_wrap=True)
        return False
