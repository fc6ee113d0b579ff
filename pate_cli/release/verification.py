"""Checks of a release's folder against its certificate and the ledger that paid for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pate_cli.errors import DataError, shortened
from pate_cli.release import files
from pate_cli.release.ledger import LedgerDirectory
from pate_cli.release.model_card import model_card
from pate_cli.students import load_student

__all__ = ["Check", "charged_elsewhere", "verify"]

_MOST_BYTES = 2**31

_Files = Mapping[str, bytes]


class Check(NamedTuple):
    """One check: its subject, whether it passed (None: not checked), and the problem found if not."""

    what: str
    passed: bool | None
    found: str = ""


def verify(directory: Path, ledgers: LedgerDirectory) -> list[Check]:
    """Check the folder of a release; nothing is changed. DataError if it holds no certificate.

    Without a directory of ledgers the files are checked against the certificate alone: that shows damage,
    and not a forgery of all of them.
    """
    try:
        data = {path.name: _read(path) for path in sorted(directory.iterdir())}
    except OSError as error:
        raise DataError(f"{directory}: {error.strerror}; accepted: the folder of a release") from None
    certificate = _certificate(directory, data)
    facts = {name: value for name, value in certificate.items() if name != "files"}
    own: dict[str, Callable[[], str]] = {
        "files: as certified, none missing, none added": lambda: _files(data, certificate["files"]),
        f"{files.RESULT} says what is certified": lambda: _result(data, facts),
        f"{files.ANSWERS} has the queries and labels that are certified": lambda: (
            "" if files.sha256(data[files.ANSWERS]) == facts["answers"] else "it has others"
        ),
        f"{files.CARD} says what is certified": lambda: (
            "" if data[files.CARD] == model_card(facts) else "its text is another"
        ),
        f"{files.STUDENT} carries the certificate": lambda: _student(directory, data, facts),
    }
    ledger: dict[str, Callable[[], str]] = {
        "the ledger has its charge": lambda: _charge(ledgers, facts),
        "the ledger has its certificate": lambda: _recorded(ledgers, facts, data[files.CERTIFICATE]),
    }
    if ledgers.path.exists():
        return [_check(*each) for each in (own | ledger).items()]
    unknown = [Check(what, None, f"no ledger in {ledgers.path}") for what in ledger]
    return [*(_check(*each) for each in own.items()), *unknown]


def charged_elsewhere(place: Path, ledgers: LedgerDirectory) -> list[Path]:
    """Folders of releases in a directory, those in it, and below `outputs`, whose charge is in no ledger."""
    hashes = {code for one in ledgers.ledgers() for code in one.hashes}
    found = {path for form in ("", "*/", "outputs/**/") for path in place.glob(form + files.CERTIFICATE)}
    elsewhere = []
    for path in sorted(found):
        try:
            known = json.loads(_read(path))["ledger"]["hash"] in hashes
        except Exception:  # of an earlier version of pate, or of another program
            known = False
        if not known:
            elsewhere.append(path.parent)
    return elsewhere


def _check(what: str, problem: Callable[[], str]) -> Check:
    try:
        found = problem()
    except Exception as error:  # the files may hold anything
        found = f"cannot be read ({shortened(' '.join(str(error).split()), 1000)})"
    return Check(what, not found, found)


def _read(path: Path) -> bytes:
    """Content of a file that a release may have; nothing of anything else."""
    if path.name not in files.FILES or not path.is_file():
        return b""
    with path.open("rb") as file:
        return file.read(_MOST_BYTES)


def _certificate(directory: Path, data: _Files) -> dict[str, Any]:
    accepted = "accepted: the folder of a release"
    if files.CERTIFICATE not in data:
        raise DataError(f"{directory}: no {files.CERTIFICATE}; {accepted}")
    try:
        content = dict(json.loads(data[files.CERTIFICATE]))
        version = content["schema_version"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise DataError(f"{directory / files.CERTIFICATE}: damaged; {accepted}") from None
    if version != files.CERTIFICATE_VERSION:
        made = f"a certificate of version {shortened(repr(version))}"
        raise DataError(f"{directory / files.CERTIFICATE}: {made}; accepted: {files.CERTIFICATE_VERSION}")
    return content


def _files(data: _Files, wanted: Mapping[str, str]) -> str:
    there, names = set(data) - {files.CERTIFICATE}, set(wanted)
    changed = (name for name in there & names if files.sha256(data[name]) != wanted[name])
    problems = [f"{name} is missing" for name in sorted(names - there)]
    problems += [
        f"{name} is not of the release" for name in sorted((there - names) | (names - set(files.FILES)))
    ]
    return "; ".join(problems + [f"{name} was changed" for name in sorted(changed)])


def _result(data: _Files, facts: Mapping[str, Any]) -> str:
    result = json.loads(data[files.RESULT])
    names = ("mechanism", "config_hash", "eps_ex_post", "sizes", "n_teachers", "n_asked", "n_answered")
    stated = {name: facts[name] for name in names}
    stated |= {name: facts["guarantee"][name] for name in ("eps", "delta", "how")}
    stated |= {"dataset": facts["data"]["dataset"], "release_id": facts["release"]}
    other = [name for name, value in stated.items() if result.get(name) != value]
    other += ["chosen"] if result["plan"].get("chosen") != facts.get("chosen") else []
    return f"it has another {', '.join(other)}" if other else ""


def _student(directory: Path, data: _Files, facts: Mapping[str, Any]) -> str:
    if files.STUDENT not in data:  # a release may have none, and says so
        return "missing" if json.loads(data[files.RESULT])["status"] == "ok" else ""
    same = load_student(directory / files.STUDENT).meta.get("certificate") == facts
    return "" if same else "it is the student of another certificate"


def _charge(ledgers: LedgerDirectory, facts: Mapping[str, Any]) -> str:
    paid, guarantee = facts["ledger"], facts["guarantee"]
    ledger = ledgers.read(paid["fingerprint"])
    entries = dict(zip(ledger.hashes, enumerate(ledger.entries), strict=True))
    if paid["hash"] not in entries:
        return (
            f"its entry {paid['entry']} is not in the ledger, which was put back to an older copy,"
            " shortened, rewritten or begun anew"
        )
    number, entry = entries[paid["hash"]]
    if (entry.kind, entry.eps, entry.delta) != ("release", guarantee["eps"], guarantee["delta"]):
        return f"the ledger was charged eps={entry.eps:g}, delta={entry.delta:g}"
    charged = {"entry": number, "release": entry.id, "time": entry.time, "purpose": entry.purpose}
    stated = {"entry": paid["entry"], **{name: facts[name] for name in ("release", "time", "purpose")}}
    other = [name for name in charged if charged[name] != stated[name]]
    return f"it was charged with another {', '.join(other)}" if other else ""


def _recorded(ledgers: LedgerDirectory, facts: Mapping[str, Any], certificate: bytes) -> str:
    entries = ledgers.read(facts["ledger"]["fingerprint"]).entries
    notes = [entry.note for entry in entries if (entry.kind, entry.id) == ("certificate", facts["release"])]
    if not notes:
        return "none is on record"
    return "" if files.sha256(certificate) in notes else "another one is on record"
