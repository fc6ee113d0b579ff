"""Sizes and contents of a split."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from encoders import encoder

from pate_cli.datasets import SplitSizes, sizes, split
from pate_cli.errors import ConfigError
from pate_cli.types import Dataset

TABLE_3 = {
    "mushroom": (8_124, (6_499, 163, 1_462, 49)),
    "a9a": (48_842, (39_073, 977, 8_792, 293)),
    "real-sim": (72_309, (57_847, 1_447, 13_015, 434)),
}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        *(((n, 0.8, 0.02, 0.3), expected) for n, expected in TABLE_3.values()),
        ((100, 0.29, 0.07, 0.3), (29, 7, 64, 2)),  # in binary, floor(0.29 * 100) is 28, ceil(0.07 * 100) 8
        ((1_000, 500, 400, 400), (500, 400, 100, 400)),
        ((1_000, 0.5, 400.0, np.int64(1)), (500, 400, 100, 1)),
        ((100, 0.8, 1, 0.3), (80, 1, 19, 1)),  # a share of labels is at least one
    ],
)
def test_sizes(given, expected):
    assert sizes(*given) == SplitSizes(*expected)


BAD = [0, 1.0, -0.2, 1.5, float("nan"), float("inf"), True, "0.8"]


@pytest.mark.parametrize("key", ["private", "public", "budget"])
def test_refuses_what_is_neither_fraction_nor_count(key):
    for value in BAD:
        with pytest.raises(ConfigError, match=rf"^split\.{key}: got .* a fraction in \(0, 1\)"):
            sizes(1_000, **{key: value})


@pytest.mark.parametrize(
    ("private", "public", "budget", "message"),
    [
        (0.9, 0.2, 0.3, r"split\.private: got 0\.9; accepted: at most 79 of the 100 records"),
        (10, 200, 0.3, r"split\.public: got 200; accepted: at most 89 of"),
        (80, 20, 0.3, r"split\.private: got 80; .* for the test"),
        (0.001, 0.02, 0.3, r"split\.private: got 0.001; .* 0 of 100"),
        (0.8, 5, 6, r"split\.budget: got 6; .* at most 5.* not enough for the budget"),
    ],
)
def test_refuses_parts_that_do_not_fit(private, public, budget, message):
    with pytest.raises(ConfigError, match=message):
        sizes(100, private, public, budget)


@pytest.mark.parametrize(
    "given",
    [{"public": 0.2}, {"public": 0.9}, {"private": 0.99}, {"private": 3, "public": 997}, {"public": 0.5}],
)
@pytest.mark.parametrize("public_file", [None, 100])
def test_a_refusal_names_both_keys_and_proposes_what_works(given, public_file):
    """split.public=0.2 was refused with advice that left one record for the test."""
    if public_file is not None:
        given = {"private": 1_000}
    with pytest.raises(ConfigError, match="for the test needs some") as caught:
        sizes(1_000, **given, public_file=public_file)
    advice = dict(re.findall(r"split\.(\w+)=(\d+)", str(caught.value)))
    assert set(advice) == ({"private", "public"} if public_file is None else {"private"})
    found = sizes(1_000, **{key: int(value) for key, value in advice.items()}, public_file=public_file)
    assert f"leaves {found.n_test} of them for it" in str(caught.value)
    assert found.n_test >= 100


def _numbered(n=50, kind=np.asarray):
    """Records whose only feature is their own number."""
    X = np.arange(n, dtype=float).reshape(-1, 1)
    return Dataset("t", kind(X), np.arange(n) % 2, ("0", "1"), "", "")


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_every_record_lands_in_exactly_one_part_with_its_own_label(kind):
    data, found = _numbered(kind=kind), []
    for seed in (0, 0, 1):
        parts = split(data, private=0.6, public=0.2, budget=3, rng=np.random.default_rng(seed))
        pairs = [parts.private, parts.public_labels, parts.test]
        assert all(isinstance(part.X, type(data.X)) for part in (*pairs, parts.public))
        columns = [sp.csr_matrix(part.X).toarray()[:, 0] for part in pairs]
        numbers = np.concatenate(columns)
        assert sorted(numbers) == list(range(50))
        np.testing.assert_array_equal(np.concatenate([part.y for part in pairs]), numbers % 2)
        assert [len(column) for column in columns] == [30, 10, 10]
        found.append(columns[0].tolist())
    assert found[0] == found[1] != found[2]  # the generator alone decides
    assert found[0] != sorted(found[0])


def test_encoder_is_fitted_on_public_features_alone():
    n = 100
    # Every record has a category of its own: only the public ones may be known.
    X = pd.DataFrame({"id": [f"r{i}" for i in range(n)], "size": np.arange(n, dtype=float) ** 2})
    data = Dataset("t", X, np.arange(n) % 2, ("0", "1"), "", "", encoder(id="category", size="number"))
    rng = np.random.default_rng(3)
    parts = split(data, private=0.8, public=0.1, budget=2, rng=rng)
    public = np.random.default_rng(3).permutation(n)[80:90]
    fitted = parts.encoder
    assert sorted(fitted.named_transformers_["levels"].categories_[0]) == sorted(f"r{i}" for i in public)
    assert fitted.named_transformers_["declared"].mean_[0] == pytest.approx(
        (public.astype(float) ** 2).mean()
    )
    assert not hasattr(data.encoder, "transformers_")  # the dataset's own stays unfitted
    assert isinstance(parts.private.X, sp.csr_matrix)
    assert parts.private.X.shape == (80, 11)
    assert parts.private.X[:, 1:].nnz == 0  # categories unknown to the public split
    assert parts.public.X[:, 1:].nnz == 10


def test_label_private_takes_the_public_points_out_of_the_private_records():
    assert sizes(1_000, 0.8, 0.3, 0.5, "label_private") == SplitSizes(500, 300, 200, 150)
    with pytest.raises(ConfigError, match=r"^split\.public: got 0\.8; .*less than the 800 private records"):
        sizes(1_000, 0.8, 0.8, 0.5, "label_private")
    with pytest.raises(ConfigError, match=r"^split\.mode: got 'labels'; accepted: records, label_private"):
        sizes(1_000, 0.8, 0.1, 0.5, "labels")

    def parts(mode):
        shares = {"private": 60, "public": 20, "budget": 5, "mode": mode}
        s = split(_numbered(100), rng=np.random.default_rng(0), **shares)
        return [set(part.X[:, 0].astype(int)) for part in (s.private, s.public, s.test)]

    (private, public, test), usual = parts("label_private"), parts("records")
    assert [len(part) for part in (private, public, test)] == [40, 20, 40]
    assert len(private | public | test) == 100
    assert private | public == usual[0]  # the private records of the other mode
    assert test == usual[1] | usual[2]


@pytest.mark.parametrize("part", ["private", "public", "test"])
def test_any_finite_number_of_a_table_is_centred_and_scaled_to_a_finite_one(part):
    """1.7e308 less a mean of -1.7e308, and over a deviation of 1e-160, is not a number."""
    n, rng = 50, np.random.default_rng(0)
    order = np.random.default_rng(0).permutation(n)
    rows = dict(zip(("private", "public", "test"), np.split(order, [30, 40]), strict=True))
    a, b = rng.normal(size=n), 1e-160 * rng.normal(size=n)
    a[rows[part][0]], a[rows[part][1]] = 1.7e308, -1.7e308
    b[rows[part][2]] = -1.7e308
    X = pd.DataFrame({"a": a, "b": b, "c": ["x", "y"] * (n // 2)})
    table = Dataset(
        "t", X, np.arange(n) % 2, ("0", "1"), "", "", encoder(a="number", b="number", c="category")
    )
    parts = split(table, private=30, public=10, budget=3, rng=np.random.default_rng(0))
    for held in (parts.private, parts.public, parts.test):
        assert np.isfinite(held.X.toarray()).all()
    assert np.abs(getattr(parts, part).X.toarray()).max() > 2
    assert table.X["a"].max() == 1.7e308  # a copy was cut off


@pytest.mark.parametrize("mode", ["records", "label_private"])
def test_given_public_rows_are_the_public_split_and_the_rest_is_drawn(mode):
    rows = np.array([3, 7, 8, 20, 49])
    drawn = []
    for seed in (0, 1):
        rng = np.random.default_rng(seed)
        parts = split(_numbered(), private=0.6, public=5, budget=3, rng=rng, mode=mode, public_rows=rows)
        np.testing.assert_array_equal(parts.public.X[:, 0], rows)
        np.testing.assert_array_equal(parts.public.rows, rows)
        numbers = [part.X[:, 0] for part in (parts.private, parts.public, parts.test)]
        assert sorted(np.concatenate(numbers)) == list(range(50))
        drawn.append(numbers[0])
    assert len(drawn[0]) == (30 if mode == "records" else 25)
    assert set(drawn[0]) != set(drawn[1])
    with pytest.raises(ValueError, match="4 public rows, 5 expected"):
        split(_numbered(), private=0.6, public=5, budget=3, rng=rng, public_rows=rows[:4])
