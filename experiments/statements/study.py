"""The papers' theorems on one problem: a row for each quantity that a statement gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import pandas as pd

from pate_cli.checks import Check
from pate_cli.results.findings import Progress, StudyResult

from . import STATEMENTS, TheoryProblem

CHECKS: dict[str, Check] = {one.name: one.metadata["check"] for one in fields(TheoryProblem)}


def run(p: Mapping[str, Any], progress: Progress) -> StudyResult:
    """Evaluate every statement."""
    problem, rows = TheoryProblem(**p), []
    for number, statement in enumerate(STATEMENTS, start=1):
        for quantity in statement.evaluate(problem):
            row = {"statement": statement.source, "of": statement.about, "quantity": quantity.name}
            rows.append(row | {"value": quantity.value, "constants": quantity.constants})
        progress(number, len(STATEMENTS))
    return StudyResult(pd.DataFrame(rows), {})
