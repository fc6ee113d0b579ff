"""The page of one data set: its figure, and the folded sections, in the order of likely questions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from pate_cli.errors import count_of
from pate_cli.results import sentences
from pate_cli.results.answers import NO_USE, UNSURE, Advice
from pate_cli.results.boards import METRICS
from pate_cli.results.marks import listed, name
from pate_cli.results.means import MeasuredRow
from pate_cli.results.page import Section
from pate_cli.results.settings import BASELINES, LIMIT, MAJORITY, NAMES, RECORD
from pate_cli.results.svg import Level, Line, colours, frame, lines
from pate_cli.results.tables import ABSENT, Head, Table, number, span
from pate_cli.results.verdicts import UNKNOWN, ended

__all__ = ["details", "eps_figure", "shared_settings", "splits_of"]

_CALIBRATION = "calibration_error"
_MOST_LINES = 8  # of the figure
_MOST_CLASSES = 30
_MOST_RUNS = 400


def eps_figure(advice: Advice) -> tuple[str, str]:
    """SVG of the measure against eps, and its caption; both empty with a single eps."""
    board, metric = advice.board, advice.metric
    if len(board.budgets) < 2:
        return "", ""
    hues = colours([*advice.verdicts])
    drawn: list[Line] = []
    without = []
    for method in sorted(advice.verdicts, key=lambda method: method != advice.method):
        rows = [(eps, board.cell(method, eps)) for eps in board.budgets]
        means = [(eps, row.over(metric.name)) for eps, row in rows if row is not None]
        points = [
            (eps, metric.scale * mean.mean, mean.half_width and metric.scale * mean.half_width)
            for eps, mean in means
            if mean is not None and math.isfinite(mean.mean)
        ]
        if points and len(drawn) < _MOST_LINES:
            drawn.append(Line(method, points, hues[method], main=method == advice.method))
        elif not points:
            without.append(method)
    if not drawn:
        return "", ""
    levels = []
    if advice.limit and (mean := board.baselines[advice.limit].mean(metric.name)) is not None:
        levels.append(Level(f"without privacy {metric.level(mean)}", metric.scale * mean))
    if (constant := advice.constant) is not None:
        text = f"{advice.constant_words} {metric.level(constant)}"
        levels.append(Level(text, metric.scale * constant, dash=True, above=False))
    delta = max((row["delta"] for row in board.rows if row["delta"] is not None), default=0.0)
    values = "; ".join(
        f"{line.name}: {', '.join(f'{value:.1f}' for _, value, _ in line.points)}" for line in drawn
    )
    figure = lines(
        drawn,
        levels,
        title=f"{metric.words} against eps on {board.name}",
        desc=f"{values}. All numbers are in the table below.",
        y=f"{metric.words} on unseen records, {metric.percent.strip()}",
        delta=delta,
    )
    return figure, _caption(advice, drawn, levels, without)


def _caption(advice: Advice, drawn: Sequence[Line], levels: Sequence[Level], without: Sequence[str]) -> str:
    low, _, _ = frame(drawn, levels)
    text = [f"Mean of {splits_of(advice)}"]
    text[0] += "; band and whiskers are 95% intervals." if advice.repeats > 1 else "."
    for line in drawn:
        if (least := min(value for _, value, _ in line.points)) < low:
            text.append(f"{name(line.name)} goes below the frame, to {least:.1f}{advice.metric.percent}.")
    if without:
        text.append(f"Without a number: {listed(map(name, without))}.")
    if len(advice.verdicts) > len(drawn) + len(without):
        text.append(f"Shown are the {len(drawn)} best.")
    what = sentences.protected(advice.board.every)
    text.append(f"Under eps: how often the best attack on {what} can be right; 50% is guessing.")
    return " ".join(text)


def splits_of(advice: Advice, of: str = "") -> str:
    """How often it was measured, as "10 splits", and of what, as " of these records"."""
    counts = [row.n for row in advice.board.every if row.n] or [0]
    seeds = {str(row["seed"]) for row in advice.board.rows if ", " in str(row["seed"] or "")}
    of_seeds = f", of {len(next(iter(seeds)).split(', '))} seeds" if len(seeds) == 1 else ""
    return f"{span(counts, 'd')} split{'s' * (max(counts) != 1)}{of}{of_seeds}"


def details(advice: Advice, command: Sequence[str]) -> list[Section]:
    """Folded sections; those without content are left out."""
    sections = [
        Section("Why some methods have no number, or no use", _why(advice), "why"),
        Section(f"Other ways to measure it{_at(advice.eps)}", _other_measures(advice)),
        Section("Class by class", _classes(advice)),
        Section("Where accuracy is lost without any noise", _baselines(advice)),
        Section("All runs", _all_runs(advice)),
        Section("How this was measured", _how_measured(advice, command)),
        Section("Words", [("words", _glossary(advice))]),
    ]
    return [section for section in sections if section.blocks]


def _at(eps: float) -> str:
    return f", at eps {eps:g}" if math.isfinite(eps) else ""


def _why(advice: Advice) -> list[tuple[str, Any]]:
    """Why methods have no number, or are no better than a constant answer; each reason once."""
    board, texts = advice.board, list[str]()
    for method in advice.verdicts:
        rows = [row for row in board.rows if row["method"] == method and row.status != "ok"]
        for status, word in dict.fromkeys((row.status, ended(row.status, row.n)) for row in rows):
            same_end = [row for row in rows if (row.status, ended(row.status, row.n)) == (status, word)]
            budgets = ", ".join(number(row["eps"], "g") for row in same_end)
            texts.append(f"{name(method)} {word} at eps {budgets}: {same_end[-1].reason}")
    for method in advice.named(UNKNOWN):
        row = board.cell(method, advice.eps)
        if row is not None and row.n:
            why = "its student gives no scores or probabilities, as one that learned a single class"
            texts.append(f"{name(method)} has no {advice.metric.words}{_at(advice.eps)}: {why}.")
    for method in advice.named(NO_USE, UNSURE):
        row = board.cell(method, advice.eps)
        asked, answered = (row.mean(n) if row else None for n in ("n_asked", "n_answered"))
        labels = ""
        if asked and answered is not None:
            labels = f" It asked {count_of(asked, 'question')} and got {count_of(answered, 'label')}."
        lead = advice.metric.text(advice.over_constant(method), sign=True)
        lead += f" {advice.metric.unit}{_at(advice.eps)}"
        shown = "which may be nothing" if advice.verdicts[method] == UNSURE else "nothing to need a model for"
        texts.append(f"{name(method)} leads a constant answer by {lead}, {shown}.{labels}")
    return [("list", texts)] if texts else []


def _rows_at(advice: Advice) -> list[tuple[str, MeasuredRow]]:
    """The limit and the methods, with their rows at the eps spoken of."""
    names = [advice.limit, *sorted(advice.verdicts, key=lambda method: method != advice.method)]
    rows = [(method, advice.board.cell(method, advice.eps)) for method in names]
    return [(method, row) for method, row in rows if row is not None and row.n]


def _other_measures(advice: Advice) -> list[tuple[str, Any]]:
    measures = [metric for metric in METRICS.values() if metric.name != advice.metric.name]
    rows = _rows_at(advice)[:_MOST_CLASSES]
    shown = [metric for metric in measures if any(row.over(metric.name) for _, row in rows)]
    if not shown:
        return []
    calibrated = any(row.over(_CALIBRATION) for _, row in rows)
    columns = [Head("method", numeric=False), *(Head(metric.heading) for metric in shown)]
    columns += [Head("calibration error, %")] * calibrated
    cells = []
    for method, row in rows:
        cells.append([_label(method), *(m.level(row.over(m.name), ci=True) for m in shown)])
        cells[-1] += [METRICS["accuracy"].level(row.over(_CALIBRATION), ci=True)] * calibrated
    note = (
        "Balanced accuracy: mean over the classes of the share found. ROC AUC: how often a record of a class "
        "is ranked above one of another; 50 is guessing. Calibration error: how far predicted probabilities "
        "are from observed shares; 0 is perfect."
    )
    return [("table", Table(columns, cells, note=note, title="Other measures"))]


def _label(method: str) -> str:
    return "without privacy" if method == LIMIT else BASELINES.get(method) or name(method)


def _classes(advice: Advice) -> list[tuple[str, Any]]:
    """Recall and precision of each class, for the method to use."""
    row = advice.row
    if row is None or not 0 < len(row.classes) <= _MOST_CLASSES:
        return []
    percent = METRICS["accuracy"]
    cells = [
        [
            name(label),
            *(percent.level(row.over(f"{measure}.{label}"), ci=True) for measure in ("recall", "precision")),
        ]
        for label in row.classes
    ]
    columns = [Head("class", numeric=False), Head("found, %"), Head("right when named, %")]
    note = f"Of {name(advice.method)}{_at(advice.eps)}. {ABSENT}: never named."
    return [("table", Table(columns, cells, note=note, title="Class by class"))]


def _baselines(advice: Advice) -> list[tuple[str, Any]]:
    board = advice.board
    if len(board.baselines) < 3:
        return []
    metric = advice.metric
    cells = [
        [words, metric.level(board.baselines[baseline].over(metric.name), ci=True)]
        for baseline, words in BASELINES.items()
        if baseline in board.baselines
    ]
    columns = [Head("trained on", numeric=False), Head(metric.heading)]
    families = ", ".join(f"{family} at {count}" for family, count in board.families.items())
    note = "Without privacy: not to be published."
    note += f" The best of several ordinary models, by splits: {families}." if families else ""
    text = (
        "A student on public points learns from labels. What it reaches on labels without noise is near the "
        "most that it can reach with them, at any eps."
    )
    return [("p", text), ("table", Table(columns, cells, note=note, title="Without privacy"))]


def _all_runs(advice: Advice) -> list[tuple[str, Any]]:
    board, metric = advice.board, advice.metric
    columns = [Head("method", numeric=False), Head("eps"), Head("teachers"), Head("labels")]
    columns += [Head(metric.heading), Head(f"lead of {name(advice.method)}"), Head("splits")]
    columns.append(Head("verdict", numeric=False, tags=True))
    cells = []
    for row in sorted(
        board.rows, key=lambda row: (list(advice.verdicts).index(row["method"]), row["eps"] or 0)
    ):
        method, asked, answered = row["method"], row.mean("n_asked"), row.mean("n_answered")
        gap = advice.lead(method, row["eps"]) if method != advice.method else None
        line = [name(method), number(row["eps"], "g"), number(row["n_teachers"] or None, ",.0f")]
        line += [f"{_count(answered)} of {_count(asked)}" if asked and answered is not None else ABSENT]
        line += [metric.level(row.over(metric.name), ci=True), metric.text(gap, sign=True), str(row.n)]
        cells.append([*line, "" if row.status == "ok" else ended(row.status, row.n)])
    note = "Labels: given, of those asked for, a mean over splits."
    note += " Leads: at 95% for all comparisons of an eps together." * (len(board.methods) > 2)
    if len(cells) > _MOST_RUNS:
        note += f" {len(cells) - _MOST_RUNS} more are in `rows.csv`."
    table = Table(columns, cells[:_MOST_RUNS], note=note, title="All runs").filled()
    return [("table", table)] if len(cells) > 1 else []


def _count(mean: float) -> str:
    """A mean number of labels, without a fraction where it has none."""
    return f"{mean:,.0f}" if mean.is_integer() else f"{mean:,.1f}"


def _how_measured(advice: Advice, command: Sequence[str]) -> list[tuple[str, Any]]:
    """Splits, verdicts, what the limit is, settings, and the command that makes it again."""
    board = advice.board
    same = "; each method sees the same ones" if advice.same_splits else ""
    texts = [f"{splits_of(advice)}, drawn at random{same}."]
    texts += sentences.verdict_rule(advice) if len(advice.verdicts) > 1 else []
    if advice.limit:
        texts.append(f"“Without privacy” is {BASELINES[advice.limit]}.")
    if MAJORITY in board.baselines:
        texts.append("A constant answer is the most common class of the private records.")
    what = sentences.protected(board.every)
    what += " replaced by another" if what == RECORD else ""
    if math.isfinite(advice.eps):
        texts.append(f"The guarantee of each eps is for one run, and for {what}.")
    settings = shared_settings([row.columns for row in board.rows])
    return [("list", texts), ("code", [command]), ("table", settings)]


def _glossary(advice: Advice) -> dict[str, str]:
    """Words that the page uses."""
    unused = set() if advice.limit else {"without privacy"}
    unused |= {"ROC AUC"} if advice.metric.name != "roc_auc" else {"accuracy"}
    unused |= (
        set() if any(row["n_teachers"] for row in advice.board.rows) else {"teacher, student", "public point"}
    )
    of_eps = sentences.meaning_of_eps(sentences.protected(advice.board.every))
    texts = sentences.GLOSSARY | {"eps (privacy budget)": of_eps}
    if advice.limit not in ("", LIMIT):
        limit = f"{BASELINES[advice.limit].capitalize()}. It is what privacy is compared with; it must not be"
        texts |= {"without privacy": f"{limit} published."}
    return {word: text for word, text in texts.items() if word not in unused}


def shared_settings(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Settings and public numbers that all rows with any share; rows are columns of `repeats.csv`."""
    columns_before_eps = (key for row in rows for key in takewhile(lambda key: key != "eps", row))
    names = dict.fromkeys(key for key in columns_before_eps if key == "dataset" or key not in NAMES)
    names |= dict.fromkeys(("delta", "guarantee", "n_private", "n_public", "n_test", "n_teachers"))
    values = {key: {_text(row[key]) for row in rows if row.get(key) is not None} for key in names}
    same = {key: texts.pop() for key, texts in values.items() if len(texts) == 1}
    records = [{"setting": key, "value": text} for key, text in same.items() if text != "null"]
    columns = [Head("setting", numeric=False), Head("value", numeric=False)]
    return Table(columns, [list(record.values()) for record in records], records, title="Shared settings")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else number(value, "g")
