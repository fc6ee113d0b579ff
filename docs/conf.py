"""Configuration of the site (`make docs`): Sphinx with MyST, numpydoc and pydata-sphinx-theme."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "site"))
import generated  # docs/site/generated.py

project = "pate"
copyright = "the authors of pate"
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "sphinx_design", "sphinx_copybutton"]
exclude_patterns = ["examples", "site"]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3  # links such as privacy.md#neighbours

autodoc_typehints = "none"  # numpydoc's sections have the types
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
suppress_warnings = ["ref.citation"]  # sources are listed, not all are cited in the same docstring


def _repository() -> list[dict[str, str]]:
    """Link to the repository that this checkout was cloned from, if that has a public address."""
    command = ["git", "-C", str(Path(__file__).parent), "remote", "get-url", "origin"]
    try:
        url = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:  # no git
        return []
    url = re.sub(r"^(?:ssh://)?git@([^:/]+)[:/]", r"https://\1/", url).removesuffix(".git")
    icon = {"name": "Repository", "url": url, "icon": "fa-solid fa-code-branch", "type": "fontawesome"}
    return [icon] if re.match(r"https?://[^@]+$", url) else []


html_theme = "pydata_sphinx_theme"
html_title = "pate"
html_static_path = ["site/static"]
html_css_files = ["pate.css"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"index": [], "reference/index": []}
copybutton_prompt_text = r"\$ "  # of a shell, not copied
copybutton_prompt_is_regexp = True
html_theme_options = {
    "navbar_end": ["theme-switcher", "navbar-icon-links"],
    "icon_links": _repository(),
    "navbar_align": "left",
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}


def setup(app: Any) -> None:
    """Fill the pages whose text is made from the code; several modules on a page share no headings."""
    app.connect("source-read", _fill)
    app.connect("autodoc-process-docstring", _without_headings, priority=900)
    app.connect("html-page-context", _whole_words)


def _fill(app: Any, page: str, source: list[str]) -> None:
    if page in generated.PAGES:
        source[0] += "\n" + generated.PAGES[page]()


def _whole_words(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Let a command wrap at its blanks, not at the hyphens of --eps."""

    def whole(block: re.Match[str]) -> str:
        word = r"(?<![^\s>])[^\s<>&]{0,30}-[^\s<>&]{1,30}(?![^\s<])"
        return re.sub(word, r'<span class="whole">\g<0></span>', block[0])

    if "body" in context:
        context["body"] = re.sub(r"<pre>.*?</pre>", whole, context["body"], flags=re.DOTALL)


def _without_headings(app: Any, kind: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    if kind == "module":
        for at in [at for at, line in enumerate(lines) if line and set(line) == {"-"}]:
            lines[at - 1 : at + 1] = [f"**{lines[at - 1]}**", ""]
