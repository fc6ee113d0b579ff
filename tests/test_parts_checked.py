"""`check_loader` and `check_strategy`: ours and the example pass them, and mistakes fail the check named."""

from __future__ import annotations

import sys
import types
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from pate_cli import datasets
from pate_cli.checks import Whole, option
from pate_cli.queries import Passive, collect
from pate_cli.queries.disagreement import Disagreement
from pate_cli.queries.half_spaces import Active
from pate_cli.testing import CheckFailed, check_loader, check_strategy
from pate_cli.types import Dataset, Part

EXAMPLE = Path(__file__).parents[1] / "docs" / "examples" / "own"


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLE)


def named(checks, *names):
    return [check for check in checks if check.name in names]


@pytest.mark.parametrize("name", ["synthetic", "thresholds", "digits", "pate_exponential.moons"])
def test_loaders_without_a_file_pass(name, example):
    for check in check_loader(name):
        check()


def write(place: Path, kind: str) -> dict[str, object]:
    """Write 200 records of 100 persons as a file of a kind, and give the options that read it."""
    rng = np.random.default_rng(0)
    X, names = rng.normal(size=(200, 3)).round(3), ["007", "2.50"]
    y = [names[int(a + b > 0)] for a, b, _ in X]
    if kind == "npz":
        path = place / "data.npz"
        np.savez(path, X=X, y=np.array([names.index(label) for label in y]))
    elif kind == "libsvm":
        path = place / "data.libsvm"
        path.write_text(
            "".join(f"{label} 1:{a} 2:{b} 3:{c}\n" for label, (a, b, c) in zip(y, X, strict=True))
        )
    else:
        path = place / "data.csv"
        rows = [f"p{i % 100},{a},{'red' if b > 0 else 'blue'},{y[i]}" for i, (a, b, _) in enumerate(X)]
        path.write_text("\n".join(["person,a,colour,class", *rows]) + "\n")
        return {"path": str(path), "target": "class", "unit": "person"}
    return {"path": str(path)}


@pytest.mark.parametrize("kind", ["csv", "npz", "libsvm"])
def test_loaders_of_files_pass(kind, tmp_path):
    options = write(tmp_path, kind)
    for check in check_loader(kind, options):
        check()
    if kind != "npz":
        assert datasets.load(kind, **options).classes == ("2.50", "007")


@dataclass(frozen=True)
class Options:
    """Of the loader below."""

    n_records: int = option(100, Whole(10))


class Anything:
    """A check that takes everything."""

    def take(self, value):
        return value


@dataclass(frozen=True)
class Unchecked:
    """Of a loader that checks nothing."""

    n_records: object = option(100, Anything())


def good() -> Dataset:
    X = np.arange(200.0).reshape(100, 2)
    return Dataset("mine", X, np.arange(100) % 2, ("no", "yes"), checksum="a", source="here")


def persons(data: Dataset, of: np.ndarray) -> Dataset:
    return replace(data, persons=of, person_column="person")


@pytest.mark.parametrize(
    ("name", "spoilt"),
    [
        ("dataset", lambda data: replace(data, y=data.y.astype(float))),
        ("dataset", lambda data: replace(data, y=data.y + 1)),
        ("dataset", lambda data: replace(data, y=data.y[1:])),
        ("dataset", lambda data: replace(data, y=0 * data.y)),
        ("dataset", lambda data: replace(data, classes=("7", "7.0"))),
        ("dataset", lambda data: replace(data, classes=("no", 1))),
        ("dataset", lambda data: replace(data, checksum="")),
        ("dataset", lambda data: replace(data, X=np.where(data.X == 7, np.nan, data.X))),
        ("dataset", lambda data: persons(data, np.arange(100) + 1)),
        ("dataset", lambda data: replace(data, persons=np.arange(100))),
        ("dataset", lambda data: persons(data, np.arange(100.0))),
        ("dataset", lambda data: persons(data, list(range(100)))),
        ("dataset", lambda data: replace(data, checksum=12)),
        ("dataset", lambda data: replace(data, X=np.ma.masked_equal(data.X, 7))),
        ("dataset", lambda data: replace(data, X=data.X.view(np.matrix))),
        ("dataset", lambda data: replace(data, X=sparse.coo_array(data.X))),
        ("dataset", lambda data: replace(data, X=sparse.csc_matrix(data.X))),
        ("dataset", lambda data: replace(data, public=Part(data.X[:, :1], None, "b"))),
        ("dataset", lambda data: replace(data, test=Part(data.X, data.y + 5, "b"))),
        ("dataset", lambda data: replace(data, warnings=("two\nlines",))),
        ("dataset", lambda data: replace(data, public_warnings=("of a private cell",))),
        ("again", lambda data: replace(data, X=data.X + np.random.rand())),  # noqa: NPY002
        ("refused", lambda data: None),
        (None, lambda data: data),
    ],
)
def test_a_loader_that_breaks_a_promise_is_seen(name, spoilt, monkeypatch):
    module = types.ModuleType("a_loader")
    module.Options = Options if name != "refused" else Unchecked
    module.load = lambda *_: spoilt(good())
    monkeypatch.setitem(sys.modules, "a_loader", module)
    monkeypatch.setattr(datasets, "find", lambda _: module)
    checks = check_loader(module)
    if name is None:
        assert [check() for check in checks][:2] == ["2 refused", "100 records, 2 columns, 2 classes"]
        return
    (check,) = named(checks, name)
    with pytest.raises(CheckFailed):
        check()


STRATEGIES = [
    *check_strategy(Passive(), picks=False),
    *check_strategy(Active(0.05, True)),
    *check_strategy(Active(0.05, False, 5.0)),
    *check_strategy(Disagreement(1.0, 2.0, 0.05, 0.0), n_features=1),
]


@pytest.mark.parametrize("check", STRATEGIES)
def test_our_strategies_pass(check):
    check()


def test_the_strategy_of_the_example_passes(example):
    from pate_exponential.spread import Farthest

    for check in check_strategy(Farthest()):
        check()


class Asks:
    """Asks in order, but for one mistake."""

    def __init__(self, mistake=""):
        self.mistake, self.times = mistake, 0

    def ask(self, stream, oracle, rng):
        self.times += 1
        order = stream.order[: stream.budget + (self.mistake == "too many")]
        if self.mistake == "twice":
            order = np.repeat(order, 2)
        if self.mistake == "another state":
            order = np.roll(order, self.times)
        if self.mistake == "does not stop":
            return collect(order, [oracle.answer(int(index)) for index in order]), None
        got = collect(order, oracle.answer_all(order))
        if self.mistake == "a label of its own":
            got.labels[-1:] = 1 - got.labels[-1:]
        if self.mistake == "labels for more":
            got = replace(got, asked=order, labels=np.zeros(len(order), dtype=int))
        return got, None


@pytest.mark.parametrize(
    ("mistake", "name"),
    [
        ("too many", "budget"),
        ("twice", "answers"),
        ("another state", "answers"),
        ("does not stop", "exhausted"),
        ("a label of its own", "no_answer"),
        ("labels for more", "exhausted"),
        ("", None),
    ],
)
def test_a_strategy_that_breaks_a_promise_is_seen(mistake, name):
    checks = check_strategy(Asks(mistake))
    if name is None:
        assert len([check() for check in checks]) == 4
        return
    (check,) = named(checks, name)
    with pytest.raises(CheckFailed):
        check()
