"""A kind of release is tried: does its noise hide a move by its sensitivity as well as its cost says.

A second opinion on costs, which knows no formula of noise. If an event of an account is worth (eps, delta)
for each of some delta, then ``P(S) <= b(Q(S))`` for all sets S of outputs, P and Q the laws of a release and
of one whose value is moved by the sensitivity:

    b(q) = min over delta of min(e^eps q + delta, 1 - e^-eps (1 - q - delta)),

which is the exact trade-off curve of the event where its eps is exact for every delta. Moved k times as far
the bound is b(b(... b(q))), as each step is a move by the sensitivity (group privacy). So a small cost is
magnified until an event of the outputs shows it in few draws, and a large one is tried with a parameter that
makes it smaller.

How costs compose is tried in the same way: P and Q are then the laws of many releases, half of them cheaper,
and an event is one of the sum of their scores.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
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

_FEWEST = 256
"""The same of many releases together, which is as many times more draws."""

_TOGETHER = 64
"""Releases whose costs are composed."""

_MOST_NUMBERS = 8
_CONFIDENCE = 1 - 1e-11  # of each of some hundred counts for each of some tens of kinds
_DELTAS = np.geomspace(1e-12, 0.5, 160)
_MOST_STEPS = 2**12
_FAINT, _PLAIN = 0.6, 0.9
"""How far the bound of an event of probability .1 is to be magnified, and from where on it shows nothing."""

_tried: set[Any] = set()


def hidden(kind: Kind, d: int) -> None:
    """Try releases of d numbers; CheckFailed if they tell more of a value than their event says."""
    event = kind.event(d)
    if event.once or not np.isfinite(cost := _eps(event)):
        return  # of a run with a proof and test of its own, or without noise
    fewest = 2 if np.isinf(kind.norm) else 1
    for size, together in {(min(d, _MOST_NUMBERS), 1), (fewest, 1), (fewest, _TOGETHER)}:
        # of parameters that cost about the same, one will do
        laws = (type(kind).draw, type(kind).event, type(event).compose)
        key = (*laws, size, together, round(np.log2(cost + 1e-9) / 2))
        if key not in _tried:
            _try(kind, size, together)
            _tried.add(key)


def _try(kind: Kind, d: int, together: int) -> None:
    kinds = _kinds(kind, d, together)
    while _bound(0.1, _cost(kinds, d, together), 1) > _PLAIN and (cheaper := _cheaper(kind, d)):
        kind, kinds = cheaper, _kinds(cheaper, d, together)
    losses, steps = _cost(kinds, d, together), 1
    while steps < _MOST_STEPS and _bound(0.1, losses, steps) < _FAINT:
        steps = max(steps + 1, int(1.25 * steps))
    for scores, others in _scores(kinds, d, steps, together):
        half = len(scores) // 2
        for p, q in ((scores, others), (others, scores)):
            for sign in (1, -1):
                low, high = _limits(sign * p[:half], sign * q[:half], None)
                at = int(np.argmax(ndtri(low) - ndtri(_bound(high, losses, steps))))
                edge = _thresholds(sign * p[:half], sign * q[:half])[at]
                (low,), (high,) = _limits(sign * p[half:], sign * q[half:], np.array([edge]))
                bound = float(_bound(high, losses, steps))
                fault = f"an event of probability {low:.3g} where at most {bound:.3g} is counted"
                many = f" in {together} releases" * (together > 1)
                require(low <= bound, f"{type(kind).__name__}: {fault}{many}")


def _kinds(kind: Kind, d: int, together: int) -> tuple[Kind, ...]:
    """The kinds of which there are as many releases each."""
    return (kind, _cheaper(kind, d) or kind) if together > 1 else (kind,)


def _cheaper(kind: Kind, d: int) -> Kind | None:
    """The same with half of the number that its cost grows with, as its sensitivity or its eps."""
    for field in fields(kind):
        value = getattr(kind, field.name)
        if isinstance(value, float) or field.type in (float, "float"):  # where 10 stands for 10.0, too
            half = replace(kind, **{field.name: value / 2})
            if _eps(half.event(d)) < _eps(kind.event(d)):
                return half
    return None


def _cost(kinds: tuple[Kind, ...], d: int, together: int) -> tuple[FloatArray, FloatArray]:
    return _losses(tuple(kind.event(d) for kind in kinds), together // len(kinds))


def _eps(event: Event) -> float:
    """What it costs at the smallest delta."""
    return compose(Account([event]), _DELTAS[0] if event.takes_delta else 0.0)[0]


def _losses(events: tuple[Event, ...], times: int) -> tuple[FloatArray, FloatArray]:
    """(eps, delta) of each event so many times, for each delta if they take one."""
    account = Account(list(events) * times)
    costs = [compose(account, float(delta)) for delta in (_DELTAS if events[0].takes_delta else [0.0])]
    eps, delta = np.array(costs).T
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


def _scores(
    kinds: tuple[Kind, ...], d: int, steps: int, together: int
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Numbers made of releases of a value, and of the value moved; of many together their sums."""
    source = SeededNoise(np.random.SeedSequence(11))
    each = [list(_scores_of(kind, d, steps, together // len(kinds), source)) for kind in kinds]
    for of_kinds in zip(*each, strict=True):
        p, q = (sum(scores) for scores in zip(*of_kinds, strict=True))
        yield np.asarray(p), np.asarray(q)


def _scores_of(
    kind: Kind, d: int, steps: int, times: int, source: SeededNoise
) -> Iterator[tuple[FloatArray, FloatArray]]:
    far = kind.sensitivity * steps
    for place in range(d) if times == 1 else (0,):  # of the number that moves up
        move, start = np.full(d, -far if np.isinf(kind.norm) else 0.0), np.zeros(d)
        move[place] = far
        first = _drawn(kind, start, source, times)
        if first.dtype.kind in "iub":  # a choice, where that one is chosen more and more seldom
            for behind in (0, 1, 2, 3, 4):
                start[place] = -behind * far
                drawn = (_drawn(kind, value, source, times) == place for value in (start, start + move))
                p, q = (chosen.reshape(-1, times).sum(axis=1, dtype=float) for chosen in drawn)
                yield p, q
            continue
        both = [out.reshape(len(out), -1) for out in (first, _drawn(kind, start + move, source, times))]
        p, q = (out[:, place].reshape(-1, times).sum(axis=1) for out in both)
        yield p, q
        for norm in (1, 2) if d > 1 or times > 1 else ():
            nearer = [
                np.linalg.norm(out, norm, axis=1) - np.linalg.norm(out - move, norm, axis=1) for out in both
            ]  # in units of the move, without the last bits, which tell of any sum of floats what it was
            p, q = (np.round(scores / far, 9).reshape(-1, times).sum(axis=1) for scores in nearer)
            yield p, q


def _drawn(kind: Kind, value: FloatArray, source: SeededNoise, times: int) -> Any:
    """Many releases of a value, at once where the kind's own arrays are of many."""
    count = 2 * _RUNS if times == 1 else _RUNS * times
    many = np.tile(value, (count, 1))
    many = many if kind.count(many) in (1, len(many)) else many.T.copy()
    out = np.asarray(kind.draw(source, many))
    if out.ndim and len(out) == count:
        return out
    count = 2 * _FEW if times == 1 else _FEWEST * times
    return np.array([kind.draw(source, value[None]) for _ in range(count)]).reshape(count, -1)


def _thresholds(p: FloatArray, q: FloatArray) -> FloatArray:
    ranks = np.unique(np.round(np.geomspace(1, len(p), 100)).astype(int))
    return np.unique(np.concatenate([np.sort(scores)[-ranks] for scores in (p, q)]))


def _limits(p: FloatArray, q: FloatArray, edges: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Limits of the probabilities that a score is at least an edge: below, of p; above, of q."""
    edges = _thresholds(p, q) if edges is None else edges
    hits = [len(scores) - np.searchsorted(np.sort(scores), edges, side="left") for scores in (p, q)]
    return clopper_pearson(hits[0], len(p), _CONFIDENCE)[0], clopper_pearson(hits[1], len(q), _CONFIDENCE)[1]
