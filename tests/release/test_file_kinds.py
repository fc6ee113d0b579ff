"""Releases of files of numbers, as of tables: no private record decides what is written, said or refused."""

from __future__ import annotations

import signal

import pytest

from pate_cli import pipeline
from pate_cli.testing import CheckFailed
from pate_cli.testing.release_checks import Release, unlike, unmoved
from pate_cli.testing.unlike import WAYS

pytest.importorskip("opendp")


@pytest.mark.parametrize(
    ("format", "points", "half"),
    [
        *[("npz", "one file", 0), ("npz", "two files", 1), ("libsvm", "one file", 1)],
        *[("libsvm", "two files", 0), ("jsonl", "two files", 0), ("parquet", "two files", 1)],
    ],
)
def test_a_private_record_changes_nothing_of_a_release_but_by_the_door(format, points, half):
    """Of records of other kinds each comes in one and in two files, as numbers and as a table."""
    if format == "parquet":
        pytest.importorskip("pyarrow")
    release = Release("gaussian", points=points, format=format)
    unmoved(release)
    for way in list(WAYS)[half::2]:
        unlike(release, way)


def test_a_release_that_is_ended_from_outside_is_not_one_that_differs(monkeypatch):
    """As by a broad `pkill` on a shared machine: its files are others, and why is said."""
    release = Release("gaussian")
    assert release.first[0].code == 0
    monkeypatch.setattr(pipeline, "release", lambda *_: signal.raise_signal(signal.SIGTERM))
    with pytest.raises(CheckFailed, match=r"^the same records: no release: pate: terminated$"):
        release.again("the same records", release.records)
