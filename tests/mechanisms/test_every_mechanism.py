"""What holds of every mechanism there is: `pate_cli.testing`, and what its configuration says."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
from pathlib import Path

import numpy as np
import pytest
import yaml

import pate_cli
from pate_cli import mechanisms
from pate_cli.errors import ConfigError, InputError
from pate_cli.privacy.door import Door
from pate_cli.testing import check_mechanism, promises
from pate_cli.testing.forms import Form, N, forms_of
from pate_cli.types import Private, PrivateRecords

CONF = Path(pate_cli.__file__).parents[1] / "conf" / "mechanism"
OURS = mechanisms.names()


def checks():
    """List the checks of all mechanisms; those of releases, which are one path, for one of each kind."""
    kinds = set()
    for name in OURS:
        plan = Form(name).mechanism()
        kind = (plan.asks_votes, plan.n_teachers > 0, plan.persons, plan.choice_apart)
        found = check_mechanism(name)
        of_releases = {check for check in found if ", csv, " in check.form}
        yield from (check for check in found if check not in of_releases or kind not in kinds)
        if of_releases:
            kinds.add(kind)


CHECKS = [*checks(), *check_mechanism("noisy_histograms")]  # of a plug-in, too


@pytest.mark.parametrize("check", [check for check in CHECKS if check.name != "alike"], ids=str)
def test_it_passes(check):
    check()


def test_other_processes_have_the_same_numbers():
    """All in one test: to start a pool takes seconds of a core, in each process of the tests."""
    for check in CHECKS:
        if check.name == "alike":
            check()


def test_every_mechanism_has_a_config():
    assert sorted(path.stem for path in CONF.glob("*.yaml")) == OURS


@pytest.mark.parametrize("name", OURS)
def test_the_config_says_the_defaults(name):
    shown = yaml.safe_load((CONF / f"{name}.yaml").read_text())
    shown = shown.get("mechanism", shown)  # a preset brings other groups along
    assert shown.pop("name") == name
    assert set(shown) == {field.name for field in dataclasses.fields(mechanisms.find(name).Options)}
    assert mechanisms.read(name, shown) == mechanisms.read(name, {})


def refusal(call):
    """Say why a call is refused; nothing if it is not."""
    try:
        call()
    except InputError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", OURS)
def test_a_form_that_it_has_not_is_refused_by_name(name):
    form = forms_of(name, None, {})[0]
    said = refusal(dataclasses.replace(form, n_classes=3).mechanism)
    assert not said or (name in said and "3" in said)
    said = refusal(form.mechanism().with_exact_noise)
    named = f"mechanism.name: got '{name}'; accepted: a mechanism with exact noise with release=true"
    assert not said or said.startswith(named)
    said = refusal(dataclasses.replace(form, changes=(("eps", math.inf),)).mechanism)
    assert not said or (said.startswith("eps: got inf; accepted: a finite number") and name in said)


def test_an_estimate_has_no_exact_noise():
    with pytest.raises(ConfigError, match=r"^mechanism\.cutoff: got 'private'; accepted: auto"):
        Form("svt", (("cutoff", "private"),), exact=True).mechanism()


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
    form = dataclasses.replace(forms_of(name, None, {})[0], changes=(("eps", math.inf),))
    plan, records, public = form.mechanism(), form.records(), form.public
    found = []
    for units in (None, np.arange(N), np.arange(N) // 2):
        private = Private(PrivateRecords(records.X, records.y, units))
        model = plan.release(private, public, Door.seeded(5), np.random.default_rng(7)).model
        found.append(model.decision_function(public.X))
    largest = np.abs(found[0]).max()
    assert np.abs(found[1] - found[0]).max() < 1e-3 * largest
    assert np.abs(found[2] - found[0]).max() > 1e-2 * largest


def test_private_values_are_not_copied_or_sent():
    records = Form("gaussian").records()
    for private in (records, Private(records), Private(records, lambda: None)):
        for way in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="private"):
                way(private)


@pytest.mark.parametrize("name", OURS)
def test_what_can_be_released_is_what_is_listed(name):
    plan = forms_of(name, None, {})[0].mechanism()
    assert plan.can_be_released == (promises(name)["release"] == "yes")
    assert bool(plan.that_answered("logistic").in_words) >= plan.can_be_released


def test_a_card_says_how_the_points_were_labelled():
    words = {name: Form(name).mechanism().in_words for name in ("gaussian", "active", "svt")}
    assert "vote on public points; Gaussian noise" in words["gaussian"]
    assert "points that the student chose; Gaussian noise" in words["active"]
    assert Form("active", (("oracle", "svt"),)).mechanism().in_words.endswith("by a wide, noisy margin")
    assert Form("tune").mechanism().that_answered("tree").in_words == words["gaussian"]
