import dataclasses
import json
import math

import numpy as np
import pytest

from pate_cli import pipeline
from pate_cli.config.composition import compose
from pate_cli.engine import finished
from pate_cli.engine.finished import Finished, Unit, identity
from pate_cli.types import Answers

UNIT = Unit(
    repeat=1,
    n_teachers=5,
    n_asked=3,
    n_answered=2,
    eps=math.inf,
    delta=0.1,
    eps_ex_post=math.inf,
    accuracy=1 / 3,
    seconds=0.1,
    diagnostics={"ceiling": 0.1 + 0.2, "label_accuracy": None},
    asked=[4, 1, 2],
    unanswered=[1],
)
KEY = identity(compose([]), "abc")
LOSS = (math.inf, 0.1)


def test_a_unit_is_read_back_exactly(tmp_path):
    store = Finished(tmp_path / "there")
    store.write(KEY, UNIT)
    assert store.read(KEY, 1, LOSS) == UNIT
    assert store.read(KEY, 0, LOSS) is None


def test_a_unit_holds_all_of_a_repeat(tmp_path):
    result = UNIT.result
    assert {field.name for field in dataclasses.fields(result)} <= {
        field.name for field in dataclasses.fields(UNIT)
    }
    assert (result.eps, result.repeat) == (math.inf, 1)
    assert math.isnan(result.diagnostics["label_accuracy"])
    answers = Answers(np.array([4, 1, 2]), np.array([0, -1, 1]))
    assert Unit.of(pipeline.Outcome(result, answers, None, None), 0.1) == UNIT


def resealed(text, **changes):
    """As another version of pate, or a bug in this one, might have written it: with a right checksum."""
    kept = json.loads(text)["kept"] | changes
    return json.dumps({"sha256": finished._digest(kept), "kept": kept})


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "[]",
        lambda text: "null",
        lambda text: text.replace("0.333", "0.334"),  # a number like any other
        lambda text: text.replace('"eps": "inf"', '"eps": 1.0'),
        lambda text: resealed(text, schema=0),
        lambda text: resealed(text, identity=dataclasses.asdict(KEY) | {"code": "0" * 12}),
        lambda text: resealed(text, unit=json.loads(text)["kept"]["unit"] | {"repeat": 0}),
        lambda text: resealed(text, unit=json.loads(text)["kept"]["unit"] | {"eps": 0.01}),
        lambda text: resealed(text, unit=json.loads(text)["kept"]["unit"] | {"delta": 0.01}),
        lambda text: resealed(text, unit={"accurasy": 1}),
        lambda text: text.replace('"n_asked": 3', '"n_asked": 4'),
        lambda text: json.dumps({**json.loads(text), "sha256": None}),
        lambda text: resealed(text, unit=json.loads(text)["kept"]["unit"] | {"diagnostics": None}),
    ],
)
def test_what_cannot_be_relied_on_is_not_read(tmp_path, spoil):
    store = Finished(tmp_path)
    store.write(KEY, UNIT)
    (path,) = tmp_path.glob("*.json")
    text = path.read_text()
    assert spoil(text) != text
    path.write_text(spoil(text))
    assert store.read(KEY, 1, LOSS) is None


def test_a_student_is_found_with_the_unit_it_belongs_to(tmp_path):
    store = Finished(tmp_path)
    store.write(KEY, UNIT)
    assert store.find(KEY, 1, LOSS, student=False) == (UNIT, None)
    assert store.find(KEY, 1, LOSS, student=True) is None
    outcome = pipeline.Outcome(UNIT.result, Answers(np.array([4, 1, 2]), np.array([0, -1, 1])), None, None)
    unit = Unit.of(outcome, 0.1, b"a student")
    store.write(KEY, unit, b"a student")
    assert store.find(KEY, 1, LOSS, student=True) == (unit, b"a student")
    assert dataclasses.replace(unit, student="") == UNIT
    (file,) = tmp_path.glob("*.skops")
    file.write_bytes(b"A student")
    assert store.find(KEY, 1, LOSS, student=True) is None
    assert store.find(KEY, 1, LOSS, student=False) is not None


def test_identity_is_what_the_numbers_depend_on(monkeypatch):
    assert identity(compose(["repeats=7", "compute.workers=2"]), "abc") == KEY
    assert identity(compose(["eps=1"]), "abc") == KEY  # 1 and 1.0 are one
    others = [identity(compose([]), "abd"), identity(compose(["seed=1"]), "abc")]
    monkeypatch.setattr(finished, "code_version", lambda: "other")
    others.append(identity(compose([]), "abc"))
    monkeypatch.undo()
    monkeypatch.setattr(finished, "library_versions", lambda: {"numpy": "9"})
    others.append(identity(compose([]), "abc"))
    monkeypatch.undo()
    monkeypatch.setattr(finished, "has_source", lambda name: False)  # of this process alone
    others.append(identity(compose([]), "abc"))
    finished._nonce.cache_clear()
    others.append(identity(compose([]), "abc"))
    store = Finished(finished.Path())
    files = {store._file(key, 0) for key in [KEY, *others]}
    assert len(files) == 7
    assert store._file(KEY, 0) != store._file(KEY, 1)
