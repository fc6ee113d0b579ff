"""Where data files live, how they are fetched, and whether they are what they claim to be.

A file is looked for in the directory `PATE_DATA` names, then in `./data`, then
in the user's cache. A file that fails its check is never used and never
replaced: the user is told which one to delete.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pate_cli.console import err
from pate_cli.datasets.libsvm import read_libsvm
from pate_cli.datasets.registry import Entry, SourceFile
from pate_cli.errors import ConfigError, DataError, InputError

__all__ = [
    "FileStatus",
    "Found",
    "check",
    "download_directory",
    "find",
    "joint_digest",
    "require",
    "sha256",
    "status",
]


@dataclass(frozen=True)
class Found:
    """A file on this machine that passed its check.

    Attributes
    ----------
    path : Path
    sha256 : str
        Digest of its bytes (hex).
    """

    path: Path
    sha256: str

    def check(self, digest: str) -> None:
        """Refuse what was read if its digest is another one.

        Raises
        ------
        DataError
        """
        if digest != self.sha256:
            raise DataError(f"{self.path}: has changed while it was read; start again")


@dataclass(frozen=True)
class FileStatus:
    """What `pate data verify` says of one file."""

    dataset: str
    file: str
    path: Path | None
    state: Literal["ok", "missing", "wrong"]
    detail: str = ""


def _named_directory() -> Path | None:
    value = os.environ.get("PATE_DATA")
    if not value:
        return None
    path = Path(value).expanduser()
    if path.exists() and not path.is_dir():
        raise ConfigError("PATE_DATA", value, "a directory")
    return path


def _cache() -> Path:
    import pooch

    return Path(pooch.os_cache("pate"))


def find(file: SourceFile) -> tuple[SourceFile, Path] | None:
    """First place that holds the file, or its accepted other form.

    Returns
    -------
    tuple of (SourceFile, Path) or None
        Which form was found, and where.
    """
    named = _named_directory()
    forms = [file.instead, file] if file.instead else [file]
    for directory in [*([named] if named else []), Path("data"), _cache()]:
        for form in forms:
            if (directory / form.name).is_file():
                return form, directory / form.name
    return None


def download_directory() -> Path:
    """`PATE_DATA` if set, else `./data` if it exists, else the user's cache."""
    named = _named_directory()
    if named is not None:
        return named
    return Path("data") if Path("data").is_dir() else _cache()


def sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, hex.

    Raises
    ------
    DataError
        If there is no such file or it cannot be read.
    """
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None


def joint_digest(digests: list[str]) -> str:
    """One checksum for a dataset: that of its file, or of its files' digests in order."""
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()


def check(dataset: str, file: SourceFile, path: Path) -> str:
    """Check one file against what is published of it.

    Returns
    -------
    str
        Its SHA-256 (hex).

    Raises
    ------
    DataError
        If it is not the official file.
    """
    found = sha256(path)
    mend = f"delete it and run `pate data fetch {dataset}`"
    if file.sha256 is not None and found != file.sha256:
        raise DataError(f"{dataset}: checksum of {path} is {found}, expected {file.sha256}; {mend}")
    if file.labels is not None:
        problem = _content_problem(file, path)
        if problem:
            raise DataError(f"{dataset}: {problem}; {mend}")
    return found


def _content_problem(file: SourceFile, path: Path) -> str:
    import numpy as np

    try:
        X, y = read_libsvm(path)
    except DataError as error:
        return str(error)
    labels, counts = np.unique(y, return_counts=True)
    found = dict(zip(labels.tolist(), counts.tolist(), strict=True))
    if found == file.labels and X.shape[1] == file.n_features:
        return ""

    def say(labels: object, n_features: int | None) -> str:
        return f"{n_features} features and label counts {labels}"

    return f"{path} has {say(found, X.shape[1])}, expected {say(file.labels, file.n_features)}"


def require(entry: Entry) -> list[Found]:
    """Every file of a dataset, checked; what is missing is downloaded.

    Raises
    ------
    DataError
        If a file fails its check, or is missing and cannot be downloaded.
    """
    return [_have(entry, file) for file in entry.files]


def status(entry: Entry) -> list[FileStatus]:
    """Re-check the files a run would use; nothing is downloaded."""
    found = []
    for file in entry.files:
        present = find(file)
        if present is None:
            found.append(FileStatus(entry.name, file.name, None, "missing"))
            continue
        form, path = present
        try:
            check(entry.name, form, path)
        except DataError as error:
            found.append(FileStatus(entry.name, form.name, path, "wrong", str(error)))
        else:
            found.append(FileStatus(entry.name, form.name, path, "ok"))
    return found


def _have(entry: Entry, file: SourceFile) -> Found:
    present = find(file)
    if present is not None:
        form, path = present
        return Found(path, check(entry.name, form, path))
    return _download(entry.name, file, download_directory())


def _download(dataset: str, file: SourceFile, directory: Path) -> Found:
    """Download into a hidden directory beside the target, check, then move into place in one step."""
    import pooch

    target = directory / file.name
    by_hand = f"put the file at {target}, or do without a download: dataset=synthetic"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        scratch = tempfile.TemporaryDirectory(dir=directory, prefix=".fetch-")
    except OSError as error:
        raise DataError(
            f"{dataset}: cannot write to {directory} ({error.strerror}) to download {file.url};"
            " set PATE_DATA to a directory that can be written, or use dataset=synthetic"
        ) from None
    pooch.get_logger().setLevel("WARNING")  # it recommends hashes for files that have none
    err().print(f"fetching {file.url} -> {target}", soft_wrap=True, markup=False)
    with scratch as part:
        try:
            got = pooch.retrieve(
                file.url,
                known_hash=file.sha256 and f"sha256:{file.sha256}",
                fname=file.name,
                path=part,
                progressbar=sys.stderr.isatty(),
            )
        except ValueError:
            raise DataError(
                f"{dataset}: what {file.url} serves does not have the SHA-256 {file.sha256},"
                f" nothing was kept; {by_hand}"
            ) from None
        except OSError as error:  # every requests error is one
            raise DataError(f"{dataset}: cannot download {file.url} ({_reason(error)}); {by_hand}") from None
        try:
            digest = check(dataset, file, Path(got))
        except InputError:
            raise DataError(
                f"{dataset}: what {file.url} serves is not the expected file, nothing was kept; {by_hand}"
            ) from None
        os.chmod(got, 0o644)  # pooch leaves it readable by its owner only; the place may be shared
        os.replace(got, target)
    return Found(target, digest)


def _reason(error: OSError) -> str:
    """Say it in a few words; the messages of requests run over several lines."""
    import requests

    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"HTTP {error.response.status_code}"
    if isinstance(error, requests.Timeout):
        return "timed out"
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "the connection broke off"
    if isinstance(error, requests.ConnectionError):
        return "no connection"
    return error.strerror or type(error).__name__
