"""Finished repeats and votes on disk: what they depend on; what cannot be relied on is made again."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from encoders import encoder

from pate_cli import datasets, pipeline
from pate_cli.config import parse
from pate_cli.config.hydra_composition import compose
from pate_cli.datasets.content import fingerprint
from pate_cli.engine import loaded
from pate_cli.engine import store as module
from pate_cli.engine.store import RepeatRecord, RepeatStore, repeat_key, vote_key
from pate_cli.pipeline import Prepared, prepare
from pate_cli.types import Answers, Dataset, RepeatResult

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
    diagnostics={"ceiling": 0.1 + 0.2},
    asked=[4, 1, 2],
    unanswered=[1],
)
MEASURED = {"ceiling": np.float64(0.1 + 0.2), "brier": math.nan}
RESULT = RepeatResult(1, 5, 3, 2, math.inf, 0.1, math.inf, 1 / 3, 0.1, MEASURED)
ANSWERS = Answers(np.array([4, 1, 2]), np.array([0, -1, 1]))
DATA, OTHER = (datasets.load("synthetic", n_records=n) for n in (100, 101))
KEY = repeat_key(compose([]), DATA)


def read(store: RepeatStore, repeat: int = 1) -> RepeatRecord | None:
    found = store.find(KEY, repeat, student=False)
    return found and found[0]


def test_a_unit_holds_all_of_a_repeat_and_is_read_back_exactly(tmp_path):
    store = RepeatStore(tmp_path / "there")
    store.write(KEY, UNIT)
    assert read(store) == UNIT
    assert read(store, 0) is None
    with pytest.raises(FileNotFoundError, match=r"was removed while the run went on: .*gone'"):
        RepeatStore(tmp_path / "gone" / "there").write(KEY, UNIT)
    again = RepeatRecord.of(pipeline.Outcome(RESULT, ANSWERS, None, None), 0.1)
    assert math.isnan(again.diagnostics.pop("brier"))
    assert again == UNIT


def resealed(text, **changes):
    """As another version of pate, or a bug in this one, might have written it: with a right checksum."""
    entry = json.loads(text)["entry"] | changes
    code = hashlib.sha256(json.dumps(entry, sort_keys=True).encode()).hexdigest()
    return json.dumps({"sha256": code, "entry": entry})


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text[: len(text) // 2],
        lambda text: text.replace("0.333", "0.334"),
        lambda text: resealed(text, schema=0),
        lambda text: resealed(text, key=dataclasses.asdict(KEY) | {"dataset": "abd"}),
        lambda text: resealed(text, record={"accurasy": 1}),
        lambda text: resealed(text, repeat=0),
        lambda text: resealed(text, loaded={}),
    ],
)
def test_what_cannot_be_relied_on_is_not_read(tmp_path, spoil):
    store = RepeatStore(tmp_path)
    store.write(KEY, UNIT)
    (path,) = tmp_path.glob("*.json")
    text = path.read_text()
    assert spoil(text) != text
    path.write_text(spoil(text))
    assert read(store) is None


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
        assert read(store) in (None, UNIT)


def test_a_student_is_found_with_the_unit_it_belongs_to(tmp_path):
    store = RepeatStore(tmp_path)
    store.write(KEY, UNIT)
    assert store.find(KEY, 1, student=True) is None
    unit = RepeatRecord.of(pipeline.Outcome(RESULT, ANSWERS, None, None), 0.1, b"a student")
    store.write(KEY, unit, b"a student")
    assert store.find(KEY, 1, student=True) == (unit, b"a student")
    (file,) = tmp_path.glob("*.skops")
    file.write_bytes(b"A student")
    assert store.find(KEY, 1, student=True) is None


def test_the_key_is_what_the_numbers_depend_on(monkeypatch):
    assert repeat_key(compose(["repeats=7", "compute.workers=2"]), DATA) == KEY
    assert repeat_key(compose(["eps=1"]), DATA) == KEY  # 1 and 1.0 are one
    others = [repeat_key(compose([]), OTHER), repeat_key(compose(["seed=1"]), DATA)]
    monkeypatch.setattr(module, "has_source", lambda name: False)  # no other command finds it
    mine = compose(["teacher.estimator=sklearn.tree.DecisionTreeClassifier"])
    others += [repeat_key(mine, DATA) for _ in range(2)]
    assert len({key.file(0, ".json") for key in [KEY, *others]}) == 5


@pytest.mark.parametrize("name", ["pate", "numpy", "scipy", "scikit-learn", "libsvm-official", "python"])
def test_what_other_code_made_is_not_read(tmp_path, monkeypatch, name):
    store, versions = RepeatStore(tmp_path), loaded._versions()
    assert name in versions
    store.write(KEY, UNIT)
    monkeypatch.setattr(loaded, "_versions", lambda: versions | {name: "0"})
    assert read(store) is None


# --- votes


def prepared(*overrides: str, **dataset: object) -> Prepared:
    config = parse(compose(["dataset.n_records=1000", "split.public=40", "teacher.size=20", *overrides]))
    loaded = datasets.load(config.dataset.name, **config.dataset.options)
    return prepare(config, dataclasses.replace(loaded, **dataset))


@pytest.fixture(scope="module")
def run() -> Prepared:
    return prepared()


def test_what_votes_do_not_depend_on(run):
    overrides = ["mechanism=svt", "eps=3", "delta=1e-3", "student=tree", "compute.workers=2", "repeats=5"]
    overrides += ["split.private=800", "teacher.count=40", "split.budget=3"]
    there = prepared(*overrides, name="other", checksum="another", source="elsewhere")
    assert vote_key(there) == vote_key(run)


@pytest.mark.parametrize(
    "override",
    [
        *("seed=1", "split.private=815", "split.public=41", "teacher.size=21", "teacher=tree"),
        *("++teacher.params.C=2", "dataset.seed=1", "dataset.n_records=1001", "dataset.flip=0.06"),
    ],
)
def test_what_votes_depend_on(run, override):
    other = prepared(override)
    assert vote_key(other) != vote_key(run)
    # how records are split counts, too, even if it leaves the sizes as they are
    split = dataclasses.replace(other.config.split, mode="label_private")
    assert vote_key(
        dataclasses.replace(other, config=dataclasses.replace(other.config, split=split))
    ) != vote_key(other)


def dataset(X: object, **changes: object) -> Dataset:
    content = {"name": "x", "y": np.array([0, 1, 1]), "classes": ("a", "b"), "checksum": "", "source": ""}
    return Dataset(**{**content, "X": X, **changes})


def test_a_fingerprint_sees_every_value():
    dense = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0]])
    table = pd.DataFrame({"number": [1.0, 2.0, 3.0], "text": ["a", "b", "c"]})
    flipped = np.nextafter(dense, np.where(dense == 3, 4, dense))
    features = [dense, flipped, dense[:, ::-1]]
    features += [sp.csr_matrix(X) for X in features]
    features += [
        table,
        table.replace("b", "c "),
        table.rename(columns={"text": "word"}),
        table[["text", "number"]],
    ]
    features += [table.assign(number=["1.0", "2.0", "3.0"])]
    seen = [dataset(X) for X in features]
    seen += [dataset(dense, y=np.array([0, 1, 0])), dataset(dense, classes=("b", "a"))]
    seen += [dataset(table, encoder=encoder(number=kind, text="category")) for kind in ("number", "category")]
    assert len({fingerprint(each) for each in seen}) == len(seen)
    assert fingerprint(dataset(dense.copy(order="F"), name="y")) == fingerprint(seen[0])


def test_the_same_student_on_exact_votes(monkeypatch):
    """Fitted on exact counts where the mechanism releases counts, else on labels; once for all that do."""
    given = []
    fit = pipeline.students.fit_student

    def noted(points, answers, **keys):
        given.append(answers)
        return fit(points, answers, **keys)

    monkeypatch.setattr(pipeline.students, "fit_student", noted)
    trained = pipeline.train(prepared(), 0)
    found = pipeline.run_repeat(prepared(), 0, trained).result.diagnostics["ceiling"]
    counts = trained.votes.counts
    assert (given[1].noisy_counts == counts).all()
    assert (given[1].noise, given[1].n_teachers) == (0.0, trained.votes.n_teachers)
    without_noise = pipeline.run_repeat(prepared("eps=inf"), 0, trained).result
    assert found == without_noise.accuracy == without_noise.diagnostics["ceiling"]
    assert (len(given), len(trained.ceilings)) == (3, 1)
    pipeline.run_repeat(prepared("mechanism=svt", "eps=3"), 0, trained)
    assert (len(given), len(trained.ceilings)) == (5, 2)
    assert given[4].noisy_counts is None
    assert (given[4].labels == counts.argmax(axis=1)).all()
    pipeline.run_repeat(prepared("student=tree"), 0, trained)
    assert (len(given), len(trained.ceilings)) == (7, 3)
