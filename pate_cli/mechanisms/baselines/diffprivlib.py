"""The private logistic regression of IBM's `diffprivlib`: a reference that others maintain.

It needs an older scikit-learn than ours, so it runs in an environment of its own; see `outside`.

References
----------
.. [1] K. Chaudhuri, C. Monteleoni, A. Sarwate. Differentially private empirical risk minimization.
   JMLR 12, 2011.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pate_cli.checks import Or, Real, Text, option
from pate_cli.errors import InfeasibleError
from pate_cli.mechanisms.baselines import diffprivlib_child, outside
from pate_cli.mechanisms.baselines.features import Scaling, clip_rows, linear_model
from pate_cli.mechanisms.baselines.neighbours import attacks_on
from pate_cli.mechanisms.baselines.perturbation import plan_objective, problems
from pate_cli.mechanisms.protocol import Plan, SampledAttack, no_answers
from pate_cli.privacy.noise import Noise
from pate_cli.types import (
    FloatArray,
    IntArray,
    PrivacyLoss,
    Private,
    PublicPoints,
    Released,
    Setting,
    dense,
)

__all__ = ["DiffprivlibPlan", "Options", "plan"]

_VERSION = "0.6.6"
_RECIPE = (
    f"python -m venv DIR && DIR/bin/pip install diffprivlib=={_VERSION} 'scikit-learn<1.8' 'scipy<1.18',"
    " and then mechanism.python=DIR/bin/python"
)
_SLOPE = 1e-6
"""Of the sum of losses and noise, at which the library may stop; it does too where that no longer falls."""

_STEPS = 10_000
_TRIAL = {"X": ((1.0,), (0.5,)), "y": (0, 1), "eps": 1.0, "C": 1.0, "n_classes": 2, "seeds": (0,)}
_TRIAL |= {"tolerance": 1e-6, "steps": 100}
"""A job of two made-up records, for the trial of an interpreter."""

_GAP = 1e-2
"""Norm by which the noise may differ from the one whose minimiser is released; a record's pull is 1."""

_MOST = 50_000_000
"""Most numbers of private records that are written out and sent, for a library that takes no sparse ones."""


@dataclass(frozen=True)
class DiffprivlibPlan(Plan):
    """Objective perturbation (Chaudhuri, Monteleoni, Sarwate 2011, Algorithm 2), as `diffprivlib` does it.

    **Guarantee.** (eps, 0)-DP for neighbours that differ in one private record, replaced by another; n is
    public (Theorem 9 of [1]_; the proof is told on `ObjectivePlan`). The library's calibration is for these
    neighbours: it draws b with density proportional to ``exp(-eps' |b| / (2 R))`` for records of norm R,
    whose gradients are that long at most, so a replaced one moves b by 2 R. Nothing is converted. For C > 2
    classes each of C problems, a class against the rest, gets eps/C. All of that holds as we call it, not
    however it is called. Three things in its source (0.6.6) are against its proof, the first and the last
    against its guarantee as well, as can be measured (docs/comparing.md); they are kept out of the way:

    - For the Jacobian it charges ``2 ln(1 + R/(4 alpha))``, alpha the inverse of the library's C. The Hessian
      of a record of norm R is ``R^2/4``, so that is ``2 ln(1 + R^2/(4 alpha))``: too little for R > 1. Here
      records are clipped to norm 1 by us, after scaling by public points, and R is 1.
    - Its intercept is not regularised, so the objective that the proof needs strongly convex is not, and R is
      above 1. Here it has no intercept; it gets a constant column, within the unit ball and regularised.
    - It finds the classes in the private labels, and leaves one that is missing out or ends in an error. Here
      one record of zeros of each class, which has no gradient, is added to any private set.

    Like `objective_perturbation` it is a theorem about the exact minimiser. Each fit is checked: the noise
    that the library drew is drawn again, and the released weights are the exact minimiser for another noise
    at most 0.01 away, where a record's pull is 1; else nothing is released. That gap (below 1e-4 at 30,000
    records of 100 columns) is outside the theorem.

    **Assumed.** That the library does what its source says (0.6.6 was read), with its pseudo-random generator
    as noise. It cannot be released.

    Attributes
    ----------
    eps : float
        Of the whole.
    n, n_classes : int
    C : float
        Inverse of the regularisation of the sum of losses.
    python : str
        The interpreter that has the library.
    """

    eps: float
    n: int
    n_classes: int
    C: float
    python: str

    @property
    def guarantee(self) -> PrivacyLoss:
        """(eps, 0)."""
        if math.isinf(self.eps):
            return PrivacyLoss(math.inf, 0.0, "no noise")
        return PrivacyLoss(self.eps, 0.0, "objective perturbation, of diffprivlib")

    @property
    def n_teachers(self) -> int:
        """None."""
        return 0

    def describe(self) -> dict[str, Any]:
        """Its public numbers."""
        return {**asdict(self), "delta": 0.0}

    def release(
        self, private: Private, public: PublicPoints, noise: Noise, rng: np.random.Generator
    ) -> Released:
        """Fit on the private records; see `Plan`."""
        records = private.records
        scaling = Scaling.of(public.X)
        found = self.weights(scaling.apply(records.X), records.y, noise)[0]
        by_class = np.vstack([np.zeros_like(found), found]) if self.n_classes == 2 else found
        return Released(linear_model(by_class, scaling), no_answers(), self.guarantee)

    def weights(self, Z: Any, y: IntArray, noise: Noise, runs: int = 1) -> FloatArray:
        """Let the library fit, all runs in one child.

        Parameters
        ----------
        Z : array or csr_matrix of shape (rows, d)
            Scaled records, of any norm.
        y : ndarray of int64, shape (rows,)
        noise : Noise
            Gives the seeds of the library's noise.
        runs : int

        Returns
        -------
        ndarray of shape (runs, problems, d)

        Raises
        ------
        InputError
            If the child ends without them.
        RuntimeError
            If they are not the minimiser that the proof is about.
        """
        rows = dense(clip_rows(Z))
        seeds = np.floor(np.exp(-noise.exponential(1.0, runs)) * 2**32)  # uniform
        job = {
            "X": np.vstack([rows, np.zeros((self.n_classes, rows.shape[1]))]),
            "y": np.concatenate([y, np.arange(self.n_classes)]),
            "seeds": np.minimum(seeds, 2**32 - 1).astype(np.uint32),
            "eps": self.eps,
            "C": self.C,
            "n_classes": self.n_classes,
            "tolerance": _SLOPE / (len(y) + self.n_classes),
            "steps": _STEPS,
        }
        found = outside.answer(self.python, diffprivlib_child, job)
        gap = float(outside.checked(self.python, found, "gap", ()))
        if gap > _GAP:
            raise RuntimeError("diffprivlib's weights are not the minimiser of its objective: not released")
        shape = (runs, problems(self.n_classes), rows.shape[1])
        return outside.checked(self.python, found, "weights", shape)

    def attacks(self) -> list[SampledAttack]:
        """Put worst-case records to the library itself; see `Plan`.

        A fit takes milliseconds, so runs are few. Its weights have the law of those of `ObjectivePlan` with
        the same regularisation (`tests/mechanisms/baselines/test_diffprivlib.py`), which is attacked in
        many more.
        """
        return attacks_on(self.weights, 400)


@dataclass(frozen=True)
class Options:
    """Options of `mechanism=diffprivlib`; the default of C is the library's."""

    python: str | None = option(None, Or("null", Text("the path of an interpreter that has diffprivlib")))
    C: float | None = option(1.0, Or("auto", Real(0)))


def plan(options: Options, setting: Setting) -> Plan:
    """Try the interpreter, and find C.

    Raises
    ------
    InputError
        If the interpreter does not have the library, or these are more numbers than should be written out.
    """
    numbers, rows = setting.n_private * setting.n_features, setting.n_private + setting.n_classes
    if numbers > _MOST:
        raise InfeasibleError(
            f"mechanism=diffprivlib takes no sparse records, and {setting.n_private:,} x "
            f"{setting.n_features:,} is more than {_MOST:,} numbers; what would do: fewer columns"
        )
    C = options.C or 1 / (rows * plan_objective(setting, None).regularisation)
    python = outside.interpreter(options.python, diffprivlib_child, _TRIAL, _VERSION, _RECIPE)
    return DiffprivlibPlan(setting.eps, setting.n_private, setting.n_classes, C, python)
