"""No private record decides a byte of a release, but through the door."""

import pytest
from neighbouring_files import RELEASES, unmoved

pytest.importorskip("opendp")


@pytest.mark.parametrize("release", RELEASES, ids=str)
def test_a_private_record_changes_nothing_but_what_passes_the_door(release):
    unmoved(release)
