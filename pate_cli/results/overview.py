"""`pate table`: rows of any commands, with columns for settings that differ, averages, or a pivot."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from pate_cli.errors import InputError, count_of
from pate_cli.results.interval import EPS_NOTE, EPS_USED, T_NOTE, Interval
from pate_cli.results.means import MeasuredRow, pooled, sort_keys
from pate_cli.results.settings import SYNONYMS, differing
from pate_cli.results.tables import ABSENT, Head, Table, number, span

__all__ = ["METRICS", "overview"]

GUARANTEE = (
    f"{EPS_NOTE} {EPS_USED} Accuracy, also of the same student on exact votes, is measured on held-out data: "
    "not differentially private."
)
_MAJORITY = "majority is the share of the commonest class among the held-out records."
_POOLED = (
    "Rows that differ in nothing but the seed are averaged over all their repeats, which are independent "
    "given the data."
)
METRICS = {
    "balanced_accuracy": "mean recall of the classes",
    "roc_auc": "area under the ROC curve, of each class against the rest, averaged",
    "log_loss": "mean negative log of the probability given to the true class, in nats",
    "calibration_error": "mean distance of predicted from observed share, over 15 bins of the probability",
    "brier": "mean squared distance of the probabilities from the class; of two classes, of the second",
}
"""Figures beside accuracy that `pate table --metrics` shows, with those of each class."""

_BY_CLASS = ("recall.", "precision.")
_UNBALANCED = 0.8  # share of the commonest class above which accuracy says little: others are shown, too
_RANKS = 0.6  # ROC AUC, 0.5 being chance, from which a ranking is of use where labels are not
_LOST, _TIMES = 0.03, 3.0  # accuracy that a student loses: at least, and against what noise costs
_FEW = 0.25  # an active learner that wanted a smaller share of its budget is pointed out
_ALWAYS = ("dataset", "mechanism", "teachers", "eps")  # have a column in any case
_ACCURACY = "accuracy ± ci95"
_LABELS, _USED, _EXACT = "labels given/asked", "eps used", "exact votes"
_MEASURES = ("teachers", _LABELS, "eps", _USED, _ACCURACY)
_MEANS = ("n_answered", "n_asked", "eps_ex_post")
_Line: TypeAlias = tuple[MeasuredRow, dict[str, str]]  # a row, and its settings as text


def overview(
    rows: Iterable[MeasuredRow],
    *,
    by: Sequence[str] = (),
    pivot: str | None = None,
    metrics: bool = False,
    left_out: int = 0,
) -> Table:
    """Make a table with a line a row, and a column for each setting in which rows differ.

    Rows that agree in the settings `by` are averaged; the values of the setting `pivot` are columns of
    accuracy. `left_out` other rows of the same configuration and data are not among them.
    """
    # a row with failed repeats has the status of a run's record
    rows = [replace(row, status="error") if row.status == "failed" else row for row in rows]
    rows.sort(key=_order)
    lines = [(row, _texts(row)) for row in rows]
    averaged = by or pivot is not None
    table = _averages(lines, by, pivot) if averaged else _plain(lines, metrics=metrics)
    table.footnotes.extend(_footnotes(rows, left_out))
    return table


def _plain(lines: Sequence[_Line], *, metrics: bool) -> Table:
    """Table with one line per row."""
    extras = _telling([texts for row, texts in lines if row.n])
    lines = sorted(lines, key=lambda line: (_order(line[0]), sort_keys(line[1].get(k, "") for k in extras)))
    shown = [row for row, _ in lines if row.n]
    shares = [share for row in shown if (share := row.mean("majority_class")) is not None]
    figures = _figures(shown)
    if not metrics:
        unbalanced = max(shares, default=0.0) > _UNBALANCED
        figures = [name for name in figures if unbalanced and name.startswith(("roc_auc", *_BY_CLASS))]
    heads = ["dataset", "mechanism", *extras, *_MEASURES]
    heads += [_EXACT] if any(row.mean("ceiling") is not None for row in shown) else []
    heads += ["majority"] if shares else []
    heads += [*figures, *(["status"] if any(row.status != "ok" for row in shown) else [])]
    by_head = [texts | _cells(row) for row, texts in lines if row.n]
    columns, cells = _grid(heads, by_head, details=[*extras, "majority"])
    records = [_record(row, texts, extras, figures) for row, texts in lines]
    sentences = [GUARANTEE, *([_MAJORITY] if shares else [])]
    sentences += [f"{name}: {METRICS[name]}." for name in figures if name in METRICS]
    sentences += _interval_note(interval.half_width for row in shown if (interval := row.over("accuracy")))
    return Table(columns, cells, records, " ".join(sentences), meaning=EPS_NOTE)


def _averages(lines: Sequence[_Line], by: Sequence[str], pivot: str | None) -> Table:
    """Means of finished rows that agree in some settings."""
    texts = [row_texts for _, row_texts in lines]
    keys = [_checked_setting("--by", key, texts) for key in by]
    if pivot is not None:
        pivot = _checked_setting("--pivot", pivot, texts)
        keys = [key for key in keys or (*_ALWAYS[:2], "eps", *_telling(texts)) if key != pivot]
    chosen = [*keys, *([] if pivot is None else [pivot])]
    groups: dict[tuple[str, ...], list[_Line]] = {}
    for row, text in lines:
        if row.status == "ok" and row.n:
            groups.setdefault(tuple(text.get(key, ABSENT) for key in chosen), []).append((row, text))
    records, shown, notes = [], dict[tuple[str, ...], dict[str, str]](), _Notes()
    for key in sorted(groups, key=sort_keys):
        record, shown[key] = _average([row for row, _ in groups[key]], pool=notes.may_pool(groups[key]))
        records.append(dict(zip(chosen, key, strict=True)) | record)
    sentences = [*([f"Accuracy by {pivot}."] if pivot else []), GUARANTEE]
    sentences += _interval_note(record["ci95"] for record in records)
    sentences += notes.sentences()
    columns, cells = _flat(keys, shown) if pivot is None else _pivoted(keys, pivot, shown)
    return Table(columns, cells, records, " ".join(sentences), meaning=EPS_NOTE)


@dataclass
class _Notes:
    """What is to be said of rows that were averaged."""

    mixed: dict[str, None] = field(default_factory=dict)  # settings in which some of a mean differ
    some_pooled: bool = False

    def may_pool(self, group: Sequence[_Line]) -> bool:
        """Note in what rows differ; true if in their seed alone, so that their repeats are one sample."""
        texts = [text for _, text in group]
        unlike = [name for name in differing(texts, _names(texts)) if name != "seed"]
        self.mixed |= dict.fromkeys(unlike)
        self.some_pooled |= len(group) > 1 and not unlike
        return not unlike

    def sentences(self) -> Iterator[str]:
        """Each kind of mean that there is, said once."""
        if self.some_pooled:
            yield _POOLED
        if self.mixed:
            yield (
                f"Rows that differ in {', '.join(self.mixed)} are averaged by their means, without an "
                "interval: they are no sample of anything."
            )


def _flat(
    keys: Sequence[str], shown: Mapping[tuple[str, ...], Mapping[str, str]]
) -> tuple[list[Head], list[list[str]]]:
    """A row for each mean."""
    by_head = [{**line, **dict(zip(keys, key, strict=True))} for key, line in shown.items()]
    heads = [*keys, "runs", "n", _LABELS, *(["eps"] if "eps" not in keys else [])]
    return _grid([*heads, _USED, _ACCURACY, _EXACT], by_head)


def _pivoted(
    keys: Sequence[str], pivot: str, shown: Mapping[tuple[str, ...], Mapping[str, str]]
) -> tuple[list[Head], list[list[str]]]:
    """A column for each value of a setting, the last of what means are named by."""
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for key, line in shown.items():
        rows.setdefault(key[:-1], {})[key[-1]] = line[_ACCURACY]
    values = sorted({key[-1] for key in shown}, key=lambda text: sort_keys([text]))
    cells = [[*key, *(row.get(value, ABSENT) for value in values)] for key, row in rows.items()]
    columns = [_column(key, [row[index] for row in cells]) for index, key in enumerate(keys)]
    return [*columns, *(Head(f"{pivot} {value}") for value in values)], cells


def _average(rows: Sequence[MeasuredRow], *, pool: bool) -> tuple[dict[str, Any], dict[str, str]]:
    """Means of rows: for CSV, and as cells."""
    n = sum(row.n for row in rows)
    accuracy = pooled(rows, "accuracy") if pool else Interval(_mean(rows, "accuracy"), None, n)
    spent = [row["eps"] for row in rows if row["eps"] is not None]
    record: dict[str, Any] = {"runs": len(rows), "n_repeats": n, "largest_eps": max(spent, default=None)}
    teachers = [row["n_teachers"] for row in rows if row["n_teachers"] is not None]
    record |= {"n_teachers": math.fsum(teachers) / len(teachers) if teachers else None}
    record |= {name: _mean(rows, name) for name in _MEANS}
    record |= {"accuracy": accuracy and accuracy.mean, "ci95": accuracy and accuracy.half_width}
    record |= {"ceiling": _mean(rows, "ceiling")}
    return record, {
        "runs": str(len(rows)),
        "n": str(n),
        _LABELS: _answered_of_asked(record["n_answered"], record["n_asked"]),
        "eps": span(spent, "g"),
        _USED: number(record["eps_ex_post"]),
        _ACCURACY: number(accuracy),
        _EXACT: number(record["ceiling"]),
    }


def _mean(rows: Sequence[MeasuredRow], name: str) -> Any:
    """Mean of the means of rows that have one; None without any."""
    means = [mean for row in rows if (mean := row.mean(name)) is not None]
    return math.fsum(means) / len(means) if means else None


def _order(row: MeasuredRow) -> tuple[str, str, float]:
    return str(row["dataset"]), str(row["method"]), math.inf if row["eps"] is None else row["eps"]


def _texts(row: MeasuredRow) -> dict[str, str]:
    """Settings of a row as text, those that have a column in any case too."""
    texts = {
        name: str(row[name]) for name in row.left if row[name] is not None and name not in ("method", "job")
    }
    texts |= {"mechanism": str(row["method"]), "method": str(row["method"])}
    numbers = {"eps": (row["eps"], "g"), "teachers": (row["n_teachers"] or None, ".0f")}
    texts |= {name: number(value, form) for name, (value, form) in numbers.items() if value is not None}
    return texts | ({"data": str(row["checksum"])[:12]} if row["checksum"] else {})


def _names(texts: Sequence[dict[str, str]]) -> list[str]:
    """Settings among the texts of rows; of data only those of which one dataset has several."""
    names = dict.fromkeys(name for text in texts for name in text if name != "method")
    data: dict[str, set[str]] = {}
    for text in texts:
        data.setdefault(text["dataset"], set()).add(text.get("data", ""))
    return [name for name in names if name != "data" or any(len(sums - {""}) > 1 for sums in data.values())]


def _telling(texts: Sequence[dict[str, str]]) -> list[str]:
    """Settings in which rows differ: each separates most of what those before it leave together."""
    left = [name for name in differing(texts, _names(texts)) if name not in _ALWAYS]
    chosen: list[str] = []
    while left:
        seen = lambda key: len({tuple(text.get(k) for k in (*_ALWAYS, *chosen, key)) for text in texts})  # noqa: E731
        chosen.append(max(left, key=seen))
        left.remove(chosen[-1])
    return chosen


def _grid(
    heads: Sequence[str], lines: Sequence[dict[str, str]], details: Sequence[str] = ()
) -> tuple[list[Head], list[list[str]]]:
    cells = [[line.get(head, ABSENT) for head in heads] for line in lines]
    columns = [_column(head, [row[i] for row in cells], details) for i, head in enumerate(heads)]
    return columns, cells


def _column(head: str, cells: Sequence[str], details: Sequence[str] = ()) -> Head:
    numeric = head in _MEASURES or all(sort_keys([cell])[0][0] != 1 for cell in cells)
    return Head(head, numeric=numeric, detail=head in details)


def _cells(row: MeasuredRow) -> dict[str, str]:
    """Cells of a row, besides its settings."""
    return {
        _LABELS: _answered_of_asked(row.mean("n_answered"), row.mean("n_asked")),
        _USED: number(row.mean("eps_ex_post")),
        _ACCURACY: number(row.over("accuracy")),
        _EXACT: number(row.mean("ceiling")),
        "majority": number(row.mean("majority_class")),
        **{name: number(row.mean(name)) for name in _figures([row])},
        "status": row.status,
    }


def _figures(rows: Iterable[MeasuredRow]) -> list[str]:
    """Names of the figures that `--metrics` shows."""
    names = dict.fromkeys(name for row in rows for name in row.measures)
    return [*(name for name in METRICS if name in names), *(n for n in names if n.startswith(_BY_CLASS))]


def _record(
    row: MeasuredRow, text: dict[str, str], extras: Sequence[str], figures: Sequence[str]
) -> dict[str, Any]:
    """Everything of a row for CSV, nothing rounded."""
    accuracy = row.over("accuracy")
    seed = text.get("seed")
    record = {
        "dataset": row["dataset"],
        "mechanism": row["method"],
        "n_teachers": None if row["n_teachers"] is None else int(row["n_teachers"]),
        "n_answered": row.mean("n_answered"),
        "n_asked": row.mean("n_asked"),
        "eps": row["eps"],
        "delta": row["delta"],
        "eps_ex_post": row.mean("eps_ex_post"),
        "accuracy": accuracy and accuracy.mean,
        "ci95": accuracy and accuracy.half_width,
        "ceiling": row.mean("ceiling"),
        "majority": row.mean("majority_class"),
        "n_repeats": row.n,
        "status": row.status,
        "seed": int(seed) if seed and seed.isdecimal() else None,
        "row": row["row"],
        "message": row.reason,
        "checksum": row["checksum"],
        "remark": "; ".join(warnings(row)),
    }
    record |= {name: row.mean(name) for name in figures}
    return record | {key: text.get(key) for key in extras if key not in record}


def _checked_setting(option: str, key: str, texts: Sequence[dict[str, str]]) -> str:
    """Name of the setting that an option means; InputError if no row has it."""
    names = list(dict.fromkeys((*_ALWAYS, *(name for text in texts for name in text if name != "method"))))
    name = SYNONYMS.get(key, key)
    if name not in names:
        raise InputError(f"{option}: {key!r}: no such setting of these rows; there are: {', '.join(names)}")
    return name


def _interval_note(half_widths: Iterable[float | None]) -> list[str]:
    """Meaning of ±, where there is one."""
    return [f"{T_NOTE}."] if any(half_width is not None for half_width in half_widths) else []


def _answered_of_asked(answered: float | None, asked: float | None) -> str:
    """Labels given of those asked for; of a mechanism that asks nothing, a dash."""
    return f"{_count(answered)}/{_count(asked)}" if asked else ABSENT


def _count(value: float | None) -> str:
    """Write a mean number of queries, without a fraction where it has none."""
    if value is None:
        return ABSENT
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.1f}"


def _footnotes(rows: Sequence[MeasuredRow], left_out: int) -> list[str]:
    """Lines below the table: rows left out, to be read with care, and not finished."""
    runs = "1 other row" if left_out == 1 else f"{left_out} other rows"
    lines = [f"{runs} of the same configuration and data left out"] if left_out else []
    sums: dict[str, dict[str, str]] = {}
    for row in rows:
        if row["checksum"]:
            sums.setdefault(row["row"], {})[row["checksum"][:12]] = _name(row)
    for names in (names for names in sums.values() if len(names) > 1):
        what = next(iter(names.values())).rpartition(" (")[0]
        lines.append(
            f"{what}: one configuration on different data: SHA-256 {', '.join(names)}, in this order"
        )
    by_words: dict[str, list[str]] = {}  # warnings by their words, whatever their numbers
    for row in rows:
        for text in warnings(row):
            by_words.setdefault(re.sub(r"\d[\d.,]*", "", text), []).append(f"warning: {_name(row)}: {text}")
    lines += [
        first + (f"; so in {count_of(len(others), 'more row')}" if others else "")
        for first, *others in by_words.values()
    ]
    return lines + [
        f"{row.status}: {_name(row)}: {row.reason or 'no message'}" for row in rows if row.status != "ok"
    ]


def _name(row: MeasuredRow) -> str:
    eps = "" if row["eps"] is None else f", eps {row['eps']:g}"
    return f"{row['dataset']}, {row['method']}{eps} ({row['directory']})"


def warnings(row: MeasuredRow) -> list[str]:
    """Warnings: few points wanted, a student not above the majority class, or one that is the limit."""
    texts = []
    asked, budget = row.mean("queries_wanted"), row["budget"]
    if asked is not None and budget and asked < _FEW * budget:
        filled = row.mean("n_asked") != asked
        fill_hint = (
            "the rest of the budget was asked of random points (mechanism.fill)"
            if filled
            else "mechanism.fill=true asks the rest of random points, at the same guarantee"
        )
        texts.append(
            f"the active learner asked {_count(asked)} of {budget:.0f} points: {fill_hint}; a larger "
            "mechanism.mellowness wants more"
        )
    accuracy, share = row.mean("accuracy"), row.mean("majority_class")
    if accuracy is not None and share is not None and accuracy <= share:
        than = f"one that always says the commonest class ({100 * share:.1f}% of the records)"
        auc = row.mean("roc_auc")
        ranks = auc is not None and auc > _RANKS
        rather = f"; but it ranks (ROC AUC {number(auc)}): see pate predict --threshold" if ranks else ""
        texts.append(f"the student was right no more often than {than}{rather}")
    if constant := row.over("one_class"):
        texts.append(
            f"the student gives one class to all public points in {constant.n} of {row.n} repeats: it "
            "learned nothing, or nearly all records are of that class"
        )
    votes, exact = row.mean("vote_accuracy"), row.mean("ceiling")
    if accuracy is not None and votes is not None and exact is not None:
        lost = votes - exact
        parts = ((votes, row["n_public"]), (exact, row["n_test"]))
        by_chance = 2 * math.sqrt(sum(p * (1 - p) / n for p, n in parts if n) / row.n)
        if lost > max(_LOST, _TIMES * (exact - accuracy), by_chance):
            texts.append(
                f"the student, not privacy, is the limit: it is right on {100 * exact:.1f}% after exact "
                f"votes, and these are right for {100 * votes:.1f}% of the public points; more public "
                "points (split.public) or another student would help"
            )
    return texts
