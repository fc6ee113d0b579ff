"""What flows through a run: one frozen dataclass a stage, shapes written on it.

``Dataset -> Split -> Votes -> Answers -> student -> RepeatResult``

Private values (`PrivateRecords`, `Votes`) and public values (`PublicPoints`,
`Answers`, `PrivacyLoss`) are different types. Private ones never show their
content in `repr`, and refuse to be pickled by accident into a public output.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pate_cli.types.answers import Answer, Answers, Ask, PrivacyLoss, ReleasedLabels, Unanswered, Votes
from pate_cli.types.basis import UNANSWERED, FloatArray, IntArray, _Private, dense, without_tiny
from pate_cli.types.data import Dataset, Holdout, Part, PrivateRecords, PublicPoints, Split
from pate_cli.types.run import Private, Released, RepeatResult, Setting

if TYPE_CHECKING:
    from pate_cli.types.basis import Features

__all__ = [
    "UNANSWERED",
    "Answer",
    "Answers",
    "Ask",
    "Dataset",
    "Features",
    "FloatArray",
    "Holdout",
    "IntArray",
]
__all__ += ["Part", "PrivacyLoss", "Private", "PrivateRecords", "PublicPoints", "Released", "ReleasedLabels"]
__all__ += ["RepeatResult", "Setting", "Split", "Unanswered", "Votes", "_Private", "dense", "without_tiny"]
