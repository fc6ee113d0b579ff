"""A learner that remembers is refused: one record would move the teachers that are fitted after its own."""

from __future__ import annotations

import sys

import pytest

from pate_cli import PateClassifier
from pate_cli.cli import main
from pate_cli.errors import ConfigError
from pate_cli.learners import check_learner

SOURCE = '''
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

SCALER, CACHE = None, {}
NOTHING, TABLE, RNG = object(), np.zeros(3), np.random.default_rng(0)


def told(value=NOTHING):
    return value is not NOTHING


class Forgets(LogisticRegression):
    pass


class Total(Forgets):
    """All records that were ever seen."""

    parts = []

    def fit(self, X, y):
        Total.parts.append((X, y))
        parts = [part for part in Total.parts if part[0].shape[1] == X.shape[1]]
        return super().fit(*map(np.concatenate, zip(*parts)))


class Scaled(Forgets):
    """Scaled as the first records that were seen."""

    def _scaled(self, X):
        global SCALER
        SCALER = SCALER or StandardScaler().fit(X)
        return SCALER.transform(X)

    def fit(self, X, y):
        return super().fit(self._scaled(X), y)

    def predict_proba(self, X):
        return super().predict_proba(self._scaled(X))


class Cached(Forgets):
    """A model for each number of records."""

    def fit(self, X, y):
        if len(X) not in CACHE:
            CACHE[len(X)] = vars(super().fit(X, y))
        vars(self).update(CACHE[len(X)])
        return self


class Counted(Forgets):
    """Counts its fits, and keeps a table: that decides nothing."""

    fits, log = 0, []

    def fit(self, X, y):
        if told():
            raise ValueError("what stands for nothing is another object")
        Counted.fits += 1
        Counted.log.append(RNG.random())
        TABLE[:] += 1
        CACHE["table"] = np.arange(len(X))
        return super().fit(X, y)


class Drawn(Forgets):
    """Fresh noise, of no seed."""

    def predict_proba(self, X):
        return np.random.default_rng().dirichlet([1, 1], len(X))


class Spoken(Forgets):
    """Class codes as texts."""

    def predict(self, X):
        return super().predict(X).astype(str)
'''


@pytest.fixture
def kept(tmp_path, monkeypatch):
    (tmp_path / "kept.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    yield
    monkeypatch.delitem(sys.modules, "kept", raising=False)


@pytest.mark.parametrize("name", ["Total", "Scaled", "Cached"])
def test_it_is_refused(name, kept, capsys):
    """Each ran, and the guarantee was stated as ever."""
    assert main(["plan", "mechanism=gaussian", f"teacher.estimator=kept.{name}"]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"pate: teacher.estimator: got 'kept.{name}'; accepted: a classifier that learns ")
    assert f"(kept.{name} keeps something)" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("name", ["Forgets", "Counted", "Drawn"])
def test_what_forgets_or_has_no_seed_is_taken(name, kept):
    check_learner(f"kept.{name}", {})


def test_of_python_too(kept):
    import kept as module

    rows = [[float(i % 7), float(i % 5)] for i in range(60)]
    model = PateClassifier("gaussian", eps=8.0, teacher=module.Total(), public_share=0.3, random_state=0)
    with pytest.raises(ValueError, match="of no fit before it"):
        model.fit(rows, [int(a > b) for a, b in rows])


def test_codes_as_texts_are_no_codes(kept):
    """A student of these was right on no record: "0" is not 0."""
    with pytest.raises(ConfigError, match="predict gives a class for each"):
        check_learner("kept.Spoken", {})
