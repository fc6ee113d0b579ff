"""The site of `make docs`, without building it: every page, every link, every key."""

from __future__ import annotations

import dataclasses
import importlib
import re
import sys
from pathlib import Path

import pytest
import yaml
from pages import REPO, pages

from pate_cli import datasets, mechanisms
from pate_cli.config import composition

sys.path.insert(0, str(REPO / "docs/site"))
hooks = importlib.import_module("hooks")
sys.path.pop(0)

MADE = hooks.pages()
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


class _Loader(yaml.SafeLoader):
    """MkDocs names a function in its YAML."""


_Loader.add_multi_constructor("tag:yaml.org,2002:python/name:", lambda loader, suffix, node: suffix)


def anchors(text):
    """Names that headings get: those of Markdown's table of contents."""
    found = set()
    for title in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
        plain = re.sub(r"[^\w\s-]", "", title.replace("`", "")).strip().lower()
        found.add(re.sub(r"[\s-]+", "-", plain))
    return found


def text_of(path):
    name = path.relative_to(REPO / "docs").as_posix() if path.is_relative_to(REPO / "docs") else ""
    return MADE[name] if name in MADE else path.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_every_link_leads_somewhere(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        found = (page.parent / name).resolve() if name else page
        made = found.is_relative_to(REPO / "docs") and found.relative_to(REPO / "docs").as_posix() in MADE
        assert found.exists() or made, f"{page.name}: {target}"
        assert not anchor or anchor in anchors(text_of(found)), f"{page.name}: {target}"


def test_the_site_has_every_page_once_and_no_other():
    nav = []

    def walk(part):
        for item in part:
            value = next(iter(item.values())) if isinstance(item, dict) else item
            walk(value) if isinstance(value, list) else nav.append(value)

    walk(yaml.load((REPO / "mkdocs.yml").read_text(encoding="utf-8"), _Loader)["nav"])
    assert len(nav) == len(set(nav))
    ours = {page.relative_to(REPO / "docs").as_posix() for page in pages() if page.name != "README.md"}
    assert ours <= set(nav)
    assert set(nav) <= ours | set(MADE)
    rooms = set(LINK.findall(MADE["reference/index.md"]))
    assert rooms == {Path(name).name for name in MADE if name.startswith("reference/")} - {
        "index.md",
        "keys.md",
    }


@pytest.mark.parametrize("page", [*(f"{path.stem}.md" for path in pages()[1:]), *MADE])
def test_links_on_the_site_stay_on_the_site(page):
    source = REPO / "docs" / page
    for target in LINK.findall(hooks.unlinked(MADE.get(page) or source.read_text(encoding="utf-8"), page)):
        if "://" not in target and not target.startswith("#"):
            found = (source.parent / target.partition("#")[0]).resolve().relative_to(REPO / "docs").as_posix()
            there = (REPO / "docs" / found).is_file() and not found.startswith(("example/", "site/"))
            assert found in MADE or there, f"{page}: {target}"


def test_the_reference_has_every_key_and_says_what_is_accepted():
    text = MADE["reference/keys.md"]
    sections = dict(re.findall(r"^### `(\w+=[\w-]+)`\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL))
    for group in ("dataset", "mechanism"):
        for file in sorted((REPO / "conf" / group).glob("*.yaml")):
            module = (datasets if group == "dataset" else mechanisms).find(file.stem)
            section = sections[f"{group}={file.stem}"]
            for field in dataclasses.fields(module.Options):
                row = next(line for line in section.splitlines() if f"`{group}.{field.name}`" in line)
                assert field.metadata["check"].describe().replace("|", "\\|") in row
    for group in ("teacher", "student", "compute"):
        for file in sorted((REPO / "conf" / group).glob("*.yaml")):
            assert f"{group}={file.stem}" in sections
    whole = composition.compose(["mechanism=svt"])
    for key, value in whole.items():
        for name in [f"{key}.{inner}" for inner in value] if isinstance(value, dict) else [key]:
            assert f"`{name}`" in text, name


def test_the_reference_has_the_public_classes_and_they_are_there():
    named = re.findall(r"^::: ([\w.]+)$", "\n".join(MADE.values()), re.MULTILINE)
    assert len(named) == len(set(named)) > 400
    assert "pate_cli.api.PateClassifier" in named
    assert "pate_cli.mechanisms.direct.best.BestPlan" in named
    for name in named:
        module, _, attribute = name.rpartition(".")
        path = REPO / Path(*module.split("."))
        source = path.with_suffix(".py") if path.with_suffix(".py").is_file() else path / "__init__.py"
        assert re.search(rf"^(class|def) {attribute}\b", source.read_text(encoding="utf-8"), re.MULTILINE), (
            name
        )
