"""docs/statements.md, where each numbered statement of the papers is: ``python tests/docs/numbered.py``.

Made of what is there: the papers named by docs/constructions.md and by each recipe's `source`, and the
statements of `pate plan --theory`. So it goes wrong only where these do.
"""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from pate_cli.theory import STATEMENTS, TheoryProblem

REPO = Path(__file__).resolve().parents[2]
PAGE = REPO / "docs" / "statements.md"
PAPERS = ("BTT18", "BTT18 long", "NB20", "LZCW21", "LWY25")
KINDS = ("Algorithm", "Definition", "Theorem", "Lemma", "Claim", "Corollary", "Proposition", "Remark")
KINDS += ("Table", "Figure", "Example")
_NUMBERS = r"\d+(?:\.\d+)?(?:(?:, | and | to )\d+(?:\.\d+)?)*"
_TOKEN = re.compile(rf"(BTT18(?:,? long)?|NB20|LZCW21|LWY25)|({'|'.join(KINDS)})s? ({_NUMBERS})")
_PROBLEM = TheoryProblem(n=60_000, m=400, eps=1.0, delta=1 / 60_000, d=6)

HEAD = """# The numbered statements, and where they are

Implemented: a row of [constructions.md](constructions.md). Evaluated: `pate plan --theory` gives its numbers
for a problem of yours, with these constants. Measured: `pate reproduce NAME` runs it, and its report has our
number, the interval and the verdict. LZCW21's lemmas on learning in general (35 to 39) and on privacy (40 to
52) are used and not listed. `python tests/docs/numbered.py` makes this page of those three; a test compares.

<!-- tested: tests/docs/test_statements_page.py -->
| statement | implemented | evaluated | measured |
|---|---|---|---|
"""


def cited(text: str) -> list[str]:
    """List the numbered statements that a text names, each after its paper."""
    found, paper = [], ""
    for match in _TOKEN.finditer(text):
        if match[1]:
            paper = match[1].replace(",", "")
        elif paper:
            found += [f"{paper} {match[2]} {number}" for number in _expanded(match[3])]
    return found


def _expanded(numbers: str) -> list[str]:
    """Numbers of "3.2, 3.4 and 3.5" or of "6 to 8"."""
    first, to, last = numbers.partition(" to ")
    if to:
        return [str(number) for number in range(int(first), int(last) + 1)]
    return re.split(r", | and ", numbers)


def _order(statement: str) -> tuple[int, int, list[int]]:
    paper, kind, number = statement.rsplit(" ", 2)
    return PAPERS.index(paper), KINDS.index(kind), [int(part) for part in number.split(".")]


def constructions() -> dict[str, list[str]]:
    """Names of constructions, by the statements they are."""
    found: dict[str, list[str]] = {}
    for line in (REPO / "docs" / "constructions.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("| ") and not line.startswith("| construction"):
            name, papers = (cell.strip() for cell in line.strip("|").split("|")[:2])
            for statement in cited(papers):
                found.setdefault(statement, []).append(name)
    return found


def recipes() -> dict[str, list[str]]:
    """Names of recipes, by the statements they measure."""
    found: dict[str, list[str]] = {}
    for path in sorted((REPO / "experiments").glob("*/recipe.yaml")):
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        for statement in cited(content["source"]):
            found.setdefault(statement, []).append(path.parent.name)
    return found


def evaluated() -> dict[str, str]:
    """Constants of the statements of `pate plan --theory`."""
    found = {}
    for statement in STATEMENTS:
        constants = [quantity.constants for quantity in statement.evaluate(_PROBLEM)]
        found[statement.source] = "; ".join(dict.fromkeys(constants))
    return found


def render() -> str:
    """Write the page."""
    made, measured, theory = constructions(), recipes(), evaluated()
    lines = []
    for statement in sorted({*made, *measured, *theory}, key=_order):
        names = ", ".join(f"`{name}`" for name in dict.fromkeys(measured.get(statement, [])))
        where = "; ".join(dict.fromkeys(made.get(statement, [])))
        lines.append(f"| {statement} | {where} | {theory.get(statement, '')} | {names} |\n")
    return HEAD + "".join(lines)


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
