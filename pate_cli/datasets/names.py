"""When two texts are one name: the form of a text in which two are compared, and names that look alike."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from pate_cli.errors import shortened

__all__ = ["alike", "normal", "shown"]

_UNSEEN = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x2065, 0x2065),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0xE0000, 0xE0FFF),
)
"""Unicode's Default_Ignorable_Code_Point without category Cf; Python's `unicodedata` has no such property."""

_BLANK = "\u2800"  # of Braille, which is no white space
_APOSTROPHES = "\u2018\u2019\u201b\u02bc\u00b4\u2032"
_ARABIC = {"\u066a": "%", "\u066b": ".", "\u066c": ","}
"""Signs beside Arabic digits: of percent, before decimals, between thousands."""

_ALPHABETS = str.maketrans(
    "АВЕЅІЈКМНОРСТУХԌЗаеіјорсухѕԁԛԝһӏёїЁЇ"  # Cyrillic
    "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧονιαρυκχγ"  # Greek
    "ıɑɡօսոհ",  # Latin and Armenian
    "ABESIJKMHOPCTYXG3aeijopcyxsdqwhlëïËÏABEZHIKMNOPTYXoviapukxyiagounh",
)


class _Written(dict[int, str | None]):
    """What stands for a character in the normal form: nothing, a blank, -, ', a digit, or itself."""

    def __missing__(self, code: int) -> str | None:
        character = chr(code)
        kind = unicodedata.category(character)
        written: str | None = character
        if character.isspace() or character == _BLANK:
            written = " "
        elif kind in ("Cc", "Cf") or any(first <= code <= last for first, last in _UNSEEN):
            written = None
        elif kind == "Pd" or character == "\u2212":
            written = "-"
        elif character in _APOSTROPHES:
            written = "'"
        elif kind == "Nd":
            written = str(unicodedata.decimal(character))
        elif character in _ARABIC:
            written = _ARABIC[character]
        self[code] = written
        return written


_WRITTEN = _Written()


def normal(text: str) -> str:
    """The form of a text in which names, labels and categories are compared; equal where they read alike.

    NFKC, without what nobody sees (controls, marks that join or select a variant), with one blank for
    several, and one kind of hyphen, apostrophe and digits: those of other scripts are 0 to 9.
    """
    if not (text.isascii() and text.isprintable()):
        text = unicodedata.normalize("NFKC", text.translate(_WRITTEN)).translate(_WRITTEN)
    return " ".join(text.split())


def shown(text: str) -> str:
    """A text in quotes, shortened where it is long, with escapes for what does not show."""
    quoted = shortened(repr(text)).replace("  ", r" \x20")
    return "".join(c.encode("ascii", "backslashreplace").decode() if _hides(c) else c for c in quoted)


def _hides(character: str) -> bool:
    return not character.isascii() and (
        _WRITTEN[ord(character)] in (None, *" -'") or unicodedata.category(character)[0] == "M"
    )


def alike(names: Iterable[str]) -> str:
    """Name two of the names that differ in capitals alone, or in letters of two alphabets that look the same.

    Returns both, for a message, and in what they differ; empty where there are none.
    """
    first: dict[tuple[str, str], str] = {}
    for name in names:
        plain = normal(name)
        keys = {"capitals": plain.casefold(), "alphabet": plain.translate(_ALPHABETS)}
        for how, key in keys.items():
            if (other := first.setdefault((how, key), name)) != name:
                write = shown if how == "capitals" else ascii
                return f"{write(other)} and {write(name)} differ in {how} alone"
    return ""
