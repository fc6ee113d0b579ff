"""The realizable-to-agnostic transformation (LWY25 Algorithms 1 and 2, A_Relabel and A_Agnostic)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pate_cli import queries
from pate_cli.checks import Flag, OneOf, Real, Whole, option
from pate_cli.errors import ConfigError, InfeasibleError
from pate_cli.learners.hypotheses import CLASSES, Dichotomies, HypothesisClass
from pate_cli.learners.hypotheses.stumps import MOST_CUTS, MOST_POINTS
from pate_cli.mechanisms.agnostic import accounting
from pate_cli.mechanisms.agnostic import options as checks
from pate_cli.mechanisms.agnostic.relabel import relabel_with_rest
from pate_cli.mechanisms.agnostic.selection import drawn, subset
from pate_cli.mechanisms.agnostic.sspp import best_hypothesis, labels_of
from pate_cli.mechanisms.agnostic.voting import Classroom, answer, student
from pate_cli.mechanisms.base import UNPROVED, Mechanism, SampledAttack, VoteMechanism
from pate_cli.mechanisms.sparse_vector import CUTOFF, SparseVector, fewest_teachers, stable_labels
from pate_cli.privacy.door import Door, Spent
from pate_cli.types import (
    Answers,
    FloatArray,
    Holdout,
    IntArray,
    PrivacyLoss,
    Private,
    PrivateRecords,
    PublicPoints,
    Released,
    Setting,
)

__all__ = ["Options", "Shares", "TransformPlan", "calibrate", "most_relabelled", "shares"]


@dataclass(frozen=True)
class Options:
    """Options of `mechanism=realizable_to_agnostic`.

    `cutoff` is of ``inner=svt``; `low`, `high` and `cells` are of ``inner=grid``; `black_box` is of the two
    others, which have delta = 0.
    """

    hypotheses: str = option("stumps", checks.HYPOTHESES)
    calibration: str = option("tight", checks.CALIBRATION)
    inner: str = option("exponential", OneOf(("exponential", "svt", "grid")))
    cutoff: int | None = option("auto", CUTOFF)
    low: float = option(-1.0, Real(-math.inf))
    high: float = option(1.0, Real(-math.inf))
    cells: int = option(1000, Whole(1, 1_000_000))
    black_box: bool = option(False, Flag())


@dataclass(frozen=True)
class Shares:
    """How the transformation divides records and budget; the arithmetic is `accounting.transformed`.

    Attributes
    ----------
    n, t : int
        Private records, and how many of them are relabelled and learnt from (T); the others are W.
    eps_in : float
        Of the exponential mechanism that relabels.
    inner_eps, inner_delta : float
        What the algorithm run on the relabelled records must satisfy.
    eps_proved, delta_proved : float
        Of the whole.
    """

    n: int
    t: int
    eps_in: float
    inner_eps: float
    inner_delta: float
    eps_proved: float
    delta_proved: float

    def relabelled(
        self, hypotheses: HypothesisClass, private: PrivateRecords, door: Door
    ) -> tuple[Any, IntArray]:
        """Draw T and relabel it by a hypothesis chosen on W. PRIVATE."""
        checks.listable_encoded(hypotheses, private.X)
        rows = subset(private.n_records, self.t, door.noise)
        outside = np.ones(private.n_records, dtype=bool)
        outside[rows] = False
        T, rest = private.X[rows], (private.X[outside], private.y[outside])
        return T, relabel_with_rest(hypotheses, T, rest, self.eps_in, door)

    def loss(self, spent: Spent, inner_eps: float, inner_delta: float, kind: str) -> PrivacyLoss:
        """(eps, delta) of the whole where the inner algorithm had (inner_eps, inner_delta)."""
        r, eps_in = self.t / self.n, math.fsum(spent.inner.elements())
        if kind == "paper":
            eps = math.log(math.exp(eps_in) + r / (1 - r) * 4 * math.exp(1 + inner_eps))
            return PrivacyLoss(eps, 4 * math.e * r * inner_delta, "relabelled by the rest (paper)")
        eps = accounting.transformed(eps_in, inner_eps, self.n, self.t)
        return PrivacyLoss(eps, r * inner_delta, "relabelled by the rest")

    def describe(self) -> dict[str, Any]:
        """Public numbers."""
        return {
            "n_relabelled": self.t,
            "eps_in": self.eps_in,
            "inner_eps": self.inner_eps,
            "inner_delta": self.inner_delta,
            "eps_proved": self.eps_proved,
            "delta_proved": self.delta_proved,
        }


def shares(eps: float, delta: float, n: int, kind: str, most: int, name: str) -> Shares:
    """Solve for the budgets inside, so that the whole is (eps, delta)-DP.

    Parameters
    ----------
    eps, delta : float
        Of the whole; delta = 0 for a pure inner algorithm.
    n : int
        Private records.
    kind : {"tight", "paper"}
        `paper`: |T| = ceil(eps_in n), an inner (1, delta/(4 e r)), and the largest eps_in whose total
        by LWY25's own proof is at most eps. `tight`: the proof in `accounting`, and the t and
        inner_eps with the smallest ``1/(eps_in |W|) + 1/(inner_eps |T|)``, to which the errors of
        the two choices are in proportion; an inner (inner_eps, delta n/t).
    most : int
        Most records that can be relabelled.
    name : str
        Of the mechanism, for messages.

    Raises
    ------
    InfeasibleError
        If nothing works with so few records.
    """
    if kind == "paper":
        eps_in = accounting.lwy25_eps_in(eps, n)
        if eps_in is None:
            needed = next(k for k in (2**i for i in range(1, 200)) if accounting.lwy25_eps_in(eps, k))
            raise InfeasibleError(
                f"mechanism={name} with calibration=paper needs about {needed} private records at "
                f"eps={eps:g} for one to be sampled, there are {n}; what would do: a larger eps"
            )
        t = accounting.lwy25_transformed(eps_in, 0.0, n)[2]
        if t > most:
            raise InfeasibleError(
                f"mechanism={name} with calibration=paper relabels {t} of {n} private records, and this "
                f"class can do {most}; what would do: mechanism.calibration=tight, a smaller split.private"
            )
        inner_delta = min(0.5, delta / (4 * math.e * t / n)) * (1 - 1e-12)
        proved, delta_proved, _ = accounting.lwy25_transformed(eps_in, inner_delta, n)
        return Shares(n, t, eps_in, 1.0, inner_delta, proved, delta_proved)
    best: Shares | None = None
    lowest = math.inf
    for t in sorted({max(1, round(n * 2 ** (-i / 4))) for i in range(4, 80)}, reverse=True):
        if t > min(most, n // 2):
            continue
        # with eps_in = 0: ln(1 + r (4 e^inner_eps - 1)) = eps
        top = accounting.before_sampled(eps, t / n) - math.log(4)
        for inner_eps in (top * i / 40 for i in range(1, 40)) if top > 0 else ():
            if 1 / (inner_eps * t) >= lowest:  # whatever eps_in may be
                continue
            eps_in = accounting.transformed_eps_in(eps, inner_eps, n, t)
            if eps_in is None:
                continue
            error = 1 / (eps_in * (n - t)) + 1 / (inner_eps * t)
            if error < lowest:
                inner_delta = min(0.5, delta * n / t) * (1 - 1e-12)
                proved = accounting.transformed(eps_in, inner_eps, n, t)
                lowest, best = (
                    error,
                    Shares(n, t, eps_in, inner_eps, inner_delta, proved, inner_delta * t / n),
                )
    if best is None:
        raise InfeasibleError(
            f"mechanism={name} cannot divide eps={eps:g} over {n} private records; what would do: "
            f"more records, or a larger eps"
        )
    return best


def most_relabelled(hypotheses: HypothesisClass, setting: Setting) -> int:
    """Most records whose dichotomies can be compared with each other in this class."""
    if hypotheses.name == "stumps":
        return min(MOST_POINTS, MOST_CUTS // max(1, setting.n_features))
    return setting.n_private - 1


@dataclass(frozen=True)
class TransformPlan(Mechanism):
    """Relabel a sample T by a hypothesis that fits the other records W, then learn it privately.

    **Guarantee.** (eps, delta)-DP for neighbours that differ in one replaced private record, n public;
    delta is 0 but with `inner=svt`. By the arithmetic of `accounting`: `paper` is LWY25 Lemma 3.1
    with the constants of its proof, ``eps = ln(e^eps_in + r/(1-r) 4 e^2)``, ``delta = 4 e r inner_delta``
    for an inner (1, inner_delta)-DP algorithm; `tight` is the sharper form proved there. The
    inner algorithm sees T in random order and nothing else, and is

    - `exponential`: one hypothesis for each labeling of the *public* points, one of them by the
      exponential mechanism on the mistakes on relabelled T: (inner_eps, 0)-DP, proper;
    - `grid`: the same over the thresholds between `cells` + 1 equally spaced values that the configuration
      names, so without a public point: (inner_eps, 0)-DP, proper;
    - `svt`: teachers of the class on disjoint parts of relabelled T, and the sparse vector
      technique over their votes on the public points (`SparseVectorSession`): (inner_eps, inner_delta)-DP;
      the student learns from the answers, so it may be improper.

    With `black_box`, `exponential` or `grid` is run at eps = 1 on `draws` draws with replacement from T, as
    any private learner whose eps is not to be chosen would be (LWY25 Lemmas 2.12 and 2.13): (inner_eps, 0)-DP
    by `accounting.black_box`, or by Lemma 2.13's own constant with `calibration=paper`.

    LWY25's Algorithm 3, A_Auxiliary, is part of a proof (their Claim 3.5 and Lemma 3.4) and is not run.

    Attributes
    ----------
    mechanism : VoteMechanism or None
        The inner sparse vector technique; None with another.
    grid : ndarray of shape (cells + 1, 1) or None
    draws : int
        Of a black box; 0 for none.

    References
    ----------
    LWY25 Algorithms 1 and 2, Lemmas 2.12, 2.13 and 3.1, Theorem 3.6.
    """

    eps: float
    delta: float
    calibration: str
    division: Shares
    classroom: Classroom = field(repr=False)
    mechanism: VoteMechanism | None
    teachers: int
    grid: FloatArray | None = field(default=None, repr=False)
    draws: int = 0

    @property
    def guarantee(self) -> PrivacyLoss:
        """(eps, delta)."""
        inner = "exponential" if self.mechanism is None else "sparse vector"
        inner += " on a grid" * (self.grid is not None) + f" on {self.draws} draws" * bool(self.draws)
        return PrivacyLoss(self.eps, self.delta, f"relabelled by the rest, then {inner} ({self.calibration})")

    def loss(self, spent: Spent) -> PrivacyLoss:
        """By the transformation, of what the inner algorithm's releases cost."""
        if not spent.only("inner", "sparse" if self.mechanism else "pure"):
            return UNPROVED
        eps, delta = spent.sparse_loss()
        if self.mechanism is None:
            eps = spent.pure_eps
            if self.draws:
                eps = accounting.black_box(eps, self.draws, self.division.t)
        return self.division.loss(spent, eps, delta, self.calibration)

    @property
    def n_teachers(self) -> int:
        """K of `inner=svt`, else 0."""
        return self.teachers

    def describe(self) -> dict[str, Any]:
        """Its public numbers."""
        own = {
            "eps": self.eps,
            "delta": self.delta,
            "calibration": self.calibration,
            "hypotheses": self.classroom.hypotheses.name,
            "n_teachers": self.teachers,
        }
        if self.draws:
            own |= {"black_box_eps": 1.0, "black_box_draws": self.draws}
        if self.mechanism is None:
            return own | self.division.describe()
        inner = {f"svt_{key}": value for key, value in self.mechanism.describe().items()}
        return own | self.division.describe() | {"ell": self.mechanism.ell} | inner

    def release(
        self, private: Private, public: PublicPoints, door: Door, rng: np.random.Generator
    ) -> Released:
        """Sample, relabel, learn."""
        records = private.records
        checks.listable_encoded(self.classroom.hypotheses, public.X)
        if self.mechanism is None:
            candidates = self.classroom.hypotheses.dichotomies(public.X if self.grid is None else self.grid)
            model = candidates.hypothesis(self.chosen(candidates, records, door))
            return Released(model, labels_of(model, public), self.guarantee)
        answers = self.answers(self.mechanism, records, public, door, rng)
        return Released(student(self.classroom.setting, public, answers, rng), answers, self.guarantee)

    def chosen(self, candidates: Dichotomies, private: PrivateRecords, door: Door) -> int:
        """Sample, relabel, and choose a candidate, with `inner=exponential` or `grid`."""
        first, second = door.spawn(2)
        T, labels = self.division.relabelled(self.classroom.hypotheses, private, first)
        if not self.draws:
            eps, mistakes = self.division.inner_eps, candidates.mistakes(T, labels)
            return int(second.exponential(-mistakes, sensitivity=1.0, eps=eps))
        drawing, choosing = second.spawn(2)
        rows = drawn(len(labels), drawing.noise, self.draws)
        mistakes = candidates.mistakes(T[rows], labels[rows])
        return int(choosing.exponential(-mistakes, sensitivity=1.0, eps=1.0))

    def answers(
        self,
        mechanism: VoteMechanism,
        private: PrivateRecords,
        public: PublicPoints,
        door: Door,
        rng: np.random.Generator,
    ) -> Answers:
        """Sample, relabel, and let teachers answer the public points, with `inner=svt`."""
        first, second = door.spawn(2)
        T, labels = self.division.relabelled(self.classroom.hypotheses, private, first)
        counts = np.ones(len(labels), dtype=np.int64)
        votes = self.classroom.votes(T, labels, counts, self.teachers, public, int(rng.integers(2**31)))
        return answer(mechanism, votes, queries.passive_order(public.n_points, rng), second)

    def measure(self, model: Any, test: Holdout) -> dict[str, float]:
        """Accuracy of the class's best hypothesis on the test split. NOT DP."""
        return best_hypothesis(self.classroom.hypotheses, test)

    def attacks(self) -> list[SampledAttack]:
        """Worst-case pairs of private sets for an audit."""
        return _attacks(self)


def calibrate(options: Options, setting: Setting) -> TransformPlan:
    """Check the options and calibrate; see `pate_cli.mechanisms.base`."""
    name = "realizable_to_agnostic"
    checks.two_classes(setting, name)
    checks.finite(setting, name)
    kind = options.calibration
    hypotheses = CLASSES[options.hypotheses]
    checks.listable(hypotheses, setting.n_public, setting, "what would do: mechanism.hypotheses=stumps")
    cutoff = options.cutoff
    checks.at_most("cutoff", cutoff, setting.n_public, "auto, or ")
    classroom = Classroom(hypotheses, setting)
    most = most_relabelled(hypotheses, setting)
    pure = options.inner != "svt"
    grid = _grid(options) if options.inner == "grid" else None
    if options.black_box and not pure:
        raise ConfigError("mechanism.black_box", True, "false with mechanism.inner=svt; true with the others")
    delta = 0.0 if pure else setting.delta
    division = shares(setting.eps, delta, setting.n_private, kind, most, name)
    if pure:
        made = TransformPlan(setting.eps, 0.0, kind, division, classroom, None, 0, grid)
        return _black_box(made, name) if options.black_box else made
    size = max(1, setting.n_private // setting.n_teachers)
    teachers = max(1, division.t // size)
    try:
        mechanism = stable_labels(
            division.inner_eps,
            division.inner_delta,
            setting.n_public,
            teachers,
            rule="tight",
            cutoff=cutoff,
        )
    except InfeasibleError as error:
        raise InfeasibleError(
            f"mechanism={name} with inner=svt cannot answer at eps={setting.eps:g}: it relabels "
            f"{division.t} of {setting.n_private} private records for {teachers} teachers and an inner "
            f"eps={division.inner_eps:.3g}; what would do: more records, a larger eps, a smaller "
            f"teacher.size, or mechanism.inner=exponential"
        ) from error
    return TransformPlan(setting.eps, setting.delta, kind, division, classroom, mechanism, teachers)


def _grid(options: Options) -> FloatArray:
    """Values that `inner=grid` puts its thresholds between: the configuration's, so public."""
    if options.hypotheses != "thresholds":
        raise ConfigError("mechanism.inner", "grid", "exponential or svt; grid with hypotheses=thresholds")
    if not options.low < options.high:
        raise ConfigError("mechanism.high", options.high, f"a number above mechanism.low={options.low:g}")
    return np.linspace(options.low, options.high, options.cells + 1)[:, None]


def _black_box(plan: TransformPlan, name: str) -> TransformPlan:
    """Take the inner learner at eps = 1, on as many draws as the budget inside allows."""
    d = plan.division
    draws = accounting.black_box_draws(1.0, d.inner_eps, d.t, plan.calibration)
    if draws < 1:
        raise InfeasibleError(
            f"mechanism={name} with black_box=true draws no record from the {d.t} relabelled at an inner "
            f"eps={d.inner_eps:.3g}; what would do: more records, a larger eps, or mechanism.black_box=false"
        )
    return replace(plan, draws=draws)


def _attacks(plan: TransformPlan) -> list[SampledAttack]:
    """Attacks for an audit.

    The lone record, with `inner=exponential`: one record is sampled, all others lie at 0 with label 1. The
    record is one of them, or lies far below them, where either label fits: label 1 there leaves one of 1001
    thresholds.

    Tied labels, with `inner=svt`: all records at one place, half of them labelled 1, and one label changed.
    Whichever label the others' hypothesis gives T, the teachers agree on it, so the answer tells it. The set
    is just large enough for the teachers that an answer needs, one record each.
    """
    if plan.mechanism is not None:
        return [SampledAttack("tied labels", lambda *which: _tied_labels(plan, *which), 1000)]

    def lone_record(neighbour: bool, rng: np.random.Generator, runs: int) -> FloatArray:
        tiny, private, public = lone(plan, neighbour)
        candidates = tiny.classroom.hypotheses.dichotomies(public.X)
        noise = Door.seeded(int(rng.integers(2**63)))
        found = [tiny.chosen(candidates, private, source) for source in noise.spawn(runs)]
        return np.array(found, dtype=float)[:, None]

    return [SampledAttack("lone record", lone_record, 20_000)]


def _tied_labels(plan: TransformPlan, neighbour: bool, rng: np.random.Generator, runs: int) -> FloatArray:
    if not isinstance(plan.mechanism, SparseVector):
        raise TypeError("not with inner=svt")
    d = plan.division
    t = min(plan.teachers, 2 * fewest_teachers(plan.mechanism.calibration))
    n = max(t + 1, math.ceil(t * d.n / d.t)) | 1  # odd: one label moves the majority
    y = (np.arange(n) <= n // 2).astype(np.int64)
    if neighbour:
        y[0] = 0
    private = PrivateRecords(np.zeros((n, 1)), y)
    tiny = replace(plan, division=replace(d, n=n, t=t), classroom=plan.classroom.of_thresholds, teachers=t)
    point = PublicPoints(np.zeros((1, 1)))
    noise = Door.seeded(int(rng.integers(2**63)))
    found = [
        tiny.answers(plan.mechanism, private, point, source, rng).labels[0] for source in noise.spawn(runs)
    ]
    return np.array(found, dtype=float)[:, None]


def lone(plan: TransformPlan, neighbour: bool) -> tuple[TransformPlan, PrivateRecords, PublicPoints]:
    """Make the plan, the records and the public points of `attacks`."""
    d, t = plan.division, 1
    if plan.draws:  # as many records as make one draw
        t = next(
            t for t in range(1, d.t + 1) if accounting.black_box_draws(1.0, d.inner_eps, t, plan.calibration)
        )
    n = max(t + 1, math.ceil(t * d.n / d.t))
    x = np.zeros((n, 1))
    x[0] = -9.0 if neighbour else 0.0
    tiny = replace(
        plan, division=replace(d, n=n, t=t), classroom=plan.classroom.of_thresholds, draws=min(plan.draws, 1)
    )
    return (
        tiny,
        PrivateRecords(x, np.ones(n, dtype=np.int64)),
        PublicPoints(np.linspace(-9.0, 0.0, 1000)[:, None]),
    )
