"""Numbers in the sentences of the docs: each is a name, or is computed here from code and verdicts.

`phrases.py` has a function a page, for what it says with numbers filled in. A phrase that the page has not,
or a number of the page in no phrase and no name, fails. Code, and blocks and tables with a note, are
checked where `pages.py` says; lines made of verdicts in `test_statements_page.py`.
"""

from __future__ import annotations

import re

import numbered
import pytest
from numbered import KINDS
from pages import REPO, blocks, pages
from phrases import PHRASES, lines

REFERENCE = sorted((REPO / "docs" / "reference").glob("*.md"))
NUMBER = r"\d+(?:\.\d+)*"
SEVERAL = rf"{NUMBER}(?:(?:, | and | to ){NUMBER})*"
PLACE = rf"({'|'.join(KINDS)}|[Ss]ection)(?:s|ies)? ({SEVERAL})"
NAMES = [
    r"`[^`]+`",  # commands and keys: `test_pages.py`, `test_constructions.py`
    r"\]\([^)]*\)",
    r"<!--.*?-->|</?[a-z][^<>]*>",
    rf"{PLACE}|(?:line|step) \d|L[12]\b|SHA-256|\[0, 1\]|\b1/[a-z]\b|\bmu\^2",
    rf"\((?:long: )?{NUMBER}(?: in its proofs)?\)",  # the number in another version of the paper
    r"(?:BTT18|NB20|LZCW21|LWY25)",
    r"(?:\b[A-Z]\w+|al\.),? \(?20\d\d(?:, 20\d\d)*\)?|arXiv \d{4}\.\d{5}",
    r"\b(?:eps|delta|T|tau)(?: = | )\.?\d[\d.e-]*(?: ?/ ?\.?\d[\d.]*)*(?! [a-z]+s\b)",  # a setting
    r"\bT \+ 1\b",
    r"T\^2|\ba9a\b",  # Hotelling's; a data set
]


def prose(page: str) -> str:
    """Sentences and tables of a page that nothing else checks, in one line."""
    path = REPO / page
    if path == numbered.PAGE:  # made, but for this
        return numbered.HEAD
    lines = path.read_text(encoding="utf-8").splitlines()
    for block in blocks(path):
        own = "test_numbers" in block.what or path == numbered.CONSTRUCTIONS
        if block.table and block.kind in ("prints", "claims", "tested") and not own:
            lines[block.line - 1 : block.line - 1 + len(block.lines)] = [""] * len(block.lines)
    lines = [re.sub(r"^(?:#+ |\| )?\d(?:\.| \|) ", "", line) for line in lines]  # of a list
    made_or_code = rf"<!-- made: .*?{numbered.END}|^```.*?^```$|^    [^\n]*$"
    return " ".join(re.sub(made_or_code, "", "\n".join(lines), flags=re.M | re.S).split())


def places(text: str) -> set[str]:
    """Statements, tables and sections of papers that a text names, each with its kind."""
    every = re.findall(PLACE, text)
    return {f"{kind.lower()} {number}" for kind, some in every for number in numbered.expanded(some)}


CODE = [path for room in ("pate_cli", "experiments") for path in (REPO / room).rglob("*.*")]
CODE = [path for path in CODE if path.suffix in (".py", ".yaml")]
CITED = places(" ".join(path.read_text(encoding="utf-8") for path in [*CODE, numbered.PAGE]))


def unexplained(text: str, phrases: list[str]) -> list[str]:
    """Numbers of a text outside phrases and names, with what stands around them."""
    for phrase in sorted(phrases, key=len, reverse=True):
        text = re.sub(rf"(?<![\w.]){re.escape(phrase)}(?!\w|[.,]\d)", "…", text)
    for name in NAMES:
        text = re.sub(name, "…", text)
    return re.findall(r".{0,30}\d[\d.,]*.{0,20}", text)


@pytest.mark.parametrize("page", [str(page.relative_to(REPO)) for page in [*pages(), *REFERENCE]])
def test_every_number_in_a_sentence_is_a_name_or_computed(page):
    text, phrases = prose(page), lines(PHRASES[page]()) if page in PHRASES else []
    absent = [phrase for phrase in phrases if phrase not in text]
    assert not absent, f"not on the page: {absent}"
    assert not (places(text) - CITED), "cited nowhere else"
    assert not (numbers := unexplained(text, phrases)), "\n".join(["of no phrase or name:", *numbers])


def test_a_number_of_no_phrase_is_found():
    text = "At eps = 1 it errs on 3.5% of 400 points (LZCW21, Theorem 3.2)"
    assert unexplained(text, []) == ["At … it errs on 3.5% of 400 points (…, …)"]
    assert unexplained(text, ["errs on 3.5% of 400 points"]) == []
    assert unexplained(text.replace("400", "4001"), ["errs on 3.5% of 400"]) != []
