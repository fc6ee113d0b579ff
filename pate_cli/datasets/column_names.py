"""What the name of a column says, where its cells leave it open; and bounds that no record decides."""

from __future__ import annotations

import re

from pate_cli.datasets.column import Column
from pate_cli.datasets.dates import days_of

__all__ = ["has_row_names", "looks_like_unit", "names_persons", "proposed_bounds"]

_ID = re.compile(
    r"(^|[ _])(id|ids|pid|uid|uuid|guid|ssn|mrn|identifier|nr|no|number|nummer|n°|key|case|fall|matricule"
    r"|email|e mail|phone|patient|person|customer|client|subject|member|user|account|household)"
    r"( ?(id|no|nr|num|number|key|code))?([ _]|$)"
)
_PERSON = re.compile(
    r"(^|[ _])((patient|person|customer|client|subject|member|user|household)[ _]?"
    r"(id|no|nr|num|number|key|code)|patient|pid|ssn|mrn|email|e[ _]mail)$"
)
_ROW_NAMES = re.compile(
    r"|index|level_\d+|__index_level_\d+__|unnamed: \d+(_level_\d+)?(\.\d+)*|row[._ ]?names?|\.\.\.\d+",
    re.IGNORECASE,
)
"""Names that pandas and R give to the numbers of rows, which they write as a column."""

_AGES = re.compile(r"(age|alter|âge|edad|età|yaş|leeftijd|idade|wiek)( ?\(.*\))?", re.IGNORECASE)
_SCALE = re.compile(r"\((\d)\s*[-–]\s*(\d\d?)\)\s*$")


def looks_like_unit(name: str) -> bool:
    """Whether a column is named like an identifier."""
    return bool(_ID.search(_spaced(name)))


def names_persons(name: str) -> bool:
    """Whether a column is named like one of persons, not of any key: few of them are no categories."""
    return bool(_PERSON.search(_spaced(name)))


def has_row_names(name: str) -> bool:
    """Whether a column is named like one of numbers of rows."""
    return bool(_ROW_NAMES.fullmatch(name.strip()))


def _spaced(name: str) -> str:
    spaced = re.sub(r"(?<=[a-zà-ÿ0-9])(?=[A-Z])", " ", name.strip()).casefold()
    return re.sub(r"[\s.\-_]+", " ", spaced)


def proposed_bounds(name: str, column: Column, today: float) -> tuple[float, float] | None:
    """Bounds that no record decides: of a percentage, an age, a scale in the name, or a date."""
    if column.kind == "date":
        return float(days_of("y-m-d")("1900-01-01") or 0), today
    if column.kind != "number":
        return None
    if column.unit == "%":
        return 0.0, 100.0
    if match := _SCALE.search(name):
        return (float(match[1]), float(match[2])) if int(match[1]) < int(match[2]) else None
    return (0.0, 120.0) if _AGES.fullmatch(name.strip()) else None
