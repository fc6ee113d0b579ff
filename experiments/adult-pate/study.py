"""What the data-dependent accounts say of the votes of each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pate_cli.results.findings import Findings
from pate_cli.results.means import MeasuredRow

CHECKS: dict[str, object] = {}


def finish(p: dict[str, Any], rows: Sequence[MeasuredRow], findings: Findings, _: object) -> Findings:
    """Add a note with the eps of the votes, which is not private, beside the guarantee."""
    told = [
        f"{row['name']}: {account.text(2)}"
        for row in rows
        if (account := row.over("eps_data_dependent")) is not None
    ]
    note = f"Data-dependent eps of these votes (private; a report, not a guarantee): {'; '.join(told)}"
    return replace(findings, notes=[*findings.notes, *([note] if told else [])])
