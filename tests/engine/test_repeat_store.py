import dataclasses
import hashlib
import json
import math

import numpy as np
import pytest

from pate_cli import datasets, pipeline
from pate_cli.config.composition import compose
from pate_cli.engine import loaded
from pate_cli.engine import store as module
from pate_cli.engine.store import RepeatRecord, RepeatStore, repeat_key
from pate_cli.types import Answers

UNIT = RepeatRecord(
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
DATA, OTHER = (datasets.load("synthetic", n_records=n) for n in (100, 101))
KEY = repeat_key(compose([]), DATA)
LOSS = (math.inf, 0.1)


def test_a_unit_is_read_back_exactly(tmp_path):
    store = RepeatStore(tmp_path / "there")
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
    assert RepeatRecord.of(pipeline.Outcome(result, answers, None, None), 0.1) == UNIT


def resealed(text, **changes):
    """As another version of pate, or a bug in this one, might have written it: with a right checksum."""
    entry = json.loads(text)["entry"] | changes
    code = hashlib.sha256(json.dumps(entry, sort_keys=True).encode()).hexdigest()
    return json.dumps({"sha256": code, "entry": entry})


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "null",
        lambda text: text.replace("0.333", "0.334"),
        lambda text: resealed(text, schema=0),
        lambda text: resealed(text, key=dataclasses.asdict(KEY) | {"dataset": "abd"}),
        lambda text: resealed(text, record=json.loads(text)["entry"]["record"] | {"repeat": 0}),
        lambda text: resealed(text, record=json.loads(text)["entry"]["record"] | {"eps": 0.01}),
        lambda text: resealed(text, record=json.loads(text)["entry"]["record"] | {"delta": 0.01}),
        lambda text: resealed(text, record={"accurasy": 1}),
        lambda text: resealed(text, repeat=0),
        lambda text: resealed(text, loaded={}),
        lambda text: json.dumps({**json.loads(text), "sha256": None}),
        lambda text: resealed(text, record=json.loads(text)["entry"]["record"] | {"diagnostics": None}),
    ],
)
def test_what_cannot_be_relied_on_is_not_read(tmp_path, spoil):
    store = RepeatStore(tmp_path)
    store.write(KEY, UNIT)
    (path,) = tmp_path.glob("*.json")
    text = path.read_text()
    assert spoil(text) != text
    path.write_text(spoil(text))
    assert store.read(KEY, 1, LOSS) is None


def test_a_student_is_found_with_the_unit_it_belongs_to(tmp_path):
    store = RepeatStore(tmp_path)
    store.write(KEY, UNIT)
    assert store.find(KEY, 1, LOSS, student=False) == (UNIT, None)
    assert store.find(KEY, 1, LOSS, student=True) is None
    outcome = pipeline.Outcome(UNIT.result, Answers(np.array([4, 1, 2]), np.array([0, -1, 1])), None, None)
    unit = RepeatRecord.of(outcome, 0.1, b"a student")
    store.write(KEY, unit, b"a student")
    assert store.find(KEY, 1, LOSS, student=True) == (unit, b"a student")
    assert dataclasses.replace(unit, student="") == UNIT
    (file,) = tmp_path.glob("*.skops")
    file.write_bytes(b"A student")
    assert store.find(KEY, 1, LOSS, student=True) is None
    assert store.find(KEY, 1, LOSS, student=False) is not None


def test_no_byte_can_change_unnoticed(tmp_path):
    """It is read as it was written, or not at all."""
    store = RepeatStore(tmp_path)
    store.write(KEY, UNIT)
    (path,) = tmp_path.glob("*.json")
    content = path.read_bytes()
    for place in range(0, len(content), 7):
        changed = bytearray(content)
        changed[place] ^= 1 << place % 8
        path.write_bytes(bytes(changed))
        assert store.read(KEY, 1, LOSS) in (None, UNIT)
    path.write_bytes(content)
    assert store.read(KEY, 1, LOSS) == UNIT


def test_the_key_is_what_the_numbers_depend_on(monkeypatch):
    assert repeat_key(compose(["repeats=7", "compute.workers=2"]), DATA) == KEY
    assert repeat_key(compose(["eps=1"]), DATA) == KEY  # 1 and 1.0 are one
    others = [repeat_key(compose([]), OTHER), repeat_key(compose(["seed=1"]), DATA)]
    monkeypatch.setattr(module, "has_source", lambda name: False)  # no other command finds it
    others += [repeat_key(compose([]), DATA) for _ in range(2)]
    assert len({key.file(0, ".json") for key in [KEY, *others]}) == 5
    assert KEY.file(0, ".json") != KEY.file(1, ".json")


@pytest.mark.parametrize("name", ["pate", "numpy", "scipy", "scikit-learn", "libsvm-official", "python"])
def test_what_other_code_made_is_not_read(tmp_path, monkeypatch, name):
    store, versions = RepeatStore(tmp_path), loaded._versions()
    assert name in versions
    store.write(KEY, UNIT)
    monkeypatch.setattr(loaded, "_versions", lambda: versions | {name: "0"})
    assert store.read(KEY, 1, LOSS) is None
