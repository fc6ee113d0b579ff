"""PATE on one page: split, teachers, mechanism, student, measure.

`prepare` checks a run before training. `run_repeat` is LZCW21 Algorithm 3 (passive queries) or 5 (active
queries), once. `release` does the same for a real release: it measures nothing, and charges its loss before
it looks at a private record.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pate_cli import datasets, learners, students, teachers
from pate_cli.errors import ConfigError
from pate_cli.mechanisms.base import no_answers
from pate_cli.mechanisms.teaching import train_groups
from pate_cli.plugins import PluginError, calling, named
from pate_cli.prepared import NoClasses, Prepared, prepare
from pate_cli.privacy.door import Door
from pate_cli.privacy.noise import Noise
from pate_cli.runs.diagnostics import diagnostics
from pate_cli.runs.evaluation import diagnosed, evaluated
from pate_cli.runs.mapping import teaching_key, with_features
from pate_cli.streams import Streams
from pate_cli.types import (
    Answers,
    IntArray,
    PrivacyLoss,
    Private,
    PublicPoints,
    Released,
    RepeatResult,
    Split,
    Votes,
)

__all__ = ["Outcome", "PartVotes", "Prepared", "Publication", "Streams", "Trained"]
__all__ += ["join", "prepare", "release", "run_repeat", "split_of", "teaching_key", "train", "train_part"]


@dataclass(frozen=True, repr=False, eq=False)
class Trained:
    """Split and votes of one repeat. PRIVATE, shared by mechanisms within a process."""

    split: Split
    votes: Votes
    teacher_accuracy: float  # not differentially private, as `ceilings`
    ceilings: dict[str, float] = field(default_factory=dict)  # accuracy on the exact votes, by student
    failures: teachers.Failures = teachers.NONE_FAILED


@dataclass(frozen=True, repr=False, eq=False)
class PartVotes:
    """Votes of some of the teachers of one repeat. PRIVATE."""

    counts: IntArray  # on the public points, shape (m, C)
    right: int  # correct votes on the test split; not differentially private
    failures: teachers.Failures


@dataclass(frozen=True)
class Outcome:
    """Result of one repeat: numbers, released answers, and the student."""

    result: RepeatResult
    answers: Answers
    student: Any
    encoder: Any
    warned: tuple[str, ...] = ()
    failures: teachers.Failures = teachers.NONE_FAILED
    classes: tuple[str, ...] = ()  # of the student's codes


@dataclass(frozen=True, eq=False)
class Publication:
    """Result of a release. PUBLIC, but for the data of its run."""

    run: Prepared  # with the classes that were bought, if they are
    public: PublicPoints
    answers: Answers
    student: Any  # fitted classifier, or None
    encoder: Any  # fitted transformer, or None
    ex_post: PrivacyLoss  # computed from the answers: data-dependent
    problem: str | None  # why there is no student
    chosen: str | None = None  # candidate, where the mechanism chose between several
    generated: Any = None  # `Made`, with generated public points
    report: dict[str, Any] | None = None  # of its evaluation, see `Evaluation.report`


def run_repeat(run: Prepared, repeat: int, trained: Trained | None = None) -> Outcome:
    """Do one repeat, 0-based; `trained` may come from a run with an equal `teaching_key` and repeat."""
    started = time.perf_counter()
    streams = Streams.of(run.config.seed, repeat)
    if run.mechanism.asks_votes:
        trained = trained or train(run, repeat)
        split, votes = trained.split, trained.votes
    else:
        split, trained, votes = split_of(run, streams), None, None
    run = run.after(split)
    door = Door.seeded(streams.noise)
    with teachers.failures() as seen, calling(type(run.mechanism)):
        released = _release(run, split, votes, door, streams)
    failures = sum(seen, trained.failures if trained else teachers.NONE_FAILED)
    failures.check()
    fit = _student_fit(run, split, streams)
    answers, student = released.answers, released.model
    student = fit(answers) if student is None else student
    student, report = evaluated(run.whole.evaluation, split, student, door, streams.queries)
    run.whole.check(door, split.generated and split.generated.accounts)
    judge, X = students.mapped_once(student, split.test)
    accuracy, metrics = students.measure(judge, X, split.test.y, run.dataset.classes)
    result = RepeatResult(
        repeat=repeat,
        n_teachers=run.n_teachers,
        n_asked=answers.n_asked,
        n_answered=answers.n_answered,
        eps=run.whole.guarantee.eps,
        delta=run.delta,
        eps_ex_post=run.whole.after(door.accounts["mechanism"]).eps,
        accuracy=accuracy,
        diagnostics=diagnostics(run, split, trained, answers, fit)
        | metrics
        | released.not_private
        | diagnosed(report)
        | run.mechanism.measure(student, split.test)
        | ({"failed_teachers": float(failures.failed)} if failures.failed else {})
        | ({"one_class": 1.0} if students.says_one_class(student, split.public.X) else {}),
        seconds=time.perf_counter() - started,
    )
    classes = run.dataset.classes
    return Outcome(result, answers, student, split.encoder, failures=failures, classes=classes)


@teachers.released()
def release(
    run: Prepared,
    streams: Streams,
    noise: Callable[[], Noise] | None,
    charge: Callable[[PrivacyLoss], None],
) -> Publication:
    """Do what `run_repeat` does, for a release: nothing is measured, and the loss is charged first.

    Whether a release is made does not depend on the private records: a teacher that cannot be fitted, or
    cannot predict, is constant, even if all are. `charge` records the loss or raises; it is called once,
    before any private record is looked at. `noise` makes the source of integer noise; None is seeded noise
    from `streams`, no release to publish. RuntimeError, without its cause, if memory is short outside a fit.
    """
    charge(run.whole.guarantee)
    door = Door.seeded(streams.noise) if noise is None else Door(noise())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # made from private records
        try:
            split, votes = split_of(run, streams, door), None
            run = run.after(split)
            if run.mechanism.asks_votes:
                groups = _teachers(run, streams, split, range(run.n_teachers))
                points = split.public.seen(run.setting.teacher_mapped).X
                counts = [group.votes_and_failures(points)[0].counts for group in groups]
                votes = Votes(np.sum(counts, axis=0), run.n_teachers)
        except NoClasses as end:  # it is paid for, and public
            return _without_classes(end, door)
        except Exception as error:  # its message may quote a record
            why = "training failed; the cause is withheld because it may reveal private data"
            refusal = named(error, quoted=False)
            raise (refusal if isinstance(refusal, PluginError) else RuntimeError(why)) from None
        released = _release(run, split, votes, door, streams)
    student, problem, report = released.model, None, None
    if student is None:
        try:
            student = _student_fit(run, split, streams)(released.answers)
        except ConfigError as error:  # the answers are paid for, and public
            problem = str(error)
    if student is not None:
        student, report = evaluated(run.whole.evaluation, split, student, door, streams.queries)
    run.whole.check(door, split.generated and split.generated.accounts)
    cost = replace(run.whole.after(door.accounts["mechanism"]), data_dependent=True)
    answers, generated, chosen = released.answers, split.generated, released.chosen
    points, encoder = split.public, split.encoder
    return Publication(run, points, answers, student, encoder, cost, problem, chosen, generated, report)


def _without_classes(end: NoClasses, door: Door) -> Publication:
    """What is published where too few classes were bought: the points."""
    run, split = end.parts
    run.whole.check(door, split.generated.accounts)
    cost = replace(run.whole.guarantee, data_dependent=True)
    return Publication(
        run, split.public, no_answers(), None, split.encoder, cost, str(end), generated=split.generated
    )


def _release(run: Prepared, split: Split, votes: Votes | None, door: Door, streams: Streams) -> Released:
    """Run the mechanism once."""
    # a mechanism with teachers of its own deals them out as the shared ones are
    rng = streams.queries if run.mechanism.asks_votes else streams.teachers
    records = split.private.one_each(rng) if run.mechanism.persons == "one record" else split.private
    private = Private(records, None if votes is None else lambda: votes)
    public = split.public.seen(run.setting.student_mapped and run.mechanism.asks_votes)
    released = run.mechanism.release(private, public, door.chapter("mechanism"), rng)
    with calling(type(run.mechanism)):
        _check_answers(released.answers, split.public.n_points, run.dataset.n_classes)
    return released


def _check_answers(answers: Answers, m: int, C: int) -> None:
    """Refuse answers that are none: a student would learn from them, and nothing would say so."""
    q, counts = len(answers.asked), answers.noisy_counts
    labels = answers.labels
    numbers = labels.shape == (q,) and labels.dtype.kind in "biuf"  # a text may be found among numbers
    if not numbers or not np.isin(labels, np.arange(-1, C)).all():
        raise ValueError(f"labels of answers; accepted: a class code from 0 to {C - 1}, or -1, for each")
    if not np.isin(answers.asked, np.arange(m)).all():
        raise ValueError(f"asked of answers; accepted: numbers of public points, from 0 to {m - 1}")
    if counts is not None and not (counts.shape == (q, C) and np.isfinite(counts).all()):
        raise ValueError(f"noisy_counts of answers; accepted: {C} finite numbers for each label")


def train(run: Prepared, repeat: int) -> Trained:
    """Split, train the teachers and count their votes."""
    split = split_of(run, Streams.of(run.config.seed, repeat))
    return join(run.after(split), split, [train_part(run, repeat, range(run.n_teachers), split)])


def train_part(run: Prepared, repeat: int, only: range, split: Split | None = None) -> PartVotes:
    """Train some of the teachers of a repeat, each as it would be among all; see `join`."""
    streams = Streams.of(run.config.seed, repeat)
    split = split_of(run, streams) if split is None else split
    run = run.after(split)
    y, counts, right, failures = split.test.y, [], 0, teachers.NONE_FAILED
    points, test = (part.seen(run.setting.teacher_mapped).X for part in (split.public, split.test))
    for group in _teachers(run, streams, split, only):
        votes, failed = group.votes_and_failures(points)
        counts.append(votes.counts)
        for rows, X in test.blocks() if hasattr(test, "blocks") else [(slice(None), test)]:
            each, truth = group.votes_and_failures(X)[0].counts, y[rows, None]
            right += int(np.take_along_axis(each, truth, 1)[truth >= 0].sum())
        failures += failed
    return PartVotes(np.sum(counts, axis=0), right, failures)


def join(run: Prepared, split: Split, parts: Sequence[PartVotes]) -> Trained:
    """Add up the votes of all teachers of a repeat; ConfigError if the learner failed on every part."""
    failures = sum((part.failures for part in parts), teachers.NONE_FAILED)
    failures.check()
    counts: IntArray = np.sum([part.counts for part in parts], axis=0)
    right = sum(part.right for part in parts)
    accuracy = right / len(split.test.y) / run.n_teachers
    return Trained(split, Votes(counts, run.n_teachers), accuracy, failures=failures)


def _teachers(run: Prepared, streams: Streams, split: Split, only: range) -> Iterator[teachers.Ensemble]:
    """Train some of the teachers, a few at a time, so that memory does not grow with them."""
    asked, n_classes = run.config.teacher, run.dataset.n_classes
    learner = learners.make_learner(asked.estimator, asked.params, seed=None, n_classes=n_classes)
    return train_groups(
        split.private.seen(run.setting.teacher_mapped),
        n_teachers=run.n_teachers,
        learner=learner,
        rng=streams.teachers,
        n_classes=n_classes,
        only=only,
    )


def split_of(run: Prepared, streams: Streams, door: Door | None = None) -> Split:
    """Split the data of a run; a release's split is not cached, and its generated points use its door."""
    options = {"release": run.config.release, "public_rows": run.public_rows, **run.config.split.shares}
    if hasattr(run.dataset.public, "made"):
        options |= {"marginals": run.whole.marginals, "door": door or Door.seeded(streams.points)}
        options["bought"] = run.whole.bought
    if run.whole.evaluation:
        options["n_held"] = run.whole.evaluation.n
    make = datasets.split if run.config.release else datasets.cached_split
    split = make(run.dataset, rng=streams.split, **options)
    run = run.after(split)
    most, cached = run.config.features.directions, not run.config.release
    return with_features(split, run.setting, run.mechanism, most, streams.features, cached=cached)


def _student_fit(run: Prepared, split: Split, streams: Streams) -> Callable[..., Any]:
    """Function that fits the configured student on answers; its `probabilities` may be left as they are."""
    s, size = run.config.student, run.sizes.n_private // max(run.n_teachers, 1)
    common: dict[str, Any] = {"estimator": s.estimator, "params": s.params, "unanswered": s.unanswered}
    common |= {"n_classes": run.dataset.n_classes, "mapped": run.setting.student_mapped}
    common |= {"rng": streams.student, "seed": int(streams.student.integers(2**31))}
    return lambda answers, **how: students.fit_student(
        split.public, replace(answers, part_size=size), **common, **how
    )
