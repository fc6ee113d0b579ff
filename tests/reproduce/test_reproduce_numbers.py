"""Intervals, paired differences, verdicts and claims."""

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
from scipy.special import stdtrit

from pate_cli.commands.recipe_run import columns_of_recipe
from pate_cli.engine.recipes import find_recipe
from pate_cli.engine.store import RepeatRecord
from pate_cli.engine.studies import load_study
from pate_cli.errors import InputError
from pate_cli.privacy import gaussian
from pate_cli.results import Interval
from pate_cli.results.claims import check_claim, claim_verdicts, eps_ex_post_verdict, row_verdicts
from pate_cli.results.means import MeasuredRow, paired_difference
from pate_cli.results.recipe_tables import pairs


def unit(repeat, accuracy=0.9, answered=10, ex_post=0.5, **changes):
    asked = list(range(answered))
    base = RepeatRecord(repeat, 5, answered, answered, 0.5, 0.1, ex_post, accuracy, 0.0, {}, asked, [])
    return dataclasses.replace(base, **changes)


def measured(columns, units):
    """A row with made-up repeats, and the columns that a recipe gives it."""
    status = columns.pop("status", "ok" if units else "failed")
    names = ("n_answered", "eps_ex_post", "accuracy")
    lines = [{name: getattr(one, name) for name in names} for one in units]
    frame = pd.DataFrame(lines, columns=list(names), index=[one.repeat for one in units], dtype=float)
    return MeasuredRow(columns, frame, status, columns.pop("reason", ""))


def test_paired_differences_use_the_repeats_both_have():
    of = measured({}, [unit(0, 0.9), unit(1, 0.8), unit(3, 0.1)])
    minus = measured({}, [unit(1, 0.7), unit(0, 0.85), unit(2, 0.0)])
    assert paired_difference(of, minus, "accuracy") == Interval.of([0.9 - 0.85, 0.8 - 0.7])
    assert paired_difference(of, minus, "label_agreement") is None
    free = measured({}, [unit(0, ex_post=math.inf)])
    assert paired_difference(free, free, "eps_ex_post") is None


@pytest.fixture
def rows(plan_of):
    """The rows of the small recipe with made-up repeats."""
    plan = plan_of("repeats=12")

    def make(**accuracies):
        """Accuracies by method, all of them six times over."""
        units = {name: [unit(i, a) for i, a in enumerate(6 * given)] for name, given in accuracies.items()}
        return [
            measured(columns_of_recipe(row), units.get(row.spec.name[:7].strip(), [])) for row in plan.rows
        ]

    return make


@pytest.mark.parametrize(
    ("accuracies", "word"),
    [
        ([0.699, 0.701], "reproduces"),
        ([0.709, 0.711], "reproduces"),  # not 0.7, but no further from it than the margin
        ([0.739, 0.741], "differs (above)"),
        ([0.659, 0.661], "differs (below)"),
        ([0.719, 0.721], "undecided"),  # the margin lies inside the interval
        ([0.5, 0.9], "undecided"),  # a wide interval is no agreement
        ([], "missing"),
    ],
)
def test_verdicts(rows, accuracies, word):
    done = rows(passive=accuracies)
    name = done[0]["name"]
    assert row_verdicts(done, 0.02, quick=False, typed=[])[name].verdict == word
    assert "with a=b" in row_verdicts(done, 0.02, quick=False, typed=["a=b"])[name].reason or not accuracies


def test_a_printed_mean_has_an_error_of_its_own(rows):
    """What is told apart from an exact number is not from one of 30 repeats that is off by as much."""
    row = rows(passive=[0.739, 0.741])[0]
    uncertain = dataclasses.replace(
        row, columns={**row.columns, "printed_error": 0.02, "printed_repeats": 30}
    )
    exact, judged = (row_verdicts([one], 0.02, quick=False, typed=[]) for one in (row, uncertain))
    assert exact[row["name"]].verdict == "differs (above)"
    verdict = judged[row["name"]]
    assert verdict.verdict == "undecided"
    assert verdict.interval.half_width == pytest.approx(
        stdtrit(11, 0.975) * math.hypot(verdict.gap.standard_error, 0.02)
    )
    assert verdict.reason.endswith("no number of repeats decides: the printed number is itself too uncertain")


def test_few_repeats_have_no_verdict(rows):
    done = rows(passive=[0.7, 0.7])
    few = dataclasses.replace(done[0], repeats=done[0].repeats[:9])
    (verdict,) = row_verdicts([few], 0.02, quick=False, typed=[]).values()
    assert (verdict.verdict, verdict.reason) == (
        "no verdict",
        "ours +0.0000 against the printed value: 9 repeats are fewer than 10",
    )
    claim = {"name": "x", "claim": "increases", "measure": "accuracy", "methods": ["passive"]}
    more = [dataclasses.replace(row, repeats=row.repeats[:9]) for row in done]
    assert claim_verdicts([claim], more)[0].verdict == "no verdict"


def test_more_rows_need_more(rows):
    """An interval that is inside the margin by itself is not enough among several."""
    row = rows(passive=[0.69, 0.717])[0]
    words = [row_verdicts([row] * n, 0.0125, quick=False, typed=[])[row["name"]].verdict for n in (1, 30)]
    assert words == ["reproduces", "undecided"]


def test_rows_without_a_verdict_say_why(rows):
    done = rows(passive=[0.9, 0.9], active=[0.7, 0.7])
    verdicts = row_verdicts(done, 0.02, quick=False, typed=[])
    names = [row["name"] for row in done]
    assert verdicts[names[1]].reason == "eps is 4 here and 0.5 in the paper"
    assert verdicts[names[1]].verdict == "no verdict"
    assert names[4] not in verdicts  # nothing is printed
    assert verdicts[names[5]].verdict == "missing"
    assert verdicts[names[5]].reason.startswith("not run: real-sim.bz2")
    quick = row_verdicts(done, 0.02, quick=True, typed=[])[names[0]]
    assert quick.verdict == "no verdict"
    assert "quick run" in quick.reason
    row = dataclasses.replace(done[0], columns={**done[0].columns, "printed_accuracy": 0.4})
    (verdict,) = row_verdicts([row], 0.02, quick=False, typed=[]).values()
    assert verdict.verdict == "unusable"
    assert f"lies under {row['majority_rate']:.3f}" in verdict.reason
    assert 0.5 <= row["majority_rate"] < 0.53


def test_eps_ex_post_at_the_papers_queries(rows, plan_of):
    done = rows(passive=[0.9, 0.9])
    assert done[0]["eps_ex_post_at_printed_queries"] == pytest.approx(0.5)
    # the active row asks for 18 of 18 at eps = 4; at 9 the loss is that of half the queries
    planned = plan_of("repeats=12").rows[3]
    spec = dataclasses.replace(planned.spec, printed={"queries": 9, "eps_ex_post": 2.0})
    half = measured(columns_of_recipe(dataclasses.replace(planned, spec=spec)), [unit(0)])
    sigma = gaussian.calibrate_sigma(4, 1 / 2400, 18)
    assert half["eps_ex_post_at_printed_queries"] == pytest.approx(gaussian.eps_of_mu(3 / sigma, 1 / 2400))
    assert eps_ex_post_verdict(done[:1]).verdict == "reproduces"
    assert eps_ex_post_verdict([half]).verdict == "differs"
    assert eps_ex_post_verdict(done[4:]) is None


def test_pairs_are_of_the_same_splits_and_budget(rows, plan_of):
    done = rows(passive=[0.9, 0.9], active=[0.7, 0.7])
    (pair,) = pairs(done, "active", "passive")
    assert (pair.of["name"], pair.minus["name"]) == ("active 4", "passive 4")
    assert pair.over("accuracy").mean == pytest.approx(-0.2)
    columns = columns_of_recipe(plan_of("repeats=12", "teacher.size=30").rows[3])
    other = dataclasses.replace(done[3], columns=columns)
    assert pairs([*done[:3], other], "active", "passive") == []


@pytest.mark.parametrize(
    ("passive", "active", "need", "word"),
    [
        ([0.9, 0.9], [0.8, 0.8], "all", "reproduces"),
        ([0.8, 0.8], [0.9, 0.9], "all", "differs (below)"),
        ([0.8, 0.8], [0.8, 0.8], "most", "differs (below)"),  # equal is not greater
        ([0.9, 0.7], [0.8, 0.8], "all", "undecided"),
        ([], [0.8], "all", "missing"),
    ],
)
def test_claims(rows, passive, active, need, word):
    claim = {"name": "x", "claim": "greater", "of": "passive", "than": "active", "need": need}
    (verdict,) = claim_verdicts([{**claim, "measure": "accuracy"}], rows(passive=passive, active=active))
    assert verdict.verdict == word
    assert verdict.reason


def test_a_margin_makes_a_little_less_no_less(rows):
    claim = {"name": "x", "claim": "greater", "of": "passive", "than": "active", "measure": "accuracy"}
    done = rows(passive=[0.795, 0.795], active=[0.8, 0.8])
    words = [claim_verdicts([claim | {"margin": margin}], done)[0].verdict for margin in (0, 0.01)]
    assert words == ["differs (below)", "reproduces"]
    with pytest.raises(InputError, match="margin: got -1; accepted: a number >= 0"):
        check_claim(claim | {"margin": -1}, "r")


def test_missing_cases_count(rows):
    done = rows(passive=[0.8, 0.8])
    done[2] = measured({**done[2].columns}, [])
    grows = {"name": "x", "claim": "increases", "measure": "accuracy", "methods": ["passive"]}
    done[1] = measured({**done[1].columns}, [unit(i, 0.9) for i in range(12)])
    (verdict,) = claim_verdicts([grows], done)
    assert verdict.verdict == "missing"
    assert "holds in 1 of 2: synthetic passive eps 0.5 to 4 +0.1000" in verdict.reason
    assert "not run in 1 of 2: synthetic passive eps 4 to inf broke off" in verdict.reason
    (most,) = claim_verdicts([grows | {"need": "most"}], done)
    assert most.verdict == "undecided"  # one of two is not most


def test_cases_that_cannot_run_are_left_out_and_counted(rows):
    done = rows(passive=[0.8, 0.8])
    done[1] = measured({**done[1].columns}, [unit(i, 0.9) for i in range(12)])
    done[2] = measured({**done[2].columns, "status": "infeasible"}, [])
    grows = {"name": "x", "claim": "increases", "measure": "accuracy", "methods": ["passive"]}
    (verdict,) = claim_verdicts([grows], done)
    assert verdict.verdict == "reproduces"
    assert "holds in 1 of 1: " in verdict.reason
    assert "1 more left out, where a row cannot run: synthetic passive eps 4 to inf" in verdict.reason


def test_claims_of_growth_and_of_budget(rows):
    done = rows(passive=[0.8, 0.8], active=[0.7, 0.7])
    done[1] = measured({**done[1].columns}, [unit(i, 0.9 + i / 1000) for i in range(12)])
    grows = {"name": "x", "claim": "increases", "measure": "accuracy", "methods": ["passive"]}
    verdict, most = claim_verdicts([grows, grows | {"need": "most"}], done)
    assert verdict.verdict == "differs (below)"  # up from 0.5 to 4, and down to inf
    assert "holds in 1 of 2: synthetic passive eps 0.5 to 4 +0.1055" in verdict.reason
    assert most.verdict == "differs (below)"  # one of two is not most
    assert most.cases[0].level == 1 - 0.05 / 4  # of all cases of both claims
    assert f"eps 0.5 to 4 {most.cases[0].text(4, sign=True)}. does not hold" in most.reason
    left = {"name": "x", "claim": "unspent", "methods": ["active"]}
    assert claim_verdicts([left], done)[0].verdict == "reproduces"  # 10 of 18
    assert claim_verdicts([{**left, "claim": "spent"}], done)[0].verdict == "differs (below)"


@pytest.fixture(scope="module")
def overlap():
    return load_study(find_recipe("selection-overlap"))


def test_overlap_on_the_points_both_reached(overlap):
    stream = [7, 3, 9, 1, 4, 8, 2, 6]
    svt = unit(0, asked=stream, unanswered=[3, 1, 8], answered=8)
    active = unit(0, asked=[7, 3, 1, 4], answered=4)
    whole = overlap.compare(active, svt, budget=10)
    assert (whole.reached, whole.asked, whole.paid, whole.shared) == (8, 4, 3, 2)
    assert whole.jaccard == 2 / 5
    assert whole.coefficient == 2 / 3
    stopped = overlap.compare(active, svt, budget=4)  # spent at 4, the fifth point
    assert (stopped.reached, stopped.asked, stopped.paid, stopped.shared) == (5, 4, 2, 2)
    early = overlap.compare(active, unit(0, asked=stream[:2], unanswered=[3], answered=2), budget=10)
    assert (early.reached, early.asked, early.paid, early.shared) == (2, 2, 1, 1)
    assert overlap.compare(active, unit(0, asked=stream, answered=8), budget=10) is None


def test_overlap_by_chance_is_that_of_random_sets(overlap):
    rng = np.random.default_rng(0)
    svt = unit(0, asked=list(range(30)), unanswered=list(range(0, 30, 4)), answered=30)
    found = [
        overlap.compare(
            unit(0, asked=sorted(rng.choice(30, 12, replace=False).tolist()), answered=12), svt, 99
        )
        for _ in range(1000)
    ]
    for name in ("jaccard", "coefficient"):
        values = np.array([getattr(one, name) for one in found])
        error = values.std() / math.sqrt(len(values))
        assert abs(values.mean() - getattr(found[0], f"{name}_chance")) < 5 * error
