"""The page of one data set: its figure, and what is folded, in the order of likely questions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from pate_cli.errors import count_of
from pate_cli.results import sentences
from pate_cli.results.answers import NO_USE, UNLIKE, Advice, ended
from pate_cli.results.boards import METRICS
from pate_cli.results.marks import listed, name
from pate_cli.results.means import MeasuredRow
from pate_cli.results.page import Section
from pate_cli.results.settings import BASELINES, LIMIT, MAJORITY, NAMES, RECORD
from pate_cli.results.svg import Level, Line, colours, frame, lines
from pate_cli.results.tables import ABSENT, Head, Table, number, span

__all__ = ["details", "eps_figure", "shared_settings", "splits_of"]

_CALIBRATION = "calibration_error"
_MOST_LINES = 8  # of the figure
_MOST_CLASSES = 30
_MOST_RUNS = 400


def eps_figure(found: Advice) -> tuple[str, str]:
    """The measure against eps, and the caption; nothing where there is one eps."""
    board, metric = found.board, found.metric
    if len(board.budgets) < 2:
        return "", ""
    hues = colours([*found.verdicts])
    drawn: list[Line] = []
    without = []
    for of in sorted(found.verdicts, key=lambda of: of != found.method):
        rows = [(eps, board.cell(of, eps)) for eps in board.budgets]
        means = [(eps, row.over(metric.name)) for eps, row in rows if row is not None]
        points = [
            (eps, metric.scale * mean.mean, mean.half_width and metric.scale * mean.half_width)
            for eps, mean in means
            if mean is not None and math.isfinite(mean.mean)
        ]
        if points and len(drawn) < _MOST_LINES:
            drawn.append(Line(of, points, hues[of], main=of == found.method))
        elif not points:
            without.append(of)
    if not drawn:
        return "", ""
    levels = []
    if found.limit and (mean := board.baselines[found.limit].mean(metric.name)) is not None:
        levels.append(Level(f"without privacy {metric.level(mean)}", metric.scale * mean))
    if (constant := found.constant) is not None:
        text = f"{found.constant_words} {metric.level(constant)}"
        levels.append(Level(text, metric.scale * constant, dash=True, above=False))
    delta = max((row["delta"] for row in board.rows if row["delta"] is not None), default=0.0)
    about = "; ".join(
        f"{line.name}: {', '.join(f'{value:.1f}' for _, value, _ in line.points)}" for line in drawn
    )
    figure = lines(
        drawn,
        levels,
        title=f"{metric.words} against eps on {board.name}",
        desc=f"{about}. All numbers are in the table below.",
        y=f"{metric.words} on unseen records, {metric.percent.strip()}",
        delta=delta,
    )
    return figure, _caption(found, drawn, levels, without)


def _caption(found: Advice, drawn: Sequence[Line], levels: Sequence[Level], without: Sequence[str]) -> str:
    low, _, _ = frame(drawn, levels)
    text = [f"Mean of {splits_of(found)}"]
    text[0] += "; band and whiskers are 95% intervals." if found.repeats > 1 else "."
    for line in drawn:
        if (least := min(value for _, value, _ in line.points)) < low:
            text.append(f"{name(line.name)} goes below the frame, to {least:.1f}{found.metric.percent}.")
    if without:
        text.append(f"Without a number: {listed(map(name, without))}.")
    if len(found.verdicts) > len(drawn) + len(without):
        text.append(f"Shown are the {len(drawn)} best.")
    what = sentences.protected(found.board.every)
    text.append(f"Under eps: how often the best attack on {what} can be right; 50% is guessing.")
    return " ".join(text)


def splits_of(found: Advice) -> str:
    """How often it was measured, as "10 splits"."""
    counts = [row.n for row in found.board.every if row.n] or [0]
    seeds = {str(row["seed"]) for row in found.board.rows if ", " in str(row["seed"] or "")}
    of = f", of {len(next(iter(seeds)).split(', '))} seeds" if len(seeds) == 1 else ""
    return f"{span(counts, 'd')} split{'s' * (max(counts) != 1)}{of}"


def details(found: Advice, command: Sequence[str]) -> list[Section]:
    """Folded sections; those without content are left out."""
    sections = [
        Section("Why some methods have no number, or no use", _why(found), "why"),
        Section(f"Other ways to measure it{_at(found.eps)}", _other_measures(found)),
        Section("Class by class", _classes(found)),
        Section("Where accuracy is lost without any noise", _baselines(found)),
        Section("All runs", _all_runs(found)),
        Section("How this was measured", _how_measured(found, command)),
        Section("Words", [("words", _glossary(found))]),
    ]
    return [section for section in sections if section.blocks]


def _at(eps: float) -> str:
    return f", at eps {eps:g}" if math.isfinite(eps) else ""


def _why(found: Advice) -> list[tuple[str, Any]]:
    """Each reason once."""
    board, texts = found.board, list[str]()
    for of in found.verdicts:
        rows = [row for row in board.rows if row["method"] == of and row.status != "ok"]
        for status in dict.fromkeys(row.status for row in rows):
            at = [row for row in rows if row.status == status]
            word = ended(status)
            budgets = ", ".join(number(row["eps"], "g") for row in at)
            texts.append(f"{name(of)} {word} at eps {budgets}: {at[-1].reason}")
    for of in found.named(NO_USE):
        row = board.cell(of, found.eps)
        asked, given = (row.mean(n) if row else None for n in ("n_asked", "n_answered"))
        labels = ""
        if asked and given is not None:
            labels = f" It asked {count_of(asked, 'question')} and got {count_of(given, 'label')}."
        lead = found.metric.text(found.over_constant(of), sign=True)
        texts.append(
            f"{name(of)} leads a constant answer by {lead} {found.metric.unit}{_at(found.eps)}: nothing that "
            f"a model is needed for.{labels}"
        )
    return [("list", texts)] if texts else []


def _rows_at(found: Advice) -> list[tuple[str, MeasuredRow]]:
    """The limit and the methods, with their rows at the eps spoken of."""
    names = [found.limit, *sorted(found.verdicts, key=lambda of: of != found.method)]
    rows = [(of, found.board.cell(of, found.eps)) for of in names]
    return [(of, row) for of, row in rows if row is not None and row.n]


def _other_measures(found: Advice) -> list[tuple[str, Any]]:
    others = [metric for metric in METRICS.values() if metric.name != found.metric.name]
    rows = _rows_at(found)[:_MOST_CLASSES]
    shown = [metric for metric in others if any(row.over(metric.name) for _, row in rows)]
    if not shown:
        return []
    calibrated = any(row.over(_CALIBRATION) for _, row in rows)
    columns = [Head("method", numeric=False), *(Head(metric.heading) for metric in shown)]
    columns += [Head("calibration error, %")] * calibrated
    cells = []
    for of, row in rows:
        cells.append([_label(of), *(m.level(row.over(m.name), ci=True) for m in shown)])
        cells[-1] += [METRICS["accuracy"].level(row.over(_CALIBRATION), ci=True)] * calibrated
    note = (
        "Balanced accuracy: mean over the classes of the share found. ROC AUC: how often a record of a class "
        "is ranked above one of another; 50 is guessing. Calibration error: how far predicted probabilities "
        "are from observed shares; 0 is perfect."
    )
    return [("table", Table(columns, cells, note=note, title="Other measures"))]


def _label(of: str) -> str:
    return "without privacy" if of == LIMIT else BASELINES[of] if of in BASELINES else name(of)


def _classes(found: Advice) -> list[tuple[str, Any]]:
    """Of each class: how many are found, and how often it is right when it is named."""
    row = found.row
    if row is None or not 0 < len(row.classes) <= _MOST_CLASSES:
        return []
    percent = METRICS["accuracy"]
    cells = [
        [
            name(of),
            *(percent.level(row.over(f"{measure}.{of}"), ci=True) for measure in ("recall", "precision")),
        ]
        for of in row.classes
    ]
    columns = [Head("class", numeric=False), Head("found, %"), Head("right when named, %")]
    note = f"Of {name(found.method)}{_at(found.eps)}. {ABSENT}: never named."
    return [("table", Table(columns, cells, note=note, title="Class by class"))]


def _baselines(found: Advice) -> list[tuple[str, Any]]:
    board = found.board
    if len(board.baselines) < 3:
        return []
    metric = found.metric
    cells = [
        [words, metric.level(board.baselines[of].over(metric.name), ci=True)]
        for of, words in BASELINES.items()
        if of in board.baselines
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


def _all_runs(found: Advice) -> list[tuple[str, Any]]:
    board, metric = found.board, found.metric
    columns = [Head("method", numeric=False), Head("eps"), Head("teachers"), Head("labels")]
    columns += [Head(metric.heading), Head(f"lead of {name(found.method)}"), Head("splits")]
    columns.append(Head("verdict", numeric=False, tags=True))
    cells = []
    for row in sorted(
        board.rows, key=lambda row: (list(found.verdicts).index(row["method"]), row["eps"] or 0)
    ):
        of, asked, given = row["method"], row.mean("n_asked"), row.mean("n_answered")
        gap = board.lead(found.method, of, row["eps"]) if of != found.method else None
        line = [name(of), number(row["eps"], "g"), number(row["n_teachers"] or None, ",.0f")]
        line += [f"{given:.0f} of {asked:.0f}" if asked and given is not None else ABSENT]
        line += [metric.level(row.over(metric.name), ci=True), metric.text(gap, sign=True), str(row.n)]
        cells.append([*line, "" if row.status == "ok" else ended(row.status)])
    note = "Labels: given, of those asked for, a mean over splits."
    if len(cells) > _MOST_RUNS:
        note += f" {len(cells) - _MOST_RUNS} more are in `rows.csv`."
    table = Table(columns, cells[:_MOST_RUNS], note=note, title="All runs").filled()
    return [("table", table)] if len(cells) > 1 else []


def _how_measured(found: Advice, command: Sequence[str]) -> list[tuple[str, Any]]:
    """Splits, verdicts, what the limit is, settings, and the command that makes it again."""
    board = found.board
    same = "" if found.named(UNLIKE) else "; each method sees the same ones"
    texts = [f"{splits_of(found)}, drawn at random{same}."]
    texts += sentences.verdict_rule(found) if len(found.verdicts) > 1 else []
    if found.limit:
        texts.append(f"“Without privacy” is {BASELINES[found.limit]}.")
    if MAJORITY in board.baselines:
        texts.append("A constant answer is the most common class of the private records.")
    what = sentences.protected(board.every)
    what += " replaced by another" if what == RECORD else ""
    if math.isfinite(found.eps):
        texts.append(f"The guarantee of each eps is for one run, and for {what}.")
    settings = shared_settings([row.columns for row in board.rows])
    return [("list", texts), ("code", [command]), ("table", settings)]


def _glossary(found: Advice) -> dict[str, str]:
    """Words that the page uses."""
    left_out = set() if found.limit else {"without privacy"}
    left_out |= {"ROC AUC"} if found.metric.name != "roc_auc" else {"accuracy"}
    left_out |= (
        set() if any(row["n_teachers"] for row in found.board.rows) else {"teacher, student", "public point"}
    )
    of_eps = sentences.meaning_of_eps(sentences.protected(found.board.every))
    texts = sentences.GLOSSARY | {"eps (privacy budget)": of_eps}
    if found.limit not in ("", LIMIT):
        one = f"{BASELINES[found.limit].capitalize()}. It is what privacy is compared with; it must not be"
        texts |= {"without privacy": f"{one} published."}
    return {word: text for word, text in texts.items() if word not in left_out}


def shared_settings(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Settings and public numbers that all rows with any share; rows are columns of `repeats.csv`."""
    left = (of for row in rows for of in takewhile(lambda of: of != "eps", row))
    names = dict.fromkeys(of for of in left if of == "dataset" or of not in NAMES)
    names |= dict.fromkeys(("delta", "guarantee", "n_private", "n_public", "n_test", "n_teachers"))
    values = {of: {_text(row[of]) for row in rows if row.get(of) is not None} for of in names}
    same = {of: texts.pop() for of, texts in values.items() if len(texts) == 1}
    records = [{"setting": of, "value": text} for of, text in same.items() if text != "null"]
    columns = [Head("setting", numeric=False), Head("value", numeric=False)]
    return Table(columns, [list(record.values()) for record in records], records, title="Shared settings")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else number(value, "g")
