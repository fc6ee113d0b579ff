"""The differentially private logistic regression of `diffprivlib`, to compare with; see `DpLogistic`.

References
----------
.. [1] K. Chaudhuri, C. Monteleoni, A. D. Sarwate. Differentially private empirical risk minimization. JMLR
   12, 2011, Algorithm 2.
"""

from __future__ import annotations

import io
import math
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from pate_cli.checks import Text, option
from pate_cli.errors import ConfigError, InputError
from pate_cli.matrices import dense
from pate_cli.mechanisms.base import UNPROVED, Mechanism, no_answers
from pate_cli.mechanisms.options import MechanismOptions
from pate_cli.privacy.door import Door
from pate_cli.privacy.events import Account
from pate_cli.types import PrivacyLoss, Private, PublicPoints, Released, Setting

from .peer import Peer


@dataclass(frozen=True)
class Options(MechanismOptions):
    """Options of `mechanism=dp_logistic`; those of the library are its defaults."""

    python: str = option("python3", Text())


def calibrate(options: Options, setting: Setting) -> Mechanism:
    """Refuse a run without the package, or without privacy."""
    if math.isinf(setting.eps):
        raise ConfigError("eps", setting.eps, "a finite number: mechanism=dp_logistic always adds noise")
    try:
        subprocess.run([options.python, "-c", "import diffprivlib"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise InputError(
            "mechanism=dp_logistic needs a Python with diffprivlib, which scikit-learn 1.9 does not suit: "
            "pip install diffprivlib elsewhere; mechanism.python=PATH"
        ) from error
    return DpLogistic(setting.eps, setting.delta, options.python, setting.n_classes)


@dataclass(frozen=True)
class DpLogistic(Peer):
    """Logistic regression whose loss has a random linear term [1]_, of each class against the others.

    **Guarantee, on the library's word.** (eps, 0)-DP for neighbours that differ in one private record,
    replaced by another, as in [1]_. The library draws the noise itself, outside the door: neither the check
    after a run nor any proof here covers it, and `loss` returns this claim.

    **Assumed.** That diffprivlib does what its source says (0.6.6 was read), with its pseudo-random
    generator. Public: n, and the scale of columns and the norm to which records are clipped, both of public
    points. There is a record of each class. The classifier is for experiments: a release is refused.
    """

    python: str
    n_classes: int

    @property
    def guarantee(self) -> PrivacyLoss:
        """(eps, 0), claimed."""
        return PrivacyLoss(self.eps, 0.0, "claim of diffprivlib: not counted by the door")

    def loss(self, spent: Account) -> PrivacyLoss:
        """Return the library's claim: nothing passes the door."""
        return self.guarantee if spent.only() else UNPROVED

    def release(
        self, private: Private, public: PublicPoints, door: Door, rng: np.random.Generator
    ) -> Released:
        """Let the library fit, in columns of public mean 0 and deviation 1; see `Mechanism`."""
        X, of, records = io.BytesIO(), dense(public.X), private.records
        mean, scale = of.mean(axis=0), np.where(np.ptp(of, axis=0) > 0, of.std(axis=0), 1.0)
        norm, seed = math.sqrt(of.shape[1]), int(rng.integers(2**31))  # the norm of a usual point
        np.savez(X, X=(dense(records.X) - mean) / scale, y=records.y, eps=self.eps, norm=norm, seed=seed)
        argv = [self.python, str(Path(__file__).with_name("dp_logistic_fit.py"))]
        done = subprocess.run(argv, input=X.getvalue(), check=True, stdout=subprocess.PIPE)
        fitted, model = np.load(io.BytesIO(done.stdout)), LogisticRegression()
        model.coef_ = fitted["coef"] / scale  # for the columns as they are
        model.intercept_ = fitted["intercept"] - model.coef_ @ mean
        model.classes_ = np.arange(self.n_classes)
        return Released(model, no_answers())
