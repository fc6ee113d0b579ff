"""The realizable-to-agnostic transformation (LWY25 Algorithms 1 and 2, A_Relabel and A_Agnostic)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pate_cli.checks import Flag, OneOf, Real, Whole, option
from pate_cli.errors import ConfigError, InfeasibleError
from pate_cli.learners.hypotheses import Dichotomies
from pate_cli.mechanisms.agnostic import accounting, common, relabel, shares
from pate_cli.mechanisms.base import UNPROVED, Mechanism, Relabelling, SampledAttack
from pate_cli.mechanisms.sparse_vector import CUTOFF, SparseVector, fewest_teachers, stable_labels
from pate_cli.privacy.above_threshold import AboveThreshold
from pate_cli.privacy.door import Door
from pate_cli.privacy.events import Account, Inner, Pure
from pate_cli.privacy.kinds import ExponentialChoice
from pate_cli.types import (
    Answers,
    FloatArray,
    Holdout,
    PrivacyLoss,
    Private,
    PrivateRecords,
    PublicPoints,
    Released,
    Setting,
)

__all__ = ["Options", "RealizableToAgnostic", "calibrate"]


@dataclass(frozen=True)
class Options(common.HypothesisOptions):
    """Options of `mechanism=realizable_to_agnostic`.

    `cutoff` is of ``inner=svt``; `low`, `high` and `cells` are of ``inner=grid``; `black_box` is of the two
    others, which have delta = 0.
    """

    checked = (
        {"inner": "svt"},
        {"black_box": True},
        {"inner": "grid", "hypotheses": "thresholds"},
    )

    hypotheses: str = option("stumps", common.EXTENDING)
    calibration: str = option("tight", common.CALIBRATION)
    inner: str = option("exponential", OneOf(("exponential", "svt", "grid")))
    cutoff: int | None = option("auto", CUTOFF)
    low: float = option(-1.0, Real(-math.inf))
    high: float = option(1.0, Real(-math.inf))
    cells: int = option(1000, Whole(1, 1_000_000))
    black_box: bool = option(False, Flag())


@dataclass(frozen=True)
class RealizableToAgnostic(Mechanism):
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
    """

    eps: float
    delta: float
    division: shares.Shares
    classroom: common.Classroom = field(repr=False)
    mechanism: SparseVector | None  # the inner sparse vector technique
    n_teachers: int = field(default=0, kw_only=True)  # K of `inner=svt`, else 0
    grid: FloatArray | None = field(default=None, repr=False)
    draws: int = 0  # of a black box

    @property
    def guarantee(self) -> PrivacyLoss:
        """(eps, delta)."""
        inner = "exponential" if self.mechanism is None else "sparse vector"
        inner += " on a grid" * (self.grid is not None) + f" on {self.draws} draws" * bool(self.draws)
        return PrivacyLoss(
            self.eps, self.delta, f"relabelled by the rest, then {inner} ({self.division.calibration})"
        )

    @property
    def spends_all(self) -> bool:
        """See `Mechanism`."""
        return not self.draws

    @property
    def draws_copies(self) -> bool:
        """See `Mechanism`."""
        return self.draws > 0

    def loss(self, spent: Account) -> PrivacyLoss:
        """By the transformation, from the cost of the inner algorithm's releases."""
        if not spent.only(Inner, AboveThreshold if self.mechanism else Pure):
            return UNPROVED
        eps, delta = AboveThreshold.compose(spent)
        if self.mechanism is None:
            eps = Pure.sum(spent)
            if self.draws:
                eps = accounting.black_box(eps, self.draws, self.division.t)
        return self.division.loss(spent, eps, delta)

    @property
    def relabelling(self) -> Relabelling | None:
        """See `Mechanism`."""
        return Relabelling(relabel.relabel_with_rest, self.division.t)

    @property
    def asks_at_most(self) -> int | None:
        """See `Mechanism`."""
        return self.mechanism.ell if self.mechanism else None

    def describe(self) -> dict[str, Any]:
        """Its public numbers."""
        numbers = {
            "eps": self.eps,
            "delta": self.delta,
            "calibration": self.division.calibration,
            "hypotheses": self.classroom.hypotheses.name,
            "n_teachers": self.n_teachers,
        }
        if self.draws:
            numbers |= {"black_box_eps": 1.0, "black_box_draws": self.draws}
        if self.mechanism is None:
            return numbers | self.division.describe()
        inner = {f"svt_{key}": value for key, value in self.mechanism.describe().items()}
        return numbers | self.division.describe() | {"ell": self.mechanism.ell} | inner

    def release(
        self, private: Private, public: PublicPoints, door: Door, rng: np.random.Generator
    ) -> Released:
        """LWY25 Algorithm 2: relabel T by the rest, and learn it by the inner algorithm."""
        hypotheses, S = self.classroom.hypotheses, private.records
        common.listable_encoded(hypotheses, public.X)
        if self.mechanism is None:
            candidates = hypotheses.dichotomies(public.X if self.grid is None else self.grid)
            h = candidates.hypothesis(self.chosen(candidates, S, door))
            return Released(h, common.labels_of(h, public))
        answers = self.answers(self.mechanism, S, public, door, rng)
        model = self.classroom.student(public, answers, rng)
        return Released(model, answers)

    def chosen(self, candidates: Dichotomies, S: PrivateRecords, door: Door) -> int:
        """Sample, relabel, and choose a candidate, with `inner=exponential` or `grid`."""
        relabelling, second = door.spawn(2)
        T, labels = self.division.relabelled(self.classroom.hypotheses, S, relabelling)
        if not self.draws:
            eps, mistakes = self.division.inner_eps, candidates.mistakes(T, labels)
            return int(second.release(-mistakes, ExponentialChoice(sensitivity=1.0, eps=eps)))
        drawing, choosing = second.spawn(2)
        rows = relabel.drawn(len(labels), drawing.noise, self.draws)
        mistakes = candidates.mistakes(T[rows], labels[rows])
        return int(choosing.release(-mistakes, ExponentialChoice(sensitivity=1.0, eps=1.0)))

    def answers(
        self,
        mechanism: SparseVector,
        S: PrivateRecords,
        public: PublicPoints,
        door: Door,
        rng: np.random.Generator,
    ) -> Answers:
        """Sample, relabel, and let teachers answer the public points, with `inner=svt`."""
        relabelling, second = door.spawn(2)
        T, labels = self.division.relabelled(self.classroom.hypotheses, S, relabelling)
        once = np.ones(len(labels), dtype=np.int64)
        votes = self.classroom.votes(T, labels, once, self.n_teachers, public, int(rng.integers(2**31)))
        return common.answer(mechanism, votes, rng.permutation(public.n_points), second)

    def measure(self, model: Any, test: Holdout) -> dict[str, float]:
        """Accuracy of the class's best hypothesis on the test split. NOT DP."""
        return common.best_hypothesis(self.classroom.hypotheses, test)

    def attacks(self) -> list[SampledAttack]:
        """Worst-case pairs of private sets for an audit."""
        if self.mechanism is not None:
            return [self._tied_labels(self.mechanism)]
        return [self._lone_record()]

    def _lone_record(self) -> SampledAttack:
        """One record is sampled; label 1 far below the others leaves one of 1001 thresholds."""
        t = 1
        while self.draws and not replace(self.division, t=t).black_box_draws:
            t += 1  # until the black box draws one record
        tiny = self._on(max(t + 1, math.ceil(t * self.division.n / self.division.t)), t)
        tiny = replace(tiny, draws=min(self.draws, 1))
        candidates = tiny.classroom.hypotheses.dichotomies(np.linspace(-9.0, 0.0, 1000)[:, None])

        def chosen(private: PrivateRecords, door: Door, rng: np.random.Generator, runs: int) -> Any:
            return [tiny.chosen(candidates, private, each) for each in door.spawn(runs)]

        return SampledAttack.on("lone record", common.lone_record(tiny.division.n), chosen, 20_000)

    def _tied_labels(self, mechanism: SparseVector) -> SampledAttack:
        """The hypothesis of the rest labels all of T alike, so all teachers agree, and the answer reveals it.

        The set is just large enough for the teachers that an answer needs, one record each.
        """
        t = min(self.n_teachers, 2 * fewest_teachers(mechanism.calibration))
        n = max(t + 1, math.ceil(t * self.division.n / self.division.t)) | 1  # odd: one label is the majority
        tiny, point = replace(self._on(n, t), n_teachers=t), PublicPoints(np.zeros((1, 1)))

        def labels(private: PrivateRecords, door: Door, rng: np.random.Generator, runs: int) -> Any:
            return [tiny.answers(mechanism, private, point, each, rng).labels for each in door.spawn(runs)]

        return SampledAttack.on("tied labels", common.tied_labels(n, n // 2 + 1), labels, 1000)

    def _on(self, n: int, t: int) -> RealizableToAgnostic:
        """The same for thresholds, on n private records of which t are relabelled."""
        division = replace(self.division, n=n, t=t)
        return replace(self, division=division, classroom=self.classroom.of_thresholds)


def calibrate(options: Options, setting: Setting) -> RealizableToAgnostic:
    """Check the options and calibrate; see `pate_cli.mechanisms.base`."""
    name, eps = "realizable_to_agnostic", setting.eps
    hypotheses = common.chosen_class(options.hypotheses, setting, name)
    common.listable(hypotheses, setting.n_public, setting, "what would do: mechanism.hypotheses=stumps")
    classroom = common.Classroom(hypotheses, setting)
    pure = options.inner != "svt"
    grid = _grid(options) if options.inner == "grid" else None
    if options.black_box and not pure:
        raise ConfigError("mechanism.black_box", True, "false with mechanism.inner=svt; true with the others")
    delta = 0.0 if pure else setting.delta
    d = shares.divide(options.calibration, delta, hypotheses, setting, name)
    if pure:
        draws = d.black_box_draws if options.black_box else 0
        if options.black_box and draws < 1:
            raise InfeasibleError(
                f"mechanism={name} with black_box=true draws no record from the {d.t} relabelled at an inner "
                f"eps={d.inner_eps:.3g}; what would do: more records, a larger eps, or "
                f"mechanism.black_box=false"
            )
        return RealizableToAgnostic(eps, 0.0, d, classroom, None, grid, draws)
    teachers = max(1, d.t // max(1, setting.n_private // setting.n_teachers))
    try:
        mechanism = stable_labels(
            d.inner_eps, d.inner_delta, setting.n_public, teachers, rule="tight", cutoff=options.cutoff
        )
    except InfeasibleError as error:
        raise InfeasibleError(
            f"mechanism={name} with inner=svt cannot answer at eps={eps:g}: it relabels "
            f"{d.t} of {setting.n_private} private records for {teachers} teachers and an inner "
            f"eps={d.inner_eps:.3g}; what would do: more records, a larger eps, a smaller "
            f"teacher.size, or mechanism.inner=exponential"
        ) from error
    return RealizableToAgnostic(eps, setting.delta, d, classroom, mechanism, n_teachers=teachers)


def _grid(options: Options) -> FloatArray:
    """Values that `inner=grid` puts its thresholds between: the configuration's, so public."""
    if options.hypotheses != "thresholds":
        raise ConfigError("mechanism.inner", "grid", "exponential or svt; grid with hypotheses=thresholds")
    if not options.low < options.high:
        raise ConfigError("mechanism.high", options.high, f"a number above mechanism.low={options.low:g}")
    return np.linspace(options.low, options.high, options.cells + 1)[:, None]
