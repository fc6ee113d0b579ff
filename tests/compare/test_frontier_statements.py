"""Sentences follow from the numbers, whichever way they came out."""

from __future__ import annotations

from pate_cli.compare.baselines import ALL_PRIVATE, LIMIT, MAJORITY
from pate_cli.compare.statements import frontier


def test_where_sparse_vector_wins_loses_and_cannot_be_told(made_up):
    board = made_up(
        {
            ("gaussian", 1): ([0.80, 0.81], 60),
            ("svt", 1): ([0.70, 0.72], 60),
            ("gaussian", 2): ([0.80, 0.81], 60),
            ("svt", 2): ([0.90, 0.92], 60),
            ("gaussian", 4): ([0.80, 0.90], 60),
            ("svt", 4): ([0.90, 0.80], 60),
        }
    )
    said = next(text for text in frontier(board) if text.startswith("svt against gaussian"))
    assert said == (
        "svt against gaussian, accuracy at the same splits: better at eps 2 (+0.1050 ± 0.0635); "
        "worse at eps 1 (-0.0950 ± 0.0635); no difference that can be told at eps 4 (+0.0000 ± 1.2706)."
    )


def test_each_is_held_against_who_asks_alike_or_against_all_and_infeasible_cells_are_said(made_up):
    numbers = {(name, 4): ([0.8, 0.81], 60) for name in ("gaussian", "active", "svt", "active-svt")}
    said = [text.partition(",")[0] for text in frontier(made_up(numbers)) if " against " in text]
    assert said == ["svt against gaussian", "active-svt against active"]
    said = frontier(made_up({("gaussian", 0.01): ([0.8, 0.8], 60), ("svt", 0.01): ([], 0)}))
    start = "svt against gaussian, accuracy at the same splits: "
    assert f"{start}better nowhere; infeasible at eps 0.01." in said
    assert any(text.startswith("svt is infeasible at eps 0.01: mechanism=svt cannot answer") for text in said)


def test_best_and_its_distance_to_the_ceiling(made_up):
    board = made_up(
        {
            ("gaussian", 1): ([0.7, 0.7], 60),
            ("noisy_gd", 1): ([0.8, 0.81], 0),
            ("active", 1): ([0.79, 0.815], 9),
        },
        {ALL_PRIVATE: [0.9, 0.92], LIMIT: [0.95, 0.97]},
    )
    assert frontier(board)[0] == (
        "At eps 1 the best mean accuracy is that of noisy_gd, 0.8050 ± 0.0635; the difference to active is "
        "within its interval. All private records, without privacy, give +0.1050 ± 0.0635 more; the "
        "best model without privacy gives "
        "+0.1550 ± 0.0635 more."
    )


def test_queries_answered_by_two_calibrations(made_up):
    board = made_up(
        {
            ("svt", 4): ([0.8, 0.8], 30),
            ("svt-liu2021", 4): ([0.8, 0.8], 20),
            ("svt", 50): ([0.8, 0.8], 60),
            ("svt-liu2021", 50): ([0.8, 0.8], 4),
            ("svt", 1): ([0.8, 0.8], 12),
            ("svt-liu2021", 1): ([], 0),
        }
    )
    said = [text for text in frontier(board) if " with liu2021 " in text]
    answers = "with liu2021 svt-liu2021 answers"
    assert said == [
        "At eps 1, of 60 queries, svt answers 12.0 ± 0.0; with liu2021 svt-liu2021 is infeasible.",
        f"At eps 4, of 60 queries, svt answers 30.0 ± 0.0; {answers} 20.0 ± 0.0: 1.5 times as many.",
        f"At eps 50, of 60 queries, svt answers 60.0 ± 0.0; {answers} 4.0 ± 0.0: 15.0 times as many.",
    ]


def test_no_better_than_a_constant(made_up):
    board = made_up(
        {("gaussian", 1): ([0.5, 0.7], 60), ("gaussian", 2): ([0.7, 0.7], 60)}, {MAJORITY: [0.5, 0.51]}
    )
    said = "gaussian is not better than a constant answer, as far as can be told, at eps 1."
    assert said in frontier(board)
