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
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pate_cli.checks import OneOf, Or, Real, Whole, option
from pate_cli.mechanisms.baselines.gradients import CLIPS, PersonGradients, Persons, RecordGradients
from pate_cli.mechanisms.baselines.public_descent import Descent, Learned, Move, has_more_right
from pate_cli.mechanisms.baselines.public_distances import WeighedDistances
from pate_cli.mechanisms.baselines.public_features import CONSTANT, UNIT, PublicFeatures
from pate_cli.mechanisms.baselines.public_lines import (
    Features,
    Position,
    PublicLines,
    lines_beside,
    straightened,
)
from pate_cli.mechanisms.baselines.public_model import PublicKernelClassifier, probabilities, speed_of
from pate_cli.mechanisms.baselines.public_relevance import carried, column_weights, weighs_columns
from pate_cli.mechanisms.baselines.public_rules import PublicKernelRules
from pate_cli.mechanisms.protocol import Plan, SampledAttack, no_answers
from pate_cli.privacy.door import Door
from pate_cli.privacy.gaussian import mu_of
from pate_cli.privacy.integer import vector_mu, vector_sigma
from pate_cli.privacy.noise import Noise, SeededNoise
from pate_cli.types import (
    FloatArray,
    Holdout,
    PrivacyLoss,
    Private,
    PrivateRecords,
    PublicPoints,
    Released,
    Setting,
    dense,
)

__all__ = ["SOLVERS", "IntegerPublicKernelPlan", "Options", "PublicKernelPlan", "plan", "plan_public_kernel"]

SOLVERS = ("gd", "newton")

_SHRINK = 1e-4  # weight of |theta|^2/2 in Newton's steps
_FLATTEST = 1e-3  # of the largest curvature: no direction is taken to be flatter
_OF_NUMBERS = 0.1  # of a step in columns that are not rare words: the noise of all is in every record
_OF_NOISE = 8  # models of noise that the weights of columns are held against
_MOST_PUBLIC = 2000  # public points that the curvature is an average over, and lines are fitted at


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
class PublicKernelPlan(PublicKernelRules):
    r"""Noisy gradient descent, or a few noisy Newton steps, on features made from public points.

    The model is ``argmax_c phi(x) . theta_c`` (for two classes the sign of ``phi(x) . theta``), with phi
    the public map of `PublicFeatures` and theta fitted to the logistic loss of the private records. In a
    step every record has the gradient ``phi_i r_i^T``, ``r_i = p(theta; x_i) - y_i``, of L2 norm
    ``|phi_i| |r_i|``; r_i is shrunk so that it is at most `clip`, and the sum gets N(0, sigma^2) noise
    on each coordinate.

    - ``solver = gd``: theta moves against the noisy mean gradient, with momentum (a sum over what was
      released, as theta is); the average of the second half of the steps is the model, turned to that of
      fewer or all of them as the released gradients say (`Averages`, post-processing).
      Where columns are numbers, or more than public points span, and the noise leaves room for it
      (`chooses`), it may be lines that go on (`lines_beside`): after a third of the steps it is asked which
      has more private records right, the model or the lines that are nearest to it (`straightened`), of
      several classes after a few steps of their own (`lines_for`). Where columns are more than public points
      span no model of theirs is near all lines, so these are learned beside it for that third. If it is the
      model that bends, or flags leave no choice, what it has released after those steps says which columns of
      a dense table it bends along (`column_weights`), and it goes on with distances weighed by that, from the
      same function (`carried`).
    - ``solver = newton``: theta moves by the noisy mean gradient times the inverse Hessian of the loss at
      theta, averaged over the *public* points: the Hessian has no labels in it.

    **Guarantee.** (eps, delta)-DP for neighbours that differ in one private record, replaced by another; n
    is public. Where records have units (`PrivateRecords.units`), for neighbours that differ in one person:
    all of a person's records, replaced by any others, as many or not; n, public, is then that of persons, and
    a record below is a person. *One step.* The map phi (columns, bounds, landmarks, width of the kernel,
    directions and their whitening, bins, scale), the number of steps, their size, the clip and the public
    Hessian, the weights of columns, and the lines nearest to a model, are functions of public points and
    public numbers, of a seed, and of theta, which earlier steps released: given these, none of them is
    another on a neighbour. What a step adds up has one term a record, of norm at most `clip`: phi_i is a
    vector of whole multiples of a unit, r_i is shrunk to ``|phi_i| |r_i| <= (1 - 1e-9) clip`` and truncated
    to whole multiples of another. Products and their sums then are whole numbers below 2^53, exact in
    floating point in whatever order they are added, so replacing a record takes exactly one such term out and
    puts another in: the sum moves by at most ``2 clip`` in L2, to the bit, with nothing assumed of the
    records but finite numbers. Rounding them to whole units costs no sensitivity, as it is towards 0 and of
    each record by itself. *Persons.* Of a person with several records the term is the sum of their gradients,
    not shrunk one by one: the sum is shrunk to ``(1 - 1e-9) clip`` and truncated towards 0 to whole multiples
    of `grain`. It is a function of that person's records alone, to the bit (`PersonGradients`, which says
    how, and `PublicFeatures.apply`; assumed is that exp, square root and interpolation give the same bits for
    the same number wherever it stands in an array), so replacing all of them takes one such term out and puts
    another in: the same ``2 clip``. How many records there are in all is used nowhere. *The choice.* A record
    that only one of two models has right adds its clip to a sum, or takes it off; a person the mean of that
    over its records, a function of them alone, truncated as above: the sum moves by at most ``2 clip``, and
    is asked for with the noise of a step, some times over. Whether there is a choice follows from public
    numbers and points. *All steps.* `rounds_for` adaptive Gaussian mechanisms of that sensitivity (steps,
    those of lines not chosen, and questions) are mu-GDP with ``mu = 2 clip sqrt(rounds) / sigma`` ([3],
    Corollary 2), and (eps, delta)-DP by the exact profile (Balle and Wang 2018). The model is
    post-processing. The noise itself is a continuous draw in floating point here, as in every experiment.

    Attributes
    ----------
    eps, delta : float
    n, n_public, n_classes : int
        Private records, or persons; public points; classes.
    solver : {"gd", "newton"}
    clip : float
        Largest norm of a record's gradient, or of the sum of a person's.
    steps : int or None
        Of the model; None for `steps_for`, which needs the number of features that the public points span.
    n_features : int
        Columns of a record.
    """

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

    def for_release(self, setting: Setting) -> Plan:
        """Calibrate for integer noise; see `IntegerPublicKernelPlan`."""
        return IntegerPublicKernelPlan(**vars(self))

    def release(
        self, private: Private, public: PublicPoints, door: Door, rng: np.random.Generator
    ) -> Released:
        """Learn from the private records; see `Plan`."""
        noise: Any = getattr(door, "noise", door)
        learned = self.fit(private.records, public, noise, rng)
        which = int(learned.chosen[0])
        steps = self.steps_for(learned.features[0].dimension)
        model = PublicKernelClassifier(learned.features[which], learned.weights[which][0], steps)
        return Released(model, no_answers(), self.guarantee)

    def fit(
        self,
        private: PrivateRecords,
        public: PublicPoints,
        noise: Noise,
        rng: np.random.Generator,
        runs: int = 1,
    ) -> Learned:
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
        """
        bent = PublicFeatures.of(
            public.X,
            rng,
            straight=not self.bends,
            directions=self.most_directions,
            fewest=self.fewest_in_bin,
        )
        lines = lines_beside(bent, public.X, rng, self.fewest_in_bin) if self.chooses else None
        features: list[Features] = [bent] if lines is None else [bent, lines]
        steps = self.steps_for(bent.dimension)
        learned = isinstance(lines, PublicLines)
        sigma = self.sigma_for(*(each.dimension for each in features), learned=learned) / self.grain
        descents = [self._descent(bent, private, public, steps, runs)]
        chosen, tried = np.zeros(runs, dtype=np.int64), 0
        if self.chooses:
            tried, asked = self.trial_for(steps)
            descents[0].take_steps(tried, (tried + 1) // 2, sigma, noise)
            if lines is not None:
                start = None
                if isinstance(lines, PublicFeatures):
                    start = straightened(bent, lines, _some_of(public), descents[0].position)
                descents.append(self._descent(lines, private, public, steps, runs, start))
                before = self.lines_for(tried, learned=learned)
                if before:
                    descents[1].take_steps(before, (before + 1) // 2, sigma, noise)
                chosen = has_more_right(descents[0], descents[1], asked, sigma, noise)
        averaged = (steps + 1) // 2 if self.solver == "gd" else 1
        if self.chooses and runs == 1 and not chosen[0] and weighs_columns(bent):
            weighed = self._weighed(bent, descents[0], tried, sigma, rng)
            was, known = (each.directions_of(bent.landmarks) for each in (bent, weighed))
            theta, last, weights = (carried(was, known, each) for each in descents[0].position)
            chosen[0] = len(descents)
            for descent in descents:
                descent.forget_records()
            features.append(weighed)
            descents.append(self._descent(weighed, private, public, steps, runs, (theta, last, weights)))
        for which, descent in enumerate(descents):
            descent.take_steps(
                steps - tried, averaged, sigma, noise, chosen == which, fitted=self.solver == "gd"
            )
        found, sums = zip(*((descent.weights, descent.sums) for descent in descents), strict=True)
        return Learned(tuple(features), found, chosen, sums)

    def _weighed(
        self, bent: PublicFeatures, released: Descent, steps: int, sigma: float, rng: np.random.Generator
    ) -> PublicFeatures:
        """Weigh columns by what so many steps have released; what noise alone would have is simulated."""
        noise = SeededNoise(np.random.SeedSequence(int(rng.integers(2**63))))  # simulated: it hides nothing
        silent = released.of_noise_alone(_OF_NOISE)
        silent.take_steps(steps, (steps + 1) // 2, sigma, noise)
        weights = column_weights(bent, released.weights[0], silent.weights)
        return bent.spanned_by(WeighedDistances.of(bent.landmarks, weights))

    def _descent(
        self,
        features: Features,
        private: PrivateRecords,
        public: PublicPoints,
        steps: int,
        runs: int,
        start: Position | None = None,
    ) -> Descent:
        known = features.apply(_some_of(public)).astype(np.float64) * UNIT
        if self.solver == "newton":
            move = self._newton(known)
        else:
            in_columns = isinstance(features, PublicLines)
            move = (self._descend_in_columns if in_columns else self._descend)(known, steps)
        momentum = self.momentum_for(features.dimension, steps)
        shape = (runs, features.dimension, self.columns)
        records = self._seen(features, private)
        return Descent(records, shape, move=move, momentum=momentum, grain=self.grain, n=self.n, start=start)

    def _seen(self, features: Features, private: PrivateRecords) -> RecordGradients | PersonGradients:
        given = {"clip": self.clip, "grain": self.grain}
        if private.units is None:
            return RecordGradients(features.apply(private.X), private.y, **given)
        seen = features.apply(private.X, anywhere=True)
        return PersonGradients(seen, private.y, Persons(private.units), **given)

    def _descend(self, known: Any, steps: int) -> Move:
        curvature = float(np.linalg.eigvalsh(known.T @ known / len(known))[-1])
        rate = self._speed(known.shape[1], steps) / curvature
        return lambda gradient, theta: rate * gradient

    def _descend_in_columns(self, known: Any, steps: int) -> Move:
        """The same where directions are many and about as flat, but for the one that all records share."""
        values, vectors = np.linalg.eigh(dense(known @ known.T) / known.shape[0])
        first, rest = values[-1], values[-2:][0]
        shared = np.asarray(known.T @ vectors[:, -1]) / math.sqrt(known.shape[0] * first)
        rest = max(rest, _FLATTEST * first)
        rate = (
            self._speed(known.shape[1], steps) / rest * (_OF_NUMBERS if isinstance(known, np.ndarray) else 1)
        )

        def move(gradient: FloatArray, theta: FloatArray) -> FloatArray:
            along = np.einsum("p,rpq->rq", shared, gradient)[:, None]
            step: FloatArray = rate * (gradient - (1 - rest / first) * shared[:, None] * along)
            return step

        return move

    def _speed(self, dimension: int, steps: int) -> float:
        """Size of a step, of curvature 1: where the rule asks for fewer than are taken, they are shorter."""
        return 8 * speed_of(self.n_classes) * min(1.0, self.time_for(dimension) / steps)

    def _newton(self, known: FloatArray) -> Move:
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
        """How many features and steps it took, and whether lines alone were chosen: public, all three."""
        features = model.features
        return {
            "features": float(features.dimension),
            "steps": float(model.steps),
            "lines": float(getattr(features, "smooth", 0.0) == 0),
        }


@dataclass(frozen=True)
class IntegerPublicKernelPlan(PublicKernelPlan):
    """`PublicKernelPlan` for a release: the noise on a sum is N_Z(0, sigma^2) in units of `grain`.

    **Guarantee.** (eps, delta)-DP under the assumptions of `PublicKernelPlan`, and for the same neighbours.
    What a step adds up is a vector of integers, in units of `grain`, and replacing a record, or a person,
    moves it by at most ``2 clip / grain`` in L2, exactly: each is rounded by itself, towards 0. Integer
    noise of that sensitivity on all coordinates of all steps is (eps, delta)-DP by
    `pate_cli.privacy.integer` (vectors of integers). Sum and noise are integers below 2^53 and exact; what
    is computed from their sum is post-processing.
    """

    @property
    def guarantee(self) -> PrivacyLoss:
        """(eps, delta) for all steps."""
        return PrivacyLoss(self.eps, self.delta, "Gaussian profile of integer noise on gradients")

    def describe(self) -> dict[str, Any]:
        """Its public numbers."""
        return super().describe() | {"integer_noise": True}

    def sigma_for(self, dimension: int, lines: int = 0, *, learned: bool = False) -> float:
        """Parameter of the noise on a coordinate, in the unit of the gradients."""
        rounds = self.rounds_for(dimension, chosen=lines > 0, learned=learned)
        size = max(dimension, lines) * self.columns
        sensitivity = 2 * self.clip / self.grain
        mu = vector_mu(self.eps, self.delta, rounds * size)
        return self.grain * vector_sigma(sensitivity * math.sqrt(rounds), mu)


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
    return PublicKernelPlan(
        s.eps, s.delta, s.n_private, s.n_public, n_classes, solver, clip * size, steps, s.n_features
    )


def _some_of(public: PublicPoints) -> Any:
    """Take public points from all over the table, at most `_MOST_PUBLIC`: it may be sorted."""
    return public.X[:: -(-public.n_points // _MOST_PUBLIC)]
