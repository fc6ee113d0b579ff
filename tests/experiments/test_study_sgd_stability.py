"""What the study measures: fits that share everything but one record."""

from __future__ import annotations

import numpy as np
import pytest

from pate_cli.engine.recipes import find_recipe
from pate_cli.engine.studies import load_study

changes = load_study(find_recipe("sgd-stability")).changes


class Mean:
    """A learner whose stability is known: predicts the share of ones, so one record changes it by 1/n."""

    def fit(self, X, y):
        self.share = y.mean()
        return self

    def predict_proba(self, X):
        return np.tile([1 - self.share, self.share], (len(X), 1))


def test_one_record_is_replaced_and_no_more():
    n = 10
    squares, predicted = changes(Mean(), n, 3, 2, 4000, np.random.SeedSequence(0))
    assert squares.shape == predicted.shape == (4000, 2)
    assert set(np.round(squares.ravel() * n**2, 9)) == {0.0, 1.0}
    # labels are fair coins: half of the replacements change one; 5.2 standard errors of 4,000
    assert squares[:, 0].mean() * n**2 == pytest.approx(0.5, abs=0.042)
    # Steele's inequality is an equality for a mean: variance 1/(4n) = n/2 * 1/(2 n^2)
    assert predicted[:, 0].var() == pytest.approx(n / 2 * squares.mean(), rel=0.17)
