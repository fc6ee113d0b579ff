"""Ten classes: a mechanism on votes on real digits."""

from __future__ import annotations

import json
import math

from pate_cli.cli import main
from pate_cli.privacy import gaussian


def test_gaussian_noise_is_for_a_histogram(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trees = ["dataset=digits", "split.public=100", "teacher=tree", "student=tree", "teacher.size=15"]
    assert main(["run", *trees, "mechanism=gaussian", "eps=8", "hydra.run.dir=out"]) == 0
    record = json.loads((tmp_path / "out/result.json").read_text())
    sizes, plan = record["sizes"], record["plan"]
    assert (sizes["n_private"], sizes["n_classes"], record["n_teachers"]) == (1437, 10, 95)
    assert plan["sensitivity"] == math.sqrt(2)  # one vote leaves a class and joins another
    assert plan["sigma"] == gaussian.calibrate_sigma(8.0, 1 / 1437, 100, math.sqrt(2))
    # trees of 15 records are weak; chance is 0.1
    assert record["diagnostics"]["label_accuracy"] > 0.5
    assert record["n_answered"] == 100
