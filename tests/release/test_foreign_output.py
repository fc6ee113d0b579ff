"""What the code of others writes while it has private records: nothing of it leaves a release."""

from __future__ import annotations

import json
import signal
import textwrap

import pytest
from processes import MAIN, Process, finish, until

from pate_cli.cli import main

pytest.importorskip("opendp")

LOUD = """
import atexit, ctypes, logging, os, subprocess, sys, warnings
import numpy as np
from sklearn.tree import DecisionTreeClassifier

logging.basicConfig(stream=sys.stderr, level=0)
EARLY = sys.stdout, sys.__stderr__

class Loud(DecisionTreeClassifier):
    def fit(self, X, y, **more):
        text = "SECRET %.3f" % np.asarray(X).sum()
        print(text)
        print(text, file=sys.stderr)
        for stream in EARLY:
            stream.write(text)
        for number in (1, 2):
            os.write(number, text.encode())
        ctypes.CDLL(None).printf(text.encode())
        logging.getLogger("loud").error(text)
        warnings.warn(text)
        subprocess.run(["echo", text])
        atexit.register(print, text, flush=True)
        atexit.register(os.write, 1, text.encode())
        return super().fit(X, y, **more)
"""

SLOW = (
    LOUD
    + """
    def predict(self, X):
        while os.path.exists("out/result.json"):  # a release has begun
            open("learning", "w").close()
        return super().predict(X)
"""
)


@pytest.fixture
def release(tmp_path, monkeypatch):
    """Start a release with the learner `loud.Loud` of a text; a statement may change pate before."""
    rows = [f"{(i * 37 % 101) / 50 - 1},{'yes' if i * 37 % 101 > 50 else 'no'}" for i in range(400)]
    (tmp_path / "mine.csv").write_text("\n".join(["x,label", *rows]) + "\n")
    data = ["dataset=mine.schema.yaml"]
    monkeypatch.chdir(tmp_path)
    assert main(["data", "describe", "mine.csv", "--target", "label"]) == 0
    monkeypatch.setenv("PATE_LEDGER", str(tmp_path / "ledger"))

    def start(learner=LOUD, change="pass"):
        (tmp_path / "loud.py").write_text(textwrap.dedent(learner))
        assert main(["ledger", "init", *data, "--eps", "9", "--delta", "0.1"]) == 0
        argv = ["run", "release=true", *data, "split.public_from_private=true", "mechanism=gaussian", "eps=8"]
        argv += ["teacher.estimator=loud.Loud", "teacher.count=8", "student=logistic", "hydra.run.dir=out"]
        return Process(
            tmp_path, *argv, code=f"import contextlib; from pate_cli import terminal; {change}; {MAIN}"
        )

    return start


def test_nothing_that_a_learner_writes_leaves_a_release(release):
    code, out, err = finish(release())
    assert code == 0, err
    assert "SECRET" not in out + err
    assert err.splitlines()[-1] == "written to out"  # what is ours is printed


def test_seeded_bug_a_release_that_keeps_nothing_in(release):
    code, out, err = finish(release(change="terminal.only_ours = contextlib.nullcontext"))
    assert code == 0, err
    assert out.count("SECRET") > 30  # of 8 teachers
    assert err.count("SECRET") > 15


def test_a_release_that_is_ended_says_so(release, tmp_path):
    process = release(SLOW)
    until((tmp_path / "learning").exists, process)
    process.send_signal(signal.SIGTERM)
    code, out, err = finish(process)
    assert code == 143
    assert "the release was ended; its budget is charged" in " ".join(out.split())
    assert err.splitlines()[-1] == "pate: terminated"
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert (result["status"], result["message"]) == (
        "interrupted",
        "the release was ended; its budget is charged",
    )
