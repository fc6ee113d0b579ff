"""Record of a run: its configuration, measurements and privacy loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import UnionType
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
        content = {name: getattr(self, name) for name in ("schema_version", *_KINDS)}
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
        for name, kind in _KINDS.items():
            if name not in content:
                raise ValueError(f"no key {name!r}")
            values[name] = _with_infinities(content[name]) if name in _NUMERIC else content[name]
            if not isinstance(values[name], kind) or isinstance(values[name], bool):
                raise ValueError(f"{name}: expected {kind if isinstance(kind, UnionType) else kind.__name__}")
        if values["accuracy"] is not None:
            values["accuracy"] = _accuracy(values["accuracy"])
        values["diagnostics"].pop("note", None)
        for name, value in values["diagnostics"].items():
            if not isinstance(value, int | float | None) or (
                name == "ceiling" and not 0 <= (value or 0) <= 1
            ):
                raise ValueError(f"diagnostics: {name}: got {value!r}; expected a number")
        return cls(**values)


def _accuracy(content: dict[str, Any]) -> Interval:
    """Read an interval of shares; versions that did not write the law had 1.96 s/sqrt(n)."""
    try:
        mean, half, n = content["mean"], content["ci95"], content["n"]
        possible = 0 <= mean <= 1 and n >= 1 and 0 <= (half or 0) <= _WIDEST
    except (KeyError, TypeError):
        possible = False
    if not possible:
        raise ValueError(f"accuracy: expected mean in [0, 1], ci95 in [0, {_WIDEST}] or null and n >= 1")
    old = half is not None and n > 1 and "law" not in content
    return Interval.around(mean, half / 1.96, n) if old else Interval(mean, half, n)


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


# where "inf" is a number; elsewhere it is a name
_NUMERIC = {"n_asked", "n_answered", "eps", "delta", "eps_ex_post", "plan", "diagnostics"}

_NUMBER = int | float | None
_KINDS: dict[str, type | UnionType] = {
    **dict.fromkeys(("status", "dataset", "mechanism", "config_hash"), str),
    "sizes": dict,
    "n_teachers": int | None,
    **dict.fromkeys(("n_asked", "n_answered", "eps", "delta", "eps_ex_post"), _NUMBER),
    "accuracy": dict | None,
    **dict.fromkeys(("diagnostics", "plan", "provenance"), dict),
    "message": str | None,
    "config": dict,
}
"""Every key of the file but the version, in the file's order."""
