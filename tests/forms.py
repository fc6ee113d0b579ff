"""Every mechanism in every form that it runs in, and four checks of a run: replayed, moved, paid, drawn.

`test_every_mechanism` puts every form to them, `test_seeded_bugs` bugs.
"""

from __future__ import annotations

import functools
import math
import pickle
from collections import Counter
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from doors import Recorder

from pate_cli import features, mechanisms, teachers
from pate_cli.errors import InputError
from pate_cli.learners import make_learner
from pate_cli.mechanisms.agnostic import relabel as relabelling
from pate_cli.privacy.gaussian import vector_mu_squared
from pate_cli.privacy.noise import SeededNoise
from pate_cli.types import Private, PrivateRecords, PublicPoints, Setting, Votes

N, M, K, DELTA = 480, 12, 48, 1e-2
"""Records (or persons), public points, teachers."""

SEED = 7
"""Of a run. Mechanisms that hold records out take the first of a permutation, drawn first."""

EXTREME = (([1e39, -1e308], 1), ([1e308, 1e39], 0), ([5e-324, -0.0], 1))
"""Records that learners refuse, or that overflow or vanish: a record is any finite numbers."""

RELABELLING = ("agprivcl", "private_prediction", "realizable_to_agnostic", "universal")


@dataclass(frozen=True)
class Form:
    """A mechanism with options, on records of one kind, as an experiment runs it or as a release does."""

    name: str
    options: tuple[tuple[str, Any], ...] = ()
    exact: bool = False
    n_classes: int = 2
    sparse: bool = False
    persons: bool = False
    n_features: int = 2
    mapped: bool = False  # teachers and students see features made from public points

    def __str__(self) -> str:
        kinds = [f"{key}={value}"[:40] for key, value in self.options]
        kinds += [f"{self.n_classes} classes"] * (self.n_classes > 2)
        kinds += [kind for kind in ("exact", "sparse", "persons", "mapped") if getattr(self, kind)]
        return ", ".join([self.name, *kinds])

    @property
    def may_spend_less(self) -> bool:
        """Whether a run may ask less than it pays for, or the calibration has more noise than it needs."""
        return bool({"confidence", "calibration", "black_box", "candidates"} & dict(self.options).keys())

    @property
    def asks_once(self) -> bool:
        """Whether a single query may be answered by teachers none of whom changes."""
        return self.name == "private_prediction" and not self.options

    @functools.cached_property
    def setting(self) -> Setting:
        learner, eps = ("tree" if self.sparse else "logistic", {}), 2.0 if self.exact else 24.0
        sizes = (6, self.n_features, self.n_classes, K)
        setting = Setting(eps, DELTA, N, M, *sizes, self.sparse, learner, learner, "drop")
        features = {"features": "kernel", "teacher_mapped": True, "student_mapped": True}
        return replace(setting, **features) if self.mapped else setting

    def plan(self) -> mechanisms.Mechanism:
        """Calibrate: anew in each check, as a bug may be in that."""
        plan = mechanisms.calibrate(self.name, dict(self.options), self.setting)
        return plan.with_exact_noise() if self.exact else plan

    def _features(self, X: Any) -> Any:
        return sp.csr_matrix(X) if self.sparse else X

    @functools.cached_property
    def map(self) -> Any:
        if not self.mapped:
            return None
        return features.fit("kernel", self._public, np.random.default_rng(5), 5)

    @functools.cached_property
    def _public(self) -> Any:
        return self._features(np.random.default_rng(3).normal(size=(M, self.n_features)))

    @functools.cached_property
    def public(self) -> PublicPoints:
        return PublicPoints(self._public, features=self.map)

    def records(self, torn: bool = False, other: bool = False) -> PrivateRecords:
        """Make private records, with labels of one rule or drawn at random; or another set altogether."""
        rng = np.random.default_rng(4 + other)
        units = np.repeat(np.arange(N), rng.integers(1, 4, N)) if self.persons else None
        X = rng.normal(size=(N if units is None else len(units), self.n_features))
        y = np.argmax(np.column_stack([X[:, 0], X[:, -1], -X[:, 0]])[:, : self.n_classes], axis=1)
        y = y if self.n_features > 1 else (X[:, 0] > 0).astype(np.int64)
        if torn:
            y = rng.integers(0, self.n_classes, len(y))
        if other:
            X, y = 5.0 + 3.0 * X, (y + 1) % self.n_classes
        return PrivateRecords(self._features(X), y, units, features=self.map)

    def neighbours(self, records: PrivateRecords, extreme: bool = False) -> list[PrivateRecords]:
        """Replace one record, or all of one person by more of them, in turn.

        An extreme one is a teacher's in one of them, and held out in another where the mechanism holds any.
        """
        rows = [([1e3, -1e3], 1), ([0.0, 0.0], 0), ([-4.0, 5.0], 1)]
        # few of them are held out by `tune`
        step, times = (5, 32) if self == Form("tune") else (31, 5 if self.name in RELABELLING else 1)
        changes = list(zip(range(3, N, step), rows * times, strict=False))
        if extreme:
            dealt = np.random.default_rng(SEED).permutation(N).tolist()
            roles = (dealt[0], dealt[-1]) if self.plan().describe().get("n_holdout") else (dealt[-1],)
            changes += product(roles, EXTREME)
        return [self._replaced(records, one, row, label) for one, (row, label) in changes]

    def _replaced(self, records: PrivateRecords, one: int, row: list[float], label: int) -> PrivateRecords:
        X, y, units = records.X.toarray() if self.sparse else records.X, records.y, records.units
        where = np.flatnonzero((np.arange(N) if units is None else units) == one)
        first, last, times = int(where[0]), int(where[-1]) + 1, 1 if units is None else 40
        X = np.concatenate([X[:first], np.tile(row[: self.n_features], (times, 1)), X[last:]])
        y = np.concatenate([y[:first], np.full(times, label), y[last:]])
        if units is not None:
            units = np.concatenate([units[:first], np.full(times, one), units[last:]])
        return PrivateRecords(self._features(X), y, units, features=self.map)

    def votes(self, records: PrivateRecords) -> Votes:
        """Train the teachers of the configuration, as the pipeline does, and let them vote."""
        learner = make_learner(*self.setting.teacher, seed=None, n_classes=self.n_classes)
        rng = np.random.default_rng(1)
        given = {"learner": learner, "rng": rng, "n_classes": self.n_classes, "strict": False}
        points, seen = (side.seen(self.mapped) for side in (self.public, records))
        return teachers.train(seen, n_teachers=K, **given).votes_and_failures(points.X)[0]


OURS = [
    "active",
    "agprivcl",
    "best",
    "gaussian",
    "gnmax",
    "noisy_gd",
    "output_perturbation",
    "private_prediction",
]
OURS += ["realizable_to_agnostic", "score_boosting", "soft", "sspp", "svt", "tune", "universal"]
QUICK: dict[str, Any] = {"best": {"steps": 10}, "noisy_gd": {"steps": 5}, "score_boosting": {"rounds": 2}}
UNLIKE = (
    {"label": "logistic"},
    {"label": "svt", "mechanism": {"name": "svt"}},
    {"label": "tree", "student": {"estimator": "tree"}},
    {"label": "best", "mechanism": {"name": "best", "steps": 10}},
)
"""Candidates of three labellings, one of which has no mu."""

MANY = tuple({"label": f"{K}", "teacher": {"estimator": "logistic", "count": K}} for K in (20, 30))
"""Candidates of two labellings: at so large an eps, a random number of trials leaves each more."""

OPTIONS: list[tuple[str, dict[str, Any]]] = [
    *((name, QUICK.get(name, {})) for name in OURS),
    ("svt", {"cutoff": 2, "calibration": "liu2021"}),
    ("svt", {"cutoff": "private"}),
    ("gnmax", {"confidence": 0.6}),
    ("active", {"oracle": "svt"}),
    ("agprivcl", {"teachers": "own"}),
    ("realizable_to_agnostic", {"inner": "svt"}),
    ("realizable_to_agnostic", {"black_box": True}),
    ("realizable_to_agnostic", {"inner": "grid", "hypotheses": "thresholds"}),
    ("private_prediction", {"queries": 3}),
    ("output_perturbation", {"noise": "laplace"}),
    ("tune", {"candidates": UNLIKE}),
    ("tune", {"candidates": MANY}),
    ("noisy_histograms", {}),  # a plug-in
]
"""What each mechanism is put to, with which options."""


def _forms() -> list[Form]:
    forms = []
    for name, options in OPTIONS:
        form = Form(name, tuple(options.items()), n_features=1 if options.get("inner") == "grid" else 2)
        exact, three = _works(replace(form, exact=True)), _works(replace(form, n_classes=3))
        persons = form.plan().persons != "one record"
        kinds = list(product([False, True][: 1 + exact], [False, True], [False, True][: 1 + persons]))
        if options != QUICK.get(name, {}):
            kinds = [kinds[0], kinds[-1]]
        else:
            forms.append(replace(form, mapped=True))
        for release, sparse, of_persons in kinds:
            n_classes = 3 if sparse and three else 2
            forms.append(replace(form, exact=release, n_classes=n_classes, sparse=sparse, persons=of_persons))
    return forms


def _works(form: Form) -> bool:
    """Whether the mechanism takes such a form, or refuses it."""
    try:
        form.plan()
    except InputError:
        return False
    return True


FORMS = [pytest.param(form, id=str(form)) for form in _forms()]
"""As experiments run it, and as a release does; of two and three classes; sparse; of persons. In all
combinations with its defaults; in none and all at once with further options."""


# -- the four checks --------------------------------------------------------------------------


class Log(Counter[tuple[str, float]]):
    """How many numbers were drawn, by kind and scale: one log, also of copies of a source."""

    def __deepcopy__(self, memo: Any) -> Log:
        return self


class Logged(SeededNoise):
    """Noise that logs what is drawn, from the sources that it spawns too."""

    def __init__(self, seed: np.random.SeedSequence, drawn: Log | None = None) -> None:
        super().__init__(seed)
        self.drawn = Log() if drawn is None else drawn

    def gaussian(self, scale: float, size: int) -> Any:
        self.drawn["gaussian", scale] += size
        return super().gaussian(scale, size)

    def laplace(self, scale: float, size: int) -> Any:
        self.drawn["laplace", scale] += size
        return super().laplace(scale, size)

    def exponential(self, scale: float, size: int) -> Any:
        self.drawn["exponential", scale] += size
        return super().exponential(scale, size)

    def spawn(self, count: int) -> list[Any]:
        return [Logged(child, self.drawn) for child in self._seed.spawn(count)]


class Run:
    """One run of a form, all that passed its door, and what left. Its labels agree, or are torn."""

    def __init__(self, form: Form, torn: bool = False) -> None:
        self.form, self.torn, self.plan, self.records = form, torn, form.plan(), form.records(torn)
        self.noise = Logged(np.random.SeedSequence(5))
        self.door = Recorder(self.noise)
        self.votes = form.votes(self.records) if self.plan.asks_votes else None
        self.out = self.of(self.records, self.door, self.votes)

    def of(self, records: PrivateRecords, door: Any, votes: Votes | None = None) -> Any:
        """Run once; on the votes given, or on those of teachers trained on the records."""
        private = Private(records, lambda: votes or self.form.votes(records))
        return self.plan.release(private, self.form.public, door, np.random.default_rng(SEED))

    def again(self, records: PrivateRecords, votes: Votes | None = None) -> tuple[Any, Any]:
        """Run with other private records and the same history: what leaves, and the door."""
        door = self.door.replay(SeededNoise(np.random.SeedSequence(5)))
        return self.of(records, door, votes), door


def replayed(run: Run) -> None:
    """Nothing but what passed the door depends on private records: with others, equal bytes."""
    assert run.door.released
    out, door = run.again(run.form.records(other=True))
    first, second = (pickle.dumps((one.model, one.answers, one.spent)) for one in (run.out, out))
    assert first == second, "what leaves depends on private records"
    assert not door.history, "fewer releases than recorded"


def moved(run: Run) -> None:
    """One record, or person, moves a release by at most the sensitivity stated."""
    if "black_box" in dict(run.form.options):
        return  # of draws with replacement, whose proof is for several copies
    with pytest.MonkeyPatch.context() as patch:
        if run.form.name in RELABELLING:
            _without_relabelling(patch, run.plan)
            run = Run(run.form, run.torn)
        pairs: list[tuple[PrivateRecords, Votes | None]] = [
            (near, None) for near in run.form.neighbours(run.records, extreme=not run.torn)
        ]
        if run.votes is not None:  # and one teacher that says otherwise everywhere
            second, most = run.votes.counts.argsort(axis=1)[:, -2:].T
            for leaves, joins in ((most, second), (second, most)):
                counts = run.votes.counts.copy()
                rows = np.flatnonzero(counts[np.arange(M), leaves])
                counts[rows, leaves[rows]] -= 1
                counts[rows, joins[rows]] += 1
                pairs.append((run.records, Votes(counts, K)))
        sizes = []
        for near, votes in pairs:
            sizes.append([by for _, by in run.again(near, votes)[1].moved])
            worst = max(sizes[-1])
            assert worst <= 1 + 1e-9, f"a release is moved by {worst:.3g} of its sensitivity"
    if run.form.name == "tune" and not run.form.options:  # the choice is the last release
        assert not any(max(labels) and choice for *labels, choice in sizes), "a record on both sides"
    assert max(map(max, sizes)) > 0 or run.torn or run.form.asks_once, "nothing was moved"


def _without_relabelling(patch: pytest.MonkeyPatch, plan: Any) -> None:
    """Keep the labels, as a choice inside may move all that follows; count the records it is made from."""
    sizes = plan.describe()

    def relabel(hypotheses: Any, X: Any, y: Any, *_: Any, **__: Any) -> Any:
        assert len(y) == sizes["n_sampled"], "not as many records as the proof is for"
        return y

    def relabel_with_rest(hypotheses: Any, X: Any, rest: Any, *_: Any) -> Any:
        told = (X.shape[0], len(rest[1]))
        assert told == (sizes["n_relabelled"], N - sizes["n_relabelled"]), "not the records of the proof"
        return (np.asarray(X.todense() if sp.issparse(X) else X)[:, 0] > 0).astype(np.int64)

    patch.setattr(relabelling, "relabel", relabel)
    patch.setattr(relabelling, "relabel_with_rest", relabel_with_rest)


def paid(run: Run) -> None:
    """The releases cost, by their scales, what the door counted, and in all what is promised."""
    spent, mu_squared, pure = run.door.spent, 0.0, 0.0
    for one, _ in run.door.released:
        if one.kind == "gaussian" and one.unit is None:
            mu_squared += one.releases * (one.sensitivity / one.scale) ** 2
        elif one.kind == "gaussian":
            mu_squared += one.releases * vector_mu_squared(one.sensitivity / one.unit, one.scale / one.unit)
        elif one.kind in ("laplace", "gamma"):
            pure += one.releases * one.sensitivity / one.scale
        elif one.kind == "exponential":
            pure += one.releases * one.scale
    accounts = [spent, *spent.apart]
    counted = math.fsum(one.mu_squared for one in accounts), math.fsum(one.pure_eps for one in accounts)
    assert counted == pytest.approx((mu_squared, pure), rel=1e-12), "releases that are not counted"
    loss, promised, asked = run.plan.loss(spent), run.plan.guarantee, run.form.setting
    assert promised.eps <= asked.eps * (1 + 1e-9), "more promised than asked"
    assert promised.delta <= asked.delta * (1 + 1e-9), "more promised than asked"
    assert loss.eps <= promised.eps * (1 + 1e-9), "more spent than promised"
    assert loss.delta <= promised.delta * (1 + 1e-9), "more spent than promised"
    if trials := run.plan.describe().get("expected_trials"):
        theirs = eps_of_trials(math.sqrt(max(one.mu_squared for one in spent.apart)), trials, promised.delta)
        assert loss.eps >= theirs * (1 - 1e-3), "less counted than a random number of trials costs"
    if not run.form.may_spend_less:
        assert loss.eps >= promised.eps * (1 - 1e-6), "less spent than promised"
        assert loss.delta >= promised.delta * (1 - 1e-6), "less spent than promised"
    more = [
        replace(spent, mu_squared=spent.mu_squared + 1e4),
    ]
    more += [replace(spent, pure=spent.pure + Counter({50.0: 1}))]
    more += [replace(spent, inner=spent.inner + Counter({50.0: 1}))]
    for beside in more:
        assert run.plan.loss(beside).eps > promised.eps, "a release of another kind that costs nothing"


def eps_of_trials(mu: float, expected: float, delta: float) -> float:
    """Cost of the best of a geometric number of mu-GDP trials, by an account that shares none of our code."""
    from dp_accounting import GaussianDpEvent
    from dp_accounting.dp_event import RepeatAndSelectDpEvent
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant((1 + np.logspace(-3, 5, 1000)).tolist())
    accountant.compose(RepeatAndSelectDpEvent(GaussianDpEvent(1 / mu), expected, 1))
    return float(accountant.get_epsilon(delta))


def drawn(run: Run) -> None:
    """Each number released had noise of its own, of the scale stated."""
    wanted: Counter[tuple[str, float]] = Counter()
    used = []
    accounts = [run.door.spent, *run.door.spent.apart]
    sparse = [svt for account in accounts for svt in account.sparse]
    for one, out in run.door.released:
        step, size = one.unit or 1.0, one.value.size
        if one.kind in ("gaussian", "laplace"):
            wanted[one.kind, one.scale / step] += size
        elif one.kind == "gamma":  # a norm, and a direction
            wanted["exponential", one.scale] += size
            wanted["gaussian", 1.0] += size
        elif one.kind == "exponential":
            wanted["exponential", 1.0] += size
        elif one.kind == "above threshold" and out.reached.any():
            (of_run,) = (svt.calibration for svt in sparse)
            wanted[of_run.noise, of_run.query_scale] += size
        if one.kind in ("gaussian", "laplace", "gamma") and one.unit is None:
            used += ((out - one.value) / one.scale).ravel().tolist()
    for svt in sparse:
        draws = 1 + int(svt.below[0]) * svt.calibration.redraw
        wanted[svt.calibration.noise, svt.calibration.threshold_scale] += draws
    if trials := run.plan.describe().get("expected_trials"):
        wanted["exponential", -1 / math.log1p(-1 / trials)] += 1  # their number
    found, clocks = Counter(run.noise.drawn), ("exponential", 1.0)  # samples and inner choices draw these too
    assert found.pop(clocks, 0) >= wanted.pop(clocks, 0), "noise of another scale, or less of it, than stated"
    assert found == +wanted, "noise of another scale, or less of it, than stated"
    assert len(set(np.round(used, 9))) == len(used), "noise that was used before"
