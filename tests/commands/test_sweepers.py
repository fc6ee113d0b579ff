"""Sweepers that find their points as they go."""

from __future__ import annotations

import csv
import importlib.util
import json
from pathlib import Path

import pytest
from hydra.core.plugins import Plugins

from pate_cli.cli import main

SMALL = ["dataset.n_records=1200", "split.public=40", "compute.workers=1", "hydra.sweep.dir=all"]
PLUGIN = """
import json
from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins
from hydra.plugins.sweeper import Sweeper

class Ours(Sweeper):
    def setup(self, *, hydra_context, task_function, config):
        self.launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )

    def sweep(self, arguments):
        fixed = [text for text in arguments if not text.startswith("eps=")]
        for number, eps in enumerate([4, 0.0001, 2]):
            (done,) = self.launcher.launch([[*fixed, f"eps={eps}"]], initial_job_idx=number)
            print("came back:", eps, done.return_value)

ConfigStore.instance().store(group="hydra/sweeper", name="ours", node={"_target_": "hydra_plugins.ours.Ours"})
"""


@pytest.fixture
def pate(tmp_path, monkeypatch, capsys):
    """Run `pate run -m` in an empty directory; exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)

    def call(*argv: str) -> tuple[int, str, str]:
        code = main(["run", "-m", *SMALL, *argv])
        return code, *capsys.readouterr()

    return call


def result(path: Path) -> dict:
    return json.loads((path / "result.json").read_text())


def test_a_sweeper_gets_the_accuracy_of_the_point_it_asked_for(pate, tmp_path, monkeypatch):
    (tmp_path / "hydra_plugins").mkdir()
    (tmp_path / "hydra_plugins" / "ours.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(tmp_path)
    Plugins.instance().register(importlib.import_module("hydra_plugins.ours").Ours)
    code, out, err = pate("hydra/sweeper=ours", "eps=interval(1.0,4.0)", "mechanism=svt")
    assert code == 0, err
    assert err.count("is not differentially private") == 1
    came_back = [line.split()[2:] for line in out.splitlines() if line.startswith("came back:")]
    found = [result(tmp_path / "all" / str(number)) for number in range(3)]
    assert [(one["status"], one["eps"]) for one in found] == [("ok", 4), ("infeasible", 0.0001), ("ok", 2)]
    accuracies = [one["accuracy"]["mean"] if one["accuracy"] else 0.0 for one in found]
    table = csv.DictReader((tmp_path / "all" / "repeats.csv").read_text().splitlines())
    assert [line["job"] for line in table] == ["0", "1", "2"]  # an infeasible point has a line, too
    assert came_back == [[str(e), str(a)] for e, a in zip([4, 0.0001, 2], accuracies, strict=True)]


@pytest.mark.skipif(
    importlib.util.find_spec("hydra_plugins.hydra_optuna_sweeper") is None,
    reason="hydra-optuna-sweeper is not installed",
)
@pytest.mark.filterwarnings("ignore:.*declarative_base")  # of a package that Optuna imports
def test_optuna(pate, tmp_path):
    argv = ["hydra/sweeper=optuna", "hydra.sweeper.n_trials=2", "hydra.sweeper.n_jobs=1"]
    argv += ["hydra.sweeper.direction=maximize", "eps=interval(0.5,4.0)", "teacher.size=choice(20,40)"]
    code, _, err = pate(*argv)
    assert code == 0, err
    assert "Traceback" not in err
    best = max(result(tmp_path / "all" / str(number))["accuracy"]["mean"] for number in range(2))
    assert f"best_value: {best}" in (tmp_path / "all" / "optimization_results.yaml").read_text().splitlines()
