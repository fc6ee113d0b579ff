"""Statements of a frontier, computed from its numbers whichever way they came out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pate_cli.compare.baselines import ALL_PRIVATE, LIMIT, MAJORITY
from pate_cli.config import MechanismConfig
from pate_cli.report.frame import paired_difference
from pate_cli.report.table import number
from pate_cli.reproduce.rows import DoneRow

__all__ = ["statements"]

_TIMES = 3.0
"""By how much `tight` is to answer more queries than `liu2021`."""


def statements(rows: Sequence[DoneRow], baselines: Mapping[str, DoneRow]) -> list[str]:
    """Best method at each eps, sparse vector against the Gaussian mechanism, and methods of no use.

    Parameters
    ----------
    rows : sequence of DoneRow
        Of methods.
    baselines : mapping of str to DoneRow
        By name.
    """
    said = [
        *_best(rows, baselines[ALL_PRIVATE], baselines.get(LIMIT)),
        *_sparse_vector(rows),
        *_calibrations(rows),
        *_no_better_than_majority(rows, baselines[MAJORITY]),
    ]
    lines: dict[str, list[DoneRow]] = {}
    for row in rows:
        if row.status == "infeasible":
            lines.setdefault(row.method, []).append(row)
    for name, those in lines.items():
        most = max(those, key=lambda row: row.eps)
        said.append(f"{name} is infeasible at eps {_listed(row.eps for row in those)}: {most.message}")
    return said


def _best(rows: Sequence[DoneRow], all_private: DoneRow, limit: DoneRow | None) -> list[str]:
    """Best method of each budget, those within its interval, and the distance to all private records."""
    said = []
    for eps in sorted({row.eps for row in rows}):
        there = [(found.mean, row) for row in rows if row.eps == eps and (found := row.over("accuracy"))]
        if not there:
            continue
        _, best = max(there, key=lambda pair: pair[0])
        accuracy = best.over("accuracy")
        text = f"At eps {eps:g} the best mean accuracy is that of {best.method}, {number(accuracy)}"
        close = [
            row.method
            for _, row in there
            if row is not best
            and (gap := paired_difference(best.repeats, row.repeats, "accuracy"))
            and gap.sign == 0
        ]
        if close:
            text += f"; the difference to {', '.join(close)} is within its interval"
        gap = paired_difference(all_private.repeats, best.repeats, "accuracy")
        if gap is not None:
            text += f". {ALL_PRIVATE.capitalize()}, without privacy, give {gap.text(sign=True)} more"
        if limit and (gap := paired_difference(limit.repeats, best.repeats, "accuracy")) is not None:
            text += f"; the {limit.name} gives {gap.text(sign=True)} more"
        said.append(f"{text}.")
    return said


def _strategy(mechanism: MechanismConfig) -> str:
    """Query strategy: `passive`, or the name of the mechanism that picks points."""
    return "passive" if mechanism.name in ("gaussian", "svt") else mechanism.name


def _sparse_vector(rows: Sequence[DoneRow]) -> list[str]:
    """Hold each method over sparse vector against those over the Gaussian mechanism that ask as it does."""
    queries = {row.method: _strategy(row.planned.config.mechanism) for row in rows}
    said = []
    for name in _names(rows, "svt"):
        of = [row for row in rows if row.method == name]
        others = _names(rows, "gaussian")
        alike = [other for other in others if queries[other] == queries[name]]
        for other in alike or others:  # no other asks like this: against all of them
            than = {row.eps: row for row in rows if row.method == other}
            said.append(_compared(name, of, other, than))
    return said


def _names(rows: Sequence[DoneRow], labeller: str) -> list[str]:
    """Methods whose mechanism labels queries by `labeller`."""
    return list(dict.fromkeys(row.method for row in rows if row.planned.config.mechanism.oracle == labeller))


def _compared(name: str, of: Sequence[DoneRow], other: str, than: dict[float, DoneRow]) -> str:
    cases: dict[str, list[str]] = {}
    for row in sorted(of, key=lambda row: row.eps):
        gap = paired_difference(row.repeats, than[row.eps].repeats, "accuracy")
        status = next((r.status for r in (row, than[row.eps]) if r.status != "ok"), "")
        if gap is None:
            word, text = status or "not measured", f"{row.eps:g}"
        else:
            word = {1: "better", -1: "worse", 0: "no difference that can be told"}[gap.sign]
            text = f"{row.eps:g} ({gap.text(sign=True)})"
        cases.setdefault(word, []).append(text)
    order = ("better", "worse", "no difference that can be told")
    parts = [] if "better" in cases else ["better nowhere"]
    parts += [f"{word} at eps {', '.join(cases[word])}" for word in order if word in cases]
    parts += [f"{word} at eps {', '.join(those)}" for word, those in cases.items() if word not in order]
    start = f"{name} against {other}, accuracy at the same splits: "
    return start + "; ".join(parts) + "."


def _calibrations(rows: Sequence[DoneRow]) -> list[str]:
    """How many queries `tight` answers for one that `liu2021` does, where they differ in nothing else."""
    said = []
    for row in sorted(rows, key=lambda row: row.eps):
        m = row.planned.config.mechanism
        if m.oracle != "svt" or m.options.calibration != "tight":
            continue
        for other in rows:
            c = other.planned.config
            if c.mechanism.oracle != "svt" or c.mechanism.options.calibration != "liu2021":
                continue
            same = (_strategy(c.mechanism), c.mechanism.options.cutoff, c.eps) == (
                _strategy(m),
                m.options.cutoff,
                row.eps,
            )
            if not same:
                continue
            if other.planned.teaching == row.planned.teaching and (row.units or other.units):
                said.append(_answered(row, other))
    return said


def _answered(tight: DoneRow, liu: DoneRow) -> str:
    ours, theirs = tight.over("answered"), liu.over("answered")
    name = tight.method
    if ours is None or not tight.budget:
        return f"At eps {tight.eps:g}, {name} (tight) is {tight.status}; liu2021 is {liu.status}."
    text = f"At eps {tight.eps:g}, {name} (tight, T = {tight.cutoff}) answers {number(ours, '.1f')}"
    text += f" of {tight.budget} queries"
    if theirs is None:
        return f"{text}; liu2021 is {liu.status}, so none."
    text += f", liu2021 (T = {liu.cutoff}) {number(theirs, '.1f')}"
    if theirs.mean == 0:
        return f"{text}: none against some." if ours.mean > 0 else f"{text}: neither answers any."
    times = ours.mean / theirs.mean
    text += f": {times:.{0 if times >= 10 else 1}f} times as many, "
    text += "at least three times" if times >= _TIMES else "less than three times"
    return text + (", and there are no more to answer." if ours.mean == tight.budget else ".")


def _no_better_than_majority(rows: Sequence[DoneRow], majority: DoneRow) -> list[str]:
    cases: dict[str, list[float]] = {}
    for row in rows:
        gap = paired_difference(row.repeats, majority.repeats, "accuracy")
        if gap is not None and gap.sign <= 0:
            cases.setdefault(row.method, []).append(row.eps)
    return [
        f"{name} is not better than a constant answer, as far as can be told, at eps {_listed(those)}."
        for name, those in cases.items()
    ]


def _listed(values: Iterable[float]) -> str:
    return ", ".join(f"{value:g}" for value in sorted(values))
