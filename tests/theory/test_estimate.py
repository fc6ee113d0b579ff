"""`pate plan --theory --estimate`: parameters from one's own records, and bound beside measurement."""

from __future__ import annotations

import re

import pytest

from pate_cli.commands.plan import main
from pate_cli.errors import InputError
from pate_cli.theory.estimate import fit_tau, here
from pate_cli.theory.quantity import EXPLICIT, Quantity

SMALL = ["dataset.n_records=4000", "split.public=80", "teacher.size=40", "mechanism=gaussian", "eps=4"]


def test_tau_is_the_power_of_the_excess_error():
    excess = [0.08, 0.04, 0.02, 0.01]
    assert fit_tau(excess, [0.9 * x**0.5 for x in excess]) == pytest.approx(0.5)
    assert fit_tau(excess, [2 * x for x in excess]) == pytest.approx(1.0)
    assert fit_tau(excess, [x**1.5 for x in excess]) == 1.0  # no more than bounded noise
    assert fit_tau([0.02, 0.01, 0.0, -0.01], [0.1, 0.1, 0.1, 0.1]) is None
    assert fit_tau(excess, excess[::-1]) is None


@pytest.mark.parametrize(
    ("name", "kind", "value"),
    [
        ("k, teachers", "size", 30.0),
        ("n, private records", "size", 900.0),
        ("M, queries at the non-private rate", "size", None),
        ("misclassification rate, at most T/m", "error", 0.2),
        ("error of the student, 15 alpha", "error", 0.3),
        ("excess over the vote, 2T/m of it", "error", 0.1),
        ("excess risk", "error", 0.15),
    ],
)
def test_what_stands_beside_a_bound(name, kind, value):
    measured = {"n": 900.0, "m": 80.0, "K": 30.0, "student": 0.3, "vote": 0.2, "h*": 0.15}
    found = here(Quantity(name, 1.0, EXPLICIT, kind), measured)
    assert found == (None if value is None else pytest.approx(value))


def test_estimates_are_marked_and_used_and_what_is_typed_wins(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["--theory", "--estimate", "--tau", "0.7", "--xi", "0.45", *SMALL]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "NOT DIFFERENTIALLY PRIVATE" in text
    assert "- tau: as typed, not " in text
    assert ", tau 0.7," in text
    gamma = float(re.search(r", gamma ([\d.]+),", text)[1])
    nu = float(re.search(r", nu ([\d.]+), xi", text)[1])
    assert 0.03 < gamma < 0.1  # labels are flipped with probability 0.05
    assert nu != 0.05
    assert nu * 80 == pytest.approx(round(nu * 80), abs=1e-3)  # of 80 points
    assert re.search(r"k, teachers [\d,.e+]+ 80 explicit", text)  # 3,200 records, 40 each
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_estimated_is_refused():
    with pytest.raises(InputError, match="--estimate: needs two classes and teachers"):
        main(["--theory", "--estimate", "dataset=digits"])
