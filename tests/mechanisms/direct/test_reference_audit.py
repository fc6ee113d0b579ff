"""The audit stays below the claim of each reference, close enough to mean something, and catches each bug.

A claim of eps holds together with its delta; all bounds are at 99.9999% confidence, so a false alarm
has probability at most 1e-6; seeds are fixed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pate_cli.audit.bounds import best_event, eps_lower_bound
from pate_cli.mechanisms import calibrate
from pate_cli.mechanisms.direct import output_perturbation
from pate_cli.types import Setting

EPS, DELTA, SURE = 3.0, 1e-3, 1 - 1e-6
RUNS = {"output_perturbation": 200000}


def made(name, **options):
    learner = ("logistic", {})
    setting = Setting(EPS, DELTA, 1000, 100, 30, 20, 2, 10, False, learner, learner, "drop")
    return calibrate(name, options, setting)


def bound(sample, runs, delta):
    """Lower bound on eps from one linear score: learnt, its event chosen, and counted on different runs."""
    rng = np.random.default_rng(0)
    on_d, on_other = sample(False, rng, runs), sample(True, rng, runs)
    learn, choose, count = slice(0, runs // 4), slice(runs // 4, runs // 2), slice(runs // 2, runs)
    variance = np.maximum((on_d[learn].var(axis=0) + on_other[learn].var(axis=0)) / 2, 1e-30)
    weight = (on_d[learn].mean(axis=0) - on_other[learn].mean(axis=0)) / variance
    p, q = on_d @ weight, on_other @ weight
    at, _ = best_event(p[choose], q[choose], delta, SURE)
    hits = [int(np.count_nonzero(scores[count] >= at)) for scores in (p, q)]
    half = runs // 2
    return float(eps_lower_bound(hits[0], half, hits[1], half, delta, SURE))


def strongest(name, attacked, claimed):
    """Largest bound of all attacks, at the delta claimed."""
    return max(bound(sample, RUNS[name], claimed.guarantee.delta) for _, sample, _ in attacked.attacks())


@pytest.mark.parametrize(
    ("name", "options", "least"),
    [
        ("output_perturbation", {}, 1.0),
        ("output_perturbation", {"noise": "laplace"}, 1.5),
    ],
)
def test_the_claim_stands(name, options, least):
    right = made(name, **options)
    found = strongest(name, right, right)
    assert least < found <= EPS


def no_rows_clipped(patch):
    patch.setattr(output_perturbation, "clip_rows", lambda Z: Z)


@pytest.mark.parametrize(
    ("name", "options", "bug"),
    [
        ("output_perturbation", {}, no_rows_clipped),
        ("output_perturbation", {}, lambda p: replace(p, scale=p.scale / 2)),
        ("output_perturbation", {"noise": "laplace"}, lambda p: replace(p, scale=p.scale / 2)),
        ("output_perturbation", {"noise": "laplace"}, no_rows_clipped),
    ],
)
def test_a_bug_is_caught(name, options, bug, monkeypatch):
    right = made(name, **options)
    wrong = bug(monkeypatch) if bug is no_rows_clipped else bug(right)
    assert strongest(name, wrong or right, right) > EPS


def test_attacks_run_the_learners_own_records():
    """The neighbours differ in one record, and reach nearly all of the sensitivity of a minimiser."""
    p = replace(made("output_perturbation"), scale=0.0)
    steep = {name: sample for name, sample, _ in p.attacks()}["steep losses, across the pull of the rest"]
    rng = np.random.default_rng(0)
    moved = np.linalg.norm(steep(False, rng, 1) - steep(True, rng, 1))
    assert 0.7 * p.sensitivity < moved <= p.sensitivity
