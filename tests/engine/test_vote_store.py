"""Votes once: what they depend on, and a repeat done with those that were kept."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from encoders import encoder

from pate_cli import datasets, pipeline
from pate_cli.config import parse
from pate_cli.config.composition import compose
from pate_cli.datasets.content import fingerprint
from pate_cli.engine.votes import VoteStore, vote_key, votes_of
from pate_cli.pipeline import Prepared, prepare
from pate_cli.teachers.vote_record import VoteRecord
from pate_cli.types import Dataset

SMALL = ("dataset.n_records=1000", "split.public=40", "teacher.size=20")


def prepared(*overrides: str, **dataset: object) -> Prepared:
    config = parse(compose([*SMALL, *overrides]))
    loaded = datasets.load(config.dataset.name, **config.dataset.options)
    return prepare(config, dataclasses.replace(loaded, **dataset))


@pytest.fixture(scope="module")
def run() -> Prepared:
    return prepared()


@pytest.mark.parametrize(
    "overrides",
    [
        *(["mechanism=svt"], ["eps=3", "delta=1e-3"], ["student=tree"], ["compute.workers=2", "repeats=5"]),
        *(["cache=true"], ["split.private=800"], ["teacher.count=40"], ["split.budget=3"]),
    ],
)
def test_what_votes_do_not_depend_on(run, overrides):
    there = prepared(*overrides, name="other", checksum="another", source="elsewhere")
    assert vote_key(there) == vote_key(run)


@pytest.mark.parametrize(
    "overrides",
    [
        *(["seed=1"], ["split.private=815"], ["split.public=41"], ["teacher.size=21"], ["teacher=tree"]),
        *(["++teacher.params.C=2"], ["dataset.seed=1"], ["dataset.n_records=1001"], ["dataset.flip=0.06"]),
    ],
)
def test_what_votes_depend_on(run, overrides):
    assert vote_key(prepared(*overrides)) != vote_key(run)


def test_the_key_tells_how_records_are_split_whatever_the_sizes(run):
    split = dataclasses.replace(run.config.split, mode="label_private")
    other = dataclasses.replace(run, config=dataclasses.replace(run.config, split=split))
    assert vote_key(other) != vote_key(run)


def dataset(X: object, **changes: object) -> Dataset:
    content = {"name": "x", "y": np.array([0, 1, 1]), "classes": ("a", "b"), "checksum": "", "source": ""}
    return Dataset(**{**content, "X": X, **changes})


def test_a_fingerprint_sees_every_value():
    dense = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0]])
    table = pd.DataFrame({"number": [1.0, 2.0, 3.0], "text": ["a", "b", "c"]})
    flipped, other = dense.copy(), table.copy()
    flipped[2, 1] = np.nextafter(3.0, 4.0)
    other.loc[2, "text"] = "c "
    seen = [
        dataset(dense),
        dataset(flipped),
        dataset(dense.T.copy().T[:, ::-1]),
        dataset(dense, y=np.array([0, 1, 0])),
        dataset(dense, classes=("b", "a")),
        dataset(sp.csr_matrix(dense)),
        dataset(sp.csr_matrix(flipped)),
        dataset(sp.csr_matrix(dense[:, ::-1])),
        dataset(table),
        dataset(other),
        dataset(table.rename(columns={"text": "word"})),
        dataset(table[["text", "number"]]),
        dataset(table.assign(number=["1.0", "2.0", "3.0"])),
        dataset(table, encoder=encoder(number="numeric", text="category")),
        dataset(table, encoder=encoder(text="category")),
    ]
    assert len({fingerprint(each) for each in seen}) == len(seen)
    assert fingerprint(dataset(dense.copy(order="F"), name="y")) == fingerprint(seen[0])
    assert fingerprint(dataset(table.copy())) == fingerprint(dataset(table))


def run_repeat(
    run: Prepared, repeat: int, kept: VoteRecord | None = None
) -> tuple[pipeline.Outcome, VoteRecord]:
    """A repeat, with the votes kept from before; and what is to be kept of it."""
    trained = pipeline.train(run, repeat, kept)
    return pipeline.run_repeat(run, repeat, trained), votes_of(trained)


def numbers(outcome: pipeline.Outcome) -> dict[str, object]:
    return {key: value for key, value in vars(outcome.result).items() if key != "seconds"}


@pytest.mark.parametrize(
    "overrides", [["mechanism=svt"], ["mechanism=active"], ["student.unanswered=random"]]
)
def test_with_kept_votes_nothing_changes_and_nobody_is_trained(overrides, monkeypatch):
    run = prepared(*overrides)
    alone = pipeline.run_repeat(run, 1)
    cold, kept = run_repeat(run, 1)
    monkeypatch.setattr(pipeline.teachers, "train", None)
    # and private features are not even put together
    monkeypatch.setattr("pate_cli.datasets.splitting.DeferredRecords.X", property(lambda _: 1 / 0))
    warm, again = run_repeat(run, 1, kept)
    assert again.ceilings == kept.ceilings
    assert numbers(cold) == numbers(warm) == numbers(alone)


def test_the_ceiling_is_shared_by_mechanisms_and_belongs_to_a_student(monkeypatch):
    fits = []
    fit = pipeline.students.fit_student
    monkeypatch.setattr(pipeline.students, "fit_student", lambda *a, **k: fits.append(1) or fit(*a, **k))
    _, kept = run_repeat(prepared(), 0)
    assert len(fits) == 2
    _, kept = run_repeat(prepared("mechanism=svt", "eps=3"), 0, kept)
    assert (len(fits), len(kept.ceilings)) == (3, 1)
    other, kept = run_repeat(prepared("student=tree"), 0, kept)
    assert (len(fits), len(kept.ceilings)) == (5, 2)
    monkeypatch.undo()
    alone = pipeline.run_repeat(prepared("student=tree"), 0)
    assert numbers(other) == numbers(alone)


def test_private_records_can_be_changed_and_counted():
    split = datasets.split(prepared().dataset, private=0.5, public=40, budget=3, rng=np.random.default_rng(0))
    assert split.private.n_records == 500
    assert "X" not in vars(split.private)
    changed = dataclasses.replace(split.private, X=np.zeros((500, 5)))
    assert not changed.X.any()
    assert split.private.X.any()
    with pytest.raises(dataclasses.FrozenInstanceError):
        split.private.X = changed.X


def test_votes_that_cannot_be_of_this_run_are_not_used(monkeypatch, tmp_path):
    monkeypatch.setenv("PATE_CACHE", str(tmp_path / "votes"))
    store, run = VoteStore(), prepared("cache=true")
    _, kept = run_repeat(run, 0)
    negative = kept.counts + np.array([[1, -1]]) * (kept.counts.max() + 1)
    for counts in (kept.counts[:-1], kept.counts[:, :1], kept.counts + 1, negative):
        store.keep(run, 0, dataclasses.replace(kept, counts=counts))
        assert store.recall(run, 0) is None
    store.keep(run, 0, kept)
    recalled = store.recall(run, 0)
    assert recalled is not None
    assert recalled.fits(40, 2, run.n_teachers)
    assert "counts" not in repr(recalled)
