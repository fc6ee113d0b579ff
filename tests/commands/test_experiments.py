"""The presets of `conf/experiment`, each by the command in its first comment."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from pate_cli.cli import main
from pate_cli.config.hydra_composition import conf_dir

PRESETS = sorted((conf_dir() / "experiment").glob("*.yaml"))
EXPECTED = {
    "asq_mushroom": ("mushroom", "active", 0.5),
    "best_csv": ("csv", "best", 1),
    "btt18_remark3": ("thresholds", "svt", 1),
    "psq_mushroom": ("mushroom", "gaussian", 0.5),
    "svt_synthetic": ("synthetic", "svt", 1),
}


@pytest.mark.parametrize("path", PRESETS, ids=lambda path: path.stem)
def test_every_preset_runs(path, request, tmp_path, monkeypatch):
    if "mushroom" in path.stem:
        monkeypatch.setenv("PATE_DATA", str(request.getfixturevalue("real_data")))
    monkeypatch.chdir(tmp_path)
    Path("mine.csv").write_text(
        "a,b,label\n" + "".join(f"{i % 50},{i % 7},{'no' if i % 50 < 25 else 'yes'}\n" for i in range(1500))
    )
    comment = path.read_text().splitlines()[1]
    assert comment.startswith(f"# Run: pate run +experiment={path.stem}")
    command = shlex.split(comment.removeprefix("# Run: pate "))
    assert main([*command, "repeats=1", "hydra.run.dir=out", "compute.workers=1"]) == 0
    record = json.loads(Path("out/result.json").read_text())
    found = (record["dataset"], record["mechanism"].split("-")[0], record["config"]["eps"])
    assert found == EXPECTED[path.stem]
    assert record["accuracy"]["mean"] > record["diagnostics"]["majority_class"]
