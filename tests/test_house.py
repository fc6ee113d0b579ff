"""Rooms stay small and quiet; that they import only downwards is checked by import-linter (make lint)."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
PACKAGE = REPO / "pate_cli"
MOST_LINES = 450
WRITTEN = {"index.md", "metrics.md", "model_card.md", "table.md"}
"""Pages that `pate` itself writes."""


def test_modules_are_small_and_quiet():
    faults = []
    paths = sorted(PACKAGE.rglob("*.py"))
    assert len(paths) > 30  # the package was found
    for path in paths:
        text = path.read_text(encoding="utf-8")
        if (n_lines := len(text.splitlines())) > MOST_LINES:
            faults.append(f"{path}: {n_lines} lines")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
                faults.append(f"{path}:{node.lineno}: print; use pate_cli.console")
    assert faults == []


def resolves(name):
    """Whether a dotted name is a module, or what a module or a class has, fields of dataclasses included."""
    parts = name.split(".")
    for i in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:i]))
        except ImportError:
            continue
        for part in parts[i:]:
            if part in getattr(found, "__annotations__", {}):
                return True
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


def test_what_docs_and_docstrings_cite_is_there():
    pages = [
        REPO / "README.md",
        *sorted(REPO.glob("docs/*.md")),
        *sorted(REPO.glob("experiments/*/recipe.yaml")),
    ]
    modules = [path for room in ("pate_cli", "tests", "benchmarks") for path in (REPO / room).rglob("*.py")]
    here = {path.name for path in [*pages, *REPO.glob("*.md"), *REPO.glob("*/README.md")]} | WRITTEN
    names, files = set(), set()
    for path in [*pages, *modules]:
        text = path.read_text(encoding="utf-8")
        names |= {(path, name) for name in re.findall(r"`(pate_cli(?:\.\w+)+)", text)}
        files |= {(path, name) for name in re.findall(r"`((?:pate_cli|tests)/[\w/]+\.py)", text)}
        if path.is_relative_to(PACKAGE):
            files |= {(path, name) for name in re.findall(r"[\w/]*\w\.md\b", text)}
    assert len(names) > 50
    assert [(str(path), name) for path, name in sorted(names) if not resolves(name)] == []
    there = [name for _, name in files if name.endswith(".py")]
    assert len(there) > 10
    lost = [
        (str(path), name)
        for path, name in sorted(files)
        if not (REPO / name).exists() and Path(name).name not in here
    ]
    assert lost == []
