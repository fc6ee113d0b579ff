"""Code that is not ours: found, kept from ending the process, and named where it fails."""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import os
import re
import shlex
import sys
import sysconfig
import threading
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, NoReturn

from pate_cli.errors import ConfigError, InputError, one_line

__all__ = ["OURS", "PluginError", "calling", "contained", "find_module", "may_be_plugin"]
__all__ += ["named", "place_of", "plugin_code", "python_path", "reason_of", "refuse_namesakes", "what_failed"]

_PACKAGE = Path(__file__).resolve().parent
_STANDARD = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib"))
OURS = [str(_PACKAGE), str(_PACKAGE.parent / "experiments")]
"""Directories of our own code."""


class PluginError(InputError):
    """A plug-in raised an exception: its place and kind, and its message where that may be shown."""

    def __init__(self, where: str, what: str, hint: str = "") -> None:
        super().__init__(f"{where} failed ({what}){hint}")
        self.where = where

    def __reduce__(self) -> Any:  # from a worker process
        return _plugin_error, (self.where, str(self))


def find_module(key: str, name: str, group: str) -> Any:
    """Find the module of an installed entry point, else of an import path; None if there is none.

    A folder without code is no module. ConfigError names the key if there are two, or importing it fails.
    """
    try:
        with contained():
            points, file = _points(group, name), _file_of(name)
            local = [file] if points and file and name not in points and _is_somebodys(name, file) else []
            if len(candidates := [*points, *local]) == 1:
                return points[candidates[0]].load()
            if not candidates:
                return importlib.import_module(name) if file else None
    except Exception as error:  # importing runs any code
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing is not None and f"{name}.".startswith(f"{missing}."):  # a package above it
            return None
        accepted = f"a module that can be imported; importing it failed ({what_failed(error)})"
        raise ConfigError(key, name, accepted) from error
    raise ConfigError(key, name, f"a name of one alone; it is that of {' and of '.join(candidates)}")


def refuse_namesakes(key: str, name: str, group: str, ours: ModuleType) -> None:
    """Refuse (ConfigError) a name of ours that a plug-in has, too: ours would run, and nothing say so."""
    others, file = list(_points(group, name)), _file_of(name)
    somebodys = file and file != ours.__file__ and _is_somebodys(name, file)
    if file and somebodys and "Options" in Path(file).read_text(errors="ignore"):
        others.append(file)
    if others:
        raise ConfigError(key, name, f"a name of one alone; it is ours and that of {' and of '.join(others)}")


def _points(group: str, name: str) -> dict[str, metadata.EntryPoint]:
    """Entry points of installed packages, by what they name."""
    return {point.value: point for point in metadata.entry_points(group=group, name=name)}


def _file_of(name: str) -> str | None:
    """File of a module that can be imported; None for a folder without code, and where there is none."""
    if not all(part.isidentifier() for part in name.split(".")) or name == "__main__":
        return None
    spec = importlib.util.find_spec(name)
    return None if spec is None else spec.origin


def python_path() -> list[str]:
    """`PYTHONPATH=...` as it is set, where a module of a plug-in was found by it; else nothing.

    A command that is printed has it in front; typed so that a shell takes it for a setting, or left out.
    """
    text = os.environ.get("PYTHONPATH", "")
    places = [Path(each).resolve() for each in text.split(os.pathsep) if each]
    if not places or shlex.quote(text) != text:
        return []
    files = [(name, getattr(module, "__file__", None)) for name, module in list(sys.modules.items())]
    packages = {name.partition(".")[0]: (name, file) for name, file in files if file}  # a module of each
    from_path = [each for each in packages.values() if any(map(Path(each[1]).is_relative_to, places))]
    return [f"PYTHONPATH={text}"] if any(_is_somebodys(*each) for each in from_path) else []


@contextmanager
def contained() -> Iterator[None]:
    """Raise RuntimeError for what would end the process, as `sys.exit`; restore the working directory.

    A crash of compiled code ends the process even so (docs/running.md).
    """
    here = None
    with suppress(OSError):  # it may have been removed
        here = os.getcwd()
    end, ours = os._exit, (os.getpid(), threading.get_ident())

    def refuse(status: int) -> NoReturn:
        if (os.getpid(), threading.get_ident()) == ours:
            raise SystemExit(f"os._exit({status})")
        end(status)  # of a process that the code has forked, or of another thread

    os._exit = refuse
    try:
        yield
    except BaseException as error:
        if isinstance(error, (Exception, KeyboardInterrupt)):
            raise
        raise RuntimeError(f"{type(error).__name__}: {error}") from error  # panics of Rust, too
    finally:
        os._exit = end
        if here is not None:
            with suppress(OSError):
                os.chdir(here)


def named(error: Exception, code: Any = None, *, quoted: bool = True) -> Exception:
    """Name the plug-in in which an error was raised, or `code`, which was called; else the error itself.

    It is not `quoted` where its message may tell of private records.
    """
    if isinstance(error, PluginError):
        if quoted or error.__cause__ is None:
            return error
        raised, where = _cause(error.__cause__), error.where
    elif isinstance(error, InputError):
        return error
    else:
        raised = _cause(error)
        where = place_of(raised)
    if not where and code is not None and _is_somebodys(module := getattr(code, "__module__", code.__name__)):
        where = f"{module}.{code.__qualname__}" if hasattr(code, "__qualname__") else module
    if not where:
        return error
    if not quoted:
        return PluginError(where, f"{type(raised).__name__}; its message may be private")
    refusal = PluginError(where, _said(raised), "; HYDRA_FULL_ERROR=1 shows the traceback")
    refusal.__cause__ = error
    return refusal


@contextmanager
def calling(code: Any) -> Iterator[None]:
    """Name a module, class or function that is not ours in what it raises when it is called within this."""
    try:
        yield
    except Exception as error:
        if (refusal := named(error, code)) is error:
            raise
        raise refusal from error


def what_failed(error: BaseException) -> str:
    """Kind of an error of somebody's code, what it says, and where in that code."""
    error = _cause(error)
    where = "" if isinstance(error, SyntaxError) else place_of(error)
    return f"{_said(error)}; {where}" if where else _said(error)


def reason_of(error: BaseException) -> str:
    """What an error says; where code that is not ours raised it also its kind and place."""
    return what_failed(error) if place_of(_cause(error)) else str(error)


def place_of(error: BaseException) -> str:
    """Innermost place of a plug-in that an error passed: function, file and line; empty if there is none."""
    steps = list(traceback.walk_tb(error.__traceback__))
    frame, line = next((step for step in reversed(steps) if _is_plugin(step[0])), (None, 0))
    if frame is None:
        return ""
    code, module = frame.f_code, frame.f_globals.get("__name__", "")
    at = f"{code.co_filename}, line {line}"
    return at if code.co_name == "<module>" else f"{module}.{code.co_qualname}, {at}"


def _plugin_error(where: str, message: str) -> PluginError:
    error = PluginError.__new__(PluginError, message)
    error.where = where
    return error


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {one_line(str(error))}".removesuffix(": ")


def _cause(error: BaseException) -> BaseException:
    """What `contained` made an exception of; else the error itself."""
    cause = error.__cause__
    return error if cause is None or isinstance(cause, Exception) else cause


def plugin_code(modules: Iterable[str]) -> str:
    """Hash of the files of those loaded modules that are plug-ins; empty without.

    Each comes with its package, and with the loaded modules outside site-packages that it imports.
    """
    files, left = set[Path](), list(filter(_is_somebodys, modules))
    while left:
        top = sys.modules.get((module := left.pop()).partition(".")[0])
        if hasattr(top, "__path__") and (first := getattr(top, "__file__", None)):
            sources = set(Path(first).parent.rglob("*.py"))
        else:
            sources = {Path(str(sys.modules[module].__file__))}
        left += [name for path in sources - files for name in _imports_of(path) if _is_local(name)]
        files |= sources
    digests = sorted(hashlib.sha256(path.read_bytes()).hexdigest() for path in files)
    return hashlib.sha256("".join(digests).encode()).hexdigest()[:12] if files else ""


def _imports_of(path: Path) -> set[str]:
    """Names of modules, and of what may be one, that a file of Python imports by their whole names."""
    names = set[str]()
    for node in ast.walk(ast.parse(path.read_bytes())) if path.suffix == ".py" else ():
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def _is_local(module: str) -> bool:
    """Whether a module is loaded, and is somebody's outside site-packages."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is not None and not _installed(Path(file).resolve()) and _is_somebodys(module, file)


def _installed(path: Path) -> bool:
    return not {"site-packages", "dist-packages"}.isdisjoint(path.parts)


def _is_plugin(frame: FrameType) -> bool:
    of = frame.f_globals
    return _is_somebodys(of.get("__name__", ""), of.get("__file__"))


def may_be_plugin(module: str) -> bool:
    """Whether a module is somebody's; a notebook's, too, which has no file."""
    if module.partition(".")[0] in ("sklearn", "numpy", "pate_cli", *sys.builtin_module_names):
        return False  # soon said
    return getattr(sys.modules.get(module), "__file__", None) is None or _is_somebodys(module)


def _is_somebodys(module: str, file: str | None = None) -> bool:
    """Whether a module is neither ours, nor Python's, nor of a package that knows nothing of pate."""
    file = file or getattr(sys.modules.get(module), "__file__", None)
    if not file:  # of a notebook, whose owner sees the traceback
        return False
    return _has_code_of_somebody(os.path.abspath(file), module.partition(".")[0])


@cache  # asked of each step to each error: a repeat may have thousands
def _has_code_of_somebody(file: str, package: str) -> bool:
    path = Path(file).resolve()
    if any(map(path.is_relative_to, OURS)):
        return False
    if not _installed(path):
        return not any(map(path.is_relative_to, _STANDARD))
    return package in _packages_for_pate()


@cache
def _packages_for_pate() -> set[str]:
    """Names of the installed packages that need pate, or offer it a part: reading all takes half a second."""
    return {
        top
        for top, names in metadata.packages_distributions().items()
        for package in map(metadata.distribution, names)
        if any(re.match(r"pate[-_]cli\b", text) for text in package.requires or ())
        or any(point.group.startswith("pate.") for point in package.entry_points)
    }
