"""A release: charged to the ledger, then done with exact noise, then written as public files only.

Beside `pate_cli.engine.run_dir`, which does experiments. There is no seed and no measurement; an
unexpected error is reported by its type and place only, since a message may quote a record.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import signal
import traceback
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pate_cli import pipeline, terminal
from pate_cli.datasets.multiset import record_digests
from pate_cli.datasets.settled import points_of_persons
from pate_cli.errors import ConfigError, InputError
from pate_cli.plugins import PluginError, contained, named
from pate_cli.release import files
from pate_cli.release.card import Card
from pate_cli.release.exact_noise import ExactNoise
from pate_cli.release.ledger import Ledger, Protected, PublicRows, shown
from pate_cli.release.ledger_directory import LedgerDirectory, open_ledgers
from pate_cli.signals import held
from pate_cli.terminal import write_file
from pate_cli.threads import one_thread

if TYPE_CHECKING:
    from pate_cli.pipeline import Prepared
    from pate_cli.results.page import Report
    from pate_cli.types import PrivacyLoss

__all__ = ["release"]


def release(run: Prepared, raw: dict[str, Any], directory: Path) -> Report:
    """Claim the directory, charge the ledger, do the release and write its files; what is said of it.

    `raw` is the composed configuration. InputError if the release is refused: nothing is charged, and nothing
    is left behind. OSError says whether the ledger or a file cannot be written, RuntimeError that anything
    else went wrong; then the charge stays, and nothing is removed from `directory`.
    """
    _check_public(run)
    ExactNoise()
    ledgers = open_ledgers(run.config.ledger)
    ledger = ledgers.find(run.dataset.checksum, partial(record_digests, run.dataset))
    protects, streams = Protected.by(run.dataset), pipeline.Streams.fresh()
    ledger.check_protects(protects, run.whole.guarantee)
    run, public = _with_open_rows(run, ledger, streams)
    ledger.check_room(run.whole.guarantee)
    for warning in run.warnings:
        terminal.notice(warning)
    id = secrets.token_hex(8)
    result = files.record(run, raw, id)
    files.claim(directory, result)
    charged: list[Ledger] = []

    def charge(loss: PrivacyLoss) -> None:
        paid = ledgers.charge(
            ledger.fingerprint,
            loss,
            _note(run),
            id=id,
            public=public,
            purpose=run.config.purpose or "",
            protects=protects,
        )
        charged.append(paid)

    try:
        with one_thread(), contained():  # an exit of somebody's code may tell of a record
            released = pipeline.release(run, streams, ExactNoise, charge)
        content, result = files.contents(run, result, released, charged[0])
    except BaseException as error:
        if not charged and not _is_charged(ledgers, ledger.fingerprint, id):
            (directory / files.RESULT).unlink(missing_ok=True)
            raise
        _leave_unfinished(directory, result, error, charged=bool(charged))
        raise
    with held(signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # it is paid for, and writing takes no time
        unrecorded = _unrecorded(ledgers, ledger.fingerprint, id, content[files.CERTIFICATE])
        _write(directory, content, result)
    if unrecorded:
        raise OSError(
            0,
            f"{unrecorded}; the release is charged, and whole in {directory}, but pate verify"
            " will not find its certificate in the ledger",
        )
    if result["message"]:
        terminal.notice(result["message"])
    facts = json.loads(content[files.CERTIFICATE])
    (left, _), (total, _) = charged[0].left, charged[0].total
    card = Card(facts, str(_from_here(directory)))
    return card.report(f"Left in the ledger: eps {shown(left)} of {shown(total)}.")


def _with_open_rows(
    run: Prepared, ledger: Ledger, streams: pipeline.Streams
) -> tuple[Prepared, PublicRows | None]:
    """The run with the public rows of its ledger, which the first release draws; None with a public file."""
    dataset = run.dataset
    if dataset.public is not None:  # no row of the private file becomes public
        return run, None
    in_file = np.ones(dataset.n_records, dtype=bool) if dataset.labelled is None else dataset.labelled
    ledger.check_public(in_file, run.sizes.n_public)
    drawn = np.sort(streams.split.permutation(dataset.n_records)[: run.sizes.n_public])
    numbers = np.flatnonzero(in_file)
    public = ledger.public or PublicRows(len(in_file), tuple(numbers[drawn].tolist()))
    return replace(run, public_rows=np.searchsorted(numbers, public.rows)), public


def _leave_unfinished(
    directory: Path, result: dict[str, Any], error: BaseException, *, charged: bool
) -> None:
    """Record that a release on disk as charged was not finished; say why, but nothing that may be private.

    Raises nothing where `error` itself may be shown.
    """
    if not isinstance(error, Exception):  # Ctrl-C
        _leave(directory, result, "the release was ended; its budget is charged", "interrupted")
        return
    _leave(directory, result, "the release failed; its budget is charged")
    if not charged:  # by what says so itself
        return
    if isinstance(refusal := named(error, quoted=False), PluginError):
        raise InputError(f"the release failed: {refusal}; its budget is charged") from None
    place = traceback.extract_tb(error.__traceback__)[-1]
    problem = f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}"
    raise RuntimeError(
        f"the release failed: {problem}; its budget is charged (its message may be private)"
    ) from None


def _unrecorded(ledgers: LedgerDirectory, fingerprint: str, id: str, certificate: bytes) -> str:
    """Record the certificate in the ledger, before the files are written; why it could not be, or nothing."""
    try:
        ledgers.record(fingerprint, id, files.sha256(certificate))
    except InputError as error:
        return str(error)
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    return ""


def _is_charged(ledgers: LedgerDirectory, fingerprint: str, id: str) -> bool:
    """Whether a charge is on disk: it may be, though what wrote it did not come back."""
    with contextlib.suppress(InputError):
        return any(entry.id == id for entry in ledgers.read(fingerprint).entries)
    return False


def _from_here(directory: Path) -> Path:
    """A directory as somebody here types it."""
    return directory.relative_to(Path.cwd()) if directory.is_relative_to(Path.cwd()) else directory


def _check_public(run: Prepared) -> None:
    """Refuse a release that would publish something of the private file without the user's word."""
    dataset = run.dataset
    if dataset.public is None:
        if dataset.person_column is not None:
            raise points_of_persons(dataset.person_column)
        if not run.config.split.public_from_private:
            n, of = run.sizes.n_public, dataset.n_records
            raise InputError(
                "no public points: give dataset.public=FILE, or split.public_from_private=true, which"
                f" publishes the columns of {n:,} of your {of:,} records (eps protects the others)"
            )
    elif dataset.classes_from_private:
        accepted = "the labels there are, as [no,yes]: a release does not read them from the private file"
        raise ConfigError("dataset.classes", None, accepted)
    if dataset.width_from_private:
        accepted = "the number of columns, for a release publishes it: no private record may decide it"
        raise ConfigError("dataset.n_features", None, accepted)
    if dataset.test is not None:
        raise ConfigError("dataset.test", "a file", "null with release=true: nothing is measured")


def _note(run: Prepared) -> str:
    """Line on the release's ledger entry, for people."""
    queries, note = run.mechanism.asks_at_most, run.config.mechanism.label
    note += f", up to {queries} queries" if queries else ""
    return note + (f", {run.n_teachers} teachers" if run.n_teachers else "")


def _write(directory: Path, content: dict[str, bytes], result: dict[str, Any]) -> None:
    """Write the files, each whole or not at all, until one cannot be."""
    try:
        for name, data in content.items():
            write_file(directory / name, data, permissions=0o644)  # it is public
    except OSError as error:
        _leave(directory, result, "not all files could be written; the budget of the release is charged")
        reason = f"{error.strerror or error}; the release is charged, and incomplete in {directory}"
        raise OSError(error.errno, reason, error.filename) from error


def _leave(directory: Path, result: dict[str, Any], message: str, status: str = "error") -> None:
    """Record in `result.json` that a charged release was not finished."""
    with contextlib.suppress(OSError):
        content = files.to_json(result | {"status": status, "message": message})
        write_file(directory / files.RESULT, content, permissions=0o644)
