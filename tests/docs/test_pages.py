"""README.md and docs/*.md: each command shown runs, and each number shown is printed.

`pages.py` says how a block is marked. What takes seconds is checked here, what takes minutes by
`make claims` (which prints the line to paste where a number has changed).
"""

from __future__ import annotations

import contextlib
import functools
import io
import lzma
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from pages import KINDS, REPO, Block, blocks, inline, missing, nearest, pages, shortened

from pate_cli.cli import COMMANDS, main
from pate_cli.config import command_line, hydra_composition, parse

BLOCKS = [block for page in pages() for block in blocks(page)]
RUN = [block for block in BLOCKS if block.kind in ("run", "plan")]
PRINTS = [block for block in BLOCKS if block.kind == "prints"]
CLAIMS = [block for block in BLOCKS if block.kind == "claims"]
LONG = 600


def where(block: Block) -> str:
    return block.where


@pytest.fixture
def folder(tmp_path, monkeypatch, real_data):
    """A working directory with the files that the pages speak of."""
    rows = [(i % 7, "uvw"[i % 3], (3 * i) % 11, i % 2) for i in range(900)]
    (tmp_path / "mine.csv").write_text("a,b,c,label\n" + "".join(f"{a},{b},{c},{y}\n" for a, b, c, y in rows))
    (tmp_path / "new.csv").write_text("a,b,c\n1,u,2\n3,v,4\n")
    bank = [f"{100 * a + c},5;M\u00fcller {b};{'ja' if y else 'nein'}\n" for a, b, c, y in rows]
    (tmp_path / "bank.csv").write_bytes(("saldo;gruppe;kunde\n" + "".join(bank)).encode("cp1252"))
    lines = "".join(f"{y} 1:{a} 2:{c}\n" for a, _, c, y in rows)
    (tmp_path / "mine.libsvm.xz").write_bytes(lzma.compress(lines.encode()))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATE_DATA", str(real_data))
    monkeypatch.setenv("PATE_LEDGER", str(tmp_path / "ledger"))
    return tmp_path


def test_a_place_on_the_leaderboard_comes_with_what_was_in_view():
    """The tables were looked at while the rules of `best` were made: such a first place is no forecast."""
    for page in (REPO / "docs" / "frontier.md", REPO / "README.md"):
        said = [text for text in re.split(r"\n\n", page.read_text(encoding="utf-8")) if "ix tables" in text]
        assert said
        assert "in view when" in said[0]


@pytest.mark.parametrize("block", BLOCKS, ids=where)
def test_every_block_says_how_it_is_checked(block):
    assert block.kind in KINDS, (
        f"{block.where}: put one of these on the line before, as tests/docs/pages.py says: "
        + ", ".join(f"<!-- {kind} ... -->" for kind in KINDS)
    )
    if block.kind in ("prints", "claims", "tested", "unchecked"):
        assert block.what
    if block.kind == "tested":
        assert (REPO / block.what.partition("::")[0]).is_file()


@pytest.mark.parametrize("block", RUN, ids=where)
def test_every_command_runs(block, folder, capsys):
    for argv in block.commands:
        if argv[0] == "pate":
            said = _run(argv, block)
            assert said == 0, f"{block.where}: {shlex.join(argv)}: {capsys.readouterr().err}"
        else:
            _known(argv)


def _run(argv: list[str], block: Block) -> int:
    _, command, *rest = argv
    if block.kind == "plan":
        if command == "run":
            rest = [text for text in rest if not text.startswith("hydra")]
            line = command_line.parse_argv(rest)
            for job in command_line.jobs(line):
                parse(hydra_composition.compose(job))
            return main(
                ["plan", *(text for text in line.argv if not text.startswith(("ledger=", "compute")))]
            )
        options = [text for text in rest if text.startswith("-")]
        return int(not all(text in _help(command) for text in options))
    extras = [shlex.split(part) for part in block.what.split(" ; ") if part]
    extra = next((extra for name, *extra in extras if name == command), [])
    return main([command, *shortened(rest, extra)])


@functools.lru_cache
def _help(command: str) -> str:
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        main([command, "--help"])
    return text.getvalue()


def _known(argv: list[str]) -> None:
    """Of the commands that are not ours: what they name is there."""
    if argv[0] == "make":
        assert re.search(rf"^{argv[1]}:", (REPO / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    elif argv[:2] == ["pip", "install"]:
        extras = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        for extra in re.findall(r"\[([\w-]+)\]", " ".join(argv)):
            assert extra in extras["optional-dependencies"]
    elif argv[0] == "python":
        env = {**os.environ, "PYTHONPATH": str(REPO)}
        Path(argv[-1]).mkdir(exist_ok=True)
        subprocess.run([sys.executable, *argv[1:]], check=True, env=env, timeout=LONG)
    else:
        assert argv[0] in ("dask", ".ci/run")


@pytest.mark.parametrize("block", PRINTS, ids=where)
def test_every_number_shown_is_printed(block, folder, capsys):
    _compare(block, _printed(block, capsys))


@pytest.mark.claims
@pytest.mark.parametrize("block", CLAIMS, ids=where)
def test_every_claim_holds(block, folder, capsys):
    """The same from commands at full length."""
    _compare(block, _printed(block, capsys))


def _printed(block: Block, capsys) -> str:
    text = ""
    for command in block.what.split(" ; "):
        argv = shlex.split(command)
        if argv[0] == "pate":
            main(argv[1:])
            done = capsys.readouterr()
            text += done.out + done.err
        else:
            _known(argv)
    return text


def _compare(block: Block, printed: str) -> None:
    lines = missing(block, printed)
    if lines:
        pairs = [f"  shown    {line}\n  printed  {nearest(line, printed)}" for line in lines]
        pytest.fail(f"{block.where}: {block.what}\n" + "\n".join(pairs) + f"\n\n{printed}", pytrace=False)


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_commands_in_the_text_exist(page, capsys):
    for number, code in inline(page):
        at = f"{page.name}:{number}: {code}"
        command, *rest = code.split()[1:]
        if command.startswith("-"):
            continue
        assert command in COMMANDS, at
        helped = _help(command)
        for text in rest:
            if text.startswith("-") and not text.startswith("--cfg"):
                assert text.partition("=")[0] in helped or (text == "-m"), at
        settings = [text for text in rest if re.fullmatch(r"[\w.]+=[\w.,]+", text) and "," not in text]
        if command in ("run", "plan", "audit", "frontier") and settings:
            hydra_composition.compose(settings)


def test_the_walker_sees_what_is_wrong(tmp_path):
    """A number off its interval, a word that is not printed, a block without a note."""
    shown = "mushroom ASQ 0.5 0.7997 ± 0.0224 64"
    for printed, there in (
        ("mushroom ASQ 0.5 0.8100 ± 0.0200 64", True),
        ("x mushroom ASQ 0.5\n 0.7997 ± 0.0224 64 y", True),  # broken elsewhere
        ("mushroom ASQ 0.5 0.8222 ± 0.0224 64", False),
        ("mushroom ASQ 0.5 0.7997 ± 0.0900 64", False),
        ("mushroom ASQ 0.5 0.7997 ± 0.0224 65", False),
        ("mushroom PSQ 0.5 0.7997 ± 0.0224 64", False),
    ):
        assert (missing(Block(tmp_path, 1, [shown], "prints", "x"), printed) == []) == there, printed
    percent = Block(tmp_path, 1, ["right on 93.4 ± 1.4%"], "prints", "x")
    assert [missing(percent, f"right on {n}%") == [] for n in ("94.0 ± 1.2", "95.0 ± 1.2")] == [True, False]
    page = tmp_path / "page.md"
    page.write_text(
        "text\n\n    pate run eps=1 # why\n\n<!-- plan -->\n```sh\npate run \\\n  eps=2\n```\n\n| a | 0.5 |\n"
    )
    one, two, three = blocks(page)
    assert (one.kind, two.kind, three.kind) == (None, "plan", None)
    assert [one.commands, two.commands] == [[["pate", "run", "eps=1"]], [["pate", "run", "eps=2"]]]
    assert shortened(["-m", "eps=1,2", "--runs", "9", "a=b"], ["eps=1", "--runs", "2"]) == [
        *("-m", "a=b", "eps=1", "--runs", "2")
    ]
