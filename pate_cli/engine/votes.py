"""Votes once: what the votes of a repeat depend on, and where they are kept for whoever wants them next.

Between the pipeline, which knows what votes depend on, and `pate_cli.engine.cache`, which keeps them.
All reading and writing is done by the process that was started; workers are handed what is known
and hand back what is new, so that votes are on no disk unless `cache=true` says so.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from pate_cli import __version__, console
from pate_cli.datasets.content import fingerprint
from pate_cli.engine.cache import (
    KeptVotes,
    Memory,
    Store,
    code_version,
    edited,
    find_place,
    has_source,
    library_versions,
    size_limit,
)
from pate_cli.pipeline import Prepared, Trained

__all__ = ["VoteStore", "check_cache", "content_key", "to_keep"]


def content_key(run: Prepared, repeat: int) -> str:
    """All that the votes of a repeat depend on: content and versions, no names, no mechanism, no eps.

    Parameters
    ----------
    run : Prepared
    repeat : int
        0-based.

    Returns
    -------
    str
        JSON.
    """
    teacher = run.config.teacher
    parts = {
        "records": fingerprint(run.dataset),
        "split": [
            *(run.sizes.n_private, run.sizes.n_public, run.config.split.mode),
            *(run.config.seed, repeat),
        ],
        "teachers": [teacher.estimator, teacher.params, run.n_teachers],
        "versions": _versions(),
    }
    return json.dumps(parts, sort_keys=True, default=repr)


def _versions() -> dict[str, str]:
    return {"pate": f"{__version__} {code_version()}", **library_versions()}


def check_cache() -> None:
    """Refuse a cache that others can get at, before anything is done.

    Raises
    ------
    ConfigError
    """
    size_limit()
    find_place().check()


def to_keep(trained: Trained) -> KeptVotes:
    """Give what the teachers of a repeat left, for `VoteStore.keep`. PRIVATE."""
    counts = np.array(trained.votes.counts)  # joblib may have lent us a file
    return KeptVotes(counts, trained.teacher_accuracy, trained.ceilings)


class VoteStore:
    """The votes at hand: in memory for the jobs of one command, and on disk with `cache=true`. PRIVATE."""

    def __init__(self) -> None:
        self._memory = Memory()
        self._said: set[str] = set()

    @cached_property
    def _store(self) -> Store:
        return Store(find_place(), size_limit())

    def recall(self, run: Prepared, repeat: int) -> KeptVotes | None:
        """Votes of a repeat, if they are known."""
        key = content_key(run, repeat)
        votes = self._memory.recall(key)
        if votes is None and self._on_disk(run):
            votes = self._store.recall(key)
            if votes is not None:
                self._memory.keep(key, votes)
        if votes is None or not votes.fits(run.sizes.n_public, run.dataset.n_classes, run.n_teachers):
            return None
        return votes

    def keep(self, runs: Sequence[Prepared], repeat: int, votes: KeptVotes) -> None:
        """Keep the votes of a repeat that these runs share, all of them with one key."""
        run = runs[0]
        key = content_key(run, repeat)
        self._memory.keep(key, votes)
        if self._on_disk(run):
            self._store.keep(key, votes)

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
