"""How many threads the libraries that are loaded compute with: BLAS, OpenMP."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import Any

__all__ = ["one_thread"]


def one_thread(user_api: str | None = None) -> Any:
    """One thread within this, of one interface ("openmp") or all: the same sums in the same order."""
    return _libraries(len(sys.modules)).limit(limits=1, user_api=user_api)


@lru_cache(maxsize=1)
def _libraries(n_modules: int) -> Any:
    """Libraries with threads; looked for again, which takes 7 ms, only when a module came with more."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
