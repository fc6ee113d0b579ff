"""Ledgers: exact sums, fixed public rows, files that are refused once changed."""

import errno
import hashlib
import json
import math
import multiprocessing
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from pate_cli import cli
from pate_cli.errors import ConfigError, DataError, InputError
from pate_cli.release import Entry, Ledger, LedgerDirectory, Protected, PublicRows, open_ledgers
from pate_cli.release.ledger import shown
from pate_cli.types import PrivacyLoss

ONE = PrivacyLoss(0.25, 1e-6, "test")
CHECKSUM = "ab" * 32
ROWS = PublicRows(100, (3, 17, 99))


@pytest.fixture
def ledgers(tmp_path):
    there = LedgerDirectory(tmp_path / "deep" / "ledger", "ledger")
    there.init(CHECKSUM, "mushroom", 1.0, 1e-5)
    return there


@pytest.fixture
def fingerprint(ledgers):
    return ledgers.find(CHECKSUM).fingerprint


# -- arithmetic


def _ledger(eps, delta, *charges):
    kinds = [("open", eps, delta), *(("release", e, d) for e, d in charges)]
    entries = tuple(Entry(kind, e, d, "", "t", "0") for kind, e, d in kinds)
    return Ledger("f" * 64, "0" * 64, "mushroom", entries)


def test_ten_tenths_fit_into_one_and_an_eleventh_does_not():
    assert sum([0.1] * 3) > 0.3  # what floating point would have done
    _ledger(0.3, 3e-5, (0.1, 1e-5), (0.1, 1e-5)).check_room(PrivacyLoss(0.1, 1e-5, ""))
    ledger = _ledger(1.0, 1e-3, *[(0.1, 1e-4)] * 10)
    assert ledger.left == (0, 0)
    ledger.check_room(PrivacyLoss(0.0, 0.0, ""))
    for loss in ((1e-300, 0.0), (0.0, 1e-300)):
        with pytest.raises(InputError, match="left: eps=0, delta=0 "):
            ledger.check_room(PrivacyLoss(*loss, ""))


def test_delta_is_not_forgotten():
    """A bug of other implementations: delta forgotten in a composition."""
    ledger = _ledger(10.0, 2e-5, (1.0, 1.5e-5))
    said = r"mushroom: this release costs eps=1, .*left: eps=9, delta=5e-06 \(of eps=10, delta=2e-05\)"
    with pytest.raises(InputError, match=said):
        ledger.check_room(PrivacyLoss(1.0, 1e-5, ""))


@pytest.mark.parametrize("eps", [0.5, float("inf"), float("nan"), -1.0])
def test_only_guarantees_are_charged(eps):
    """A bug of other implementations: a data-dependent epsilon used as if it were public."""
    with pytest.raises(ValueError, match="not a guarantee"):
        _ledger(100.0, 0.5).check_room(PrivacyLoss(eps, 0.0, "", data_dependent=eps == 0.5))


def test_what_is_left_is_shown_rounded_down_and_what_is_spent_up():
    numbers = [Fraction(x) for x in ("2", "0.1", "1/3", "0.00015386982", "0")]
    assert [shown(x) for x in numbers] == ["2", "0.1", "0.333333", "0.000153869", "0"]
    assert [shown(x, spent=True) for x in numbers] == ["2", "0.1", "0.333334", "0.00015387", "0"]


# -- one directory


def test_only_the_owner_can_read_it_and_no_digest_of_the_data_is_kept(ledgers, fingerprint, tmp_path):
    ledgers.charge(fingerprint, ONE)
    assert ledgers.path.stat().st_mode & 0o777 == 0o700
    assert {file.name for file in ledgers.path.iterdir()} == {"lock", f"{fingerprint}.json"}
    for file in ledgers.path.iterdir():
        assert file.stat().st_mode & 0o777 == 0o600
        assert CHECKSUM not in file.read_text() + file.name
    other = LedgerDirectory(tmp_path / "other", "ledger")
    assert other.init(CHECKSUM, "mushroom", 1.0, 1e-5).fingerprint != fingerprint


def test_no_ledger_or_one_in_a_directory_that_others_can_enter_is_refused(ledgers, fingerprint, tmp_path):
    with pytest.raises(InputError, match="has no ledger"):
        ledgers.init("cd" * 32, "other", 1.0, 0.0, higher=True)
    with pytest.raises(InputError, match=r"no ledger for this dataset.*pate ledger init"):
        ledgers.find("cd" * 32)
    other = LedgerDirectory(tmp_path / "none", "ledger")
    for call in (lambda: other.find(CHECKSUM), lambda: other.charge("0" * 64, ONE)):
        with pytest.raises(InputError, match="pate ledger init"):
            call()
    assert not other.path.exists()
    ledgers.path.chmod(0o750)
    for call in (
        lambda: ledgers.charge(fingerprint, ONE),
        lambda: ledgers.init("cd" * 32, "other", 1.0, 0.0),
    ):
        with pytest.raises(ConfigError, match="chmod 700"):
            call()


def test_a_directory_that_cannot_be_read_is_not_taken_for_empty(ledgers, monkeypatch):
    """A second ledger would begin with all of the budget."""

    def denied(path):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr("os.listdir", denied)
    monkeypatch.setattr("os.scandir", denied)
    for call in (ledgers.ledgers, lambda: ledgers.init(CHECKSUM, "mushroom", 1.0, 1e-5)):
        with pytest.raises(DataError, match=r"ledger: cannot be read \(Permission denied\)"):
            call()


def test_a_second_init_is_refused_and_a_raise_recorded(ledgers, fingerprint):
    ledgers.charge(fingerprint, PrivacyLoss(1.0, 0.0, ""), public=ROWS)
    with pytest.raises(InputError, match="has a ledger, of eps=1, delta=1e-05; accepted: --raise"):
        ledgers.init(CHECKSUM, "mushroom", 5.0, 1e-5)
    for lower in ((0.5, 1e-5), (2.0, 1e-6)):
        with pytest.raises(InputError, match="at least eps=1, delta=1e-05"):
            ledgers.init(CHECKSUM, "mushroom", *lower, higher=True)
    ledgers.init(CHECKSUM, "mushroom", 1.5, 1e-5, higher=True)
    ledgers.charge(fingerprint, PrivacyLoss(0.5, 0.0, ""))
    ledger = ledgers.find(CHECKSUM)
    assert [entry.kind for entry in ledger.entries] == ["open", "release", "raise", "release"]
    assert (ledger.left[0], ledger.public) == (0, ROWS)


def test_totals_are_checked_before_anything_is_written(tmp_path):
    ledgers = LedgerDirectory(tmp_path / "new", "ledger")
    for eps, delta in [(0.0, 0.1), (float("inf"), 0.1), (float("nan"), 0.1), (1.0, 1.0), (1.0, -0.1)]:
        with pytest.raises(ConfigError, match=r"--eps|--delta"):
            ledgers.init(CHECKSUM, "mushroom", eps, delta)
    assert not ledgers.path.exists()


def _edited(**changes):
    return lambda text: json.dumps(json.loads(text) | changes)


def _without_an_entry(text):
    content = json.loads(text)
    content["entries"].pop(1)
    return json.dumps(content)


DAMAGES = {
    "half": lambda text: text[: len(text) // 2],
    "list": lambda text: "[]",
    "deep": lambda text: "[" * 100_000,
    "smaller charge": lambda text: text.replace("0.75", "0.25"),
    "charge removed": _without_an_entry,
    "other rows": lambda text: text.replace("3 17 99", "3 17 98"),
    "other name": lambda text: text.replace("mushroom", "adult"),
    "other fingerprint": _edited(fingerprint="e" * 64),
    "version 3": _edited(version=3),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_ledger_is_refused_never_started_anew(ledgers, fingerprint, damage):
    ledgers.charge(fingerprint, PrivacyLoss(0.75, 1e-6, ""), public=ROWS)
    ledgers.charge(fingerprint, PrivacyLoss(0.0, 0.0, ""))
    file = ledgers.path / f"{fingerprint}.json"
    file.write_text(DAMAGES[damage](file.read_text()))
    before = file.read_bytes()
    said = f"{re.escape(str(file))}: damaged"
    if damage == "version 3":
        said = "of version 3, this pate reads 4 and 5; move it away, and start anew with pate ledger init"
    for call in (
        lambda: ledgers.charge(fingerprint, ONE),
        lambda: ledgers.find(CHECKSUM),
        lambda: ledgers.ledgers(),
        lambda: ledgers.init(CHECKSUM, "mushroom", 9.0, 1e-5),
        lambda: ledgers.init(CHECKSUM, "mushroom", 9.0, 1e-5, higher=True),
    ):
        with pytest.raises(DataError, match=said) as caught:
            call()
        assert "\n" not in str(caught.value)
    assert file.read_bytes() == before


BY_HAND = {
    "eps": (-1, -1e-300, math.nan, math.inf, 10**400, True, "1", None),
    "delta": (-1e-9, 1.0, math.nan, 10**400, "0"),
    "most_records": (0, -3, 2.5, "9"),
    "kind": ("refund",),
    "public": (
        {"n_records": -1, "rows": "0"},
        {"n_records": 10, "rows": "3 3"},
        {"n_records": 10, "rows": "-1 3"},
        {"n_records": 10, "rows": "3 10"},
        {"n_records": math.nan, "rows": "3"},
    ),
}


@pytest.mark.parametrize(("key", "value"), [(key, value) for key in BY_HAND for value in BY_HAND[key]])
def test_an_entry_written_by_hand_is_refused(key, value, ledgers, fingerprint, capsys, monkeypatch):
    """Its hash is right: whoever can write the file can make the chain, and would have a larger budget."""
    ledgers.charge(fingerprint, ONE)
    file = ledgers.path / f"{fingerprint}.json"
    content = json.loads(file.read_text())
    entry = content["entries"][-1]
    entry[key] = value
    del entry["hash"]
    chain = json.dumps([content["entries"][-2]["hash"], entry], sort_keys=True).encode()
    entry["hash"] = hashlib.sha256(chain).hexdigest()
    file.write_text(json.dumps(content))
    monkeypatch.setenv("PATE_LEDGER", str(ledgers.path))
    assert cli.main(["ledger", "show"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"pate: {file}: damaged (entry 2: ")
    assert said.endswith("); restore it from a copy\n")
    assert len(said.splitlines()) == 1
    assert len(said) < 400


@pytest.mark.parametrize("eps", [0.1234567890123456, 1 / 3, 1e-17, 5e-324])
def test_a_charge_is_to_the_last_bit(eps, ledgers, fingerprint):
    ledgers.charge(fingerprint, PrivacyLoss(eps, eps / 1e5, "test"))
    entry = ledgers.read(fingerprint).entries[-1]
    assert (entry.eps, entry.delta) == (eps, eps / 1e5)


def test_where_ledgers_are(tmp_path, monkeypatch):
    monkeypatch.setenv("PATE_LEDGER", str(tmp_path / "a"))
    assert open_ledgers().path == tmp_path / "a"
    assert open_ledgers(str(tmp_path / "b")).path == tmp_path / "b"
    monkeypatch.delenv("PATE_LEDGER")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "c"))
    assert open_ledgers().path.parts[-2:] == ("pate", "ledger")


# -- public rows


def test_the_first_charge_fixes_the_public_rows(ledgers, fingerprint):
    ledgers.charge(fingerprint, ONE)  # whose public points have a file of their own
    assert ledgers.find(CHECKSUM).public is None
    for _ in range(2):
        ledgers.charge(fingerprint, ONE, public=ROWS)
    # of two first releases at once, both have drawn before either is charged
    for other in (PublicRows(100, (3, 17, 98)), PublicRows(101, (3, 17, 99))):
        with pytest.raises(InputError, match="another release has fixed its public points meanwhile"):
            ledgers.charge(fingerprint, ONE, public=other)
    ledger = ledgers.find(CHECKSUM)
    assert (len(ledger.entries), ledger.public) == (4, ROWS)
    with pytest.raises(ConfigError, match=r"split\.public: got 2; accepted: 3, the public points that the"):
        ledger.check_public(np.ones(100, dtype=bool), 2)
    with pytest.raises(InputError, match=r"ledger of mushroom: the first release had 100 records .* has 99"):
        ledger.check_public(np.ones(99, dtype=bool), 3)
    ledger.check_public(np.ones(100, dtype=bool), 3)


# -- what is protected

PATIENT = Protected("patient")
OTHERS = [
    (PATIENT, Protected()),
    (Protected(), PATIENT),
    (PATIENT, Protected("doctor")),
    (PATIENT, replace(PATIENT, neighbours="remove")),
]


@pytest.mark.parametrize(("one", "other"), OTHERS)
def test_a_loss_of_something_else_is_not_added(tmp_path, one, other):
    ledgers = LedgerDirectory(tmp_path / "ledger", "ledger")
    fingerprint = ledgers.init(CHECKSUM, "x.csv", 2.0, 1e-3, protects=one).fingerprint
    ledgers.charge(fingerprint, ONE, protects=one)
    before = (tmp_path / "ledger" / f"{fingerprint}.json").read_bytes()
    for call in (
        lambda: ledgers.charge(fingerprint, PrivacyLoss(0.0, 0.0, ""), protects=other),
        lambda: ledgers.init(CHECKSUM, "x.csv", 3.0, 1e-3, higher=True, protects=other),
    ):
        with pytest.raises(InputError, match=f"its losses are of {one}, not of {other}: .*; accepted: data"):
            call()
    assert (tmp_path / "ledger" / f"{fingerprint}.json").read_bytes() == before


@pytest.mark.parametrize(
    ("most", "eps", "said"),
    [
        (None, 1.0, "a patient with k records would lose k times its eps, if as many replace them"),
        (3, 0.5, "3 records, the most there may be, would lose eps=1.5, delta=5.367e-06, if as many"),
        (20, 1.0, "would lose eps=20, delta=1, which promises nothing, if"),
        (900, 1.0, "would lose eps=900, delta=1, which promises nothing, if"),
    ],
)
def test_what_a_release_of_records_would_cost_a_person(most, eps, said):
    """1e-6 (1 + e^.5 + e^1) is 5.367e-6."""
    entry = Entry("open", 1.0, 1e-3, protects=PATIENT, most_records=most)
    ledger = Ledger("f" * 64, "0" * 64, "x.csv", (entry,))
    with pytest.raises(InputError, match=said):
        ledger.check_protects(Protected(), PrivacyLoss(eps, 1e-6, ""))


def _of_version_4(ledgers, fingerprint):
    """The file as the version before this one wrote it: an entry said nothing of what is protected."""
    file = ledgers.path / f"{fingerprint}.json"
    content = json.loads(file.read_text())
    chain = [content[name] for name in ("fingerprint", "salt", "name")]
    code = hashlib.sha256(json.dumps([4, *chain], sort_keys=True).encode()).hexdigest()
    for entry in content["entries"]:
        entry.pop("protects", None)
        entry.pop("hash")
        text = json.dumps([code, entry], sort_keys=True)
        code = entry["hash"] = hashlib.sha256(text.encode()).hexdigest()
    file.write_text(json.dumps(content | {"version": 4}))


def test_a_ledger_of_version_4_asks_what_its_releases_protect(ledgers, fingerprint):
    ledgers.charge(fingerprint, ONE)
    _of_version_4(ledgers, fingerprint)
    before = ledgers.find(CHECKSUM)
    assert (before.protects, before.left[0]) == (None, Fraction("0.75"))
    with pytest.raises(InputError, match="did not write down what its releases protect"):
        ledgers.charge(fingerprint, ONE)
    ledgers.init(CHECKSUM, "mushroom", 1.0, 1e-5, higher=True, protects=PATIENT)
    with pytest.raises(InputError, match="its losses are of one patient"):
        ledgers.charge(fingerprint, ONE)
    after = ledgers.charge(fingerprint, ONE, protects=PATIENT)
    assert after.hashes[:2] == before.hashes  # so that certificates of then fit
    assert ledgers.find(CHECKSUM) == after


# -- several at once


def _spend(path, barrier, results):
    ledgers = LedgerDirectory(path, "ledger")
    fingerprint = ledgers.find(CHECKSUM).fingerprint
    barrier.wait()
    done = 0
    for _ in range(40):
        try:
            ledgers.charge(fingerprint, PrivacyLoss(0.125, 1e-6, ""))
            done += 1
        except InputError:
            pass
    results.put(done)


def test_two_at_once_never_overspend(tmp_path):
    """50 rounds of charges are had by two processes that ask for 80 between them."""
    ledgers = LedgerDirectory(tmp_path / "ledger", "ledger")
    ledgers.init(CHECKSUM, "mushroom", 50 * 0.125, 1.0 - 1e-9)
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(2), context.Queue()
    workers = [context.Process(target=_spend, args=(ledgers.path, barrier, results)) for _ in range(2)]
    for worker in workers:
        worker.start()
    granted = [results.get(timeout=300) for _ in workers]
    for worker in workers:
        worker.join(timeout=300)
    ledger = ledgers.find(CHECKSUM)
    assert sum(granted) == 50 == sum(entry.kind == "release" for entry in ledger.entries)
    assert ledger.left[0] == 0


def test_losses_of_labelled_records_are_added_to_those_of_any_record(tmp_path):
    """And then all of them are of labelled ones, whose neighbours have as many."""
    labelled = Protected("patient", "replace, among records that have a label")
    ledgers = LedgerDirectory(tmp_path / "ledger", "ledger")
    fingerprint = ledgers.init(CHECKSUM, "x.csv", 2.0, 1e-3, protects=PATIENT).fingerprint
    assert ledgers.charge(fingerprint, ONE, protects=labelled).protects == labelled
    assert ledgers.charge(fingerprint, PrivacyLoss(0.0, 0.0, ""), protects=PATIENT).protects == labelled
    assert str(ledgers.read(fingerprint).protects).endswith(
        "all of its records, among those that have a label"
    )
    with pytest.raises(InputError, match="its losses are of"):
        ledgers.charge(fingerprint, PrivacyLoss(0.0, 0.0, ""), protects=Protected())
