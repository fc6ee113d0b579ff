"""`noisy_gd`: descent on clipped gradients, any finite record, the claim, and seeded bugs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from pate_cli.audit import audit
from pate_cli.errors import ConfigError
from pate_cli.mechanisms import calibrate
from pate_cli.mechanisms.direct.linear import Scaling
from pate_cli.privacy.door import Door
from pate_cli.types import PrivateRecords, Setting

N = 6499
ONE = Scaling(1.0)
_NORM = math.hypot(1.0, 0.5)  # what `Scaling` divides a record with its constant by


def made(eps=0.5, *, delta=1 / N, n=N, n_classes=2, n_features=112, **options):
    student = ("logistic", {})
    setting = Setting(eps, delta, n, 163, 49, n_features, n_classes, 10, False, student, student, "drop")
    return calibrate("noisy_gd", options, setting)


def descend(p, X, y, units=None):
    """Weights of a run on records scaled by 1, shape (C, d + 1)."""
    return p.fit(PrivateRecords(X, y, units), ONE, Door.seeded(0))[0][0]


def records(rows, d=3, n_classes=2):
    rng = np.random.default_rng(0)
    return rng.normal(size=(rows, d)), rng.integers(n_classes, size=rows)


def test_scale_of_the_noise():
    """Of 49 queries of sensitivity 1 at eps .5, delta 1/6499: 39.6604."""
    p = made(steps=49, clip=0.5)
    assert p.sigma == pytest.approx(39.6604, abs=6e-5)
    assert made(steps=49, clip=3).sigma == pytest.approx(6 * p.sigma)  # a clip of 3 is a sensitivity of 6
    undecided = np.array([0.5, -0.5])  # of two classes, at norm 1: the default keeps all of it, and no more
    assert made().clip == pytest.approx(np.linalg.norm(undecided))
    assert (p.guarantee.eps, p.guarantee.delta) == (0.5, 1 / N)
    assert made(math.inf).sigma == 0


@pytest.mark.parametrize(
    ("n_classes", "form", "persons"),
    [(2, np.asarray, True), (3, np.asarray, False), (3, sp.csr_matrix, True)],
)
def test_without_noise_it_is_descent_on_clipped_gradients(n_classes, form, persons):
    X, y = records(40, n_classes=n_classes)
    units = np.arange(40) // (3 if persons else 1)
    p = made(math.inf, n=40, n_classes=n_classes, steps=3, clip=0.9, step_size=0.5)
    Z = np.column_stack([X, np.full(40, 0.5)]) / _NORM
    w, kept, clipped = np.zeros((n_classes, 4)), [], 0
    for _ in range(3):
        total = np.zeros_like(w)
        for person in np.unique(units):
            gradient = np.zeros_like(w)
            for x, label in zip(Z[units == person], y[units == person], strict=True):
                shares = np.exp(w @ x) / np.exp(w @ x).sum()
                gradient += np.outer(shares - np.eye(n_classes)[label], x)
            clipped += np.linalg.norm(gradient) > 0.9
            total += gradient * min(1, 0.9 / np.linalg.norm(gradient))
        w = w - 0.5 * total / 40
        kept.append(w)
    assert 10 < clipped < 100
    found = descend(p, form(X), y, units if persons else None)
    assert found == pytest.approx(np.mean(kept[1:], axis=0), abs=2e-6)  # gradients are rounded to a grid


def test_the_rule_takes_more_steps_for_more_records_or_budget():
    low, high, many = made(0.1), made(1.0), made(0.1, n=10 * N)
    assert 10 <= low.steps < high.steps <= 300
    assert low.steps < many.steps <= 300


LARGEST, LEAST = np.finfo(float).max, 5e-324


@pytest.mark.parametrize(("form", "clip"), [(np.asarray, math.sqrt(2)), (sp.csr_matrix, 1e-6)])
@pytest.mark.parametrize(
    "record",
    [
        [LARGEST, -LARGEST, LARGEST],
        [0.0, -LARGEST, 0.0],
        [1.4e154, 0.0, 0.0],  # the square just too large
        [LEAST, 1.0, LARGEST],
        [1e-160, 1e160, -1e-320],
        [0.0, 0.0, 0.0],
    ],
)
def test_one_extreme_record_moves_the_weights_within_the_clip(record, clip, form):
    """The others are nothing, so what moves the weights is the record."""
    p = made(math.inf, n=1, steps=1, clip=clip, step_size=1.0)
    once = descend(p, form(np.array([record])), np.array([1]))
    assert np.isfinite(once).all()
    assert np.linalg.norm(once) <= clip
    far = descend(replace(p, steps=7), form(np.array([record])), np.array([1]))
    assert np.linalg.norm(far) <= 5.5 * clip  # the mean over steps 4 to 7, each within the clip


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"steps": 0}, "mechanism.steps: got 0; accepted: auto, or a whole number >= 1"),
        ({"clip": 5e-324}, "mechanism.clip: got 5e-324; accepted: a number in (1e-100, 1e+100]"),
        ({"step_size": math.nan}, "mechanism.step_size: got nan;"),
    ],
)
def test_options_are_refused_by_name(options, said):
    with pytest.raises(ConfigError) as refused:
        made(**options)
    assert str(refused.value).startswith(said)


# weights that hardly move: there every step's gradient is clipped, and changes by all of 2 * clip
STILL = {"eps": 3.0, "delta": 1e-3, "n": 1000, "steps": 8, "step_size": 0.05}


def shown(attacked, claimed, persons):
    attacks = attacked.attacks_on_persons() if persons else attacked.attacks()
    return max(each.bound for each in audit(claimed, attacks, runs=6000, confidence=1 - 1e-6, seed=0))


@pytest.mark.parametrize("persons", [False, True])
def test_the_claim_stands_and_half_of_it_is_shown(persons):
    p = made(**STILL)
    assert 1.5 < shown(p, p, persons) <= 3


def test_half_of_the_noise_is_caught():
    p = made(**STILL)
    assert shown(replace(p, sigma=p.sigma / 2), p, False) > 3  # sensitivity clip, as for add/remove
