"""A mechanism and a data set of another package are found, run, audited and tabulated (docs/extending.md)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parent.parent
EXAMPLE = REPO / "docs" / "example"
SMALL = ["dataset.n_records=1500", "split.private=1200", "split.public=20", "teacher.size=20"]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Directory the example package is installed into, as pip does it."""
    target = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", target, EXAMPLE], check=True, capture_output=True)
    return target


def pate(*argv, path, cwd):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(path), str(REPO)])}
    command = [sys.executable, "-m", "pate_cli", *argv]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)


def test_a_mechanism_of_an_installed_package_is_run_and_tabulated(installed, tmp_path):
    conf = ["--config-dir", str(EXAMPLE / "conf")]
    done = pate("run", *conf, "mechanism=exponential", "eps=40", *SMALL, path=installed, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "exponential" in done.stdout
    assert "20/20" in done.stdout
    assert "exponential" in pate("table", "outputs", path=installed, cwd=tmp_path).stdout
    wrong = pate("run", *conf, "mechanism=exponential", "mechanism.share=2", path=installed, cwd=tmp_path)
    assert wrong.returncode == 2
    assert "mechanism.share: got 2; accepted: a number in (0, 1]" in wrong.stderr


def test_it_is_audited(installed, tmp_path):
    argv = ["--config-dir", str(EXAMPLE / "conf"), "mechanism=exponential", "eps=8", "--queries", "4"]
    done = pate("audit", *argv, path=installed, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "a tied vote" in done.stdout
    assert "no violation found" in done.stdout


def test_a_module_that_is_not_installed_comes_by_its_import_path(tmp_path):
    argv = ["mechanism=exponential", "mechanism.name=pate_exponential", "--config-dir", str(EXAMPLE / "conf")]
    done = pate("plan", *argv, *SMALL, path=EXAMPLE, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "eps_per_query" in done.stdout
    absent = pate("plan", "mechanism=gaussian", "mechanism.name=nowhere.at_all", path=EXAMPLE, cwd=tmp_path)
    assert absent.returncode == 2
    assert "mechanism.name: got 'nowhere.at_all'" in absent.stderr


def test_a_data_set_of_an_installed_package_is_run(installed, tmp_path):
    conf = ["--config-dir", str(EXAMPLE / "conf"), "dataset=moons", "teacher=tree", "student=tree"]
    done = pate("run", *conf, "dataset.noise=0.1", "eps=8", path=installed, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "moons" in done.stdout
    wrong = pate("run", *conf, "dataset.noise=2", path=installed, cwd=tmp_path)
    assert wrong.returncode == 2
    assert "dataset.noise: got 2; accepted: a number in (0, 1]" in wrong.stderr


def test_a_data_set_that_is_not_installed_comes_by_its_import_path(tmp_path):
    argv = ["--config-dir", str(EXAMPLE / "conf"), "dataset=moons", "dataset.name=pate_exponential.moons"]
    done = pate("plan", *argv, path=EXAMPLE, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    absent = pate("plan", "dataset=digits", "dataset.name=nowhere.at_all", path=EXAMPLE, cwd=tmp_path)
    assert absent.returncode == 2
    assert "dataset: got 'nowhere.at_all'; accepted: one of synthetic" in absent.stderr
