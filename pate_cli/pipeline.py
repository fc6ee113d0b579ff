"""PATE on one page: split, teachers, labels, student, measure.

`prepare` checks everything that can be checked before training; `run_repeat` is
LZCW21 Algorithm 3 (passive queries) or 5 (active queries), once.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pate_cli import (
    aggregation,
    agnostic,
    boosting,
    datasets,
    learners,
    mechanisms,
    queries,
    references,
    students,
    teachers,
)
from pate_cli.cache import Lesson
from pate_cli.config import RunConfig
from pate_cli.errors import ConfigError
from pate_cli.mechanisms.votes import majority
from pate_cli.privacy.budget import Budget
from pate_cli.privacy.noise import Noise, SeededNoise
from pate_cli.private_learner import LearnerPlan
from pate_cli.streams import Streams
from pate_cli.types import (
    Answer,
    Answers,
    Dataset,
    IntArray,
    LabellingService,
    PrivacyLoss,
    PublicPoints,
    RepeatResult,
    Setting,
    Split,
    Votes,
)

__all__ = [
    "Outcome",
    "Prepared",
    "Released",
    "Streams",
    "Taught",
    "plan_learner",
    "prepare",
    "release",
    "run_repeat",
    "teach",
    "teaching_key",
]


@dataclass(frozen=True)
class Prepared:
    """A checked run: the data at hand, public sizes, and the calibrated mechanism or private learner.

    A release is given the rows of its public points, which its ledger keeps.
    """

    config: RunConfig
    dataset: Dataset
    sizes: datasets.SplitSizes
    n_teachers: int
    delta: float
    plan: mechanisms.LabellingPlan | LearnerPlan
    public_rows: IntArray | None = field(default=None, repr=False)


@dataclass(frozen=True, eq=False)
class Released:
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


@dataclass(frozen=True, repr=False, eq=False)
class Taught:
    """What the teachers of one repeat leave: PRIVATE, shared by mechanisms within a process.

    `teacher_accuracy` and `ceilings`, by student if known, are diagnostics: not differentially private.
    """

    split: Split
    votes: Votes
    teacher_accuracy: float
    ceilings: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What one repeat gives: numbers, the answers released, and the student."""

    result: RepeatResult
    answers: Answers
    student: Any
    encoder: Any


def prepare(config: RunConfig, dataset: Dataset) -> Prepared:
    """Check a run against its data and calibrate the mechanism, before any training.

    Raises
    ------
    InputError
        In one line, whatever cannot work: sizes, learners, an infeasible mechanism.
    """
    s, t, m = config.split, config.teacher, config.mechanism
    sizes = datasets.sizes(dataset.n_records, **vars(s))
    delta = 1 / sizes.n_private if config.delta is None else config.delta
    ell = sizes.budget if m.queries == "active" else sizes.n_public
    public = (sizes.n_private, ell, dataset.n_features, dataset.n_classes, config.eps, delta)
    auto_count = boosting.auto_count if m.name == "score_boosting" else mechanisms.auto_count
    count = auto_count(*public, rounds=m.rounds) if t.auto_count else t.count
    n_teachers = teachers.n_teachers(sizes.n_private, size=t.size, count=count)
    sparse = datasets.becomes_sparse(dataset)
    learners.check_learner(t.estimator, t.params, n_classes=dataset.n_classes, sparse=sparse)
    if config.release:  # once private records are looked at, it is too late to say that it cannot learn
        shape = (sizes.n_private // n_teachers, dataset.n_features)
        learners.check_learner(t.estimator, t.params, n_classes=dataset.n_classes, sparse=sparse, shape=shape)
    students.check_student(
        config.student.estimator, config.student.params, n_classes=dataset.n_classes, sparse=sparse
    )
    if m.labeller is None:
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
            student=(config.student.estimator, config.student.params),
            unanswered=config.student.unanswered,
        )
        learner = plan_learner(m.name, m.options, setting)
        return Prepared(config, dataset, sizes, learner.n_teachers, delta, learner)
    if m.labeller == "gaussian":
        plan: mechanisms.LabellingPlan = mechanisms.plan_gaussian(config.eps, delta, ell, dataset.n_classes)
    elif m.labeller != "svt":
        plan = mechanisms.plan_gnmax(
            m.name,
            m.options,
            eps=config.eps,
            delta=delta,
            ell=ell,
            answers=sizes.budget,
            n_teachers=n_teachers,
            n_classes=dataset.n_classes,
        )
    else:
        plan = mechanisms.plan_svt(
            config.eps, delta, ell, n_teachers, rule=m.calibration, cutoff=m.cutoff, n_records=sizes.n_private
        )
    if config.release:
        plan = mechanisms.with_integer_noise(plan, n_classes=dataset.n_classes, n_teachers=n_teachers)
    return Prepared(config, dataset, sizes, n_teachers, delta, plan)


def plan_learner(name: str, options: Mapping[str, Any], setting: Setting) -> LearnerPlan:
    """Calibrate a private learner in the room that has it."""
    rooms = (agnostic, references, aggregation, boosting)
    for room in rooms:
        if name in room.OPTIONS:
            learner: LearnerPlan = room.plan(name, options, setting)
            return learner
    raise ConfigError("mechanism.name", name, "a private learner")


def teaching_key(config: RunConfig) -> Hashable:
    """What the votes depend on: runs with equal keys may share `teach` of the same repeat."""
    t = config.teacher
    chosen_from = (config.eps, config.delta, config.mechanism) if t.auto_count else ()
    return repr((config.dataset, config.split, t, config.seed, chosen_from))


def teach(run: Prepared, repeat: int, lesson: Lesson | None = None) -> Taught:
    """Split, train the teachers and let them vote; only split, with the lesson they left before."""
    streams = Streams.of(run.config.seed, repeat)
    if lesson is not None:  # private features are not even put together
        votes = Votes(lesson.counts, run.n_teachers)
        return Taught(_split(run, streams), votes, lesson.teacher_accuracy, lesson.ceilings)
    split, ensemble = _train(run, streams)
    return Taught(split, ensemble.votes(split.public.X), ensemble.accuracy(split.test.X, split.test.y))


def _train(
    run: Prepared, streams: Streams, only: range | None = None, *, strict: bool = True
) -> tuple[Split, teachers.Ensemble]:
    config, n_classes = run.config, run.dataset.n_classes
    split = _split(run, streams)
    learner = learners.make_learner(
        config.teacher.estimator, config.teacher.params, seed=None, n_classes=n_classes
    )
    ensemble = teachers.train(
        split.private,
        n_teachers=run.n_teachers,
        learner=learner,
        rng=streams.teachers,
        n_classes=n_classes,
        only=only,
        strict=strict,
    )
    return split, ensemble


def _split(run: Prepared, streams: Streams) -> Split:
    rows = run.public_rows
    return datasets.split(run.dataset, rng=streams.split, **vars(run.config.split), public_rows=rows)


def run_repeat(run: Prepared, repeat: int, taught: Taught | None = None) -> Outcome:
    """Do one repeat.

    Parameters
    ----------
    run : Prepared
    repeat : int
        0-based; the result depends on it and on the configuration only.
    taught : Taught, optional
        Of a run with the same `teaching_key` and the same repeat; made here if left out.
    """
    if isinstance(run.plan, LearnerPlan):
        return _run_learner(run, run.plan, repeat)
    started = time.perf_counter()
    taught = taught or teach(run, repeat)
    streams = Streams.of(run.config.seed, repeat)

    budget = Budget(run.config.eps, run.delta)
    budget.spend(run.plan.guarantee)
    service = run.plan.service(SeededNoise(streams.noise))
    answers = label(run, taught.split, taught.votes, service, streams.queries)
    student, fit = _student(run, taught.split, answers, streams.student)

    result = RepeatResult(
        repeat=repeat,
        n_teachers=run.n_teachers,
        n_asked=answers.n_asked,
        n_answered=answers.n_answered,
        eps=budget.spent.eps,
        delta=run.delta,
        eps_ex_post=service.spent().eps,
        eps_odometer=service.odometer().eps,
        accuracy=_accuracy(student, taught.split),
        diagnostics=_diagnostics(run, taught, answers, fit) | getattr(service, "not_private", dict)(),
        seconds=time.perf_counter() - started,
    )
    return Outcome(result, answers, student, taught.split.encoder)


def _run_learner(run: Prepared, plan: LearnerPlan, repeat: int) -> Outcome:
    """Do one repeat of a private learner: split, learn, measure."""
    started = time.perf_counter()
    streams = Streams.of(run.config.seed, repeat)
    split = _split(run, streams)
    budget = Budget(run.config.eps, run.delta)
    budget.spend(plan.guarantee)
    learnt = plan.learn(split.private, split.public, SeededNoise(streams.noise), streams.teachers)
    answers = learnt.answers
    given = answers.labels >= 0
    labelled = split.public_labels.y[answers.asked[given]]
    diagnostics = {
        "label_accuracy": float(np.mean(answers.labels[given] == labelled)) if given.any() else float("nan"),
        "majority_class": _majority_class(split),
    }
    result = RepeatResult(
        repeat=repeat,
        n_teachers=run.n_teachers,
        n_asked=answers.n_asked,
        n_answered=answers.n_answered,
        eps=budget.spent.eps,
        delta=run.delta,
        eps_ex_post=learnt.spent.eps,
        eps_odometer=budget.spent.eps,
        accuracy=_accuracy(learnt.model, split),
        diagnostics=diagnostics | plan.measure(learnt.model, split.test),
        seconds=time.perf_counter() - started,
    )
    return Outcome(result, answers, learnt.model, split.encoder)


def release(
    run: Prepared, streams: Streams, noise: Callable[[], Noise], charge: Callable[[PrivacyLoss], None]
) -> Released:
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
    if isinstance(run.plan, LearnerPlan):
        raise RuntimeError("a private learner in a release")
    budget = Budget(run.config.eps, run.delta)
    budget.spend(run.plan.guarantee)
    charge(run.plan.guarantee)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # made from private records
            split, ensemble = _train(run, streams, strict=False)
            votes = ensemble.votes(split.public.X)
    except Exception:  # whatever it is, its message may quote a record
        raise RuntimeError("no votes (why may be private)") from None
    service = run.plan.service(noise())
    answers = label(run, split, votes, service, streams.queries)
    try:
        student, problem = _student(run, split, answers, streams.student)[0], None
    except ConfigError as error:  # the answers are paid for, and public
        student, problem = None, str(error)
    return Released(split.public, answers, student, split.encoder, service.spent(), problem)


def label(
    run: Prepared, split: Split, votes: Votes, service: LabellingService, rng: np.random.Generator
) -> Answers:
    """Ask the mechanism about public points: all of them, or those the active learner picks.

    Only `service` sees votes; the active learner gets a function that asks for one label.
    """
    answers = _asked(run, split, votes, service, rng)
    sigma = None if answers.noisy_counts is None else getattr(run.plan, "sigma", None)
    return replace(answers, sigma=sigma, n_teachers=run.n_teachers)


def _asked(
    run: Prepared, split: Split, votes: Votes, service: LabellingService, rng: np.random.Generator
) -> Answers:
    order = queries.passive_order(split.public.n_points, rng)
    m = run.config.mechanism
    if m.queries == "passive":
        return queries.collect(order, service.answer_all(votes.at(order)))
    n_classes = run.dataset.n_classes

    def ask(index: int) -> Answer:
        return service.answer(votes.at(index))

    def spent() -> bool:
        return service.exhausted

    def make_learner() -> Any:
        return learners.make_learner("logistic", {}, seed=None, n_classes=n_classes)

    if m.queries == "confident":
        return queries.ask_confident_first(split.public, order, ask, spent, make_learner)
    learner = queries.ActiveLearner(split.public, n_classes, m.mellowness)
    fill = rng if m.fill else None
    return queries.ask_actively(learner, order, ask, budget=run.sizes.budget, spent=spent, fill=fill)


def _student(run: Prepared, split: Split, answers: Answers, rng: np.random.Generator) -> tuple[Any, Any]:
    """The student, and the function that fits one like it on other answers."""
    s = run.config.student
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

    return fit(answers), fit


def _accuracy(student: Any, split: Split) -> float:
    return float(np.mean(student.predict(split.test.X) == split.test.y))


def _majority_class(split: Split) -> float:
    return float(np.bincount(split.test.y).max() / len(split.test.y))


def _diagnostics(run: Prepared, taught: Taught, answers: Answers, fit: Any) -> dict[str, float]:
    """Figures for experiments, computed from private or held-out data: not differentially private."""
    split, votes = taught.split, taught.votes
    truth, vote = split.public_labels.y, majority(votes.counts)
    given = answers.labels >= 0
    points, labels = answers.asked[given], answers.labels[given]
    # the ceiling of this student on these public points: every label the teachers' exact vote
    student = repr((run.config.student.estimator, run.config.student.params))
    if student not in taught.ceilings:
        everything = Answers(np.arange(len(vote)), vote)
        taught.ceilings[student] = _accuracy(fit(everything), split)
    stopped = {}
    if run.config.mechanism.queries == "active":  # the table says so where the learner stopped early
        wanted = run.sizes.budget if answers.n_chosen is None else answers.n_chosen
        stopped = {"queries_wanted": float(wanted)}
    return {
        "ceiling": taught.ceilings[student],
        "vote_agreement": float(np.mean(votes.counts.max(axis=1)) / votes.n_teachers),
        "vote_accuracy": float(np.mean(vote == truth)),
        "label_accuracy": float(np.mean(labels == truth[points])) if len(points) else float("nan"),
        "label_agreement": float(np.mean(labels == vote[points])) if len(points) else float("nan"),
        "teacher_accuracy": taught.teacher_accuracy,
        "majority_class": _majority_class(split),
        **stopped,
    }
