"""`pate verify`: a release as it was made passes, and each way of changing it, or its ledger, is named."""

import hashlib
import json
import re
import shutil

import numpy as np
import pytest

from pate_cli import cli
from pate_cli.release import open_ledgers
from pate_cli.release.certificate import model_card, signed
from pate_cli.release.ledger import decode, encode

pytest.importorskip("opendp")

N = 900


def _release(place, target, *overrides):
    data = ["dataset=csv", f"dataset.path={place / 'people.csv'}", "dataset.target=class"]
    sizes = [
        "split.public=20",
        "teacher.size=30",
        "delta=1e-5",
        "eps=1",
        "release=true",
        "split.public_from_private=true",
    ]
    return cli.main(["run", *data, *sizes, f"hydra.run.dir={place / target}", *overrides])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Three releases charged to one ledger: `first`, `out` and `later`."""
    place = tmp_path_factory.mktemp("made")
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=N)
    x = np.round(rng.normal(size=N) + 2 * (2 * y - 1), 3)
    lines = [f"{a},{'yes' if b else 'no'}" for a, b in zip(x, y, strict=True)]
    (place / "people.csv").write_text("\n".join(["x <b>,class", *lines]) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATE_LEDGER", str(place / "ledger"))
        patch.chdir(place)
        data = ["dataset=csv", f"dataset.path={place / 'people.csv'}", "dataset.target=class"]
        assert cli.main(["ledger", "init", *data, "--eps", "9", "--delta", "1e-3"]) == 0
        shutil.copytree(place / "ledger", place / "before")
        for target in ("first", "out", "later"):
            assert _release(place, target, f"purpose='to see whether it is {target}'") == 0
    return place


@pytest.fixture
def place(made, tmp_path, monkeypatch):
    """A copy that may be tampered with."""
    for name in ("first", "out", "later", "ledger", "before"):
        shutil.copytree(made / name, tmp_path / name)
    (tmp_path / "ledger").chmod(0o700)
    monkeypatch.setenv("PATE_LEDGER", str(tmp_path / "ledger"))
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _verify(capsys, target="out"):
    capsys.readouterr()
    code = cli.main(["verify", target])
    said = capsys.readouterr()
    whole = re.sub(r"\s*\n +", " ", said.out)  # a narrow terminal folds
    failed = [line for line in whole.splitlines() if line.startswith("FAILED")]
    assert (code == 1) == bool(failed)
    return failed


def _edit(path, old, new):
    text, count = re.subn(old, new, path.read_text(), count=1)
    assert count
    path.write_text(text)


def _ledger_file(place):
    (file,) = (place / "ledger").glob("*.json")
    return file


def test_releases_as_they_were_made_pass(place, capsys):
    for target in ("first", "out", "later"):
        assert _verify(capsys, target) == []
    card = (place / "out" / "model_card.md").read_text()
    assert "(1, 1e-05)-differential privacy" in card
    assert "Purpose: to see whether it is out." in card
    assert "`x <b>`" in card
    assert str(place) not in card


def _answers(place):
    _edit(place / "out" / "answers.csv", "yes", "no")


def _result(place):
    _edit(place / "out" / "result.json", r'"eps": [0-9.]+', '"eps": 0.1')


def _certificate(place):
    _edit(place / "out" / "certificate.json", r'"eps": [0-9.]+', '"eps": 0.1')


def _card(place):
    _edit(place / "out" / "model_card.md", r"\(1, 1e-05\)", "(0.1, 1e-05)")


def _another_student(place):
    shutil.copy(place / "first" / "student.skops", place / "out" / "student.skops")


def _no_student(place):
    (place / "out" / "student.skops").unlink()


def _one_more(place):
    (place / "out" / "votes.csv").write_text("1,2\n")


def _all_files(place):
    """Make the claim smaller in every file, with fitting checksums, by who has not got the key."""
    _certificate(place)
    _result(place)
    out = place / "out"
    told = json.loads((out / "certificate.json").read_text())
    certified = {name: value for name, value in told.items() if name not in ("files", "mac")}
    (out / "model_card.md").write_text(model_card(certified))
    files = {file.name: file.read_bytes() for file in out.iterdir() if file.name != "certificate.json"}
    (out / "certificate.json").write_text(json.dumps(signed(certified, files, bytes(32))))


def _total_raised(place):
    _edit(_ledger_file(place), r'"eps": [0-9.]+', '"eps": 90.0')


def _charge_removed(place):
    """Take the charge out and mend what can be without the key."""
    content = json.loads(_ledger_file(place).read_text())
    entries = content["entries"]
    content["entries"] = [entry for entry in entries if entry["id"] != entries[3]["id"]]
    _ledger_file(place).write_text(json.dumps(content))


def _put_back(place):
    """Put back the ledger as it was before any release: its codes fit, but it is an older copy."""
    name = _ledger_file(place).name
    shutil.copy(place / "before" / name, place / "ledger" / name)


def _downgraded(place):
    """Write the ledger anew in the form of an earlier version, which had no key, without its charges."""
    content = json.loads(_ledger_file(place).read_text())
    del content["mac"]
    content |= {"version": 2, "entries": content["entries"][:1]}
    for entry in content["entries"]:
        for name in ("mac", "id", "purpose"):
            del entry[name]
    checksum = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    _ledger_file(place).write_text(json.dumps(content | {"sha256": checksum}))


def _other_key(place):
    _edit(place / "ledger" / "key", "^[0-9a-f]{64}", "ab" * 32)


TAMPERINGS = {
    _answers: "answers.csv was changed",
    _result: "it has another eps",
    _certificate: "it was changed, or is another owner's",
    _card: "its text is another",
    _another_student: "it is the student of another certificate",
    _no_student: "student.skops is missing",
    _one_more: "votes.csv is not of the release",
    _all_files: "it was changed, or is another owner's",
    _total_raised: "changed by hand",
    _charge_removed: "changed by hand",
    _put_back: "6 of 7 entries are missing: an older copy was put back",
    _downgraded: "6 of 7 entries are missing: an older copy was put back",
    _other_key: "it was changed, or is another owner's",
}


@pytest.mark.parametrize("tamper", TAMPERINGS, ids=lambda tamper: tamper.__name__)
def test_a_change_is_noticed_and_named(place, capsys, tamper):
    tamper(place)
    assert any(TAMPERINGS[tamper] in line for line in _verify(capsys))


@pytest.mark.parametrize("tamper", [_total_raised, _charge_removed, _put_back, _downgraded])
def test_nothing_is_charged_to_a_ledger_that_was_changed(place, made, capsys, tamper):
    tamper(place)
    before = _ledger_file(place).read_bytes()
    shutil.copy(made / "people.csv", place / "people.csv")
    assert _release(place, "more") == 2
    assert "damaged" in capsys.readouterr().err
    assert _ledger_file(place).read_bytes() == before


def test_a_release_cut_short_before_its_files_were_on_record(place, capsys):
    """The ledger of a process that was killed between the files and their entry."""
    directory = open_ledgers()
    (ledger,) = directory.ledgers()
    key = directory.key.read()
    cut = encode(type(ledger)(ledger.fingerprint, ledger.name, ledger.entries[:-1], ledger.public), key)
    assert len(decode(cut, ledger.fingerprint, key).entries) == 6
    (directory.key.path).write_text(directory.key.path.read_text().splitlines()[0] + "\n")  # an older copy
    _ledger_file(place).write_text(cut)
    (failed,) = _verify(capsys, "later")
    assert "the release may have been cut short" in failed


def test_who_has_no_ledger_sees_what_was_not_checked(place, capsys, monkeypatch):
    monkeypatch.setenv("PATE_LEDGER", str(place / "none"))
    assert cli.main(["verify", "out"]) == 0
    said = capsys.readouterr()
    assert said.out.count("not checked") == 3
    assert "a forgery of all files would not show" in said.err
    _answers(place)
    assert any("answers.csv was changed" in line for line in _verify(capsys))


@pytest.mark.parametrize("what", ["none", "ledger", "out/answers.csv"])
def test_what_is_no_release_is_refused(place, capsys, what):
    assert cli.main(["verify", what]) == 2
    assert "accepted: the folder of a release" in capsys.readouterr().err


def test_the_key_may_be_kept_elsewhere(place, capsys, monkeypatch):
    (place / "ledger" / "key").rename(place / "elsewhere")
    assert any("the key of the ledgers is missing" in line for line in _verify(capsys))
    monkeypatch.setenv("PATE_LEDGER_KEY", str(place / "elsewhere"))
    assert _verify(capsys) == []


def test_the_ledger_for_a_program(place, capsys):
    capsys.readouterr()
    assert cli.main(["ledger", "show", "--json"]) == 0
    (ledger,) = json.loads(capsys.readouterr().out)["ledgers"]
    assert ledger["left"]["eps"] == "6"
    kinds = [entry["kind"] for entry in ledger["entries"]]
    assert kinds == ["open", *["release", "files"] * 3]
    ids = {entry["id"] for entry in ledger["entries"] if entry["kind"] == "release"}
    assert ids == {
        json.loads((place / t / "result.json").read_text())["release_id"] for t in ("first", "out", "later")
    }


def test_a_purpose_is_for_releases(place, capsys):
    assert cli.main(["run", "purpose=fun"]) == 2
    assert "purpose: got 'fun'; accepted: null without release=true" in capsys.readouterr().err
