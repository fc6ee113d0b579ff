"""What is kept of one repeat of one row, so that work done is never done again.

A unit is a small JSON file, named after everything its numbers depend on. It is
written whole or not at all, and read only if it is what it should be.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pate_cli.engine.cache import code_version, learner_version, library_versions
from pate_cli.errors import ConfigError, InputError
from pate_cli.report import config_hash
from pate_cli.report.provenance import plain
from pate_cli.writing import write_file

if TYPE_CHECKING:
    from pate_cli.pipeline import Outcome

__all__ = ["Identity", "Unit", "identity"]

_SCHEMA = 1
_UNTOLD = "untold"


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
    learners : dict of str to str
        `learner_version` of each learner by its name; for one that has none, a number that this process
        alone has: what it gave is found again by nobody else.
    """

    config: str
    dataset: str
    code: str
    versions: str
    learners: dict[str, str]

    def file(self, directory: Path, repeat: int) -> Path:
        """Path of the unit of one repeat."""
        text = json.dumps(asdict(self), sort_keys=True)
        return directory / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}-{repeat}.json"

    def check(self) -> None:
        """Refuse to work under this name where something else is loaded, as a learner edited since.

        Raises
        ------
        ConfigError
            If a learner is another one in this process.
        InputError
            If this package or a library is.
        """
        for name, version in self.learners.items():
            if learner_version(name) != version and not version.startswith(_UNTOLD):
                raise ConfigError("estimator", name, "a learner whose source stays as it is during the work")
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

    @classmethod
    def of(cls, outcome: Outcome) -> Unit:
        """Keep the numbers of an outcome."""
        result, answers = outcome.result, outcome.answers
        kept = {field.name for field in fields(cls)} - {"asked", "unanswered"}
        return cls(
            **{name: getattr(result, name) for name in kept},
            asked=answers.asked.tolist(),
            unanswered=answers.asked[answers.labels < 0].tolist(),
        )

    def write(self, directory: Path, key: Identity) -> None:
        """Write it into a directory, in place of an earlier one.

        Raises
        ------
        OSError
        """
        content = plain({"schema": _SCHEMA, "identity": asdict(key), **asdict(self)})
        text = json.dumps(content, allow_nan=False) + "\n"
        # hundreds of them, and `read` refuses what is not whole: not worth waiting for the disk
        path = key.file(directory, self.repeat)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, text, sync=False)

    @classmethod
    def read(cls, directory: Path, key: Identity, repeat: int) -> Unit | None:
        """Read it back; None if there is none, or what is there cannot be relied on."""
        try:
            content = json.loads(key.file(directory, repeat).read_bytes())
            if content.pop("schema") != _SCHEMA or content.pop("identity") != asdict(key):
                return None
            for name in ("eps", "eps_ex_post"):
                content[name] = float(content[name])  # an infinity is written as text
            unit = cls(**content)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None
        numbers = (unit.n_asked, unit.n_answered, unit.accuracy, unit.delta, unit.n_teachers)
        whole = all(isinstance(number, int | float) for number in numbers) and unit.repeat == repeat
        lists = isinstance(unit.diagnostics, dict) and isinstance(unit.unanswered, list)
        return unit if whole and lists and len(unit.asked) == unit.n_asked else None


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
    learners = {name: _learner(name) for name in names if isinstance(name, str)}
    return Identity(config_hash(kept), records, code_version(), _versions(), learners)


def _learner(name: str) -> str:
    version = learner_version(name)
    return _nonce() if version is None else version


@cache
def _nonce() -> str:
    return f"{_UNTOLD} {secrets.token_hex(8)}"


def _versions() -> str:
    return ", ".join(f"{name} {version}" for name, version in library_versions().items())
