"""What is kept of one repeat of one row, so that work done is never done again.

A unit is a small JSON file, named after everything its numbers depend on, but for code outside this package:
that is in the file, and one of other code is done again. It is written whole or not at all, and read only
if every number in it is as it was written. No release reads or writes one.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import secrets
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from pate_cli import mechanisms
from pate_cli.engine.cache import LoadedCode, code_version, has_source, library_versions, loaded_code
from pate_cli.errors import InputError
from pate_cli.pipeline import Outcome
from pate_cli.report import config_hash
from pate_cli.report.provenance import plain
from pate_cli.types import RepeatResult
from pate_cli.writing import write_file

__all__ = ["PLACE", "Finished", "Identity", "Unit", "identity"]

PLACE = ".finished"
"""Name of the directory of finished repeats, beside the results they went into."""

_SCHEMA = 3
_OLD = 3600.0
"""Seconds after which a temporary file is nobody's."""


@dataclass(frozen=True)
class Identity:
    """What the numbers of a row depend on.

    Attributes
    ----------
    config : str
        Hash of the configuration without `repeats`, `compute` and `cache`.
    dataset : str
        `datasets.content.fingerprint`: of the records as they were read.
    code : str
        Hash of the source of this package.
    versions : str
        Of the numeric libraries.
    untold : str
        Where a learner has no source to hash, a number that this process alone has: what it gave is found
        again by nobody else. Else empty.
    """

    config: str
    dataset: str
    code: str
    versions: str
    untold: str = ""

    def check(self) -> None:
        """Refuse to work under this name where this package or a library is another one.

        Raises
        ------
        InputError
        """
        if (self.code, self.versions) != (code_version(), _versions()):
            raise InputError(
                "the code of pate or a library is another one in a process that was to do a part of the work:"
                " start again"
            )


@dataclass(frozen=True)
class Unit:
    """One repeat of one row: all of it public, but for what is measured on held-out records.

    Attributes
    ----------
    repeat : int
    n_teachers, n_asked, n_answered : int
    eps, delta, eps_ex_post, accuracy, seconds : float
    diagnostics : dict of str to float or None
        Not differentially private.
    asked, unanswered : list of int
        Public points asked, in the order asked, and those of them without an answer.
    student : str
        SHA-256 (hex) of the file of the student, where it is kept; else empty.
    """

    repeat: int
    n_teachers: int
    n_asked: int
    n_answered: int
    eps: float
    delta: float
    eps_ex_post: float
    accuracy: float
    seconds: float
    diagnostics: dict[str, float | None]
    asked: list[int]
    unanswered: list[int]
    student: str = ""

    @classmethod
    def of(cls, outcome: Outcome, seconds: float, student: bytes | None = None) -> Unit:
        """Keep the numbers of an outcome, as they would be read back.

        Parameters
        ----------
        outcome : Outcome
        seconds : float
            What it took, its teachers included.
        student : bytes, optional
            Content of the file of the student, where that is kept.
        """
        asked = outcome.answers.asked
        content = vars(outcome.result) | {"seconds": seconds, "asked": asked.tolist()}
        content |= {"unanswered": asked[outcome.answers.labels < 0].tolist(), "student": _sha(student)}
        return cls.read(plain(content))

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> Unit:
        """Read what `content` gave.

        Raises
        ------
        TypeError, ValueError
            If it is something else.
        """
        infinite = {name: float(value) for name, value in content.items() if value in ("inf", "-inf")}
        diagnostics = {
            name: float(value) if isinstance(value, str) else value
            for name, value in content["diagnostics"].items()
        }
        return cls(**{**content, **infinite, "diagnostics": diagnostics})

    def content(self) -> dict[str, Any]:
        """Give all of it in JSON's own types."""
        content: dict[str, Any] = plain(asdict(self))
        return content

    @property
    def result(self) -> RepeatResult:
        """What the pipeline said of the repeat."""
        kept = {field.name: getattr(self, field.name) for field in fields(RepeatResult)}
        measured = {name: math.nan if value is None else value for name, value in self.diagnostics.items()}
        return RepeatResult(**kept | {"diagnostics": measured})


@dataclass(frozen=True)
class Finished:
    """The finished repeats in a directory, which is made when the first one is.

    Processes may share it: a file is put in place in one step, and what it holds follows from its name.

    Attributes
    ----------
    directory : Path
        Absolute: worker processes kept from before may stand elsewhere.
    """

    directory: Path

    def read(self, key: Identity, repeat: int, loss: tuple[float, float]) -> Unit | None:
        """Read a unit back; None if there is none, or it is damaged, or its (eps, delta) is not `loss`."""
        try:
            content = json.loads(self._file(key, repeat).read_bytes())
            kept, unit = content["kept"], Unit.read(content["kept"]["unit"])
            whole = content["sha256"] == _digest(kept) and LoadedCode(**kept["loaded"]).is_current()
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None
        ours = whole and kept["schema"] == _SCHEMA and kept["identity"] == asdict(key)
        return unit if ours and (unit.repeat, unit.eps, unit.delta) == (repeat, *loss) else None

    def find(
        self, key: Identity, repeat: int, loss: tuple[float, float], *, student: bool
    ) -> tuple[Unit, bytes | None] | None:
        """Find a unit and, if wanted, the content of the file of its student; None if either is not there."""
        unit = self.read(key, repeat, loss)
        if unit is None or not student:
            return None if unit is None else (unit, None)
        try:
            content = self._file(key, repeat, ".skops").read_bytes()
        except OSError:
            return None
        return (unit, content) if _sha(content) == unit.student else None

    def write(
        self, key: Identity, unit: Unit, student: bytes | None = None, loaded: LoadedCode | None = None
    ) -> None:
        """Write a unit in place of an earlier one, and its student before.

        Parameters
        ----------
        key : Identity
        unit : Unit
        student : bytes, optional
        loaded : LoadedCode, optional
            Of the process that did the work, if that was another one.

        Raises
        ------
        OSError
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        # hundreds of them, and `read` refuses what is not whole: not worth waiting for the disk
        if student is not None:
            write_file(self._file(key, unit.repeat, ".skops"), student, sync=False)
        loaded = loaded or loaded_code()
        kept = {"schema": _SCHEMA, "identity": asdict(key), "unit": unit.content(), "loaded": asdict(loaded)}
        text = json.dumps({"sha256": _digest(kept), "kept": kept}, allow_nan=False) + "\n"
        write_file(self._file(key, unit.repeat), text, sync=False)

    def forget(self, key: Identity, repeats: int) -> None:
        """Remove the first repeats of a row, so that they are done again."""
        for repeat in range(repeats):
            self._file(key, repeat).unlink(missing_ok=True)

    def sweep(self) -> None:
        """Remove what killed runs left half written; what is young may be another run's at this moment."""
        for path in self.directory.glob(".*.tmp"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > _OLD:
                    path.unlink()

    def _file(self, key: Identity, repeat: int, suffix: str = ".json") -> Path:
        text = json.dumps(asdict(key), sort_keys=True)
        return self.directory / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}-{repeat}{suffix}"


def _digest(kept: Mapping[str, Any]) -> str:
    return _sha(json.dumps(kept, sort_keys=True).encode())


def _sha(content: bytes | None) -> str:
    return "" if content is None else hashlib.sha256(content).hexdigest()


def identity(raw: Mapping[str, Any], records: str) -> Identity:
    """Say what the numbers of a configuration depend on.

    Parameters
    ----------
    raw : mapping
        The composed configuration.
    records : str
        `datasets.content.fingerprint` of the data.
    """
    kept = {key: value for key, value in raw.items() if key != "repeats"}
    student = raw["student"]
    names = [raw["teacher"]["estimator"], student["estimator"], (student.get("params") or {}).get("base")]
    modules = [name.rpartition(".")[0] for name in names if isinstance(name, str)]
    modules.append(mechanisms.find(raw["mechanism"]["name"]).__name__)
    told = all(has_source(module) for module in modules if module)
    loaded_code()  # of learners as they were imported just now, should they be edited later
    return Identity(config_hash(kept), records, code_version(), _versions(), "" if told else _nonce())


@cache
def _nonce() -> str:
    return secrets.token_hex(8)


def _versions() -> str:
    return ", ".join(f"{name} {version}" for name, version in library_versions().items())
