"""Output directory of a recipe, a frontier or a leaderboard; writing and printing of its findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from pate_cli.report.findings import Findings
from pate_cli.report.output import check, write
from pate_cli.terminal import err, out

__all__ = ["checked_directory", "publish"]


def checked_directory(given: Path | None, default: Path) -> Path:
    """Choose the directory for the results, and check before the work that it can be written."""
    directory = given or default
    check(directory, default=given is None)
    return directory


def publish(
    findings: Findings, directory: Path, lines: Iterable[str] = (), remarks: Iterable[str] = ()
) -> int:
    """Write all files; print table, verdicts, `lines`, `remarks` and failures. 1 if there are failures."""
    write(directory, findings)
    findings.table.show()
    counts = Counter(verdict.verdict for verdict in findings.rows)
    rows = ["rows: " + ", ".join(f"{count} {word}" for word, count in counts.items())] if counts else []
    claims = [f"{verdict.verdict}: {verdict.name}" for verdict in findings.claims]
    for line in (*rows, *claims, *lines):
        out().print(line, markup=False, soft_wrap=True)
    for remark in remarks:
        err().print(f"pate: {remark}", markup=False, soft_wrap=True)
    err().print(f"written to {directory}", style="dim", markup=False, soft_wrap=True)
    for failure in findings.failures:
        err().print(f"pate: {failure}", markup=False, soft_wrap=True)
    return 1 if findings.failures else 0
