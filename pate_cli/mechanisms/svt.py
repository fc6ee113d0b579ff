"""`mechanism=svt`: the sparse vector technique with T from public numbers, a private estimate, or BTT18."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pate_cli.checks import Or, Real, Whole, option
from pate_cli.errors import ConfigError, InfeasibleError
from pate_cli.mechanisms import gaussian, private_cutoff
from pate_cli.mechanisms.base import Mechanism
from pate_cli.mechanisms.sparse_vector import CALIBRATION, stable_labels
from pate_cli.privacy.svt import printed_cutoff, printed_teachers
from pate_cli.types import Setting

__all__ = ["Options", "calibrate", "label"]


@dataclass(frozen=True)
class Options:
    """Options of `mechanism=svt`.

    `holdout` and `share` are of ``cutoff=private``; `alpha`, `gamma` and `beta` of ``cutoff=paper``.
    """

    calibration: str = option("tight", CALIBRATION)
    cutoff: int | str | None = option(
        "auto", Or("auto", Or("private", Or("paper", Whole(1), gives="paper"), gives="private"))
    )
    holdout: float = option(0.1, Real(0, 1, open_above=True))
    share: float = option(0.1, Real(0, 1, open_above=True))
    alpha: float = option(0.05, Real(0, 1, open_above=True))
    gamma: float = option(0.0, Real(0, 1, closed_below=True, open_above=True))
    beta: float = option(0.05, Real(0, 1, open_above=True))


def label(options: Options) -> str:
    """Name in tables; where T is private, teachers have fewer records."""
    return "svt_private" if options.cutoff == "private" else "svt"


def calibrate(options: Options, setting: Setting) -> Mechanism:
    """Calibrate for all public points; without privacy it is the exact majority."""
    s, o, T, K = setting, options, options.cutoff, setting.n_teachers
    if T == "paper" and o.calibration != "bassily2018":
        accepted = "auto, private or a whole number >= 1; paper with mechanism.calibration=bassily2018"
        raise ConfigError("mechanism.cutoff", T, accepted)
    if T == "private":
        return private_cutoff.calibrate(o.calibration, o.holdout, o.share, s)
    if math.isinf(s.eps):
        return gaussian.calibrate(gaussian.Options(), s)
    if isinstance(T, str):  # paper
        T, K = _as_printed(o, s)
    return stable_labels(
        *(s.eps, s.delta, s.n_public, K),
        rule=o.calibration,
        cutoff=T,
        n_records=s.n_private,
        n_classes=s.n_classes,
    )


def _as_printed(options: Options, setting: Setting) -> tuple[int, int]:
    """T and the number of teachers of BTT18, Theorem 3.2 and line 1 of Algorithm 2.

    T is rounded up, and at most m, with which no run stops early. Privacy rests on neither number.
    """
    s = setting
    T = min(s.n_public, math.ceil(printed_cutoff(options.gamma + options.alpha, s.n_public, options.beta)))
    teachers = math.ceil(printed_teachers(s.eps, s.delta, s.n_public, T, options.beta))
    if teachers > s.n_private:
        eps = math.ceil(100 * s.eps * teachers / s.n_private) / 100
        raise InfeasibleError(
            f"mechanism.cutoff=paper: BTT18 asks for {teachers:,} teachers at eps={s.eps:g}, T = {T},"
            f" and there are {s.n_private:,} private records; what would do: as many records,"
            f" eps={eps:g}, fewer public points, or mechanism.cutoff=auto"
        )
    return T, teachers
