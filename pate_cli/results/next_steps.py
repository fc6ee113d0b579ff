"""Commands to type next, made of what the reader typed: they run as printed."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pate_cli.describe_command import describe_command, schema_beside
from pate_cli.results.settings import DEFAULT_METHODS

if TYPE_CHECKING:
    from pate_cli.results.answers import Advice
    from pate_cli.results.means import MeasuredRow

__all__ = [
    "NextStep",
    "compare_methods",
    "lacking",
    "ledger_init",
    "more_repeats",
    "of_persons",
    "overrides",
    "release_step",
    "shell_words",
    "typed_value",
    "wrapped",
]

NextStep = tuple[str, list[list[str]]]
"""What is done, and the commands that do it."""

_EXPERIMENT = ("eps", "repeats", "seed", "name", "tags", "compute", "cache", "tracking", "hydra")
_RELEASE = ("release", "ledger", "purpose")
_PUBLIC = ("dataset.public", "split.public_from_private")
_WIDTH = 80
_PLAIN = re.compile(r"[\w./ ~+-]+")
"""A path that Hydra takes as it stands."""
_TABLES = ("dataset=csv", "dataset=jsonl", "dataset=parquet")
_FILES = ("dataset.path", "dataset.private")
_SCHEMA = re.compile(r"[^'\"\\,$]+\.ya?ml")
"""A file that `dataset=FILE` names, also where Hydra needs it in quotes."""


def overrides(row: MeasuredRow) -> list[str]:
    """Overrides of a row as they were typed; none in files of earlier versions."""
    return shlex.split(str(row["overrides"] or ""))


def typed_value(row: MeasuredRow, key: str) -> str:
    """Value that was typed for a key; empty without one."""
    values = [text.partition("=")[2] for text in overrides(row) if _key(text) == key]
    return values[-1].strip("'\"") if values else ""


def release_step(answer: Advice) -> NextStep | None:
    """The total budget of the data, and the release of the method at the eps spoken of."""
    row = _row_to_release(answer)
    if row is None:
        return None
    not_taken = (*_EXPERIMENT, *_RELEASE, "dataset.test")  # a release is tested on records of its own
    kept = [text for text in overrides(row) if not _of(text, not_taken)]
    if not any(_key(text).startswith(_PUBLIC) for text in kept):
        if row["protects"] or typed_value(row, "dataset.unit") not in ("", "null"):
            return None  # persons' records are not opened: it takes a file of public points
        kept.append("split.public_from_private=true")
    measured = [] if any(_key(text) == "evaluate" for text in kept) else ["evaluate=0.2"]
    described = _described(row, kept)
    init = ledger_init(kept, answer.eps, row["delta"])
    release = ["pate", "run", "release=true", *kept, f"eps={answer.eps:g}", *measured]
    return "publish it", [*described, init, release]


def _row_to_release(answer: Advice) -> MeasuredRow | None:
    """The row of the method to use, if a release of it can be made."""
    row = answer.row
    if row is None or not answer.useful or not math.isfinite(answer.eps) or not overrides(row):
        return None
    if row["release"] == "no" or str(row["protects"]).startswith("the label"):
        return None
    if typed_value(row, "mechanism") == "tune" or typed_value(row, "dataset") == "shards":
        return None  # candidates are no overrides, and shards are not released
    return row


def of_persons(row: MeasuredRow) -> bool:
    """Whether a row protects all records of a person together, and so counts persons."""
    return str(row["protects"]).startswith("all records of one ")


def lacking(answer: Advice) -> str:
    """What a release of persons lacks, whose step is not printed: no records of theirs are opened."""
    row = _row_to_release(answer)
    if row is None or not of_persons(row) or any(_key(text).startswith(_PUBLIC) for text in overrides(row)):
        return ""
    return "To publish it, add public points, a file of records of others: `dataset.public=FILE`."


def _described(row: MeasuredRow, kept: list[str]) -> list[list[str]]:
    """The command that writes a schema, where a release needs one and has none; `kept` then names it."""
    names = ("path", "private", "target", "unit", "sep", "encoding", "decimal", "header")
    typed = {key: typed_value(row, f"dataset.{key}") for key in (*names, "schema", "public")}
    path = typed["path"] or typed["private"]
    if typed_value(row, "dataset") not in ("csv", "jsonl", "parquet") or typed["schema"] or typed["public"]:
        return []
    schema = str(schema_beside(Path(path)))
    kept.append(f"dataset.schema={schema if _PLAIN.fullmatch(schema) else json.dumps(schema)}")
    return [describe_command(path, {key: value for key, value in typed.items() if value})]


def ledger_init(typed: Sequence[str], eps: float, delta: float | None) -> list[str]:
    """The start of the ledger of a release's data, with room for the release and one more like it."""
    of_data = ("dataset", "generate", "ledger", "experiment")
    data = [text for text in typed if text == "--config-dir" or _of(text, of_data)]
    if "--config-dir" in typed:
        data.insert(data.index("--config-dir") + 1, typed[typed.index("--config-dir") + 1])
    # records kept out for an evaluation make delta a little larger: one in those that are left
    total = 3 * (delta or 1e-6)
    digit = 10.0 ** math.floor(math.log10(total))
    total = math.ceil(total / digit * (1 - 1e-9)) * digit
    words = ["pate", "ledger", "init", *(data or ["dataset=synthetic"])]
    return [*words, "--eps", f"{2 * eps:g}", "--delta", f"{min(total, 0.5):g}"]


def compare_methods(row: MeasuredRow) -> NextStep | None:
    """The frontier of the data of a single run: its default methods, or the run's own beside two of them."""
    eps, typed = row["eps"], overrides(row)
    if eps is None or not math.isfinite(eps) or not row.n or not typed:
        return None
    if typed_value(row, "dataset") == "shards":
        return None  # it has a teacher for each file, and baselines have few
    kept = [text for text in typed if not _of(text, (*_EXPERIMENT, *_RELEASE, "mechanism", "tune"))]
    options, method = [text for text in typed if _of(text, ("mechanism",))], typed_value(row, "mechanism")
    if method in ("", "tune", *DEFAULT_METHODS.split(",")) or any("," in text for text in options):
        beside = []
    else:
        beside = ["--methods", "best,gaussian", "--method", f"{method}={','.join(options)}"]
    budgets = ["--eps", ",".join(f"{eps * by:g}" for by in (0.5, 1, 2))]
    return "compare it with other methods", [
        ["pate", "frontier", *kept, *beside, *budgets, "--repeats", "10"]
    ]


def more_repeats(answer: Advice, command: Sequence[str]) -> NextStep | None:
    """The command again, with as many repeats as would tell the method from a constant answer."""
    needed = answer.repeats_over_constant
    if answer.useful or needed is None or list(command[:2]) not in (["pate", "frontier"], ["pate", "run"]):
        return None
    words = list(command)
    if command[1] == "run":
        words = [text for text in words if _key(text) != "repeats"]
        return "tell more", [[*words, f"repeats={needed}"]]
    if "--repeats" in words:
        at = words.index("--repeats")
        del words[at : at + 2]
    return "tell more", [[*words, "--repeats", str(needed)]]


def shell_words(command: Sequence[str]) -> list[str]:
    """Words of a command as a shell takes them; a schema that names its data is the data set."""
    words = list(command)
    tables = [text for text in words if text in _TABLES]
    schemas = [text for text in words if _key(text) == "dataset.schema"]
    if len(tables) == len(schemas) == 1 and not any(_key(text) in _FILES for text in words):
        schema = schemas[0].partition("=")[2].strip("'\"")
        if _SCHEMA.fullmatch(schema):
            words[words.index(tables[0])] = f"dataset={schema}"
            words.remove(schemas[0])
    return [shlex.quote(word) for word in words]


def wrapped(command: Sequence[str], width: int = _WIDTH) -> list[str]:
    """Lines of a command that fit a terminal, continued by backslashes, so that it can be pasted."""
    lines, line = [], ""
    for word in shell_words(command):
        if line and len(f"{line} {word} \\") > width:
            lines.append(f"{line} \\")
            line = f"    {word}"
        else:
            line = f"{line} {word}" if line else f"  {word}"
    return [*lines, line]


def _key(text: str) -> str:
    return text.partition("=")[0].lstrip("+~")


def _of(text: str, keys: Sequence[str]) -> bool:
    """Whether an override is of one of these keys, or below it."""
    key = _key(text).partition("/")[0]
    return any(key == name or key.startswith(f"{name}.") for name in keys)
