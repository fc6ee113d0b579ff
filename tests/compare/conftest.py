"""A small frontier on generated data, and numbers made up for it."""

from __future__ import annotations

import pytest

from pate_cli.compare.baselines import BASELINES
from pate_cli.compare.boards import Board
from pate_cli.compare.methods import methods, plan_frontier
from pate_cli.engine.schedule import Results
from pate_cli.engine.store import RepeatRecord

COMMON = ("dataset.n_records=3000", "split.public=60", "teacher.size=20")


def unit(repeat, accuracy, answered=60):
    return RepeatRecord(
        repeat, 120, answered, answered, 1.0, 0.01, 1.0, accuracy, 0.1, {}, list(range(answered)), []
    )


@pytest.fixture
def made_up():
    """A board with given accuracies: {(method, eps): ([accuracy a repeat], answered)}."""

    def make(numbers, held=None, repeats=2):
        names = ",".join(dict.fromkeys(name for name, _ in numbers))
        budgets = sorted({eps for _, eps in numbers})
        plan = plan_frontier(COMMON, methods(names, []), budgets, repeats=repeats, limit=True)
        units = {
            f"{name} eps={eps:g}": [unit(repeat, one, answered) for repeat, one in enumerate(accuracies)]
            for (name, eps), (accuracies, answered) in numbers.items()
        }
        given = {name: [0.5] * repeats for name in BASELINES} | (held or {})
        units |= {name: [unit(r, one) for r, one in enumerate(given[name])] for name in BASELINES}
        return Board("made up", plan, Results(units))

    return make
