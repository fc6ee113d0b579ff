"""Checks of a release's folder against its certificate and the ledger that paid for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pate_cli.errors import DataError, shortened
from pate_cli.release import files
from pate_cli.release.ledger import LedgerDirectory
from pate_cli.students import load_student

__all__ = ["Check", "charged_elsewhere", "verify"]

_MOST_BYTES = 2**31


class Check(NamedTuple):
    """One check: its title, whether it passed (None: not checked), and the problem found if not."""

    title: str
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
    facts = _certificate(directory, data)
    hashes = facts.pop("files")
    own: dict[str, Callable[[], str]] = {
        "files: as certified, none missing, none added": lambda: _files(data, hashes),
        f"{files.RESULT} says what is certified": lambda: _result(json.loads(data[files.RESULT]), facts),
        f"{files.ANSWERS} has the queries and labels that are certified": lambda: (
            "" if files.sha256(data[files.ANSWERS]) == facts["answers"] else "it has others"
        ),
        f"{files.CARD} says what is certified": lambda: (
            "" if data[files.CARD] == files.model_card(facts) else "its text is another"
        ),
        f"{files.STUDENT} carries the certificate": lambda: _student(directory, data, facts),
    }
    ledger: dict[str, Callable[[], str]] = {
        "the ledger has its charge": lambda: _charge(ledgers, facts),
        "the ledger has its certificate": lambda: _recorded(ledgers, facts, data[files.CERTIFICATE]),
    }
    if not ledgers.path.exists():
        unknown = [Check(title, None, f"no ledger in {ledgers.path}") for title in ledger]
        return [*(_check(*each) for each in own.items()), *unknown]
    return [_check(*each) for each in (own | ledger).items()]


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


def _check(title: str, problem: Callable[[], str]) -> Check:
    try:
        found = problem()
    except Exception as error:  # the files may hold anything
        found = f"cannot be read ({shortened(' '.join(str(error).split()), 1000)})"
    return Check(title, not found, found)


def _read(path: Path) -> bytes:
    """Content of a file that a release may have; nothing of anything else."""
    if path.name not in files.FILES or not path.is_file():
        return b""
    with path.open("rb") as file:
        return file.read(_MOST_BYTES)


def _certificate(directory: Path, data: Mapping[str, bytes]) -> dict[str, Any]:
    accepted = "accepted: the folder of a release"
    if files.CERTIFICATE not in data:
        raise DataError(f"{directory}: no {files.CERTIFICATE}; {accepted}")
    try:
        content = dict(json.loads(data[files.CERTIFICATE]))
        version, _ = content["schema_version"], content["files"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise DataError(f"{directory / files.CERTIFICATE}: damaged; {accepted}") from None
    if version != files.CERTIFICATE_VERSION:
        made = f"a certificate of version {shortened(repr(version))}"
        raise DataError(f"{directory / files.CERTIFICATE}: {made}; accepted: {files.CERTIFICATE_VERSION}")
    return content


def _files(data: Mapping[str, bytes], hashes: Mapping[str, str]) -> str:
    there, certified = set(data) - {files.CERTIFICATE}, set(hashes)
    problems = [f"{name} is missing" for name in sorted(certified - there)]
    foreign = (there - certified) | (certified - set(files.FILES))
    problems += [f"{name} is not of the release" for name in sorted(foreign)]
    changed = (name for name in sorted(there & certified) if files.sha256(data[name]) != hashes[name])
    return "; ".join(problems + [f"{name} was changed" for name in changed])


def _another(found: Mapping[str, Any], certified: Mapping[str, Any]) -> str:
    """Names of the certified facts that were found to be others."""
    return ", ".join(name for name, value in certified.items() if found.get(name) != value)


def _result(result: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    names = ("mechanism", "config_hash", "eps_ex_post", "sizes", "n_teachers", "n_asked", "n_answered")
    certified = {name: facts[name] for name in names}
    certified |= {name: facts["guarantee"][name] for name in ("eps", "delta", "how")}
    certified |= {"dataset": facts["data"]["dataset"], "release_id": facts["release"]}
    certified["chosen"] = facts.get("chosen")
    other = _another({**result, "chosen": result["plan"].get("chosen")}, certified)
    return other and f"it has another {other}"


def _student(directory: Path, data: Mapping[str, bytes], facts: Mapping[str, Any]) -> str:
    if files.STUDENT not in data:  # a release may have none, and says so
        return "missing" if json.loads(data[files.RESULT])["status"] == "ok" else ""
    same = load_student(directory / files.STUDENT).meta.get("certificate") == facts
    return "" if same else "it is the student of another certificate"


def _charge(ledgers: LedgerDirectory, facts: Mapping[str, Any]) -> str:
    paid = facts["ledger"]
    ledger = ledgers.read(paid["fingerprint"])
    if paid["hash"] not in ledger.hashes:
        return (
            f"its entry {paid['entry']} is not in the ledger, which was put back to an older copy,"
            " shortened, rewritten or begun anew"
        )
    number = ledger.hashes.index(paid["hash"])
    entry = ledger.entries[number]
    certified = {"kind": "release", "entry": paid["entry"], "release": facts["release"]}
    certified |= {name: facts["guarantee"][name] for name in ("eps", "delta")}
    certified |= {name: facts[name] for name in ("time", "purpose")}
    other = _another({**vars(entry), "entry": number, "release": entry.id}, certified)
    return other and f"it was charged with another {other} (eps={entry.eps:g}, delta={entry.delta:g})"


def _recorded(ledgers: LedgerDirectory, facts: Mapping[str, Any], certificate: bytes) -> str:
    entries = ledgers.read(facts["ledger"]["fingerprint"]).entries
    notes = [entry.note for entry in entries if (entry.kind, entry.id) == ("certificate", facts["release"])]
    if not notes:
        return "none is on record"
    return "" if files.sha256(certificate) in notes else "another one is on record"
