"""Releases of files of numbers, as of tables: no private record decides what is written, said or refused."""

from __future__ import annotations

import pytest

from pate_cli.testing.release_checks import Release, unmoved

pytest.importorskip("opendp")


@pytest.mark.parametrize("public_file", [True, False])
@pytest.mark.parametrize("format", ["npz", "libsvm"])
def test_a_private_record_changes_nothing_of_a_release_but_by_the_door(format, public_file):
    unmoved(Release("gaussian", public_file=public_file, format=format))
