"""Verdicts on printed numbers and claims: tests of equivalence and of superiority against a margin.

A verdict is given only if the *whole* interval supports it, at a level corrected for the number of rows
judged together (Bonferroni, `interval.simultaneous`): all verdicts of a table are right with probability at
least 95%, however many rows and repeats there are; what the repeats cannot tell "cannot be told". A printed
mean is a measurement: where its error is known, the interval of the difference has both.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

from pate_cli.results.interval import FEWEST, LEVEL, MOST_TIMES, Interval, simultaneous

__all__ = [
    "BROKE",
    "CANNOT",
    "FEWEST",
    "LABELS",
    "NOT_FINISHED",
    "NOT_RUN",
    "OWN",
    "SHOWN",
    "TOO_FEW",
    "UNKNOWN",
    "VERDICTS",
]
__all__ += ["Verdict", "VerdictWord", "above", "at_least", "close", "code_of", "combined", "compare"]
__all__ += ["counted", "counts_of", "ended", "rule"]

VerdictWord: TypeAlias = Literal[
    "reproduces",
    "differs",
    "differs (above)",
    "differs (below)",
    "undecided",
    "missing",
    "unusable",
    "bound holds, not attained",
    "own question",
    "error in the paper",
    "no verdict",
]

LABELS: tuple[VerdictWord, ...] = ("bound holds, not attained", "own question", "error in the paper")
"""Words that a recipe gives to claims: where ours differs, the second whatever comes out."""

VERDICTS: tuple[str, ...] = get_args(VerdictWord)
SHOWN: dict[str, str] = {
    "reproduces": "agrees",
    "differs": "differs",
    "differs (above)": "higher than printed",
    "differs (below)": "lower than printed",
    "undecided": "cannot be told",
    "missing": "not run",
    "unusable": "not comparable",
    "bound holds, not attained": "within the bound",
    "own question": "our question",
    "error in the paper": "the paper errs here",
    "no verdict": "too few runs",
}
"""Words as they are shown, and written to files."""

CANNOT, BROKE, NOT_RUN = "cannot run", "broke off", SHOWN["missing"]
NOT_FINISHED = "not finished"
UNKNOWN, TOO_FEW = SHOWN["undecided"], SHOWN["no verdict"]
_ENDED = {"infeasible": CANNOT, "refused": CANNOT, "ok": UNKNOWN}
_ENDED |= dict.fromkeys(("missing", NOT_RUN, "interrupted", "running", "killed"), NOT_RUN)
_OF_SEVERAL = {"agrees": "agree", "differs": "differ"}

OWN: VerdictWord = "own question"
_GAP = ("mean", "half_width", "n", "level")
_KEPT = ("margin", "test", "printed_error", "printed_repeats", "label", "most")
_ENDLESS = 10**15


def code_of(word: str) -> VerdictWord:
    """The verdict that a word of a file stands for, shown or of earlier versions; ValueError for another."""
    codes = {shown: code for code, shown in SHOWN.items()} | {code: code for code in VERDICTS}
    if word not in codes:
        raise ValueError(f"verdict {word!r} is none of {', '.join(SHOWN.values())}")
    return codes[word]  # type: ignore[return-value]


def ended(status: str, n: int = 0) -> str:
    """Word for a row that was not done, of which `n` repeats were."""
    word = _ENDED.get(status, BROKE)
    return NOT_FINISHED if n and word == NOT_RUN else word


def counts_of(words: Iterable[str]) -> list[str]:
    """Count words, as "3 agree" and "1 not run"."""
    counts = Counter(words).most_common()
    return [f"{n} {_OF_SEVERAL.get(word, word) if n > 1 else word}" for word, n in counts]


def counted(words: Iterable[str]) -> str:
    """Counts of words, as "3 agree, 1 not run"."""
    return ", ".join(counts_of(words))


@dataclass(frozen=True)
class Verdict:
    """Verdict on one printed number or claim of the paper."""

    name: str
    verdict: VerdictWord
    reason: str  # our number beside theirs, or why there is none
    gap: Interval | None = None  # ours less the claimed, of our repeats alone, at the level of the test
    margin: float | None = None
    test: Literal["", "close", "above"] = ""  # of which `gap` decides; empty for another, or several cases
    printed_error: float = 0.0  # standard error of the printed mean; 0 if exact, or not known
    printed_repeats: int = 0  # that it is of
    label: str = ""  # one of `LABELS`
    cases: tuple[Interval | None, ...] = ()  # of a claim over several: what is to be above -margin in each
    most: bool = False  # more than half of the cases must hold, not all

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict {self.verdict!r} is none of {', '.join(VERDICTS)}")

    @property
    def word(self) -> str:
        """The verdict as it is shown: "lower than printed" is of a number, a claim "differs"."""
        return SHOWN[self.verdict if self.test == "close" or "(" not in self.verdict else "differs"]

    @property
    def record(self) -> dict[str, Any]:
        """Line of `verdicts.csv`; see `read`."""
        kept = {name: getattr(self, name) for name in _KEPT}
        gap = {name: getattr(self.gap, name, None) for name in _GAP}
        cases = [
            " ".join(repr(getattr(case, name)) for name in _GAP) if case else "none" for case in self.cases
        ]
        named = {"claim": self.name, "verdict": self.word, **gap, **kept}
        return named | {"cases": "; ".join(cases), "reason": self.reason}

    @classmethod
    def read(cls, line: Mapping[str, str]) -> Verdict:
        """Read a line of `verdicts.csv`, in words of today or of earlier versions."""

        def interval(numbers: Sequence[str]) -> Interval | None:
            if numbers[0] in ("", "none"):
                return None
            mean, half, n, level = numbers
            return Interval(float(mean), None if half in ("", "None") else float(half), int(n), float(level))

        cases = tuple(interval(case.split()) for case in line["cases"].split(";")) if line["cases"] else ()
        word = code_of(line["verdict"])
        if word == "differs" and (line["test"] == "above" or cases):  # of a claim only below is one
            word = "differs (below)"
        return cls(
            line["claim"],
            word,
            line["reason"],
            interval([line[name] for name in _GAP]),
            float(line["margin"]) if line["margin"] else None,
            line["test"],  # type: ignore[arg-type]
            float(line["printed_error"]),
            int(line["printed_repeats"]),
            line["label"],
            cases,
            line["most"] == "True",
        )

    @classmethod
    def pooled(cls, verdicts: Sequence[Verdict]) -> Verdict:
        """Verdict of the repeats of several seeds together; without intervals all must agree."""
        first, gaps = verdicts[0], [verdict.gap for verdict in verdicts if verdict.gap is not None]
        if len(verdicts) == 1:
            return first
        words = {verdict.verdict for verdict in verdicts}
        if first.cases and "no verdict" not in words and len({len(v.cases) for v in verdicts}) == 1:
            return first._of_cases([v.cases for v in verdicts])
        plain = {"reproduces", "differs (above)", "differs (below)", "undecided", *LABELS}
        if len(gaps) < len(verdicts) or not first.test or not words <= plain:
            none: VerdictWord = "no verdict" if "no verdict" in words else "undecided"
            return first if len(words) == 1 else replace(first, verdict=none)
        pooled = replace(first, gap=Interval.pooled(gaps, gaps[0].level))
        reason = first.reason.partition(_NEEDS)[0]
        for word in SHOWN.values():
            reason = reason.removeprefix(f"{word}: ")
        if (interval := pooled.interval) is not None:
            reason += f"; all {sum(gap.n for gap in gaps)} repeats: {interval.text(4, sign=True)}"
        return replace(pooled, reason=reason)._decided()

    def _of_cases(self, seeds: Sequence[tuple[Interval | None, ...]]) -> Verdict:
        """Judge the cases of several seeds, each pooled; one that a seed lacks is missing."""
        pooled = []
        for case in zip(*seeds, strict=True):
            gaps = [gap for gap in case if gap is not None]
            pooled.append(Interval.pooled(gaps, gaps[0].level) if len(gaps) == len(case) else None)
        words = ["missing" if gap is None else _over(gap, self.margin or 0.0) for gap in pooled]
        counts = counted(SHOWN[word] for word in words)
        verdict = replace(self, cases=tuple(pooled), verdict=combined(words, most=self.most))
        reason = f"cases of all seeds' repeats: {counts}. With the first: {self.reason}"
        return replace(verdict, reason=reason).labelled(self.label)

    @property
    def interval(self) -> Interval | None:
        """Ours less the claimed, with the error of the printed number too."""
        return self.gap and self.gap.widened(self.printed_error, self.printed_repeats)

    def _decided(self) -> Verdict:
        """The same, judged by its test; an undecided one says how many repeats it needs."""
        gap, margin = self.interval, self.margin or 0.0
        if gap is None or self.gap is None:
            return self
        word = _near(gap, margin) if self.test == "close" else _over(gap, margin)
        needs = self._needs() if word == "undecided" else ""
        return replace(self, verdict=word, reason=self.reason + needs).labelled(self.label)

    def _needs(self) -> str:
        """How many repeats would decide, if the difference is as it is measured."""
        gap, margin, interval = self.gap, self.margin or 0.0, self.interval
        if gap is None or interval is None or interval.half_width is None:
            return ""
        distance = abs(gap.mean + margin) if self.test == "above" else abs(abs(gap.mean) - margin)

        def decides(measured: Interval) -> bool:
            wide = measured.widened(self.printed_error, self.printed_repeats)
            return (wide.half_width or 0.0) < distance

        if (fewest := gap.fewest_repeats(decides)) is not None:
            return f"{_NEEDS}about {fewest:,} repeats would tell, if the difference stays"
        if decides(gap.of_repeats(_ENDLESS)):
            return f"{_NEEDS}more than {MOST_TIMES} times as many repeats would tell"
        return f"{_NEEDS}no number of repeats decides: the printed number is itself too uncertain"

    def labelled(self, label: str) -> Verdict:
        """The same under a word of `LABELS`, where it applies; the reason keeps what came out."""
        accepted = {
            "bound holds, not attained": self.verdict == "differs (below)",
            "error in the paper": self.verdict.startswith("differs"),
            OWN: self.verdict not in ("missing", "no verdict", OWN),
        }
        for word in LABELS:
            if word == label and accepted[word]:
                return replace(self, verdict=word, label=label, reason=f"{self.word}: {self.reason}")
        return replace(self, label=label)

    def unjudged(self, why: str) -> Verdict:
        """The same withdrawn, as of a quick run or of too few repeats; a missing one stays missing."""
        return (
            self
            if self.verdict == "missing"
            else replace(self, verdict="no verdict", reason=f"{why}. {self.reason}")
        )


_NEEDS = "; cannot be told: "


def close(
    name: str,
    gap: Interval,
    margin: float,
    reason: str,
    rows: int = 1,
    printed_error: float = 0.0,
    printed_repeats: int = 0,
) -> Verdict:
    """Verdict of an equivalence test, see `compare`; a printed number may have an error of its own."""
    wide = gap.at(simultaneous(rows))
    verdict = Verdict(name, "undecided", reason, wide, margin, "close", printed_error, printed_repeats)
    return verdict._decided()


def above(name: str, gap: Interval, reason: str, margin: float = 0.0, rows: int = 1) -> Verdict:
    """Verdict of a superiority test against a margin, see `at_least`."""
    return Verdict(name, "undecided", reason, gap.at(simultaneous(rows)), margin, "above")._decided()


def compare(gap: Interval, margin: float, rows: int = 1) -> VerdictWord:
    """Equivalence test against a margin >= 0, of `rows` rows judged together.

    It reproduces if the whole interval lies within the margin of 0, differs if it lies wholly beyond it, and
    is undecided if an end of the margin is inside. If the true difference is beyond the margin, "reproduces"
    is said with probability at most 2.5% / rows; if it is within, "differs" with at most that on either side.
    """
    return _near(gap.at(simultaneous(rows)), margin)


def _near(wide: Interval, margin: float) -> VerdictWord:
    if wide.half_width is None or wide.n < FEWEST:
        return "no verdict"
    if -margin <= wide.low and wide.high <= margin:
        return "reproduces"
    return (
        "differs (above)" if wide.low > margin else "differs (below)" if wide.high < -margin else "undecided"
    )


def at_least(gap: Interval, margin: float = 0.0, rows: int = 1) -> VerdictWord:
    """Test that a difference is above 0, or not below it by more than a margin.

    It reproduces if the whole interval lies above -margin, and differs if none of it does: also where both
    are equal in every repeat, for equal is not greater. Either is wrong with probability at most 2.5% / rows.
    """
    return _over(gap.at(simultaneous(rows)), margin)


def _over(wide: Interval, margin: float) -> VerdictWord:
    if wide.half_width is None or wide.n < FEWEST:
        return "no verdict"
    return "reproduces" if wide.low > -margin else "differs (below)" if wide.high <= -margin else "undecided"


def combined(words: Sequence[VerdictWord], *, most: bool = False) -> VerdictWord:
    """Verdict on a claim by those of its cases: all must hold, with `most` more than half of them."""
    holds = sum(word == "reproduces" for word in words)
    fails = [word for word in words if word.startswith("differs")]
    if not words or all(word == "missing" for word in words):
        return "missing"
    if "no verdict" in words:
        return "no verdict"
    if 2 * holds > len(words) if most else holds == len(words):
        return "reproduces"
    if 2 * len(fails) >= len(words) if most else fails:
        return fails[0] if len(set(fails)) == 1 else "differs"
    return "missing" if not most and holds + words.count("missing") == len(words) else "undecided"


def rule(rows: int, margin: float) -> str:
    """Rule by which a table of `rows` rows is judged, in words."""
    level = math.floor(1e4 * simultaneous(rows)) / 100
    return (
        f"A row agrees if the whole interval of ours less the printed number, at {level:g}% (so that all "
        f"{rows} hold together at {LEVEL:.0%}), lies within {margin:g} of 0; it is higher or lower than "
        f"printed if it lies wholly beyond that; else it cannot be told. Fewer than {FEWEST} repeats are too "
        "few runs."
    )
