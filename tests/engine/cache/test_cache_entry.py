"""The form of an entry: no byte of it can change unnoticed."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest

from pate_cli.teachers.kept import Damaged, KeptVotes, decode, encode

KEPT = KeptVotes(np.array([[3, 0], [1, 2], [0, 3]]), 0.1 + 0.2, {"('tree', {})": 1 / 3})
LOADED = {"sources": {"mine": ["0f", "/mine.py"]}, "packages": {"numpy": "2.4"}}
CONTENT = encode("some key", KEPT, LOADED)


def same(one: KeptVotes, other: KeptVotes) -> bool:
    """To the last bit."""
    return (
        np.array_equal(one.counts, other.counts)
        and one.counts.dtype == other.counts.dtype == np.int64
        and (one.teacher_accuracy, one.ceilings) == (other.teacher_accuracy, other.ceilings)
    )


def test_what_comes_back_is_what_went_in():
    votes, loaded = decode(CONTENT, "some key")
    assert same(votes, KEPT)
    assert loaded == LOADED


def test_every_bit_counts():
    for place in range(len(CONTENT)):
        changed = bytearray(CONTENT)
        changed[place] ^= 1 << place % 8
        with pytest.raises(Damaged):
            decode(bytes(changed), "some key")


def test_every_truncation_is_seen():
    for length in range(len(CONTENT)):
        with pytest.raises(Damaged):
            decode(CONTENT[:length], "some key")
    with pytest.raises(Damaged):
        decode(CONTENT + b"\0", "some key")


def test_an_entry_of_another_key_is_seen():
    with pytest.raises(Damaged, match="something else"):
        decode(CONTENT, "some other key")


@pytest.mark.parametrize(
    "change",
    [
        {"shape": [3, 3]},
        {"shape": [-3, -2]},
        {"shape": [6]},
        {"shape": None},
        {"teacher_accuracy": "high"},
        {"ceilings": []},
        {"key": None},
        {"loaded": None},
    ],
)
def test_a_header_that_says_nonsense(change):
    """With a right checksum, as a bug might write it."""
    start = CONTENT.index(b"{")
    end = start + json.JSONDecoder().raw_decode(CONTENT[start:].decode("latin-1"))[1]
    header = json.dumps(json.loads(CONTENT[start:end]) | change).encode()
    body = len(header).to_bytes(8, "big") + header + CONTENT[end:]
    with pytest.raises(Damaged):
        decode(CONTENT[: start - 40] + hashlib.sha256(body).digest() + body, "some key")


def test_it_does_not_show_its_content():
    assert repr(KEPT) == "KeptVotes(n_queries=3, n_classes=2)"


@pytest.mark.parametrize(
    ("sizes", "fits"),
    [((3, 2, 3), True), ((3, 2, 4), False), ((2, 2, 3), False), ((3, 3, 3), False), ((2, 3, 3), False)],
)
def test_votes_of_other_sizes_do_not_fit(sizes, fits):
    assert KEPT.fits(*sizes) is fits
    assert not KeptVotes(np.array([[4, -1]]), 0.5).fits(1, 2, 3)
