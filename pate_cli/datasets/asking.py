"""What is decided of a column, and the questions that its owner must answer."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pate_cli.datasets.column import Column

__all__ = ["Ask", "Decision", "as_list", "persons_ask"]


def as_list(words: Sequence[str]) -> str:
    """Words as a list of YAML, quoted where they need it."""
    plain = re.compile(r"-?[\w.<>/][\w.<>/-]*( [\w.<>/]+)*")
    return f"[{','.join(w if plain.fullmatch(w) else json.dumps(w, ensure_ascii=False) for w in words)}]"


@dataclass(frozen=True)
class Ask:
    """A question to the owner of a file, with the `--set` that answers it as proposed."""

    column: str
    key: str
    question: str
    value: str
    safe: bool = False  # a run without a schema takes it as proposed
    unit: bool = False  # proposed is that the column names persons

    @property
    def answer(self) -> str:
        """What to type behind `--set`."""
        return f"{self.column}.{self.key}={self.value}"


def persons_ask(name: str, distinct: int, n: int, n_records: int) -> Ask:
    """Ask whether the names in a column, which `n` of the records have, are persons."""
    question = f"{distinct:,} names in {n:,} records: does each name a person (--unit {shlex.quote(name)})?"
    question += "" if n == n_records else f" Then the other {n_records - n:,} need a name, too."
    return Ask(name, "persons", question, "no", safe=True, unit=n >= 0.9 * n_records)


@dataclass
class Decision:
    """Entry of a column; questions; and what to say."""

    column: Column
    asked: list[Ask] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def instead(self, column: Column) -> Decision:
        """Another entry, with what there is to say."""
        return Decision(column, warnings=list(self.warnings))

    def ignored(self, why: str) -> Decision:
        """The column is not used."""
        return self.instead(Column("ignored", why=why))

    def ask_missing(self, name: str, word: str, question: str) -> None:
        """Take a word of the column for missing, and ask: once for all such words."""
        words = [*self.column.words, word]
        self.column = replace(self.column, missing=words)
        questions = [*(ask.question for ask in self.asked if ask.key == "missing"), question]
        self.asked = [ask for ask in self.asked if ask.key != "missing"]
        self.asked.append(Ask(name, "missing", "; ".join(questions), as_list(words)))
