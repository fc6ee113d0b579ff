"""What holds of every mechanism there is: options, guarantee, what is shown, and odd data."""

from __future__ import annotations

import copy
import dataclasses
import functools
import json
import math
import pickle
from pathlib import Path

import forms
import numpy as np
import pytest
import scipy.sparse as sp
import yaml
from sklearn.base import BaseEstimator, ClassifierMixin

import pate_cli
from pate_cli import mechanisms, teachers
from pate_cli.errors import ConfigError, InputError
from pate_cli.learners import make_learner
from pate_cli.mechanisms.base import Mechanism, SampledAttack
from pate_cli.mechanisms.votes import VoteAttack
from pate_cli.privacy.door import Door
from pate_cli.types import Private, PrivateRecords, PublicPoints, Setting

CONF = Path(pate_cli.__file__).parents[1] / "conf" / "mechanism"
OURS = sorted(path.stem for path in CONF.glob("*.yaml"))


class Refusing(ClassifierMixin, BaseEstimator):
    """Fails on private records alone, or later, in `predict`: the public points of `forms` are other rows."""

    def __init__(self, late=False):
        self.late = late

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        if not self.late:
            raise KeyError("a record")
        return self

    def predict(self, X):
        raise SystemExit("a record")


EPS, DELTA, N, M, K = 24.0, 1e-2, 480, 12, 48
NOISY = ("agprivcl", "gnmax", "private_prediction", "realizable_to_agnostic", "universal")
"""Have nothing to calibrate at eps = inf."""

TWO = ("agprivcl", "private_prediction", "realizable_to_agnostic", "soft", "sspp", "universal")
RELEASED = ("gaussian", "active", "svt", "best", "noisy_gd", "score_boosting", "tune")
PERSONS = ("gaussian", "svt", "gnmax", "active", "soft", "best", "noisy_gd", "tune")
"""Those of two classes only; with a form for releases; given all records of persons. `forms` asks them."""


def setting(**changes):
    learner = ("logistic", {})
    usual = Setting(EPS, DELTA, N, M, 6, 2, 2, K, False, learner, learner, "drop")
    return dataclasses.replace(usual, **changes)


@functools.cache
def made(name, **changes):
    return mechanisms.calibrate(name, forms.QUICK.get(name, {}), setting(**changes))


@functools.cache
def data(n_classes=2, only=None, sparse=False):
    """Records and public points; all records of class `only` where that is given."""
    rng = np.random.default_rng(3)
    X, P = rng.normal(size=(N, 2)), rng.normal(size=(M, 2))
    y = np.argmax(np.column_stack([X[:, 0], X[:, 1], -X[:, 0]])[:, :n_classes], axis=1)
    y = y if only is None else np.full(N, only)
    X, P = (sp.csr_matrix(X), sp.csr_matrix(P)) if sparse else (X, P)
    return PrivateRecords(X, y), PublicPoints(P)


@functools.cache
def votes(**kind):
    records, public = data(**kind)
    n_classes = kind.get("n_classes", 2)
    learner = make_learner("logistic", {}, seed=None, n_classes=n_classes)
    rng = np.random.default_rng(1)
    ensemble = teachers.train(records, n_teachers=K, learner=learner, rng=rng, n_classes=n_classes)
    return ensemble.votes(public.X)


def released(plan, **kind):
    """Release once: votes are asked for as the plan says, and labels and losses are what they may be."""
    records, public = data(**kind)
    asked = []
    private = Private(records, lambda: asked.append(1) or votes(**kind))
    out = plan.release(private, public, Door.seeded(5), np.random.default_rng(7))
    assert len(asked) == plan.asks_votes
    codes = range(kind.get("n_classes", 2))
    assert set(out.answers.labels.tolist()) <= {-1, *codes}
    assert len(set(out.answers.asked.tolist())) == len(out.answers.asked) == len(out.answers.labels)
    assert set(out.answers.asked.tolist()) <= set(range(M))
    assert out.spent.eps <= plan.guarantee.eps * (1 + 1e-9)
    assert out.spent.delta <= plan.guarantee.delta
    if out.model is None:
        assert out.answers.n_asked > 0
    else:
        predicted = out.model.predict(public.X)
        assert predicted.shape == (M,)
        assert set(predicted.tolist()) <= set(codes)
    return out


@pytest.mark.parametrize("name", OURS)
def test_the_config_says_the_defaults(name):
    shown = yaml.safe_load((CONF / f"{name}.yaml").read_text())
    shown = shown.get("mechanism", shown)  # a preset brings other groups along
    assert shown.pop("name") == name
    assert set(shown) == {field.name for field in dataclasses.fields(mechanisms.find(name).Options)}
    assert mechanisms.read(name, shown) == mechanisms.read(name, {})
    assert isinstance(mechanisms.label(name, mechanisms.read(name, {})), str)
    with pytest.raises(InputError, match=r"^mechanism\.nonsense: no such key"):
        mechanisms.read(name, {"nonsense": 1})
    for key in shown:
        with pytest.raises(ConfigError, match=rf"^mechanism\.{key}: got \['\?'\]; accepted: [^\n]+$"):
            mechanisms.read(name, {key: ["?"]})


@pytest.mark.parametrize("name", OURS)
def test_it_promises_what_was_asked_and_shows_public_numbers(name):
    plan = made(name)
    assert isinstance(plan, Mechanism)
    assert plan.guarantee.eps == pytest.approx(EPS, rel=1e-9)
    assert plan.guarantee.delta in (0.0, pytest.approx(DELTA, rel=1e-9))
    assert not plan.guarantee.data_dependent
    assert plan.n_teachers == int(plan.n_teachers) >= 0
    assert json.loads(json.dumps(plan.describe(), allow_nan=False)) is not None
    table = plan.table()
    assert all(len(row) == len(table.columns) for row in table.rows)
    assert plan.attacks()
    assert plan.persons in ("parts", "sums", "one record")
    kind = VoteAttack if plan.asks_votes else SampledAttack
    assert all(isinstance(attack, kind) for attack in [*plan.attacks(), *plan.attacks_on_persons()])


def test_one_record_of_each_person_is_drawn_alone():
    """Records are dealt out evenly, and how many one person has moves nobody else's draw."""
    units, X = np.repeat([0, 1, 2], [1, 4, 2]), np.arange(7.0)[:, None]
    drawn = [
        PrivateRecords(X, np.arange(7), units).one_each(np.random.default_rng(seed)).y for seed in range(4000)
    ]
    first, second, third = np.array(drawn).T
    assert set(first.tolist()) == {0}
    # of 4,000 draws: 5.3 standard deviations, a false alarm in 1e-7 each
    assert np.abs(np.bincount(second, minlength=5)[1:] - 1000).max() < 5.3 * np.sqrt(750)
    assert abs(np.count_nonzero(third == 5) - 2000) < 5.3 * np.sqrt(1000)
    more = np.repeat([0, 1, 2], [1, 60, 2])
    other = PrivateRecords(np.arange(63.0)[:, None], np.arange(63), more).one_each(np.random.default_rng(3))
    assert other.y[2] - 56 == drawn[3][2]


@pytest.mark.parametrize("name", ["best", "noisy_gd"])
def test_a_learner_that_protects_persons_looks_whose_the_records_are(name):
    plan, (records, public) = made(name, eps=math.inf), data()
    found = []
    for units in (None, np.arange(N), np.arange(N) // 2):
        private = Private(PrivateRecords(records.X, records.y, units))
        model = plan.release(private, public, Door.seeded(5), np.random.default_rng(7)).model
        found.append(model.decision_function(public.X))
    largest = np.abs(found[0]).max()
    assert np.abs(found[1] - found[0]).max() < 1e-3 * largest
    assert np.abs(found[2] - found[0]).max() > 1e-2 * largest


@pytest.mark.parametrize("name", OURS)
def test_a_release_has_exact_noise_or_is_refused_by_name(name):
    plan, accepted = made(name), r"a mechanism with exact noise with release=true"
    if name in RELEASED:
        exact = plan.with_exact_noise()
        assert exact.guarantee.eps <= EPS
        assert exact.guarantee.delta <= DELTA
        assert exact.describe()["integer_noise"] is True
    else:
        with pytest.raises(ConfigError, match=rf"^mechanism\.name: got '{name}'; accepted: {accepted}"):
            plan.with_exact_noise()
    if name == "svt":
        with pytest.raises(ConfigError, match=r"^mechanism\.cutoff: got 'private'; accepted: auto"):
            mechanisms.calibrate("svt", {"cutoff": "private"}, setting()).with_exact_noise()


@pytest.mark.parametrize("name", OURS)
def test_it_releases_and_nothing_private_is_shown_or_sent(name):
    plan = made(name)
    out, records = released(plan), data()[0]
    sent = pickle.dumps(out)
    assert not any(row.tobytes() in sent for row in records.X)
    digits = [f"{value:.7f}" for value in records.X.ravel()]
    for shown in (repr(plan), repr(out), repr(Private(records)), repr(votes())):
        assert not any(text in shown for text in digits)


def test_private_values_are_not_copied_or_sent():
    records, _ = data()
    for private in (records, Private(records), Private(records, lambda: None)):
        for way in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="private"):
                way(private)


@pytest.mark.parametrize("name", OURS)
def test_without_privacy_it_works_or_is_refused_by_name(name):
    if name in NOISY:
        with pytest.raises(ConfigError, match=rf"^eps: got inf; accepted: a finite number with.*{name}"):
            made(name, eps=math.inf)
        return
    plan = made(name, eps=math.inf)
    assert plan.guarantee.eps == math.inf
    released(plan)


@pytest.mark.parametrize("name", OURS)
def test_sparse_features_and_all_records_of_one_class(name):
    for only in (0, 1):
        out = released(made(name), only=only)
        if out.answers.n_asked:  # the others say a function of the public points
            labels = out.answers.labels[out.answers.labels >= 0]
            assert np.mean(labels == only) > 0.6
    released(made(name, sparse=True), sparse=True)


@pytest.mark.parametrize("name", OURS)
def test_three_classes_are_learnt_or_refused(name):
    if name in TWO:
        with pytest.raises(InputError, match=rf"{name}.*3|3 classes.*{name}"):
            made(name, n_classes=3)
    else:
        released(made(name, n_classes=3), n_classes=3)


def test_every_mechanism_has_a_config_and_is_put_to_the_four_checks():
    here = [name for name in mechanisms.names() if mechanisms.find(name).__name__.startswith("pate_cli.")]
    assert here == OURS == sorted(forms.OURS)
    assert set(PERSONS) == {name for name in forms.OURS if made(name).persons != "one record"}


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("form", [param for param in forms.FORMS if param.values[0].exact])
def test_a_release_is_made_whatever_a_learner_does_with_private_parts(form, late):
    """Teachers that fail are constant, all of them too; with a part of one class they are so anyway."""
    form = dataclasses.replace(form)
    vars(form)["setting"] = dataclasses.replace(form.setting, teacher=(Refusing(late), {}))
    run = forms.Run(form, torn=True)
    forms.replayed(run)
    forms.moved(run)


@pytest.mark.parametrize("form", forms.FORMS)
def test_what_leaves_passed_the_door_with_the_noise_and_the_cost_stated(form):
    """History replayed, one record moved, costs added up, draws counted: see `forms`."""
    for torn in (False, True):
        run = forms.Run(form, torn)
        for check in (forms.paid, forms.drawn, forms.replayed, forms.moved):
            check(run)
