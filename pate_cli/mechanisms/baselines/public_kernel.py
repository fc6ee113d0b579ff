r"""Learning in the functions that public points span: noisy gradients of all private records.

References
----------
.. [1] R. Bassily, A. Smith, A. Thakurta. Private empirical risk minimization. FOCS 2014.
.. [2] M. Abadi et al. Deep learning with differential privacy. CCS 2016 (clipping).
.. [3] J. Dong, A. Roth, W. Su. Gaussian differential privacy. JRSS-B 2022.
.. [4] D. Boehning. Multinomial logistic regression algorithm. Annals of the Institute of Statistical
   Mathematics 44, 1992 (a Hessian by blocks of classes).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from pate_cli.checks import OneOf, Or, Real, Whole, option
from pate_cli.mechanisms.baselines.gradients import (
    CLIPS,
    PersonGradients,
    Persons,
    RecordGradients,
    grain_for,
)
from pate_cli.mechanisms.baselines.public_features import (
    CONSTANT,
    FEW,
    MOST_DIRECTIONS,
    MOST_LANDMARKS,
    SHUFFLED,
    UNIT,
    PublicFeatures,
    model_bytes,
)
from pate_cli.mechanisms.baselines.public_model import PublicKernelClassifier, probabilities, speed_of
from pate_cli.mechanisms.protocol import NumbersTable, Plan, SampledAttack, no_answers
from pate_cli.privacy.discrete import calibrate_vector_sigma
from pate_cli.privacy.gaussian import calibrate_sigma, mu_of
from pate_cli.privacy.noise import Noise
from pate_cli.types import (
    FloatArray,
    Holdout,
    PrivacyLoss,
    Private,
    PrivateRecords,
    PublicPoints,
    Released,
    Setting,
)

__all__ = ["SOLVERS", "IntegerPublicKernelPlan", "Options", "PublicKernelPlan", "plan", "plan_public_kernel"]

SOLVERS = ("gd", "newton")

_STEPS = (20, 100)  # fewest and most steps of gradient descent
_MOMENTUM = 0.8  # a step goes on for 1/(1 - 0.8) = 5 steps in all
_LONGER = 2.0  # times as long, where more steps are asked for than are taken
_ENOUGH = 10  # steps of the rule that pay for directions, and for landmarks of shuffled columns
_FEWEST = 3  # directions at least
_SHARED = (2.0, 0.7)  # of several classes: factor and power of the time, for the directions it pays for
_TIME = 0.5  # of steps with momentum, in the rule for their number
_NEWTON_STEPS = 5
_SHRINK = 1e-4  # weight of |theta|^2/2 in Newton's steps
_MOST_PUBLIC = 2000  # public points that the curvature is an average over
_REACH = 64.0  # standard deviations of the noise that are whole numbers of 52 bits, too


@dataclass(frozen=True)
class Options:
    """Options of `mechanism=public_kernel`."""

    solver: Literal["gd", "newton"] = option("gd", OneOf(SOLVERS))
    steps: int | None = option("auto", Or("auto", Whole(1)))
    clip: float = option(0.5, Real(*CLIPS))


def plan(options: Options, setting: Setting) -> Plan:
    """Calibrate; see `plan_public_kernel`."""
    return plan_public_kernel(setting, solver=options.solver, steps=options.steps, clip=options.clip)


@dataclass(frozen=True)
class PublicKernelPlan(Plan):
    r"""Noisy gradient descent, or a few noisy Newton steps, on features made from public points.

    The model is ``argmax_c phi(x) . theta_c`` (for two classes the sign of ``phi(x) . theta``), with phi
    the public map of `PublicFeatures` and theta fitted to the logistic loss of the private records. In a
    step every record has the gradient ``phi_i r_i^T``, ``r_i = p(theta; x_i) - y_i``, of L2 norm
    ``|phi_i| |r_i|``; r_i is shrunk so that it is at most `clip`, and the sum gets N(0, sigma^2) noise
    on each coordinate.

    - ``solver = gd``: theta moves against the noisy mean gradient, with momentum (a sum over what was
      released, as theta is); the average of the second half of the steps is the model.
    - ``solver = newton``: theta moves by the noisy mean gradient times the inverse Hessian of the loss at
      theta, averaged over the *public* points: the Hessian has no labels in it.

    **Guarantee.** (eps, delta)-DP for neighbours that differ in one private record, replaced by another; n
    is public. Where records have units (`PrivateRecords.units`), for neighbours that differ in one person:
    all of a person's records, replaced by any others, as many or not; n, public, is then that of persons,
    and a record below is a person. *One step.* The map phi (columns, bounds, landmarks, width of the kernel,
    directions and their whitening, scale), the number of steps, their size, the clip and the public Hessian
    are functions of public points and public numbers, and of theta, which earlier steps released: none of
    them is another on a neighbour. What a step adds up has one term a record, of norm at most `clip`: phi_i
    is a vector of whole multiples of a unit, r_i is shrunk to ``|phi_i| |r_i| <= (1 - 1e-9) clip`` and
    truncated towards 0 to whole multiples of another. Products and their sums then are whole numbers below
    2^53, exact in floating point in whatever order they are added, so replacing a record takes exactly one
    such term out and puts another in: the sum moves by at most ``2 clip`` in L2, to the bit, with nothing
    assumed of the records but finite numbers. Rounding them to whole units costs no sensitivity, as it is
    towards 0 and of each record by itself. *Persons.* Of a person with several records the term is the sum
    of their gradients, not shrunk one by one: the sum is shrunk to ``(1 - 1e-9) clip`` and truncated towards
    0 to whole multiples of `grain`. It is a function of that person's records alone, to the bit
    (`PersonGradients`, which says how, and `PublicFeatures.apply`; assumed is that exp, square root and
    interpolation give the same bits for the same number wherever it stands in an array), so replacing all of
    them takes one such term out and puts another in: the same ``2 clip``. How many records there are in all
    is used nowhere. *All steps.* `steps` adaptive Gaussian mechanisms of that sensitivity are mu-GDP with
    ``mu = 2 clip sqrt(steps) / sigma`` ([3], Corollary 2), and (eps, delta)-DP by the exact profile (Balle
    and Wang 2018). The model is post-processing. The noise itself is a continuous draw in floating point
    here, as in every experiment.

    Attributes
    ----------
    eps, delta : float
    n, n_public, n_classes : int
        Private records, or persons; public points; classes.
    solver : {"gd", "newton"}
    clip : float
        Largest norm of a record's gradient, or of the sum of a person's.
    steps : int or None
        None for `steps_for`, which needs the number of features that the public points span.
    """

    eps: float
    delta: float
    n: int
    n_public: int
    n_classes: int
    solver: Literal["gd", "newton"]
    clip: float
    steps: int | None

    @property
    def guarantee(self) -> PrivacyLoss:
        """(eps, delta) for all steps."""
        if math.isinf(self.eps):
            return PrivacyLoss(math.inf, 0.0, "no noise")
        mu = mu_of(self.eps, self.delta)
        return PrivacyLoss(self.eps, self.delta, "exact Gaussian profile of noisy gradients", mu=mu)

    @property
    def n_teachers(self) -> int:
        """None."""
        return 0

    @property
    def protects_units(self) -> bool:
        """It does: a person's records are one term of a sum."""
        return True

    @property
    def columns(self) -> int:
        """Columns of theta: 1 for two classes, else one a class."""
        return 1 if self.n_classes == 2 else self.n_classes

    def describe(self) -> dict[str, Any]:
        """Its public numbers, and what was chosen by them, in words."""
        words = {name: f"{value}: {why}" for name, value, why in self.choices()}
        return {**asdict(self), "steps": self.steps or "auto", "sensitivity": 2 * self.clip, "choices": words}

    def numbers_table(self) -> NumbersTable:
        """Show what it chose, and why."""
        rows: list[tuple[Any, ...]] = [("guarantee", self.guarantee.how, ""), *self.choices()]
        caption = (
            "Numbers of features are known once the public points are: what depends on them is at most so."
        )
        return NumbersTable("What is chosen, from public numbers", ("", "value", "why"), rows, caption)

    def choices(self) -> list[tuple[str, str, str]]:
        """Say what is chosen from public numbers, and why: name, value and reason of each."""
        m = self.n_public
        columns = "ranks, or ranges of flags"
        kernel = (
            "kernel",
            "Gaussian, linear and splines",
            "bends of all columns, lines, and each number by itself",
        )
        if not self.bends:
            columns = "scaled by two ranks, or ranges of flags"
            kernel = ("kernel", "linear", f"{m} public points and {self.n} records do not pay for bends")
        if 1 < m < FEW:
            drawn, why = SHUFFLED, f"{m} public points are fewer than {FEW}: columns are shuffled for more"
        else:
            drawn, why = min(m, MOST_LANDMARKS), f"of {m} public points, at most {MOST_LANDMARKS}"
        p = min(drawn - 1, self.most_directions) + 1 if drawn > 1 else 1
        spanned = "directions of the kernel at the landmarks, and a constant"
        if self.most_directions < min(drawn - 1, MOST_DIRECTIONS):
            spanned += "; more would drown in the noise"
        time, steps = self._time(p), self.steps_for(p)
        gd = self.solver == "gd"
        if self.steps is not None:
            counted = "as asked for"
        elif gd:
            counted = f"{time:.3g} are where learning and noise balance, between {_STEPS[0]} and {_STEPS[1]}"
        else:
            counted = "with the Hessian of the public points, few do"
        size = f"{8 * speed_of(self.n_classes) * min(1.0, time / steps):.3g} / curvature"
        length = f"momentum {self.momentum_for(p):.3g}, from the time that the steps have to cover"
        return [
            ("columns", columns, f"learned from {m} public points; any record is bounded"),
            kernel,
            ("landmarks", str(drawn), why),
            ("features", f"at most {p}", spanned),
            ("steps", str(steps), counted),
            ("step size", size if gd else "Newton's", length if gd else "damped by the noise"),
            ("clip of a gradient", f"{self.clip:.4g}", "a share of its size before anything is learnt"),
            ("noise on a sum", f"{self.sigma_for(p):.4g}", "what the guarantee needs at so many steps"),
        ]

    @property
    def most_directions(self) -> int:
        """Directions that the noise leaves time for, those of the largest variance.

        For two classes those for which the rule asks for 10 steps. For several, each direction has a column
        of noise a class, and a class is seen in few records: no more than ``2 t^0.7``, t the steps that the
        rule asks for with one direction. Measured with 10, 26 and 50 classes (docs/frontier.md).
        """
        if not self.bends:  # all: few public points do not say which lines matter
            return MOST_DIRECTIONS
        time = self._time(1)
        paid = (time * math.sqrt(self.columns) / _ENOUGH) ** 2
        if self.columns > 1:
            factor, power = _SHARED
            paid = min(paid, factor * time**power)
        return int(min(max(paid, _FEWEST), MOST_DIRECTIONS))

    @property
    def bends(self) -> bool:
        """Whether the model may bend: few public points say little of it, unless noise leaves time for it."""
        return self.n_public >= FEW or self._time(SHUFFLED) >= _ENOUGH

    def steps_for(self, dimension: int) -> int:
        """Steps for so many features, from public numbers.

        Gradient descent: noise of N(0, sigma^2) in each of T steps is worth a signal of
        ``kappa = 2 sqrt(p q)/(mu n)`` in the mean gradient's unit, whatever T; a time of about ``2/kappa``
        in steps of one unit is where what is learnt and what is drowned balance. Momentum goes as far in
        a quarter of the steps; where these are more than 100, it goes on for longer (`momentum_for`).
        """
        if self.steps is not None:
            return self.steps
        if self.solver == "newton":
            return _NEWTON_STEPS
        fewest, most = _STEPS
        return math.ceil(min(max(self._time(dimension), fewest), most))

    def _time(self, dimension: int) -> float:
        """Steps that the rule asks for before it bounds them."""
        one = calibrate_sigma(self.eps, self.delta, 1, 2.0)
        drowned = one * math.sqrt(dimension * self.columns) / self.n
        return _TIME / (speed_of(self.n_classes) * drowned) if drowned else math.inf

    def momentum_for(self, dimension: int) -> float:
        """Share of a step that the next one repeats: a step goes on as far as the steps left out would."""
        if self.solver == "newton":
            return 0.0
        missed = self._time(dimension) / self.steps_for(dimension)
        return 1 - (1 - _MOMENTUM) / min(max(missed, 1.0), _LONGER)

    def sigma_for(self, dimension: int) -> float:
        """Standard deviation of the noise on a coordinate of the sum of gradients; 0 for eps = inf."""
        return calibrate_sigma(self.eps, self.delta, self.steps_for(dimension), 2 * self.clip)

    @property
    def grain(self) -> float:
        """Unit of the sums over records, a power of two: they and their noise are whole, or small, in it."""
        most = calibrate_sigma(self.eps, self.delta, self.steps or _STEPS[1], 2 * self.clip)
        return grain_for(max(self.n * self.clip, _REACH * most))

    def for_release(self, setting: Setting) -> Plan:
        """Calibrate for integer noise; see `IntegerPublicKernelPlan`."""
        return IntegerPublicKernelPlan(**vars(self))

    def model_bytes(self, n_features: int) -> int:
        """Room for the model; see `Plan`."""
        return model_bytes(self.n_public, n_features, self.columns)

    def release(
        self, private: Private, public: PublicPoints, noise: Noise, rng: np.random.Generator
    ) -> Released:
        """Learn from the private records; see `Plan`."""
        features, weights = self.fit(private.records, public, noise, rng)
        return Released(PublicKernelClassifier(features, weights[0]), no_answers(), self.guarantee)

    def fit(
        self,
        private: PrivateRecords,
        public: PublicPoints,
        noise: Noise,
        rng: np.random.Generator,
        runs: int = 1,
    ) -> tuple[PublicFeatures, FloatArray]:
        """Fit theta, in one run or in many with noise of their own, side by side, for an audit.

        Parameters
        ----------
        private : PrivateRecords
            Where there are fewer than `n` records, or persons, the others are taken to have no gradient.
        public : PublicPoints
        noise : Noise
        rng : numpy.random.Generator
            Draws landmarks, and nothing that privacy rests on.
        runs : int

        Returns
        -------
        features : PublicFeatures
        weights : ndarray of shape (runs, p, q)
            Of features as `PublicFeatures.apply` gives them, times `UNIT`; q is `columns`.
        """
        features = PublicFeatures.of(public.X, rng, straight=not self.bends, directions=self.most_directions)
        few = public.X if public.n_points <= _MOST_PUBLIC else public.X[:_MOST_PUBLIC]
        known = features.apply(few).astype(np.float64) * UNIT
        records = self._seen(features, private)
        sigma = self.sigma_for(features.dimension) / self.grain
        theta = np.zeros((runs, features.dimension, self.columns))
        total, counted = np.zeros_like(theta), 0
        steps = self.steps_for(features.dimension)
        move = self._descend(known) if self.solver == "gd" else self._newton(known)
        averaged = (steps + 1) // 2 if self.solver == "gd" else 1
        momentum = self.momentum_for(features.dimension)
        velocity = np.zeros_like(theta)
        for step in range(steps):
            gradient = records.gradient(theta)
            if sigma > 0:
                gradient += noise.gaussian(sigma, theta.size).reshape(theta.shape)
            gradient *= self.grain
            if self.columns > 1:  # exact gradients sum to 0 over classes
                gradient -= gradient.mean(axis=2, keepdims=True)
            velocity = momentum * velocity - move(gradient / self.n, theta)
            theta = theta + velocity
            if step >= steps - averaged:
                total += theta
                counted += 1
        return features, total / counted

    def _seen(self, features: PublicFeatures, private: PrivateRecords) -> RecordGradients | PersonGradients:
        given = {"clip": self.clip, "grain": self.grain}
        if private.units is None:
            return RecordGradients(features.apply(private.X), private.y, **given)
        seen = features.apply(private.X, anywhere=True)
        return PersonGradients(seen, private.y, Persons(private.units), **given)

    def _descend(self, known: FloatArray) -> Any:
        curvature = float(np.linalg.eigvalsh(known.T @ known / len(known))[-1])
        p = known.shape[1]
        # where the rule asks for fewer steps than are taken, they are shorter
        rate = 8 * speed_of(self.n_classes) / curvature * min(1.0, self._time(p) / self.steps_for(p))
        return lambda gradient, theta: rate * gradient

    def _newton(self, known: FloatArray) -> Any:
        p = known.shape[1]
        sigma = self.sigma_for(p)
        damping = 1e-3 + 0.3 * sigma * math.sqrt(p) / self.n

        def move(gradient: FloatArray, theta: FloatArray) -> FloatArray:
            shares = probabilities(known @ theta)
            shares *= 1 - shares
            hessian = np.einsum("rmc,mi,mj->rcij", shares, known, known, optimize=True) / len(known)
            hessian += damping * np.eye(p)
            down = np.swapaxes(gradient + _SHRINK * theta, 1, 2)[..., None]
            return np.swapaxes(np.linalg.solve(hessian, down)[..., 0], 1, 2)

        return move

    def attacks(self) -> list[SampledAttack]:
        """Put worst-case records to `fit` itself; see `Plan`."""
        from pate_cli.mechanisms.baselines.public_neighbours import attacks  # of plans of this class

        return [SampledAttack(name, sample, 20_000) for name, sample in attacks(self)]

    def attacks_on_persons(self) -> list[SampledAttack]:
        """Put persons with several records to `fit` itself; see `Plan`."""
        from pate_cli.mechanisms.baselines.public_neighbours import attacks_on_persons

        return [SampledAttack(name, sample, 10_000) for name, sample in attacks_on_persons(self)]

    def measure(self, model: Any, test: Holdout) -> dict[str, float]:
        """How many features and steps it took: public, both."""
        dimension = model.features.dimension
        return {"features": float(dimension), "steps": float(self.steps_for(dimension))}


@dataclass(frozen=True)
class IntegerPublicKernelPlan(PublicKernelPlan):
    """`PublicKernelPlan` for a release: the noise on a sum is N_Z(0, sigma^2) in units of `grain`.

    **Guarantee.** (eps, delta)-DP under the assumptions of `PublicKernelPlan`, and for the same neighbours.
    What a step adds up is a vector of integers, in units of `grain`, and replacing a record, or a person,
    moves it by at most ``2 clip / grain`` in L2, exactly: each is rounded by itself, towards 0. Integer
    noise of that sensitivity on all coordinates of all steps is (eps, delta)-DP by
    `pate_cli.privacy.discrete` (vectors of integers). Sum and noise are integers below 2^53 and exact; what
    is computed from their sum is post-processing.
    """

    @property
    def guarantee(self) -> PrivacyLoss:
        """(eps, delta) for all steps."""
        return PrivacyLoss(self.eps, self.delta, "Gaussian profile of integer noise on gradients")

    def describe(self) -> dict[str, Any]:
        """Its public numbers."""
        return super().describe() | {"integer_noise": True}

    def sigma_for(self, dimension: int) -> float:
        """Parameter of the noise on a coordinate, in the unit of the gradients."""
        steps, size = self.steps_for(dimension), dimension * self.columns
        sensitivity = 2 * self.clip / self.grain
        return self.grain * calibrate_vector_sigma(self.eps, self.delta, steps, sensitivity, size)


def plan_public_kernel(
    setting: Setting, *, solver: Literal["gd", "newton"], steps: int | None, clip: float
) -> PublicKernelPlan:
    """Choose the clip from public numbers.

    Parameters
    ----------
    setting : Setting
    solver : {"gd", "newton"}
    steps : int or None
        None for the rule of `PublicKernelPlan.steps_for`.
    clip : float
        Positive; as a share of the gradient's norm of a record whose features have norm 1, before anything
        is learnt.
    """
    s, n_classes = setting, setting.n_classes
    size = math.hypot(1.0, CONSTANT) * (0.5 if n_classes == 2 else math.sqrt(1 - 1 / n_classes))
    return PublicKernelPlan(s.eps, s.delta, s.n_private, s.n_public, n_classes, solver, clip * size, steps)
