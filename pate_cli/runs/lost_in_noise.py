"""What public numbers tell before a budget is spent: whether noise leaves anything of votes or scores."""

from __future__ import annotations

import math
from typing import Any

from pate_cli import mechanisms
from pate_cli.mechanisms.signal import LEAST_SIGNAL, signal_of
from pate_cli.privacy.gaussian import mu_of
from pate_cli.types import Setting

__all__ = ["lost_in_noise"]

_STEP, _STEPS = 1.05, 300  # of the records and eps that are tried: to some two million times as much


def lost_in_noise(config: Any, setting: Setting, mechanism: Any) -> str | None:
    """Warn of a run that cannot work, with what would do; None where it may, or nothing is known."""
    signal, s = mechanism.signal, setting
    if signal is None or signal >= LEAST_SIGNAL or math.isinf(s.eps):
        return None
    K, C = mechanism.n_teachers, s.n_classes
    loose = signal / signal_of(mu_of(s.eps, s.delta), K, C)  # below 1 where a published rule has more noise

    def enough(n: float, eps: float, n_classes: int) -> bool:
        mu = loose * mu_of(eps, s.delta)
        return signal_of(mu, _teachers(config, s, int(n), eps, n_classes), n_classes) >= LEAST_SIGNAL

    steps = [_STEP**k for k in range(1, _STEPS)]
    enough_records = next(
        (s.n_private * step for step in steps if enough(s.n_private * step, s.eps, C)), None
    )
    larger = next((s.eps * step for step in steps if enough(s.n_private, s.eps * step, C)), None)
    fewer = next((c for c in range(C - 1, 1, -1) if enough(s.n_private, s.eps, c)), None)
    ways = [f"{_two_digits(enough_records):,} private records"] if enough_records else []
    ways += [f"eps={_two_digits(1000 * larger) / 1000:g}"] if larger else []
    ways += [f"at most {fewer} classes"] if fewer else []
    if other := mechanism.better(s):
        teachers = mechanisms.read(other, {}).auto_count(s.n_private, C, s.eps, s.delta)
        by_other = signal_of(mu_of(s.eps, s.delta), teachers, C)
        ways += [f"mechanism={other}"] if by_other >= LEAST_SIGNAL else []
    return (
        f"noise of standard deviation {mechanism.sigma:.3g} drowns what {K:,} teachers say of {C} classes "
        f"(signal to noise {signal:.2g}; below {LEAST_SIGNAL:g} nothing was learned wherever it was tried); "
        f"needed: {' or '.join(ways)}"
    )


def _teachers(config: Any, setting: Setting, n: int, eps: float, n_classes: int) -> int:
    """Number of teachers, had the run so many private records, such an eps, or so many classes."""
    t = config.teacher
    if t.auto_count:
        return int(config.mechanism.options.auto_count(n, n_classes, eps, setting.delta))
    return int(t.count or n // t.size)


def _two_digits(n: float) -> int:
    """Round up to two digits."""
    unit = 10 ** max(int(math.log10(n)) - 1, 0)
    return int(math.ceil(n / unit) * unit)
