"""A release through the command line, and what its ledger was charged."""

from __future__ import annotations

import json
import os
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import numpy as np

from pate_cli import cli
from pate_cli.testing import require

ARGV = ["split.public=20", "split.public_from_private=true", "teacher.count=20", "student=logistic"]


def charged(asked: tuple[float, float]) -> None:
    """What a ledger is charged is no less than what the certificate promises, to the last bit."""
    rng, data = np.random.default_rng(1), ["dataset=csv", "dataset.path=d.csv", "dataset.target=y"]
    data += ["dataset.classes=[a,b]", "dataset.schema=s.yaml"]
    y = rng.integers(0, 2, 300)
    with TemporaryDirectory() as place, chdir(place), mock.patch.dict(os.environ, PATE_LEDGER=f"{place}/l"):
        rows = [f"{x:.3f},{'ab'[label]}" for x, label in zip(rng.normal(3 * y), y, strict=True)]
        Path("d.csv").write_text("\n".join(["x,y", *rows]) + "\n")
        Path("s.yaml").write_text("columns: {x: {kind: number}}")
        budget = [f"eps={asked[0]!r}", f"delta={asked[1]!r}"]
        with redirect_stdout(StringIO()):
            require(cli.main(["ledger", "init", *data, "--eps", "50", "--delta", ".1"]) == 0, "no ledger")
            code = cli.main(["run", *data, *ARGV, *budget, "release=true", "hydra.run.dir=out"])
        require(code == 0, "no release")
        promised = json.loads(Path("out", "certificate.json").read_text())["guarantee"]
        (ledger,) = Path("l").glob("*.json")
        (entry,) = [e for e in json.loads(ledger.read_text())["entries"] if e["kind"] == "release"]
    require((promised["eps"], promised["delta"]) == asked, "another guarantee than asked")
    for key in ("eps", "delta"):
        require(entry[key] >= promised[key], f"less {key} charged than promised")
