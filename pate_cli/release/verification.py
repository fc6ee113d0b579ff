"""Checks of a release's folder against its certificate and the ledger that paid for it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from pate_cli.errors import shortened
from pate_cli.release import files
from pate_cli.release.certificates import (
    CERTIFICATE,
    CERTIFICATE_VERSION,
    MOST_TEXT,
    read_certificate,
    read_text,
)
from pate_cli.release.ledger import Ledger
from pate_cli.release.ledger_directory import LedgerDirectory
from pate_cli.runs.evaluation import REPORT, check_size, stated
from pate_cli.students import foreign_types, read_student
from pate_cli.terminal import open_file

__all__ = ["ReleaseCheck", "charged_elsewhere", "verify"]

_MOST_BYTES = 2**31
"""Of all files of a release together."""

_QUALITY = "what it says of its quality follows from its noisy table"

_CARRIES = f"{files.STUDENT} carries the certificate"

_ALL = {*files.FILES, files.POINTS}


class ReleaseCheck(NamedTuple):
    """One check: its title, whether it passed (None: not checked), and the problem found if not."""

    title: str
    passed: bool | None
    problem: str = ""


def verify(directory: Path, ledgers: LedgerDirectory, trust: Sequence[str] = ()) -> list[ReleaseCheck]:
    """Check the folder of a release; nothing is changed. DataError if it holds no certificate.

    A model with types that are neither ours nor in `trust` is not opened; its hash is certified.

    Without a directory of ledgers the files are checked against the certificate alone: that shows damage,
    and not a forgery of all of them.
    """
    certificate, facts, about = read_certificate(directory)
    names = set(os.listdir(directory))
    data, problems = _contents(directory, names, about)

    @cache
    def ledger_of() -> Ledger:
        return ledgers.read(facts["ledger"]["fingerprint"])

    of_files: dict[str, Callable[[], str]] = {
        "files: as certified, none missing, none added": lambda: _files(names, about, problems),
        f"{files.RESULT} says what is certified": lambda: _result(data, facts),
        f"{files.ANSWERS} has the queries and labels that are certified": lambda: (
            "" if files.sha256(data.get(files.ANSWERS, b"")) == facts["answers"] else "it has others"
        ),
        **({_QUALITY: lambda: _evaluation(facts)} if "evaluation" in facts else {}),
        _CARRIES: lambda: _student(directory, data, facts, trust),
    }
    ledger: dict[str, Callable[[], str]] = {
        "the ledger has its charge": lambda: _charge(ledger_of(), facts),
        "the ledger has its certificate": lambda: _recorded(ledger_of(), facts, certificate),
    }
    skipped = []
    if foreign := _foreign(data, trust):
        del of_files[_CARRIES]
        hint = f"pate does not write {', '.join(foreign)}; whoever knows it adds"
        options = " ".join(f"--trust {name}" for name in foreign)
        skipped.append(ReleaseCheck(_CARRIES, None, f"{hint} {options}"))
    if _QUALITY in of_files and facts["schema_version"] < CERTIFICATE_VERSION:  # by another rule
        del of_files[_QUALITY]
        skipped.append(ReleaseCheck(_QUALITY, None, "released by an earlier version of pate"))
    if not ledgers.check():
        unknown = [ReleaseCheck(title, None, f"no ledger in {ledgers.path}") for title in ledger]
        return [*(_check(*each) for each in of_files.items()), *skipped, *unknown]
    return [*(_check(*each) for each in (of_files | ledger).items()), *skipped]


def charged_elsewhere(place: Path, ledgers: LedgerDirectory) -> list[Path]:
    """Folders of releases in a directory, those in it, and below `outputs`, whose charge is in no ledger."""
    hashes = {code for ledger in ledgers.ledgers() for code in ledger.hashes}
    certificates = {path for form in ("", "*/", "outputs/**/") for path in place.glob(form + CERTIFICATE)}
    elsewhere = []
    for path in sorted(certificates):
        try:
            charged = json.loads(read_text(path))["ledger"]["hash"] in hashes
        except Exception:  # of an earlier version of pate, or of another program
            charged = False
        if not charged:
            elsewhere.append(path.parent)
    return elsewhere


def _check(title: str, problem: Callable[[], str]) -> ReleaseCheck:
    try:
        text = problem()
    except Exception as error:  # the files may hold anything
        text = f"cannot be read ({shortened(' '.join(str(error).split()), 1000)})"
    return ReleaseCheck(title, not text, text)


def _contents(
    directory: Path, names: set[str], certified: Mapping[str, Mapping[str, Any]]
) -> tuple[dict[str, bytes], dict[str, str]]:
    """Content of each file as certified, and what is wrong with each other one.

    A file is opened once, and read only if it is as large as certified and all of them are not too large.
    """
    data, problems, left = {}, {}, _MOST_BYTES
    for name in sorted(names.intersection(_ALL) & certified.keys()):
        about = certified[name]
        try:
            with open_file(directory / name) as file:
                size = os.fstat(file.fileno()).st_size
                most = min(left, MOST_TEXT) if name == files.RESULT else left
                if size != about.get("bytes", size):
                    problems[name] = "was changed"
                elif size > most:
                    problems[name] = f"has {size:,} bytes, of at most {most:,}"
                else:
                    data[name] = file.read(size)
                    left -= size
        except OSError as error:
            problems[name] = f"cannot be read ({error.strerror})"
        if name in data and files.sha256(data[name]) != about.get("sha256"):
            problems[name] = "was changed"
    return data, problems


def _files(names: set[str], certified: Mapping[str, Any], problems: Mapping[str, str]) -> str:
    present, stated = names - {CERTIFICATE}, set(certified)
    foreign = (present - stated) | (stated - _ALL)
    messages = [f"{name} is missing" for name in sorted(stated - present)]
    messages += [f"{name} is not of the release" for name in sorted(foreign)]
    return "; ".join(messages + [f"{name} {problem}" for name, problem in problems.items()])


def _another(computed: Mapping[str, Any], certified: Mapping[str, Any]) -> str:
    """Names of the certified facts that were found to be others."""
    return ", ".join(name for name, value in certified.items() if computed.get(name) != value)


def _result(data: Mapping[str, bytes], facts: Mapping[str, Any]) -> str:
    if files.RESULT not in data:
        return "it was not read"
    result = json.loads(data[files.RESULT])
    names = ("mechanism", "config_hash", "eps_ex_post", "sizes", "n_teachers", "n_asked", "n_answered")
    certified = {name: facts[name] for name in names}
    certified |= {name: facts["guarantee"][name] for name in ("eps", "delta", "how")}
    certified |= {"dataset": facts["data"]["dataset"], "release_id": facts["release"]}
    certified |= {name: facts.get(name) for name in ("chosen", "evaluation")}
    nested = {"chosen": result["plan"].get("chosen"), "evaluation": result.get("evaluation")}
    other = _another({**result, **nested}, certified)
    return other and f"it has another {other}"


def _evaluation(facts: Mapping[str, Any]) -> str:
    report = facts["evaluation"]
    table, classes = {name: report[name] for name in REPORT}, facts["data"]["classes"]
    check_size(table, len(classes))
    again = stated(table, classes)
    flat = [
        json.loads(json.dumps(values), parse_float=lambda text: round(float(text), 4))
        for values in (report, again)
    ]
    other = _another(*flat)
    return other and f"it has another {other}"


def _foreign(data: Mapping[str, bytes], trust: Sequence[str]) -> list[str]:
    """Types of a plug-in that the model holds, and that nobody trusts: it is not opened."""
    with suppress(Exception):  # a damaged file: said below
        return foreign_types(data[files.STUDENT], trust)
    return []


def _student(
    directory: Path, data: Mapping[str, bytes], facts: Mapping[str, Any], trust: Sequence[str]
) -> str:
    if files.STUDENT not in data:  # a release may have none, and says so
        expected = files.RESULT not in data or json.loads(data[files.RESULT])["status"] == "ok"
        return "it was not read" if expected else ""
    student = read_student(data[files.STUDENT], directory / files.STUDENT, trust=trust)
    return "" if student.meta.get("certificate") == facts else "it is the student of another certificate"


def _charge(ledger: Ledger, facts: Mapping[str, Any]) -> str:
    paid = facts["ledger"]
    if paid["hash"] not in ledger.hashes:
        return (
            f"its entry {paid['entry']} is not in the ledger, which was put back to an older copy,"
            " shortened, rewritten or begun anew"
        )
    number = ledger.hashes.index(paid["hash"])
    entry = ledger.entries[number]
    certified = {"kind": "release", "entry": paid["entry"], "release": facts["release"]}
    certified |= {name: facts["guarantee"].get(name) for name in ("eps", "delta", "protects")}
    certified |= {name: facts[name] for name in ("time", "purpose")}
    other = _another({"protects": None, **entry.plain(), "entry": number, "release": entry.id}, certified)
    return other and f"it was charged with another {other} (eps={entry.eps:g}, delta={entry.delta:g})"


def _recorded(ledger: Ledger, facts: Mapping[str, Any], certificate: bytes) -> str:
    entries = ledger.entries
    notes = [entry.note for entry in entries if (entry.kind, entry.id) == ("certificate", facts["release"])]
    if not notes:
        return "none is on record"
    return "" if files.sha256(certificate) in notes else "another one is on record"
