"""What an interpreter that has a library of its own runs: a script's `answer` to the job on standard input.

It is run as a script, by itself: nothing of ours can be imported here. See `outside.answer`.
"""

from __future__ import annotations

import io
import os
import runpy
import sys

import numpy as np

__all__ = ["main"]


def main() -> None:
    """Answer on standard output, where a library may print nothing; the script is the first argument."""
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with np.load(io.BytesIO(sys.stdin.buffer.read()), allow_pickle=False) as job:
        found = runpy.run_path(sys.argv[1])["answer"](**job)
    whole = io.BytesIO()
    np.savez(whole, **found)
    with answer:
        answer.write(whole.getbuffer())


if __name__ == "__main__":
    main()
