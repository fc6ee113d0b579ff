"""`pate verify`: a release as it was made passes, and each way of changing it, or its ledger, is named."""

import json
import re
import shutil

import numpy as np
import pytest

from pate_cli import cli
from pate_cli.release.files import certificate, model_card
from pate_cli.students import load_student, save_student

pytest.importorskip("opendp")

N = 900


RELEASES = ("first", "out", "later")
RELEASE = ["release=true", "split.public=20", "split.public_from_private=true", "teacher.size=30"]
RELEASE += ["delta=1e-5", "eps=1"]


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
        for name in RELEASES:
            purpose = f"purpose='to see whether it is {name}'"
            assert cli.main(["run", *data, *RELEASE, purpose, f"hydra.run.dir={place / name}"]) == 0
    return place


@pytest.fixture
def place(made, tmp_path, monkeypatch):
    """A copy that may be tampered with."""
    for name in (*RELEASES, "ledger"):
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
    for target in RELEASES:
        assert _verify(capsys, target) == []
    card = (place / "out" / "model_card.md").read_text()
    assert "(1, 1e-05)-differential privacy" in card
    assert "Purpose: to see whether it is out." in card
    assert "`x <b>`" in card
    assert str(place) not in card


def _facts(place):
    told = json.loads((place / "out" / "certificate.json").read_text())
    return {name: value for name, value in told.items() if name != "files"}


def _hashes_mended(place):
    """Write model card and certificate anew for what the other files say."""
    out, facts = place / "out", _facts(place)
    (out / "model_card.md").write_bytes(model_card(facts))
    content = {file.name: file.read_bytes() for file in out.iterdir() if file.name != "certificate.json"}
    (out / "certificate.json").write_bytes(certificate(facts, content))


def _smaller_claim(place, *, in_student):
    """Make the claim smaller in every file, with fitting hashes; in the student's if asked."""
    for name in ("certificate.json", "result.json"):
        _edit(place / "out" / name, r'"eps": [0-9.]+', '"eps": 0.1')
    if in_student:
        file = place / "out" / "student.skops"
        there = dict(vars(load_student(file)))
        there["meta"] = there["meta"] | {"certificate": _facts(place)}
        save_student(file, there.pop("student"), **there)
    _hashes_mended(place)


def _other_answers(place):
    """Answers in another order, with fitting hashes."""
    header, *lines = (place / "out" / "answers.csv").read_text().splitlines()
    (place / "out" / "answers.csv").write_text("\n".join([header, *lines[::-1]]) + "\n")
    _hashes_mended(place)


def _edited(name, old, new):
    return lambda place: _edit(place / "out" / name, old, new)


TAMPERINGS = {
    "answers": (_edited("answers.csv", "yes", "no"), "answers.csv was changed"),
    "answers in another order": (_other_answers, "queries and labels that are certified: it has others"),
    "result": (_edited("result.json", r'"eps": [0-9.]+', '"eps": 0.1'), "it has another eps"),
    "certificate": (_edited("certificate.json", r'"eps": [0-9.]+', '"eps": 0.1'), "another one is on record"),
    "card": (_edited("model_card.md", r"\(1, 1e-05\)", "(0.1, 1e-05)"), "its text is another"),
    "another student": (
        lambda place: shutil.copy(place / "first" / "student.skops", place / "out"),
        "it is the student of another certificate",
    ),
    "no student": (lambda place: (place / "out" / "student.skops").unlink(), "student.skops is missing"),
    "one more file": (
        lambda place: (place / "out" / "votes.csv").write_text("1,2\n"),
        "votes.csv is not of the release",
    ),
    "all but the student forged": (
        lambda place: _smaller_claim(place, in_student=False),
        "it is the student of another certificate",
    ),
    "all forged": (
        lambda place: _smaller_claim(place, in_student=True),
        "it was charged with another eps (eps=1, delta=1e-05)",
    ),
    "total raised": (lambda place: _edit(_ledger_file(place), r'"eps": [0-9.]+', '"eps": 90.0'), "by hand"),
}


@pytest.mark.parametrize("name", TAMPERINGS)
def test_a_change_is_noticed_and_named(place, capsys, name):
    tamper, said = TAMPERINGS[name]
    tamper(place)
    assert said in "\n".join(_verify(capsys))


def test_a_file_that_holds_anything_is_told_in_one_line(place, capsys):
    for name in ("answers.csv", "certificate.json", "result.json", "model_card.md", "student.skops"):
        whole = (place / "out" / name).read_bytes()
        for content in (b"", b"{}", b"\xff\r\0", b"[" * 100_000, b'{"schema_version": 2}'):
            (place / "out" / name).write_bytes(content)
            capsys.readouterr()
            assert cli.main(["verify", "out"]) in (1, 2)
            said = capsys.readouterr().err
            assert said.count("\n") == 1
            assert said.startswith("pate: ")
        (place / "out" / name).write_bytes(whole)


def test_who_has_no_ledger_sees_what_was_not_checked(place, capsys, monkeypatch):
    monkeypatch.delenv("PATE_LEDGER")
    monkeypatch.setenv("XDG_DATA_HOME", str(place / "none"))
    assert cli.main(["verify", "out"]) == 0
    said = capsys.readouterr()
    assert said.out.count("not checked") == 2
    assert "a forgery of all files would not show" in said.err
    _edit(place / "out" / "answers.csv", "yes", "no")
    assert any("answers.csv was changed" in line for line in _verify(capsys))


def test_what_is_no_release_is_refused(place, capsys):
    _edit(place / "out" / "certificate.json", '"schema_version": 2', '"schema_version": 1')
    folder = "accepted: the folder of a release"
    for what, said in (
        ("none", folder),
        ("ledger", folder),
        ("out/answers.csv", folder),
        ("out", "a certificate of version 1; accepted: 2"),
    ):
        assert cli.main(["verify", what]) == 2
        assert said in capsys.readouterr().err


def test_the_ledger_for_a_program(place, capsys):
    capsys.readouterr()
    assert cli.main(["ledger", "show", "--json"]) == 0
    (ledger,) = json.loads(capsys.readouterr().out)["ledgers"]
    assert ledger["left"]["eps"] == "6"
    kinds = [entry["kind"] for entry in ledger["entries"]]
    assert kinds == ["open", *["release", "certificate"] * 3]
    certified = json.loads((place / "out" / "certificate.json").read_text())["ledger"]
    assert certified["hash"] == ledger["hashes"][certified["entry"]]
    ids = {entry["id"] for entry in ledger["entries"] if entry["kind"] == "release"}
    assert ids == {json.loads((place / name / "result.json").read_text())["release_id"] for name in RELEASES}
