"""A kind of release is tried: does its noise hide a move by its sensitivity as well as its cost says."""

from __future__ import annotations

from functools import cache

import numpy as np

from pate_cli.audit.bounds import best_event, eps_lower_bound
from pate_cli.privacy.events import Account, compose
from pate_cli.privacy.kinds import Kind
from pate_cli.privacy.noise import SeededNoise
from pate_cli.testing.failure import require

__all__ = ["hidden"]

_RUNS, _DELTA, _CONFIDENCE = 50_000, 1e-3, 1 - 1e-7


@cache
def hidden(kind: Kind, d: int) -> float:
    """Largest loss shown of a release of d numbers, each of two halves of the runs with its own noise."""
    move = np.zeros(d)
    move[0] = kind.sensitivity
    if np.isinf(kind.norm):
        move[1:] = -kind.sensitivity
    source = SeededNoise(np.random.SeedSequence(11))
    scores = []
    for value in (np.zeros(d), move):
        many = np.tile(value, (2 * _RUNS, 1))
        many = many if kind.count(many) in (1, len(many)) else many.T.copy()
        out = np.asarray(kind.draw(source, many))
        scores.append(
            (out == 0).astype(float) if out.dtype.kind in "iu" else out.reshape(2 * _RUNS, -1)[:, 0]
        )
    cost, shown = compose(Account([kind.event(d)]), _DELTA)[0], 0.0
    for p, q in (scores, scores[::-1]):
        for sign in (1, -1):
            at, _ = best_event(sign * p[:_RUNS], sign * q[:_RUNS], _DELTA, _CONFIDENCE)
            hits = [int(np.sum(sign * side[_RUNS:] >= at)) for side in (p, q)]
            shown = max(shown, float(eps_lower_bound(hits[0], _RUNS, hits[1], _RUNS, _DELTA, _CONFIDENCE)))
    require(shown <= cost, f"{type(kind).__name__}: a loss of {shown:.3g} where {cost:.3g} is counted")
    return shown
