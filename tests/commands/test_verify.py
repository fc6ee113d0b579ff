"""`pate verify`: each way of changing a release, or the ledger that paid for it, is named, or refused.

A release is never uncounted unseen: not after an attack on its ledger, nor a kill at any moment.
"""

import hashlib
import json
import os
import re
import shutil
import signal
import socket
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from processes import MAIN, Process, finish, start

from pate_cli import cli
from pate_cli.release import LedgerDirectory, open_ledgers
from pate_cli.release.files import certificate, model_card
from pate_cli.results import read_record
from pate_cli.students import load_student, save_student
from pate_cli.terminal import only_writer

pytest.importorskip("opendp")

DATA = ["dataset=csv", "dataset.path=people.csv", "dataset.target=class", "dataset.schema=s.yaml"]
OTHER = ["dataset=synthetic", "dataset.n_records=900"]
RELEASE = ["release=true", "split.public=20", "split.public_from_private=true", "teacher.size=30"]
RELEASE += ["delta=1e-5", "eps=1"]
TOTAL = ["--eps", "2", "--delta", "1e-3"]
FOLDERS = ("one", "outputs/day/two")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A ledger spent by the releases `one` and `two`, and its copies from `before` and `between` them."""
    place = tmp_path_factory.mktemp("made")
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=900)
    x = np.round(rng.normal(size=900) + 2 * (2 * y - 1), 3)
    lines = [f"{a},{'yes' if b else 'no'}" for a, b in zip(x, y, strict=True)]
    (place / "people.csv").write_text("\n".join(["x <b>,class", *lines]) + "\n")
    (place / "s.yaml").write_text("columns: {x <b>: {kind: number}}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATE_LEDGER", str(place / "ledger"))
        patch.chdir(place)
        assert cli.main(["ledger", "init", *DATA, *TOTAL]) == 0
        for copy, folder in zip(("before", "between"), FOLDERS, strict=True):
            shutil.copytree(place / "ledger", place / copy)
            purpose = f"purpose='to see whether it is {folder[-3:]}'"
            assert cli.main(["run", *DATA, *RELEASE, purpose, f"hydra.run.dir={folder}"]) == 0
    return place


@pytest.fixture
def place(made, tmp_path, monkeypatch):
    """A copy that may be tampered with."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    for name in ("ledger", "before", "between"):
        (tmp_path / name).chmod(0o700)
    monkeypatch.setenv("PATE_LEDGER", str(tmp_path / "ledger"))
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _verify(capsys, target="one"):
    """The checks that fail."""
    capsys.readouterr()
    code = cli.main(["verify", target])
    said = capsys.readouterr()
    whole = re.sub(r"\s*\n +", " ", said.out)  # a narrow terminal folds
    failed = [line for line in whole.splitlines() if line.startswith("FAILED")]
    assert (code == 1) == bool(failed)
    assert said.err.count("\n") == (code > 0)
    return failed + ["refused"] * (code == 2)


def _edit(path, old, new):
    text, count = re.subn(old, new, path.read_text(), count=1)
    assert count
    path.write_text(text)


def _ledger_file(place):
    (file,) = (place / "ledger").glob("*.json")
    return file


def test_releases_as_they_were_made_pass(place, capsys):
    assert [_verify(capsys, folder) for folder in FOLDERS] == [[], []]
    card = (place / "one" / "model_card.md").read_text()
    assert "(1, 1e-05)-differential privacy" in card
    assert "Purpose: to see whether it is one" in card
    assert "`x <b>`" in card
    assert str(place) not in card


def _facts(place):
    told = json.loads((place / "one" / "certificate.json").read_text())
    return {name: value for name, value in told.items() if name != "files"}


def _certify(place, facts, *, in_student=True):
    """Write certificate and model card anew for some facts and what the other files say; also the student."""
    out = place / "one"
    if in_student:
        there = dict(vars(load_student(out / "student.skops")))
        there["meta"] = there["meta"] | {"certificate": facts}
        save_student(out / "student.skops", there.pop("student"), **there)
    (out / "model_card.md").write_bytes(model_card(facts))
    content = {file.name: file.read_bytes() for file in out.iterdir() if file.name != "certificate.json"}
    (out / "certificate.json").write_bytes(certificate(facts, content))


def _record(place, ledgers, fingerprint):
    """Let a ledger record the certificate as it is now."""
    data = (place / "one" / "certificate.json").read_bytes()
    ledgers.record(fingerprint, _facts(place)["release"], hashlib.sha256(data).hexdigest())


def _smaller_claim(place, *, in_student):
    """Make the claim smaller in every file, with fitting hashes; in the student's if asked."""
    for name in ("certificate.json", "result.json"):
        _edit(place / "one" / name, r'"eps": [0-9.]+', '"eps": 0.1')
    _certify(place, _facts(place), in_student=in_student)


def _other_answers(place):
    """Answers in another order, with fitting hashes."""
    header, *lines = (place / "one" / "answers.csv").read_text().splitlines()
    (place / "one" / "answers.csv").write_text("\n".join([header, *lines[::-1]]) + "\n")
    _certify(place, _facts(place), in_student=False)


def _edited(name, old, new):
    return lambda place: _edit(place / "one" / name, old, new)


TAMPERINGS = {
    "answers": (_edited("answers.csv", "yes", "no"), "answers.csv was changed"),
    "answers in another order": (_other_answers, "queries and labels that are certified: it has others"),
    "result": (_edited("result.json", r'"eps": [0-9.]+', '"eps": 0.1'), "it has another eps"),
    "certificate": (_edited("certificate.json", r'"eps": [0-9.]+', '"eps": 0.1'), "another one is on record"),
    "card": (_edited("model_card.md", r"\(1, 1e-05\)", "(0.1, 1e-05)"), "model_card.md was changed"),
    "another student": (
        lambda place: shutil.copy(place / FOLDERS[1] / "student.skops", place / "one"),
        "student.skops was changed",
    ),
    "no student": (lambda place: (place / "one" / "student.skops").unlink(), "student.skops is missing"),
    "one more file": (
        lambda place: (place / "one" / "votes.csv").write_text("1,2\n"),
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
        whole = (place / "one" / name).read_bytes()
        for content in (b"", b"{}", b"\xff\r\0", b"[" * 100_000, b'{"schema_version": 3}'):
            (place / "one" / name).write_bytes(content)
            capsys.readouterr()
            assert cli.main(["verify", "one"]) in (1, 2)
            said = capsys.readouterr().err
            assert said.count("\n") == 1
            assert said.startswith("pate: ")
        (place / "one" / name).write_bytes(whole)


def test_a_certificate_that_lacks_a_fact_is_told_in_one_line(place, capsys):
    path = place / "one" / "certificate.json"
    whole = json.loads(path.read_text())
    about = whole["files"]["answers.csv"]
    for lacking in (whole, whole["files"], about):
        for name in list(lacking):
            kept = lacking.pop(name)
            path.write_text(json.dumps(whole))
            assert _verify(capsys)
            lacking[name] = kept


def test_an_evaluation_of_another_size_than_its_classes_is_not_computed_again(place, capsys, monkeypatch):
    monkeypatch.setattr("pate_cli.release.verification.stated", lambda *_: pytest.fail("computed"))
    report = {"n": 300, "n_classes": 2, "sigma": 2.0, "threshold": None, "edges": [0.0]}
    report |= {"scores": [[0.0] * 5] * 2, "table": [75] * 4}
    longer = [{"edges": [0.0] * 9**4, "scores": [[0.0] * 5] * (9**4 + 1), "table": [1] * 2 * (9**4 + 1)}]
    for change in [{"n_classes": 10**9}, {"table": [1] * 10**4}, {"scores": [[0.0] * 10**4] * 2}, *longer]:
        _certify(place, _facts(place) | {"evaluation": report | change | {"figures": {}}}, in_student=False)
        assert any("of another size than that of its classes" in line for line in _verify(capsys)), change


def test_a_certificate_without_the_sizes_of_files_is_checked_still(place, capsys):
    _certify(place, _facts(place) | {"schema_version": 2})
    path = place / "one" / "certificate.json"
    told = json.loads(path.read_text())
    told["files"] = {name: about["sha256"] for name, about in told["files"].items()}
    path.write_text(json.dumps(told))
    _record(place, open_ledgers(), told["ledger"]["fingerprint"])
    assert _verify(capsys) == []
    _edit(place / "one" / "answers.csv", "yes", "no")
    assert "answers.csv was changed" in "".join(_verify(capsys))


def test_who_has_no_ledger_sees_what_was_not_checked(place, capsys, monkeypatch):
    monkeypatch.delenv("PATE_LEDGER")
    monkeypatch.setenv("XDG_DATA_HOME", str(place / "none"))
    assert cli.main(["verify", "one"]) == 0
    said = capsys.readouterr()
    assert said.out.count("not checked") == 2
    assert "a forgery of all files would not show" in said.err
    _edit(place / "one" / "answers.csv", "yes", "no")
    assert any("answers.csv was changed" in line for line in _verify(capsys))


def test_what_is_no_release_is_refused(place, capsys):
    _edit(place / "one" / "certificate.json", '"schema_version": 4', '"schema_version": 1')
    folder = "accepted: the folder of a release"
    for what, said in (
        ("none", "no such file or directory, and no name or id of a result"),
        ("ledger", folder),
        ("one/answers.csv", folder),
        ("one", "a certificate of version 1; accepted: 2, 3, 4"),
    ):
        assert cli.main(["verify", what]) == 2
        assert said in capsys.readouterr().err


def test_the_ledger_for_a_program(place, capsys):
    capsys.readouterr()
    assert cli.main(["ledger", "show", "--json"]) == 0
    (ledger,) = json.loads(capsys.readouterr().out)["ledgers"]
    assert ledger["left"]["eps"] == "0"
    kinds = [entry["kind"] for entry in ledger["entries"]]
    assert kinds == ["open", *["release", "certificate"] * 2]
    certified = json.loads((place / "one" / "certificate.json").read_text())["ledger"]
    assert certified["hash"] == ledger["hashes"][certified["entry"]]
    ids = {entry["id"] for entry in ledger["entries"] if entry["kind"] == "release"}
    assert ids == {json.loads((place / name / "result.json").read_text())["release_id"] for name in FOLDERS}


# -- hostile folders


@pytest.mark.parametrize("form", ["../side/{}", "{place}/side/{}", "./{}", "", ["a"]])
def test_a_ledger_that_is_named_by_a_path_is_not_read(place, capsys, form):
    """One that came with the release, which has its charge and its certificate."""
    facts = _facts(place)
    fingerprint, side = facts["ledger"]["fingerprint"], form and "side" in form
    name = form.format(fingerprint, place=place) if form and isinstance(form, str) else form
    if side:
        (place / "ledger").rename(place / "side")
        assert cli.main(["ledger", "init", *DATA, *TOTAL]) == 0
    _certify(place, facts | {"ledger": facts["ledger"] | {"fingerprint": name}})
    _record(place, LedgerDirectory(place / ("side" if side else "ledger"), ""), fingerprint)
    failed = _verify(capsys)
    assert len(failed) == 2
    assert all("names no ledger; accepted: 64 of the digits" in line for line in failed)


def _socket(path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


KINDS = {
    "pipe": os.mkfifo,
    "directory": os.mkdir,
    "link to itself": lambda path: path.symlink_to(path.name),
    "link to a device": lambda path: path.symlink_to("/dev/zero"),
    "link to a pipe": lambda path: (os.mkfifo("pipe"), path.symlink_to(Path("pipe").absolute())),
    "socket": _socket,
}


def _late(*_):
    raise TimeoutError


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_file_is_neither_waited_for_nor_read(place, capsys, kind):
    student, ledger = Path("outputs/day/two/student.skops"), _ledger_file(place).relative_to(place)
    for number, (path, line, code) in enumerate(
        [
            (student, "verify outputs/day/two", 1),
            (student, f"predict {student} people.csv", 2),
            (Path("people.csv"), f"predict {student} people.csv", 2),
            (Path("people.csv"), " ".join(["ledger init", *DATA, *TOTAL]), 2),
            (Path("one/certificate.json"), "verify one", 2),
            (ledger, "verify one", 1),
            (ledger, "ledger show", 2),
            (Path("ledger/lock"), " ".join(["ledger init", *OTHER, *TOTAL]), 2),
            (Path("one"), "verify one", 2),
        ]
    ):
        path.rename("kept")
        KINDS[kind](path)
        capsys.readouterr()
        signal.signal(signal.SIGALRM, _late)
        signal.alarm(60)
        try:
            assert cli.main(line.split()) == code, (number, line)
        finally:
            signal.alarm(0)
        said = capsys.readouterr()
        assert said.err.count("\n") == 1
        assert said.err.startswith("pate: ")
        Path("pipe").unlink(missing_ok=True)
        path.rmdir() if kind == "directory" else path.unlink()
        Path("kept").rename(path)


def test_a_file_of_another_size_is_not_read(place, capsys, monkeypatch):
    """Sparse files of 2 GB, which take no room on disk."""
    for name in ("answers.csv", "result.json", "model_card.md", "student.skops"):
        os.truncate(place / "one" / name, 2**31)
    tracemalloc.start()
    failed = "".join(_verify(capsys))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert failed.count("was changed") == 4
    assert peak < 10**8
    os.truncate(place / "one" / "certificate.json", 2**31)
    assert _verify(capsys) == ["refused"]


def test_the_sizes_of_all_files_are_added_up(place, capsys, monkeypatch):
    """They are as large as certified, and together too large."""
    for name in ("answers.csv", "model_card.md"):
        os.truncate(place / "one" / name, 10**6)
    sizes = [len(file.read_bytes()) for file in (place / "one").glob("[!c]*")]
    facts = _facts(place)
    content = {file.name: file.read_bytes() for file in (place / "one").glob("[!c]*")}
    (place / "one" / "certificate.json").write_bytes(certificate(facts, content))
    assert "bytes, of at most" not in "".join(_verify(capsys))
    monkeypatch.setattr("pate_cli.release.verification._MOST_BYTES", sum(sizes) - 1)
    assert "student.skops has " in "".join(_verify(capsys))


def test_a_ledger_of_another_user_is_refused(place, capsys, monkeypatch):
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    for line in ("verify one", "ledger show", " ".join(["ledger init", *OTHER, *TOTAL])):
        assert cli.main(line.split()) == 2
        said = capsys.readouterr().err
        assert said.startswith("pate: PATE_LEDGER: got ")
        assert "a directory of your own that only you can enter (chmod 700)" in said
    assert cli.main(["run", *OTHER, *RELEASE, "hydra.run.dir=three"]) == 2
    assert "a directory of your own" in capsys.readouterr().err
    status = os.stat(place / "ledger")
    monkeypatch.setattr(os, "geteuid", lambda: me)
    monkeypatch.setattr(
        "pate_cli.release.ledger_directory.is_own", lambda held: os.path.samestat(held, status)
    )
    assert cli.main(["ledger", "show"]) == 2  # a file of another user in a directory of mine
    assert "cannot be read (belongs to another user)" in capsys.readouterr().err


# -- attacks on the ledger


def _unpaid(capsys):
    """The releases that `pate verify` does not find paid for."""
    wrong = set()
    for folder in FOLDERS:
        failed = _verify(capsys, folder)
        assert not failed or failed == ["refused"] or "FAILED  the ledger has its charge" in "".join(failed)
        if failed:
            wrong.add(folder[-3:])
    return wrong


def _rewritten(change):
    """Rewrite the entries with a chain that fits, as who can write the directory may."""
    (there,) = open_ledgers().ledgers()
    open_ledgers()._write(replace(there, entries=tuple(change(list(there.entries)))))


def _rolled_back(place, name):
    shutil.rmtree(place / "ledger")
    shutil.copytree(place / name, place / "ledger")


def _downgraded(place):
    """In the form of version 2, whose checksum anybody can make, without its charges."""
    content = json.loads(_ledger_file(place).read_text())
    entries = [{name: content["entries"][0][name] for name in ("kind", "eps", "delta", "note", "time")}]
    old = {"version": 2, **{name: content[name] for name in ("fingerprint", "name")}, "entries": entries}
    old |= {"public": None}
    code = hashlib.sha256(json.dumps(old, sort_keys=True).encode()).hexdigest()
    _ledger_file(place).write_text(json.dumps(old | {"sha256": code}))


def _begun_anew(place):
    shutil.rmtree(place / "ledger")
    assert cli.main(["ledger", "init", *DATA, *TOTAL]) == 0


def _anothers(place):
    """The fresh ledger of other data under this one's name."""
    name = _ledger_file(place)
    assert cli.main(["ledger", "init", *OTHER, *TOTAL]) == 0
    (other,) = set((place / "ledger").glob("*.json")) - {name}
    other.replace(name)


BOTH = {"one", "two"}
ATTACKS = {  # what it is, whether the next release is refused, and which releases are then not found
    "none": (lambda place: None, True, set()),
    "file deleted": (lambda place: _ledger_file(place).unlink(), True, BOTH),
    "shortened": (lambda place: _rewritten(lambda old: old[:3]), False, {"two"}),
    "emptied": (lambda place: _rewritten(lambda old: old[:1]), False, BOTH),
    "total raised": (
        lambda place: _rewritten(lambda old: [replace(old[0], eps=9.0), *old[1:]]),
        False,
        BOTH,
    ),
    "charge lowered": (
        lambda place: _rewritten(lambda old: [*old[:3], replace(old[3], eps=0.5), old[4]]),
        True,
        {"two"},
    ),
    "rolled back to between": (lambda place: _rolled_back(place, "between"), False, {"two"}),
    "rolled back to before": (lambda place: _rolled_back(place, "before"), False, BOTH),
    "downgraded": (_downgraded, True, BOTH),
    "begun anew": (_begun_anew, False, BOTH),
    "another ledger's file": (_anothers, True, BOTH),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_refused_or_shown(place, capsys, name):
    attack, refused, shown = ATTACKS[name]
    attack(place)
    assert _unpaid(capsys) == shown
    assert cli.main(["run", *DATA, *RELEASE, "hydra.run.dir=three"]) == (2 if refused else 0)
    assert refused or shown
    if refused:
        assert not (place / "three").exists()
    assert _unpaid(capsys) == shown  # the new charge does not cover the old ones


def test_a_ledger_begun_beside_releases_of_another_says_so(place, capsys):
    for name in ("ledger", "before", "between"):
        capsys.readouterr()
        given = ["--ledger", str(place / name)]
        assert cli.main(["ledger", "init", *OTHER, *TOTAL, *given]) == 0
        said = capsys.readouterr().err
        missing = {"ledger": "", "before": "one, outputs/day/two", "between": "outputs/day/two"}[name]
        warning = f"pate: releases here are charged to no ledger in {place / name}: {missing};"
        assert said.startswith(warning) == (name != "ledger")
        assert said.count("\n") == (name != "ledger")


# -- two at once


RUN = ["run", *OTHER, *RELEASE]


def test_of_two_at_once_into_one_directory_one_stops_uncharged(tmp_path, monkeypatch):
    monkeypatch.setenv("PATE_LEDGER", str(tmp_path / "ledger"))
    monkeypatch.chdir(tmp_path)
    assert cli.main(["ledger", "init", *OTHER, "--eps", "9", "--delta", "1e-3"]) == 0
    both = [start(tmp_path, *RUN, "hydra.run.dir=same") for _ in range(2)]
    codes, _, errs = zip(*map(finish, both), strict=True)
    said = [err.splitlines()[-1] for err in errs]
    assert sorted(codes) == [0, 2], said
    late = said[codes.index(2)]  # what it says depends on whether the other has ended
    assert late.startswith("pate: hydra.run.dir")
    assert "another command writes there" in late or "a new or an empty directory" in late
    (there,) = open_ledgers().ledgers()
    assert [entry.kind for entry in there.entries] == ["open", "release", "certificate"]
    assert cli.main(["verify", "same"]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"ledger", "same"}


def test_a_release_where_another_command_writes_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATE_LEDGER", str(tmp_path / "ledger"))
    monkeypatch.chdir(tmp_path)
    assert cli.main(["ledger", "init", *OTHER, "--eps", "9", "--delta", "1e-3"]) == 0
    with only_writer(tmp_path / "same"):
        (tmp_path / "same" / "result.json").touch()
        assert cli.main([*RUN, "hydra.run.dir=same"]) == 2
        assert "another command writes there at this moment" in capsys.readouterr().err
        (tmp_path / "same" / "result.json").unlink()


# -- kill -9

KILLED = """
import os, signal, sys
from pate_cli.release import exact_noise, release

where = sys.argv.pop(1)

def deadly(owner, name, *, before, call=1, counts=lambda *given: True):
    kept, calls = getattr(owner, name), []
    def wrapped(*given, **named):
        calls.append(counts(*given))
        now = calls[-1] and sum(calls) == call
        if now and before:
            os.kill(os.getpid(), signal.SIGKILL)
        result = kept(*given, **named)
        if now:
            os.kill(os.getpid(), signal.SIGKILL)
        return result
    setattr(owner, name, wrapped)

in_ledger = lambda old, new: str(new).startswith(os.environ["PATE_LEDGER"])
if where == "before the charge":
    deadly(os, "replace", before=True, counts=in_ledger)
if where == "charge on disk":
    deadly(os, "replace", before=False, counts=in_ledger)
if where == "noise drawn":
    deadly(exact_noise.ExactNoise, "gaussian", before=False)
if where == "certificate written":
    deadly(release, "write_file", before=False, call=4)
"""
MOMENTS = {  # charges there are then, and the files of the release
    "before the charge": (0, []),
    "charge on disk": (1, []),
    "noise drawn": (1, []),
    "certificate written": (1, ["answers.csv", "student.skops", "model_card.md", "certificate.json"]),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_at_any_moment_what_left_is_counted(tmp_path, monkeypatch, capsys, moment):
    monkeypatch.setenv("PATE_LEDGER", str(tmp_path / "ledger"))
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["ledger", "init", *OTHER, "--eps", "1", "--delta", "1e-3"]) == 0
    argv = [moment, *RUN, "mechanism=gaussian", "hydra.run.dir=out"]
    assert finish(Process(tmp_path, *argv, code=KILLED + MAIN))[0] == -signal.SIGKILL
    charged, written = MOMENTS[moment]
    (there,) = open_ledgers().ledgers()
    assert sum(entry.kind == "release" for entry in there.entries) == charged
    assert {path.name for path in (tmp_path / "out").glob("[!.]*")} == {"result.json", *written}
    assert read_record(tmp_path / "out" / "result.json").status == "running"
    capsys.readouterr()
    assert cli.main(["verify", "out"]) == (1 if "certificate.json" in written else 2)
    if "certificate.json" in written:
        assert "FAILED  files: as certified, none missing, none added: result.json was changed" in (
            capsys.readouterr().out
        )
    # the same command again finds the directory taken; elsewhere it goes only where nothing was charged
    again = [*RUN, "mechanism=gaussian"]
    assert cli.main([*again, "hydra.run.dir=out"]) == 2
    assert cli.main([*again, "hydra.run.dir=other"]) == (2 if charged else 0)
    assert bool(list((tmp_path / "ledger").glob(".*.tmp"))) is False  # what a kill left there is swept
