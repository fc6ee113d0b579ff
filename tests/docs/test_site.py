"""The site of `make docs`, without building it: every page, every link, every key."""

from __future__ import annotations

import dataclasses
import importlib
import re
import sys

import pytest
from pages import REPO, pages

from pate_cli import datasets, mechanisms
from pate_cli.cli import COMMANDS
from pate_cli.config import hydra_composition

sys.path.insert(0, str(REPO / "docs/site"))
generated = importlib.import_module("generated")
sys.path.pop(0)

DOCS = REPO / "docs"
REFERENCE = sorted((DOCS / "reference").glob("*.md"))
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def name_of(path):
    """Path below docs/, without its ending."""
    return path.relative_to(DOCS).with_suffix("").as_posix()


def anchors(text):
    """Names that headings get."""
    found = set()
    for title in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
        plain = re.sub(r"[^\w\s-]", "", title.replace("`", "")).strip().lower()
        found.add(re.sub(r"[\s-]+", "-", plain))
    return found


@pytest.mark.parametrize("page", [*pages(), *REFERENCE], ids=lambda page: page.name)
def test_every_link_leads_to_a_file_or_a_heading(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        found = (page.parent / name).resolve() if name else page
        assert found.exists(), f"{page.name}: {target}"
        assert not anchor or anchor in anchors(found.read_text(encoding="utf-8")), f"{page.name}: {target}"
        inside = found.is_file() and (found.suffix != ".md" or found.is_relative_to(DOCS))
        assert page.name == "README.md" or inside, f"{page.name}: {target} is not on the site"


def test_every_page_is_in_one_table_of_contents():
    listed = []
    for page in [*pages()[1:], *REFERENCE]:
        for block in re.findall(r"```{toctree}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            entries = [line for line in block.splitlines() if line and not line.startswith(":")]
            names = [re.sub(r"^.*<(.*)>$", r"\1", entry) for entry in entries]
            listed += [name_of(page.parent / f"{name}.md") for name in names]
    assert sorted(listed) == sorted({name_of(page) for page in [*pages()[1:], *REFERENCE]} - {"index"})


def test_the_reference_has_every_key_with_its_accepted_values():
    text = generated.keys()
    sections = dict(re.findall(r"^### `(\w+=[\w-]+)`\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL))
    for group in ("dataset", "mechanism"):
        for file in sorted((REPO / "conf" / group).glob("*.yaml")):
            module = (datasets if group == "dataset" else mechanisms).find(file.stem)
            section = sections[f"{group}={file.stem}"]
            for field in dataclasses.fields(module.Options):
                row = next(line for line in section.splitlines() if f"`{group}.{field.name}`" in line)
                assert field.metadata["check"].describe().replace("|", "\\|") in row
    for group in ("features", "teacher", "student", "compute"):
        for file in sorted((REPO / "conf" / group).glob("*.yaml")):
            assert f"{group}={file.stem}" in sections
    whole = hydra_composition.compose(["mechanism=svt"])
    for key, value in whole.items():
        for name in [f"{key}.{inner}" for inner in value] if isinstance(value, dict) else [key]:
            assert f"`{name}`" in text, name


def test_the_reference_has_every_module_of_the_accounting():
    text = "".join(page.read_text(encoding="utf-8") for page in REFERENCE)
    modules = {file.stem for file in (REPO / "pate_cli/privacy").glob("*.py")} - {"__init__"}
    assert modules == set(re.findall(r"automodule:: pate_cli\.privacy\.(\w+)", text))


def test_every_command_is_on_a_page_that_was_written_by_hand():
    text = "".join(page.read_text(encoding="utf-8") for page in pages())
    assert [command for command in COMMANDS if not re.search(rf"pate {command}\b", text)] == []


COMMIT = re.compile(
    r"(?<![\w.-])(?=[0-9a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}(?![\w-])|\bcommits? `?[0-9a-f]{7,40}\b"
)


def test_no_page_names_a_commit():
    """A reader of a release has no history to look one up in; a number is none."""
    for text in ("since 658dbc5", "(`6445a8f`)", "at commit 1234567", "x" * 9 + " 87a5eeb."):
        assert COMMIT.search(text), text
    for text in (
        "4.61301e-05",
        "0.123456e10",
        "1234567 records",
        "1,000,000",
        "defaced",
        "2e10",
        "1.23456789e-7",
    ):
        assert not COMMIT.search(text), text
    texts = [*pages(), *REFERENCE, *REPO.glob("*.md"), *REPO.glob("*.cff"), *REPO.glob("benchmarks/*.md")]
    texts += [*REPO.glob("experiments/**/*.yaml"), *REPO.glob("conf/**/*.yaml")]
    found = [(path.name, match[0]) for path in texts for match in COMMIT.finditer(path.read_text("utf-8"))]
    assert found == []


def test_the_docs_are_at_most_15_000_words():
    words = {page: len(page.read_text(encoding="utf-8").split()) for page in [*pages(), *REFERENCE]}
    assert sum(words.values()) <= 15_000
    assert {page.name: n for page, n in words.items() if n > 1_800} == {}
