"""Trackers by Hydra's callbacks: MLflow, one's own in ten lines, and one that raises."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pate_cli.cli import main

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "own"
SMALL = [
    "dataset.n_records=1200",
    "split.public=40",
    "compute.workers=1",
    "features=none",
    "student=logistic",
]


@pytest.fixture
def pate(tmp_path, monkeypatch, capsys):
    """Run `pate run -m` with a callback in an empty directory; exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)

    def call(callback, *argv):
        code = main(["run", *SMALL, f"+hydra.callbacks.mine._target_={callback}", *argv])
        return code, *capsys.readouterr()

    return call


def test_a_tracker_of_ten_lines(pate, monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLE)
    code, _, err = pate("pate_exponential.lines.Lines", "-m", "eps=1,2", "hydra.sweep.dir=out")
    assert code == 0, err
    lines = [json.loads(line) for line in Path("runs.jsonl").read_text().splitlines()]
    kept = [json.loads(Path(f"out/{n}/result.json").read_text())["accuracy"]["mean"] for n in (0, 1)]
    assert [(line["eps"], line["mean"]) for line in lines] == [(1, kept[0]), (2, kept[1])]


@pytest.mark.parametrize("argv", [("eps=1",), ("-m", "eps=1,2")])
def test_a_callback_that_raises_is_named_once_and_ends_no_sweep(pate, tmp_path, monkeypatch, argv):
    (tmp_path / "broken.py").write_text(
        "from hydra.experimental.callback import Callback\n"
        "class Broken(Callback):\n"
        "    def on_job_end(self, config, job_return, **kwargs):\n"
        "        raise OSError('no server\\nat all')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    where = "hydra.sweep.dir=out" if "-m" in argv else "hydra.run.dir=out"
    code, out, err = pate("broken.Broken", *argv, where)
    assert code == 1
    assert [line for line in err.splitlines() if "Broken" in line] == [
        "pate: callback Broken.on_job_end raised OSError: no server at all"
    ]
    assert "is right on" in out
    assert len(list(Path("out").rglob("result.json"))) == (2 if "-m" in argv else 1)


def test_a_callback_that_is_not_there_is_one_line(pate):
    code, out, err = pate("nowhere.Tracker")
    assert (code, out) == (2, "")
    assert err.startswith("pate: ")
    assert err.count("\n") == 1
    assert "nowhere" in err


def test_mlflow_gets_settings_figures_and_files(pate, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    store = (tmp_path / "mlruns").as_uri()
    target = "pate_cli.commands.tracking.MLflow"
    code, _, err = pate(
        target, "-m", "eps=1,2", f"+hydra.callbacks.mine.uri='{store}'", "hydra.sweep.dir=out"
    )
    assert code == 0, err
    runs = mlflow.search_runs(experiment_names=["pate"], output_format="list")
    assert sorted(run.data.params["eps"] for run in runs) == ["1", "2"]
    for run in runs:
        number = run.info.run_name
        record = json.loads(Path(f"out/{number}/result.json").read_text())
        assert run.data.params["student.estimator"] == "logistic"
        assert run.data.metrics["accuracy"] == record["accuracy"]["mean"]
        assert run.data.metrics["eps"] == record["eps"]
        assert run.data.tags["status"] == "ok"
        files = {file.path for file in mlflow.MlflowClient().list_artifacts(run.info.run_id)}
        assert files == {"result.json", "repeats.csv", "page.html"}
        page = mlflow.artifacts.load_text(f"{run.info.artifact_uri}/page.html")
        assert "prefers-color-scheme: dark" in page
