"""Rooms stay small and quiet; that they import only downwards is checked by import-linter (make lint)."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parent.parent
PACKAGE = REPO / "pate_cli"
MOST_LINES = 400
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
                faults.append(f"{path}:{node.lineno}: print; use pate_cli.terminal")
    assert faults == []


def test_a_class_has_a_name_of_its_own():
    names = [
        node.name
        for path in PACKAGE.rglob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]
    assert {name for name in names if names.count(name) > 1} == {"Options"}  # of each part


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
    modules = [
        path
        for room in ("pate_cli", "tests", "benchmarks", "experiments")
        for path in (REPO / room).rglob("*.py")
    ]
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


HYDRA = ("hydra", "omegaconf", "hydra_plugins")
EXTENDED = "hydra.experimental.callback"  # a class that is documented to be extended


def private_uses(text: str) -> list[str]:
    """Private names of Hydra and OmegaConf in a module, their classes extended, their attributes replaced."""
    tree = ast.parse(text)
    theirs: set[str] = set()  # names that stand for something of theirs
    faults = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == EXTENDED:
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in HYDRA:
            theirs |= {name.asname or name.name for name in node.names}
            faults += [f"{node.module}.{n.name}" for n in node.names if "._" in f"{node.module}.{n.name}"]
        elif isinstance(node, ast.Import):
            found = [name for name in node.names if name.name.split(".")[0] in HYDRA]
            theirs |= {name.asname or name.name.split(".")[0] for name in found}
            faults += [name.name for name in found if "._" in name.name]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            dotted = node.value.split(".")
            if dotted[0] in HYDRA and any(part.startswith("_") for part in dotted):
                faults.append(node.value)
    if not theirs:
        return faults
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            private = node.attr.startswith("_") and not node.attr.startswith("__")
            if private and not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")):
                faults.append(ast.unparse(node))
            if isinstance(node.ctx, ast.Store) and ast.unparse(node).split(".")[0] in theirs:
                faults.append(f"{ast.unparse(node)} replaced")
        elif isinstance(node, ast.ClassDef):
            faults += [
                f"{node.name}({ast.unparse(base)})"
                for base in node.bases
                if ast.unparse(base).split(".")[0] in theirs
            ]
    return faults


def test_of_hydra_only_what_is_public_is_used():
    root = PACKAGE.parent
    paths = [
        path for top in (PACKAGE, root / "benchmarks", root / "experiments") for path in top.rglob("*.py")
    ]
    found = {str(path): faults for path in paths if (faults := private_uses(path.read_text("utf-8")))}
    assert found == {}


@pytest.mark.parametrize(
    "line",
    [
        "from hydra._internal.utils import get_args_parser",
        "from hydra.core.utils import _save_config",
        "import omegaconf._utils",
        "from omegaconf import OmegaConf; OmegaConf.create({})._get_node('a')",
        "import hydra; hydra.compose = None",
        "from hydra.plugins.launcher import Launcher\nclass Ours(Launcher): ...",
        "name = 'hydra._internal.hydra'",
    ],
)
def test_a_private_use_is_seen(line):
    assert private_uses(line)
