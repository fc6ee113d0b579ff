"""Learn from private data through teachers, and say what it cost in privacy."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pate_cli.api import PateClassifier, Privacy, results, run

__all__ = ["PateClassifier", "Privacy", "__version__", "results", "run"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import the Python API on first use; the command line starts without it."""
    if name in __all__:
        from pate_cli import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
