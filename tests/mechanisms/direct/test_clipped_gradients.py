"""Sums of clipped gradients: what one person can move, to the bit, and that they are the gradients."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from pate_cli.features.kernel import KernelFeatures, OwnColumns
from pate_cli.features.stable_rows import on_grid, row_squares, stable_product
from pate_cli.mechanisms.direct import clipped_gradients
from pate_cli.mechanisms.direct.clipped_gradients import (
    ClippedGradients,
    grain_for,
    noisy_descent,
)
from pate_cli.privacy.door import Door

N, CLIP = 60, 0.3
FINE, COARSE = grain_for(N), grain_for(1e9)
FORMS = {
    "dense": np.asarray,
    "own": np.asarray,
    "sparse": sp.csr_matrix,
    "text": lambda X: sp.csr_matrix(np.tile(X, 101)),
}


def people(n_classes, seed=0):
    """Records of each of N persons: between one and nine, one with 700."""
    rng = np.random.default_rng(seed)
    found = []
    for person in range(N):
        X = rng.normal(size=(700 if person == 3 else rng.integers(1, 10), 6))
        found.append((X, rng.integers(0, n_classes, len(X))))
    return found


def replacements(n_classes):
    rng = np.random.default_rng(1)
    return {
        "one record": (rng.normal(size=(1, 6)), np.array([0])),
        "out of bounds": (np.full((5, 6), 1e300), np.array([0, 1, 0, 0, 1])),
        "zeros": (np.zeros((2, 6)), np.array([0, 1])),
        "very many records": (rng.normal(size=(600, 6)), rng.integers(0, n_classes, 600)),
    }


def step_of(name, n_classes, grain=FINE):
    """Give what sums the terms of some persons, at one theta of two runs."""
    rng = np.random.default_rng(2)
    form = FORMS[name]
    public = form(rng.normal(size=(80, 6)))
    made = OwnColumns.of(public) if name in ("own", "text") else KernelFeatures.of(public, rng)
    theta = rng.normal(0, 3, (2, made.dimension, 1 if n_classes == 2 else n_classes))

    def step(persons, *, named=True):
        X, y = (np.concatenate([person[part] for person in persons]) for part in (0, 1))
        owners = np.repeat(np.arange(len(persons)), [len(y) for _, y in persons])
        features = made.apply(form(X))
        return ClippedGradients(features, y, owners if named else None, clip=CLIP, grain=grain).sum_at(theta)

    return step


def norms(terms):
    """Norm of each run of sums of shape (..., runs, p, q)."""
    return np.linalg.norm(terms.reshape(*terms.shape[:-2], -1), axis=-1)


@pytest.mark.parametrize(
    ("n_classes", "form", "grain"),
    [(4, "dense", FINE), (3, "own", FINE), (2, "sparse", COARSE), (3, "text", COARSE)],
)
def test_all_records_of_a_person_move_that_persons_term_alone_to_the_bit(n_classes, form, grain, monkeypatch):
    step, before = step_of(form, n_classes, grain), people(n_classes)
    terms, most = np.array([step([person]) for person in before]), CLIP / grain
    assert 0.99 * most < norms(terms).max() <= most
    assert np.array_equal(terms, terms.round())
    # the sum is that of the terms of each person by itself, whoever the others are and in whatever order
    together = step(before)
    assert np.array_equal(together, terms.sum(axis=0))
    shuffled = np.random.default_rng(0).permutation(N)
    assert np.array_equal(step([before[i] for i in shuffled]), together)
    monkeypatch.setattr(clipped_gradients, "_NUMBERS", 300)  # blocks of some persons, and of one
    monkeypatch.setattr(clipped_gradients, "_ROWS", 7)
    assert np.array_equal(step(before), together)
    for number in (0, 3):
        for name, theirs in replacements(n_classes).items():
            own = step([theirs])
            after = step([*before[:number], theirs, *before[number + 1 :]])
            assert np.array_equal(after - together, own - terms[number]), name
            assert norms(own).max() <= most, name


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_record_is_a_person_with_one_record(n_classes):
    step = step_of("dense", n_classes)
    records = [(X[:1], y[:1]) for X, y in people(n_classes)]
    assert np.array_equal(step(records), step(records, named=False))


@pytest.mark.parametrize(("wide", "scale"), [(3, 1.0), (41, 1e-200), (700, 1e90)])
def test_products_norms_and_the_grid_round_a_row_by_itself(wide, scale):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(53, wide)) * scale, rng.normal(size=(17, wide))
    A[5] *= 1e7
    for form in (np.asarray, np.asfortranarray, sp.csr_matrix):
        there, product = form(A), stable_product(form(A), B)
        squares, rounded = row_squares(there), on_grid(there)
        for i in range(53):
            alone = form(A[i : i + 1])
            assert np.array_equal(stable_product(alone, B)[0], product[i])
            assert row_squares(alone)[0] == squares[i]
            assert abs(on_grid(alone) - rounded[i : i + 1]).max() == 0
        error = np.abs(product - A @ B.T) / scale / np.linalg.norm(B, axis=1)
        assert (error.max(axis=1) < 2.0**-22 * np.linalg.norm(A / scale, axis=1)).all()


def test_the_grain_leaves_room_for_all_sums():
    for largest in (0.1, 1000.0, 1e9):
        grain = grain_for(largest)
        assert math.log2(grain).is_integer()
        assert largest / grain <= 2.0**52


@pytest.mark.parametrize(
    ("bowl", "downhill", "steps_of", "towards"),
    [
        ([0, 1, 1], [-1, -1, -1], [0.02, 0.5, 0.5], "late"),  # the first goes down all the way
        ([1, 1, 1], [-1, -1, -1], [0.5, 0.5, 0.5], "half"),  # all have arrived
        ([1, 1, 1], [1, -1, -1], [-0.01, 0.5, 0.5], "whole"),  # the first was carried uphill
    ],
)
def test_the_mean_turns_to_last_or_all_steps_where_the_loss_falls_or_rises(bowl, downhill, steps_of, towards):
    bowl, downhill, steps_of = (np.array(each, dtype=float)[:, None] for each in (bowl, downhill, steps_of))
    path = []

    def move(noisy):
        path.append(-steps_of * noisy[0])
        return steps_of * noisy

    found, released = noisy_descent(
        SimpleNamespace(sum_at=lambda theta: bowl * theta + downhill),
        Door(SimpleNamespace(gaussian=lambda scale, size: np.zeros(size))),
        (2, 3, 1),
        steps=80,
        sensitivity=1.0,
        sigma=10.0 if towards == "half" else 1e-6,
        move=move,
        integer=False,
        momentum=0.0,
    )
    at = np.cumsum(path, axis=0)
    half = at[40:].mean(axis=0)
    expected = {"late": at[70:], "half": at[40:], "whole": at}[towards].mean(axis=0)
    expected *= np.linalg.norm(half[:-1]) / np.linalg.norm(expected[:-1])
    expected[-1] = half[-1]
    assert found[1] == pytest.approx(expected, rel=1e-3)
    assert released[0] == pytest.approx(sum(path) / -steps_of)
