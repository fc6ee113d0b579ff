"""What is shown of a number is as true as the number: its sign, its unit, and what was counted."""

from __future__ import annotations

import pandas as pd
import pytest

from pate_cli.results.interval import Interval
from pate_cli.results.means import MeasuredRow
from pate_cli.results.overview import overview
from pate_cli.results.report import report
from pate_cli.results.svg import success
from pate_cli.results.tables import from_frame
from pate_cli.results.two_results import compare_two


def frame(rows, **columns):
    """Repeats of rows: the measures of each, by method."""
    lines = []
    for method, measured in rows.items():
        told = {"dataset": "d", "method": method, "seed": "0", "eps": 1.0, "delta": 1e-4}
        told |= {"n_private": 1000.0, "n_public": 100.0, "n_test": 100.0, "splits": "s"}
        told |= {"overrides": f"dataset=d mechanism={method}", "row": method, "checksum": "c"} | columns
        done = {"status": "ok", "reason": None, "majority_class": 0.5}
        lines += [told | {"repeat": k} | done | values for k, values in enumerate(measured)]
    return pd.DataFrame(lines).assign(directory="x").astype({"repeat": "Int64"})


@pytest.mark.parametrize(("sign", "shown"), [(False, "0.0 ± 0.9"), (True, "+0.0 ± 0.9")])
def test_nothing_has_no_minus(sign, shown):
    assert Interval(-0.04, 0.9, 3).text(1, sign=sign) == shown
    assert Interval(0.04, 0.9, 3).text(1, sign=sign) == shown


def test_persons_are_not_called_records_and_what_their_release_lacks_is_said():
    right, worse = ([{"accuracy": a + by} for by in (0, 0.01, 0)] for a in (0.8, 0.7))

    def told(**columns):
        found = report(frame({"best": right, "svt": worse}, **columns), ["pate"], {})
        return found.page.facts[0], [note for note in found.notes if "dataset.public=FILE" in note], found

    fact, notes, _ = told()
    assert (fact.label, notes) == ("Records", [])
    fact, notes, found = told(protects="all records of one patient")
    assert (fact.label, len(notes)) == ("Persons", 1)
    assert found.next_step is None or found.next_step[0] != "publish it"
    typed = "dataset=d mechanism=best dataset.public=f.csv"
    fact, notes, _ = told(protects="all records of one patient", overrides=typed)
    assert (fact.label, notes) == ("Persons", [])
    assert told(protects="all records of one patient", release="no")[1] == []  # nothing to publish


@pytest.mark.parametrize(("eps", "shown"), [(1, "73"), (4, "98"), (8, "99.97"), (800, "100")])
def test_the_best_attack_is_not_always_right(eps, shown):
    assert success(eps, 1e-5) == shown


def test_measures_are_compared_where_both_have_them():
    """A student that names one class has no ROC AUC: the means of both are of the other splits."""
    a = frame({"a": [{"accuracy": 0.9, "roc_auc": 0.9}, {"accuracy": 0.9, "roc_auc": 0.7}]})
    b = frame({"b": [{"accuracy": 0.8, "roc_auc": 0.6}, {"accuracy": 0.5}]})
    (auc,) = (line for line in compare_two(a, b).table.cells if line[0] == "ROC AUC, %")
    assert auc[1:] == ["90.0", "60.0", "+30.0"]


def test_one_more_row_is_one():
    repeats = pd.DataFrame({"accuracy": [0.5], "majority_class": [0.5]})
    rows = [
        MeasuredRow({"dataset": "d", "method": m, "eps": 1.0}, repeats, "ok", "", ("dataset", "method"))
        for m in "abc"
    ]
    told = [" ".join(overview(rows[:n]).footnotes) for n in (1, 2, 3)]
    assert [text.partition("; so in ")[2] for text in told] == ["", "1 more row", "2 more rows"]


def test_why_a_method_has_no_ranking_is_said():
    rare = {"accuracy": 0.96, "majority_class": 0.96}
    repeats = frame({"best": [rare | {"roc_auc": 0.9}] * 3, "svt": [rare] * 3})
    (why, *_) = report(repeats, ["pate"], {}).page.details
    assert "`svt` has no ROC AUC, at eps 1: its student gives no scores" in why.blocks[0][1][0]


def test_of_a_sweep_that_was_killed_the_answer_has_its_error():
    """With no other method to compare it with; and the eps spoken of is the nearest that was measured."""
    repeats = frame({"gaussian": [{"accuracy": 0.8}, {"accuracy": 0.81}]}, eps=0.5)
    not_run = frame({"gaussian": [{}], "best": [{}]}).assign(
        repeat=None, status="interrupted", accuracy=float("nan")
    )
    page = report(pd.concat([repeats, not_run.astype({"repeat": "Int64"})]), ["pate", "page"], {}).page
    assert "is right on 80.5 ± 6.4% of" in page.answer
    (note,) = (text for part in page.sections for kind, text in part.blocks if kind == "note")
    assert "spends eps 0.5 of it (of the measured eps the nearest to 1)" in note


def test_large_numbers_of_a_study_have_no_exponents():
    values = [17990.4, 9339.2, -23456.0, 1e12, 0.1008, None]
    table = from_frame(pd.DataFrame({"needed": values}))
    assert [cell for (cell,) in table.cells] == ["17,990", "9339", "-23,456", "1e+12", "0.1008", "–"]


def test_of_a_single_row_no_verdict_is_explained_and_its_seeds_are_not_of_the_records():
    measured = [{"accuracy": 0.8 + 0.01 * k} for k in range(4)]
    found = report(frame({"best": measured}, seed="1, 2"), ["pate", "run"], {})
    assert found.notes[1].startswith("Mean of 4 splits of these records, of 2 seeds, ±")
    assert not any("Use this" in text for text in found.explain)
    two = report(frame({"best": measured, "svt": measured}), ["pate", "run"], {})
    assert any("Use this" in text for text in two.explain)
