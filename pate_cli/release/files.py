"""The files of a release: public by construction, for only what is named here is written.

`student.skops`, `answers.csv`, and `result.json` last, whose presence says that the
release is whole.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pate_cli.types import Answers, IntArray, PrivacyLoss

__all__ = ["FILES", "ReleaseContent", "public_config", "without_addresses", "write_release"]

FILES = ("student.skops", "answers.csv", "result.json")
"""Every file a release writes, in the order written."""

NOTES = {
    "eps": "the guarantee of this release, with delta; all releases from one dataset add up, see its ledger",
    "eps_ex_post": "computed from the released answers, so data-dependent: a report, not a guarantee",
    "accuracy": "not measured: it would be computed from held-back records without privacy",
    "config": "the seed, the machine and the directories of the run are left out",
}

_CONFIG_KEYS = ("dataset", "teacher", "student", "mechanism", "split", "eps", "delta", "release")


@dataclass(frozen=True, eq=False)
class ReleaseContent:
    """Everything a release makes known. PUBLIC.

    Attributes
    ----------
    dataset, mechanism : str
        Names.
    config : mapping
        See `public_config`; in JSON's own types.
    config_hash : str
    sizes : mapping of str to int
        Numbers of records, features, classes: public by assumption.
    n_teachers : int
        K, public by assumption.
    plan : mapping
        The mechanism's calibration, from public numbers alone.
    guarantee : PrivacyLoss
        What the release costs.
    ex_post : PrivacyLoss
        Loss after the fact, from the answers: data-dependent.
    classes : sequence of str
        Label behind each code, as in the source.
    rows : ndarray of int64, shape (m,)
        Number of each public point in the dataset, from 0. The draw of the public split
        is independent of every record.
    answers : Answers
        What the mechanism gave, with integer noisy counts if any.
    student : bytes or None
        A skops file; fitted on `answers`.
    problem : str or None
        Why there is no student.
    versions : mapping of str to (str or None)
        Of the libraries.
    """

    dataset: str
    mechanism: str
    config: Mapping[str, Any]
    config_hash: str
    sizes: Mapping[str, int]
    n_teachers: int
    plan: Mapping[str, Any]
    guarantee: PrivacyLoss
    ex_post: PrivacyLoss
    classes: Sequence[str]
    rows: IntArray
    answers: Answers
    student: bytes | None = field(repr=False)
    problem: str | None
    versions: Mapping[str, str | None]

    def __post_init__(self) -> None:
        if self.guarantee.data_dependent or not self.ex_post.data_dependent:
            raise ValueError("the guarantee does not depend on data, the loss after the fact does")


def public_config(raw: Mapping[str, Any]) -> dict[str, Any]:
    """What of a run's configuration is recorded: no seed, no machine, no ledger, of a path only the name."""
    config = {key: raw[key] for key in _CONFIG_KEYS if key in raw}
    dataset = dict(config.get("dataset", {}))
    if dataset.get("path"):
        dataset["path"] = Path(dataset["path"]).name
    return config | {"dataset": dataset}


def write_release(directory: Path, content: ReleaseContent) -> None:
    """Write the files of a release, each whole or not at all, `result.json` last.

    Raises
    ------
    OSError
        If one cannot be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    result = json.dumps(_result(content), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    student = None if content.student is None else without_addresses(content.student)
    for name, data in zip(FILES, (student, _answers(content).encode(), result.encode()), strict=True):
        if data is not None:
            _replace(directory / name, data)


def _result(content: ReleaseContent) -> dict[str, Any]:
    """`result.json`, with the keys `pate table` reads, and nothing measured."""
    return {
        "schema_version": 1,
        "release": True,
        "status": "ok" if content.student is not None else "error",
        "dataset": content.dataset,
        "mechanism": content.mechanism,
        "config_hash": content.config_hash,
        "sizes": dict(content.sizes),
        "n_teachers": content.n_teachers,
        "n_asked": content.answers.n_asked,
        "n_answered": content.answers.n_answered,
        "eps": content.guarantee.eps,
        "delta": content.guarantee.delta,
        "how": content.guarantee.how,
        "eps_ex_post": content.ex_post.eps,
        "eps_odometer": None,
        "accuracy": None,
        "diagnostics": {},
        "plan": dict(content.plan),
        "provenance": {"versions": dict(content.versions)},
        "message": content.problem and f"the answers are released, a student is not: {content.problem}",
        "config": dict(content.config),
        "notes": NOTES,
    }


def _answers(content: ReleaseContent) -> str:
    """`answers.csv`: one line a query in the order asked; no label where the mechanism gave none."""
    answers, classes = content.answers, content.classes
    counts = answers.noisy_counts
    header = ["row", "label"]
    if counts is not None:
        if (counts != counts.round()).any():
            raise RuntimeError("a noisy count is not an integer: not the noise of a release")
        header += [f"noisy_count.{label}" for label in classes]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    for query, (point, code) in enumerate(zip(answers.asked.tolist(), answers.labels.tolist(), strict=True)):
        noisy = [] if counts is None else [int(count) for count in counts[query]]
        writer.writerow([int(content.rows[point]), classes[code] if code >= 0 else "", *noisy])
    return buffer.getvalue()


def without_addresses(student: bytes) -> bytes:
    """Rewrite a skops file so that it depends on its content alone.

    skops names objects by their memory address and members carry the time of writing;
    neither says anything of the student, but an address may depend on what else the
    process holds, and that is private. Addresses become 0, 1, ... in order of appearance.
    """
    with zipfile.ZipFile(io.BytesIO(student)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    numbers: dict[Any, int] = {}
    files: dict[str, str] = {}

    def rename(node: Any) -> Any:
        if isinstance(node, list):
            return [rename(item) for item in node]
        if not isinstance(node, dict):
            return node
        renamed: dict[str, Any] = {}
        for key, value in node.items():
            if key == "__id__":
                renamed[key] = numbers.setdefault(value, len(numbers))
            elif key == "file" and value in members:
                renamed[key] = files.setdefault(value, f"{len(files)}{Path(value).suffix}")
            else:
                renamed[key] = rename(value)
        return renamed

    schema = json.dumps(rename(json.loads(members.pop("schema.json"))), indent=2)
    if files.keys() != members.keys():
        raise RuntimeError("skops: a member that its schema does not name")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for old, new in files.items():
            archive.writestr(zipfile.ZipInfo(new), members[old])
        archive.writestr(zipfile.ZipInfo("schema.json"), schema)
    return buffer.getvalue()


def _replace(path: Path, data: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)  # it is public
        os.replace(temporary, path)
    except BaseException:  # Ctrl-C too
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
