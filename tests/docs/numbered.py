"""docs/statements.md: ``python tests/docs/numbered.py``.

It lists the statements named in docs/constructions.md, in the `source` of a recipe, or by
`pate reproduce statements`, with the verdicts of docs/verdicts.csv. With a directory of `pate reproduce all`
(outputs/reproduce), docs/verdicts.csv is first written anew for the recipes in it.
"""

from __future__ import annotations

import csv
import functools
import hashlib
import itertools
import re
import sys
from collections import Counter
from pathlib import Path

import yaml
from pate_cli.experiments.statements import STATEMENTS

from pate_cli.engine.recipes import find_recipe
from pate_cli.results.verdicts import OWN, SHOWN, Verdict, code_of, totals

REPO = Path(__file__).resolve().parents[2]
PAGE = REPO / "docs" / "statements.md"
VERDICTS = REPO / "docs" / "verdicts.csv"
CONSTRUCTIONS = REPO / "docs" / "constructions.md"
COLUMNS = ("recipe", "of", "claim", "verdict", "seeds", "ours_less_claimed", "half_width", "margin", "reason")
PAPERS = ("BTT18", "BTT18 long", "NB20", "LZCW21", "LWY25")
KINDS = ("Algorithm", "Definition", "Theorem", "Lemma", "Claim", "Corollary", "Proposition", "Remark")
KINDS += ("Table", "Figure", "Example")
_NUMBERS = r"\d+(?:\.\d+)?(?:(?:, | and | to )\d+(?:\.\d+)?)*"
_TOKEN = re.compile(rf"(BTT18(?:,? long)?|NB20|LZCW21|LWY25)|({'|'.join(KINDS)})s? ({_NUMBERS})")

HEAD = """# The numbered statements, and where they are

Where each numbered statement of the papers is: the row of [constructions.md](constructions.md) that
implements it, *theory* where `pate reproduce statements` evaluates it for a problem of yours, and the recipes
of `pate reproduce` that measure it, with the [verdicts](reproduce.md#verdicts) of their claims that name
the statement, or of all their claims on the paper where none does. Steps of proofs are not listed, nor
LZCW21's lemmas on learning in general (35 to 39) and on privacy (40 to 52).
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


@functools.cache
def recipes() -> dict[str, list[str]]:
    """Names of recipes, by the statements they measure."""
    found: dict[str, list[str]] = {}
    for path in sorted((REPO / "experiments").glob("*/recipe.yaml")):
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        for statement in cited(content["source"]):
            found.setdefault(statement, []).append(path.parent.name)
    return found


def evaluated() -> set[str]:
    """Statements that `pate reproduce statements` evaluates."""
    return {statement.source for statement in STATEMENTS}


def fingerprint(name: str) -> str:
    """Hash a recipe and its study, lines of comments aside (12 hex digits)."""
    text = (REPO / "experiments" / name / "recipe.yaml").read_text(encoding="utf-8")
    study = REPO / "experiments" / name / "study.py"
    if study.is_file():
        lines = study.read_text(encoding="utf-8").splitlines()
        text += "\n".join(line for line in lines if not line.lstrip().startswith("#"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def kept_verdicts() -> dict[str, list[tuple[str, str]]]:
    """Claims and words by recipe, of those whose recipe and study are as they were."""
    found: dict[str, list[tuple[str, str]]] = {}
    for row in csv.DictReader(VERDICTS.read_text(encoding="utf-8").splitlines()):
        if (REPO / "experiments" / row["recipe"]).is_dir() and row["of"] == fingerprint(row["recipe"]):
            found.setdefault(row["recipe"], []).append((row["claim"], SHOWN[code_of(row["verdict"])]))
    return found


def take(directory: Path) -> None:
    """Make docs/verdicts.csv of what `pate reproduce all` wrote, and of the other recipes as it has them."""
    rows = []
    if VERDICTS.exists():
        rows = list(csv.DictReader(VERDICTS.read_text(encoding="utf-8").splitlines()))
    made = list(csv.DictReader((directory / "table.csv").read_text(encoding="utf-8").splitlines()))
    rows = [row for row in rows if row["recipe"] not in {one["recipe"] for one in made}]
    rows += [{"of": fingerprint(one["recipe"]), **one} for one in made]
    with VERDICTS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n", extrasaction="ignore", restval="")
        writer.writeheader()
        writer.writerows(sorted(rows, key=lambda row: row["recipe"]))


def told(statement: str, names: list[str], verdicts: dict[str, list[tuple[str, str]]]) -> list[str]:
    """Recipes of a statement, each with its verdicts; questions of our own are not counted."""
    kind_and_number = " ".join(statement.rsplit(" ", 2)[1:])
    parts = []
    for name in dict.fromkeys(names):
        if name not in verdicts:
            parts.append(f"`{name}`: not run")
            continue
        said = re.compile(rf"\b{re.escape(kind_and_number)}\b(?!\.\d)".replace("Theorem", "(?:Theorem|Thm)"))
        own = [word for claim, word in verdicts[name] if said.search(claim)]
        counts = Counter(word for word in own or [word for _, word in verdicts[name]] if word != SHOWN[OWN])
        shown = ", ".join(f"{count} {word}" for word, count in counts.items())
        parts.append(f"`{name}`: {shown}" if shown else f"`{name}`")
    return parts


def _listed(statements: list[str]) -> str:
    """Statements of one paper, those of one kind together: "Theorems 3.4, 3.5, Remark 2"."""
    parts = []
    for kind, same in itertools.groupby(statements, lambda statement: statement.split(" ")[0]):
        numbers = [statement.split(" ")[1] for statement in same]
        many = kind.removesuffix("y") + "ies" if kind.endswith("y") else f"{kind}s"
        parts.append(f"{many if len(numbers) > 1 else kind} {', '.join(numbers)}")
    return ", ".join(parts)


def render() -> str:
    """Write the page."""
    made, measured, theory, verdicts = constructions(), recipes(), evaluated(), kept_verdicts()
    rows: dict[tuple[str, str], list[str]] = {}  # statements of one paper with the same answer share a row
    for statement in sorted({*made, *measured, *theory}, key=_order):
        where = list(dict.fromkeys(made.get(statement, [])))
        where += ["theory"] * (statement in theory) + told(statement, measured.get(statement, []), verdicts)
        paper, kind, number = statement.rsplit(" ", 2)
        rows.setdefault((paper, "; ".join(where)), []).append(f"{kind} {number}")
    lines = [HEAD]
    for paper, same in itertools.groupby(rows, lambda row: row[0]):
        lines += [f"\n## {paper}\n\n", *(f"- {_listed(rows[row])}: {row[1]}\n" for row in same)]
    return "".join(lines) + f"\n**Totals**: {counted(verdicts)}.\n"


def counted(verdicts: dict[str, list[tuple[str, str]]]) -> str:
    """Totals of the kept verdicts, without questions of our own."""
    return totals(
        [
            Verdict(claim, code, "", label=find_recipe(name).label_of(claim) or OWN * (code == OWN))
            for name, claims in verdicts.items()
            for claim, word in claims
            for code in [code_of(word)]
        ]
    )


if __name__ == "__main__":
    if sys.argv[1:]:
        take(Path(sys.argv[1]))
    PAGE.write_text(render(), encoding="utf-8")
