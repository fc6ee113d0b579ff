"""The schema: every value is checked by name, and what is accepted arrives as it was typed."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest

from pate_cli.config import DatasetConfig, MechanismConfig, parse
from pate_cli.errors import ConfigError, InputError
from pate_cli.mechanisms import active, names, svt

RAW: dict[str, Any] = {
    "dataset": {"name": "csv", "path": "a.csv", "target": "y", "sep": ","},
    "features": {"name": "auto", "directions": "auto"},
    "teacher": {"estimator": "logistic", "params": {"C": 2}, "size": 20, "count": None, "features": "auto"},
    "student": {"estimator": "tree", "params": {}, "unanswered": "drop"},
    "mechanism": {"name": "svt", "calibration": "tight", "cutoff": "auto"},
    "compute": {"name": "local", "workers": None},
    "eps": 1,
    "delta": None,
    "repeats": 3,
    "seed": 7,
    "split": {"private": 0.8, "public": 400, "budget": 0.3},
}


def changed(**values: Any) -> dict[str, Any]:
    """`RAW` with some values replaced; `teacher__size` is teacher.size."""
    raw = copy.deepcopy(RAW)
    for key, value in values.items():
        *groups, name = key.split("__")
        node = raw
        for group in groups:
            node = node[group]
        node[name] = value
    return raw


def test_what_is_accepted_arrives():
    config = parse(RAW)
    assert config.dataset == DatasetConfig("csv", {"path": "a.csv", "target": "y", "sep": ","})
    assert (config.teacher.params, config.teacher.size, config.teacher.count) == ({"C": 2}, 20, None)
    assert (config.student.estimator, config.student.unanswered) == ("tree", "drop")
    assert config.mechanism == MechanismConfig("svt", svt.Options("tight", None), "svt")
    assert (config.eps, config.delta, config.repeats, config.seed) == (1, None, 3, 7)
    # a number of points stays one: 1 and 1.0 mean different things here
    assert (config.split.private, config.split.public) == (0.8, 400)
    assert isinstance(config.split.public, int)


def test_options_of_a_mechanism():
    group = {"name": "active", "oracle": "svt", "mellowness": 0, "fill": False, "cutoff": "auto"}
    config = parse(changed(mechanism=group)).mechanism
    assert (config.name, config.options) == ("active", active.Options("svt", 0, False, "tight", None))


def test_labels_in_tables():
    group = {"name": "active", "oracle": "svt", "mellowness": 0.1}
    assert parse(changed(mechanism=group)).mechanism.label == "active-svt"
    group = {"name": "svt", "cutoff": "private"}
    assert parse(changed(mechanism=group)).mechanism.label == "svt_private"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"eps": None}, "eps: got None;"),
        ({"repeats": True}, "repeats: got True;"),
        ({"seed": 2**128}, "seed: got 340282366920938463463374607431768211456;"),
        ({"teacher__estimator": 3}, "teacher.estimator: got 3;"),
        ({"mechanism__name": "laplace"}, f"mechanism.name: got 'laplace'; accepted: {', '.join(names())}"),
        (
            {"mechanism__cutoff": 1.5},
            "mechanism.cutoff: got 1.5; accepted: auto, or private, or paper, or a whole number >= 1",
        ),
        ({"mechanism__cutof": 1}, "mechanism.cutof: no such key; there are: mechanism.calibration"),
        ({"compute__name": "cloud"}, "compute.name: got 'cloud'; accepted: local"),
        ({"compute__address": "node1"}, "compute.address: got 'node1'; accepted: null, or a scheduler as"),
        ({"split__private": math.inf}, "split.private: got inf;"),
        ({"dataset__name": "???"}, "dataset.name: got '???';"),
        ({"teacher": None}, "teacher: got None; accepted: libsvm, "),
        ({"split": 0.5}, "split: got 0.5;"),
        ({"purpose": "\n"}, "purpose: got '\\n';"),
    ],
    ids=str,
)
def test_refused_by_name(values, said):
    with pytest.raises(InputError) as refused:
        parse(changed(**values))
    assert str(refused.value).startswith(said)


def test_a_mandatory_value_left_open_is_left_to_the_loader():
    assert "path" not in parse(changed(dataset__path="???")).dataset.options


def test_a_release_is_of_records():
    raw = copy.deepcopy(RAW) | {"seed": 0, "repeats": 1}
    raw["split"]["mode"] = "label_private"
    assert parse(raw).split.mode == "label_private"
    with pytest.raises(
        ConfigError, match=r"^split\.mode: got 'label_private'; accepted: records with release"
    ):
        parse(raw | {"release": True})
