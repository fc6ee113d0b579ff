"""Votes in memory are bounded."""

from __future__ import annotations

import numpy as np

from pate_cli.engine.cache import KeptVotes, Memory


def votes(n: int) -> KeptVotes:
    return KeptVotes(np.full((100, 2), n), 0.5)


ONE = votes(0).n_bytes


def test_the_least_recently_used_goes_first():
    memory = Memory(3 * ONE)
    for n in range(3):
        memory.keep(f"{n}", votes(n))
    memory.recall("0")
    memory.keep("3", votes(3))
    assert [key for key in "0123" if memory.recall(key)] == ["0", "2", "3"]
    assert memory.recall("1") is None
    assert memory.recall("2").counts[0, 0] == 2


def test_what_is_kept_again_is_counted_once():
    memory = Memory(2 * ONE)
    memory.keep("a", votes(0))
    for n in range(10):
        memory.keep("b", votes(n))
    assert memory.recall("a")
    memory.recall("b").ceilings.update({f"{n}": 0.0 for n in range(50)})  # grows while it is there
    memory.keep("c", votes(0))
    memory.keep("d", votes(0))
    memory.keep("e", votes(0))
    assert [key for key in "abcde" if memory.recall(key)] == ["d", "e"]


def test_one_that_is_too_large_is_not_taken():
    memory = Memory(ONE - 1)
    memory.keep("a", votes(0))
    assert memory.recall("a") is None
