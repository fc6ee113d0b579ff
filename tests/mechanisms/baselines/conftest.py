"""An interpreter that is none, for mechanisms that ask one with a library of its own."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def stand_in(tmp_path):
    """Make an interpreter that is none: it keeps what it is sent, and says what the test wants said."""

    def make(*answers, then="", code=0):
        """Give `answers` one after the other, bytes or arrays, and run shell commands after the first."""
        for count, answer in enumerate(answers):
            path = tmp_path / f"answer{count}"
            if isinstance(answer, bytes):
                path.write_bytes(answer)
            else:
                with path.open("wb") as file:
                    np.savez(file, **answer)
        python = tmp_path / "python"
        python.write_text(
            f'#!/bin/sh\ncd "{tmp_path}" && echo "$1" > option\n'
            "run=0; while [ -e sent$run ]; do run=$((run + 1)); done; cat > sent$run\n"
            f'[ $run = 0 ] || {{ cd "$OLDPWD"; {then or ":"}; cd "{tmp_path}"; }}\n'
            f"cat answer$run; [ $run = 0 ] || exit {code}\n"
        )
        python.chmod(0o755)
        return str(python)

    return make
