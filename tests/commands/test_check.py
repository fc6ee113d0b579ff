"""`pate check`: what it prints, what it refuses, and that a fault is seen by its check."""

from __future__ import annotations

import sys
from pathlib import Path

import noisy_histograms
import pytest

from pate_cli import mechanisms, terminal
from pate_cli.cli import main
from pate_cli.mechanisms import gaussian
from pate_cli.testing import NamedCheck, check_mechanism

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "own"
DOOR = ["--only", "replayed", "--only", "moved", "--only", "paid", "--only", "drawn"]


@pytest.fixture
def checked(tmp_path, monkeypatch, capsys):
    """Call `pate check` at 80 columns in an empty directory: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.syspath_prepend(tmp_path)
    terminal.out.cache_clear()

    def call(*argv):
        code = main(["check", *argv])
        assert list(tmp_path.glob("outputs")) == []
        return code, *capsys.readouterr()

    yield call
    terminal.out.cache_clear()
    mechanisms.find.cache_clear()
    sys.modules.pop("mine", None)
    sys.modules.pop("pate_exponential", None)


def test_a_table_says_what_each_check_tried_and_saw(checked):
    code, out, err = checked(
        "mechanism=svt", "mechanism.cutoff=2", "eps=20", "--only", "paid", "--only", "asked"
    )
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    lines = [line.strip() for line in out.splitlines()]
    assert lines.count("svt, cutoff=2") == 1
    assert "spent eps 20 of 20" in out
    assert "queries 11 taken" in out
    assert lines[-1].startswith("svt: ")
    assert lines[-1].endswith(", none failed")


def test_the_list_of_promises_is_on_its_page(checked):
    code, out, _ = checked("--list")
    assert code == 0
    page = (EXAMPLE.parents[1] / "mechanisms.md").read_text()
    assert "\n".join(line.rstrip() for line in out.splitlines()) in page


def test_an_example_is_checked_by_its_import_path(checked, monkeypatch):
    """It has noise and an event of its own; the other example is checked in tests/test_author_mistakes.py."""
    monkeypatch.syspath_prepend(EXAMPLE)
    code, out, _ = checked("mechanism=pate_exponential.noisy_max", *DOOR, "--only", "audited")
    assert code == 0, out
    assert "a release" not in out
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("right", "wrong", "check"),
    [
        ("sensitivity=2.0", "sensitivity=2**0.5", "moved"),
        ("noisy.argmax", "votes.counts.argmax", "replayed"),
    ],
)
def test_a_fault_of_a_plug_in_is_seen(right, wrong, check, checked, tmp_path):
    source = Path(noisy_histograms.__file__).read_text()
    assert source.count(right) == 1
    (tmp_path / "mine.py").write_text(source.replace(right, wrong))
    code, out, _ = checked("mechanism=mine", "--only", check)
    failed = {line.split()[0] for line in out.splitlines() if " FAILED " in line}
    assert (code, failed) == (1, {check})


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ([], "pate check: which mechanism? accepted: mechanism=NAME, of this or another package"),
        (["mechanism=nowhere.at_all"], "mechanism.name: got 'nowhere.at_all'; accepted: active, "),
        (["mechanism=svt", "features=none"], "features=none: not used by pate check, which tries each"),
        (["mechanism=svt", "dataset=digits"], "dataset=digits: not used by pate check, which makes its own"),
        (["mechanism=svt", "mechanism.cutoff=0"], "mechanism.cutoff: got 0; accepted: auto"),
        (["mechanism=svt", "--only", "nonsense"], "--only: got 'nonsense'; accepted: options, "),
        (["mechanism=svt", "eps=0.001"], "mechanism=svt"),
        (["mechanism=svt", "eps=inf"], "eps: got inf; accepted: a finite number"),
    ],
)
def test_it_refuses_in_one_line(argv, said, checked):
    code, out, err = checked(*argv)
    assert (code, out) == (2, "")
    assert err.startswith(f"pate: {said}")
    assert err.count("\n") == 1


def test_checks_by_name_module_or_class_and_with_a_setting():
    assert {str(check) for check in check_mechanism(gaussian)} == {
        str(check) for check in check_mechanism("gaussian")
    }
    check, *_ = (check for check in check_mechanism(gaussian.Gaussian, setting={"eps": 3.0, "delta": 1e-3}))
    assert isinstance(check, NamedCheck)
    assert check.name == "options"
    by_name = {
        str(check): check for check in check_mechanism("gaussian", {"calibration": "liu2021"}, {"eps": 3})
    }
    assert by_name["numbers, gaussian, calibration=liu2021"]().startswith("eps 3, delta 0.01")


def test_the_audit_sees_that_costs_of_many_queries_are_counted_once(checked, tmp_path):
    source = (EXAMPLE / "pate_exponential" / "noisy_max.py").read_text()
    shared = "math.sqrt(2 * rho / s.n_public)"
    assert shared in source
    (tmp_path / "mine.py").write_text(source.replace(shared, "math.sqrt(2 * rho)"))
    code, out, _ = checked("mechanism=mine", "--only", "audited")
    assert code == 1
    assert "measured 2" in out
    assert "claimed 1" in out
