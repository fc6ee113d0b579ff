"""Files of the datasets known by name: checked, fetched and loaded.

A file that fails its check is never used and never replaced: the user is told which one to delete.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pate_cli.datasets.known_datasets import ENTRIES, KnownDataset, SourceFile, download_directory, find
from pate_cli.datasets.labels import Labels, classes_of
from pate_cli.datasets.libsvm import load_file
from pate_cli.datasets.reading import joint_digest
from pate_cli.datasets.three_files import LoadedFile
from pate_cli.errors import DataError
from pate_cli.terminal import err
from pate_cli.types import Dataset

__all__ = ["FileStatus", "Options", "VerifiedFile", "check", "joined", "load", "require", "status"]


class VerifiedFile(NamedTuple):
    """A file on this machine that passed its check, and the SHA-256 (hex) of its bytes."""

    path: Path
    sha256: str


@dataclass(frozen=True)
class FileStatus:
    """State of one file, for `pate data verify`: "ok", "missing", or "wrong" with its problem."""

    dataset: str
    file: str
    path: Path | None
    state: str
    detail: str = ""


@dataclass(frozen=True)
class Options:
    """No options."""


def load(name: str, options: Options) -> Dataset:
    """Load `mushroom`, `a9a` (training and test file joined) or `real-sim`, LIBSVM files."""
    read = partial(load_file, n_features=ENTRIES[name].n_features)
    return replace(joined(name, read), first_index=1)


def joined(name: str, read: Callable[[Path], LoadedFile]) -> Dataset:
    """Load all files of a known dataset; `read` reads one, with sparse features."""
    import scipy.sparse as sp

    entry = ENTRIES[name]
    files = [(file, read(file.path)) for file in require(entry)]
    for file, loaded in files:
        if loaded.checksum != file.sha256:
            raise DataError(f"{file.path}: has changed while it was read; start again")
    y = Labels.joined([loaded.labels for _, loaded in files])
    classes = classes_of(y, name, len(y.codes))
    return Dataset(
        name=name,
        X=sp.vstack([loaded.X for _, loaded in files], format="csr") if len(files) > 1 else files[0][1].X,
        y=y.among(classes, str),
        classes=classes,
        checksum=joint_digest([file.sha256 for file, _ in files]),
        source=f"{entry.source}: {', '.join(str(file.path) for file, _ in files)}",
    )


def check(dataset: str, file: SourceFile, path: Path) -> str:
    """Check one file against the published digest, or its content if none is; returns its SHA-256 (hex)."""
    import numpy as np

    try:
        with path.open("rb") as stream:
            checksum = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    problem = ""
    if file.sha256 is not None and checksum != file.sha256:
        problem = f"checksum of {path} is {checksum}, expected {file.sha256}"
    elif file.labels is not None:
        try:
            loaded = load_file(path)
        except DataError as error:
            problem = str(error)
        else:
            names, codes = loaded.labels.names, loaded.labels.codes
            counts = dict(zip(names, np.bincount(codes).tolist(), strict=True))
            if counts != file.labels or loaded.X.shape[1] != file.n_features:
                problem = (
                    f"{path} has {loaded.X.shape[1]} features and label counts {counts},"
                    f" expected {file.n_features} features and label counts {file.labels}"
                )
    if problem:
        raise DataError(f"{dataset}: {problem}; delete it and run `pate data fetch {dataset}`")
    return checksum


def require(entry: KnownDataset) -> list[VerifiedFile]:
    """Find and check every file of a dataset, and download those that are missing."""
    files = []
    for file in entry.files:
        form, path = find(file) or (file, None)
        if path is None:
            files.append(_download(entry.name, file, download_directory()))
        else:
            files.append(VerifiedFile(path, check(entry.name, form, path)))
    return files


def status(entry: KnownDataset) -> list[FileStatus]:
    """Check the files that a run would use; nothing is downloaded."""
    statuses = []
    for file in entry.files:
        form, path = find(file) or (file, None)
        state, problem = "missing" if path is None else "ok", ""
        try:
            if path is not None:
                check(entry.name, form, path)
        except DataError as error:
            state, problem = "wrong", str(error)
        statuses.append(FileStatus(entry.name, form.name, path, state, problem))
    return statuses


def _download(dataset: str, file: SourceFile, directory: Path) -> VerifiedFile:
    """Download into a hidden directory beside the target, check, then move into place in one step."""
    import pooch

    target = directory / file.name
    by_hand = f"nothing was kept; put the file at {target}, or do without a download: dataset=synthetic"
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
                file.url, known_hash=None, fname=file.name, path=part, progressbar=sys.stderr.isatty()
            )
            digest = check(dataset, file, Path(got))
        except OSError as error:  # every error of requests is one; its message runs over several lines
            code = getattr(getattr(error, "response", None), "status_code", None)
            reason = f"HTTP {code}" if code else error.strerror or type(error).__name__
            raise DataError(f"{dataset}: cannot download {file.url} ({reason}); {by_hand}") from None
        except DataError:
            digest = f" (SHA-256 {file.sha256})" if file.sha256 else ""
            raise DataError(f"{dataset}: {file.url} is not the expected file{digest}; {by_hand}") from None
        os.chmod(got, 0o644)  # pooch leaves it readable by its owner only; the place may be shared
        os.replace(got, target)
    return VerifiedFile(target, digest)
