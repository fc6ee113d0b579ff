"""The house: a room imports only from floors below its own, and rooms stay small and quiet."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "pate_cli"

# bottom to top; rooms on one floor do not know each other
FLOORS = (
    ("__init__", "errors", "types", "console"),
    ("hypotheses", "writing"),
    ("privacy", "learners"),
    ("datasets", "teachers", "mechanisms", "queries", "students", "results", "release", "cache"),
    ("private_learner", "streams"),
    ("agnostic", "references", "aggregation"),
    ("boosting",),
    ("config", "overrides"),
    ("pipeline", "auditing", "compute"),
    ("releasing", "lessons"),
    ("repeats",),
    ("execution", "studies"),
    ("reproduce", "theory"),
    ("frontier",),
    ("commands",),
    ("cli",),
    ("__main__",),
)
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
PRIVACY_MAY_IMPORT = {"numpy", "scipy", *sys.stdlib_module_names}
MOST_LINES = 450


def room_of(module: str) -> str:
    """`pate_cli.teachers.parts` -> teachers; `pate_cli` itself -> __init__."""
    return [*module.split("."), "__init__"][1]


def imported(path: Path, root: Path) -> Iterator[tuple[int, str]]:
    """Line and name of each import, wherever it stands, and of each module of ours named in a string."""
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:  # relative: climb from this file's package
                package = path.relative_to(root.parent).parts[: -node.level]
                base = ".".join([*package, *([base] if base else [])])
            for alias in node.names:  # `from pate_cli import teachers` is an import of teachers
                submodule = (root.parent / Path(*base.split(".")) / alias.name).with_suffix("")
                is_module = submodule.is_dir() or submodule.with_suffix(".py").is_file()
                yield node.lineno, f"{base}.{alias.name}" if base == root.name and is_module else base
        elif isinstance(node, ast.Constant) and re.fullmatch(rf"{root.name}(\.\w+)+\.?", str(node.value)):
            # as in import_module("pate_cli.pipeline"), or an f-string's beginning
            yield node.lineno, node.value


def broken_arrows(root: Path) -> list[str]:
    """Imports in the package at `root` that point up, sideways, or out of a room that may not look out."""
    broken = []
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        room = parts[0]
        for line, name in imported(path, root):
            where = f"{'/'.join(parts)}.py:{line}: {room} imports {name}"
            top = name.split(".")[0]
            if top != root.name:
                if room == "privacy" and top not in PRIVACY_MAY_IMPORT:
                    broken.append(f"{where}; privacy: numpy and scipy only")
                continue
            other = room_of(name)
            if other == room:
                continue
            if other not in FLOOR_OF or room not in FLOOR_OF:
                broken.append(f"{where}; a room without a floor")
            elif FLOOR_OF[other] >= FLOOR_OF[room]:
                broken.append(where)
    return broken


def test_arrows_point_down():
    assert sum(1 for _ in PACKAGE.rglob("*.py")) > 30  # the package was found
    assert broken_arrows(PACKAGE) == []


def test_every_room_has_a_floor():
    rooms = {path.stem for path in PACKAGE.glob("*.py")} | {
        path.parent.name for path in PACKAGE.glob("*/*.py")
    }
    assert rooms - {"pate_cli"} <= FLOOR_OF.keys()


@pytest.mark.parametrize(
    ("room", "source"),
    [
        ("teachers", "from pate_cli.mechanisms import votes\n"),  # sideways
        ("teachers", "from pate_cli import pipeline\n"),  # up
        ("teachers", "def f():\n    import pate_cli.queries.active\n"),  # in a function
        (
            "students",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pate_cli.teachers import x\n",
        ),
        ("results", "from ..execution import report\n"),  # relative
        ("results", "from .. import config\n"),
        ("datasets", "import_module('pate_cli.commands.run')\n"),  # by name
        ("datasets", "import_module(f'pate_cli.commands.{name}')\n"),
        ("privacy", "import pandas\n"),
        ("privacy", "from sklearn.base import clone\n"),
        ("privacy", "from pate_cli.results import summarise\n"),
        ("learners", "from pate_cli.privacy import noise\n"),
        ("attic", "from pate_cli.errors import InputError\n"),  # a room nobody knows
    ],
)
def test_a_wrong_arrow_is_seen(tmp_path, room, source):
    root = tmp_path / "pate_cli"
    for name in ("pipeline.py", "config.py", "teachers/__init__.py", "queries/active.py", f"{room}/new.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
    (root / room / "fine.py").write_text("import math\nimport numpy as np\nfrom scipy import special\n")
    assert broken_arrows(root) == []
    (root / room / "new.py").write_text(source)
    assert len(broken_arrows(root)) == 1


def test_modules_are_small_and_quiet():
    faults = []
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if (n_lines := len(text.splitlines())) > MOST_LINES:
            faults.append(f"{path}: {n_lines} lines")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
                faults.append(f"{path}:{node.lineno}: print; use pate_cli.console")
    assert faults == []
