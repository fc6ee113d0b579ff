"""diffprivlib in an environment of its own: what is sent, what may come back, what it is."""

from __future__ import annotations

import math
import os
import pickle
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from outside import PYTHONS, needs, sent

from pate_cli import cli, mechanisms
from pate_cli.errors import ConfigError, InfeasibleError, InputError
from pate_cli.mechanisms.baselines import diffprivlib as diffprivlib_mechanism
from pate_cli.mechanisms.baselines import outside
from pate_cli.mechanisms.baselines.features import Scaling
from pate_cli.mechanisms.baselines.perturbation import ObjectivePlan
from pate_cli.privacy.noise import SeededNoise
from pate_cli.types import Private, PrivateRecords, PublicPoints, Setting

LEARNER = ("logistic", {})
GOOD = {"weights": np.array([[[3.0, -4.0, 0.0]]]), "gap": 1e-6, "versions": ["0.6.6", "1.5.2"]}


def plan(python, eps=1.0, n=5, classes=2, C=1.0, d=2):
    setting = Setting(eps, 1e-4, n, 4, 4, d, classes, 20, False, LEARNER, LEARNER, "drop")
    return mechanisms.plan("diffprivlib", {"python": python, "C": C}, setting)


def noise(seed=0):
    return SeededNoise(np.random.SeedSequence(seed))


def release(made, X, y, public=((1.0, 0.0), (0.0, 1.0))):
    private = Private(PrivateRecords(X, np.asarray(y)))
    return made.release(private, PublicPoints(np.array(public)), noise(), np.random.default_rng(0))


@pytest.mark.parametrize("sparse", [False, True])
def test_records_are_clipped_here_and_every_class_is_there(stand_in, tmp_path, sparse):
    made = plan(stand_in(GOOD, GOOD), eps=0.7, C=2.0)
    X = np.array([[1e308, -1e308], [1e-300, 0.0], [0.6, 0.0], [0.0, 50.0], [1.0, 0.0]])
    model = release(made, sp.csr_matrix(X) if sparse else X, [1, 1, 1, 1, 1]).model
    trial, job = sent(tmp_path, 0), sent(tmp_path)
    assert (tmp_path / "option").read_text() == "-I\n"
    assert trial["X"].shape == (2, 1)  # no private record
    assert job["X"].shape == (7, 3)
    norms = np.linalg.norm(job["X"][:5], axis=1)
    assert norms == pytest.approx([1, math.sqrt(0.2), math.sqrt(0.8 * 0.36 + 0.2), 1, 1], abs=1e-12)
    assert not job["X"][5:].any()
    assert job["y"].tolist() == [1, 1, 1, 1, 1, 0, 1]
    assert (float(job["eps"]), float(job["C"]), int(job["n_classes"])) == (0.7, 2.0, 2)
    assert job["seeds"].shape == (1,)
    # weights of scaled records: 0.6 of the one feature, 0.8 of the other
    assert model.predict(np.array([[5.0, 0.0], [0.0, 5.0]])).tolist() == [1, 0]
    assert model.coef_.ravel() == pytest.approx(np.array([3.0, -4.0]) * math.sqrt(0.8))


def test_nothing_is_left_where_it_worked(stand_in, tmp_path):
    look = (
        f'pwd > "{tmp_path}/place"; echo "$TMPDIR" >> "{tmp_path}/place"; stat -c %a . >> "{tmp_path}/place"'
    )
    for code in (0, 3):
        for path in tmp_path.glob("sent*"):
            path.unlink()
        python = stand_in(GOOD, GOOD, then=f"{look}; touch leak", code=code)
        made = plan(python)
        (tmp_path / "sent0").touch()  # a trial that went well is not run again
        if code:
            with pytest.raises(
                InputError, match=r"^mechanism\.python: /\S+ ended with exit code 3: it said nothing$"
            ):
                release(made, np.eye(2)[[0, 0, 1, 1, 1]], [0, 1, 0, 1, 1])
        else:
            release(made, np.eye(2)[[0, 0, 1, 1, 1]], [0, 1, 0, 1, 1])
        place, temporary, mode = (tmp_path / "place").read_text().split()
        assert place == temporary
        assert mode == "700"
        assert not os.path.exists(place)


BAD = {
    "rubbish": (b"\x00rubbish", "answered what cannot be read$"),
    "nothing": (b"", "answered what cannot be read$"),
    "half an archive": (b"PK\x03\x04", "answered what cannot be read$"),
    "no weights": ({"gap": 0.0}, r"answered without weights of \(1, 1, 3\) finite numbers"),
    "no gap": ({"weights": GOOD["weights"]}, r"answered without gap of \(\) finite numbers"),
    "another shape": (
        {**GOOD, "weights": np.ones((1, 2, 3))},
        r"answered without weights of \(1, 1, 3\) finite",
    ),
    "no numbers": (
        {**GOOD, "weights": np.full((1, 1, 3), np.nan)},
        r"answered without weights of \(1, 1, 3\) finite",
    ),
}


@pytest.mark.parametrize("kind", BAD)
def test_an_answer_that_is_none_is_one_line(kind, stand_in):
    answer, said = BAD[kind]
    made = plan(stand_in(GOOD, answer))
    with pytest.raises(InputError, match=said):
        release(made, np.eye(2)[[0, 0, 1, 1, 1]], [0, 1, 0, 1, 1])


def test_weights_that_are_not_the_minimiser_are_not_released(stand_in):
    made = plan(stand_in(GOOD, {**GOOD, "gap": 0.011}))
    with pytest.raises(RuntimeError, match="not the minimiser of its objective: not released"):
        release(made, np.eye(2)[[0, 0, 1, 1, 1]], [0, 1, 0, 1, 1])


def test_another_version_is_refused(stand_in):
    with pytest.raises(ConfigError, match=r"^mechanism\.python: .*this one has version 0\.6\.5$"):
        plan(stand_in({**GOOD, "versions": ["0.6.5", "1.5.2"]}))


def test_no_interpreter_with_the_library_is_one_line(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "program"
    program.write_text("#!/no/interpreter\n")
    program.chmod(0o755)
    bad = {
        None: "mechanism.python: got None; accepted: ",
        "/nowhere/python": "this one is no program",
        str(program): "this one cannot be run (No such file or directory)",
        sys.executable: "this one ended with exit code 1: ModuleNotFoundError: No module named",
    }
    for python, said in bad.items():
        with pytest.raises(ConfigError) as caught:
            plan(python)
        assert said in str(caught.value)
        assert "DIR/bin/pip install diffprivlib==0.6.6" in str(caught.value)
    argv = ["run", "mechanism=diffprivlib", f"mechanism.python={sys.executable}", "dataset.n_records=9000"]
    assert cli.main(argv) == 2
    assert capsys.readouterr().err == f"pate: {caught.value}\n"
    assert list(tmp_path.iterdir()) == [program]


def test_what_is_said_of_it_comes_back_from_a_worker():
    said = outside.Failed("/x/python", "is no program")
    assert str(pickle.loads(pickle.dumps(said))) == str(said) == "mechanism.python: /x/python is no program"


def test_more_than_it_takes_is_infeasible():
    usual = Setting(1.0, 1e-4, 100_000, 40, 40, 3000, 2, 20, True, LEARNER, LEARNER, "drop")
    with pytest.raises(InfeasibleError, match="takes no sparse records, and 100,000 x 3,000"):
        mechanisms.plan("diffprivlib", {}, usual)


def data(classes, n=60):
    rng = np.random.default_rng(1)
    Z = Scaling(2.0).apply(rng.normal(size=(n, 2)))
    return Z, np.argmax(Z[:, [0, 1, 2]][:, :classes] + [0, 0, 0.2][:classes], axis=1)


def ours(made):
    """The same objective as our own code has it."""
    rows = made.n + made.n_classes
    eps = made.eps / (1 if made.n_classes == 2 else made.n_classes)
    cost = 2 * math.log1p(made.C / 4)
    extra = 0.0 if eps > cost else (0.25 / math.expm1(eps / 4) - 1 / made.C) / rows
    left = eps - cost if eps > cost else eps / 2
    return ObjectivePlan(made.eps, rows, made.n_classes, 1 / (made.C * rows), extra, left)


@needs("diffprivlib")
@pytest.mark.parametrize("classes", [2, 3])
def test_without_noise_it_finds_what_our_own_code_finds(classes):
    Z, y = data(classes)
    made = plan(PYTHONS["diffprivlib"], eps=math.inf, n=60, classes=classes, C=3.0)
    assert made.guarantee.eps == math.inf
    theirs = made.weights(Z, y, noise())
    assert theirs == pytest.approx(ours(made).weights(Z, y, noise()), abs=1e-5)


@needs("diffprivlib")
@pytest.mark.parametrize(("eps", "C"), [(1.0, 0.2), (0.4, 5.0)])
def test_with_noise_its_weights_have_the_law_of_our_own(eps, C):
    """Kolmogorov-Smirnov for each of three weights, 3,000 runs each: false alarm below 1e-6 in all.

    ``2 exp(-2 m t^2)`` with m = 1,500 and t = 0.076 is 6e-8 for two samples of 3,000.
    """
    from scipy.stats import ks_2samp

    Z, y = data(2)
    made = plan(PYTHONS["diffprivlib"], eps=eps, n=60, C=C)
    own = ours(made)
    assert (own.extra > 0) == (eps < 0.5)
    theirs, mine = made.weights(Z, y, noise(), 3_000)[:, 0], own.weights(Z, y, noise(1), 3_000)[:, 0]
    assert max(ks_2samp(a, b).statistic for a, b in zip(theirs.T, mine.T, strict=True)) < 0.076
    assert np.std(theirs[:, 0]) > 0.1  # there is noise to compare


@needs("diffprivlib")
@pytest.mark.parametrize("classes", [2, 3])
def test_a_class_without_records_is_not_missed(classes):
    Z, y = data(classes)
    made = plan(PYTHONS["diffprivlib"], eps=5.0, n=60, classes=classes)
    found = made.weights(Z, np.zeros_like(y), noise())
    assert found.shape == (1, 1 if classes == 2 else 3, 3)


@needs("diffprivlib")
def test_more_is_not_taken_for_the_minimiser(monkeypatch):
    monkeypatch.setattr(diffprivlib_mechanism, "_SLOPE", 200.0)
    Z, y = data(2, n=2_000)
    with pytest.raises(RuntimeError, match="not released"):
        plan(PYTHONS["diffprivlib"], n=2_000, C=50.0, eps=5.0).weights(Z, y, noise())
