"""Attacks on a ledger: each is refused, or shown by `pate verify`; a release is never uncounted unseen."""

import hashlib
import json
import shutil
import signal
import subprocess
import sys
from dataclasses import replace

import pytest

from pate_cli import cli
from pate_cli.release import open_ledgers
from pate_cli.report import read_record

pytest.importorskip("opendp")

DATA = ["dataset=synthetic", "dataset.n_records=900"]
RUN = ["run", *DATA, "release=true", "split.public=20", "split.public_from_private=true"]
RUN += ["teacher.size=30", "delta=1e-5", "eps=1"]
TOTAL = ["--eps", "2", "--delta", "1e-3"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A ledger spent by the releases `one` and `two`, and its copies from `before` and `between` them."""
    place = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATE_LEDGER", str(place / "ledger"))
        patch.chdir(place)
        assert cli.main(["ledger", "init", *DATA, *TOTAL]) == 0
        shutil.copytree(place / "ledger", place / "before")
        assert cli.main([*RUN, "hydra.run.dir=one"]) == 0
        shutil.copytree(place / "ledger", place / "between")
        assert cli.main([*RUN, "hydra.run.dir=outputs/day/two"]) == 0
    return place


@pytest.fixture
def place(made, tmp_path, monkeypatch):
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    for name in ("ledger", "before", "between"):
        (tmp_path / name).chmod(0o700)
    monkeypatch.setenv("PATE_LEDGER", str(tmp_path / "ledger"))
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _shown(capsys):
    """The releases that `pate verify` does not find paid for."""
    wrong = set()
    for folder in ("one", "outputs/day/two"):
        capsys.readouterr()
        code = cli.main(["verify", folder])
        said = capsys.readouterr()
        assert said.err.count("\n") == (code > 0)
        if code == 1:
            assert "FAILED  the ledger has its charge" in said.out
        if code:
            wrong.add(folder[-3:])
    return wrong


def _file(place):
    (file,) = (place / "ledger").glob("*.json")
    return file


def _rewritten(change):
    """Rewrite the entries with a chain that fits, as who can write the directory may."""
    (there,) = open_ledgers().ledgers()
    open_ledgers()._write(replace(there, entries=tuple(change(list(there.entries)))))


def _rolled_back(place, name):
    shutil.rmtree(place / "ledger")
    shutil.copytree(place / name, place / "ledger")


def _downgraded(place):
    """In the form of version 2, whose checksum anybody can make, without its charges."""
    content = json.loads(_file(place).read_text())
    entries = [{name: content["entries"][0][name] for name in ("kind", "eps", "delta", "note", "time")}]
    old = {"version": 2, **{name: content[name] for name in ("fingerprint", "name")}, "entries": entries}
    old |= {"public": None}
    code = hashlib.sha256(json.dumps(old, sort_keys=True).encode()).hexdigest()
    _file(place).write_text(json.dumps(old | {"sha256": code}))


def _begun_anew(place):
    shutil.rmtree(place / "ledger")
    assert cli.main(["ledger", "init", *DATA, *TOTAL]) == 0


def _anothers(place):
    """The fresh ledger of other data under this one's name."""
    name = _file(place)
    assert cli.main(["ledger", "init", "dataset=synthetic", "dataset.n_records=800", *TOTAL]) == 0
    (other,) = set((place / "ledger").glob("*.json")) - {name}
    other.replace(name)


BOTH = {"one", "two"}
ATTACKS = {  # what it is, whether the next release is refused, and which releases are then not found
    "none": (lambda place: None, True, set()),
    "file deleted": (lambda place: _file(place).unlink(), True, BOTH),
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
    assert _shown(capsys) == shown
    assert cli.main([*RUN, "hydra.run.dir=three"]) == (2 if refused else 0)
    assert refused or shown
    if refused:
        assert not (place / "three").exists()
    assert _shown(capsys) == shown  # the new charge does not cover the old ones


def test_a_ledger_begun_beside_releases_of_another_says_so(place, capsys):
    for name in ("ledger", "before", "between"):
        capsys.readouterr()
        given = ["--ledger", str(place / name)]
        assert cli.main(["ledger", "init", *DATA[:1], "dataset.n_records=800", *TOTAL, *given]) == 0
        said = capsys.readouterr().err
        missing = {"ledger": "", "before": "one, outputs/day/two", "between": "outputs/day/two"}[name]
        warning = f"pate: releases here are charged to no ledger in {place / name}: {missing};"
        assert said.startswith(warning) == (name != "ledger")
        assert said.count("\n") == (name != "ledger")


# -- two at once


def _started(*arguments):
    command = [sys.executable, "-m", "pate_cli", *RUN, *arguments]
    return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)


def test_of_two_at_once_into_one_directory_one_stops_uncharged(tmp_path, monkeypatch):
    monkeypatch.setenv("PATE_LEDGER", str(tmp_path / "ledger"))
    monkeypatch.chdir(tmp_path)
    assert cli.main(["ledger", "init", *DATA, "--eps", "9", "--delta", "1e-3"]) == 0
    both = [_started("hydra.run.dir=same") for _ in range(2)]
    said = [each.communicate(timeout=300)[1].splitlines()[-1] for each in both]
    codes = [each.returncode for each in both]
    assert sorted(codes) == [0, 2], said
    assert said[codes.index(2)].startswith("pate: hydra.run.dir: got")
    (there,) = open_ledgers().ledgers()
    assert [entry.kind for entry in there.entries] == ["open", "release", "certificate"]
    assert cli.main(["verify", "same"]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"ledger", "same"}


# -- kill -9

KILLED = """
import os, signal, sys
from pate_cli import cli
from pate_cli.release import noise, release

where, argv = sys.argv[1], sys.argv[2:]

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
    deadly(noise.ExactNoise, "gaussian", before=False)
if where == "certificate written":
    deadly(release, "write_file", before=False, call=4)
sys.exit(cli.main(argv))
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
    assert cli.main(["ledger", "init", *DATA, "--eps", "1", "--delta", "1e-3"]) == 0
    command = [sys.executable, "-c", KILLED, moment, *RUN, "mechanism=gaussian", "hydra.run.dir=out"]
    assert subprocess.run(command, stderr=subprocess.DEVNULL, timeout=300).returncode == -signal.SIGKILL
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
