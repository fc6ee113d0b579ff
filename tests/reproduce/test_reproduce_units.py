import dataclasses
import json
import math

import pytest

from pate_cli.config.composition import compose
from pate_cli.engine import finished
from pate_cli.engine.finished import Unit, identity

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


def test_a_unit_is_read_back_exactly(tmp_path):
    UNIT.write(tmp_path, KEY)
    assert Unit.read(tmp_path, KEY, 1) == UNIT
    assert Unit.read(tmp_path, KEY, 0) is None


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "[]",
        lambda text: "null",
        lambda text: text.replace('"schema": 1', '"schema": 0'),
        lambda text: text.replace(KEY.code, "0" * 12),
        lambda text: text.replace('"repeat": 1', '"repeat": 0'),
        lambda text: text.replace('"accuracy"', '"accurasy"'),
        lambda text: text.replace('"n_asked": 3', '"n_asked": 4'),
        lambda text: json.dumps({**json.loads(text), "accuracy": None}),
        lambda text: json.dumps({**json.loads(text), "diagnostics": None}),
    ],
)
def test_what_cannot_be_relied_on_is_not_read(tmp_path, spoil):
    UNIT.write(tmp_path, KEY)
    path = KEY.file(tmp_path, 1)
    text = path.read_text()
    assert spoil(text) != text
    path.write_text(spoil(text))
    assert Unit.read(tmp_path, KEY, 1) is None


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
    monkeypatch.setattr(finished, "learner_version", lambda name: "edited")
    others.append(identity(compose([]), "abc"))
    monkeypatch.setattr(finished, "learner_version", lambda name: None)  # of this process alone
    others.append(identity(compose([]), "abc"))
    finished._nonce.cache_clear()
    others.append(identity(compose([]), "abc"))
    files = {key.file(finished.Path(), 0) for key in [KEY, *others]}
    assert len(files) == 8
    assert KEY.file(finished.Path(), 0) != KEY.file(finished.Path(), 1)


def test_every_number_of_a_repeat_is_kept():
    kept = {field.name for field in dataclasses.fields(Unit)}
    from pate_cli.types import RepeatResult

    assert {field.name for field in dataclasses.fields(RepeatResult)} - kept <= {"eps_odometer"}
