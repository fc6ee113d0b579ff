"""Teachers once: which lesson belongs to a repeat, where it is kept, and a repeat done with it.

Between the pipeline, which knows what votes depend on, and `pate_cli.engine.cache`, which keeps them.
All reading and writing is done by the process that was started; workers are handed what is known
and hand back what is new, so that votes are on no disk unless `cache=true` says so.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from pate_cli import __version__, console, pipeline
from pate_cli.datasets.content import fingerprint
from pate_cli.engine.cache import (
    Lesson,
    Memory,
    Store,
    code_version,
    find_place,
    has_changed,
    learner_version,
    library_versions,
    size_limit,
)
from pate_cli.pipeline import Outcome, Prepared, Trained

__all__ = ["Shelf", "check_cache", "content_key", "lesson_of", "run_repeat", "run_taught"]


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
        "teachers": [teacher.estimator, teacher.params, run.n_teachers, learner_version(teacher.estimator)],
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


class Shelf:
    """The lessons at hand: in memory for the jobs of one command, and on disk with `cache=true`. PRIVATE."""

    def __init__(self) -> None:
        self._memory = Memory()
        self._unversioned: set[str] = set()

    @cached_property
    def _store(self) -> Store:
        return Store(find_place(), size_limit())

    def has(self, run: Prepared, repeat: int) -> bool:
        """Whether there seems to be a lesson, without reading it."""
        if not run.plan.asks_votes:
            return False
        key = content_key(run, repeat)
        return key in self._memory or (self._on_disk(run) and key in self._store)

    def recall(self, run: Prepared, repeat: int) -> Lesson | None:
        """Lesson of a repeat, if it is known."""
        if not run.plan.asks_votes:
            return None
        key = content_key(run, repeat)
        lesson = self._memory.recall(key)
        if lesson is None and self._on_disk(run):
            lesson = self._store.recall(key)
            if lesson is not None:
                self._memory.keep(key, lesson)
        if lesson is None or not lesson.fits(run.sizes.n_public, run.dataset.n_classes, run.n_teachers):
            return None
        return lesson

    def keep(self, run: Prepared, repeat: int, lesson: Lesson | None) -> None:
        """Keep what `run_repeat` found to be new."""
        if lesson is None:
            return
        key = content_key(run, repeat)
        self._memory.keep(key, lesson)
        if self._on_disk(run):
            described = {"dataset": run.dataset.name, "teachers": run.n_teachers, "repeat": repeat}
            self._store.keep(key, _lasting(run, lesson), described)

    def _on_disk(self, run: Prepared) -> bool:
        """Whether disk is to be used; not for a learner of which it is not sure what code made its votes."""
        if not run.config.cache or run.config.release:
            return False
        name = run.config.teacher.estimator
        version = learner_version(name)
        if version is None:
            why = "its source cannot be told"
        elif has_changed(name):  # worker processes may have loaded what is there now
            why = "its source has changed since it was loaded"
        elif version and run.config.compute.address is not None:
            why = "workers elsewhere may have another one"
        else:
            return True
        if name not in self._unversioned:
            self._unversioned.add(name)
            text = f"pate: cache: {name}: {why}: its votes are not kept"
            console.err().print(text, markup=False, soft_wrap=True)
        return False


def run_repeat(run: Prepared, repeat: int, lesson: Lesson | None = None) -> tuple[Outcome, Lesson | None]:
    """Do one repeat, without training if its lesson is known.

    Parameters
    ----------
    run : Prepared
    repeat : int
        0-based.
    lesson : Lesson, optional
        From `Shelf.recall`.

    Returns
    -------
    Outcome
        The same, but for `seconds`, whatever `lesson` is.
    Lesson or None
        For `Shelf.keep`; None if there is nothing new to keep.
    """
    if not run.plan.asks_votes:
        return pipeline.run_repeat(run, repeat), None
    started = time.perf_counter()
    known = -1 if lesson is None else len(lesson.ceilings)
    outcome, new = run_taught(run, repeat, pipeline.train(run, repeat, lesson))
    result = replace(outcome.result, seconds=time.perf_counter() - started)
    return replace(outcome, result=result), new if len(new.ceilings) > known else None


def run_taught(run: Prepared, repeat: int, taught: Trained) -> tuple[Outcome, Lesson]:
    """Do one repeat with teachers that are done; its outcome, and the lesson for `Shelf.keep`."""
    outcome = pipeline.run_repeat(run, repeat, taught)
    return outcome, lesson_of(taught)


def lesson_of(taught: Trained) -> Lesson:
    """Give what the teachers of a repeat left, for `Shelf.keep`. PRIVATE."""
    counts = np.array(taught.votes.counts)  # joblib may have lent us a file
    return Lesson(counts, taught.teacher_accuracy, taught.ceilings)


def _lasting(run: Prepared, lesson: Lesson) -> Lesson:
    """Without the ceilings of students whose code may become another."""
    return replace(lesson, ceilings={} if _is_foreign(run.config.student) else lesson.ceilings)


def _is_foreign(student: Any) -> bool:
    params: Mapping[str, Any] = student.params
    names = [student.estimator, *([params["base"]] if isinstance(params.get("base"), str) else [])]
    return any(learner_version(name) != "" for name in names)
