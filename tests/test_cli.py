"""The command itself: help, exit codes, and how little it imports to say so."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from benchmarks import imports
from pate_cli import __version__, cli
from pate_cli.config import renamed
from pate_cli.config.command_line import checked
from pate_cli.errors import ConfigError
from pate_cli.version import versions

REPO = Path(__file__).resolve().parent.parent
CHECKED = ("--help", "table", "predict", "data", "verify", "plan")
"""Commands whose budget is checked here: others import what `plan` does; `make bench` has all of them."""


@pytest.mark.parametrize("argv", [[], ["--help"]])
def test_help_explains_each_command_in_a_line(capsys, argv):
    assert cli.main(argv) == 0
    out = capsys.readouterr().out
    for name, text in cli.COMMANDS.items():
        assert f"  {name:<11} {text}\n" in out
    assert max(map(len, out.splitlines())) <= 85


def test_version_and_an_unknown_command(capsys):
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"pate {__version__}\n"
    assert cli.main(["fly"]) == 2
    assert capsys.readouterr().err == f"pate: fly: no such command; there are: {', '.join(cli.COMMANDS)}\n"


def test_one_version_stands_everywhere():
    cited = re.search(r"^version: (\S+)$", (REPO / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    changes = (REPO / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (\d\S*)", changes, re.MULTILINE)
    assert cited[1] == newest[1] == versions()["pate"] == __version__


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (["mechanism=confident_gnmax"], ["mechanism=gnmax", "mechanism.confidence=0.75"]),
        (
            ["mechanism.confidence=0.6", "mechanism=confident_gnmax"],
            ["mechanism.confidence=0.6", "mechanism=gnmax"],
        ),
        (["mechanism=public_kernel"], ["mechanism=best"]),
        (
            ["mechanism=gaussian", "mechanism.name=public_kernel"],
            ["mechanism=gaussian", "mechanism.name=best"],
        ),
    ],
)
def test_names_of_the_version_before_are_read_with_a_line(old, new, capsys):
    renamed._say.cache_clear()
    assert checked(old) == checked(old) == new
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "is now mechanism" in said


def test_an_old_name_is_a_value_of_a_sweep_unless_it_is_two_overrides_now(capsys):
    renamed._say.cache_clear()
    assert renamed.current(["mechanism=svt,public_kernel"]) == ["mechanism=svt,best"]
    assert "mechanism=svt,best" in capsys.readouterr().err
    assert renamed.current(["mechanism=confident_gnmax,svt"]) == ["mechanism=confident_gnmax,svt"]
    assert capsys.readouterr().err == ""
    assert cli.main(["plan", "-m", "mechanism=svt,confident_gnmax"]) == 2
    accepted = "mechanism=gnmax mechanism.confidence=0.75, as it is called now, in a command of its own"
    assert f"got 'confident_gnmax'; accepted: {accepted}\n" in capsys.readouterr().err
    for old, now in (
        ("public_kernel", "best"),
        ("confident_gnmax", "--method confident_gnmax=mechanism=gnmax"),
    ):
        assert cli.main(["frontier", "--methods", f"gaussian,{old}"]) == 2
        assert f"--methods: got {old!r}; accepted: {now}" in capsys.readouterr().err


def test_the_leaderboard_is_a_frontier_of_many_tables(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    renamed._say.cache_clear()
    of = "dataset=synthetic,split.public=60,dataset.n_records="
    tables = ["--table", f"a={of}900", "--table", f"b={of}800"]
    small = ["--methods", "output_perturbation", "--no-limit", "--repeats", "1", "--eps", "1"]
    assert cli.main(["leaderboard", *tables, *small]) == 0
    said = capsys.readouterr()
    assert "output_perturbation" in said.out
    assert said.err.startswith("pate leaderboard is now pate frontier --tables A,B,...; ")
    assert renamed.leaderboard([]) == ["--tables", "mushroom,a9a,adult,digits,synthetic"]


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_help(capsys, name):
    assert cli.main([name, "--help"]) == 0
    shown = capsys.readouterr()
    assert f"usage: pate {name}" in shown.out
    assert shown.err == ""


def raising(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def main(argv: list[str]) -> int:
        raise error

    monkeypatch.setitem(sys.modules, "pate_cli.commands.table", types.SimpleNamespace(main=main))


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (ConfigError("eps", 0, "more"), 2, "pate: eps: got 0; accepted: more\n"),
        (OSError(28, "No space left on device"), 1, "pate: No space left on device\n"),
        (OSError(28, "No space left on device", "a/b"), 1, "pate: a/b: No space left on device\n"),
        (OSError("odd"), 1, "pate: odd\n"),
        (KeyboardInterrupt(), 130, "pate: interrupted\n"),
    ],
    ids=repr,
)
def test_exit_codes(monkeypatch, capsys, error, code, said):
    raising(monkeypatch, error)
    assert cli.main(["table"]) == code
    assert capsys.readouterr() == ("", said)


@pytest.mark.parametrize("code", [0, 2, "text"])
def test_an_exit_of_argparse_ends_a_command_and_one_of_others_is_named(code, monkeypatch, capsys):
    assert [cli.main(["table", "--help"]), cli.main(["table", "--nothing"])] == [0, 2]
    capsys.readouterr()
    raising(monkeypatch, SystemExit(code))
    assert cli.main(["table"]) == 2
    assert capsys.readouterr().err.endswith(": code that is not of pate ended the command\n")


def test_our_fault_keeps_its_traceback(monkeypatch):
    raising(monkeypatch, RuntimeError("ours"))
    with pytest.raises(RuntimeError, match="ours"):
        cli.main(["table"])


def start(*argv: str, **streams: Any) -> subprocess.Popen[str]:
    env = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    return subprocess.Popen(
        [sys.executable, "-m", "pate_cli", *argv], cwd=REPO, env=env, text=True, **streams
    )


@pytest.mark.parametrize("argv", [["--help"], ["run", "--cfg", "job"], ["data", "list"]])
def test_a_reader_who_went_away_is_no_error(argv):
    """As in `pate ... | head -0`: nothing on stderr, exit code 0."""
    with start(*argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_output_that_cannot_be_written():
    with open("/dev/full", "w") as full, start("--help", stdout=full, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert process.stderr.read() == "pate: standard output: No space left on device\n"
    assert process.returncode == 1


def test_a_directory_that_was_removed(tmp_path):
    (tmp_path / "gone").mkdir()
    code = "import os, sys; os.rmdir(os.getcwd()); from pate_cli.cli import main; sys.exit(main())"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(REPO), *filter(None, sys.path)])}
    done = subprocess.run(
        [sys.executable, "-c", code, "run", "eps=1"],
        cwd=tmp_path / "gone",
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "pate: the current directory was removed; accepted: one that exists (cd)\n"


def test_start_up_imports_nothing_heavy():
    code = """
import sys
from pate_cli.cli import main
main(["--help"])
main(["--version"])
main(["fly"])
heavy = {"numpy", "scipy", "sklearn", "pandas", "hydra", "omegaconf", "rich", "joblib", "argparse", "json"}
print(sorted(heavy & set(sys.modules)), file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=REPO, capture_output=True, text=True, timeout=300
    )
    assert done.stderr.splitlines()[-1] == "[]"


def test_as_a_module_and_as_a_script():
    for argv in (["-m", "pate_cli"], ["-c", "from pate_cli.cli import entry_point; entry_point()"]):
        done = subprocess.run(
            [sys.executable, *argv, "fly"], cwd=REPO, capture_output=True, text=True, timeout=300
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("pate: fly: no such command")


@pytest.mark.parametrize("command", [each for each in imports.BUDGETS if each[0] in CHECKED], ids=" ".join)
def test_a_command_imports_no_more_modules_than_its_budget(command):
    assert imports.count(command) <= imports.BUDGETS[command]
