"""A version for whatever decides a number."""

from __future__ import annotations

import sys

import pytest

from pate_cli.cache import learner_version, library_versions, source_version


@pytest.mark.parametrize("name", ["logistic", "libsvm", "sklearn.ensemble.RandomForestClassifier"])
def test_ours_and_scikit_learns_are_known(name):
    assert learner_version(name) == ""


def test_an_installed_class_is_as_old_as_all_that_is_installed():
    version = learner_version("rich.console.Console")
    assert version
    assert version == learner_version("hydra.core.hydra_config.HydraConfig")


def test_a_class_from_a_file_has_no_version(tmp_path, monkeypatch):
    (tmp_path / "mylearner.py").write_text(
        "from sklearn.tree import DecisionTreeClassifier\nclass Mine(DecisionTreeClassifier): pass\n"
    )
    (tmp_path / "ofmine.py").write_text("from sklearn.tree import DecisionTreeClassifier as Tree\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert learner_version("mylearner.Mine") is None
    assert learner_version("ofmine.Tree") is None
    for name in ("mylearner", "ofmine"):
        sys.modules.pop(name)
    learner_version.cache_clear()


def test_source_and_names_of_files_count(tmp_path):
    (tmp_path / "room").mkdir()
    for name in ("room/a.py", "one.py", "other.py"):
        (tmp_path / name).write_text("1")

    def version() -> str:
        return source_version(tmp_path, ["room"], ["one.py"])

    before = version()
    (tmp_path / "other.py").write_text("2")
    assert version() == before
    (tmp_path / "room" / "a.py").rename(tmp_path / "room" / "b.py")
    assert version() != before
    (tmp_path / "room" / "b.py").rename(tmp_path / "room" / "a.py")
    assert version() == before
    (tmp_path / "one.py").write_text("2")
    assert version() != before


def test_the_libraries_that_compute():
    assert list(library_versions()) == ["numpy", "scipy", "scikit-learn", "libsvm-official"]
