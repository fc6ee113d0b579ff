"""Text of the site that is made from the code: every key, every command, the notebook as a page.

`docs/conf.py` appends it to the page of that name; the tests read it without building the site.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parents[2]

_KEY = re.compile(r"^(\s*)([\w-]+):(?:\s+(.*?))?(?:\s+# (.*))?$")
_ABOUT = {
    "teacher": "`teacher.estimator` is one of the names below, or the import path of a classifier;"
    " `teacher.params` are its parameters. `teacher.size`: records a teacher (persons, with `dataset.unit`),"
    " at least 1; `teacher.count`: how many teachers instead, or `auto`, from public numbers.",
    "student": "`student.estimator` and `student.params` as of a teacher. `student.unanswered`: what becomes"
    " of points without an answer, `drop`, or `random` labels.",
}


def keys() -> str:
    """Tables of all configuration keys: default, accepted values, meaning."""
    out = ["## Of every run", "", *_table(REPO / "conf/config.yaml", "", _of_every_run()), ""]
    for group in ("dataset", "mechanism", "features", "teacher", "student", "compute"):
        out += [f"## `{group}`", "", *([_ABOUT[group], ""] if group in _ABOUT else [])]
        for file in sorted((REPO / "conf" / group).glob("*.yaml")):
            out += [f"### `{group}={file.stem}`", "", _said(file), ""]
            out += [*_table(file, f"{group}.", _accepted(group, file)), ""]
    return "\n".join(out)


def _said(file: Path) -> str:
    """Give the sentences at the head of a file of options."""
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    text = " ".join(line.lstrip("# ") for line in lines if "@package" not in line)
    return re.sub(r"Example: (pate .*?)(?=  |$)", r"Example: `\1`", text.strip())


def _accepted(group: str, file: Path) -> dict[str, str]:
    """Give what is accepted for each option that is declared with its check."""
    from pate_cli import datasets, mechanisms
    from pate_cli.config import run_config

    if group not in ("dataset", "mechanism"):
        return _checks(getattr(run_config, f"{group.capitalize()}Config"), f"{group}.")
    name = re.search(r"^\s*name: (\S+)", file.read_text(encoding="utf-8"), re.MULTILINE)
    module = (datasets if group == "dataset" else mechanisms).find(name[1] if name else file.stem)
    return _checks(module.Options, f"{group}.")


def _of_every_run() -> dict[str, str]:
    """Accepted values of the keys outside the groups."""
    from pate_cli.config.run_config import RunConfig, SplitConfig

    return _checks(RunConfig, "") | _checks(SplitConfig, "split.")


def _checks(options: Any, prefix: str) -> dict[str, str]:
    """Accepted values of the fields of a dataclass, by key."""
    checked = [field for field in fields(options) if "check" in field.metadata]
    return {prefix + field.name: field.metadata["check"].describe() for field in checked}


def _table(file: Path, prefix: str, accepted: dict[str, str]) -> list[str]:
    """Give the rows of one file: keys with their defaults and comments, and options it does not name."""
    rows: dict[str, tuple[str, str]] = {}
    above: list[tuple[int, str]] = []
    for line in file.read_text(encoding="utf-8").splitlines():
        found = _KEY.match(line)
        if not found or line.lstrip().startswith("#"):
            continue
        depth, name, value, comment = len(found[1]), found[2], found[3], found[4] or ""
        if value is not None and value.startswith("# "):
            value, comment = None, value[2:]
        above = [(at, key) for at, key in above if at < depth]
        if name in ("defaults", "hydra") and not depth:
            above.append((depth, name))
            continue
        if above and above[0][1] in ("defaults", "hydra"):
            continue
        path = ".".join([*(key for _, key in above), name])
        if value is None:
            above.append((depth, name))
            if not comment:
                continue
        full = path if path.startswith(prefix) or path.split(".")[0] in _GROUPS else prefix + path
        rows[full] = (value or "", comment)
    for name in accepted:
        rows.setdefault(name, ("", ""))
    if not rows:
        return ["No keys of its own."]
    lines = ["::::{div} keys", "| key | default | accepted values; meaning |", "|---|---|---|"]
    for name, (value, comment) in rows.items():
        meaning = "; ".join(text for text in (accepted.get(name), comment) if text)
        cells = (f"`{name}`", f"`{value}`" if value else "", meaning)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return [*lines, "::::"]


_GROUPS = ("dataset", "mechanism", "features", "teacher", "student", "compute", "split")


def commands() -> str:
    """Help of every command, as it is printed."""
    from pate_cli.cli import COMMANDS

    lines = []
    for command in ("", *COMMANDS):
        argv = [sys.executable, "-m", "pate_cli", *command.split(), "--help"]
        done = subprocess.run(argv, capture_output=True, text=True, check=True)
        lines += [f"## `{f'pate {command}'.strip()}`", "", "```text", done.stdout.rstrip(), "```", ""]
    return "\n".join(lines)


def notebook() -> str:
    """Cells of docs/notebook.ipynb: text as it is, code as blocks."""
    cells = json.loads((REPO / "docs/notebook.ipynb").read_text(encoding="utf-8"))["cells"]
    texts = [("".join(cell["source"]), cell["cell_type"]) for cell in cells]
    return "\n\n".join(text if kind == "markdown" else f"```python\n{text}\n```" for text, kind in texts)


# page below docs/, without its ending, and the function that makes the rest of its text
PAGES = {"reference/keys": keys, "reference/commands": commands, "reference/notebook": notebook}
