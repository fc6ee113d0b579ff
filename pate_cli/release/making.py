"""Doing a release: the ledger first, then the pipeline, then public files and nothing else.

Beside `pate_cli.engine.execution`, which does experiments. No seed, no record of a failed run,
no measurement; an unexpected error is told by its kind and place only, since a message
may quote a record.
"""

from __future__ import annotations

import tempfile
import traceback
from collections.abc import Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pate_cli import console, pipeline, report
from pate_cli.errors import ConfigError, InputError
from pate_cli.release import (
    Entry,
    ExactNoise,
    PublicRows,
    ReleaseContent,
    check_disk,
    needed_bytes,
    open_ledgers,
    public_config,
    write_release,
)
from pate_cli.release.certificate import Charge, facts
from pate_cli.students import save_student

if TYPE_CHECKING:
    from pate_cli.pipeline import Prepared, Publication
    from pate_cli.types import PrivacyLoss

__all__ = ["check_room", "release"]


def check_room(run: Prepared) -> None:
    """Refuse, before anything is done or written, a release that cannot be paid for.

    Raises
    ------
    InputError
        If OpenDP is not installed, there is no ledger, not enough is left in it, or its public points
        are others.
    """
    _check_public(run)
    ExactNoise()
    ledgers = open_ledgers(run.config.ledger)
    ledger = ledgers.read(ledgers.fingerprint(run.dataset.checksum))
    if run.dataset.public is None:
        ledger.check_public(run.dataset.n_records, run.sizes.n_public)
    ledger.check_room(run.plan.guarantee)


def release(run: Prepared, raw: dict[str, Any], directory: Path) -> None:
    """Charge the ledger, do the release and write its files.

    Parameters
    ----------
    run : Prepared
    raw : dict
        The composed configuration.
    directory : Path
        Where the files go.

    Raises
    ------
    InputError, OSError
        If it is refused, or a file cannot be written; then the answers are kept elsewhere if they can be.
    RuntimeError
        If anything else goes wrong; what was charged stays charged.
    """
    from threadpoolctl import threadpool_limits

    check_room(run)
    n_features = run.dataset.n_features
    room = (run.sizes.n_public, run.dataset.classes, n_features, run.plan.model_bytes(n_features))
    check_disk(directory, needed_bytes(*room))
    ledgers = open_ledgers(run.config.ledger)
    fingerprint = ledgers.fingerprint(run.dataset.checksum)
    ledger = ledgers.read(fingerprint)
    queries, note = run.plan.describe().get("ell"), run.config.mechanism.label
    note += f", up to {queries} queries" if queries else ""
    note += f", {run.n_teachers} teachers" if run.n_teachers else ""
    if ledger.unrecorded:
        _say(f"ledger of {ledger.name}: {ledger.unrecorded_note}")
    for remark in run.remarks:
        _say(remark)
    streams = pipeline.Streams.fresh()
    if run.dataset.public is None:
        public = ledger.public if ledger.public and ledger.public.rows else _draw_public(run, streams.split)
        run = replace(run, public_rows=np.array(public.rows, dtype=np.int64))
        _say(_what_becomes_public(run))
    else:  # no row of the private file is open by this
        public = PublicRows(run.dataset.n_records, ())
    paid: list[Entry] = []

    def charge(loss: PrivacyLoss) -> None:
        paid.append(ledgers.reserve(fingerprint, loss, note, public, run.config.purpose or ""))

    spare = [ledgers.path, Path(tempfile.gettempdir())]
    try:
        with threadpool_limits(limits=1):
            released = pipeline.release(run, streams, ExactNoise, charge)
        (entry,) = paid
        number, code = ledgers.place_of(fingerprint, entry.id)
        charged = Charge(
            entry.id, entry.time, entry.purpose, fingerprint, number, code, ledger.unrecorded_note
        )
        content = _content(run, raw, released, charged, [spare[1], directory, spare[0]])
        certificate = write_release(directory, content, ledgers.key.read(), spare)
    except (InputError, OSError):
        raise
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        problem = f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}"
        if paid:
            problem += "; its budget is charged"
        raise RuntimeError(f"the release failed: {problem} (its message may be private)") from None
    try:
        ledgers.written(fingerprint, entry.id, certificate)
    except OSError as error:  # the release is whole; only `pate verify` will miss it
        _say(f"{error.filename}: {error.strerror}: it is not on record that the files were written")
    if content.problem:
        _say(f"no student: {content.problem}")


def _check_public(run: Prepared) -> None:
    """Refuse a release that would publish something of the private file without the user's word."""
    dataset = run.dataset
    if dataset.public is None:
        if dataset.unit is not None:
            accepted = f"a file of public points, with release=true and dataset.unit={dataset.unit}"
            raise ConfigError("dataset.public", None, accepted)
        if not run.config.split.public_from_private:
            accepted = (
                f"true, as {_what_becomes_public(run)}; or dataset.public=FILE, public points of their own"
            )
            raise ConfigError("split.public_from_private", False, accepted)
    elif dataset.classes_from_private:
        accepted = "the labels there are, as [no,yes]: a release does not read them from the private file"
        raise ConfigError("dataset.classes", None, accepted)
    if dataset.test is not None:
        raise ConfigError("dataset.test", "a file", "null with release=true: nothing is measured")


def _what_becomes_public(run: Prepared) -> str:
    return (
        f"the features of {run.sizes.n_public:,} of the {run.dataset.n_records:,} records of"
        f" {run.dataset.name} become public, by their row numbers and in the student (categories,"
        " means, ranges), and so do the names of the classes; eps and delta protect the other records"
    )


def _say(text: str) -> None:
    console.err().print(f"pate: {text}", markup=False, soft_wrap=True)


def _draw_public(run: Prepared, rng: np.random.Generator) -> PublicRows:
    """Draw the public points of a ledger's first release, from public numbers and the system's entropy."""
    n_records = run.dataset.n_records
    drawn = rng.permutation(n_records)[: run.sizes.n_public]
    return PublicRows(n_records, tuple(np.sort(drawn).tolist()))


def _content(
    run: Prepared, raw: dict[str, Any], released: Publication, charge: Charge, work: Sequence[Path]
) -> ReleaseContent:
    """Put together what is released; `work` are directories for a file on the way."""
    config = public_config(raw)
    if released.public.rows is None:
        raise RuntimeError("a split that does not know its rows")
    n_records = run.dataset.n_records if run.dataset.unit is None else None  # of persons, it is private
    columns = getattr(run.dataset.X, "columns", None)
    content = ReleaseContent(
        dataset=run.dataset.name,
        mechanism=run.config.mechanism.label,
        config=report.plain(config),
        config_hash=report.config_hash(config),
        sizes={
            "n_records": n_records,
            "n_private": run.sizes.n_private,
            "n_public": run.sizes.n_public,
            "n_test": run.sizes.n_test,
            "n_features": run.dataset.n_features,
            "n_classes": run.dataset.n_classes,
            "budget": run.sizes.budget,
        },
        n_teachers=run.n_teachers,
        plan=run.plan.describe(),
        guarantee=run.plan.guarantee,
        ex_post=released.ex_post,
        classes=run.dataset.classes,
        rows=released.public.rows,
        answers=released.answers,
        student=None,
        problem=released.problem,
        versions=report.versions() | {"opendp": metadata.version("opendp")},
        charge=charge,
        protects=(run.protects, run.protects.partition(";")[0]),
        columns=None if columns is None else [str(name) for name in columns],
        schema=_schema(run),
        public_file=run.dataset.public is not None,
    )
    if released.student is None:
        return content
    student = _saved(run, released, facts(content), work)
    return replace(content, student=student, problem=None if student else "no directory has room to write it")


def _schema(run: Prepared) -> dict[str, Any] | None:
    """What the columns that are used hold, as a YAML file of a schema says it; None without a schema."""
    schema = getattr(run.dataset.encoder, "schema", None)
    if schema is None:
        return None
    return {name: column.plain() for name, column in schema.columns.items() if column.kind != "ignored"}


def _saved(
    run: Prepared, released: Publication, certified: dict[str, Any], work: Sequence[Path]
) -> bytes | None:
    """Give the bytes of the student's file, made in the first directory with room; None without one."""
    guarantee = run.plan.guarantee
    meta = {"dataset": run.dataset.name, "eps": guarantee.eps, "delta": guarantee.delta}
    for place in work:
        try:
            with tempfile.TemporaryDirectory(dir=place) as directory:
                path = Path(directory) / "student.skops"
                save_student(
                    path,
                    released.student,
                    classes=run.dataset.classes,
                    n_features=getattr(released.student, "n_features_in_", run.dataset.n_features),
                    encoder=released.encoder,
                    meta=meta | {"certificate": certified},
                )
                return path.read_bytes()
        except (ConfigError, OSError):
            continue
    return None
