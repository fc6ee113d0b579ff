"""Learn from private data through teachers, and say what it cost in privacy."""

from typing import TYPE_CHECKING, Any

from pate_cli.version import VERSION as __version__

if TYPE_CHECKING:
    from pate_cli.api import PateClassifier, Privacy, run

__all__ = ["PateClassifier", "Privacy", "__version__", "results", "run"]


def __getattr__(name: str) -> Any:
    """Import the Python API on first use; the command line starts without it."""
    if name in __all__:
        from importlib import import_module

        return (
            import_module("pate_cli.results")
            if name == "results"
            else getattr(import_module("pate_cli.api"), name)
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
