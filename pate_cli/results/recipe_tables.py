"""Rows of a recipe: ours beside the printed numbers, and pairs at the same splits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pate_cli.results.boards import ACCURACY
from pate_cli.results.interval import EPS_NOTE, EPS_USED, T_NOTE, Interval
from pate_cli.results.means import MeasuredRow, flat, paired_difference
from pate_cli.results.tables import ABSENT, Head, Table, number
from pate_cli.results.verdicts import Verdict, counted, ended, rule

__all__ = ["KEYS", "PRINTED", "Pair", "chosen", "difference", "digits_of", "error_of", "matches"]
__all__ += ["paired_table", "pairs", "recipe_table", "value_of"]

KEYS = ("dataset", "method", "panel", "eps", "cutoff", "teachers", "name")
"""Columns by which `where` of a recipe chooses rows."""

PRINTED = tuple(
    f"printed_{name}"
    for name in ("queries", "queries_ci", "eps", "eps_ex_post", "accuracy", "ci", "error", "repeats")
)
"""Columns of the numbers printed in a paper."""

NOTE = (
    f"{EPS_NOTE} {EPS_USED} Accuracy is measured on held-out records: not differentially private. {T_NOTE}; "
    "the paper's is as printed; a difference has the error of the printed mean, if known."
)
_PAIRED = ("accuracy", "answered", "eps_ex_post")
_DIAGNOSTICS = ("label_agreement", "label_accuracy", "vote_accuracy", "teacher_accuracy", "ceiling")


def difference(row: MeasuredRow) -> Interval | None:
    """Our accuracy less the printed one, with the errors of both."""
    ours, printed = row.over("accuracy"), row["printed_accuracy"]
    return None if ours is None or printed is None else ours.less(printed).widened(*error_of(row))


def error_of(row: MeasuredRow) -> tuple[float, int]:
    """Standard error of the printed accuracy, and the repeats it is of; 0 where the paper does not tell."""
    return float(row["printed_error"] or 0), int(row["printed_repeats"] or 0)


def value_of(row: MeasuredRow, key: str) -> Any:
    """Value of one of `KEYS`."""
    return row["panel"] or "" if key == "panel" else row["n_teachers" if key == "teachers" else key]


def chosen(row: MeasuredRow, where: Mapping[str, Any]) -> bool:
    """Whether a row matches a filter, as ``{dataset: [mushroom, a9a]}``."""
    return all(
        value_of(row, key) in (accepted if isinstance(accepted, list) else [accepted])
        for key, accepted in where.items()
    )


@dataclass(frozen=True, eq=False)
class Pair:
    """Two methods at the same splits."""

    of: MeasuredRow
    minus: MeasuredRow

    @property
    def case(self) -> str:
        """Where they are compared, in a few words: panel or dataset, the budget, and T where there is one."""
        cutoffs = [f"{row['cutoff']:.0f}" for row in (self.of, self.minus) if row["cutoff"] is not None]
        parts = [self.of["panel"] or self.of["dataset"], f"eps={self.of['eps']:g}"]
        return " ".join([*parts, *([f"T={'/'.join(dict.fromkeys(cutoffs))}"] if cutoffs else [])])

    @property
    def missing(self) -> str:
        """Status of the row without numbers."""
        return next((ended(row.status) for row in (self.of, self.minus) if not row.n), "not measured")

    def over(self, name: str) -> Interval | None:
        """Mean difference of a measure."""
        return paired_difference(self.of, self.minus, name)


def pairs(rows: Sequence[MeasuredRow], method: str, reference: str) -> list[Pair]:
    """Rows of two methods with the same panel, teachers and budget, where both have numbers."""
    return [pair for pair in matches(rows, method, reference) if pair.of.n and pair.minus.n]


def matches(rows: Sequence[MeasuredRow], method: str, reference: str) -> list[Pair]:
    """Rows of two methods with the same panel, teachers and budget, those without numbers too."""
    return [
        Pair(row, other)
        for other in rows
        for row in rows
        if (row["method"], other["method"]) == (method, reference)
        and all(row[key] == other[key] for key in ("panel", "eps", "splits"))
    ]


def digits_of(measure: str) -> int:
    """Digits worth showing: queries are counted, the rest are rates."""
    return 1 if measure in ("answered", "asked") else 4


def recipe_table(rows: Sequence[MeasuredRow], verdicts: dict[str, Verdict], margin: float) -> Table:
    """Every row; ours beside the paper's and a verdict, where anything is printed."""
    shown: list[tuple[Head, Callable[[MeasuredRow], str]]] = [
        (Head("panel", numeric=False), lambda row: row["panel"] or ""),
        (Head("dataset", numeric=False), lambda row: row["dataset"]),
        (Head("method", numeric=False), lambda row: row["method"]),
        (Head("teachers", detail=True), lambda row: number(row["n_teachers"], ",.0f")),
        (Head("T"), lambda row: number(row["cutoff"], ",.0f")),
        (Head("eps"), lambda row: number(row["eps"], "g")),
        *(_compared(verdicts) if verdicts else _measured()),
    ]
    shown.insert(-1, (Head("n", detail=True), lambda row: str(row.n)))
    absent = {"panel": not any(row["panel"] for row in rows)}
    absent["status"] = all(row.status == "ok" for row in rows)
    absent["T"] = all(row["cutoff"] is None for row in rows)
    shown = [(column, text) for column, text in shown if not absent.get(column.header)]
    outcome = f"Of {len(verdicts)} printed accuracies: {counted(v.word for v in verdicts.values())}."
    return Table(
        [column for column, _ in shown],
        [[text(row) for _, text in shown] for row in rows],
        [_record(row, verdicts.get(row["name"])) for row in rows],
        f"{outcome} {NOTE} {rule(len(verdicts), margin)}" if verdicts else NOTE,
    )


def _measured() -> list[tuple[Head, Callable[[MeasuredRow], str]]]:
    """Columns of a recipe without printed numbers."""
    return [
        (Head("answered", "queries"), lambda row: _mean(row.over("answered"), ".1f")),
        (Head("asked", "queries"), lambda row: _mean(row.over("asked"), ".1f")),
        (Head("eps used"), lambda row: _mean(row.over("eps_ex_post"), ".4g", ci=False)),
        (Head("accuracy, %"), lambda row: _percent(row.over("accuracy"))),
        (Head("label agreement, %", detail=True), lambda row: _percent(row.over("label_agreement"))),
        (Head("status", numeric=False), lambda row: "" if row.status == "ok" else ended(row.status, row.n)),
    ]


def _compared(verdicts: dict[str, Verdict]) -> list[tuple[Head, Callable[[MeasuredRow], str]]]:
    """Columns of ours beside the paper's, in its order; and details, which a narrow terminal leaves out."""

    def printed(name: str, form: str = ".4f", ci: str = "") -> Callable[[MeasuredRow], str]:
        return lambda row: number(row[f"printed_{name}"], form, row[f"printed_{ci}"])

    def verdict(row: MeasuredRow) -> str:
        judged = verdicts.get(row["name"])
        return "" if judged is None else ended(row.status, row.n) if row.status != "ok" else judged.word

    return [
        (Head("labels", "ours"), lambda row: _mean(row.over("answered"), ".1f", ci=False)),
        (Head("eps used", "ours"), lambda row: _mean(row.over("eps_ex_post"), ci=False)),
        (Head("accuracy", "ours"), lambda row: _mean(row.over("accuracy"))),
        (Head("labels", "paper"), printed("queries", "g")),
        (Head("eps used", "paper"), printed("eps_ex_post")),
        (Head("accuracy", "paper"), printed("accuracy", ci="ci")),
        (
            Head("eps used, ours at its labels", detail=True),
            lambda row: number(row["eps_ex_post_at_printed_queries"]),
        ),
        (
            Head("ours less the paper's accuracy", detail=True),
            lambda row: ABSENT if (gap := difference(row)) is None else gap.text(sign=True),
        ),
        (Head("verdict", numeric=False, tags=True, detail=True), verdict),
    ]


def _record(row: MeasuredRow, verdict: Verdict | None) -> dict[str, Any]:
    """Make a row of `table.csv`: everything, nothing rounded."""
    record: dict[str, Any] = {"name": row["name"], "panel": row["panel"] or ""}
    record |= {"dataset": row["dataset"], "method": row["method"], "status": row.status}
    record |= {name: _whole(row[name]) for name in ("n_teachers", "cutoff", "budget")}
    record |= {"n": row.n, "eps": row["eps"], "delta": row["delta"]}
    names = ("answered", "asked", "eps_ex_post", "accuracy", *_DIAGNOSTICS)
    record |= flat({name: row.over(name) for name in names})
    record |= {name: row[name] for name in PRINTED if name != "printed_eps"}
    if (queries := row["printed_queries"]) is not None and queries.is_integer():
        record["printed_queries"] = int(queries)
    return record | {
        "eps_ex_post_at_printed_queries": row["eps_ex_post_at_printed_queries"],
        **flat({"difference": difference(row)}),
        "majority_rate": row["majority_rate"],
        "verdict": verdict.word if verdict else None,
        "reason": verdict.reason if verdict else row.reason or None,
        "note": row["note"],
    }


def paired_table(compared: Sequence[Pair]) -> Table:
    """Differences of two methods at the same splits."""
    columns = [Head("case", numeric=False), Head("difference", numeric=False), Head("n")]
    columns += [Head(name.replace("answered", "queries answered")) for name in _PAIRED]
    cells, records = [], []
    for pair in compared:
        gaps = {name: pair.over(name) for name in _PAIRED}
        n = gaps["accuracy"].n if gaps["accuracy"] else 0
        shown = [gap.text(digits_of(name), sign=True) if gap else ABSENT for name, gap in gaps.items()]
        cells.append([pair.case, f"{pair.of['method']} - {pair.minus['method']}", str(n), *shown])
        record: dict[str, Any] = {"of": pair.of["name"], "minus": pair.minus["name"]}
        record |= {"dataset": pair.of["dataset"], "eps": pair.of["eps"], "n": n}
        records.append(record | flat(gaps))
    note = f"Differences at the same splits, teachers, votes and order of points, repeat by repeat. {T_NOTE}."
    return Table(columns, cells, records, note)


def _percent(share: Interval | None) -> str:
    return ACCURACY.level(share, ci=True)


def _mean(mean: Interval | None, form: str = ".4f", *, ci: bool = True) -> str:
    if mean is not None and form == ".1f" and mean.half_width == 0 and mean.mean.is_integer():
        return f"{mean.mean:.0f}"
    return number(mean if ci else mean and mean.mean, form)


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
