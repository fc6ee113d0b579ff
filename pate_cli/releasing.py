"""Doing a release: the ledger first, then the pipeline, then public files and nothing else.

Beside `pate_cli.execution`, which does experiments. No seed, no record of a failed run,
no measurement; an unexpected error is told by its kind and place only, since a message
may quote a record.
"""

from __future__ import annotations

import tempfile
import traceback
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pate_cli import console, results
from pate_cli.errors import InputError
from pate_cli.release import ExactNoise, ReleaseContent, open_ledgers, public_config, write_release

if TYPE_CHECKING:
    from pate_cli.pipeline import Prepared, Released
    from pate_cli.types import PrivacyLoss

__all__ = ["check_room", "release"]


def check_room(run: Prepared) -> None:
    """Refuse, before anything is done or written, a release that cannot be paid for.

    Raises
    ------
    InputError
        If OpenDP is not installed, there is no ledger, or not enough is left in it.
    """
    ExactNoise()
    ledgers = open_ledgers(run.config.ledger)
    ledgers.read(ledgers.fingerprint(run.dataset.checksum)).check_room(run.plan.guarantee)


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
        If it is refused, or a file cannot be written.
    RuntimeError
        If anything else goes wrong; what was charged stays charged.
    """
    from threadpoolctl import threadpool_limits

    from pate_cli import pipeline

    check_room(run)
    ledgers = open_ledgers(run.config.ledger)
    queries = run.plan.describe()["ell"]
    note = f"{run.config.mechanism.label}, up to {queries} queries, {run.n_teachers} teachers"

    def charge(loss: PrivacyLoss) -> None:
        ledgers.reserve(ledgers.fingerprint(run.dataset.checksum), loss, note)

    try:
        with threadpool_limits(limits=1):
            released = pipeline.release(run, pipeline.Streams.fresh(), ExactNoise, charge)
        write_release(directory, _content(run, raw, released))
    except (InputError, OSError):
        raise
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        problem = f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}"
        raise RuntimeError(f"the release failed: {problem} (its message may be private)") from None
    if released.problem:
        console.err().print(f"pate: no student: {released.problem}", markup=False, soft_wrap=True)


def _content(run: Prepared, raw: dict[str, Any], released: Released) -> ReleaseContent:
    config = public_config(raw)
    if released.public.rows is None:
        raise RuntimeError("a split that does not know its rows")
    return ReleaseContent(
        dataset=run.dataset.name,
        mechanism=run.config.mechanism.label,
        config=results.plain(config),
        config_hash=results.config_hash(config),
        sizes={
            "n_records": run.dataset.n_records,
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
        student=None if released.student is None else _saved(run, released),
        problem=released.problem,
        versions=results.versions() | {"opendp": metadata.version("opendp")},
    )


def _saved(run: Prepared, released: Released) -> bytes:
    """Give the bytes of the student's file."""
    from pate_cli.students import save_student

    guarantee = run.plan.guarantee
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "student.skops"
        save_student(
            path,
            released.student,
            classes=run.dataset.classes,
            n_features=getattr(released.student, "n_features_in_", run.dataset.n_features),
            encoder=released.encoder,
            meta={"dataset": run.dataset.name, "eps": guarantee.eps, "delta": guarantee.delta},
        )
        return path.read_bytes()
