"""Dates and times as people write them: days since 1970, hours and seconds."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from functools import cache

__all__ = ["CLOCK", "DATES", "EPOCH", "TIMES", "as_date", "days_of", "hours_of", "seconds_of"]

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
_CLOCK = r"([0-9]{1,2}):([0-9][0-9])(?::([0-9][0-9])(?:\.[0-9]+)?)?\s*([AaPp][Mm])?"
_TIME = rf"(?:[ T]+{_CLOCK}\s*(Z|[+-][0-9][0-9]:?[0-9][0-9])?)?"
DATES = {
    "y-m-d": re.compile(r"([0-9]{4})[-/.年년] ?([0-9]{1,2})[-/.月월] ?([0-9]{1,2})[.日일]?" + _TIME),
    "d-m-y": re.compile(r"([0-9]{1,2})[-/.] ?([0-9]{1,2})[-/.] ?([0-9]{4}|[0-9][0-9])" + _TIME),
    "m-d-y": re.compile(r"([0-9]{1,2})[-/.] ?([0-9]{1,2})[-/.] ?([0-9]{4}|[0-9][0-9])" + _TIME),
    "ymd": re.compile(r"((?:19|20)[0-9][0-9])([0-9][0-9])([0-9][0-9])" + _TIME),
    "d mon y": re.compile(
        r"([0-9]{1,2})[ -.]+(?:de )?([^\W\d_]{3,12})\.?[ -.,]+(?:de )?([0-9]{4}|[0-9][0-9])" + _TIME
    ),
    "mon d y": re.compile(r"([^\W\d_]{3,12})\.? +([0-9]{1,2}),? +([0-9]{4})" + _TIME),
    "y-m": re.compile(r"((?:19|20)[0-9][0-9])[-/](0[1-9]|1[0-2])()" + _TIME),
    "m-y": re.compile(r"(0?[1-9]|1[0-2])[-/]((?:19|20)[0-9][0-9])()" + _TIME),
    "mon y": re.compile(r"([^\W\d_]{3,12})\.?[ -]+((?:19|20)[0-9][0-9])()" + _TIME),
}
_ORDERS = {"d-m-y": (2, 1, 0), "m-d-y": (2, 0, 1), "d mon y": (2, 1, 0), "mon d y": (2, 0, 1)}
_ORDERS |= {"m-y": (1, 0, 2), "mon y": (1, 0, 2)}
"""Ways to write a date; between day and month before the year the column decides."""

CLOCK = re.compile(r"(\d{1,3}):(\d\d)(?::(\d\d)(?:\.\d+)?)?\s*([AaPp][Mm])?", re.ASCII)
"""A time of day, or a duration."""

TIMES = ("h:m", "h:m:s")
EPOCH = dt.date(1970, 1, 1).toordinal()


def hours_of(text: str) -> float | None:
    """Hours of a time of day."""
    return None if (seconds := seconds_of(text)) is None else seconds / 3600


def seconds_of(text: str) -> float | None:
    """Seconds of a time of day or a duration."""
    return _seconds(*match.groups()) if (match := CLOCK.fullmatch(text)) else None


def _seconds(hour: str | None, minute: str | None, second: str | None, half: str | None) -> float:
    hours = int(hour or 0)
    if half:
        hours = hours % 12 + 12 * (half.lower() == "pm")
    return 3600.0 * hours + 60 * int(minute or 0) + int(second or 0)


@cache
def days_of(format: str | None) -> Callable[[str], float | None]:
    """Function that reads a date, in one of the forms of a column, as days since 1970; UTC where it says."""
    forms = [form for form in (format or "y-m-d").split(" or ") if form in DATES]

    def parse(text: str) -> float | None:
        for form in forms:
            if (match := DATES[form].fullmatch(text)) and (days := _days(form, match)) is not None:
                return days
        return None

    return parse


def _days(form: str, match: re.Match[str]) -> float | None:
    *parts, hour, minute, second, half, zone = match.groups()
    year, month, day = (parts[at] or "1" for at in _ORDERS.get(form, (0, 1, 2)))
    name = month.casefold()
    number = int(month) if month.isdecimal() else _MONTHS.get(name[:4], _MONTHS.get(name[:3], 0))
    years = int(year) + (0 if len(year) == 4 else 2000 if int(year) < 50 else 1900)
    try:
        whole = dt.date(years, number, int(day)).toordinal() - EPOCH
    except ValueError:
        return None
    east = 0 if zone in (None, "Z") else int(zone[0] + "1") * (int(zone[1:3]) * 60 + int(zone[-2:]))
    return whole + (_seconds(hour, minute, None, half) / 60 - east) / 1440 + int(second or 0) / 86400


def as_date(days: float) -> str:
    """Day of a number of days since 1970, as 2024-05-31."""
    low, high = 1 - EPOCH, dt.date.max.toordinal() - EPOCH
    return str(dt.date.fromordinal(int(min(max(days, low), high) // 1) + EPOCH))
