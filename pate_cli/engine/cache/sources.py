"""The source of a user's own learner: its module, and every local module which that one imports.

Local is what is neither of the standard library nor of an installed package nor ours: those have versions.
Modules are followed by reading their text, so that imports inside functions count and nothing is run.
"""

from __future__ import annotations

import ast
import hashlib
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

__all__ = ["CORE", "Sources", "as_loaded", "as_they_are"]

CORE = frozenset({"pate_cli", "numpy", "scipy", "sklearn"})
"""Packages of which `code_version` and `library_versions` say enough."""

_BY_NAME = frozenset({"import_module", "__import__", "exec_module", "run_module", "run_path"})
_RUN = frozenset({"exec", "eval", "__import__"})
"""What may run code that no import statement names."""


@dataclass(frozen=True)
class Sources:
    """What a few modules are made of.

    Attributes
    ----------
    digests : dict of str to str
        SHA-256 (hex) of the file of each local module, by the name of the module.
    packages : bool
        Whether any of them imports an installed package other than `CORE`.
    complete : bool
        False if a module has no source to read, or may run code that no import statement names.
    """

    digests: dict[str, str]
    packages: bool
    complete: bool


@dataclass(frozen=True)
class _Text:
    """A local file as it was read: its digest, and the modules it may import; None if that cannot be told."""

    digest: str
    imports: frozenset[str] | None


_loaded: dict[str, tuple[ModuleType, _Text]] = {}
"""Each local module of this process with its file as it was when the module was first met here."""


def as_they_are(names: Iterable[str]) -> Sources:
    """Read the files of modules, and of all they import, as they are now."""
    return _sources(names, now=True)


def as_loaded(names: Iterable[str], before: Sources | None = None) -> Sources:
    """Give the files of modules as they were when this process loaded them.

    Parameters
    ----------
    names : iterable of str
    before : Sources, optional
        Of the same modules, read before they were imported: a file that has changed since counts as it
        was then, and so as one that has changed.
    """
    return _sources(names, now=False, before=before)


def _sources(names: Iterable[str], *, now: bool, before: Sources | None = None) -> Sources:
    todo, seen = list(names), set()
    digests: dict[str, str] = {}
    packages, complete = False, True
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        kind, spec = _found(name)
        if kind == "package":
            packages = True
        elif kind == "unknown":
            complete = False
        elif kind == "local" and spec is not None:
            todo += [name.rpartition(".")[0]] * ("." in name)  # a package runs before what is in it
            if spec.origin is None:  # a directory without __init__.py: nothing of it runs
                continue
            try:
                text = _text(name, spec, now=now, before=before)
            except OSError:
                complete = False
                continue
            digests[name] = text.digest
            complete = complete and text.imports is not None
            todo += text.imports or ()
    return Sources(digests, packages, complete)


def _text(name: str, spec: ModuleSpec, *, now: bool, before: Sources | None) -> _Text:
    module = sys.modules.get(name)
    if module is None or now:
        return _read(name, spec)
    known = _loaded.get(name)
    if known is None or known[0] is not module:
        text = _read(name, spec)
        if before is not None and name in before.digests:
            text = _Text(before.digests[name], text.imports)
        known = _loaded[name] = module, text
    return known[1]


def _read(name: str, spec: ModuleSpec) -> _Text:
    content = Path(str(spec.origin)).read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    if not str(spec.origin).endswith(".py"):  # compiled: what it imports is not to be seen
        return _Text(digest, None)
    package = name if spec.submodule_search_locations is not None else name.rpartition(".")[0]
    try:
        return _Text(digest, frozenset(_imports(ast.parse(content), package)))
    except (SyntaxError, ValueError, RecursionError, _Dynamic):
        return _Text(digest, None)


class _Dynamic(Exception):
    """Code is run that no import statement names."""


def _imports(tree: ast.AST, package: str) -> Iterator[str]:
    """Name all modules that a file may import, wherever in it; of `from a import b` both a and a.b."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names = [alias.name for alias in node.names]
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *([base] if base else [])])
            if _BY_NAME.intersection(names):
                raise _Dynamic
            yield base
            yield from (f"{base}.{name}" for name in names if name != "*")
        elif isinstance(node, ast.Attribute):
            if node.attr in _BY_NAME:
                raise _Dynamic
        elif isinstance(node, ast.Name) and node.id in _RUN:
            raise _Dynamic


def _found(name: str) -> tuple[str, ModuleSpec | None]:
    """Say what kind of module a name is, and where it is, without importing it.

    Kinds: "known" (ours, of `CORE` or of the standard library), "package" (installed), "local", "absent",
    and "unknown" for one that is there without saying where it came from.
    """
    parent = name.rpartition(".")[0]
    path = None
    if parent:
        kind, above = _found(parent)
        if kind != "local" or above is None:
            return kind, None
        path = above.submodule_search_locations
        if path is None:  # no package: the name is of something in it
            return "absent", None
    elif name in CORE:
        return "known", None
    module = sys.modules.get(name)
    spec = _looked_up(name, path) if module is None else getattr(module, "__spec__", None)
    if spec is None:
        return ("absent" if module is None else "unknown"), None
    if spec.origin in ("built-in", "frozen"):
        return "known", spec
    if spec.origin is None:
        return ("local" if spec.submodule_search_locations is not None else "unknown"), spec
    file = Path(spec.origin)
    if _is_standard(file):
        return "known", spec
    return ("package" if _is_installed(name.partition(".")[0], file) else "local"), spec


def _looked_up(name: str, path: Iterable[str] | None) -> ModuleSpec | None:
    places = None if path is None else list(path)
    for finder in sys.meta_path:
        spec = finder.find_spec(name, places)
        if spec is not None:
            return spec
    return None


def _is_standard(file: Path) -> bool:
    parts = set(file.parts)
    return not parts & {"site-packages", "dist-packages"} and any(
        file.is_relative_to(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")
    )


def _is_installed(top: str, file: Path) -> bool:
    """Whether a file came with an installed package, and not from a checkout."""
    return any(file.is_relative_to(place) for place in _places().get(top, ()))


@cache
def _places() -> dict[str, list[str]]:
    """Directories that the distributions of each importable name are installed in."""
    return {
        top: [str(metadata.distribution(name).locate_file("")) for name in names]
        for top, names in metadata.packages_distributions().items()
    }
