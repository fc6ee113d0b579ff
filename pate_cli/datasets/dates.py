"""Dates and times as people write them: days since 1970, hours and seconds."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from functools import cache

__all__ = [
    "CLOCK",
    "DATES",
    "EPOCH",
    "HAS_CLOCK",
    "HAS_ZONE",
    "TIMES",
    "as_date",
    "days_of",
    "hours_of",
    "seconds_of",
]

_MONTHS = {
    name: number
    for number, names in enumerate(
        [
            "jan gen ene oca sty янв",
            "feb fév fev şub lut фев",
            "mar mär mrt мар",
            "apr avr abr nis kwi апр",
            "may mai mag mei maj май мая",
            "jun juin giu haz cze июн",
            "jul juil lug tem lip июл",
            "aug aoû aou ago ağu sie авг",
            "sep set eyl wrz сен",
            "oct okt ott out eki paź окт",
            "nov kas lis ноя",
            "dec dez déc dic ara gru дек",
        ],
        start=1,
    )
    for name in names.split()
}
_HALF = r"([AaPp])\.?\s?[Mm]\.?"
_ZONE = r"Z|(?:UTC|GMT)?[+-][0-9]{1,2}(?::?[0-9][0-9])?|UTC|GMT"
_DAY = (
    r"(?:(?i:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?|mo|di|mi|do|fr|sa|so"
    r"|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|sonnabend"
    r"|(?:lun|mar|mer|mi[eé]|jeu|jue|gio|ven|vie|sam|s[aá]b|dim|dom)[^\W\d_]{0,6})[.,]{0,2} )?"
)
"""A day of the week, perhaps, in five languages."""

_NTH = r"([0-9]{1,2})(?:st|nd|rd|th|er)?"
_YEAR = r"([0-9]{4}|[0-9][0-9])(?: ?[гr]\.)?"  # of Russian and Polish
_MONTH = rf"((?i:{'|'.join(_MONTHS)})[^\W\d_]{{0,9}})"


def _time(colon: str = "[:.]") -> str:
    """Pattern of a time behind a date."""
    seconds = rf"(?:{colon}([0-9][0-9])(?:[.,][0-9]+)?)?"
    clock = rf"([0-9]{{1,2}})(?:{colon}|h)([0-9][0-9]){seconds}\s*(?:{_HALF})?"
    behind = "[ T]+|, ?|:" if colon == "[:.]" else "[ T]+|, ?|:|(?=[0-9]{6})"
    return rf"(?:(?:{behind}){clock}(?: Uhr| h)?\s*({_ZONE})?)?"


_TIME = _time()
_NUMBERS = _DAY + r"([0-9]{1,2})[-/.] ?([0-9]{1,2})[-/.] ?" + _YEAR + _TIME
DATES = {
    "y-m-d": re.compile(r"([0-9]{4})[-/.年년] ?([0-9]{1,2})[-/.月월] ?([0-9]{1,2})[.日일]?" + _TIME),
    "d-m-y": re.compile(_NUMBERS),
    "m-d-y": re.compile(_NUMBERS),
    "ymd": re.compile(r"((?:19|20)[0-9][0-9])([0-9][0-9])([0-9][0-9])" + _time(":?")),
    "d mon y": re.compile(rf"{_DAY}{_NTH}[ ./-]*(?:de )?{_MONTH}\.?[ .,/-]*(?:de )?{_YEAR}" + _TIME),
    "mon d y": re.compile(rf"{_DAY}{_MONTH}\.? +{_NTH},? +([0-9]{{4}})" + _TIME),
    "y-m": re.compile(r"((?:19|20)[0-9][0-9])[-/](0[1-9]|1[0-2])()" + _TIME),
    "m-y": re.compile(r"(0?[1-9]|1[0-2])[-/]((?:19|20)[0-9][0-9])()" + _TIME),
    "mon y": re.compile(
        rf"{_MONTH}\.?[ -]+((?:19|20)[0-9][0-9]|(?<=\b[^\W\d_]{{3}}-)[0-9][0-9])()"
        + _TIME  # Sep-22, of Excel
    ),
    "y-w": re.compile(r"((?:19|20)[0-9][0-9])-?W([0-5][0-9])(?:-?([1-7]))?" + _TIME),
}
_ORDERS = {"d-m-y": (2, 1, 0), "m-d-y": (2, 0, 1), "d mon y": (2, 1, 0), "mon d y": (2, 0, 1)}
_ORDERS |= {"m-y": (1, 0, 2), "mon y": (1, 0, 2)}
"""Ways to write a date; between day and month before the year the column decides."""

CLOCK = re.compile(
    rf"(?:(-?\d+) days?,? \+?)?(\d{{1,3}})[:h]([0-5]\d)(?::([0-5]\d)(?:[.,]\d+)?)?\s*(?:{_HALF})?(?: Uhr)?",
    re.ASCII,
)
"""A time of day, or a duration, as 1 days 02:03:04."""

_IN_WORDS = re.compile(
    r"(?!P[^T]*M)P?(?:(\d+) ?[dtj][a-z.]*,? ?)?T?(?:(\d+) ?(?:h|std)[a-z.]*,? ?)?(?:(\d+) ?m[a-z.]*,? ?)?"
    r"(?:(\d+)(?:[.,]\d+)? ?s[a-z.]*)?",
    re.ASCII | re.IGNORECASE,
)
"""A duration, as 1h 20m, 1 Std. 20 Min. and PT1H20M; P1M is a month."""

HAS_CLOCK = re.compile(r"[0-9](?:[:h]|T[0-9][0-9])[0-9][0-9]|[ T][0-9]{1,2}\.[0-9][0-9]")
HAS_ZONE = re.compile(rf"(?:{_ZONE})$")
"""What a date with a time has in it, and ends in."""

TIMES = ("h:m", "h:m:s")
EPOCH = dt.date(1970, 1, 1).toordinal()


def hours_of(text: str) -> float | None:
    """Hours of a time of day."""
    return None if (seconds := seconds_of(text)) is None else seconds / 3600


def seconds_of(text: str) -> float | None:
    """Seconds of a time of day or a duration."""
    if match := CLOCK.fullmatch(text):
        days, *clock = match.groups()
    elif (match := _IN_WORDS.fullmatch(text)) and any(match.groups()):
        days, *clock = (*match.groups(), None)
    else:
        return None
    return 86400.0 * int(days or 0) + _seconds(*clock)


def _seconds(hour: str | None, minute: str | None, second: str | None, half: str | None) -> float:
    hours = int(hour or 0)
    if half:
        hours = hours % 12 + 12 * (half.lower() == "p")
    return 3600.0 * hours + 60 * int(minute or 0) + int(second or 0)


@cache
def days_of(format: str | None) -> Callable[[str], float | None]:
    """Function that reads a date, in one of the forms of a column, as days since 1970; UTC where it says.

    `d-m-y from 1927` takes two digits for a year from 1927 on; else they are one from 1950 on.
    """
    written, _, first = (format or "y-m-d").partition(" from ")
    forms = [form for form in (*written.split(" or "), "y-m-d") if form in DATES]  # which has one meaning
    century = int(first) if first.isdecimal() else 1950

    def parse(text: str) -> float | None:
        for form in forms:
            if (match := DATES[form].fullmatch(text)) and (days := _days(form, match, century)) is not None:
                return days
        return None

    return parse


def _days(form: str, match: re.Match[str], first: int) -> float | None:
    *parts, hour, minute, second, half, zone = match.groups()
    year, month, day = (parts[at] or "1" for at in _ORDERS.get(form, (0, 1, 2)))
    name = month.casefold()
    number = int(month) if month.isdecimal() else _MONTHS.get(name[:4], _MONTHS.get(name[:3], 0))
    years = int(year) if len(year) == 4 else first + (int(year) - first) % 100
    try:
        date = dt.date.fromisocalendar if form == "y-w" else dt.date
        whole = date(years, number, int(day)).toordinal() - EPOCH
    except ValueError:
        return None
    ahead = re.search(r"([+-])(\d\d?)(?::?(\d\d))?$", zone) if zone else None
    east = int(ahead[1] + "1") * (int(ahead[2]) * 60 + int(ahead[3] or 0)) if ahead else 0
    return whole + (_seconds(hour, minute, None, half) / 60 - east) / 1440 + int(second or 0) / 86400


def as_date(days: float) -> str:
    """Day of a number of days since 1970, as 2024-05-31."""
    low, high = 1 - EPOCH, dt.date.max.toordinal() - EPOCH
    return str(dt.date.fromordinal(int(min(max(days, low), high) // 1) + EPOCH))
