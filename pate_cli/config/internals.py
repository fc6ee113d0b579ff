"""What is internal to Hydra and used here; nothing else imports it."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

__all__ = ["args_parser", "basic_launcher", "basic_sweeper", "hydra_class"]


def args_parser() -> ArgumentParser:
    """Make the parser of Hydra's command line."""
    from hydra._internal.utils import get_args_parser

    parser: ArgumentParser = get_args_parser()
    return parser


def basic_sweeper() -> Any:
    """Give the class of Hydra's own sweeper."""
    from hydra._internal.core_plugins.basic_sweeper import BasicSweeper

    return BasicSweeper


def basic_launcher() -> Any:
    """Give the class of Hydra's own launcher."""
    from hydra._internal.core_plugins.basic_launcher import BasicLauncher

    return BasicLauncher


def hydra_class() -> Any:
    """Give the class that composes and runs."""
    from hydra._internal.hydra import Hydra

    return Hydra
