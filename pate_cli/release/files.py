"""The files of a release: only what is named here is written, and all of it is public.

The folder of a release is claimed by `result.json`, created with status "running" before the charge.
`answers.csv`, `student.skops`, `model_card.md` and `certificate.json` follow, and `points.csv` where the run
made its public points; `result.json` is replaced last, with status "ok", or "error" where something is
missing.
"""

from __future__ import annotations

import errno
import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pate_cli.datasets import FILES as FILES_OF_A_DATASET
from pate_cli.datasets.schema import Schema, certified
from pate_cli.errors import ConfigError
from pate_cli.features.bought import SOURCE
from pate_cli.release.card import OPEN_ROWS, Card
from pate_cli.release.certificates import CERTIFICATE, CERTIFICATE_VERSION
from pate_cli.results.page import markdown
from pate_cli.results.settings import config_hash, plain
from pate_cli.runs.evaluation import stated
from pate_cli.students import dump_student, foreign_types, says_one_class
from pate_cli.version import versions

if TYPE_CHECKING:
    from pate_cli.pipeline import Prepared, Publication
    from pate_cli.release.ledger import Ledger

__all__ = ["ANSWERS", "CARD", "CERTIFICATE", "CERTIFICATE_VERSION", "FILES", "RESULT", "STUDENT"]
__all__ += ["certificate", "claim", "contents", "model_card", "record", "sha256", "to_json"]

CARD = "model_card.md"
RESULT = "result.json"
ANSWERS = "answers.csv"
STUDENT = "student.skops"
FILES = (ANSWERS, STUDENT, CARD, CERTIFICATE, RESULT)
"""Every file of a release, in the order written; with generated points `POINTS` too, after the answers."""

POINTS = "points.csv"

_ROOM = 2**25
"""Bytes to be left on the disk before anything is charged; students have at most a few million."""

_NOTES = {
    "eps": "the guarantee of this release, with delta, for records that are not public points; all releases"
    " from one dataset add up, see its ledger",
    "eps_ex_post": "computed from the released answers, so data-dependent: a report, not a guarantee",
    "accuracy": "not measured: it would be computed from held-back records without privacy",
    "config": "the seed, the machine and the directories of the run are left out",
}

_ITS_LABEL = (
    "that a record has a label which no other has: the classes are those of the private file, taken as public"
)

_FORM = ("sep", "encoding", "decimal", "header")
"""How a table is written, as options of `pate predict` say it."""

_CONFIG_KEYS = ["dataset", "features", "teacher", "student", "mechanism", "split", "generate"]
_CONFIG_KEYS += ["evaluate", "threshold"]
_CONFIG_KEYS += ["eps", "delta", "release"]


def record(run: Prepared, raw: Mapping[str, Any], id: str) -> dict[str, Any]:
    """Content of `result.json` before the release is done: public numbers and the configuration.

    Of the configuration the seed, the machine and the ledger are left out, and of paths all but the name.
    """
    dataset, guarantee = run.dataset, run.whole.guarantee
    config = {key: raw[key] for key in _CONFIG_KEYS if key in raw}
    config |= {key: raw[key] for key in ("name", "tags") if raw.get(key)}  # by which it is found
    config["dataset"] = {
        key: Path(value).name if value and key in FILES_OF_A_DATASET else value
        for key, value in raw["dataset"].items()
    }
    return {
        "schema_version": 1,
        "release": True,
        "release_id": id,
        "status": "running",
        "dataset": dataset.name,
        "mechanism": run.config.mechanism.label,
        "config_hash": config_hash(plain(config)),
        "sizes": run.counts,
        "n_teachers": run.n_teachers,
        "n_asked": None,
        "n_answered": None,
        "eps": guarantee.eps,
        "delta": guarantee.delta,
        "how": guarantee.how,
        "eps_ex_post": None,
        "accuracy": None,
        "diagnostics": {},
        "plan": {"protects": run.protects, **run.whole.describe()},
        "provenance": {"versions": versions() | {"opendp": metadata.version("opendp")}},
        "message": "not done: it still goes on, or was killed; pate ledger show says whether it is charged",
        "config": plain(config),
        "notes": _NOTES,
    }


_ONE_CLASS = (
    "the student gives one class to all public points: it learned nothing, or nearly all records are of that "
    "class"
)


def claim(directory: Path, result: Mapping[str, Any]) -> None:
    """Create `result.json`, and the directory; ConfigError if it is there or cannot be written."""
    accepted = "a new or an empty directory for a release, that can be written"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if shutil.disk_usage(directory).free < _ROOM:  # else its budget is spent, and no student to show
            raise OSError(errno.ENOSPC, f"less than {_ROOM >> 20} MB are left on its disk")
        with (directory / RESULT).open("xb") as file:
            file.write(to_json(result))
    except OSError as error:
        exists = isinstance(error, FileExistsError)
        why = "another release is, or was, written there" if exists else error.strerror or error
        raise ConfigError(
            "hydra.run.dir", str(directory), f"{accepted} ({why}; nothing is charged)"
        ) from None


def contents(
    run: Prepared, result: dict[str, Any], released: Publication, charged: Ledger
) -> tuple[dict[str, bytes], dict[str, Any]]:
    """Content of each file in the order to be written, and the completed `result.json` as a mapping."""
    run = released.run  # with the classes that were bought
    data = {ANSWERS: _answers_table(released, run.dataset.classes)}
    if released.generated is not None:
        data[POINTS] = released.generated.table.to_csv(index=False, lineterminator="\n").encode()
    facts = _certified(released, result | {"sizes": run.counts}, data[ANSWERS], charged)
    problem, one_class = released.problem, None
    if released.student is not None:
        with suppress(Exception):  # a learner's own
            one_class = _ONE_CLASS if says_one_class(released.student, released.public.X) else None
        try:
            data[STUDENT] = _student(released, result, facts)
            if foreign := foreign_types(data[STUDENT]):  # of a plug-in: who reads it is told
                facts |= {"trust": foreign}
                data[STUDENT] = _student(released, result, facts)
        except Exception as error:  # the answers are paid for
            problem = f"it cannot be written ({type(error).__name__})"
    what = "the answers are" if released.answers.n_asked else "its points are"
    result = result | {
        "status": "ok" if STUDENT in data else "error",
        **{name: facts[name] for name in ("n_asked", "n_answered", "eps_ex_post")},
        "sizes": run.counts,
        "plan": result["plan"] | run.whole.describe() | _chosen(released),
        **_evaluation(run, released),
        "message": (problem and f"{what} released, a student is not: {problem}") or one_class,
    }
    with suppress(Exception):  # the answers are paid for
        data[CARD] = model_card(facts | {"files": {name: len(content) for name, content in data.items()}})
    final = to_json(result)
    data[CERTIFICATE] = certificate(facts, {**data, RESULT: final})
    return data | {RESULT: final}, result


def _student(released: Publication, result: Mapping[str, Any], facts: Mapping[str, Any]) -> bytes:
    """Content of `student.skops`, which carries the certified facts."""
    dataset = released.run.dataset
    return dump_student(
        released.student,
        classes=dataset.classes,
        n_features=getattr(released.student, "n_features_in_", dataset.n_features),
        encoder=released.encoder,
        meta={name: result[name] for name in ("dataset", "eps", "delta")} | {"certificate": dict(facts)},
        first_index=dataset.first_index,
    )


def _certified(
    released: Publication, result: Mapping[str, Any], answers: bytes, charged: Ledger
) -> dict[str, Any]:
    """Everything that a release certifies but the hashes of its files."""
    run = released.run
    entry, sizes = charged.entries[-1], result["sizes"]
    unit = run.protects.rpartition("; ")[0]
    columns = getattr(run.dataset.X, "columns", None)
    schema = getattr(run.dataset.encoder, "schema", None)
    own_file = run.dataset.public is not None
    bought = released.generated.bought if released.generated else {}
    return {
        "schema_version": CERTIFICATE_VERSION,
        "release": entry.id,
        "time": entry.time,
        "purpose": entry.purpose,
        "mechanism": result["mechanism"],
        **_chosen(released),
        **_evaluation(run, released),
        "config_hash": result["config_hash"],
        "guarantee": {
            "eps": result["eps"],
            "delta": result["delta"],
            "how": result["how"],
            "in_words": run.whole.in_words(released.chosen),
            "neighbours": run.protects,
            "unit": unit,
            "protects": entry.protects and asdict(entry.protects),
        },
        "eps_ex_post": released.ex_post.eps,
        "n_teachers": run.n_teachers,
        "n_asked": released.answers.n_asked,
        "n_answered": released.answers.n_answered,
        "answers": sha256(answers),
        "data": {
            "dataset": result["dataset"],
            **_as_typed(result["config"]["dataset"], schema),
            "columns": None if columns is None else [str(name) for name in columns],
            "schema": None
            if schema is None
            else {
                name: certified(column)
                for name, column in {**schema.columns, **bought}.items()
                if column.kind != "ignored"
            },
            "n_features": sizes["n_features"],
            "classes": list(run.dataset.classes),
            **_origin_of_classes(released),
        },
        "sizes": dict(sizes),
        "public": [
            _public_points(run, sizes["n_public"]),
            "the numbers of private records (or persons), columns and teachers; names of columns and classes",
            "the configuration: mechanism, learners, split, eps and delta",
            "the answers in answers.csv, and the student: both are made of what the mechanism released",
        ],
        "not_covered": [
            *([] if own_file else [OPEN_ROWS]),
            *([_ITS_LABEL] if run.dataset.classes_from_private else []),
            "whatever was learnt from these records elsewhere, in another ledger or without one, as by"
            " experiments whose figures were looked at before this configuration was chosen",
            f"more than {unit}: of k that belong together, eps is k times as large at least",
            "how long the release took, and what else the machine shows",
        ],
        "versions": dict(result["provenance"]["versions"]),
        "ledger": {
            "fingerprint": charged.fingerprint,
            "entry": len(charged.entries) - 1,
            "hash": charged.hashes[-1],
        },
    }


def _origin_of_classes(released: Publication) -> dict[str, str]:
    """Where the classes are from; of those that were bought, which one stands for all other labels."""
    generated, dataset = released.generated, released.run.dataset
    if generated is None or generated.classes is None:
        of_file = "the private file, taken as public"
        return {"classes_from": of_file if dataset.classes_from_private else "declared, or the public file"}
    others = {"other_labels": dataset.classes[generated.classes.largest]} if dataset.classes else {}
    return {"classes_from": SOURCE, **others}


def _as_typed(options: Mapping[str, Any], schema: Schema | None) -> dict[str, Any]:
    """Name of the file, its target, and how it is written: of what was typed, or declared in a schema."""
    declared = {} if schema is None else {**schema.form, "sep": schema.form.get("delimiter")}
    form = {key: options.get(key) if options.get(key) is not None else declared.get(key) for key in _FORM}
    files = [options.get(key) for key in ("path", "private")] + [schema.data if schema else None]
    return {
        "file": next((Path(file).name for file in files if file not in (None, "???")), None),
        "target": schema.target if schema else options.get("target"),
        "form": {key: value for key, value in form.items() if value is not None},
    }


def _evaluation(run: Prepared, released: Publication) -> dict[str, Any]:
    return {} if released.report is None else {"evaluation": stated(released.report, run.dataset.classes)}


def _public_points(run: Prepared, n: int) -> str:
    if run.dataset.public is None:
        return f"the features of the {n} public points, and which records they are"
    if not hasattr(run.dataset.public, "made"):
        return f"the {n} public points, which have a file of their own"
    source = "noisy marginals, which eps counts" if run.whole.marginals else "the declared ranges"
    return f"the {n} public points in {POINTS}, made of {source}"


def _chosen(released: Publication) -> dict[str, str]:
    return {} if released.chosen is None else {"chosen": released.chosen}


def certificate(facts: Mapping[str, Any], files: Mapping[str, bytes]) -> bytes:
    """Content of `certificate.json`: the facts, and the size and SHA-256 of every other file."""
    about = {name: {"bytes": len(data), "sha256": sha256(data)} for name, data in sorted(files.items())}
    return to_json({**facts, "files": about})


def sha256(data: bytes) -> str:
    """SHA-256 of bytes, hex."""
    return hashlib.sha256(data).hexdigest()


def to_json(content: Mapping[str, Any]) -> bytes:
    """Encode a JSON file."""
    return (json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _answers_table(released: Publication, classes: Sequence[str]) -> bytes:
    """Content of `answers.csv`: one line a query in the order asked; no label where none was released."""
    import pandas as pd

    answers, rows = released.answers, released.public.rows
    if rows is None:
        raise RuntimeError("a split that does not know its rows")
    labels = [classes[code] if code >= 0 else "" for code in answers.labels.tolist()]
    table = pd.DataFrame({"row": rows[answers.asked], "label": labels})
    if answers.noisy_counts is not None:
        if (answers.noisy_counts != answers.noisy_counts.round()).any():
            raise RuntimeError("a noisy count is not an integer: not the noise of a release")
        for label, counts in zip(classes, answers.noisy_counts.T, strict=True):
            table[f"noisy_count.{label}"] = counts.astype(int)
    return table.to_csv(index=False, lineterminator="\n").encode()


def model_card(facts: Mapping[str, Any]) -> bytes:
    """Content of `model_card.md`; a function of the certified facts alone."""
    return markdown(Card(facts, ".").page).encode()
