import itertools

import numpy as np
import pytest

from pate_cli.mechanisms.votes import distance_to_instability, majority


def _histograms(n_votes, n_classes):
    for cuts in itertools.combinations_with_replacement(range(n_votes + 1), n_classes - 1):
        yield np.diff([0, *cuts, n_votes])


@pytest.mark.parametrize(("n_votes", "n_classes"), [(9, 2), (10, 2), (9, 3), (8, 4)])
def test_distance_by_brute_force(n_votes, n_classes):
    """Over all histograms and all single moves: sensitivity 1, and a positive distance is stable."""
    for counts in _histograms(n_votes, n_classes):
        dist, label = distance_to_instability(counts[None])[0], majority(counts[None])[0]
        assert dist >= 0
        for source, target in itertools.permutations(range(n_classes), 2):
            if counts[source] == 0:
                continue
            moved = counts.copy()
            moved[source] -= 1
            moved[target] += 1
            assert abs(distance_to_instability(moved[None])[0] - dist) <= 1
            if dist > 0:
                assert majority(moved[None])[0] == label


def test_unanimity_has_the_largest_distance():
    assert distance_to_instability(np.array([[0, 65], [65, 0]])).tolist() == [32, 32]
    assert distance_to_instability(np.array([[32, 33], [33, 32], [31, 34]])).tolist() == [0, 0, 1]


def test_ties_go_to_the_higher_class_as_in_lzcw21():
    assert majority(np.array([[5, 5], [6, 4], [4, 6]])).tolist() == [1, 0, 1]
    assert majority(np.array([[3, 3, 0], [2, 2, 2]])).tolist() == [1, 2]
