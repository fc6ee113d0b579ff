"""Sentences follow from the numbers, whichever way they came out."""

from __future__ import annotations

import pandas as pd

from pate_cli.results.boards import ALL_PRIVATE, BASELINES, LIMIT, MAJORITY, Board
from pate_cli.results.means import MeasuredRow
from pate_cli.results.statements import frontier_statements as frontier


def row(method, eps, accuracies):
    frame = pd.DataFrame({"accuracy": accuracies}, dtype=float)
    status, reason = ("ok", "") if accuracies else ("infeasible", "too few teachers")
    return MeasuredRow({"dataset": "made up", "method": method, "eps": float(eps)}, frame, status, reason)


def made_up(numbers, known=None):
    """A board with given accuracies: {(method, eps): ([accuracy a repeat], answered)}."""
    rows = [row(method, eps, accuracies) for (method, eps), (accuracies, _) in numbers.items()]
    baselines = {name: [0.5, 0.5] for name in BASELINES} | (known or {})
    return Board("made up", [*rows, *(row(name, "inf", known) for name, known in baselines.items())])


def test_best_and_its_distance_to_the_ceiling():
    board = made_up(
        {
            ("gaussian", 1): ([0.7, 0.7], 60),
            ("noisy_gd", 1): ([0.8, 0.81], 0),
            ("active", 1): ([0.79, 0.815], 9),
        },
        {ALL_PRIVATE: [0.9, 0.92], LIMIT: [0.95, 0.97]},
    )
    releases = {("noisy_gd", 1): ["dataset=a b", "mechanism=noisy_gd"]}
    assert frontier(board, releases)[-2:] == [
        "At eps 1 use mechanism=noisy_gd (0.8050 ± 0.0635; 15.5 ± 6.4 points below the best model "
        "without privacy); active may be as good.",
        "The release: pate run release=true 'dataset=a b' mechanism=noisy_gd eps=1. This choice looked at "
        "private records; that of pate tune is in its guarantee.",
    ]


def test_no_better_than_a_constant():
    board = made_up(
        {("gaussian", 1): ([0.5, 0.7], 60), ("gaussian", 2): ([0.7, 0.7], 60)}, {MAJORITY: [0.5, 0.51]}
    )
    said = frontier(board)
    assert said[0] == "gaussian is not better than a constant answer, as far as can be told, at eps 1."
    assert said[1] == "At eps 1 no method is better than a constant answer, as far as can be told."
    assert said[2].startswith("At eps 2 use gaussian (")


def test_what_is_infeasible_is_said():
    said = frontier(made_up({("gaussian", 0.01): ([0.8, 0.8], 60), ("svt", 0.01): ([], 0)}))
    assert said[0] == "svt is infeasible at eps 0.01: too few teachers"
