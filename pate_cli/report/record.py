"""Record of a run: its configuration, measurements and privacy loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pate_cli.report.interval import NORMAL, STUDENT, Interval
from pate_cli.report.provenance import config_hash, plain

if TYPE_CHECKING:
    from pate_cli.types import RepeatResult

__all__ = [
    "SCHEMA_VERSION",
    "STATUSES",
    "RunRecord",
    "Summary",
    "summarise",
]

SCHEMA_VERSION = 1
STATUSES = ("ok", "error", "interrupted", "running", "infeasible")

_WIDEST = 6.36
"""Half the 95% interval of 0 and 1, by Student's t with one degree of freedom: 12.706 / 2."""

DIAGNOSTICS_NOTE = "not differentially private"
NOTES = {
    "eps": "the guarantee of one repeat, with delta; publishing several repeats costs more",
    "eps_ex_post": "mean over repeats; depends on the outputs: a report, not a guarantee",
    "accuracy": "measured on held-out records: not differentially private; ci95 is half a two-sided 95% "
    "interval of Student's t over the n repeats",
}


@dataclass(frozen=True, kw_only=True)
class Summary:
    """Summary of the repeats of one configuration; every field None (or empty) without repeats.

    Attributes
    ----------
    n_teachers : int or None
        The same in every repeat.
    n_asked, n_answered : float or None
        Queries, means over repeats.
    eps, delta : float or None
        The guarantee of one repeat, eps in [0, inf] and delta in [0, 1): the largest over repeats.
    eps_ex_post : float or None
        Loss after the fact, mean over repeats. Depends on the outputs: a report, not a guarantee.
    accuracy : Interval or None
        Of the student on the test split. Not differentially private.
    diagnostics : dict of str to float or None
        Means over the repeats in which each is defined. Not differentially private.
    """

    n_teachers: int | None = None
    n_asked: float | None = None
    n_answered: float | None = None
    eps: float | None = None
    delta: float | None = None
    eps_ex_post: float | None = None
    accuracy: Interval | None = None
    diagnostics: dict[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class RunRecord(Summary):
    """The record of one run, as `result.json` holds it.

    Attributes
    ----------
    status : {"ok", "error", "interrupted", "running", "infeasible"}
    dataset, mechanism : str
        Names for tables.
    config : dict
        The resolved configuration, in JSON's own types (an infinity is the string "inf").
    config_hash : str
        See `config_hash`; computed when left empty.
    sizes : dict of str to int or None
        n_records, n_private, n_public, n_test, n_features, n_classes, budget.
    plan : dict
        The mechanism's public calibration: sigma, threshold, cutoff, form and so on.
    provenance : dict
        See `collect_provenance`.
    message : str or None
        Why the run did not finish.
    schema_version : int

    Raises
    ------
    ValueError
        If `status`, `eps` or `delta` is out of its range.
    """

    status: str
    dataset: str
    mechanism: str
    config: dict[str, Any]
    config_hash: str = ""
    sizes: dict[str, int | None] = field(default_factory=dict)
    plan: dict[str, Any] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)
    message: str | None = None
    schema_version: int = SCHEMA_VERSION

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise ValueError(f"status: got {self.status!r}; expected one of {', '.join(STATUSES)}")
        # Written this way round so that nan, which compares false, is refused.
        if self.eps is not None and not self.eps >= 0:
            raise ValueError(f"eps: got {self.eps}; expected a number in [0, inf]")
        if self.delta is not None and not 0 <= self.delta < 1:
            raise ValueError(f"delta: got {self.delta}; expected a number in [0, 1)")
        object.__setattr__(self, "config", plain(self.config, "config"))
        if not self.config_hash:
            object.__setattr__(self, "config_hash", config_hash(self.config))

    def to_dict(self) -> dict[str, Any]:
        """Make the content of `result.json`: JSON's own types, infinities as "inf", nan as null."""
        content = {name: getattr(self, name) for name in ("schema_version", *_SCHEMA)}
        if (found := self.accuracy) is not None:
            content["accuracy"] = {
                "mean": found.mean,
                "ci95": found.half_width,
                "n": found.n,
                "law": found.law,
            }
        content["diagnostics"] = {"note": DIAGNOSTICS_NOTE, **self.diagnostics}
        result: dict[str, Any] = plain(content)
        return {**result, "notes": NOTES}

    @classmethod
    def from_dict(cls, content: object) -> RunRecord:
        """Read the content of `result.json`.

        Raises
        ------
        ValueError
            If a key is missing or holds something else; the message names it.
        """
        if not isinstance(content, dict):
            raise ValueError("not a JSON object")
        version = content.get("schema_version")
        if version != SCHEMA_VERSION:
            raise ValueError(f"schema_version: got {version!r}; this version of pate reads {SCHEMA_VERSION}")
        values: dict[str, Any] = {}
        for name, (accepts, expected) in _SCHEMA.items():
            if name not in content:
                raise ValueError(f"no key {name!r}")
            value = content[name]
            if name in _NUMERIC:
                value = _with_infinities(value)
            if not accepts(value):
                raise ValueError(f"{name}: expected {expected}")
            values[name] = value
        if (found := values["accuracy"]) is not None:
            values["accuracy"] = Interval(
                found["mean"], found["ci95"], found["n"], law=found.get("law", NORMAL)
            )
        values["diagnostics"].pop("note", None)
        return cls(**values)


def summarise(repeats: Sequence[RepeatResult]) -> Summary:
    """Summarise the repeats of one configuration.

    ``RunRecord(status="ok", ..., **vars(summarise(repeats)))`` makes the record.

    Parameters
    ----------
    repeats : sequence of RepeatResult
        As many as were done; none gives an empty summary.

    Raises
    ------
    ValueError
        If the repeats disagree about the number of teachers, which is public and fixed.
    """
    if not repeats:
        return Summary()
    teachers = {repeat.n_teachers for repeat in repeats}
    if len(teachers) > 1:
        raise ValueError(f"repeats disagree about the number of teachers: {sorted(teachers)}")
    names = dict.fromkeys(name for repeat in repeats for name in repeat.diagnostics)
    return Summary(
        n_teachers=repeats[0].n_teachers,
        n_asked=_mean([repeat.n_asked for repeat in repeats]),
        n_answered=_mean([repeat.n_answered for repeat in repeats]),
        eps=max(repeat.eps for repeat in repeats),
        delta=max(repeat.delta for repeat in repeats),
        eps_ex_post=_mean([repeat.eps_ex_post for repeat in repeats]),
        accuracy=Interval.of(repeat.accuracy for repeat in repeats),
        diagnostics={
            name: _mean(
                [
                    repeat.diagnostics[name]
                    for repeat in repeats
                    if not math.isnan(repeat.diagnostics.get(name, math.nan))
                ]
            )
            for name in names
        },
    )


def _with_infinities(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_infinities(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_infinities(item) for item in value]
    return float(value) if value in ("inf", "-inf") else value


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_amount(value: object) -> bool:
    return _is_number(value) and value >= 0  # type: ignore[operator]


def _is_share(value: object) -> bool:
    return _is_number(value) and 0 <= value <= 1  # type: ignore[operator]


def _is_accuracy(value: object) -> bool:
    """Whether it is an interval; the half width of numbers in [0, 1] is largest for 0 and 1."""
    return (
        isinstance(value, dict)
        and _is_share(value.get("mean"))
        and "ci95" in value
        and (value["ci95"] is None or (_is_amount(value["ci95"]) and value["ci95"] <= _WIDEST))
        and value.get("law", NORMAL) in (STUDENT, NORMAL)
        and _is_count(value.get("n"))
        and value["n"] >= 1
    )


def _is_diagnostic(name: str, value: object) -> bool:
    return value is None or name == "note" or (_is_share if name == "ceiling" else _is_number)(value)


def _or_null(accepts: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or accepts(value)


# Where "inf" is a number; elsewhere it is a name somebody chose.
_NUMERIC = {"n_asked", "n_answered", "eps", "delta", "eps_ex_post", "plan", "diagnostics"}

_TEXT: tuple[Callable[[object], bool], str] = (lambda value: isinstance(value, str), "text")
_OBJECT: tuple[Callable[[object], bool], str] = (lambda value: isinstance(value, dict), "an object")
_NUMBER = (_or_null(_is_number), "a number, 'inf' or null")
_AMOUNT = (_or_null(_is_amount), "a number of at least 0, or null")

# Every key of the file but the version, in the file's order: what is accepted, and that in words.
_SCHEMA: dict[str, tuple[Callable[[object], bool], str]] = {
    "status": (lambda value: value in STATUSES, f"one of {', '.join(STATUSES)}"),
    "dataset": _TEXT,
    "mechanism": _TEXT,
    "config_hash": _TEXT,
    "sizes": (
        lambda value: isinstance(value, dict) and all(map(_or_null(_is_count), value.values())),
        "an object of integers",
    ),
    "n_teachers": (
        _or_null(lambda value: _is_count(value) and _is_amount(value)),
        "an integer of at least 0, or null",
    ),
    "n_asked": _AMOUNT,
    "n_answered": _AMOUNT,
    "eps": _NUMBER,
    "delta": _NUMBER,
    "eps_ex_post": _NUMBER,
    "accuracy": (
        _or_null(_is_accuracy),
        f"an object with mean in [0, 1], ci95 in [0, {_WIDEST}] or null and n of at least 1; or null",
    ),
    "diagnostics": (
        lambda value: (
            isinstance(value, dict) and all(_is_diagnostic(key, item) for key, item in value.items())
        ),
        "an object of numbers, the ceiling in [0, 1]",
    ),
    "plan": _OBJECT,
    "provenance": _OBJECT,
    "message": (_or_null(lambda value: isinstance(value, str)), "text or null"),
    "config": _OBJECT,
}
