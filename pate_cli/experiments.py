"""Recipes and their studies as a package, in the wheel and at the top of the checkout alike."""

from pate_cli.config.hydra_composition import packaged

__path__ = [str(packaged("experiments"))]
