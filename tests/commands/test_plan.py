"""`pate plan`: the public numbers, checked against published ones."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest

from pate_cli import pipeline
from pate_cli.cli import main
from pate_cli.config import Composer
from pate_cli.engine.rows import check_rows
from pate_cli.mechanisms.lnmax import Lnmax
from pate_cli.mechanisms.sparse_vector import SparseVector
from pate_cli.mechanisms.votes import of_noisy_counts
from pate_cli.privacy.svt import calibrate
from pate_cli.results.marks import rounded_up

# the sizes of LZCW21 Table 3 on generated records: mushroom, a9a
MUSHROOM = ["dataset.n_records=8124", "split.public=0.02", "teacher.size=100"]
SCALE = "noise of the threshold, votes"
SIGMA = "noise (sigma), votes"
A9A = ["dataset.n_records=48842", "split.public=0.02", "teacher.size=100"]


@pytest.fixture
def rows(monkeypatch, tmp_path, capsys):
    """Run `pate plan`; the tables as {name: cells}, after making sure that nothing is trained or written."""
    monkeypatch.chdir(tmp_path)

    def trained(*_: object) -> None:
        raise AssertionError("a plan trains nothing")

    monkeypatch.setattr(pipeline, "run_repeat", trained)

    def show(*argv: str) -> dict[str, list[str]]:
        assert main(["plan", *argv, "--explain"]) == 0
        out, err = capsys.readouterr()
        show.said = err.splitlines()
        known = r"pate: eps [\d.e+-]+, [\w-]+: (labels a point only|at most|noise of standard deviation)"
        assert all(re.match(known, line) for line in show.said)
        assert list(tmp_path.iterdir()) == []
        assert max(len(line) for line in out.splitlines() if "dataset.path" not in line) <= 80
        lines = [line.rstrip() for line in out.splitlines()]
        return {cells[0]: cells[1:] for cells in (_cells(line) for line in lines) if len(cells) > 1}

    return show


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


def test_sizes(rows):
    shown = rows(*MUSHROOM, "repeats=30")
    assert shown["data set"] == ["8,124", "records"]
    assert shown["private split"] == ["6,499", "records"]
    assert shown["public split"] == ["163", "points"]
    assert shown["test split"] == ["1,462", "records"]
    assert shown["teachers"] == ["64", "teachers"]
    assert shown["records a teacher"] == ["101 to 102", "records"]
    assert shown["queries, at most"][0] == "163"
    assert shown["delta, of one repeat"] == ["0.0001539", "probability: 1 / private records"]
    assert shown["repeats"][0] == "30"


PURE = [
    ["mechanism=sspp"],
    ["mechanism=output_perturbation", "mechanism.noise=laplace"],
    ["mechanism=realizable_to_agnostic"],
    ["mechanism=private_prediction"],
]


@pytest.mark.parametrize("argv", PURE)
def test_a_pure_guarantee_is_shown_with_delta_0(argv, rows, capsys):
    argv = ["dataset.n_records=4000", "delta=1e-5", *argv]
    assert rows(*argv)["delta, of one repeat"] == ["0", "probability: eps holds without exception"]
    assert main(["plan", *argv]) == 0
    assert "eps 1, delta 0 for each record" in " ".join((said := capsys.readouterr().out).split())
    assert "1e-05" not in said


def test_no_guarantee_is_rounded_down(capsys):
    """The delta of 3,200 records, 0.0003125, was shown as 0.00031."""
    assert main(["plan", "dataset.n_records=4000"]) == 0
    assert capsys.readouterr().out.count("delta 0.00032") == 2
    for number in [1e-5, 0.0, 1 / 6499, *(10 ** np.random.default_rng(0).uniform(-30, 200, 1000))]:
        assert number <= float(f"{rounded_up(number, 3):.3g}") <= number * 1.01


def test_the_numbers_of_a_run_state_its_guarantee_and_not_that_of_a_part():
    (row,) = check_rows(Composer(), [["dataset.n_records=20000", "mechanism=universal"]])
    shown = row.prepared.whole.describe()
    assert (shown["eps"], shown["sspp_eps"]) == (1.0, 0.5)


@pytest.mark.parametrize(
    ("argv", "eps", "sigma", "zcdp"),
    [
        (MUSHROOM, 0.5, "72.34", None),
        ([*MUSHROOM, "mechanism=active"], 0.5, "39.66", "59.49"),
        ([*A9A, "mechanism=active"], 1, "60.17", "80.53"),
    ],
)
def test_gaussian_noise_is_that_of_the_paper(rows, argv, eps, sigma, zcdp):
    """Sigma of the exact profile, worked out apart from this code, and by LZCW21's zCDP rule."""
    shown = rows(*argv, f"eps={eps}")
    assert shown[SIGMA] == [sigma]
    drowned = "a label is little better than chance" in " ".join(rows.said)
    assert drowned == (sigma == "72.34")  # of 64 votes
    if zcdp is not None:
        published = rows(*argv, f"eps={eps}", "mechanism.calibration=liu2021")
        assert published[SIGMA] == [zcdp]
    parts = [float(cells[0]) for name, cells in shown.items() if name.startswith("eps_ex_post of ")]
    assert parts[0] < parts[1] < eps
    if (sigma, eps) == ("39.66", 0.5):  # LZCW21 Table 4: 41 of 49 queries would cost about 0.45
        assert float(shown["eps_ex_post of 25 queries"][0]) == pytest.approx(0.3405, abs=0.003)


def test_published_noise_is_used(rows):
    """LZCW21 Algorithm 1, line 1: sqrt(2 ell ln(1/delta))/sigma + ell/(2 sigma^2) = eps."""
    argv, ell = [*MUSHROOM, "eps=1"], 163
    x = float(rows(*argv, "mechanism.calibration=liu2021")[SIGMA][0])
    assert math.sqrt(2 * ell * math.log(6499)) / x + ell / (2 * x * x) == pytest.approx(1, abs=1e-3)
    assert float(rows(*argv)[SIGMA][0]) < x
    assert float(rows(*argv, "mechanism.calibration=bassily2018")[SIGMA][0]) > 2 * x


@pytest.mark.parametrize(
    ("eps", "cutoff", "liu", "bassily"),
    [
        (1, 1, (9.7, 528.2), (18.99, 689.3)),
        (0.5, 30, (105.1, 5735), (208, 7551)),
    ],
)
def test_published_calibrations_are_those_of_the_papers(rows, eps, cutoff, liu, bassily):
    """Of LZCW21 and BTT18, worked out by hand; the one in use is never worse."""
    sizes = ["dataset.n_records=40000", "split.public=977", f"delta={1 / 39073}", "teacher.count=31000"]
    needed = []
    for rule, (scale, threshold) in (("tight", (0, 0)), ("liu2021", liu), ("bassily2018", bassily)):
        chosen = [f"mechanism.cutoff={cutoff}", f"mechanism.calibration={rule}"]
        shown = rows(*sizes, "mechanism=svt", f"eps={eps}", *chosen)
        cells = {name: float(shown[name][0].replace(",", "")) for name in (SCALE, "threshold")}
        if rule != "tight":
            assert cells == pytest.approx({SCALE: scale, "threshold": threshold}, rel=1e-3)
        needed.append(int(shown["fewest teachers, if unanimous"][0].replace(",", "")))
    assert needed[0] == min(needed)
    assert shown["distance of a unanimous vote"] == ["15,499"]


def test_what_is_known_of_unanswered_queries_is_said(rows):
    rows("mechanism=svt", "eps=1", "mechanism.cutoff=10")
    (line,) = rows.said
    assert line.startswith("pate: eps 1, svt: labels a point only where the teachers agree")
    assert line.endswith(" It stops after 10 points that are too close")
    for mechanism in ("gaussian", "gnmax"):  # they answer all
        rows(f"mechanism={mechanism}", "eps=2", "dataset.n_records=9000")
        assert rows.said == []
    rows("mechanism=svt", "mechanism.cutoff=private", "eps=2")  # the cutoff comes from an estimate
    assert rows.said == []


def test_margins(rows):
    """At the distances shown half or 95% of the votes are answered."""
    shown = rows("mechanism=svt", "eps=1", "mechanism.cutoff=10")
    c = calibrate("tight", 1, 1 / 60_000, 400, 10)
    for failure, row in ((0.5, "half"), (0.05, "95%")):
        assert c.p_unstable(float(shown[f"distance answered {row} of the time"][0])) == pytest.approx(
            failure, rel=2e-3
        )


@pytest.mark.parametrize(
    ("mechanism", "expected"),
    [
        # 0.1 of the private records are held back to estimate T
        (["svt", "mechanism.cutoff=private", "eps=2"], {"records for teachers": "54,000", "a teacher": "18"}),
        (["gaussian"], {"a teacher": "20", "ell": ("400", "queries: all public points")}),
        (["active"], {"ell": ("120", "queries: split.budget, chosen actively")}),
        (
            ["gnmax", "mechanism.confidence=0.75"],
            {"ell": ("400", "queries: all public points"), "answers": "120"},
        ),
        (
            ["universal", "dataset=thresholds", "eps=4"],
            {"records for teachers": "22,493", "a teacher": "20 to 21"}
            | {"ell": ("200", "queries: of 400 public points")},
        ),
        (["noisy_gd"], {"teachers": ("0", "teachers: it has none")}),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_what_teachers_are_trained_on_and_asked(rows, mechanism, expected):
    shown = rows(f"mechanism={mechanism[0]}", *mechanism[1:])
    names = {"a teacher": "records a teacher", "ell": "queries, at most", "answers": "answers, at most"}
    for key, value in expected.items():
        said = shown[names.get(key, key)]
        assert said[: len(value)] == list(value) if isinstance(value, tuple) else said[0] == value
    assert ("records for teachers" in shown) == ("records for teachers" in expected)
    assert ("records a teacher" in shown) == ("teachers" not in expected)


def test_without_privacy(rows):
    shown = rows("eps=inf", "mechanism=svt")
    assert shown["noise"] == ["0", "votes: no privacy at eps=inf"]
    assert not {"sigma", "threshold"} & set(shown)
    assert "guarantee" not in shown


def test_a_file_that_has_changed_is_read_again(rows, tmp_path):
    data = tmp_path.parent / f"{tmp_path.name}.libsvm"
    for n in (500, 600):
        data.write_text("".join(f"{i % 2} 1:{i}\n" for i in range(n)))
        assert rows("dataset=libsvm", f"dataset.path={data}", "split.public=20")["data set"][0] == str(n)


def test_fewer_public_points_than_the_bound_is_best_with_are_said(rows):
    assert rows("mechanism=svt", "split.public=auto")["public split"] == [
        "7,500",
        "points: half of those left; m* = 26,833",
    ]


def test_a_sweep_is_one_table(rows, capsys):
    argv = ["-m", "mechanism=svt,gaussian,best", "eps=0.01,1", "dataset.n_records=20000"]
    rows(*argv)  # 80 columns
    assert rows.said == []
    assert main(["run", "--dry-run", *argv, "seed=3", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    lines = content["tables"]["table"]
    assert [(line["mechanism"], line["eps"]) for line in lines] == [
        (mechanism, eps) for mechanism in ("svt", "gaussian", "best") for eps in (0.01, 1)
    ]
    refused, svt, drowned, gaussian, *best = lines
    assert (refused["status"], refused["feasible"], refused["teachers"]) == ("infeasible", "no", None)
    assert "teacher.count=" in refused["remedy"]
    assert (svt["feasible"], svt["teachers"], svt["records_a_teacher"]) == ("yes", 800, 20)
    assert drowned["noise_share"] > 1 > gaussian["noise_share"]
    assert gaussian["answered"] == 400
    assert [line["noise"] for line in best] == [None, None]
    assert main(["plan", *argv, "--format", "csv"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 7
    assert main(["plan", *argv, "-q"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("5 of 6 can run. ")
    assert "Enough: with so many" not in text


def test_one_point_as_json(capsys):
    assert main(["plan", "mechanism=svt", "--json"]) == 0
    tables = json.loads(capsys.readouterr().out)["tables"]
    assert list(tables) == ["table", "sizes", "numbers"]
    assert tables["sizes"][0] == {"name": "data set", "value": 75000, "unit": "records"}
    assert "not with --format csv" in _refused(["plan", "--json", "--format", "csv"], capsys)


def _refused(argv, capsys):
    assert main(argv) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("law", ["normal", "laplace"])
def test_the_fewest_teachers_get_half_of_two_to_one_votes_right(n_classes, law):
    """Three quarters of two classes are half and, of the rest, half by chance."""
    scale, rng = 40.0, np.random.default_rng(0)
    laplace = Lnmax(1.0, 1e-5, scale, ell=1, n_classes=n_classes)
    expected_answers = (
        laplace.expected_answers() if law == "laplace" else of_noisy_counts(scale, n_classes, 1)
    )
    K = expected_answers.fewest_teachers
    votes = np.tile([K / 3, 2 * K / 3], (40_000, 1))
    noise = getattr(rng, law)(0, scale, votes.shape)
    if n_classes == 2:
        noise[:, 0] = -noise[:, 1]
    right = np.mean(np.argmax(votes + noise, axis=1) == 1)
    assert right == pytest.approx(0.75, abs=0.01)


def test_the_sparse_vector_technique_answers_half_of_two_to_one_votes():
    c = calibrate("tight", 1, 1e-5, 400, 10)
    plan = SparseVector(c, ell=400, n_teachers=1000)
    K = plan.expected_answers().fewest_teachers
    assert c.p_unstable(-(-K // 6) - 1) <= 0.5 < c.p_unstable(-(-K // 6) - 2)
    assert replace(plan, n_teachers=K).expected_answers().answered < 2 * c.cutoff + 1


@pytest.mark.parametrize(
    ("mechanism", "key"),
    [("gnmax", SIGMA), ("gnmax mechanism.confidence=0.75", "sigma_check"), ("sspp", "hypotheses")],
)
def test_other_plans_show_their_numbers(rows, mechanism, key):
    shown = rows("dataset.n_records=5000", *f"mechanism={mechanism}".split(), "eps=2")
    assert key in shown
    assert shown["guarantee"]
    assert "None" not in str(shown)


@pytest.mark.parametrize(
    ("mechanism", "on_features", "on_columns"),
    [
        ("gaussian", "scores", "score_boosting"),
        ("svt", "scores", "score_boosting"),
        ("scores", None, "score_boosting"),
        ("score_boosting", None, None),
        ("best", None, None),
    ],
)
def test_a_plan_names_what_to_use_first(mechanism, on_features, on_columns, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for teacher, other in (("logistic", on_features), ("tree", on_columns)):
        assert main(["plan", *MUSHROOM, f"mechanism={mechanism}", f"teacher={teacher}"]) == 0
        named = re.findall(r"mechanism=(\w+) is nearly always", capsys.readouterr().out)
        assert named == ([other] if other else [])
