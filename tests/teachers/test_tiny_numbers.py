"""Tiny numbers keep no learner from ending, so one record does not decide whether a release ends."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from processes import Process, finish

from pate_cli import teachers
from pate_cli.datasets.shards import Shard, ShardedFeatures
from pate_cli.datasets.three_files import LoadedFile
from pate_cli.learners import BUILT_IN, make_learner
from pate_cli.types import Holdout, PrivateRecords, PublicPoints

ITSELF = "import runpy; sys.path.insert(0, sys.argv[2]); runpy.run_path(sys.argv[1], run_name='__main__')"
N = 200
CELLS = (5e-324, 1e-172, 1e-151)
NEAR = (1e-149, 1e-99)
"""Records that are alike but for a last bit: at 1e-149, that difference kept liblinear from ending."""


def _teach(name: str, X: Any, count: int, unit: bool, n_classes: int) -> None:
    units = np.arange(N) // 2 if unit else None
    private = PrivateRecords(X, np.arange(N) % n_classes, units)
    learner = make_learner(name, {}, seed=None, n_classes=n_classes)
    rng = np.random.default_rng(0)
    ensemble = teachers.train(
        private, n_teachers=count, learner=learner, rng=rng, n_classes=n_classes, strict=False
    )
    assert (ensemble.votes_and_failures(private.X)[0].counts.sum(axis=1) == count).all()


def _teach_all() -> None:
    for name, (count, unit), cell in itertools.product(BUILT_IN, ((1, False), (7, True)), CELLS):
        X = np.zeros((N, 1))
        X[17] = cell
        _teach(name, X, count, unit, 2)
    for name, cell in itertools.product(("logistic", "linear_svm", "libsvm"), (1e-172, *NEAR)):
        X = np.full((N, 1), cell if cell in NEAR else 0.0)
        X[17] = cell * (1 + 2.0**-52)
        _teach(name, sp.csr_matrix(X), 7, False, 2)
        _teach(name, np.hstack([X] * 40), 50, False, 2)
        _teach(name, X, 7, False, 3)


def test_every_built_in_learner_ends(tmp_path: Path) -> None:
    """In a process of its own: a solver's loop hears no signal that Python would act on."""
    code, _, err = finish(Process(tmp_path, __file__, str(Path(__file__).parents[1]), code=ITSELF))
    assert code == 0, err


@pytest.mark.parametrize("make", [lambda X: PrivateRecords(X, np.zeros(2)), PublicPoints])
@pytest.mark.parametrize("sparse", [False, True])
def test_tiny_features_count_as_zero(make: Any, sparse: bool) -> None:
    X: Any = np.array([[1e-101, -5e-324, 1e-100], [-1e-100, 3.0, 0.0]])
    X = sp.csr_matrix(X) if sparse else X
    before = X.copy()
    found = make(X).X
    np.testing.assert_array_equal(found.toarray() if sparse else found, [[0, 0, 1e-100], [-1e-100, 3, 0]])
    assert (before != X).sum() == 0  # what the caller has is left as it was
    assert make(found).X is found


def test_records_of_the_test_and_of_shards_have_none_either() -> None:
    X = np.array([[1e-101], [1.0]])
    assert Holdout(X, np.zeros(2)).X[0, 0] == 0

    def read(path: Path) -> LoadedFile:
        return LoadedFile(path, X, None, "", str)

    shards = ShardedFeatures((Shard(Path(), "", 2),), 1, sparse=False, read=read)
    np.testing.assert_array_equal(shards[np.arange(2)], [[0], [1]])


if __name__ == "__main__":
    _teach_all()
