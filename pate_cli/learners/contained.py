"""Code that is not ours, kept from ending the process and from changing the working directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

__all__ = ["contained"]


@contextmanager
def contained() -> Iterator[None]:
    """Raise RuntimeError for what would end the process, as `sys.exit`; restore the working directory.

    `os._exit` and a crash of compiled code end the process even so (docs/running.md).
    """
    here = None
    with suppress(OSError):  # it may have been removed
        here = os.getcwd()
    try:
        yield
    except BaseException as error:
        if isinstance(error, (Exception, KeyboardInterrupt)):
            raise
        raise RuntimeError(f"{type(error).__name__}: {error}") from error  # panics of Rust, too
    finally:
        if here is not None:
            with suppress(OSError):
                os.chdir(here)
