"""The most accurate mechanism on average: `noisy_gd` in the functions that public points span."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pate_cli.errors import InfeasibleError
from pate_cli.mechanisms.direct import noisy_gd
from pate_cli.types import Setting

__all__ = ["Options", "calibrate"]


@dataclass(frozen=True)
class Options(noisy_gd.Options):
    """Those of `mechanism=noisy_gd`."""

    features_default = "kernel"


def calibrate(options: Options, setting: Setting) -> noisy_gd.NoisyGradientDescent:
    """Calibrate `noisy_gd` on kernel features."""
    if setting.features not in ("auto", "kernel"):
        accepted = "auto or kernel with mechanism=best; any with mechanism=noisy_gd"
        raise InfeasibleError(f"features: got {setting.features!r}; accepted: {accepted}")
    return noisy_gd.calibrate(options, replace(setting, features="kernel"))
