"""docs/statements.md, and the totals of docs/reproduce.md: ``python tests/docs/numbered.py``.

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

from pate_cli.engine import recipes as engine_recipes
from pate_cli.results.totals import Counted, once, shown, totals
from pate_cli.results.verdicts import SHOWN, VerdictWord, code_of

REPO = Path(__file__).resolve().parents[2]
PAGE = REPO / "docs" / "statements.md"
REPRODUCE = REPO / "docs" / "reproduce.md"
END = "<!-- end -->"
VERDICTS = REPO / "docs" / "verdicts.csv"

find_recipe = functools.cache(engine_recipes.find_recipe)  # asked for at each verdict
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
the statement, each claim once. Steps of proofs are not listed, nor
LZCW21's lemmas on learning in general (35 to 39, but 38) and on privacy (40 to 52).
"""


def cited(text: str) -> list[str]:
    """List the numbered statements that a text names, each after its paper."""
    found, paper = [], ""
    for match in _TOKEN.finditer(text):
        if match[1]:
            paper = match[1].replace(",", "")
        elif paper:
            found += [f"{paper} {match[2]} {number}" for number in expanded(match[3])]
    return found


def expanded(numbers: str) -> list[str]:
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


def kept_verdicts() -> list[Counted]:
    """Verdicts of the recipes that are, with their studies, as they were when they were run."""
    found = []
    for row in listed_rows():
        name, counted = row["claim"], find_recipe(row["recipe"]).counted_as(row["claim"])
        claim, judged = counted.claim_of(name), bool(row["half_width"] or row["margin"])
        found.append(
            Counted(row["recipe"], counted.kind, claim, counted.claim, code_of(row["verdict"]), judged)
        )
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


def told(statement: str, names: list[str], verdicts: list[Counted]) -> list[str]:
    """Recipes of a statement, each with its verdicts on claims that name the statement, each claim once."""
    parts = []
    for name in dict.fromkeys(names):
        claims: dict[tuple[str, str], list[VerdictWord]] = {}
        for one in verdicts:
            if one.recipe == name and statement in cited(one.claim):
                claims.setdefault((one.claim, one.kind), []).append(one.word)
        counts = Counter(shown(once(words), kind) for (_, kind), words in claims.items())
        text = ", ".join(f"{count} {word}" for word, count in counts.items())
        run = any(one.recipe == name for one in verdicts)
        parts.append(f"`{name}`: {text}" if text else f"`{name}`" if run else f"`{name}`: not run")
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
    return "".join(lines)


def listed_rows() -> list[dict[str, str]]:
    """Rows of docs/verdicts.csv of the recipes that are as they were when they were run."""
    rows = csv.DictReader(VERDICTS.read_text(encoding="utf-8").splitlines())
    return [row for row in rows if row["of"] == fingerprint(row["recipe"])]


def made(what: str) -> list[str]:
    """Lines of docs/reproduce.md that come from the verdicts, by the name in the mark before them."""
    kind, _, name = what.partition(" ")
    if kind == "totals":
        return totals(kept_verdicts())
    if kind == "errors":
        errors: dict[str, str] = {}
        for row in listed_rows():
            claim = find_recipe(row["recipe"]).counted_as(row["claim"]).claim_of(row["claim"])
            if code_of(row["verdict"]) == "error in the paper":
                errors.setdefault(claim, row["reason"].partition(": ")[2])
        return [f"{claim}: {reason}" for claim, reason in errors.items()]
    if kind == "open":
        rows: dict[str, list[str]] = {}
        for row in listed_rows():
            if code_of(row["verdict"]) == "undecided":
                needs = re.search(r"takes (?:about )?([\d,.]+ (?:repeats|times))", row["reason"])
                rows.setdefault(row["recipe"], []).append(needs[1] if needs else "")
        return [
            f"`{recipe}`: {len(needs)} row{'s' * (len(needs) > 1)}"
            + f"; {', '.join(filter(None, needs))}" * any(needs)
            for recipe, needs in rows.items()
        ]
    return [
        f"{row['claim']}: **{SHOWN[code_of(row['verdict'])]}**, {row['reason']}"
        for row in listed_rows()
        if row["recipe"] == name and shows(row)
    ]


def shows(row: dict[str, str]) -> bool:
    """Whether a row is listed below its recipe: what agrees is not, and errors have a list of their own."""
    agrees = row["verdict"] == "agrees" or row["reason"].startswith(("agrees: ", "reproduces: "))
    return not agrees and code_of(row["verdict"]) != "error in the paper"


def with_made(page: str) -> str:
    """docs/reproduce.md with the lines of `made` between each mark and its end."""

    def lines(mark: re.Match[str]) -> str:
        return f"<!-- made: {mark[1]} -->\n" + "".join(f"- {line}\n" for line in made(mark[1])) + END

    return re.sub(rf"<!-- made: ([\w -]+?) -->.*?{END}", lines, page, flags=re.DOTALL)


if __name__ == "__main__":
    if sys.argv[1:]:
        take(Path(sys.argv[1]))
    PAGE.write_text(render(), encoding="utf-8")
    REPRODUCE.write_text(with_made(REPRODUCE.read_text(encoding="utf-8")), encoding="utf-8")
