"""LNMax: noise by hand, what its report depends on, its audit."""

import math
from dataclasses import replace

import numpy as np
import pytest

from pate_cli import mechanisms
from pate_cli.audit import audit
from pate_cli.errors import InputError
from pate_cli.privacy.composition import log_pure_profile
from pate_cli.privacy.door import Door
from pate_cli.types import Setting, Votes

EPS, DELTA, M, K = 1.0, 1e-5, 60, 500


def calibrate(n_classes=2, eps=EPS):
    learner = ("logistic", {})
    setting = Setting(eps, DELTA, 5000, M, 20, 4, n_classes, K, False, learner, learner, "drop")
    return mechanisms.calibrate("lnmax", {}, setting)


def test_noise_is_calibrated_by_hand():
    """One query is 1/scale-DP of two classes, 2/scale-DP of more; all of them together (eps, delta)-DP."""
    two, four = calibrate(), calibrate(4)
    assert four.scale == pytest.approx(2 * two.scale)
    assert log_pure_profile(EPS, 1 / two.scale, M) == pytest.approx(math.log(DELTA), abs=1e-6)
    with pytest.raises(InputError, match="eps: got inf; accepted: a finite number with mechanism=lnmax"):
        calibrate(eps=math.inf)


def test_what_is_published_does_not_depend_on_votes():
    doors = [Door.seeded(0) for _ in range(2)]
    sessions = [calibrate().session(door) for door in doors]
    for session, least in zip(sessions, (0, K // 3), strict=True):
        session.ask(Votes(np.tile([least, K - least], (M, 1)), K))
    assert doors[0].spent == doors[1].spent
    assert calibrate().after(doors[0].spent).eps == pytest.approx(EPS)
    exact = [session.not_private()["eps_data_dependent"] for session in sessions]
    assert exact[0] < exact[1] <= EPS


@pytest.mark.parametrize("n_classes", [2, 3])
def test_audit_passes_and_catches_a_ninth_of_the_noise(n_classes):
    plan = calibrate(n_classes)
    sure = {"runs": 8000, "confidence": 1 - 1e-6, "seed": 1}  # false alarm 1e-6
    assert max(f.bound for f in audit(plan, plan.attacks(), **sure)) <= EPS
    broken = replace(plan, scale=plan.scale / 9)
    assert max(f.bound for f in audit(broken, plan.attacks(), **sure)) > EPS
