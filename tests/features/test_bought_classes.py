"""Classes that are paid for: what they cost beside the rest, by other code, and that no record is refused."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pate_cli import PateClassifier
from pate_cli.cli import main
from pate_cli.datasets.labels import BoughtClasses
from pate_cli.features.bought import Bought, ThresholdedCounts, cells_of
from pate_cli.privacy import gaussian
from pate_cli.privacy.door import Door
from pate_cli.privacy.noise import SeededNoise
from pate_cli.students import measure

# -- a second opinion: the divergence of classes, and of a count of records of one class, over all outcomes


def law(count, sigma, x):
    weights = np.exp(-((x - count) ** 2) / (2 * sigma**2))
    return weights / weights.sum()


def outcomes(a, b, other, least, sigma, after):
    """Law of (what is bought of a and b, noisy count of the records of a): others are of the larger one."""
    x = np.arange(-45, 90)  # more than ten deviations on either side
    one, two = law(a, sigma, x), law(b, sigma, x) if b else np.zeros(len(x))
    held = one[x < least].sum(), two[x < least].sum() if b else 1.0
    first, second = one[x >= least], two[x >= least]
    grid = np.multiply.outer(first, second)  # both are bought: others become the one that looks larger
    larger = np.greater.outer(x[x >= least], x[x >= least])
    parts = [(grid * larger, a + other), (grid * ~larger, a)]
    parts += [(first * held[1], a + b + other), (held[0] * second, 0), (np.array([held[0] * held[1]]), 0)]
    rest = np.arange(-50, 100)
    return np.concatenate([np.multiply.outer(p.ravel(), law(n, after, rest)).ravel() for p, n in parts])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((20, 18, 0), (19, 19, 0)),  # from a common class to another
        ((20, 18, 1), (20, 19, 0)),  # from a label that is not bought, and is of the larger class
        ((19, 1, 2), (20, 0, 2)),  # an only label
        ((20, 0, 2), (19, 0, 3)),
    ],
)
def test_classes_and_what_learns_from_them_cost_what_is_stated(one, other):
    """Labels of a record, a release of the codes they become: all within the class's statement."""
    sigma, after, least = 6.0, 6.0, 25
    kind = ThresholdedCounts(sensitivity=math.sqrt(2), sigma=sigma, least=least, n_texts=1, exact=True)
    event = kind.event(3)
    mu = math.hypot(event.mu, math.sqrt(2) / after)
    p, q = (outcomes(*side, least, sigma, after) for side in (one, other))
    for eps in (0.0, 0.2, 0.5, 1.0):
        stated = gaussian.profile(eps, mu) + event.delta
        for first, second in ((p, q), (q, p)):
            assert np.maximum(first - math.exp(eps) * second, 0).sum() <= stated * (1 + 1e-9)
    if other == (19, 19, 0):  # and it is not idle
        assert np.maximum(p - q, 0).sum() > 0.3 * gaussian.profile(0.0, mu)


# -- what is bought, and what it makes of labels


def test_spellings_are_one_class_and_other_labels_the_largest():
    found = BoughtClasses.of({"Yes": 40.2, "yes": 61.0, "no": 95.0})
    assert found == BoughtClasses(("no", "yes"), 1)  # 101 against 95
    assert found.codes(["YES", "no", "maybe", ""], found.largest).tolist() == [1, 0, 1, 1]
    assert found.codes(["YES", "no", "maybe", ""], -1).tolist() == [1, 0, -1, -1]
    assert BoughtClasses.of({"10": 50, "9": 60, "9.0": 9}).names == ("9", "10")
    assert BoughtClasses.of({}) == BoughtClasses((), 0)


def test_no_draw_tells_an_odd_label():
    """A label of one record, an order of the file, a spelling that is as frequent but for one."""
    one = Bought(("y",), ("y",), math.sqrt(2) / 6, 1e-4, 400, target="y")
    labels = np.array(["no"] * 199 + ["No"] * 200 + ["yes"])
    sides = labels, np.array(["only", *labels[:0:-1]])
    events = {
        "the label": lambda found: "only" in found.names,
        "a spelling": lambda found: "No" in found.names,
        "the order": lambda found: found.names != tuple(sorted(found.names)),
    }
    seen = {name: np.zeros(2) for name in events}
    cells = [cells_of(one, pd.DataFrame(), each) for each in sides]
    for seed in range(500):
        for side, each in enumerate(cells):
            door = Door(SeededNoise(np.random.SeedSequence([seed, side])))
            found = BoughtClasses.of(one.labels(one.release(each, door)))
            for name, event in events.items():
                seen[name][side] += event(found)
    apart = {name: abs(a - b) / 500 for name, (a, b) in seen.items()}
    # sqrt(2)/6-GDP: .094 in total variation; and five deviations of two shares of 500 draws
    assert max(apart.values()) < 0.094 + 5 * math.sqrt(0.5 / 500), apart


def test_a_label_that_was_not_bought_is_one_that_a_student_has_wrong():
    class Student:
        classes_ = np.array([0, 1])

        def predict(self, X):
            return X[:, 0].astype(int)

    X, y = np.array([[0], [1], [1], [0]]), np.array([0, 1, -1, -1])
    accuracy, others = measure(Student(), X, y, ("a", "b"))
    assert accuracy == 0.5
    assert others == {
        "balanced_accuracy": 1.0,
        "recall.a": 1.0,
        "recall.b": 1.0,
        "precision.a": 0.5,
        "precision.b": 0.5,
    }
    assert measure(Student(), X, np.full(4, -1), ("a", "b")) == (0.0, {})


# -- the whole of it


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATE_LEDGER", str(tmp_path / "ledger"))
    rng = np.random.default_rng(0)
    n = 3_000
    age = rng.integers(18, 90, n)
    y = np.where(age < 40, "young", np.where(age < 65, "middle", "old")).astype(object)
    y[::3] = np.char.capitalize(y[::3].astype(str))
    y[:5] = ["", "k.A.", "of one", "1", "1.0"]  # missing, unread, and equal as numbers
    pd.DataFrame({"age": age, "label": y}).to_csv("p.csv", index=False)
    Path("s.yaml").write_text(
        "target: label\nclasses: private\ncolumns:\n  age: {kind: number, low: 0, high: 120}\n"
    )
    return [
        *("dataset=csv", "dataset.path=p.csv", "dataset.schema=s.yaml", "dataset.public=marginals"),
        *("mechanism=best", "eps=4", "generate.points=60"),
    ]


def test_a_release_whose_classes_are_bought(files, capsys, fixed_draws):
    assert main(["plan", *files, "--explain"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "bought 1 classes, for 0.1 of mu squared, eps of the rest 3.7" in shown
    assert "classes, at least 2 bought" in shown
    assert main(["ledger", "init", *files[:4], "--eps", "9", "--delta", "0.01"]) == 0
    assert main(["run", *files, "evaluate=0.2", "release=true", "hydra.run.dir=out"]) == 0
    certificate = json.loads(Path("out/certificate.json").read_text())
    assert certificate["guarantee"]["eps"] == 4
    assert certificate["guarantee"]["how"].startswith("classes, noisy marginals, and")
    data = certificate["data"]
    assert [name.casefold() for name in data["classes"]] == ["middle", "old", "young"]
    assert data["classes_from"] == "bought of private records, within eps and delta"
    assert data["other_labels"] in data["classes"]
    assert json.loads(Path("out/result.json").read_text())["sizes"]["n_classes"] == 3
    card = Path("out/model_card.md").read_text()
    assert "Where these classes are from: bought of private records, within eps and delta." in card
    capsys.readouterr()
    assert main(["verify", "out"]) == 0
    assert main(["ledger", "show"]) == 0
    assert "eps 5 of 9" in " ".join(capsys.readouterr().out.split())
    Path("new.csv").write_text("age,label\n20,YOUNG\n70,old\n")
    assert main(["predict", "out/student.skops", "new.csv"]) == 0
    assert [line.casefold() for line in capsys.readouterr().out.split()] == ["young", "old"]
    assert b"of one" not in b"".join(path.read_bytes() for path in Path("out").iterdir())


def test_experiments_without_noise_know_all_classes(files, capsys):
    assert main(["run", *[text for text in files if text != "eps=4"], "eps=inf", "hydra.run.dir=out"]) == 0
    assert "without privacy" in capsys.readouterr().out
    result = json.loads(Path("out/result.json").read_text())
    assert result["sizes"]["n_classes"] is None
    assert result["accuracy"]["mean"] > 0.9


def test_fewer_than_two_classes_are_the_end_after_the_charge(files, capsys, fixed_draws):
    pd.DataFrame({"age": np.arange(900) % 90, "label": [f"l{i // 2}" for i in range(900)]}).to_csv(
        "p.csv", index=False
    )
    assert main(["ledger", "init", *files[:4], "--eps", "9", "--delta", "0.01"]) == 0
    capsys.readouterr()
    assert main(["run", *files, "release=true", "hydra.run.dir=out"]) == 1
    said = capsys.readouterr().err
    assert "its points are released, a student is not: " in said
    assert "the classes by hand, or a larger eps: none was bought, and two are needed" in said
    assert main(["ledger", "show"]) == 0
    assert "eps 5 of 9" in " ".join(capsys.readouterr().out.split())
    assert json.loads(Path("out/certificate.json").read_text())["data"]["classes"] == []
    assert json.loads(Path("out/result.json").read_text())["status"] == "error"
    assert main(["verify", "out"]) == 0
    assert main(["run", *files]) == 2  # an experiment
    assert "two are needed" in capsys.readouterr().err


def test_a_sweep_goes_on_where_one_eps_buys_nothing(files, capsys):
    swept = [text for text in files if text != "eps=4"]
    assert main(["plan", "-m", *swept, "eps=0.02,4"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "what would do: classes by hand, more records, or a larger eps" in shown


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (["eps=0.02"], "classes to be bought: of 2,400 records"),
        (["mechanism=soft"], "one whose whole cost is Gaussian noise"),
        (["evaluate=0.2", "threshold=youden"], "as more than two may be bought"),
        (["dataset.public=ranges"], "as 'label' has levels: private; else dataset.classes=[...] declares"),
        (["student=logistic", "+student.params={class_weight: {old: 2}}"], "student.params"),
    ],
)
def test_what_cannot_work_is_refused_before_it_costs(files, more, why, capsys):
    keys = {text.partition("=")[0] for text in more}
    assert main(["plan", *[text for text in files if text.partition("=")[0] not in keys], *more]) == 2
    assert why in capsys.readouterr().err


def test_no_label_is_refused_and_each_is_read_by_itself(files):
    from pate_cli import datasets

    options = {"path": "p.csv", "schema": "s.yaml", "public": "marginals"}
    data = datasets.load("csv", **options)
    assert data.classes == ()
    assert not data.classes_from_private
    found = [data.labels[code] for code in data.y]
    table = pd.read_csv("p.csv", dtype=str, keep_default_na=False)
    assert found[:5] == ["", "", "of one", "1", "1.0"]
    assert found[5:] == table["label"].tolist()[5:]
    table[::2].to_csv("p.csv", index=False)
    less = datasets.load("csv", **options)
    assert [less.labels[code] for code in less.y] == found[::2]


def test_levels_of_the_target_are_classes(files):
    from pate_cli import datasets

    text = Path("s.yaml").read_text().replace("classes: private\n", "")
    Path("s.yaml").write_text(text + "  label: {kind: category, levels: private}\n")
    options = {"path": "p.csv", "schema": "s.yaml", "public": "marginals"}
    data = datasets.load("csv", **options)
    assert data.classes == ()
    assert data.public.target == "label"
    Path("p.csv").write_text("age,label\n" + "20,young\n70,old\n" * 20)
    declared = datasets.load("csv", **options, classes=["old", "young"])
    assert (declared.classes, declared.labels, declared.public.target) == (("old", "young"), (), None)


def test_a_classifier_buys_its_classes(files):
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, 3_000)
    y = np.where(age < 50, 7, 9)
    y[0] = 8
    X = pd.DataFrame({"age": age})
    model = PateClassifier(eps=4, schema="s.yaml", random_state=0).fit(X, y, "marginals")
    assert model.classes_.tolist() == [7, 9]
    assert model.score(X, y) > 0.9
    assert model.privacy_.how.startswith("classes, noisy marginals, and")
