"""Which code made a number: every module that is loaded counts, and every package."""

from __future__ import annotations

import dataclasses
import importlib
import sys
from collections.abc import Callable, Iterator

import pytest

from pate_cli.engine import loaded as module
from pate_cli.engine.loaded import code_version, loaded_code
from pate_cli.errors import ConfigError, InputError

FILES = {
    "mine/__init__.py": "",
    "mine/learner.py": "from mine.depth import DEPTH\n",
    "mine/depth.py": "from . import more\nDEPTH = more.DEPTH\n",
    "mine/more.py": "exec('import helper.below')\nDEPTH = __import__('one').DEPTH\n",
    "helper/below.py": "",  # in a directory without __init__.py
    "one.py": "DEPTH = 1\n",
    "other.py": "",
}


@pytest.fixture
def write(tmp_path, monkeypatch) -> Iterator[Callable[..., None]]:
    """Write modules that can be imported, and start anew as a new process would."""
    monkeypatch.syspath_prepend(tmp_path)
    # Python takes what it compiled for current where second and size are those of the source
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def write(files: dict[str, str], *, forget: bool = True) -> None:
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
            (tmp_path / name).write_text(text)
        if forget:
            forgotten()

    yield write
    forgotten()


def forgotten() -> None:
    for name in list(sys.modules):
        if name.partition(".")[0] in ("mine", "helper", "other", "one", "package"):
            del sys.modules[name]
    importlib.invalidate_caches()
    for cached in (module._version, module._distributions):
        cached.cache_clear()


@pytest.mark.parametrize("loads", [True, False])
@pytest.mark.parametrize("name", [name for name in FILES if name != "other.py"])
def test_every_local_module_that_was_loaded_counts(write, name, loads):
    """However it is imported, and whether this process has loaded it or would have to."""

    def is_current() -> bool:
        if loads:
            importlib.import_module("mine.learner")
        return before.is_current()

    write(FILES)
    importlib.import_module("mine.learner")
    before = loaded_code()
    assert is_current()
    write({"other.py": "changed = 1\n"})
    assert is_current()
    write({name: FILES[name] + "\n# edited\n"})
    assert not is_current()
    write(FILES)
    assert is_current()


def test_every_distribution_that_was_loaded_counts_and_no_other(write, tmp_path, monkeypatch):
    def install(name: str, version: str) -> None:
        write({f"site-packages/{name}-1.dist-info/METADATA": f"Name: {name}\nVersion: {version}\n"})
        write({f"site-packages/{name}-1.dist-info/top_level.txt": name, f"site-packages/{name}.py": ""})

    install("package", "1.0")
    monkeypatch.syspath_prepend(tmp_path / "site-packages")
    importlib.import_module("package")
    before = loaded_code()
    assert before.packages["package"] == "1.0"
    assert "pytest" in before.packages
    assert "package" not in before.sources
    install("other", "1.0")
    assert before.is_current()
    install("package", "1.1")
    assert not before.is_current()


def test_a_change_after_it_was_loaded_is_not_what_runs(write):
    write(FILES)
    importlib.import_module("mine.learner")
    before = loaded_code()
    write({"mine/more.py": "DEPTH = 2\n"}, forget=False)
    assert loaded_code() == before  # this process still runs what it has loaded
    importlib.reload(sys.modules["mine.more"])
    assert not before.is_current()
    assert loaded_code() != before
    assert loaded_code().is_current()
    importlib.import_module("other")
    del sys.modules["one"]  # as many modules as before
    assert {"one", "other"} & {*loaded_code().sources} == {"other"}


def test_a_process_that_has_loaded_another_source_is_refused(write):
    write(FILES)
    importlib.import_module("mine.learner")
    before = loaded_code()
    before.check()
    write({"one.py": "DEPTH = 2\n"})
    before.check()  # not loaded yet
    importlib.import_module("mine.learner")
    with pytest.raises(ConfigError, match="'one'; accepted: code whose source stays as it is"):
        before.check()
    older = dataclasses.replace(before, versions={**before.versions, "numpy": "1.9"})
    with pytest.raises(InputError, match=r"numpy is 2.* in a worker process, 1\.9 in the first"):
        older.check()


def test_all_source_counts_and_names_of_files(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_PACKAGE", tmp_path)
    (tmp_path / "room").mkdir()
    seen = set()
    for name, content in (("room/a.py", "1"), ("room/a.py", "2"), ("room/b.py", "2"), ("one.py", "2")):
        (tmp_path / name).write_text(content)
        seen.add(code_version.__wrapped__())
        if name == "room/a.py" and content == "2":
            (tmp_path / name).unlink()
    assert len(seen) == 4
