"""Learn from private data through teachers, and say what it cost in privacy."""

__version__ = "0.1.0"
