"""What is decided of a column, and the questions that its owner must answer."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from pate_cli.datasets.column import Column
from pate_cli.datasets.distinct import Cells

__all__ = ["Ask", "Decision", "ask_missing", "identified"]


@dataclass(frozen=True)
class Ask:
    """A question to the owner of a file, with the `--set` that answers it as proposed."""

    column: str
    key: str
    question: str
    value: str
    safe: bool = False  # a run without a schema takes it as proposed

    @property
    def answer(self) -> str:
        """What to type behind `--set`."""
        return f"{self.column}.{self.key}={self.value}"


@dataclass
class Decision:
    """Entry of a column; questions; texts of it that are refused, with a reason; and what to say."""

    column: Column
    asked: list[Ask] = field(default_factory=list)
    refused: list[tuple[int, str]] = field(default_factory=list)  # number of the text, and why
    remarks: list[str] = field(default_factory=list)


def ask_missing(cells: Cells, decision: Decision, word: str, question: str) -> None:
    """Take a word for missing, and ask."""
    words = [*decision.column.words, word]
    decision.column = replace(decision.column, missing=words)
    decision.asked = [ask for ask in decision.asked if ask.key != "missing"] + [
        Ask(
            cells.name,
            "missing",
            "; ".join([*(a.question for a in decision.asked if a.key == "missing"), question]),
            f"[{','.join(words)}]",
        )
    ]


def identified(cells: Cells, decision: Decision, distinct: int, n: int) -> Decision:
    """Ask whether identifiers that repeat name persons."""
    if 2 < distinct < n and decision.column.why == "identifiers" and "persons" not in cells.given:
        question = f"{distinct:,} names in {n:,} records: does each name a person (--unit {cells.name})?"
        decision.asked.append(Ask(cells.name, "persons", question, "no", safe=True))
    return decision
