"""Report of a command and its page: the answer, tables, figures, and their files.

A page has one skeleton and one style sheet for every result: answer, figure, one table, what to do next;
everything else is folded. Texts have the marks of `marks`: names in backticks, `**` around strong words. All
else is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pate_cli.errors import InputError, one_line
from pate_cli.results.next_steps import NextStep, shell_words
from pate_cli.results.record import RECORD_NAME
from pate_cli.results.repeats import REPEATS, command_of
from pate_cli.results.tables import Table
from pate_cli.terminal import check_directory, write_file

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

__all__ = ["PAGE", "Fact", "Page", "Report", "Section", "checked_directory", "markdown", "render"]
__all__ += ["write", "write_page"]

PAGE = "report.html"
"""Name of the page among the files of a result."""

_TABLES = ("table", "metrics", "paired", "ranks", "rows", "measures", "settings")
_OURS = ("figure*.png", "figure*.svg", PAGE, *(f"{stem}.*" for stem in _TABLES))
"""Files of a result, by which those of an earlier one are known."""
_SHORT = 24  # letters of a name that is never broken
_TAGS = {
    "yes": ("use this", "agrees", "within the bound"),
    "warn": ("worse", "may be no better than a constant answer", "higher than printed", "lower than printed"),
    "no": ("no better than a constant answer", "cannot run", "broke off", "differs", "failed", "infeasible"),
}
"""Verdicts with a colour, which never stands alone."""


@dataclass(frozen=True)
class Fact:
    """A label over a value, with a note below."""

    label: str
    value: str
    small: str = ""


@dataclass(frozen=True)
class Section:
    """A part of a page: blocks are pairs of a kind, as p, list, code or table, and content."""

    title: str
    blocks: Sequence[tuple[str, Any]]
    ident: str = ""  # to link to


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page of a result, for readers who did not run it."""

    title: str
    kicker: str  # command or kind, data
    answer: str
    lede: str = ""
    caution: str = ""
    facts: Sequence[Fact] = ()
    figure: str = ""  # of `svg`
    caption: str = ""
    sections: Sequence[Section] = ()
    details: Sequence[Section] = field(default_factory=list)  # folded
    footer: Sequence[str] = ()


def render(page: Page) -> str:
    """The whole page, which needs no network."""
    why = next((section.ident for section in page.details if section.ident == "why"), "")
    return _template().render(page=page, why=why)


def markdown(page: Page) -> str:
    """The page as Markdown, without its figure."""
    parts = [f"# {_escaped(page.title)}", _escaped(page.answer), _escaped(page.lede), _escaped(page.caution)]
    facts = [f"{fact.label}: {fact.value}" + f" ({fact.small})" * bool(fact.small) for fact in page.facts]
    parts.append("\n".join(f"- {_escaped(text)}" for text in facts))
    for section in (*page.sections, *page.details):
        parts.append(f"## {_escaped(section.title)}")
        parts += [text for kind, content in section.blocks for text in _block(kind, content)]
    parts += [_escaped(line) for line in page.footer]
    return "\n\n".join(filter(None, parts)) + "\n"


def _block(kind: str, content: Any) -> Iterator[str]:
    if kind == "table":
        yield _table(content).to_markdown().rstrip()
    elif kind == "code":
        yield "\n".join(f"    {' '.join(shell_words(command))}" for command in content)
    elif kind == "pair":
        for title, items in content.items():
            yield f"{title}:"
            yield from _block("list", items)
    elif kind == "words":
        yield from _block("list", [f"{word}: {text}" for word, text in content.items()])
    elif kind == "list":
        yield "\n".join(f"- {_escaped(item)}" for item in content)
    else:
        yield _escaped(content)


def _table(table: Table) -> Table:
    cells = [[_escaped(cell) for cell in row] for row in table.cells]
    return replace(table, cells=cells, note=_escaped(table.note))


def _escaped(text: str) -> str:
    """A marked text, kept from being read as other Markdown or HTML; names stay as they are."""
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(part if part[:1] == "`" else re.sub(r"([\\_<>\[\]#|])", r"\\\1", part) for part in parts)


def inline(text: str) -> Markup:
    """A text in which names and strong words are marked."""
    from markupsafe import Markup, escape

    marked = str(escape(text))
    marked = re.sub(r"`([^`]+)`", _code, marked)
    return Markup(re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", marked))


def _code(match: re.Match[str]) -> str:
    short = ' class="short"' if len(match[1]) <= _SHORT else ""
    return f"<code{short}>{match[1]}</code>"


def tokens(command: Sequence[str]) -> Markup:
    """A command that is wrapped between its words only; it is copied as it is."""
    from markupsafe import Markup

    return Markup(" ").join(Markup("<span>{}</span>").format(word) for word in shell_words(command))


def cell(text: str) -> Markup:
    """A number with a small interval."""
    from markupsafe import Markup

    number, sign, half = text.partition(" ± ")
    return Markup("{} <small>± {}</small>").format(number, half) if sign else inline(text)


def tag(word: str) -> Markup:
    """A verdict."""
    from markupsafe import Markup

    look = next((look for look, words in _TAGS.items() if word in words), "")
    return Markup('<span class="tag {}">{}</span>').format(look, word)


def table_look(table: Table) -> Mapping[str, Any]:
    """How a table is shown: as wide as the page where it is the main one, on a phone two lines a row."""
    numeric = sum(column.numeric for column in table.columns)
    full = any(column.tags for column in table.columns) or bool(table.looks)
    full = full and not any(column.group for column in table.columns)
    return {"stack": max(1, numeric) if full and numeric <= 6 else 0, "full": full}


@cache
def _template() -> Template:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"inline": inline, "tokens": tokens, "cell": cell, "tag": tag, "look": table_look}
    return environment.get_template("page.html")


@dataclass(frozen=True, eq=False, kw_only=True)
class Report:
    """What a command says: on a terminal, in its files, and on a page."""

    answer: str  # with the marks of `sentences`
    table: Table
    page: Page | None = None
    lines: Sequence[tuple[str, str, str]] = ()  # label, value, note: in place of a table of one row
    notes: Sequence[str] = ()  # below the table, at most two
    explain: Sequence[str] = ()  # meanings of columns and words
    next_step: NextStep | None = None
    files: Mapping[str, Table] = field(default_factory=dict)  # CSV, by their stem
    images: Mapping[str, bytes] = field(default_factory=dict)  # by file
    verdicts: Sequence[Mapping[str, Any]] = ()  # a record each
    failures: Sequence[str] = ()

    def html(self) -> str:
        """Render the page."""
        return render(self.page or Page(title="", kicker="", answer=self.answer))


def checked_directory(chosen: Path | None, default: Path, command: str) -> Path:
    """Choose the directory for the results, and check before the work that they can be written.

    Directories above the default one may be missing. Results of another `command` are not written over.
    """
    directory = chosen or default
    check_directory(directory, parents=chosen is None)
    if (directory / RECORD_NAME).is_file():
        raise InputError(f"--output {directory}: has the files of a run; give another directory")
    writer = "sweep" if any(directory.glob(f"[0-9]*/{RECORD_NAME}")) else command_of(directory / REPEATS)
    if writer not in ("", command):
        raise InputError(f"--output {directory}: has the files of a {writer}; give another directory")
    for path in _earlier(directory):
        if path.is_dir():
            raise InputError(f"--output {directory}: {path.name} in it is a directory; give another place")
    return directory


def _earlier(directory: Path) -> list[Path]:
    """Files of an earlier report in a directory."""
    return [path for pattern in _OURS for path in directory.glob(pattern)]


def write(directory: Path, report: Report) -> str:
    """Write every file, each whole or not at all; files of an earlier run are removed.

    Returns why there is no page, if it cannot be written: the tables stand.
    """
    content: dict[str, str | bytes] = {f"{stem}.csv": table.to_csv() for stem, table in report.files.items()}
    content |= report.images
    directory.mkdir(parents=True, exist_ok=True)
    for path in _earlier(directory):
        if path.name not in content:
            path.unlink()
    for name, data in content.items():
        write_file(directory / name, data)
    return write_page(directory, report.html)


def write_page(directory: Path, make: Callable[[], str]) -> str:
    """Write the page that `make` returns into the directory of a result; the reason if that fails."""
    try:
        write_file(directory / PAGE, make())
    except Exception as error:  # the work is done, and stands in other files
        (directory / PAGE).unlink(missing_ok=True)
        return f"{PAGE} is not written: {one_line(str(error)) or type(error).__name__}"
    return ""
