"""Studies by the names of their recipes."""

from __future__ import annotations

import pytest

from pate_cli.checks import read
from pate_cli.engine.recipes import find_recipe
from pate_cli.engine.studies import load_study


@pytest.fixture(scope="session")
def quick():
    """Run the quick version of a study, parameters changed as given: its result, and the steps it told."""

    def call(name, **over):
        recipe, steps = find_recipe(name), []
        study = load_study(recipe)
        p = read(recipe.params | recipe.quick | over, study.CHECKS)
        return study.run(p, lambda *step: steps.append(step)), steps

    return call
