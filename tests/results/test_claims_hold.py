"""What is said of methods holds as often as is said, on records that were never seen; by made-up repeats.

Shares are of a fixed seed; by chance a check fails with probability below 1e-6.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, t

from pate_cli import cli
from pate_cli.release.quality import Percent
from pate_cli.results import sentences
from pate_cli.results.answers import NO_USE, UNSURE, WORSE, advise
from pate_cli.results.boards import Board
from pate_cli.results.interval import Interval
from pate_cli.results.marks import guaranteed, rounded_down
from pate_cli.results.means import MeasuredRow, lead, rows_of
from pate_cli.results.repeats import read_repeats
from pate_cli.results.two_results import compare_two
from pate_cli.runs.evaluation import REPORT, Evaluation, figures

DRAWS = 40


def row(method, accuracies, eps=1.0, **columns):
    """A row with its repeats, by the sizes of the split by default."""
    sizes = {"n_private": 800.0, "n_public": 20.0, "n_test": 180.0}
    told = {"dataset": "d", "method": method, "eps": eps, "splits": "s", "checksum": "c"} | sizes | columns
    return MeasuredRow(told, pd.DataFrame({"accuracy": accuracies}), "ok", "", ("dataset", "method"))


def too_often(count, n, share):
    """Whether so many of n would happen with probability below 1e-6 if each did with at most that share."""
    return binom.sf(count - 1, n, share) < 1e-6


def test_of_equal_methods_hardly_ever_one_is_called_worse():
    """Eight methods: the range of eight means is no difference; of 95% each, one in two draws had one."""
    rng, wrong, most = np.random.default_rng(0), 0, 0
    for _ in range(DRAWS):
        values = 0.8 + rng.normal(0, 0.02, (8, 30))
        rows = [row(m, each, n_test=1e-9) for m, each in zip("abcdefgh", values, strict=True)]
        advice = advise(Board("d", rows))
        wrong += WORSE in advice.verdicts.values()
        most += "is the most accurate" in sentences.headline(advice)
    assert not too_often(wrong, DRAWS, 0.05)
    assert not too_often(most, DRAWS, 0.05)


def test_a_difference_is_told_on_new_records_not_on_the_splits_of_a_file():
    """Two models as good as each other: on a file of 300 records one is ahead by chance, in every split."""
    rng, wrong, of_splits = np.random.default_rng(1), 0, 0
    for _ in range(DRAWS):
        right = rng.random((2, 300)) < 0.8
        tests = [rng.permutation(300)[:54] for _ in range(30)]
        rows = [row(m, [each[test].mean() for test in tests]) for m, each in zip("ab", right, strict=True)]
        wrong += lead(*rows, "accuracy").sign != 0
        of_splits += Interval.of(rows[0].repeats["accuracy"] - rows[1].repeats["accuracy"]).sign != 0
    assert not too_often(wrong, DRAWS, 0.05)
    assert too_often(of_splits, DRAWS, 0.05)  # so it was: one in two


def test_one_test_file_in_all_repeats_has_an_error_that_they_do_not_show():
    """Two models as good as each other, on the same 300 records in each of ten repeats."""
    rng, wrong = np.random.default_rng(2), 0
    sizes = {"n_records": 820.0, "n_private": 800.0, "n_public": 20.0, "n_test": 300.0, "test_file": 300.0}
    for _ in range(DRAWS):
        right = (rng.random((2, 300)) < 0.8).mean(axis=1)
        rows = [row(m, x + rng.normal(0, 0.005, 10), **sizes) for m, x in zip("ab", right, strict=True)]
        wrong += lead(*rows, "accuracy").sign != 0
    assert not too_often(wrong, DRAWS, 0.05)
    gap = lead(*rows, "accuracy")
    wrong = sum(1 - each.mean("accuracy") for each in rows)
    assert gap.of_repeats(10**6).half_width > 1.96 * np.sqrt(wrong / 300)  # however often it is repeated
    constant = [
        row("best", [0.55 + 0.001 * i for i in range(5)], **sizes),
        row("majority class", [0.5] * 5, **sizes),
    ]
    assert advise(Board("d", constant)).verdicts == {"best": UNSURE}


@pytest.mark.parametrize("sizes", [{}, {"n_public": None}, {"n_test": None}])
def test_how_much_wider_follows_from_the_sizes(sizes):
    one, other = row("a", [0.8, 0.9, 0.7], **sizes), row("b", [0.7, 0.7, 0.7], **sizes)
    plain = Interval.of(one.repeats["accuracy"] - other.repeats["accuracy"])
    shared = {"n_public": 180 / 800, "n_test": 0.22}.get(*sizes, 180 / 820) if sizes else 180 / 820
    fewest = 3 + next(n for n in range(1, 300) if t.ppf(0.975, n + 2) * np.sqrt(1 / (n + 3) + shared) < 1)
    gap = lead(one, other, "accuracy")
    assert gap.half_width == pytest.approx(plain.half_width * np.sqrt(1 + 3 * shared))
    assert gap.of_repeats(300).half_width > 0.3 * plain.standard_error  # however many splits there are
    assert gap.fewest_repeats(lambda wider: wider.sign != 0) == fewest
    assert gap.at(0.9).shared == gap.times(2).shared == shared


def test_every_eps_is_looked_at_before_it_is_said():
    better = {
        eps: [row("best", [0.9, 0.91, 0.9, 0.91], eps), row("b", [0.8, 0.81, 0.81, 0.8], eps)]
        for eps in (1.0, 2.0)
    }

    def said(rows):
        return sentences.headline(advise(Board("d", [one for pair in rows.values() for one in pair])))

    assert "`best` is the most accurate at every eps" in said(better)
    better[2.0][1] = row("b", [0.6, 0.95, 0.9, 0.91], 2.0)  # a lower mean, by one split
    assert "`best` is the most accurate: " in said(better)


def test_no_one_is_the_most_accurate_beside_one_that_is_not_told():
    rows = [row("best", [0.9, 0.91, 0.9, 0.91]), row("b", [0.85, 0.86, 0.85, 0.861])]
    rows.append(row("c", [0.5, 0.99, 0.9, 0.9], majority=0.5))  # behind `b`, and not told from `best`
    assert "`c` cannot be told from it" in sentences.headline(advise(Board("d", rows)))
    rows[2] = row("c", [0.84, 0.85, 0.84, 0.85], splits="t", seed="1")
    rows[0].columns["seed"] = rows[1].columns["seed"] = "0"
    assert "`c` cannot be told from it" in sentences.headline(advise(Board("d", rows)))


def test_what_is_not_shown_is_not_denied():
    """A wide interval over a constant answer is no proof that a model is of no use."""

    def verdicts(*values):
        each = row("best", values)
        return advise(
            Board("d", [row("b", [0.3, 0.29, 0.3]), each, row("majority class", [0.5] * 3)])
        ).verdicts

    assert verdicts(0.5, 0.9, 0.7) == {"best": UNSURE, "b": NO_USE}


def test_equal_values_show_no_spread_and_no_interval_is_rounded_to_nothing():
    assert Interval.of([0.92, 0.92, 0.92]).half_width is None
    assert Interval.of([0.92] * 10).half_width == pytest.approx(0)
    assert Interval.of([0.0, 0.0]).half_width is None
    assert Interval.pooled([Interval.of([0.9] * 3), Interval.of([0.8, 0.9])]).n == 5
    assert Interval.pooled([Interval.of([0.9] * 3), Interval.of([0.9] * 9)]).half_width == pytest.approx(0)
    for half, digits, text in (
        (0.04, 1, "2.00 ± 0.04"),
        (0.06, 1, "2.0 ± 0.1"),
        (0.00096, 1, "2.0000 ± 0.0010"),
        (1e-17, 1, "2.0 ± 0.0"),
    ):
        assert Interval(2.0, half, 3).text(digits) == text


@pytest.mark.parametrize("classes", [2, 3, 20])
def test_a_plan_knows_how_well_a_card_will_know_an_accuracy(classes):
    """Noise is on each count of a half of the table: with two of them, a plan said 9 points for 14."""
    evaluation, rng, B = Evaluation(200, classes, 1.0, 1e-4), np.random.default_rng(classes), 13
    table = rng.multinomial(200, np.full(2 * B, 1 / (2 * B)))
    if classes > 2:
        confused = np.zeros((classes, classes))
        right = table[B:].sum()
        np.fill_diagonal(confused, right / classes)
        confused[~np.eye(classes, dtype=bool)] = (200 - right) / (classes**2 - classes)
        table = np.concatenate([table, confused.ravel()])
    noisy = table + rng.normal(0, evaluation.sigma, len(table))
    values = (
        200,
        classes,
        evaluation.sigma,
        None,
        np.linspace(-3, 3, B - 1).tolist(),
        np.zeros((B, 5)).tolist(),
    )
    shown = figures(dict(zip(REPORT, (*values, noisy.tolist()), strict=True)))["figures"]["accuracy"]
    assert (shown["high"] - shown["low"]) / 2 == pytest.approx(evaluation.half_width, rel=0.1)


def test_what_is_rounded_claims_no_more():
    assert [guaranteed(eps) for eps in (1.0000004, 0.1 + 0.2, 1 / 3, 4.0, np.inf)] == [
        *("1.00001", "0.3", "0.333334", "4", "inf")
    ]
    assert rounded_down(0.99999, 3) == 0.999
    assert Percent(97.0, 94.6, 99.96).texts == ("97", "94 to 100")
    assert Percent(97.0, 96.66, 97.31).texts == ("97.0", "96.6 to 97.4")
    assert Percent(50.0, 40.0, 60.0).texts == ("50", "40 to 60")


def test_a_verdict_of_an_audit_has_no_more_confidence_than_it_has(capsys):
    argv = ["audit", "mechanism=gaussian", "eps=1", "--runs", "200", "--queries", "2", "--confidence"]
    for confidence, shown in (("0.57", "57"), ("0.9999999999", "99.999999")):
        assert cli.main([*argv, confidence]) == 0
        assert f"({shown}% confidence)" in capsys.readouterr().out


def test_two_results_are_compared_on_the_splits_that_both_have():
    """Ten splits of one and three of the other: the means of all differed by another number."""

    def frame(*accuracies):
        told = {"dataset": "d", "method": "a", "eps": 1.0, "splits": "s", "row": "r", "checksum": "c"}
        lines = [told | {"repeat": i, "status": "ok", "accuracy": x} for i, x in enumerate(accuracies)]
        return pd.DataFrame(lines).assign(reason=None, directory="x")

    first, second = frame(0.9, 0.91, 0.89, 0.5, 0.5), frame(0.8, 0.82, 0.78)
    for of in ((first, second), (second, first)):
        told = compare_two(*of)
        assert "90.0%" in told.answer
        assert "80.0%" in told.answer
        assert "by 10.0 ± " in told.answer
        (accuracies,) = (line for line in told.table.cells if line[0] == "accuracy, %")
        assert sorted(accuracies[1:3]) == ["80.0", "90.0"]
        assert any("splits the 3 that both have" in note for note in told.notes)


def test_what_is_said_of_splits_and_methods_is_of_those_compared():
    rows = [row("best", [0.9, 0.91, 0.9]), row("b", [0.7, 0.71, 0.71, 0.7, 0.7]), row("c", [0.8] * 3, 2.0)]
    advice = advise(Board("d", rows))
    assert "of those measured there: 90.3% at eps 1" in sentences.headline(advice)
    assert "No other method measured at eps 1 is as good, as far as 3 splits can tell." in sentences.lede(
        advice
    )
    assert not advice.same_splits
    assert advise(Board("d", rows[::2])).same_splits


def test_a_row_without_a_reason_has_none():
    told = {"dataset": "d", "method": "a", "eps": 1.0, "row": "r", "checksum": "c", "repeat": None}
    (found,) = rows_of(pd.DataFrame([told | {"status": "killed", "reason": None, "directory": "x"}]))
    assert (found.status, found.reason) == ("killed", "")


def test_a_constant_answer_is_named_where_it_is_the_one_that_was_counted():
    """Of balanced classes the largest of the data is often not that of the test: 54.9% were of the other."""

    def clause(share, found, others, accuracy):
        one = row("best", [accuracy], largest_class="n")
        more = {"majority_class": share, "recall.n": found, "recall.y": others}
        board = Board("d", [replace(one, repeats=one.repeats.assign(**more))])
        return sentences.constant_clause(advise(board))

    assert clause(0.54, 0.9, 0.7, 0.54 * 0.9 + 0.46 * 0.7) == "always answering “n” is right on 54.0%"
    other = "the most common class of held-out records has 54.0% of them"
    assert clause(0.54, 0.9, 0.7, 0.46 * 0.9 + 0.54 * 0.7) == other
    assert clause(0.54, 0.9, 0.9, 0.9) == other  # it cannot be told
    assert clause(0.94, 0.9, 0.9, 0.9) == "always answering “n” is right on 94.0%"


def test_a_test_file_is_known_beside_persons_and_evaluations(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({"x": rng.normal(size=600), "who": rng.integers(0, 300, 600)})
    frame["y"] = (frame["x"] > 0).map({True: "a", False: "b"})
    frame.to_csv("private.csv", index=False)
    frame.drop(columns="who")[:90].to_csv("test.csv", index=False)
    file = ["dataset=csv", "dataset.path=private.csv", "dataset.target=y", "split.public=30", "repeats=2"]
    no_persons = "dataset.drop=[who]"
    more = ["dataset.unit=who"], [no_persons, "evaluate=0.2"], [no_persons, "dataset.test=test.csv"]
    for number, options in enumerate(more):
        assert cli.main(["run", *file, *options, f"hydra.run.dir=run{number}"]) == 0
    sizes = [row["test_file"] for row in rows_of(read_repeats("."))]
    assert sizes.count(90) == 1
    assert sizes.count(None) == 2
