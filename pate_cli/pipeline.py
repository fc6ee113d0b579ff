"""PATE on one page: split, teachers, mechanism, student, measure.

`prepare` checks everything that can be checked before training; `run_repeat` is LZCW21 Algorithm 3
(passive queries) or 5 (active queries), once; `release` is the same for a real release, which measures
nothing and charges its loss before it looks at a private record.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Hashable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from pate_cli import datasets, learners, mechanisms, students, teachers
from pate_cli.config import RunConfig
from pate_cli.datasets.splitting import cached_split
from pate_cli.errors import ConfigError
from pate_cli.mechanisms.counting import auto_count
from pate_cli.mechanisms.votes import majority
from pate_cli.privacy.door import Door
from pate_cli.privacy.noise import Noise
from pate_cli.streams import Streams
from pate_cli.students.metrics import measure
from pate_cli.teachers.kept import KeptVotes
from pate_cli.types import (
    Answers,
    Dataset,
    IntArray,
    PrivacyLoss,
    Private,
    PublicPoints,
    Released,
    RepeatResult,
    Setting,
    Split,
    Votes,
)

__all__ = ["Outcome", "Part", "Prepared", "Publication", "Streams", "Trained"]
__all__ += ["join", "prepare", "release", "run_repeat", "split_of", "teaching_key", "train", "train_part"]


@dataclass(frozen=True)
class Prepared:
    """A checked run: the data at hand, public sizes, and the calibrated mechanism.

    A release is given the rows of its public points, which its ledger keeps.
    """

    config: RunConfig
    dataset: Dataset
    sizes: datasets.SplitSizes
    n_teachers: int
    delta: float
    plan: mechanisms.Mechanism
    public_rows: IntArray | None = field(default=None, repr=False)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a user should know before it starts; of an experiment also what its private records show."""
        said = self.dataset.remarks
        if not self.config.release:
            said += datasets.warnings_of(self.dataset, self.n_teachers)
        return said + self.expectations

    @property
    def expectations(self) -> tuple[str, ...]:
        """What is known beforehand of its queries, from public numbers alone."""
        unanswered = self.plan.unanswered()
        return (f"{self.config.mechanism.label}: {unanswered}",) if unanswered else ()

    @property
    def protects(self) -> str:
        """What neighbouring data sets differ in."""
        unit = self.dataset.unit
        if unit is not None:
            return f"one {unit}, all of its records; replaced by any others"
        return self.config.split.protects


@dataclass(frozen=True, repr=False, eq=False)
class Trained:
    """What the teachers of one repeat leave: PRIVATE, shared by mechanisms within a process.

    `teacher_accuracy` and `ceilings`, by student if known, are diagnostics: not differentially private.
    """

    split: Split
    votes: Votes
    teacher_accuracy: float
    ceilings: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, repr=False, eq=False)
class Part:
    """What some of the teachers of one repeat say. PRIVATE."""

    counts: IntArray  # of their votes on the public points, shape (m, C)
    right: int  # of their votes on the test split; not differentially private
    failures: teachers.Failures


@dataclass(frozen=True)
class Outcome:
    """What one repeat gives: numbers, the answers released, and the student."""

    result: RepeatResult
    answers: Answers
    student: Any
    encoder: Any


@dataclass(frozen=True, eq=False)
class Publication:
    """What one release gives. PUBLIC.

    Attributes
    ----------
    public : PublicPoints
    answers : Answers
    student : fitted scikit-learn classifier or None
    encoder : fitted scikit-learn transformer or None
    ex_post : PrivacyLoss
        From the answers: data-dependent.
    problem : str or None
        Why there is no student.
    """

    public: PublicPoints
    answers: Answers
    student: Any
    encoder: Any
    ex_post: PrivacyLoss
    problem: str | None


def prepare(config: RunConfig, dataset: Dataset, *, exact: bool = True) -> Prepared:
    """Check a run against its data and calibrate the mechanism, before any training.

    Parameters
    ----------
    config : RunConfig
    dataset : Dataset
    exact : bool
        Whether a release is calibrated for exact noise, as one has to be; not where it is only tried out.

    Raises
    ------
    InputError
        In one line, whatever cannot work: sizes, learners, an infeasible mechanism.
    """
    t, s = config.teacher, config.student
    sizes = datasets.sizes_of(dataset, **config.split.shares, release=config.release)
    delta = 1 / sizes.n_private if config.delta is None else config.delta
    sparse = datasets.becomes_sparse(dataset)
    n_teachers = teachers.n_teachers(
        sizes.n_private, size=t.size, count=_count(config, dataset, sizes, delta)
    )
    learners.check_learner(t.estimator, t.params, n_classes=dataset.n_classes, sparse=sparse)
    students.check_student(s.estimator, s.params, n_classes=dataset.n_classes, sparse=sparse)
    setting = Setting(
        eps=config.eps,
        delta=delta,
        n_private=sizes.n_private,
        n_public=sizes.n_public,
        budget=sizes.budget,
        n_features=dataset.n_features,
        n_classes=dataset.n_classes,
        n_teachers=n_teachers,
        sparse=sparse,
        teacher=(t.estimator, t.params),
        student=(s.estimator, s.params),
        unanswered=s.unanswered,
    )
    module = mechanisms.find(config.mechanism.name)
    plan: mechanisms.Mechanism = module.calibrate(config.mechanism.options, setting)
    if config.release:
        plan = plan.with_exact_noise() if exact else plan
        if plan.n_teachers:  # once private records are looked at, it is too late to say that it cannot learn
            shape, C = (sizes.n_private // n_teachers, dataset.n_features), dataset.n_classes
            learners.check_learner(t.estimator, t.params, n_classes=C, sparse=sparse, shape=shape)
    shards = getattr(dataset.X, "shards", ())
    if shards and (not plan.asks_votes or config.release):
        accepted = "of teachers' votes with dataset=shards, and release=false"
        raise ConfigError("mechanism", plan.name, accepted)
    if len(shards) > plan.n_teachers:
        accepted = f"at least {len(shards)} with so many files (a file of records has a teacher of its own)"
        raise ConfigError("teacher.count", plan.n_teachers, accepted)
    promised = plan.guarantee
    if promised.data_dependent or promised.eps > config.eps or promised.delta > delta:
        raise RuntimeError(
            f"{plan.name} promises {promised}, where eps={config.eps:g}, delta={delta:g} were asked"
        )
    return Prepared(config, dataset, sizes, plan.n_teachers, delta, plan)


def _count(config: RunConfig, dataset: Dataset, sizes: datasets.SplitSizes, delta: float) -> int | None:
    """Teachers asked for: a number, by records a teacher (None), or from public numbers."""
    if not config.teacher.auto_count:
        return config.teacher.count
    asked = sizes.budget if mechanisms.picks_queries(config.mechanism.name) else sizes.n_public
    public = (sizes.n_private, asked, dataset.n_features, dataset.n_classes, config.eps, delta)
    rule = getattr(mechanisms.find(config.mechanism.name), "auto_count", auto_count)  # its own, if any
    return int(rule(*public))


def run_repeat(run: Prepared, repeat: int, trained: Trained | None = None) -> Outcome:
    """Do one repeat: split, teachers, mechanism, student, measure.

    Parameters
    ----------
    run : Prepared
    repeat : int
        0-based; the result depends on it and on the configuration only.
    trained : Trained, optional
        Of a run with the same `teaching_key` and the same repeat; made here if left out.
    """
    started = time.perf_counter()
    streams = Streams.of(run.config.seed, repeat)
    if run.plan.asks_votes:
        trained = trained or train(run, repeat)
        split, votes = trained.split, trained.votes
        private = Private(split.private, lambda: votes)
    else:
        split, trained = split_of(run, streams), None
        private = Private(split.private)
    released = _release(run, split, private, Door.seeded(streams.noise), streams)
    student, fit = _student(run, split, released, streams)
    answers = released.answers
    accuracy, metrics = measure(student, split.test.X, split.test.y, run.dataset.classes)
    result = RepeatResult(
        repeat=repeat,
        n_teachers=run.n_teachers,
        n_asked=answers.n_asked,
        n_answered=answers.n_answered,
        eps=run.plan.guarantee.eps,
        delta=run.delta,
        eps_ex_post=released.spent.eps,
        accuracy=accuracy,
        diagnostics=_diagnostics(run, split, trained, answers, fit)
        | metrics
        | released.not_private
        | run.plan.measure(student, split.test),
        seconds=time.perf_counter() - started,
    )
    return Outcome(result, answers, student, split.encoder)


def release(
    run: Prepared, streams: Streams, noise: Callable[[], Noise], charge: Callable[[PrivacyLoss], None]
) -> Publication:
    """Do what `run_repeat` does, for a release: nothing is measured, and the loss is charged first.

    Whether a release is made does not depend on the private records: a teacher that cannot be fitted, or
    cannot predict, is a constant one, be it all of them.

    Parameters
    ----------
    run : Prepared
        Of a configuration with `release=true`.
    streams : Streams
        Of everything but noise; see `Streams.fresh`.
    noise : callable
        Makes the source of integer noise, once the loss is charged.
    charge : callable
        Puts the loss on record, or raises. Called once, before any private record is looked at.

    Raises
    ------
    RuntimeError
        If there are no votes, as for want of memory; it does not say more, as why may be private.
    """
    charge(run.plan.guarantee)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # made from private records
            split = split_of(run, streams)
            private = Private(split.private)
            if run.plan.asks_votes:
                groups = _teachers(run, streams, split)
                said = [group.votes_and_failures(split.public.X)[0].counts for group in groups]
                votes = Votes(np.sum(said, axis=0), run.n_teachers)
                private = Private(split.private, lambda: votes)
    except Exception:  # whatever it is, its message may quote a record
        raise RuntimeError("no votes (why may be private)") from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        released = _release(run, split, private, Door(noise()), streams)
    try:
        student, problem = _student(run, split, released, streams)[0], None
    except ConfigError as error:  # the answers are paid for, and public
        student, problem = None, str(error)
    spent = replace(released.spent, data_dependent=True)  # a report, be it the budget itself
    return Publication(split.public, released.answers, student, split.encoder, spent, problem)


def _release(run: Prepared, split: Split, private: Private, door: Door, streams: Streams) -> Released:
    """Let the mechanism do its one run; a plan with teachers of its own deals them as the shared ones are."""
    rng = streams.queries if run.plan.asks_votes else streams.teachers
    if private.records.units is not None and run.plan.persons == "one record":
        private = Private(private.records.one_each(rng), private.votes)
    released = run.plan.release(private, split.public, door, rng)
    cost, promised = run.plan.loss(door.spent), run.plan.guarantee
    if cost.eps > promised.eps * (1 + 1e-9) or cost.delta > promised.delta * (1 + 1e-9):
        raise RuntimeError(
            f"what was released costs eps={cost.eps:g}, delta={cost.delta:g}: above the guarantee"
        )
    return released


def teaching_key(config: RunConfig) -> Hashable:
    """What the votes depend on: runs with equal keys may share `train` of the same repeat."""
    t = config.teacher
    chosen_from = (config.eps, config.delta, config.mechanism) if t.auto_count else ()
    return repr((config.dataset, config.split, t, config.seed, chosen_from))


def train(run: Prepared, repeat: int, kept: KeptVotes | None = None) -> Trained:
    """Split, train the teachers and let them vote; only split, with the votes kept from before."""
    streams = Streams.of(run.config.seed, repeat)
    if kept is not None:  # private features are not even put together
        votes = Votes(kept.counts, run.n_teachers)
        return Trained(split_of(run, streams), votes, kept.teacher_accuracy, kept.ceilings)
    split = split_of(run, streams)
    return join(run, split, [train_part(run, repeat, range(run.n_teachers), split)])


def train_part(run: Prepared, repeat: int, only: range, split: Split | None = None) -> Part:
    """Train some of the teachers of a repeat, who are what they would be among all; `join` joins parts."""
    streams = Streams.of(run.config.seed, repeat)
    split = split_of(run, streams) if split is None else split
    rows, y = np.arange(len(split.test.y)), split.test.y
    counts, right, failures = [], 0, teachers.Failures(0, 0, None)
    for group in _teachers(run, streams, split, only):
        votes, failed = group.votes_and_failures(split.public.X)
        counts.append(votes.counts)
        right += int(group.votes_and_failures(split.test.X)[0].counts[rows, y].sum())
        failures += failed
    return Part(np.sum(counts, axis=0), right, failures)


def join(run: Prepared, split: Split, parts: Sequence[Part]) -> Trained:
    """Give what `train` would, from parts that make up all teachers of a repeat.

    Raises
    ------
    ConfigError
        If the learner failed on every part.
    """
    reduce(add, (part.failures for part in parts)).check()
    counts: IntArray = np.sum([part.counts for part in parts], axis=0)
    right = sum(part.right for part in parts)
    return Trained(split, Votes(counts, run.n_teachers), right / len(split.test.y) / run.n_teachers)


def _teachers(
    run: Prepared, streams: Streams, split: Split, only: range | None = None
) -> Iterator[teachers.Ensemble]:
    """Train teachers, so many at a time as memory does not grow with them; all if not told which."""
    asked, n_classes = run.config.teacher, run.dataset.n_classes
    learner = learners.make_learner(asked.estimator, asked.params, seed=None, n_classes=n_classes)
    for group in teachers.batches(learner, range(run.n_teachers) if only is None else only):
        yield teachers.train(
            split.private,
            n_teachers=run.n_teachers,
            learner=learner,
            rng=deepcopy(streams.teachers),
            n_classes=n_classes,
            only=group,
            strict=False,
        )


def split_of(run: Prepared, streams: Streams) -> Split:
    """Split the data of a run, by the stream for it; a release's split is not kept for others."""
    given = {**run.config.split.shares, "release": run.config.release, "public_rows": run.public_rows}
    make = datasets.split if run.config.release else cached_split
    return make(run.dataset, rng=streams.split, **given)


def _student(run: Prepared, split: Split, released: Released, streams: Streams) -> tuple[Any, Any]:
    """Give the student, and the function that fits one like it on other answers."""
    s, rng = run.config.student, streams.student
    seed = int(rng.integers(2**31))

    def fit(labelled: Answers) -> Any:
        return students.fit_student(
            split.public,
            labelled,
            estimator=s.estimator,
            params=s.params,
            unanswered=s.unanswered,
            rng=rng,
            n_classes=run.dataset.n_classes,
            seed=seed,
        )

    return fit(released.answers) if released.model is None else released.model, fit


def _accuracy(student: Any, split: Split) -> float:
    return float(np.mean(student.predict(split.test.X) == split.test.y))


def _diagnostics(
    run: Prepared, split: Split, trained: Trained | None, answers: Answers, fit: Any
) -> dict[str, float]:
    """Figures for experiments, computed from private or held-out data: not differentially private."""
    truth = split.public_labels.y
    given = answers.labels >= 0
    points, labels = answers.asked[given], answers.labels[given]
    labelled = bool((truth >= 0).all())
    label_accuracy = float(np.mean(labels == truth[points])) if len(points) and labelled else float("nan")
    majority_class = float(np.bincount(split.test.y).max() / len(split.test.y))
    if trained is None:
        return {"label_accuracy": label_accuracy, "majority_class": majority_class}
    votes, vote = trained.votes, majority(trained.votes.counts)
    # the ceiling of this student on these public points: every label the teachers' exact vote
    student = repr((run.config.student.estimator, run.config.student.params))
    if student not in trained.ceilings:
        everything = Answers(np.arange(len(vote)), vote)
        trained.ceilings[student] = _accuracy(fit(everything), split)
    stopped = {}
    if mechanisms.picks_queries(
        run.config.mechanism.name
    ):  # the table says so where the learner stopped early
        wanted = run.sizes.budget if answers.n_chosen is None else answers.n_chosen
        stopped = {"queries_wanted": float(wanted)}
    return {
        "ceiling": trained.ceilings[student],
        "vote_agreement": float(np.mean(votes.counts.max(axis=1)) / votes.n_teachers),
        "vote_accuracy": float(np.mean(vote == truth)) if labelled else float("nan"),
        "label_accuracy": label_accuracy,
        "label_agreement": float(np.mean(labels == vote[points])) if len(points) else float("nan"),
        "teacher_accuracy": trained.teacher_accuracy,
        "majority_class": majority_class,
        **stopped,
    }
