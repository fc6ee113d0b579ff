"""Runs reported to MLflow: to a stand-in for it and, where it is installed, to a store on disk."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
import types

import pytest

from pate_cli.cli import main

RUN = ["run", "dataset=synthetic", "dataset.n_records=2000", "split.public=40", "teacher.size=40", "eps=2"]
RUN += ["hydra.run.dir=out"]
FILES = {"result.json", "repeats.csv", "student.skops"}


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def told(monkeypatch):
    """Everything that a stand-in for MLflow is told, by the name of its function."""
    found: dict[str, list] = {}
    module = types.ModuleType("mlflow")

    def listen(name):
        return lambda *given, **more: found.setdefault(name, []).append((*given, *more.values()))

    for name in ("set_experiment", "set_tags", "log_params", "log_metrics", "log_artifact", "end_run"):
        setattr(module, name, listen(name))
    module.get_tracking_uri = lambda: "http://nowhere:5000"

    @contextlib.contextmanager
    def start_run(run_name):
        found.setdefault("start_run", []).append(run_name)
        yield

    module.start_run = start_run
    monkeypatch.setitem(sys.modules, "mlflow", module)
    return found


def test_settings_figures_and_files_are_reported(told):
    assert main([*RUN, "tracking=mlflow"]) == 0
    assert told["start_run"] == ["synthetic gaussian eps=2"]
    assert told["set_experiment"] == [("pate",)]
    ((params,),), ((metrics,),) = told["log_params"], told["log_metrics"]
    assert (params["dataset.n_records"], params["eps"], params["mechanism.name"]) == ("2000", "2", "gaussian")
    assert metrics["eps"] == 2.0
    assert 0.5 < metrics["accuracy"] <= 1
    assert {name.rpartition("/")[2] for (name,) in told["log_artifact"]} == FILES


def test_a_server_that_does_not_answer_costs_no_result(tmp_path, monkeypatch, told, capsys):
    def refuse(params):
        raise OSError("connection refused\nby nobody")

    monkeypatch.setattr(sys.modules["mlflow"], "log_params", refuse)
    assert main([*RUN, "tracking=mlflow"]) == 0
    said = capsys.readouterr().err
    assert "pate: tracking=mlflow: not told to http://nowhere:5000: connection refused\n" in said
    assert (tmp_path / "out/result.json").is_file()
    assert told["end_run"] == [("FAILED",)]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["tracking=mlflow"], "tracking=mlflow: mlflow is not installed; pip install mlflow-skinny; or"),
        (["tracking=mlflow", "release=true"], "tracking: got 'mlflow'; accepted: null with release=true"),
        (["tracking=wandb"], "tracking: got 'wandb'; accepted: null, or mlflow"),
    ],
)
def test_refused_in_one_line_before_anything_is_done(tmp_path, monkeypatch, capsys, given, said):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    assert main([*RUN, *given]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"pate: {said}")
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(importlib.util.find_spec("mlflow") is None, reason="mlflow is not installed")
def test_mlflow_itself_takes_it(tmp_path, monkeypatch):
    import mlflow

    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"file:{tmp_path}/mlruns")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "ours")
    assert main([*RUN, "tracking=mlflow"]) == 0
    (run,) = mlflow.search_runs(experiment_names=["ours"], output_format="list")
    assert run.data.params["eps"] == "2"
    assert {file.path for file in mlflow.MlflowClient().list_artifacts(run.info.run_id)} == FILES
