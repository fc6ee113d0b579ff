"""Code that is not ours, kept from ending the process and from changing the working directory."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

__all__ = ["contained"]


@contextmanager
def contained() -> Iterator[None]:
    """Raise RuntimeError for what would end the process, as `sys.exit`; restore the working directory.

    A crash of compiled code ends the process even so (docs/running.md).
    """
    here = None
    with suppress(OSError):  # it may have been removed
        here = os.getcwd()
    end, ours = os._exit, (os.getpid(), threading.get_ident())

    def refuse(status: int) -> NoReturn:
        if (os.getpid(), threading.get_ident()) == ours:
            raise SystemExit(f"os._exit({status})")
        end(status)  # of a process that the code has forked, or of another thread

    os._exit = refuse
    try:
        yield
    except BaseException as error:
        if isinstance(error, (Exception, KeyboardInterrupt)):
            raise
        raise RuntimeError(f"{type(error).__name__}: {error}") from error  # panics of Rust, too
    finally:
        os._exit = end
        if here is not None:
            with suppress(OSError):
                os.chdir(here)
