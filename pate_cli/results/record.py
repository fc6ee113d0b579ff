"""Record of a run: its configuration, measurements and privacy loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pate_cli.results.interval import Interval
from pate_cli.results.provenance import config_hash, plain

if TYPE_CHECKING:
    from pate_cli.types import RepeatResult

__all__ = ["SCHEMA_VERSION", "STATUSES", "RunRecord", "Summary", "summarise"]

SCHEMA_VERSION = 1
STATUSES = ("ok", "error", "interrupted", "running", "killed", "infeasible")

_WIDEST = 6.36  # half the 95% interval of 0 and 1, by Student's t with one degree of freedom: 12.706 / 2
_LAW = "Student's t"
DIAGNOSTICS_NOTE = "not differentially private"
NOTES = {
    "eps": "the guarantee of one repeat, with delta; publishing several repeats costs more",
    "eps_ex_post": "mean over repeats; depends on the outputs: a report, not a guarantee",
    "accuracy": "measured on held-out records: not differentially private; ci95 is half a two-sided 95% "
    "interval of Student's t over the n repeats",
}


@dataclass(frozen=True, kw_only=True)
class Summary:
    """Summary of the repeats of one configuration; every field None (or empty) without repeats."""

    n_teachers: int | None = None  # the same in every repeat
    n_asked: float | None = None  # queries, mean over repeats
    n_answered: float | None = None
    eps: float | None = None  # the guarantee of one repeat, in [0, inf]: the largest over repeats
    delta: float | None = None  # in [0, 1)
    eps_ex_post: float | None = None  # mean; depends on the outputs: a report, not a guarantee
    accuracy: Interval | None = None  # on the test split, not differentially private
    diagnostics: dict[str, float | None] = field(default_factory=dict)  # means where defined, not DP either


@dataclass(frozen=True, kw_only=True)
class RunRecord(Summary):
    """The record of one run, as `result.json` holds it (every key: outputs/README.md).

    ValueError if a value is out of its range.
    """

    status: str  # one of STATUSES
    dataset: str
    mechanism: str
    config: dict[str, Any]  # resolved, in JSON's own types (an infinity is the string "inf")
    config_hash: str = ""  # see `config_hash`; computed when left empty
    sizes: dict[str, int | None] = field(default_factory=dict)  # of the data
    plan: dict[str, Any] = field(default_factory=dict)  # the mechanism's public calibration
    provenance: dict[str, Any] = field(default_factory=dict)  # see `collect_provenance`
    message: str | None = None  # why the run did not finish
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
            content["accuracy"] = {"mean": found.mean, "ci95": found.half_width, "n": found.n, "law": _LAW}
        content["diagnostics"] = {"note": DIAGNOSTICS_NOTE, **self.diagnostics}
        result: dict[str, Any] = plain(content)
        return {**result, "notes": NOTES}

    @classmethod
    def from_dict(cls, content: object) -> RunRecord:
        """Read the content of `result.json`; ValueError names a key that is missing or wrong."""
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
            mean, half, n = found["mean"], found["ci95"], found["n"]
            # versions that did not write the law had 1.96 s/sqrt(n)
            old = half is not None and n > 1 and "law" not in found
            values["accuracy"] = Interval.around(mean, half / 1.96, n) if old else Interval(mean, half, n)
        values["diagnostics"].pop("note", None)
        return cls(**values)


def summarise(repeats: Sequence[RepeatResult]) -> Summary:
    """Summarise the repeats of one configuration; ValueError if they differ in the number of teachers."""
    if not repeats:
        return Summary()
    teachers = {repeat.n_teachers for repeat in repeats}
    if len(teachers) > 1:
        raise ValueError(f"repeats disagree about the number of teachers: {sorted(teachers)}")
    defined: dict[str, list[float]] = {}
    for repeat in repeats:
        for name, value in repeat.diagnostics.items():
            defined.setdefault(name, []).extend([] if math.isnan(value) else [value])
    return Summary(
        n_teachers=repeats[0].n_teachers,
        n_asked=_mean([repeat.n_asked for repeat in repeats]),
        n_answered=_mean([repeat.n_answered for repeat in repeats]),
        eps=max(repeat.eps for repeat in repeats),
        delta=max(repeat.delta for repeat in repeats),
        eps_ex_post=_mean([repeat.eps_ex_post for repeat in repeats]),
        accuracy=Interval.of(repeat.accuracy for repeat in repeats),
        diagnostics={name: _mean(values) for name, values in defined.items()},
    )


def _with_infinities(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_infinities(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_infinities(item) for item in value]
    return float(value) if value in ("inf", "-inf") else value


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _is_number(value: Any, low: float = -math.inf, high: float = math.inf) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high


def _is_count(value: Any, low: int = 0) -> bool:
    return isinstance(value, int) and _is_number(value, low)


def _is_accuracy(value: Any) -> bool:
    """Whether it is an interval; the half width of numbers in [0, 1] is largest for 0 and 1."""
    return (
        isinstance(value, dict)
        and _is_number(value.get("mean"), 0, 1)
        and "ci95" in value
        and (value["ci95"] is None or _is_number(value["ci95"], 0, _WIDEST))
        and _is_count(value.get("n"), 1)
    )


def _are_diagnostics(value: Any) -> bool:
    return isinstance(value, dict) and all(
        one is None or name == "note" or _is_number(one, *((0, 1) if name == "ceiling" else ()))
        for name, one in value.items()
    )


# where "inf" is a number; elsewhere it is a name
_NUMERIC = {"n_asked", "n_answered", "eps", "delta", "eps_ex_post", "plan", "diagnostics"}

_Kind = tuple[Callable[[Any], bool], str]


def _or_null(accepts: Callable[[Any], bool], expected: str) -> _Kind:
    return lambda value: value is None or accepts(value), f"{expected}, or null"


_TEXT: _Kind = (lambda value: isinstance(value, str), "text")
_OBJECT: _Kind = (lambda value: isinstance(value, dict), "an object")
_AMOUNT = _or_null(lambda value: _is_number(value, 0), "a number of at least 0")

# every key of the file but the version, in the file's order: what is accepted, and that in words
_SCHEMA: dict[str, _Kind] = {
    "status": (lambda value: value in STATUSES, f"one of {', '.join(STATUSES)}"),
    "dataset": _TEXT,
    "mechanism": _TEXT,
    "config_hash": _TEXT,
    "sizes": (
        lambda value: (
            isinstance(value, dict) and all(one is None or _is_count(one) for one in value.values())
        ),
        "an object of integers",
    ),
    "n_teachers": _or_null(_is_count, "an integer of at least 0"),
    "n_asked": _AMOUNT,
    "n_answered": _AMOUNT,
    "eps": _AMOUNT,
    "delta": _AMOUNT,
    "eps_ex_post": _or_null(_is_number, "a number or 'inf'"),
    "accuracy": _or_null(
        _is_accuracy, f"an object with mean in [0, 1], ci95 in [0, {_WIDEST}] or null and n of at least 1"
    ),
    "diagnostics": (_are_diagnostics, "an object of numbers, the ceiling in [0, 1]"),
    "plan": _OBJECT,
    "provenance": _OBJECT,
    "message": _or_null(*_TEXT),
    "config": _OBJECT,
}
