"""Wheel and source distribution: what they carry and ask for, and that they run from an empty folder."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from pate_cli import __version__
from pate_cli.config import hydra_composition

REPO = Path(__file__).resolve().parent.parent


def call(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command that must succeed, with nothing of this process's Python paths or data in its way."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PATE_", "COVERAGE"))}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=env, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done


def build(what: str, source: Path, out: Path) -> Path:
    call(sys.executable, "-m", "hatchling", "build", "-t", what, "-d", out, cwd=source)
    (built,) = out.iterdir()
    return built


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    """The source distribution, unpacked."""
    archive = build("sdist", REPO, tmp_path_factory.mktemp("sdist"))
    target = tmp_path_factory.mktemp("source")
    with tarfile.open(archive) as packed:
        packed.extractall(target, filter="data")
    (top,) = target.iterdir()
    return top


@pytest.fixture(scope="module")
def wheel(source, tmp_path_factory) -> Path:
    """The wheel built from the source distribution, as pip does."""
    return build("wheel", source, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def home(wheel, tmp_path_factory) -> Path:
    """A new virtual environment with the wheel in it; other packages are seen in the present one."""
    home = tmp_path_factory.mktemp("home") / "venv"
    venv.create(home, symlinks=True)
    python = home / "bin" / "python"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "--disable-pip-version-check",
        "install",
        "--quiet",
    ]
    call(*pip, "--no-deps", "--no-index", wheel, cwd=home)
    # a .pth file in a directory named by a .pth file is not followed: no editable install comes in
    (site,) = home.glob("lib/python3*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home


def test_wheel_carries_package_configs_and_recipes(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    expected = {path.relative_to(REPO).as_posix() for path in (REPO / "pate_cli").rglob("*.py")}
    expected.add("pate_cli/py.typed")
    for top in ("conf", "experiments", "pate_cli/results/templates"):
        files = {path.relative_to(REPO).as_posix() for path in (REPO / top).rglob("*") if path.is_file()}
        files = {name for name in files if "__pycache__" not in name}  # of studies that were imported here
        assert files
        expected |= {f"pate_cli/{name.removeprefix('pate_cli/')}" for name in files}
    assert {name for name in names if ".dist-info/" not in name} == expected


def test_the_checkout_and_its_source_distribution_make_the_same_wheel(wheel, tmp_path):
    one, other = (zipfile.ZipFile(path) for path in (wheel, build("wheel", REPO, tmp_path)))
    assert {name: one.read(name) for name in one.namelist()} == {
        name: other.read(name) for name in other.namelist()
    }
    assert wheel.name.startswith(f"pate_cli-{__version__}-")


def test_the_source_distribution_has_all_that_its_pages_lead_to_and_its_tests_need(source):
    """README's two commands run in it, and no link of a page leads nowhere."""
    pages = [*source.glob("*.md"), *(source / "docs").rglob("*.md")]
    assert len(pages) > 30
    lost = [
        (page.name, target)
        for page in pages
        for target in re.findall(r"\]\(([^)#\s]+)[^)\s]*\)", page.read_text(encoding="utf-8"))
        if "://" not in target and not target.startswith("mailto:") and not (page.parent / target).exists()
    ]
    assert lost == []
    needed = ["Makefile", "constraints.txt", "benchmarks/numbers.py", ".ci/run", "tests/conftest.py"]
    assert [name for name in needed if not (source / name).is_file()] == []


# of packages that need not be installed here
OTHER_NAMES = {"interpret": "interpret-core"}
# run by the Python that PEER_PYTHON names, beside which it cannot be installed
OF_ANOTHER_PYTHON = {"diffprivlib"}


def test_wheel_asks_for_all_that_is_imported(wheel):
    archive = zipfile.ZipFile(wheel)
    (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    required = {
        normal(re.match(r"[\w.-]+", line).group())
        for line in re.findall(r"^Requires-Dist: (.*)$", archive.read(metadata).decode(), re.MULTILINE)
        if not re.search(r"extra == ['\"]dev['\"]", line)
    }
    distributions = packages_distributions()
    missing = {}
    for name in archive.namelist():
        if not name.endswith(".py"):
            continue
        for top in imported_packages(archive.read(name).decode()):
            offers = {normal(found) for found in distributions.get(top, [OTHER_NAMES.get(top, top)])}
            if top not in {"pate_cli", *OF_ANOTHER_PYTHON} and not offers & required:
                missing[name] = top
    assert missing == {}


def test_wheel_runs_from_an_empty_folder(home, tmp_path):
    where = (
        "import pate_cli; from pate_cli.config.hydra_composition import conf_dir; "
        "print(pate_cli.__file__, conf_dir())"
    )
    shown = call(home / "bin" / "python", "-c", where, cwd=tmp_path).stdout.split()
    assert len(shown) == 2
    assert all(Path(path).resolve().is_relative_to(home.resolve()) for path in shown)

    pate = home / "bin" / "pate"
    assert "pate run mechanism=svt eps=1.0" in call(pate, "--help", cwd=tmp_path).stdout
    assert list(tmp_path.iterdir()) == []
    small = ["dataset.n_records=7500", "split.public=100"]
    table = call(pate, "run", "mechanism=svt", "eps=1.0", *small, cwd=tmp_path).stdout
    assert "synthetic" in table
    assert [path.name for path in tmp_path.iterdir()] == ["outputs"]
    (record,) = tmp_path.glob("outputs/*/*/result.json")
    result = json.loads(record.read_text())
    assert result["status"] == "ok"
    assert result["accuracy"]["mean"] > 0.9
    assert result["provenance"]["versions"]["pate"] == __version__
    studies = [["--list"], ["figure1", "--quick"], ["statements", "--json"]]
    each = f"from pate_cli.cli import main; assert not any(main(['reproduce', *argv]) for argv in {studies})"
    shown = call(home / "bin" / "python", "-c", each, cwd=tmp_path).stdout
    assert [text for text in ("figure1: ", "Chernoff", "LZCW21 Theorem 28") if text not in shown] == []


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def imported_packages(source: str) -> set[str]:
    """Top-level packages a module imports, beyond the standard library."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".")[0])
    return names - sys.stdlib_module_names


def test_no_message_installs_a_package_that_is_not_ours():
    """There is no `pate-cli` to be had; what is told to be installed is what the extras ask for."""
    extras = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    asked = {re.split(r"[<>=]", needed)[0] for name in extras for needed in extras[name]}
    for path in [REPO / "README.md", *(REPO / "docs").glob("*.md"), *(REPO / "pate_cli").rglob("*.py")]:
        text = path.read_text(encoding="utf-8")
        assert "pate-cli[" not in text, path
        for told in re.findall(r"pip install ([a-z][a-z -]*[a-z])", text):
            assert path.suffix == ".md" or set(told.split()) <= asked, path
    for told in hydra_composition._LAUNCHERS.values():
        assert set(told.split()) <= asked
