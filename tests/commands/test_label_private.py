"""`split.mode=label_private`: what is protected is said wherever the guarantee is."""

from __future__ import annotations

import json

import pytest

from pate_cli.cli import main

SMALL = ["dataset.n_records=1200", "split.public=40", "split.mode=label_private"]


@pytest.mark.parametrize("mechanism", ["gaussian", "svt"])
def test_a_run_says_what_it_protects(tmp_path, monkeypatch, capsys, mechanism):
    monkeypatch.chdir(tmp_path)
    assert main(["run", *SMALL, f"mechanism={mechanism}", "eps=5", "hydra.run.dir=out"]) == 0
    record = json.loads((tmp_path / "out/result.json").read_text())
    sizes = record["sizes"]
    assert [sizes[key] for key in ("n_private", "n_public", "n_test")] == [920, 40, 240]  # 960 = 920 + 40
    assert record["plan"]["protects"] == "the label of one record; all features are taken as public"
    assert record["eps"] == 5
    capsys.readouterr()


def test_the_plan_says_so_too(capsys):
    for given, said in ((SMALL, True), (SMALL[:2], False)):
        assert main(["plan", *given]) == 0
        assert ("the label of one record" in capsys.readouterr().out) == said
