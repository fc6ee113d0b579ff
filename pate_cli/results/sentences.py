"""The answer in words: the same on a page, a terminal and in JSON."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from pate_cli.errors import count_of
from pate_cli.results.answers import (
    ALIKE,
    BROKE,
    CANNOT,
    NO_USE,
    NOT_RUN,
    PREFERRED,
    UNKNOWN,
    UNLIKE,
    USE,
    WORSE,
    Advice,
    ended,
    most_common,
)
from pate_cli.results.interval import Interval
from pate_cli.results.marks import listed, name, quoted
from pate_cli.results.means import MeasuredRow
from pate_cli.results.settings import LIMIT, RECORD

__all__ = ["GLOSSARY", "INSIDE", "caution", "constant_clause", "cost", "headline", "lede"]
__all__ += ["meaning_of_eps", "protected", "verdict_rule"]

INSIDE = "**Keep these numbers inside:** they come from private records, without protection."
_PLAN = "that follows from their settings, before any work"
_FEW = 4  # methods that are listed by name


def headline(answer: Advice, data: str = "") -> str:
    """What was found, in one or two sentences; `data` names the records of a single row."""
    board, metric = answer.board, answer.metric
    value = board.values(answer.eps).get(answer.method) if answer.method else None
    if value is None:
        if board.rows and all(ended(row.status) == CANNOT for row in board.rows):
            return f"No method can run{f' on {data}' * bool(data)}: {_PLAN}."
        return f"Nothing was measured{f' on {data}' * bool(data)}: no repeat is done."
    of, at = f" of {data}" if data else "", _at(answer.eps)
    if not answer.useful:
        over, needed = answer.over_constant(answer.method), answer.repeats_over_constant
        worse = over is not None and over.mean < 0
        told = f"{_points(answer, -over if over and worse else over)} {'worse' if worse else 'better'}"
        more = f"; about {needed:,} splits would tell" if needed else ""
        return (
            f"No method is better than a constant answer{at}, as far as {_splits(answer.repeats)} can tell: "
            f"{name(answer.method)} is {told}{more}."
        )
    level = _level(answer, value, ci=len(board.rows) == 1)
    if len(board.rows) == 1 and not answer.limit:
        return f"{name(answer.method)}{at} {_does(answer, level)}{of}."
    lost = answer.lost()
    if lost is not None:
        below = lost.mean >= 0
        best = "the best model " * (answer.limit == LIMIT and not below)
        than = f"{metric.less if below else metric.more} than {best}without privacy"
        points = _points(answer, lost if below else -lost)
        does = f"{at.strip().capitalize()} it {_does(answer, level)}{of}"
        return f"Use {name(answer.method)}. {does}, {points} {than}."
    other = next(iter(answer.open), answer.runner_up)
    if not other:
        return f"{name(answer.method)}{at} {_does(answer, level)}{of}."
    gap = board.lead(answer.method, other, answer.eps)
    if gap is None or gap.half_width is None or gap.sign == 0:
        behind = gap is None or gap.mean >= 0
        points = "" if gap is None else _points(answer, gap if behind else -gap)
        by = "" if gap is None else f", with {points} {metric.less if behind else metric.more}"
        return (
            f"{name(answer.method)}{at} {_does(answer, level)}{of}; {name(other)} cannot be told from it{by}."
        )
    every = " at every eps" if answer.best_everywhere and len(board.budgets) > 1 else ""
    most = "the most accurate" if metric.unit == "points" and metric.name == "accuracy" else "the best"
    lead = f"{_points(answer, gap)} {metric.more} than {name(other)}"
    return f"{name(answer.method)} is {most}{every}: {level}{at}, {lead}."


def _does(answer: Advice, level: str) -> str:
    """What a method with this level does."""
    if answer.metric.name == "accuracy":
        return f"is right on {level} of unseen records"
    return f"has a {answer.metric.words} of {level} on unseen records"


def _level(answer: Advice, value: Interval | float | None, *, ci: bool = False) -> str:
    return answer.metric.level(value, ci=ci) + answer.metric.percent


def _points(answer: Advice, gap: Interval | None) -> str:
    return f"{answer.metric.text(gap)} {answer.metric.unit}"


def _splits(n: int) -> str:
    return count_of(n, "split")


def _at(eps: float) -> str:
    return f" at eps {eps:g}" if math.isfinite(eps) else " without privacy"


def constant_clause(answer: Advice) -> str:
    """What a constant answer gets, as a clause; empty if that is not known."""
    level = answer.constant
    if level is None:
        return ""
    if answer.metric.name == "roc_auc":
        return "50% is guessing"
    common = most_common(answer.board)
    always = f"always answering {quoted(common)}" if common else "always giving the most common class"
    if answer.metric.name == "log_loss":
        always = "always giving the shares of the classes"
    verb = "is right on" if answer.metric.name == "accuracy" else "gets"
    return f"{always} {verb} {_level(answer, level)}"


def lede(answer: Advice) -> str:
    """What the answer depends on, in at most a few sentences."""
    sentences = []
    if clause := constant_clause(answer):
        sentences.append(f"{clause[0].upper()}{clause[1:]}.")
    if answer.metric.name == "roc_auc":
        share = answer.largest_share
        so = "So" if share is None else f"One class has {100 * share:.1f}% of the records, so"
        sentences.append(f"{so} methods are compared by how well they rank: ROC AUC.")
    if len(costs := cost(answer)) > 1:
        unit = f" {answer.metric.unit}"
        parts = [f"{text}{unit * (not k)} at eps {eps:g}" for k, (eps, text) in enumerate(costs.items())]
        sentences.append(f"Privacy costs {listed(parts)}.")
    if answer.repeats == 1:
        sentences.append("One split has no interval: nothing can be told apart; ten would tell more.")
    elif answer.useful and len(answer.verdicts) > 1:
        sentences.append(_others(answer))
    return " ".join(filter(None, sentences))


def _others(answer: Advice) -> str:
    """Which other methods cannot be told from it, and what would tell."""
    alike, splits = answer.open, _splits(answer.repeats)
    others = {
        other: answer.board.lead(answer.method, other, answer.eps)
        for other in answer.board.values(answer.eps)
        if other != answer.method and other not in alike
    }
    worse = bool(others) and all(lead is not None and lead.sign > 0 for lead in others.values())
    if not alike:
        return f"No other method is as good, as far as {splits} can tell." if worse else ""
    names = listed(map(name, alike)) if len(alike) <= _FEW else f"{len(alike)} other methods"
    text = f"{names} cannot be told from {name(answer.method)} on {splits}"
    needed = [n for n in alike.values() if n is not None]
    if needed and len(needed) == len(alike):
        text += f"; about {max(needed):,} would tell, if the differences stay"
    return f"{text}; all others are worse." if worse and not needed else f"{text}."


def cost(answer: Advice) -> dict[float, str]:
    """What the method loses to privacy at each eps, in the unit of the measure."""
    gaps = {eps: answer.lost(eps=eps) for eps in answer.board.budgets}
    return {eps: answer.metric.text(Interval(gap.mean, None, 1)) for eps, gap in gaps.items() if gap}


def caution(answer: Advice) -> str:
    """What could do harm: the page is not to be shown around."""
    choice = ", and the choice by them," if len(answer.board.methods) > 1 else ""
    tune = " `pate tune` makes the choice within the budget." if choice else ""
    return (
        f"**Keep this page inside.** Its numbers{choice} come from private records without protection.{tune}"
    )


def verdict_rule(answer: Advice) -> list[str]:
    """The meaning of the verdicts that stand in the table."""
    known = PREFERRED in answer.board.values(answer.eps)
    first = name(PREFERRED) if known else "the method with the best mean"
    rules = {
        USE: f"“Use this” is {first}, unless another method is better by more than the 95% interval of the "
        "difference, or that one is not better than a constant answer and another is.",
        ALIKE: "“No difference seen”: the interval of the difference includes 0.",
        WORSE: "“Worse”: that interval lies wholly on one side.",
        UNKNOWN: "“Cannot be told”: one split has no interval.",
        UNLIKE: "“Other splits”: not measured at the same splits, so there is no paired difference.",
        NO_USE: "“No better than a constant answer”: the interval of its lead over that includes 0 or "
        "lies below.",
        CANNOT: "“Cannot run”: refused from public numbers, before any training.",
        BROKE: "“Broke off”: an error.",
        NOT_RUN: "“Not run”: the command was ended before.",
    }
    return [text for word, text in rules.items() if word in answer.verdicts.values()]


def protected(rows: Sequence[MeasuredRow]) -> str:
    """What the guarantees of rows are for: one record, its label, or all records of one person."""
    private = [row for row in rows if row["eps"] is not None and math.isfinite(row["eps"])]
    return " or ".join(dict.fromkeys(row["protects"] or RECORD for row in private)) or RECORD


def meaning_of_eps(what: str) -> str:
    """Meaning of eps where the guarantee is for that."""
    text = GLOSSARY["eps (privacy budget)"]
    return text if what == RECORD else re.sub("(any )?one record", what, text)


GLOSSARY = {
    "eps (privacy budget)": "How much any one record can change what is published. Small is strong: at eps 1 "
    "even the best attack, told everything but one record and left with two equally likely values for it, is "
    "right at most 73 times in 100; at eps 0.5, 62; at eps 2, 88. Guessing is 50.",
    "delta": "A small probability by which the statement for eps may fail.",
    "accuracy": "Share of records, not used in training, whose class is predicted right.",
    "ROC AUC": "How often a record of a class is ranked above one of another. 50% is guessing.",
    "±": "Half of a 95% interval of the mean over the random splits (Student’s t). If the interval of a "
    "difference includes 0, the data cannot tell the two apart.",
    "without privacy": f"The {LIMIT.removesuffix(' without privacy')} of several ordinary ones, trained on "
    "the same private records. It is what privacy is compared with; it must not be published.",
    "teacher, student": "Teachers are models trained on separate parts of the private records. The student "
    "learns from public points that the teachers labelled by a noisy vote; only the student is published.",
    "public point": "A record whose columns may be seen by anyone. Its label is what the teachers vote on.",
    "split": "One random division of the records into private, public and test ones.",
}
"""Words of a page, in the order shown."""
