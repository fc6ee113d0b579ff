"""Algorithm 4 of LZCW21 on thresholds: against the loop as printed, and what it asks and learns."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest

from pate_cli.cli import main
from pate_cli.queries.disagreement import Disagreement
from pate_cli.types import UNANSWERED, Answer, PublicPoints


class Told:
    """A labelling service that says what was set down, and takes at most `most` questions."""

    def __init__(self, labels, most=10**9):
        self.labels, self.most, self.asked = labels, most, []

    @property
    def exhausted(self):
        return len(self.asked) >= self.most

    def answer_all(self, order):
        order = list(order)[: self.most - len(self.asked)]
        self.asked += order
        return [Answer(int(self.labels[i])) for i in order]


def as_printed(x, labels, order, rule, budget):
    """Lines 1 to 18, a set of thresholds and one point at a time; what was asked, and V."""
    values = sorted(set(x))
    V = {-math.inf, *((a + b) / 2 for a, b in itertools.pairwise(values)), math.inf}
    Q, c = [], 0
    for j, i in enumerate(order, start=1):
        if len({x[i] >= t for t in V}) == 2:
            Q.append(i)
            c += 1
        if math.log2(j).is_integer():
            wrong = {t: sum((x[k] >= t) != labels[k] for k in Q if labels[k] != UNANSWERED) for t in V}
            g = rule.failure / math.log2(2 * j) ** 2
            log_term = math.log(rule.theta) + math.log(1 / g)
            U = rule.constant * log_term / j + rule.constant * math.sqrt(rule.best_error * log_term / j)
            V = {t for t in V if wrong[t] - min(wrong.values()) <= U * j}
        if c >= budget:
            break
    return Q, V


@pytest.mark.parametrize("seed", range(10))
def test_it_is_the_printed_loop(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 70))
    x = rng.integers(0, 40, m) / 40  # with ties
    wrong = rng.random(m) < rng.choice([0.0, 0.1, 0.4])
    labels = ((x >= 0.4) ^ wrong).astype(int)
    labels[rng.random(m) < 0.1] = UNANSWERED
    rule = Disagreement(float(rng.choice([0.1, 0.5, 1.0])), 2.0, 0.05, float(rng.choice([0.0, 0.1])))
    budget, order = int(rng.integers(1, m + 20)), rng.permutation(m)
    oracle = Told(labels)
    answers, model = rule.learn(PublicPoints(x[:, None]), order, oracle, budget)
    Q, V = as_printed(x.tolist(), labels.tolist(), order.tolist(), rule, budget)
    assert answers.asked.tolist() == oracle.asked == Q
    assert answers.labels.tolist() == labels[Q].tolist()
    assert any(np.array_equal(x >= t, model.predict(x[:, None]) == 1) for t in V)


def test_without_noise_labels_are_logarithmic_and_the_threshold_is_found():
    rng = np.random.default_rng(0)
    rule, asked = Disagreement(0.2, 2.0, 0.05, 0.0), []
    for m in (1_000, 30_000):
        x = rng.random(m)
        answers, model = rule.learn(PublicPoints(x[:, None]), rng.permutation(m), Told(x >= 0.3), m)
        asked.append(answers.n_asked)
        assert np.mean((x >= 0.3) != model.predict(x[:, None])) <= 8 / m
    assert asked[0] < 60
    assert asked[1] < 2 * asked[0] + 20  # 30 times the points


def test_it_runs_from_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    usual = ["mechanism=active", "mechanism.hypotheses=thresholds", "eps=4.0", "hydra.run.dir=out"]
    data = ["dataset=thresholds", "dataset.n_records=6000", "dataset.noise=0.02", "teacher.estimator=tree"]
    assert main(["run", *usual, *data, "mechanism.constant=0.2", "split.public=300", "split.budget=60"]) == 0
    result = json.loads(next(Path("out").rglob("result.json")).read_text())
    text = json.dumps(result)
    assert '"active-exact"' in text
    capsys.readouterr()
    assert main(["run", *usual, "dataset.n_records=4000"]) == 2
    assert (
        "mechanism.hypotheses: got 'thresholds'; accepted: half_spaces; thresholds on one feature and two"
        in (capsys.readouterr().err)
    )
