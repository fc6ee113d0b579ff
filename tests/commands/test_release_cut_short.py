"""A release that is cut short: what is charged is said, and what is paid for is written."""

import errno
import json
import os
import signal
from types import SimpleNamespace

import numpy as np
import pytest

from pate_cli import cli
from pate_cli.release import LedgerDirectory, open_ledgers, release

pytest.importorskip("opendp")

RELEASE = ["run", "dataset=csv", "dataset.path=people.csv", "dataset.target=class", "dataset.schema=s.yaml"]
RELEASE += ["release=true", "split.public_from_private=true", "split.public=40", "teacher.size=30"]
RELEASE += ["delta=1e-5", "hydra.run.dir=out"]


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch, capsys):
    """A table with a ledger."""
    monkeypatch.setenv("PATE_LEDGER", str(tmp_path / "ledger"))
    monkeypatch.chdir(tmp_path)
    y = np.arange(1200) % 2
    x = np.random.default_rng(0).normal(size=1200) + 4 * y
    lines = ["x,class", *(f"{a:.3f},{'yes' if b else 'no'}" for a, b in zip(x, y, strict=True))]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "s.yaml").write_text(json.dumps({"columns": {"x": {"kind": "number"}}}))
    assert cli.main(["ledger", "init", *RELEASE[1:4], "--eps", "2", "--delta", "1e-3"]) == 0
    capsys.readouterr()
    return tmp_path


def _kinds():
    return [entry.kind for entry in open_ledgers().ledgers()[0].entries[1:]]


@pytest.mark.parametrize(
    ("stop", "code", "said"),
    [
        (KeyboardInterrupt(), 130, "the release was ended; its budget is charged"),
        (OSError(errno.EIO, "Input/output error", "x.json"), 1, "the release failed; its budget is charged"),
    ],
    ids=["Ctrl-C", "disk"],
)
def test_a_charge_that_is_on_disk_is_said_though_its_writer_did_not_come_back(
    place, monkeypatch, capsys, stop, code, said
):
    charge = LedgerDirectory.charge

    def stopped(*arguments, **options):
        charge(*arguments, **options)
        raise stop

    monkeypatch.setattr(LedgerDirectory, "charge", stopped)
    assert cli.main(RELEASE) == code
    assert (_kinds(), os.listdir("out")) == (["release"], ["result.json"])
    assert json.loads((place / "out" / "result.json").read_text())["message"] == said
    if code == 130:
        assert "its budget is charged" in " ".join(capsys.readouterr().out.split())


def test_on_a_disk_without_room_for_a_release_nothing_is_charged(place, monkeypatch, capsys):
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=2**20))
    assert cli.main(RELEASE) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith(f"pate: hydra.run.dir: got '{place}/out'; accepted: a new or an empty directory ")
    assert said.endswith("(less than 32 MB are left on its disk; nothing is charged)")
    assert not _kinds()
    assert not (place / "out").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_release_that_is_paid_for_is_written_before_a_signal_ends_it(monkeypatch, number):
    write, began = release.write_file, []

    def interrupted(*arguments, **options):
        began.append(os.kill(os.getpid(), number))
        return write(*arguments, **options)

    monkeypatch.setattr(release, "write_file", interrupted)
    before = signal.signal(number, signal.default_int_handler)  # who started us may have ignored it
    try:
        assert cli.main(RELEASE) == 128 + number
    finally:
        signal.signal(number, before)
    assert began
    assert _kinds() == ["release", "certificate"]
    assert cli.main(["verify", "out"]) == 0
