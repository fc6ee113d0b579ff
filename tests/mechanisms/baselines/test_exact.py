"""Products of rows: the same to the bit wherever a row stands, and right."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from pate_cli.mechanisms.baselines.exact import dot, norms, whole

LARGEST, LEAST = 1e100, 5e-324
FORMS = (np.asarray, sp.csr_matrix)


def rows(n=400, d=37):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(n, d)) * np.exp(20 * rng.normal(size=(n, 1))) * (rng.random((n, d)) < 0.7)
    A[:5] = [[LARGEST] * d, [LEAST] * d, [0.0] * d, [LARGEST, LEAST, *[0.0] * (d - 2)], [-1.0] * d]
    return A


@pytest.mark.parametrize("form", FORMS)
def test_a_row_is_the_same_wherever_it_stands_and_among_which_others(form):
    A, B = rows(), np.random.default_rng(1).normal(size=(90, 37))
    together, sizes = dot(form(A), form(B)), norms(form(A))
    order = np.random.default_rng(2).permutation(len(A))
    assert np.array_equal(dot(form(A[order]), form(B)), together[order])
    assert np.array_equal(norms(form(A[order])), sizes[order])
    for at in range(0, len(A), 7):
        assert np.array_equal(dot(form(A[at : at + 1]), form(B))[0], together[at])
        assert np.array_equal(norms(form(A[at : at + 1])), sizes[at : at + 1])


@pytest.mark.parametrize("form", FORMS)
def test_rows_are_whole_and_short_enough_that_all_sums_are_exact(form):
    numbers, steps = whole(form(rows()))
    numbers = numbers.toarray() if form is sp.csr_matrix else numbers
    assert np.array_equal(numbers, np.rint(numbers))
    assert np.array_equal(np.frexp(steps)[0], np.full(len(steps), 0.5))
    squares = [sum(int(x) ** 2 for x in row) for row in numbers]
    assert 2**50 < max(squares) <= (2**26 + 4) ** 2 < 2**53


@pytest.mark.parametrize("form", FORMS)
def test_products_and_norms_are_right(form):
    A, B = rows(60), np.random.default_rng(1).normal(size=(7, 37))
    found, sizes = dot(form(A), form(B)), norms(form(A))
    for a, row, size in zip(A, found, sizes, strict=True):
        norm = float(sum(Fraction(x) ** 2 for x in a)) ** 0.5 if np.abs(a).max() > 1e-150 else 0.0
        assert abs(size - norm) <= 2e-7 * norm
        for b, value in zip(B, row, strict=True):
            right = float(sum(Fraction(x) * Fraction(z) for x, z in zip(a, b, strict=True)))
            assert abs(value - right) <= 4e-7 * norm * np.linalg.norm(b) + 1e-290
