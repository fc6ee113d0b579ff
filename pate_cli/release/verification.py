"""Checking the folder of a release against its certificate and against the ledger that paid for it."""

from __future__ import annotations

import csv
import hmac
import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pate_cli.errors import DataError, InputError
from pate_cli.release.certificate import CARD, CERTIFICATE, model_card, sha256
from pate_cli.release.directory import LedgerDirectory
from pate_cli.release.files import FILES
from pate_cli.release.ledger import keyed
from pate_cli.students import load_student

__all__ = ["Check", "verify"]

_MOST_BYTES = 2**31


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Attributes
    ----------
    what : str
    passed : bool or None
        None if it could not be looked at.
    found : str
        What is wrong, or why it could not be looked at; else empty.
    """

    what: str
    passed: bool | None
    found: str = ""


class _Wrong(Exception):
    """What does not fit."""


def verify(directory: Path, ledgers: LedgerDirectory) -> list[Check]:
    """Check a release; nothing is changed.

    Parameters
    ----------
    directory : Path
        What `pate run release=true` wrote.
    ledgers : LedgerDirectory
        If it is not there, as on the machine of who was given the release, the files are checked against
        the certificate alone: that shows damage, and not a forgery of all of them.

    Raises
    ------
    DataError
        If the directory holds no certificate.
    """
    data = _read_all(directory)
    try:
        certificate = _certificate(data)
    except _Wrong as error:
        raise DataError(f"{directory / CERTIFICATE}: {error}; accepted: the folder of a release") from None
    facts = {name: value for name, value in certificate.items() if name not in ("files", "mac")}
    checks: dict[str, Callable[[], None]] = {
        "files: as certified, none missing, none added": lambda: _files(data, certificate["files"]),
        "result.json says what is certified": lambda: _result(data, facts),
        "answers.csv has the queries and labels that are certified": lambda: _answers(data, facts),
        f"{CARD} says what is certified": lambda: _card(data, facts),
        "student.skops carries the certificate": lambda: _student(directory, data, facts),
    }
    done = [_try(what, check) for what, check in checks.items()]
    return done + list(_ledger(ledgers, data, certificate, facts))


def _try(what: str, check: Callable[[], None]) -> Check:
    try:
        check()
    except _Wrong as error:
        return Check(what, False, str(error))
    except (InputError, KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        return Check(what, False, f"cannot be read ({' '.join(str(error).split())})")
    return Check(what, True)


def _read_all(directory: Path) -> dict[str, bytes]:
    if not directory.is_dir():
        raise DataError(f"{directory}: no such directory; accepted: the folder of a release")
    data = {}
    for path in sorted(directory.iterdir()):
        try:
            if not path.is_file():
                raise OSError(0, "not a regular file")
            with path.open("rb") as file:
                data[path.name] = file.read(_MOST_BYTES)
        except OSError as error:
            raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    return data


def _certificate(data: Mapping[str, bytes]) -> dict[str, Any]:
    if CERTIFICATE not in data:
        raise _Wrong("missing")
    try:
        content = json.loads(data[CERTIFICATE])
        wanted = {"schema_version": int, "release": str, "guarantee": dict, "ledger": dict, "mac": str}
        good = all(isinstance(content[name], kind) for name, kind in wanted.items())
        good = good and all(isinstance(value, str) for value in content["files"].values())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        good = False
    if not good or content["schema_version"] != 1:
        raise _Wrong("not a certificate that this pate reads")
    return dict(content)


def _files(data: Mapping[str, bytes], certified: Mapping[str, str]) -> None:
    there = set(data) - {CERTIFICATE}
    problems = [f"{name} is missing" for name in sorted(set(certified) - there)]
    problems += [f"{name} is not of the release" for name in sorted(there - set(certified))]
    problems += [
        f"{name} was changed"
        for name in sorted(there & set(certified))
        if not hmac.compare_digest(sha256(data[name]), certified[name])
    ]
    problems += [f"{name} is not a file of releases" for name in sorted(set(certified) - set(FILES))]
    if problems:
        raise _Wrong("; ".join(problems))


def _result(data: Mapping[str, bytes], facts: Mapping[str, Any]) -> None:
    result = json.loads(data["result.json"])
    guarantee = facts["guarantee"]
    told = {
        **{name: facts[name] for name in ("mechanism", "config_hash", "eps_ex_post", "sizes", "n_teachers")},
        **{name: facts[name] for name in ("n_asked", "n_answered")},
        **{name: guarantee[name] for name in ("eps", "delta", "how")},
        "dataset": facts["data"]["dataset"],
        "release_id": facts["release"],
    }
    other = [name for name, value in told.items() if result.get(name) != value]
    if other:
        raise _Wrong(f"it has another {', '.join(other)}")


def _answers(data: Mapping[str, bytes], facts: Mapping[str, Any]) -> None:
    header, *rows = csv.reader(io.StringIO(data["answers.csv"].decode()))
    labels = [row[header.index("label")] for row in rows]
    if (len(rows), sum(label != "" for label in labels)) != (facts["n_asked"], facts["n_answered"]):
        raise _Wrong("another number of queries or answers")
    if unknown := set(labels) - {"", *facts["data"]["classes"]}:
        raise _Wrong(f"a label that is no class: {min(unknown)!r}")


def _card(data: Mapping[str, bytes], facts: Mapping[str, Any]) -> None:
    if data[CARD] != model_card(facts).encode():
        raise _Wrong("its text is another")


def _student(directory: Path, data: Mapping[str, bytes], facts: Mapping[str, Any]) -> None:
    if "student.skops" not in data:
        if json.loads(data["result.json"])["status"] == "ok":
            raise _Wrong("missing")
        return  # a release may have no student, and says so
    if load_student(directory / "student.skops").meta.get("certificate") != facts:
        raise _Wrong("it is the student of another certificate")


def _ledger(
    ledgers: LedgerDirectory, data: Mapping[str, bytes], certificate: Mapping[str, Any], facts: Any
) -> Iterator[Check]:
    names = [
        "the certificate has the code of the ledger's owner",
        "the ledger has its charge",
        "the ledger has on record that these files were written",
    ]
    if not ledgers.path.is_dir():
        yield from (Check(what, None, f"no ledger in {ledgers.path}") for what in names)
        return
    rest = {name: value for name, value in certificate.items() if name != "mac"}
    fingerprint, id = str(facts["ledger"].get("fingerprint")), facts["release"]

    def code() -> None:
        if not hmac.compare_digest(keyed(ledgers.key.read(), rest), certificate["mac"]):
            raise _Wrong("it was changed, or is another owner's")

    def charge() -> None:
        ledger = ledgers.read(fingerprint)
        found = ledger.release(id)
        if found is None:
            raise _Wrong(f"no charge for release {id}: it was removed, or never made")
        charged, said = found[1], facts["guarantee"]
        if (charged.eps, charged.delta) != (said["eps"], said["delta"]):
            raise _Wrong(f"the ledger was charged eps={charged.eps:g}, delta={charged.delta:g}")
        place = {"entry": found[0], "code": ledgers.place_of(fingerprint, id)[1]}
        if {**place, "fingerprint": fingerprint} != facts["ledger"]:
            raise _Wrong("entries before it are not those there were when it was charged")
        if (charged.time, charged.purpose) != (facts["time"], facts["purpose"]):
            raise _Wrong("another time or purpose")

    def written() -> None:
        kept = ledgers.read(fingerprint).certificate(id)
        if kept is None:
            raise _Wrong("nothing is on record: the release may have been cut short")
        if not hmac.compare_digest(kept, sha256(data[CERTIFICATE])):
            raise _Wrong("another certificate is on record")

    for what, check in zip(names, (code, charge, written), strict=True):
        yield _try(what, check)
