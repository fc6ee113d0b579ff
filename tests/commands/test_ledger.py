"""`pate ledger`: start, raise, show."""

import pytest

from pate_cli.commands import ledger
from pate_cli.errors import InputError
from pate_cli.release import open_ledgers
from pate_cli.types import PrivacyLoss

SMALL = ["dataset=synthetic", "dataset.n_records=50"]


@pytest.fixture(autouse=True)
def directory(tmp_path, monkeypatch):
    monkeypatch.setenv("PATE_LEDGER", str(tmp_path / "ledger"))
    return tmp_path / "ledger"


def _init(*arguments):
    return ledger.main(["init", *SMALL, *arguments])


def test_init_and_show(capsys, directory):
    assert ledger.main(["show"]) == 0
    shown = capsys.readouterr()
    assert (shown.out, "pate ledger init" in shown.err, directory.exists()) == ("", True, False)
    assert _init("--eps", "2", "--delta", "1e-4") == 0
    assert "left eps=2, delta=0.0001 of eps=2, delta=0.0001" in capsys.readouterr().out
    ledgers = open_ledgers()
    (there,) = ledgers.ledgers()
    ledgers.charge(there.fingerprint, PrivacyLoss(0.5, 2.5e-5, ""), "svt, 40 queries")
    assert ledger.main(["show"]) == 0
    shown = capsys.readouterr().out
    left = "left eps=1.5, delta=7.5e-05 of eps=2, delta=0.0001"
    for text in (left, "release", "svt, 40 queries", there.fingerprint[:12]):
        assert text in shown


def test_the_dataset_decides_and_not_how_it_is_used():
    """Another split or mechanism of the same records is the same ledger; other records are not."""
    _init("--eps", "2", "--delta", "1e-4")
    with pytest.raises(InputError, match="has a ledger"):
        _init("mechanism=svt", "split.private=0.5", "teacher.size=3", "--eps", "2", "--delta", "1e-4")
    _init("dataset.seed=1", "--eps", "3", "--delta", "1e-4")
    _init("--eps", "4", "--delta", "1e-4", "--raise")
    assert sorted(there.total[0] for there in open_ledgers().ledgers()) == [3, 4]


def test_a_directory_named_on_the_line_goes_first(directory, tmp_path, capsys):
    other = tmp_path / "other"
    _init("--eps", "2", "--delta", "0", "--ledger", str(other))
    assert not directory.exists()
    assert ledger.main(["show", "--ledger", str(other)]) == 0
    assert "left eps=2" in capsys.readouterr().out
