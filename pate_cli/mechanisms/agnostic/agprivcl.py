"""AgPrivCl (NB20 Algorithm 3): relabel a sample of the private records, then sparse vector over teachers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pate_cli.checks import OneOf, Real, option
from pate_cli.errors import ConfigError, InfeasibleError
from pate_cli.mechanisms.agnostic import accounting, common, printed, relabel
from pate_cli.mechanisms.base import UNPROVED, Mechanism, Relabelling, SampledAttack
from pate_cli.mechanisms.sparse_vector import CUTOFF, SparseVector, fewest_teachers, stable_labels
from pate_cli.privacy import svt
from pate_cli.privacy.above_threshold import AboveThreshold
from pate_cli.privacy.door import Door
from pate_cli.privacy.events import Account, Inner, Pure
from pate_cli.types import (
    Answers,
    Holdout,
    IntArray,
    PrivacyLoss,
    Private,
    PrivateRecords,
    PublicPoints,
    Released,
    Setting,
)

__all__ = ["AgPrivCl", "Options", "calibrate"]


@dataclass(frozen=True)
class Options(common.HypothesisOptions):
    """Options of `mechanism=agprivcl`."""

    checked = ({"teachers": "own"},)

    hypotheses: str = option("stumps", common.HYPOTHESES)
    calibration: str = option("tight", common.CALIBRATION)
    teachers: str = option("class", OneOf(("class", "own")))
    relabel_eps: float = option(1.0, Real(0, 50))
    cutoff: int | None = option("auto", CUTOFF)
    alpha: float = option(0.1, common.FRACTION)
    beta: float = option(0.05, common.FRACTION)


@dataclass(frozen=True)
class AgPrivCl(Mechanism):
    """Sample, relabel, resample, and answer public points by the sparse vector technique.

    **Guarantee.** (eps, delta)-DP for neighbours that differ in one replaced private record, n
    public, for all public points. From the inside out: the sparse vector technique over
    disjoint teachers is (svt_eps, svt_delta)-DP in the records it is run on (`SparseVectorSession`);
    resampling with replacement, relabelling, and sampling n' of n without replacement follow,
    each proved in `pate_cli.mechanisms.agnostic.accounting`. With ``p = 1 - (1 - 1/n')^n'``:

    - `tight`: all copies of a resampled record go to one teacher;
      ``eps = ln(1 + n'/n (e^(svt_eps + 2 ln(1 + e^(relabel_eps/2))) - 1))`` and
      ``delta = n'/n p svt_delta``, with equality; n' is where ``n' svt_eps`` is largest.
    - `paper`: Algorithm 3 as printed: ``n' = eps n/56``, T (rounded up), svt_eps and svt_delta, the sample
      dealt to teachers as it was drawn, the copies of a record to any of them, and the test of the margin
      ``n1 - n2`` of Algorithm 5. Lemma 8 takes that test to be (svt_eps, svt_delta)-DP, and its proof
      does not hold, as one vote moves the margin by 2. `printed.proved` does hold;
      from there the paper's steps, group privacy for ``ln(2/delta)`` copies, and the exact ones for
      relabelling and sampling yield `eps_proved` and `delta_proved`. It is refused unless these are at
      most eps and delta, the claim: for delta near 0.1 and above a record has more copies with
      probability above delta/2, which Lemma 8 overlooks too.

    See NB20 Algorithm 3, Lemma 8, Theorem 7.
    """

    eps: float
    delta: float
    calibration: str
    n_private: int  # n
    n_sampled: int  # n'
    relabel_eps: float  # eps~ of the exponential mechanism that relabels
    mechanism: SparseVector  # for all public points
    classroom: common.Classroom = field(repr=False)
    n_teachers: int = field(default=0, kw_only=True)  # K, at most
    assumed: dict[str, float] = field(repr=False, default_factory=dict)  # of `paper`, for its accuracy

    @property
    def guarantee(self) -> PrivacyLoss:
        """(eps, delta) for all public points."""
        return PrivacyLoss(self.eps, self.delta, f"sampled, relabelled, sparse vector ({self.calibration})")

    @property
    def proved(self) -> tuple[float, float]:
        """(eps, delta) by the exact steps: at most the claim, in `tight` equal to it."""
        c = self.mechanism.calibration
        return self._composed((c.eps, c.delta), self.relabel_eps)

    def loss(self, spent: Account) -> PrivacyLoss:
        """Sparse vector, resampled, relabelled, sampled: from the noise that it had."""
        paper, c = self.calibration == "paper", self.mechanism.calibration
        runs = list(spent.of(AboveThreshold))
        if not spent.only(AboveThreshold, Inner) or (paper and [run.calibration for run in runs] != [c]):
            return UNPROVED
        total = self._composed(AboveThreshold.compose(spent), Pure.sum(spent.inner))
        return PrivacyLoss(*total, "sampled, relabelled, sparse vector" + " (paper)" * paper)

    def _composed(self, sparse: tuple[float, float], relabel_eps: float) -> tuple[float, float]:
        """(eps, delta) of the whole, from that of the sparse vector technique out."""
        n_sampled, n, c = self.n_sampled, self.n_private, self.mechanism.calibration
        if self.calibration == "paper":
            return printed.loss(c, self.delta, relabel_eps, n_sampled, n_sampled / n)
        return accounting.agprivcl(*sparse, relabel_eps, n_sampled, n)

    @property
    def relabelling(self) -> Relabelling | None:
        """See `Mechanism`."""
        return Relabelling(relabel.relabel, self.n_sampled)

    @property
    def asks_at_most(self) -> int:
        """See `Mechanism`."""
        return self.mechanism.ell

    def describe(self) -> dict[str, Any]:
        """Its public numbers; those of the sparse vector technique begin with `svt_`."""
        eps_proved, delta_proved = self.proved
        numbers = {
            "eps": self.eps,
            "delta": self.delta,
            "eps_proved": eps_proved,
            "delta_proved": delta_proved,
            "calibration": self.calibration,
            "hypotheses": self.classroom.hypotheses.name,
            "n_sampled": self.n_sampled,
            "relabel_eps": self.relabel_eps,
            "n_teachers": self.n_teachers,
            "ell": self.mechanism.ell,
        }
        return (
            numbers | self.assumed | {f"svt_{key}": value for key, value in self.mechanism.describe().items()}
        )

    def unanswered(self) -> str | None:
        """As of the sparse vector technique; see `Mechanism`."""
        return self.mechanism.unanswered()

    def release(
        self, private: Private, public: PublicPoints, door: Door, rng: np.random.Generator
    ) -> Released:
        """Answer the public points in random order, and fit the student on the answers."""
        order = rng.permutation(public.n_points)
        answers = self.answers(private.records, public, order, door, rng)
        model = self.classroom.student(public, answers, rng)
        return Released(model, answers)

    def answers(
        self,
        S: PrivateRecords,
        public: PublicPoints,
        order: IntArray,
        door: Door,
        rng: np.random.Generator,
    ) -> Answers:
        """NB20 Algorithm 3: sample n' of S, relabel, resample, answer points in `order` by votes."""
        common.listable_encoded(self.classroom.hypotheses, public.X)
        choices, votes_door = door.spawn(2)
        rows = relabel.subset(S.n_records, self.n_sampled, choices.noise)
        X, y = S.X[rows], S.y[rows]
        y = relabel.relabel(self.classroom.hypotheses, X, y, choices, relabel_eps=self.relabel_eps)
        seed = int(rng.integers(2**31))
        copies = relabel.drawn(self.n_sampled, choices.noise, self.n_sampled)
        if self.calibration == "paper":
            votes = self.classroom.votes_as_drawn(X, y, copies, self.n_teachers, public, seed)
        else:
            counts = np.bincount(copies, minlength=self.n_sampled)
            votes = self.classroom.votes(X, y, counts, self.n_teachers, public, seed)
        return common.answer(self.mechanism, votes, order, votes_door)

    def measure(self, model: Any, test: Holdout) -> dict[str, float]:
        """Accuracy of the class's best hypothesis on the test split. NOT DP."""
        return common.best_hypothesis(self.classroom.hypotheses, test)

    def attacks(self) -> list[SampledAttack]:
        """Tied labels: all records at one place, half of them labelled 1, and one label changed.

        Whichever label the relabelling picks, the teachers agree on it, so the answer tells it. The set is
        just large enough for the teachers that an answer needs, one record each; its sampled share is at
        most that of the whole mechanism.
        """
        teachers = min(self.n_teachers, 2 * fewest_teachers(self.mechanism.calibration))
        n = math.ceil(teachers * self.n_private / self.n_sampled)
        classroom = self.classroom.of_thresholds
        tiny = replace(self, n_private=n, n_sampled=teachers, n_teachers=teachers, classroom=classroom)
        point, order = PublicPoints(np.zeros((1, 1))), np.zeros(1, dtype=np.int64)

        def labels(private: PrivateRecords, door: Door, rng: np.random.Generator, runs: int) -> Any:
            return [tiny.answers(private, point, order, each, rng).labels for each in door.spawn(runs)]

        runs = min(2000, 200 + 200_000 // teachers)
        return [SampledAttack.on("tied labels", common.tied_labels(n, n // 2), labels, runs)]


def calibrate(options: Options, setting: Setting, name: str = "agprivcl") -> AgPrivCl:
    """Check the options and calibrate; see `pate_cli.mechanisms.base`."""
    hypotheses = common.chosen_class(options.hypotheses, setting, name)
    classroom = common.Classroom(hypotheses, setting, uses_estimator=options.teachers == "own")
    if options.calibration == "paper":
        mechanism = _paper(setting, classroom, options.alpha, options.beta)
    else:
        mechanism = _tight(setting, classroom, options.relabel_eps, options.cutoff, name)
    common.listable(hypotheses, mechanism.n_sampled, setting, "what would do: mechanism.hypotheses=stumps")
    return mechanism


def _tight(
    setting: Setting, classroom: common.Classroom, relabel_eps: float, cutoff: int | None, name: str
) -> AgPrivCl:
    from scipy.optimize import minimize_scalar

    eps, delta, n, ell = setting.eps, setting.delta, setting.n_private, setting.n_public
    free = accounting.relabelled(0.0, 0.0, relabel_eps)[0]  # cost of relabelling by itself

    def svt_eps(rate: float) -> float:
        return float(accounting.before_sampled(eps, rate) - free)

    # n' where n' svt_eps is largest
    most = min(1.0, math.expm1(eps) / math.expm1(free))  # at this rate nothing is left
    best = minimize_scalar(
        lambda rate: -rate * svt_eps(rate),
        bounds=(min(1e-9, most / 2), most),
        method="bounded",
        options={"xatol": 1e-6},
    )
    sampled = max(1, math.floor(n * float(best.x)))
    rate = sampled / n
    inner = svt_eps(rate) * (1 - 1e-12)
    svt_delta = min(0.5, delta / (rate * accounting.share_drawn(sampled))) * (1 - 1e-12)
    size = max(1, n // setting.n_teachers)
    teachers = max(1, sampled // size)

    def refused(ways: str) -> InfeasibleError:
        return InfeasibleError(
            f"mechanism={name} cannot answer at eps={eps:g}: it relabels {sampled} of {n} private records "
            f"and its sparse vector has eps={inner:.3g} and {teachers} teachers of {size} records; "
            f"what would do: {ways}"
        )

    if inner <= 0:
        raise refused("a larger eps, or a smaller mechanism.relabel_eps")
    try:
        mechanism = stable_labels(inner, svt_delta, ell, teachers, rule="tight", cutoff=cutoff)
    except InfeasibleError as error:
        needed = fewest_teachers(svt.calibrate("tight", inner, svt_delta, ell, cutoff or 1))
        smaller = f", or teacher.size={sampled // needed}" if sampled >= needed else ""
        raise refused(
            f"{math.ceil(needed * size / rate)} private records, or a larger eps{smaller}"
        ) from error
    return AgPrivCl(eps, delta, "tight", n, sampled, relabel_eps, mechanism, classroom, n_teachers=teachers)


def _paper(setting: Setting, classroom: common.Classroom, alpha: float, beta: float) -> AgPrivCl:
    eps, delta, n, m = setting.eps, setting.delta, setting.n_private, setting.n_public
    if eps > 1:
        raise ConfigError("eps", eps, "at most 1 with mechanism.calibration=paper (NB20 Theorem 7)")
    p = printed.published(eps, delta, n, m, alpha, beta)
    vc = classroom.hypotheses.vc_dimension(setting.n_features)
    theorem = printed.records_of_theorem_7(eps, delta, m, alpha, beta, vc)
    sampled, teachers, cutoff = math.floor(p["n_sampled"]), math.ceil(p["teachers"]), math.ceil(p["cutoff"])
    if sampled < teachers or cutoff > m:
        raise InfeasibleError(
            f"mechanism.calibration=paper needs {math.ceil(56 / eps * teachers):.4g} private records to give "
            f"each of its {teachers} teachers one (there are {n}), and {theorem:.3g} for NB20's accuracy "
            f"alpha={alpha:g}; what would do: mechanism.calibration=tight"
        )
    calibration = svt.calibrate("bassily2018", p["svt_eps"], p["svt_delta"], m, cutoff)
    mechanism = AgPrivCl(
        *(eps, delta, "paper", n, sampled, 1.0, printed.PrintedSvt(calibration, ell=m), classroom),
        assumed={"alpha": alpha, "beta": beta, "records_of_theorem_7": theorem},
        n_teachers=teachers,
    )
    eps_proved, delta_proved = mechanism.proved
    if eps_proved > eps or delta_proved > delta:
        raise ConfigError("delta", delta, "a smaller number: NB20's Lemma 8 does not hold at this one")
    return mechanism
