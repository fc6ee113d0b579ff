"""Rooms stay small and quiet; that they import only downwards is checked by import-linter (make lint)."""

from __future__ import annotations

import ast
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "pate_cli"
MOST_LINES = 450


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
