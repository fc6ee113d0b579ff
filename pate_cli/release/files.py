"""The files of a release: public by construction, for only what is named here is written.

`answers.csv` first, which cannot be had again, then `student.skops`, `model_card.md` and `certificate.json`,
and `result.json` last, whose presence says that the release is whole.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import os
import shutil
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pate_cli.datasets import FILES as FILES_OF_A_DATASET
from pate_cli.errors import ConfigError
from pate_cli.release.certificate import CARD, CERTIFICATE, Charge, facts, model_card, sha256, signed
from pate_cli.types import Answers, IntArray, PrivacyLoss
from pate_cli.writing import write_file

__all__ = [
    "FILES",
    "ReleaseContent",
    "check_disk",
    "needed_bytes",
    "public_config",
    "without_addresses",
    "write_release",
]

FILES = ("answers.csv", "student.skops", CARD, CERTIFICATE, "result.json")
"""Every file a release writes, in the order written."""

NOTES = {
    "eps": "the guarantee of this release, with delta, for records that are not public points; all releases"
    " from one dataset add up, see its ledger",
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
        Number of each public point in the dataset, or in the public file, from 0. The draw of the public
        split is independent of every record.
    answers : Answers
        What the mechanism gave, with integer noisy counts if any.
    student : bytes or None
        A skops file; fitted on `answers`.
    problem : str or None
        Why there is no student.
    versions : mapping of str to (str or None)
        Of the libraries.
    charge : Charge
        What pays for it.
    protects : (str, str)
        What neighbouring data sets differ in, and the protected unit.
    columns : sequence of str or None
        Names of the columns; None where they are numbered.
    schema : mapping of str to mapping, or None
        What each of them holds, where a schema says so: kind, bounds or categories, code for a missing value.
    public_file : bool
        Whether the public points have a file of their own: no record of the private file is among them.
    """

    dataset: str
    mechanism: str
    config: Mapping[str, Any]
    config_hash: str
    sizes: Mapping[str, int | None]
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
    charge: Charge
    protects: tuple[str, str]
    columns: Sequence[str] | None
    schema: Mapping[str, Mapping[str, Any]] | None
    public_file: bool

    def __post_init__(self) -> None:
        if self.guarantee.data_dependent or not self.ex_post.data_dependent:
            raise ValueError("the guarantee does not depend on data, the loss after the fact does")


def public_config(raw: Mapping[str, Any]) -> dict[str, Any]:
    """What of a run's configuration is recorded: no seed, no machine, no ledger, of a path only the name."""
    config = {key: raw[key] for key in _CONFIG_KEYS if key in raw}
    dataset = dict(config.get("dataset", {}))
    for key in FILES_OF_A_DATASET:
        if dataset.get(key):
            dataset[key] = Path(dataset[key]).name
    return config | {"dataset": dataset}


def needed_bytes(n_public: int, classes: Sequence[str], n_features: int, model: int = 0) -> int:
    """Room that a release asks for before it is charged: its answers, a linear student, and 1 MiB more.

    Parameters
    ----------
    n_public : int
        Public points, all of which may be asked.
    classes : sequence of str
    n_features : int
        Columns before encoding. A student that is larger, as a forest, may still find the disk full.
    model : int
        Bytes of a model that the mechanism makes itself.
    """
    cell = 24 + max(len(label.encode()) for label in classes)
    return 2**20 + model + n_public * cell * (2 + len(classes)) + 16 * len(classes) * (n_features + 1)


def check_disk(directory: Path, size: int) -> None:
    """Take `size` bytes of a directory's disk and give them back; the directory is made.

    No question to the system is asked instead: quotas, read-only places and lies about free space show.

    Raises
    ------
    ConfigError
        If they are not to be had.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory) as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)
            else:
                file.write(bytes(size))
                file.flush()
    except OSError as error:
        accepted = (
            f"a directory that can be written, with {math.ceil(size / 1024)} KiB left on its disk"
            f" ({error.strerror or error}); nothing is charged"
        )
        raise ConfigError("hydra.run.dir", str(directory), accepted) from None


def write_release(directory: Path, content: ReleaseContent, key: bytes, spare: Sequence[Path] = ()) -> str:
    """Write the files of a release, each whole or not at all, `result.json` last.

    Parameters
    ----------
    directory : Path
    content : ReleaseContent
    key : bytes
        Of the ledger's owner.
    spare : sequence of Path
        Directories to keep the files in, in a new one that only its owner can enter, if the first fails.

    Returns
    -------
    str
        SHA-256 (hex) of the certificate.

    Raises
    ------
    OSError
        If one cannot be written; names the file, and says what is kept where.
    """
    certified = facts(content)
    student = {} if content.student is None else {"student.skops": without_addresses(content.student)}
    data = {"answers.csv": _answers(content).encode(), **student, CARD: model_card(certified).encode()}
    result = {"result.json": _json(_result(content))}
    data |= {CERTIFICATE: _json(signed(certified, data | result, key)), **result}
    written, problem = _write_all(directory, data)
    if problem is None:
        return sha256(data[CERTIFICATE])
    place, kept = _keep(data, spare, (directory, written))
    if len(kept) == len(data):
        fate = f"its files are kept in {place}, from where they can be moved"
    elif kept:
        fate = f"of its files {' and '.join(kept)} could be kept, in {place}"
    else:
        fate = "nothing of it could be kept; make room, and the next one is charged anew"
    reason = problem.strerror or str(problem)
    where = problem.filename or str(directory)
    raise OSError(problem.errno, f"{reason}; the release is charged to its ledger: {fate}", where)


def _json(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _write_all(directory: Path, data: Mapping[str, bytes]) -> tuple[list[str], OSError | None]:
    """Write files until one cannot be; give the names of those written, and why not the next."""
    written: list[str] = []
    for name, content in data.items():
        try:
            directory.mkdir(parents=True, exist_ok=True)
            write_file(directory / name, content, permissions=0o644)  # it is public
        except OSError as error:
            return written, error
        written.append(name)
    return written, None


def _keep(
    data: Mapping[str, bytes], places: Sequence[Path], first: tuple[Path, list[str]]
) -> tuple[Path, list[str]]:
    """Write files into a new directory, in the first place that takes them all.

    Returns
    -------
    (Path, list of str)
        Where most of them are, with their names: there, in another of the places, or in `first`.
    """
    best, made = first, []
    for place in places:
        with contextlib.suppress(OSError):
            made.append(Path(tempfile.mkdtemp(prefix="release-", dir=place)))  # mode 0700
            written, _ = _write_all(made[-1], data)
            if len(written) > len(best[1]):
                best = made[-1], written
            if len(written) == len(data):
                break
    for directory in made:
        if directory != best[0]:
            shutil.rmtree(directory, ignore_errors=True)
    return best


def _result(content: ReleaseContent) -> dict[str, Any]:
    """`result.json`, with the keys `pate table` reads, and nothing measured."""
    return {
        "schema_version": 1,
        "release": True,
        "release_id": content.charge.id,
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
        "accuracy": None,
        "diagnostics": {},
        "plan": {"protects": content.protects[0], **content.plan},
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
