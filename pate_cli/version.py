"""The version of the package."""

__all__ = ["VERSION"]

VERSION = "1.0.0"
