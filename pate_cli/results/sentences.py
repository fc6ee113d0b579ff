"""The answer in words: the same on a page, a terminal and in JSON."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from pate_cli.errors import count_of
from pate_cli.results.answers import (
    ALIKE,
    NO_USE,
    PREFERRED,
    UNLIKE,
    UNSURE,
    USE,
    WORSE,
    Advice,
    most_common,
)
from pate_cli.results.interval import LEVEL, Interval
from pate_cli.results.marks import listed, name, quoted
from pate_cli.results.means import MeasuredRow
from pate_cli.results.settings import LIMIT, MAJORITY, RECORD
from pate_cli.results.verdicts import BROKE, CANNOT, NOT_RUN, TOO_FEW, UNKNOWN, ended

__all__ = ["GLOSSARY", "INSIDE", "caution", "constant_clause", "cost", "headline", "lede"]
__all__ += ["meaning_of_eps", "protected", "verdict_rule"]

INSIDE = "**Keep these numbers inside:** they come from private records, without protection."
_PLAN = "that follows from their settings, before any work"
_FEW = 4  # methods that are listed by name


def headline(advice: Advice, data: str = "") -> str:
    """What was found, in one or two sentences; `data` names the records of a single row."""
    board = advice.board
    value = board.values(advice.eps).get(advice.method) if advice.method else None
    if value is None:
        if board.rows and all(ended(row.status) == CANNOT for row in board.rows):
            return f"No method can run{f' on {data}' * bool(data)}: {_PLAN}."
        return f"Nothing was measured{f' on {data}' * bool(data)}: no repeat is done."
    if not advice.useful:
        return _no_use(advice)
    of_data, at = f" of {data}" if data else "", _at(advice.eps)
    level = _level(advice, value, ci=len(board.rows) == 1 or not (advice.limit or advice.runner_up))
    alone = f"{name(advice.method)}{at} {_does(advice, level)}{of_data}."
    if len(board.rows) == 1 and not advice.limit:
        return alone
    if (lost := advice.lost()) is not None:
        does = f"{at.strip().capitalize()} it {_does(advice, level)}{of_data}"
        return f"Use {name(advice.method)}. {does}, {_beside_limit(advice, lost)}."
    other = advice.runner_up
    return _beside(advice, other, alone[:-1], level) if other else alone


def _no_use(advice: Advice) -> str:
    """Headline where no method is better than a constant answer."""
    over, needed = advice.over_constant(advice.method), advice.repeats_over_constant
    worse = over is not None and over.mean < 0
    difference = f"{_points(advice, -over if over and worse else over)} {'worse' if worse else 'better'}"
    hint = f"; about {needed:,} splits would tell" if needed else ""
    return (
        f"No method is shown to be better than a constant answer{_at(advice.eps)} by "
        f"{_splits(over.n if over else advice.repeats)}: {name(advice.method)} is {difference}{hint}."
    )


def _beside_limit(advice: Advice, lost: Interval) -> str:
    """What the method loses to privacy, as "2.1 points less than without privacy"."""
    below = lost.mean >= 0
    best = "the best model " * (advice.limit == LIMIT and not below)
    than = f"{advice.metric.less if below else advice.metric.more} than {best}without privacy"
    return f"{_points(advice, lost if below else -lost)} {than}"


def _beside(advice: Advice, other: str, alone: str, level: str) -> str:
    """Headline with the next best method; `alone` says what the method does."""
    board, metric = advice.board, advice.metric
    gap = advice.lead(other)
    if gap is None or gap.half_width is None or gap.sign <= 0:
        behind = gap is None or gap.mean >= 0
        points = "" if gap is None else _points(advice, gap if behind else -gap)
        by = "" if gap is None else f", with {points} {metric.less if behind else metric.more}"
        return f"{alone}; {name(other)} cannot be told from it{by}."
    every = " at every eps" if advice.best_everywhere and len(board.budgets) > 1 else ""
    most = "the most accurate" if metric.unit == "points" and metric.name == "accuracy" else "the best"
    most += " of those measured there" * _unmeasured(advice)
    difference = f"{_points(advice, gap)} {metric.more} than {name(other)}"
    return f"{name(advice.method)} is {most}{every}: {level}{_at(advice.eps)}, {difference}."


def _does(advice: Advice, level: str) -> str:
    """Verb phrase of a level, as "is right on 80% of held-out records"."""
    if advice.metric.name == "accuracy":
        return f"is right on {level} of held-out records"
    return f"has a {advice.metric.words} of {level} on held-out records"


def _level(advice: Advice, value: Interval | float | None, *, ci: bool = False) -> str:
    return advice.metric.level(value, ci=ci) + advice.metric.percent


def _points(advice: Advice, gap: Interval | None) -> str:
    return f"{advice.metric.text(gap)} {advice.metric.unit}"


def _splits(n: int) -> str:
    return count_of(n, "split")


def _at(eps: float) -> str:
    return f" at eps {eps:g}" if math.isfinite(eps) else " without privacy"


def constant_clause(advice: Advice) -> str:
    """What a constant answer gets, as a clause; empty if that is not known."""
    level = advice.constant
    if level is None:
        return ""
    if advice.metric.name == "roc_auc":
        return "50% is guessing"
    common = most_common(advice.board)
    always = f"always answering {quoted(common)}" if common else "always giving the most common class"
    if not common and advice.metric.name == "accuracy" and MAJORITY not in advice.board.baselines:
        return f"the most common class of held-out records has {_level(advice, level)} of them"
    if advice.metric.name == "log_loss":
        always = "always giving the shares of the classes"
    verb = "is right on" if advice.metric.name == "accuracy" else "gets"
    return f"{always} {verb} {_level(advice, level)}"


def lede(advice: Advice) -> str:
    """What the answer depends on, in at most a few sentences."""
    sentences = []
    if clause := constant_clause(advice):
        sentences.append(f"{clause[0].upper()}{clause[1:]}.")
    if advice.metric.name == "roc_auc":
        share = advice.largest_share
        so = "So" if share is None else f"One class has {100 * share:.1f}% of the records, so"
        sentences.append(f"{so} methods are compared by how well they rank: ROC AUC.")
    if len(costs := cost(advice)) > 1:
        unit = f" {advice.metric.unit}"
        parts = [f"{text}{unit * (not k)} at eps {eps:g}" for k, (eps, text) in enumerate(costs.items())]
        sentences.append(f"Privacy costs {listed(parts)}.")
    if advice.repeats == 1:
        sentences.append("One split has no interval: nothing can be told apart; ten would tell more.")
    elif advice.useful and len(advice.verdicts) > 1:
        sentences.append(_others(advice))
    return " ".join(filter(None, sentences))


def _others(advice: Advice) -> str:
    """Which other methods cannot be told from it, and what would tell."""
    undecided = advice.open
    others = {
        other: advice.lead(other)
        for other in advice.board.values(advice.eps)
        if other != advice.method and other not in undecided
    }
    worse = bool(others) and all(lead is not None and lead.sign > 0 for lead in others.values())
    leads = [advice.lead(other) for other in undecided or others]
    splits = _splits(min((lead.n for lead in leads if lead is not None), default=advice.repeats))
    if not undecided:
        that = f" measured{_at(advice.eps)}" * _unmeasured(advice)
        return f"No other method{that} is as good, as far as {splits} can tell." if worse else ""
    names = listed(map(name, undecided)) if len(undecided) <= _FEW else f"{len(undecided)} other methods"
    text = f"{names} cannot be told from {name(advice.method)} on {splits}"
    needed = [n for n in undecided.values() if n is not None]
    if needed and len(needed) == len(undecided):
        text += f"; about {max(needed):,} would tell, if the differences stay"
    return f"{text}; all others are worse." if worse and not needed else f"{text}."


def _unmeasured(advice: Advice) -> bool:
    """Whether a method has no row at the eps spoken of."""
    return "" in advice.verdicts.values()


def cost(advice: Advice) -> dict[float, str]:
    """What the method loses to privacy at each eps, in the unit of the measure."""
    gaps = {eps: advice.lost(eps=eps) for eps in advice.board.budgets}
    return {eps: advice.metric.text(gap) for eps, gap in gaps.items() if gap}


def caution(advice: Advice) -> str:
    """What could do harm: the page is not to be shown around."""
    choice = ", and the choice by them," if len(advice.board.methods) > 1 else ""
    tune = " `pate tune` makes the choice within the budget." if choice else ""
    return (
        f"**Keep this page inside.** Its numbers{choice} come from private records without protection.{tune}"
    )


def verdict_rule(advice: Advice) -> list[str]:
    """The meaning of the verdicts that stand in the table."""
    preferred = PREFERRED in advice.board.values(advice.eps)
    first = name(PREFERRED) if preferred else "the method with the best mean"
    n = advice.comparisons(advice.eps)
    together = f" (at {LEVEL:.0%} for all {n} comparisons together)" * (n > 1)
    rules = {
        USE: f"“Use this” is {first}, unless another method is better by more than the 95% interval of the "
        "difference, or that one is not better than a constant answer and another is.",
        ALIKE: f"“No difference seen”: the interval of the difference{together} includes 0.",
        WORSE: f"“Worse”: the interval of the difference{together} lies wholly on one side.",
        TOO_FEW: "“Too few runs”: one split has no interval.",
        UNKNOWN: "“Cannot be told”: there is no number of it.",
        UNLIKE: "“Other splits”: not measured at the same splits, so there is no paired difference.",
        NO_USE: "“No better than a constant answer”: no part of the interval of its lead over that is above "
        "0.",
        UNSURE: "“May be no better than a constant answer”: the interval of its lead over that includes 0.",
        CANNOT: "“Cannot run”: refused from public numbers, before any training.",
        BROKE: "“Broke off”: an error.",
        NOT_RUN: "“Not run”: the command was ended before.",
    }
    return [text for word, text in rules.items() if word in advice.verdicts.values()]


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
    "±": "Half of a 95% interval (Student’s t): of a level, of its mean over random splits of these records; "
    "of a difference, of what to expect on new records, which is wider, as splits share records (Nadeau and "
    "Bengio, 2003). If the interval of a difference includes 0, the data cannot tell the two apart.",
    "without privacy": f"The {LIMIT.removesuffix(' without privacy')} of several ordinary ones, trained on "
    "the same private records. It is what privacy is compared with; it must not be published.",
    "teacher, student": "Teachers are models trained on separate parts of the private records. The student "
    "learns from public points that the teachers labelled by a noisy vote; only the student is published.",
    "public point": "A record whose columns may be seen by anyone. Its label is what the teachers vote on.",
    "split": "One random division of the records into private, public and test ones.",
}
"""Words of a page, in the order shown."""
