"""A version for whatever decides a number."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pate_cli.engine.cache import (
    code_version,
    has_changed,
    learner_version,
    library_versions,
    sources,
    versions,
)

BASE = "from sklearn.tree import DecisionTreeClassifier as Tree\n"
FILES = {
    "mine/__init__.py": "",
    "mine/learner.py": f"{BASE}from mine.depth import DEPTH\nclass Mine(Tree): depth = DEPTH\n",
    "mine/depth.py": "from . import more\nDEPTH = more.DEPTH\n",
    "mine/more.py": "def late():\n    import helper.below\nDEPTH = 1\n",
    "helper/below.py": "",  # in a directory without __init__.py
    "other.py": "",
}


@pytest.fixture
def write(tmp_path, monkeypatch) -> Iterator[Callable[..., None]]:
    """Write modules that can be imported; `forget` them as a new process would."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(files: dict[str, str], *, forget: bool = True) -> None:
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
        importlib.invalidate_caches()
        if forget:
            forgotten()

    yield write
    forgotten()


def forgotten() -> None:
    for name in list(sys.modules):
        if name.partition(".")[0] in ("mine", "helper", "other", "one"):
            del sys.modules[name]


@pytest.mark.parametrize("name", ["logistic", "libsvm", "sklearn.ensemble.RandomForestClassifier"])
def test_ours_and_scikit_learns_are_known(name):
    assert learner_version(name) == ""


@pytest.mark.parametrize("name", ["no.such.Thing", "sklearn.tree.Nothing", "a..B", "sklearn.__version__"])
def test_what_is_no_class_has_no_version_and_is_no_crash(name):
    assert learner_version(name) is None
    assert not has_changed(name)


def test_an_installed_class_is_as_old_as_all_that_is_installed(monkeypatch):
    version = learner_version("rich.console.Console")
    assert version
    assert version == learner_version("hydra.core.hydra_config.HydraConfig")
    monkeypatch.setattr(versions, "_environment", lambda: "another package")
    assert learner_version("rich.console.Console") not in ("", None, version)


@pytest.mark.parametrize("name", [name for name in FILES if name != "other.py"])
def test_every_local_module_that_it_imports_counts(write, name):
    write(FILES)
    before = learner_version("mine.learner.Mine")
    assert before
    write({"other.py": "changed = 1\n"})
    assert learner_version("mine.learner.Mine") == before
    write({name: FILES[name] + "\n# edited\n"})
    assert learner_version("mine.learner.Mine") not in (before, None)
    write(FILES)
    assert learner_version("mine.learner.Mine") == before


def test_the_module_of_a_name_and_those_of_its_bases_count(write):
    write({"one.py": "from other import Thing\nThing = Thing\n", "other.py": f"{BASE}Thing = Tree\n"})
    before = learner_version("one.Thing")
    assert before  # though the class itself is scikit-learn's
    write({"other.py": f"{BASE}class Thing(Tree): pass\n"})
    assert learner_version("one.Thing") not in (before, None)


def test_a_package_that_it_imports_brings_all_that_are_installed(write, monkeypatch):
    write({"one.py": f"{BASE}def late():\n    import rich.console\n"})
    before = learner_version("one.Tree")
    monkeypatch.setattr(versions, "_environment", lambda: "another package")
    assert learner_version("one.Tree") not in (before, None)


@pytest.mark.parametrize(
    "text",
    [
        "import importlib\nx = importlib.import_module('helper.below')\n",
        "from importlib import import_module\n",
        "x = __import__('helper.below')\n",
        "exec('x = 1')\n",
    ],
)
def test_where_modules_are_imported_by_name_nothing_is_known(write, text):
    write({**FILES, "mine/more.py": text + "DEPTH = 1\n"})
    assert learner_version("mine.learner.Mine") is None


def test_a_module_without_a_source_is_not_known(write, tmp_path):
    import py_compile

    write({"other.py": f"{BASE}class Mine(Tree): pass\n"})
    py_compile.compile(str(tmp_path / "other.py"), cfile=str(tmp_path / "one.pyc"))
    importlib.invalidate_caches()
    assert learner_version("one.Mine") is None


def test_a_change_after_it_was_loaded_is_seen_and_is_not_what_runs(write):
    write(FILES)
    before = learner_version("mine.learner.Mine")
    assert not has_changed("mine.learner.Mine")
    write({"mine/more.py": "DEPTH = 2\n"}, forget=False)
    assert has_changed("mine.learner.Mine")
    assert learner_version("mine.learner.Mine") == before  # this process still runs what it has loaded
    forgotten()
    assert learner_version("mine.learner.Mine") not in (before, None)
    assert not has_changed("mine.learner.Mine")


def test_a_change_while_it_is_being_imported_is_seen(write, tmp_path):
    edit = "import pathlib\npathlib.Path(__file__).with_name('other.py').write_text('DEPTH = 2')\n"
    write({"other.py": "DEPTH = 1\n", "one.py": f"{BASE}from other import DEPTH\n{edit}"})
    learner_version("one.Tree")
    assert sys.modules["other"].DEPTH == 1
    assert (tmp_path / "other.py").read_text() == "DEPTH = 2"
    assert has_changed("one.Tree")


def test_all_source_counts_and_names_of_files(tmp_path, monkeypatch):
    (tmp_path / "room").mkdir()
    for name in ("room/a.py", "one.py"):
        (tmp_path / name).write_text("1")
    monkeypatch.setattr(versions, "_PACKAGE", tmp_path)
    version = code_version.__wrapped__
    before = version()
    (tmp_path / "room" / "a.py").rename(tmp_path / "room" / "b.py")
    assert version() != before
    (tmp_path / "room" / "b.py").rename(tmp_path / "room" / "a.py")
    assert version() == before
    for name in ("room/a.py", "one.py"):
        (tmp_path / name).write_text("2")
        assert version() != before
        (tmp_path / name).write_text("1")


def test_it_is_the_source_of_this_package_that_is_hashed():
    assert Path(versions.__file__).is_relative_to(versions._PACKAGE)
    assert (versions._PACKAGE / "privacy").is_dir()
    assert versions._PACKAGE.name in sources.CORE


def test_the_libraries_that_compute():
    assert list(library_versions()) == ["numpy", "scipy", "scikit-learn", "libsvm-official", "python"]
