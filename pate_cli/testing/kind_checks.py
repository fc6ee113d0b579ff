"""A kind of release is tried: does its noise hide a move by its sensitivity as well as its cost says.

A second opinion on costs, which knows no formula of noise. If an event of an account is worth (eps, delta)
for each of some delta, then ``P(S) <= b(Q(S))`` for all sets S of outputs, P and Q the laws of a release and
of one whose value is moved by the sensitivity:

    b(q) = min over delta of min(e^eps q + delta, 1 - e^-eps (1 - q - delta)),

which is the exact trade-off curve of the event where its eps is exact for every delta. Moved k times as far
the bound is b(b(... b(q))), as each step is a move by the sensitivity (group privacy). So a small cost is
magnified until an event of the outputs shows it in few draws, and a large one is tried with a parameter that
makes it smaller.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from scipy.special import ndtri

from pate_cli.audit.bounds import clopper_pearson
from pate_cli.privacy.events import Account, Event, compose
from pate_cli.privacy.kinds import Kind
from pate_cli.privacy.noise import SeededNoise
from pate_cli.testing.failure import require
from pate_cli.types import FloatArray

__all__ = ["hidden"]

_RUNS = 40_000
"""Draws of each law that choose an event of the outputs, and as many that count it."""

_FEW = 2_000
"""The same where a kind draws one release at a time."""

_MOST_NUMBERS = 8
_CONFIDENCE = 1 - 1e-9  # of each of a few counts for each of some tens of kinds
_DELTAS = np.geomspace(1e-12, 0.5, 160)
_MOST_STEPS = 2**12
_FAINT, _PLAIN = 0.6, 0.9
"""How far the bound of an event of probability .1 is to be magnified, and from where on it shows nothing."""

_tried: set[Any] = set()


def hidden(kind: Kind, d: int) -> None:
    """Try releases of d numbers; CheckFailed if they tell more of a value than their event says."""
    event = kind.event(d)
    if event.once or not np.isfinite(cost := _losses(event)[0][-1]):
        return  # of a run with a proof and test of its own, or without noise
    for size in {min(d, _MOST_NUMBERS), 2 if np.isinf(kind.norm) else 1}:
        # of parameters that cost about the same, one will do
        key = (type(kind).draw, type(kind).event, size, round(np.log2(cost + 1e-9) / 2))
        if key not in _tried:
            _try(kind, size)
            _tried.add(key)


def _try(kind: Kind, d: int) -> None:
    while _bound(0.1, _losses(kind.event(d)), 1) > _PLAIN and (cheaper := _cheaper(kind, d)):
        kind = cheaper
    losses, steps = _losses(kind.event(d)), 1
    while steps < _MOST_STEPS and _bound(0.1, losses, steps) < _FAINT:
        steps = max(steps + 1, int(1.25 * steps))
    for scores, others in _scores(kind, d, steps):
        half = len(scores) // 2
        for p, q in ((scores, others), (others, scores)):
            for sign in (1, -1):
                low, high = _limits(sign * p[:half], sign * q[:half], None)
                at = int(np.argmax(ndtri(low) - ndtri(_bound(high, losses, steps))))
                edge = _thresholds(sign * p[:half], sign * q[:half])[at]
                (low,), (high,) = _limits(sign * p[half:], sign * q[half:], np.array([edge]))
                bound = float(_bound(high, losses, steps))
                fault = f"an event of probability {low:.3g} where at most {bound:.3g} is counted"
                require(low <= bound, f"{type(kind).__name__}: {fault}")


def _cheaper(kind: Kind, d: int) -> Kind | None:
    """The same with half of the number that its cost grows with, as its sensitivity or its eps."""
    for name, value in vars(kind).items():
        if isinstance(value, float):
            half = replace(kind, **{name: value / 2})
            if _losses(half.event(d))[0][-1] < _losses(kind.event(d))[0][-1]:
                return half
    return None


@cache
def _losses(event: Event) -> tuple[FloatArray, FloatArray]:
    """(eps, delta) of one event, for each delta if it takes one."""
    account = Account([event])
    found = [compose(account, float(delta)) for delta in (_DELTAS if event.takes_delta else [0.0])]
    eps, delta = np.array(found).T
    return eps, delta


def _bound(q: Any, losses: tuple[FloatArray, FloatArray], steps: int) -> Any:
    """Largest probability of an event, whose probability is q, after so many moves."""
    eps, delta = np.minimum(losses[0], 500.0), losses[1]
    up, down = np.exp(eps), np.exp(-eps)
    q = np.asarray(q, dtype=float)
    for _ in range(steps):
        each = q[..., None]
        q = np.minimum(up * each + delta, 1 - down * (1 - each - delta)).min(axis=-1).clip(0, 1)
    return q


def _scores(kind: Kind, d: int, steps: int) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Numbers made of releases of a value, and of the value moved."""
    source, far = SeededNoise(np.random.SeedSequence(11)), kind.sensitivity * steps
    move = np.full(d, -far if np.isinf(kind.norm) else 0.0)
    move[0] = far
    start = np.zeros(d)
    first = _drawn(kind, start, source)
    if first.dtype.kind in "iub":  # a choice, where the first is chosen more and more seldom
        for behind in (0, 1, 2, 3, 4):
            start[0] = -behind * far
            p, q = (_drawn(kind, value, source) == 0 for value in (start, start + move))
            yield p.astype(float), q.astype(float)
        return
    both = [out.reshape(len(out), -1) for out in (first, _drawn(kind, move, source))]
    yield both[0][:, 0], both[1][:, 0]
    for norm in (1, 2) if d > 1 else ():
        nearer = [
            np.linalg.norm(out, norm, axis=1) - np.linalg.norm(out - move, norm, axis=1) for out in both
        ]
        yield nearer[0], nearer[1]


def _drawn(kind: Kind, value: FloatArray, source: SeededNoise) -> Any:
    """Many releases of a value, at once where the kind's own arrays are of many."""
    many = np.tile(value, (2 * _RUNS, 1))
    many = many if kind.count(many) in (1, len(many)) else many.T.copy()
    out = np.asarray(kind.draw(source, many))
    if out.ndim and len(out) == 2 * _RUNS:
        return out
    return np.array([kind.draw(source, value[None]) for _ in range(2 * _FEW)]).reshape(2 * _FEW, -1)


def _thresholds(p: FloatArray, q: FloatArray) -> FloatArray:
    ranks = np.unique(np.round(np.geomspace(1, len(p), 100)).astype(int))
    return np.unique(np.concatenate([np.sort(scores)[-ranks] for scores in (p, q)]))


def _limits(p: FloatArray, q: FloatArray, edges: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Limits of the probabilities that a score is at least an edge: below, of p; above, of q."""
    edges = _thresholds(p, q) if edges is None else edges
    hits = [len(scores) - np.searchsorted(np.sort(scores), edges, side="left") for scores in (p, q)]
    return clopper_pearson(hits[0], len(p), _CONFIDENCE)[0], clopper_pearson(hits[1], len(q), _CONFIDENCE)[1]
