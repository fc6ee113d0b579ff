"""The printed table, and results.json with all rows, a line each, for a diff."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.rows import Row

__all__ = ["FILE", "Findings", "read", "show", "shown_rows", "write"]

FILE = "results.json"


@dataclass
class Findings:
    """Everything that was measured, and what could not be, by part.

    Attributes
    ----------
    machine : dict of str to dict
        For each part, the machine it was measured on, and its load.
    rows : list of Row
    skipped : dict of str to list of str
    """

    machine: dict[str, dict[str, str]] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    skipped: dict[str, list[str]] = field(default_factory=dict)

    def replace(self, part: str, rows: Sequence[Row], machine: dict[str, str], skipped: list[str]) -> None:
        """Put what was measured of a part in place of what was there of it."""
        self.rows = [row for row in self.rows if row.part != part] + list(rows)
        self.machine[part] = machine
        self.skipped[part] = skipped


def read(directory: Path) -> Findings:
    """Read what was written; nothing is there at first."""
    path = directory / FILE
    if not path.exists():
        return Findings()
    content = json.loads(path.read_text(encoding="utf-8"))
    return Findings(content["machine"], list(map(Row.of_content, content["rows"])), content["skipped"])


def write(findings: Findings, directory: Path) -> None:
    """Write a row a line: two files are compared by diff."""
    directory.mkdir(parents=True, exist_ok=True)
    rows = ",\n".join(f"  {json.dumps(row.content())}" for row in findings.rows)
    rest = json.dumps({"machine": findings.machine, "skipped": findings.skipped}, indent=1)
    text = rest.removesuffix("\n}") + f',\n "rows": [\n{rows}\n ]\n}}\n'
    (directory / FILE).write_text(text, encoding="utf-8")


def shown_rows(rows: Sequence[Row]) -> list[Row]:
    """Rows of the printed table: those with a target, of a family the worst."""
    worst: dict[str, Row] = {}
    for row in rows:
        if row.family and (row.family not in worst or row.badness > worst[row.family].badness):
            worst[row.family] = row
    return [row for row in rows if row.met is not None and (not row.family or worst[row.family] is row)]


def show(findings: Findings, picture: Path | None = None) -> None:
    """Print the machine, and a row for each target; to an SVG file, too, if one is named."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, record=True)
    if not console.is_terminal:
        console = Console(highlight=False, record=True, width=150)
    machines = list(findings.machine.values())
    said = {key: value for key, value in machines[0].items() if "load" not in key} if machines else {}
    console.print(", ".join(f"{key} {value}" for key, value in said.items()), style="dim", soft_wrap=True)
    table = Table(box=None, pad_edge=False, padding=(0, 1))
    for heading in ("part", "what", "value", "beside", "wanted", ""):
        table.add_column(heading, no_wrap=True)
    for row in shown_rows(findings.rows):
        name = row.name if not row.family else f"{row.family}, the worst: {row.name}"
        met = "[green]met[/]" if row.met else "[red]MISSED[/]"
        table.add_row(row.part, name, row.shown, row.beside, row.target, met)
    console.print(table)
    for reasons in findings.skipped.values():
        for reason in reasons:
            console.print(f"skipped: {reason}", markup=False, soft_wrap=True)
    if picture is not None:
        drawn = console.export_svg(title="make bench")
        # fonts of the reader's machine: a picture is not to load any from elsewhere
        picture.write_text(re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL), encoding="utf-8")
