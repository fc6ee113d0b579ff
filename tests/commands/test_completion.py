"""Shell completion: the line as the shell gives it, and a real bash."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pate_cli import cli

REPO = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def complete(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)

    def query(line: str, point: int | None = None) -> list[str]:
        monkeypatch.setenv("COMP_LINE", line)
        monkeypatch.setenv("COMP_POINT", str(len(line) if point is None else point))
        assert cli.main(["-sc", "query=bash"]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        assert os.environ["COMP_LINE"] == line
        return out.split()

    return query


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("pate ", list(cli.COMMANDS)),
        ("pate p", ["page", "plan", "plot", "predict"]),
        ("pate run", ["run"]),
        ("pate table out", []),  # left to the shell: names of files
    ],
)
def test_lines(complete, line, expected):
    assert sorted(complete(line)) == sorted(expected)


def test_what_stands_behind_the_cursor_does_not_count(complete):
    assert complete("pate pl mechanism=", len("pate pl")) == ["plot", "plan"]


@pytest.mark.parametrize("shell", ["bash", "fish", "zsh"])
def test_scripts(capsys, shell):
    assert cli.main(["-sc", f"install={shell}"]) == 0
    assert "pate" in capsys.readouterr().out


def test_in_a_real_bash(tmp_path):
    """The script names `pate`, finds it on the PATH, and completes as if TAB had been pressed."""
    (tmp_path / "pate").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pate_cli "$@"\n')
    (tmp_path / "pate").chmod(0o755)
    script = """
set -e
eval "$(pate -sc install=bash)"
complete -p pate
press_tab() {
    COMP_LINE="$1"; COMP_POINT=${#1}; words=($1); COMP_WORDS=("${words[@]}"); COMP_CWORD=$((${#words[@]} - 1))
    COMPREPLY=()
    "$(complete -p pate | sed -E 's/.*-F ([^ ]+).*/\\1/')"
    echo "$1 -> ${COMPREPLY[*]}"
}
press_tab "pate rep"
"""
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(REPO)}
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, env=env, cwd=tmp_path, timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")
    registered, *lines = done.stdout.splitlines()
    assert registered.startswith("complete ")
    assert registered.endswith(" pate")
    assert lines == [
        "pate rep -> reproduce",
    ]
