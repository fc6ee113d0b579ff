"""README.md and docs/*.md as blocks of code and tables, each with the comment that says how it is checked.

The comment stands on a line of its own right before the block:

<!-- run: COMMAND EXTRA ; ... --> every command is run; EXTRA (run repeats=2 ; audit --runs 100) takes
                             the place of what makes a `pate COMMAND` long
<!-- plan -->                 every `pate run` is planned instead, too long or in need of a cluster; of other
                             commands the options are looked up in their help
<!-- prints: COMMAND ; ... --> the block is printed by these commands, which take seconds
<!-- claims: COMMAND ; ... --> the same, but they take minutes: `make claims`
<!-- tested: FILE -->         the numbers are those of a test
<!-- unchecked: REASON -->    nobody can check it here
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
KINDS = ("run", "plan", "prints", "claims", "tested", "unchecked")

_NOTE = re.compile(r"<!-- (\w+)(?:: (.*?))? -->")
_DECIMAL = re.compile(r"(?<![\w.])\d+\.\d+(?![\w.])")
_NUMBER = re.compile(r"([-+]?)(\d[\d,]*(?:\.\d+)?)([.,;:)]*)")


@dataclass(frozen=True)
class Block:
    """A block of code or a table: where it begins, its lines, and how it is checked."""

    page: Path
    line: int
    lines: list[str]
    kind: str | None
    what: str
    table: bool = False

    @property
    def where(self) -> str:
        return f"{self.page.relative_to(REPO)}:{self.line}"

    @property
    def commands(self) -> list[list[str]]:
        """Commands of a shell, each as its arguments; without comments, continuations put together."""
        text = "\n".join(line.removeprefix("$ ") for line in self.lines).replace("\\\n", " ")
        return [argv for line in text.splitlines() if (argv := shlex.split(line, comments=True))]


def pages() -> list[Path]:
    return [REPO / "README.md", *sorted((REPO / "docs").glob("*.md"))]


def blocks(page: Path) -> list[Block]:
    """Find the blocks of a page that hold a command or a number with a decimal point, or have a note."""
    found: list[Block] = []
    lines = page.read_text(encoding="utf-8").splitlines()
    note: re.Match[str] | None = None
    at = 0
    while at < len(lines):
        line, first = lines[at], at
        if line.startswith("```"):
            at += 1
            while not lines[at].startswith("```"):
                at += 1
            body = [] if line.startswith("```{") else lines[first + 1 : at]  # not of a directive
        elif line.startswith("    ") and _starts(lines, first):
            while at + 1 < len(lines) and (lines[at + 1].startswith("    ") or not lines[at + 1].strip()):
                at += 1
            body = [text[4:] for text in lines[first : at + 1]]
        elif line.startswith("|"):
            while at + 1 < len(lines) and lines[at + 1].startswith("|"):
                at += 1
            body = lines[first : at + 1]
        else:
            match = _NOTE.fullmatch(line.strip())
            note = match or (note if not line.strip() else None)
            at += 1
            continue
        table = line.startswith("|")
        if note or (not table and _commands(body)) or any(_DECIMAL.search(text) for text in body):
            kind, what = (note[1], note[2] or "") if note else (None, "")
            found.append(Block(page, first + 1, body, kind, what, table))
        note = None
        at += 1
    return found


def _starts(lines: Sequence[str], at: int) -> bool:
    """Whether an indented block starts here, and not a further paragraph of a list."""
    before = next((text for text in reversed(lines[:at]) if text.strip()), "")
    apart = not lines[at - 1].strip() or bool(_NOTE.fullmatch(lines[at - 1].strip()))
    return bool(at) and apart and not before.startswith(("- ", "* ", "  "))


def _commands(body: Sequence[str]) -> bool:
    return any(re.match(r"(\$ )?(pate|make|pip|python|dask|\.ci/run)\b", text) for text in body)


def inline(page: Path) -> list[tuple[int, str]]:
    """Commands in the text, `pate ...`, with their lines."""
    shown = {number for block in blocks(page) if not block.table for number in _span(block)}
    return [
        (number, code)
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1)
        if number not in shown
        for code in re.findall(r"`(pate [^`]+)`", line)
    ]


def _span(block: Block) -> range:
    return range(block.line, block.line + len(block.lines) + 1)


def shortened(argv: Sequence[str], extra: Sequence[str]) -> list[str]:
    """Arguments with those of `extra` in place of their own: `KEY=...`, and `--option VALUE`."""
    kept, rest = [], list(argv)
    keys = {text.partition("=")[0] for text in extra}
    while rest:
        text = rest.pop(0)
        if text.partition("=")[0] not in keys:
            kept.append(text)
        elif text.startswith("--") and "=" not in text and rest and not rest[0].startswith("-"):
            rest.pop(0)
    return [*kept, *extra]


def missing(block: Block, printed: str) -> list[str]:
    """Find the lines of a block that were not printed: the same words, and numbers within their intervals.

    A line may be a part of a printed one, since the pages are narrower. A number with an interval
    (`0.80 ± 0.02`) may lie anywhere in it, the interval itself may be between half and twice as wide, and
    a number without one may be a hundredth off: a whole one below a hundred not at all.
    """
    stream = _tokens(printed)
    shown = [line for line in block.lines if not line.startswith("$ ")]
    return [line for line in shown if (words := _tokens(line)) and not _in(words, stream)]


def nearest(line: str, printed: str) -> str | None:
    """Find the printed line with the same words, whatever its numbers: what to paste in."""
    words = [word for word in _tokens(line) if not _number(word)]
    for candidate in printed.splitlines():
        if words == [word for word in _tokens(candidate) if not _number(word)]:
            return candidate
    return None


def _tokens(text: str) -> list[str]:
    text = text.replace("|", " ").replace("**", "")
    return [word for word in text.split() if not set(word) <= set("-:─=")]


def _number(word: str) -> float | None:
    match = _NUMBER.fullmatch(word)
    return float(match[1] + match[2].replace(",", "")) if match else None


def _in(words: Sequence[str], stream: Sequence[str]) -> bool:
    first = words[0] if _number(words[0]) is None else None
    starts = range(len(stream) - len(words) + 1)
    return any(
        all(_agrees(words, i, stream[start + i]) for i in range(len(words)))
        for start in starts
        if first is None or stream[start] == first
    )


def _agrees(words: Sequence[str], i: int, printed: str) -> bool:
    half = bool(i) and words[i - 1] == "±"  # a percent sign stands behind it
    shown, got = (_number(word.removesuffix("%") if half else word) for word in (words[i], printed))
    if shown is None or got is None:
        return words[i] == printed
    if i + 2 < len(words) and words[i + 1] == "±":
        within = _number(words[i + 2].removesuffix("%"))
        return within is not None and abs(shown - got) <= within
    if half:
        return shown / 2 <= got <= 2 * shown
    return abs(shown - got) <= 0.01 * abs(shown)
