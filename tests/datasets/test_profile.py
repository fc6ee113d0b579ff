"""Drift of new records against public points."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from pate_cli.datasets.new_records import LARGE, drift, profile_of


def made(n, seed, shift=0.0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"x": rng.normal(size=n) + shift, "flag": (rng.random(n) < 0.02).astype(float)})
    table["job"] = rng.zipf(1.5, n).astype(str)
    table["gaps"] = np.where(rng.random(n) < 0.3, np.nan, table["x"])
    return table


def test_the_index_is_that_of_the_formula():
    profile = profile_of(pd.DataFrame({"job": ["a"] * 60 + ["b"] * 40}))["job"]
    assert profile == {"values": ["a", "b"], "counts": [60, 40, 0]}
    index = drift(profile, pd.Series(["a"] * 20 + ["b"] * 80), 1)
    p, q = (60.5 / 101, 40.5 / 101), (20.5 / 101, 80.5 / 101)
    assert index == pytest.approx(sum((b - a) * np.log(b / a) for a, b in zip(p, q, strict=True)))


def test_numbers_are_counted_in_tenths():
    profile = profile_of(pd.DataFrame({"x": [*map(float, range(100)), np.nan]}))["x"]
    assert (profile["low"], profile["high"], profile["counts"]) == (0, 99, [10] * 10 + [1])
    assert json.loads(json.dumps(profile)) == profile  # plain types: skops writes them without ours


@pytest.mark.parametrize("m", [2, 30, 1000])
def test_records_like_the_public_points_seldom_drift(m):
    """At a chance of at most 0.001 each; of 7,200 such tests none drifted."""
    tables = ((made(200, seed), made(m, 10_000 + seed)) for seed in range(60))
    said = [drift(p, new[name], 1) for old, new in tables for name, p in profile_of(old).items()]
    assert sum(index is not None for index in said) <= 3


def test_a_shift_drifts():
    profiles = profile_of(made(200, 0))
    moved = made(200, 1, shift=1.5)
    assert drift(profiles["x"], moved["x"], 4) > 2 * LARGE
    assert drift(profiles["gaps"], moved["gaps"].isna().where(lambda x: x).astype(float), 4) > LARGE
    assert drift(profiles["job"], moved["job"], 4) is None
    assert drift(profiles["job"], pd.Series(["new"] * 200), 4) > LARGE
