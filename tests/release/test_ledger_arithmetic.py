"""What fits into a ledger, and what a ledger's file may hold."""

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from pate_cli.errors import InputError
from pate_cli.release.ledger import Entry, Ledger, decode, encode, shown
from pate_cli.types import PrivacyLoss

KEY = bytes(32)


def _ledger(eps, delta, *charges):
    entries = [Entry("open", eps, delta, "", "t"), *(Entry("release", e, d, "", "t") for e, d in charges)]
    return Ledger("f" * 64, "mushroom", tuple(entries))


def test_ten_tenths_fit_into_one_and_an_eleventh_does_not():
    assert sum([0.1] * 3) > 0.3  # what floating point would have done
    ledger = _ledger(0.3, 3e-5, (0.1, 1e-5), (0.1, 1e-5))
    ledger.check_room(PrivacyLoss(0.1, 1e-5, ""))
    ledger = _ledger(1.0, 1e-3, *[(0.1, 1e-4)] * 10)
    assert ledger.left == (0, 0)
    ledger.check_room(PrivacyLoss(0.0, 0.0, ""))
    for loss in ((1e-300, 0.0), (0.0, 1e-300)):
        with pytest.raises(InputError, match="left: eps=0, delta=0 "):
            ledger.check_room(PrivacyLoss(*loss, ""))


def test_delta_is_not_forgotten():
    """Named bug of math.md section 10: delta forgotten in a composition."""
    ledger = _ledger(10.0, 2e-5, (1.0, 1.5e-5))
    with pytest.raises(InputError, match=r"left: eps=9, delta=5e-06 \(of eps=10, delta=2e-05\)"):
        ledger.check_room(PrivacyLoss(1.0, 1e-5, ""))


def test_only_guarantees_are_charged():
    """Named bug of math.md section 10: a data-dependent epsilon used as if it were public."""
    for loss in (
        PrivacyLoss(0.5, 0.0, "", data_dependent=True),
        PrivacyLoss(float("inf"), 0.0, ""),
        PrivacyLoss(float("nan"), 0.0, ""),
        PrivacyLoss(-1.0, 0.0, ""),
    ):
        with pytest.raises(ValueError, match="not a guarantee"):
            _ledger(100.0, 0.5).check_room(loss)


def test_the_last_total_counts():
    ledger = _ledger(1.0, 0.0, (1.0, 0.0))
    higher = replace(ledger, entries=(*ledger.entries, Entry("raise", 1.5, 0.0, "", "t")))
    assert (higher.total[0], higher.spent[0], higher.left[0]) == (Fraction(3, 2), 1, Fraction(1, 2))


def test_round_trip():
    ledger = _ledger(1.0, 1e-5, (0.1, 1 / 6499))
    assert decode(encode(ledger, KEY), ledger.fingerprint, KEY) == ledger


def _without_an_entry(text):
    content = json.loads(text)
    content["entries"].pop()
    return json.dumps(content)


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[: len(text) // 2],
        lambda text: "null",
        lambda text: "[]",
        lambda text: '"x"',
        lambda text: "{}",
        lambda text: "[" * 100_000,
        lambda text: text.replace("0.75", "0.25"),
        lambda text: text.replace('"version": 3', '"version": 2'),
        lambda text: text.replace('"version": 3', '"version": 4'),
        lambda text: text.replace("f" * 64, "e" * 64),
        _without_an_entry,
    ],
)
def test_a_damaged_file_is_no_ledger(damage):
    text = encode(_ledger(1.0, 1e-5, (0.75, 1e-6)), KEY)
    with pytest.raises(ValueError):  # noqa: PT011
        decode(damage(text), "f" * 64, KEY)


def test_another_key_is_refused():
    text = encode(_ledger(1.0, 1e-5, (0.75, 1e-6)), KEY)
    with pytest.raises(ValueError, match="its code does not fit"):
        decode(text, "f" * 64, b"\1" * 32)


def test_what_is_left_is_shown_rounded_down():
    assert [shown(Fraction(x)) for x in ("2", "0.1", "1/3", "0.00015386982", "0")] == [
        "2",
        "0.1",
        "0.333333",
        "0.000153869",
        "0",
    ]
