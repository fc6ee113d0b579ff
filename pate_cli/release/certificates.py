"""Certificates of releases, which may be anybody's: their place, their version, and reading one."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from pate_cli.errors import DataError, shortened
from pate_cli.terminal import open_file

__all__ = [
    "ACCEPTED",
    "CERTIFICATE",
    "CERTIFICATE_VERSION",
    "MOST_TEXT",
    "made_of",
    "page_command",
    "read_certificate",
    "read_text",
]

Made = TypeVar("Made")

CERTIFICATE = "certificate.json"
"""Name of the file."""

CERTIFICATE_VERSION = 4
"""Version 2, which is read too, has no sizes of files. Version 1 had no hash of the ledger's entry."""

MOST_TEXT = 2**25
"""Most bytes of a file in JSON: parsed, it takes some twenty times as much."""

ACCEPTED = "accepted: the folder of a release"


def page_command(place: str | Path) -> list[str]:
    """The command that makes the card of a release: not among its files, nor in place of another page."""
    directory = Path(place).absolute()
    beside = ".." if directory == Path.cwd() else ""
    return ["pate", "page", str(place), "--output", str(Path(beside, f"{directory.name}.html"))]


def read_text(path: Path) -> bytes:
    """Content of a file in JSON; OSError, also for one that is too large."""
    with open_file(path) as file:
        content = file.read(MOST_TEXT + 1)
    if len(content) > MOST_TEXT:
        raise OSError(0, f"more than {MOST_TEXT:,} bytes")
    return content


def read_certificate(directory: Path) -> tuple[bytes, dict[str, Any], dict[str, dict[str, Any]]]:
    """Content of a release's certificate, its facts, and the size and hash of each other file.

    DataError, in one line, if there is none.
    """
    path = directory / CERTIFICATE
    try:
        names = os.listdir(directory)
    except OSError as error:
        raise DataError(f"{directory}: {error.strerror}; {ACCEPTED}") from None
    if path.name not in names:
        raise DataError(f"{directory}: no {path.name}{_unfinished(directory)}; {ACCEPTED}")
    try:
        content = read_text(path)
        facts = dict(json.loads(content, parse_constant=_no_number))
        version = facts["schema_version"]
        about = {
            name: entry if isinstance(entry, dict) else {"sha256": entry}  # in version 2
            for name, entry in facts.pop("files").items()
        }
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); {ACCEPTED}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise DataError(f"{path}: damaged; {ACCEPTED}") from None
    if version not in (accepted := (2, 3, CERTIFICATE_VERSION)):
        unknown = f"a certificate of version {shortened(repr(version))}"
        raise DataError(f"{path}: {unknown}; accepted: {', '.join(map(str, accepted))}")
    return content, facts, about


def _no_number(text: str) -> None:
    raise ValueError(text)  # NaN and Infinity, which JSON does not have


def made_of(directory: Path, make: Callable[[dict[str, Any]], Made]) -> Made:
    """Make something of the certificate of a release; DataError, in one line, if that lacks what it needs."""
    _, facts, about = read_certificate(directory)
    try:
        return make({**facts, "files": about})
    except (KeyError, ValueError, TypeError, AttributeError, IndexError, ArithmeticError):
        lacks = "its certificate lacks what a page says; accepted: one of pate"
        raise DataError(f"{directory}: {lacks}") from None


def _unfinished(directory: Path) -> str:
    """What the result of a release that did not come to its end says."""
    with suppress(Exception):
        result = json.loads(read_text(directory / "result.json"))
        if result["release"] is True:
            return f" (the release is {result['status']}: {shortened(result['message'])})"
    return ""
