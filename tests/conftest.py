"""Fixtures shared by all tests."""

from __future__ import annotations

import gc
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pate_cli import plugins

plugins.OURS.append(str(Path(__file__).resolve().parent))  # what a test makes fail is a fault of ours

# tests run side by side: more threads than cores only wait for each other
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

# a command that is not told how many workers it has starts none: to start one takes two seconds of a core
os.environ.setdefault("LOKY_MAX_CPU_COUNT", "1")

REPO = Path(__file__).resolve().parent.parent

# a process of the tests keeps what it has imported to its end: it is looked through ten times less often
gc.set_threshold(20_000, 20, 100)


# of data, of the system and of a mechanism; any other reason names a tool, which .ci/run installs
_NO_TOOL = re.compile(
    "real data not found|is not in /|root may write anywhere|no /dev/full here|SCIPY_ARRAY_API is not set"
    "|no form of it has such records"
)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    """Let no test be skipped in CI for want of a tool."""
    report = yield
    return _told(report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Iterator[None]:
    """Let no module be skipped in CI for want of a package."""
    report = yield
    return _told(report)


def _told(report: Any) -> Any:
    if report.skipped and os.environ.get("CI") == "true" and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if not _NO_TOOL.search(reason):
            report.outcome, report.longrepr = "failed", f"{reason}: in CI, where .ci/run installs every tool"
    return report


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Directory with the real data sets; the test is skipped where they are absent."""
    places = [os.environ.get("PATE_DATA"), REPO / "data", REPO.parent / "shared" / "data"]
    for place in places:
        if place and (Path(place) / "mushrooms").exists() and (Path(place) / "a9a").exists():
            return Path(place).resolve()
    pytest.skip(
        "real data not found: set PATE_DATA to a directory with mushrooms, a9a, a9a.t, adult.data, adult.test"
    )


@pytest.fixture
def typeset(tmp_path) -> Callable[[str], None]:
    """Compile LaTeX with a bare installation's packages and see that no line is too wide."""
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed")
    found = subprocess.run(["kpsewhich", "booktabs.sty"], capture_output=True, check=False).stdout

    def compile_it(text: str) -> None:
        (tmp_path / "table.tex").write_text(text, encoding="utf-8")
        for packages in ("graphicx", *(["graphicx,booktabs"] if found else [])):
            head = rf"\documentclass{{article}}\usepackage{{{packages}}}\begin{{document}}"
            (tmp_path / "page.tex").write_text(rf"{head}\input{{table}}\end{{document}}")
            done = subprocess.run(
                ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"],
                cwd=tmp_path,
                capture_output=True,
                timeout=300,
                check=False,
            )
            said = done.stdout.decode(errors="replace")
            assert done.returncode == 0, said[-2000:]
            assert "Overfull" not in said, said

    return compile_it


@pytest.fixture
def fits(monkeypatch) -> list[int]:
    """How many ensembles were trained, in this process."""
    from pate_cli import pipeline

    seen: list[int] = []
    train = pipeline.teachers.train

    def counted(*args: Any, only: range | None = None, **options: Any) -> Any:
        seen.extend([1] * (only is None or 0 in only))  # the first slice of them, where they are trained so
        return train(*args, only=only, **options)

    monkeypatch.setattr(pipeline.teachers, "train", counted)
    return seen


@pytest.fixture
def fixed_draws(monkeypatch) -> None:
    """Let releases of this process draw from a seed, where a test says what noise decides."""
    pytest.importorskip("opendp")
    import numpy as np

    from pate_cli.release import release
    from pate_cli.streams import Streams
    from pate_cli.testing.release_checks import WholeNoise

    monkeypatch.setattr(release, "ExactNoise", lambda: WholeNoise(np.random.SeedSequence(0)))
    monkeypatch.setattr(Streams, "fresh", lambda: Streams.of(0, 0))
