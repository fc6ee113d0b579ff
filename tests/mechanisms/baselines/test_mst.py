"""Made-up records from noisy tables of pairs: what a record can move, what is sent, what comes of it."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from outside import PYTHONS, needs, sent
from scipy.stats import chi2

from pate_cli import cli, mechanisms
from pate_cli.errors import ConfigError, InfeasibleError
from pate_cli.mechanisms.baselines import mst
from pate_cli.mechanisms.baselines.mst import MstPlan
from pate_cli.mechanisms.baselines.public_codes import PublicCodes
from pate_cli.privacy import zcdp
from pate_cli.privacy.noise import SeededNoise
from pate_cli.types import Private, PrivateRecords, PublicPoints, Setting

LEARNER = ("logistic", {})
TRIED = {"tables": np.zeros(4), "versions": ["2.0.0"]}


def setting(eps=1.0, delta=1e-4, n=2000, classes=2, d=2):
    return Setting(eps, delta, n, 40, 40, d, classes, 20, False, LEARNER, LEARNER, "drop")


def plan(python, bins=16, **changes):
    return mechanisms.plan("mst", {"python": python, "bins": bins}, setting(**changes))


def made(eps=1.0, n=2000, bins=16):
    """A plan without an interpreter, for what needs none."""
    s = setting(eps=eps, n=n)
    return MstPlan(eps, s.delta, zcdp.rho_at(eps, s.delta), n, 2, bins, "none", s)


def noise(seed=0):
    return SeededNoise(np.random.SeedSequence(seed))


@pytest.mark.parametrize(("eps", "delta"), [(0.05, 1e-5), (1.0, 1e-4), (10.0, 1e-6)])
def test_three_parts_make_up_rho(eps, delta):
    rho = zcdp.rho_at(eps, delta)
    assert eps * (1 - 1e-9) < zcdp.eps_tight(rho, delta) <= eps
    p = dataclasses.replace(made(eps), rho=rho)
    for d in (1, 2, 30):
        ones, pairs = p.deviations(d)
        spent = 2 * d / (2 * ones**2) + 2 * (d - 1) / (2 * pairs**2)
        assert spent <= rho * 2 / 3 * (1 + 1e-12)
    assert spent == pytest.approx(rho * 2 / 3)


def test_a_replaced_record_moves_counts_and_distances_as_the_proof_says():
    rng = np.random.default_rng(0)
    sizes = np.array([3, 2, 4])
    starts = np.array([0, 3, 5, 9])
    reached = np.zeros(2)
    for _ in range(300):
        codes = rng.integers(0, sizes, (5, 3))
        other = codes.copy()
        other[0] = rng.integers(0, sizes)
        both = [mst._pair_counts(each + starts[:-1], 9) for each in (codes, other)]
        ones = rng.normal(2, 3, 9)  # whatever was released
        moved = np.subtract(*both)
        tables = [moved[:3, 3:5], moved[:3, 5:], moved[3:5, 5:]]
        assert np.linalg.norm(np.diagonal(moved)) <= math.sqrt(6) + 1e-9
        assert max(np.linalg.norm(each) for each in tables) <= math.sqrt(2) + 1e-9
        far = [mst._distances(each, ones, starts, 5) for each in both]
        reached = np.maximum(reached, [np.linalg.norm(np.diagonal(moved)), np.abs(far[0] - far[1]).max()])
        assert np.abs(far[0] - far[1]).max() <= 2 + 1e-9
    assert reached == pytest.approx([math.sqrt(6), 2], abs=0.2)  # and no less


def test_pairs_are_chosen_by_the_exponential_mechanism():
    """Chi-square of the first of 20,000 choices: false alarm 1e-7."""
    p = made(eps=2.0)
    distances = np.array([[0, 9.0, 5], [9, 0, 0], [5, 0, 0]])
    exponent = math.sqrt(8 * p.rho / 3 / 2)
    expected = np.exp(exponent * np.array([9.0, 5, 0]) / 4)
    expected *= 20_000 / expected.sum()
    source = noise()
    firsts = [tuple(p._tree(distances, source)[0]) for _ in range(20_000)]
    seen = np.array([firsts.count(pair) for pair in ((0, 1), (0, 2), (1, 2))])
    assert ((seen - expected) ** 2 / expected).sum() < chi2.isf(1e-7, 2)
    assert expected[0] > 1.2 * expected[2]  # there is something to tell


def test_noise_is_as_stated():
    """Standard deviations of 20,000 draws, within 5.5 of their own: false alarm below 1e-6."""
    p, source = made(), noise(1)
    sizes, codes = np.array([2, 2]), np.array([[0, 1]] * 7)
    runs = [p.count(codes, sizes, source) for _ in range(20_000)]
    ones = np.array([run.ones for run in runs]) - [7, 0, 0, 7]
    pairs = np.array([run.pairs[0].ravel() for run in runs]) - [0, 7, 0, 0]
    for found, stated in zip((ones, pairs), p.deviations(2), strict=True):
        assert np.abs(found.std(axis=0) / stated - 1).max() < 5.5 / math.sqrt(2 * 20_000)
    assert {tuple(run.edges[0]) for run in runs} == {(0, 1)}


def test_all_columns_hang_together():
    p = made(eps=5.0)
    rng = np.random.default_rng(2)
    sizes = rng.integers(1, 5, 30)
    tables = p.count(rng.integers(0, sizes, (500, 30)), sizes, noise())
    assert tables.edges.shape == (29, 2)
    group = list(range(30))
    for a, b in tables.edges:
        assert group[a] != group[b]
        group = [group[a] if each == group[b] else each for each in group]
    assert len(set(group)) == 1


def test_made_up_records_follow_the_tables():
    rng = np.random.default_rng(3)
    tables = [np.array([[30.0, 0], [0, 70]]), np.array([[10.0, 70], [20, 0]]), np.zeros((2, 3))]
    edges = np.array([[1, 2], [0, 1], [2, 3]])
    drawn = mst.sampled(tables, edges, np.array([2, 2, 2, 3]), 20_000, rng)
    assert (drawn[:, 1] == drawn[:, 2]).all()
    assert drawn[:, 1].mean() == pytest.approx(0.7, abs=0.02)
    assert drawn[drawn[:, 1] == 0, 0].mean() == pytest.approx(20 / 30, abs=0.02)
    assert drawn[drawn[:, 1] == 1, 0].max() == 0
    assert np.bincount(drawn[:, 3]) / 20_000 == pytest.approx([1 / 3] * 3, abs=0.02)


def test_any_number_has_a_code():
    rng = np.random.default_rng(4)
    public = np.column_stack(
        [rng.normal(size=50), rng.integers(0, 3, 50) * 5.0, np.full(50, 7.0), np.zeros(50)]
    )
    public[:10, 0] = public[0, 0]  # a value that many have
    public[0, 3] = 1.0
    codes = PublicCodes.of(public, 8)
    assert codes.sizes[0] <= 8
    assert codes.sizes[1:].tolist() == [3, 1, 2]
    assert codes.decode(codes.codes(public))[:, 1:] == pytest.approx(public[:, 1:])
    assert np.corrcoef(codes.decode(codes.codes(public))[:, 0], public[:, 0])[0, 1] > 0.95
    far = codes.codes(np.array([[1e308, 9, -1, 0.4], [-1e308, 2.6, 8, 0.6]]))
    assert far.tolist() == [[codes.sizes[0] - 1, 2, 0, 0], [0, 1, 0, 1]]


def test_the_child_is_sent_noisy_tables_alone_and_the_student_learns_from_what_it_says(stand_in, tmp_path):
    agreeing = np.array([900.0, 100, 0, 1000])  # of the column and the label
    p = plan(stand_in(TRIED, {**TRIED, "tables": agreeing}), d=1)
    rng = np.random.default_rng(5)
    X = rng.integers(0, 2, (2000, 1)).astype(float)
    private = Private(PrivateRecords(X, rng.integers(0, 2, 2000)))
    out = p.release(private, PublicPoints(np.array([[0.0], [1.0]] * 20)), noise(), rng)
    job = sent(tmp_path)
    assert set(job) == {"sizes", "edges", "ones", "pairs", "deviations", "n", "steps"}
    assert job["ones"].shape == job["pairs"].shape == (4,)
    assert not np.isclose(job["ones"], np.rint(job["ones"])).any()
    assert not np.isclose(job["pairs"], np.rint(job["pairs"])).any()
    assert out.model.predict_proba([[0.0], [1.0]])[:, 1] == pytest.approx([0.1, 1.0], abs=0.03)
    assert (out.spent.eps, out.spent.delta) == (1.0, 1e-4)


def test_what_it_cannot_do_is_one_line(stand_in, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["run", "mechanism=mst", "dataset.n_records=9000"]) == 2
    said = capsys.readouterr().err
    assert "mechanism.python: got None" in said
    assert "DIR/bin/pip install mbi==2.0.0" in said
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ConfigError, match=r"this one has version 1\.9$"):
        plan(stand_in({**TRIED, "versions": ["1.9"]}))
    with pytest.raises(ConfigError, match=r"^eps: got inf; accepted: a finite number with mechanism=mst"):
        plan("none", eps=math.inf)
    with pytest.raises(InfeasibleError, match=r"2,000 x 3,000 is more than 2,000 columns"):
        plan("none", d=3000)


@needs("mst")
def test_tables_agree_with_each_other_and_are_near_the_exact_ones():
    p = plan(PYTHONS["mst"], eps=50.0, d=2)
    rng = np.random.default_rng(6)
    label = rng.integers(0, 2, 2000)
    codes = np.column_stack(
        [(label + rng.integers(0, 3, 2000)) % 3, (label ^ (rng.random(2000) < 0.2)), label]
    )
    sizes = np.array([3, 2, 2])
    tables = p.count(codes, sizes, noise())
    found = p._agreeing(tables, sizes)
    for (a, b), table in zip(tables.edges, found, strict=True):
        exact = np.zeros(table.shape)
        np.add.at(exact, (codes[:, a], codes[:, b]), 1)
        assert table.sum() == pytest.approx(2000)
        assert np.abs(table - exact).max() < 40
    shared = set(tables.edges[0]) & set(tables.edges[1])
    sums = [t.sum(axis=1 - list(e).index(*shared)) for e, t in zip(tables.edges, found, strict=True)]
    assert sums[0] == pytest.approx(sums[1], rel=1e-6)
