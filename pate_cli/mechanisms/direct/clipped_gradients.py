"""Noisy gradient descent on sums of clipped gradients, one term a person, in whole numbers; its attacks.

Each term is a function of that person's records alone, to the bit (see `rows`), and a vector of whole
numbers, so sums are exact.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from pate_cli.features.classifiers import probabilities
from pate_cli.features.stable_rows import UNIT, by_row, row_squares, to_integers
from pate_cli.matrices import dense
from pate_cli.mechanisms.base import Mechanism, SampledAttack, no_answers
from pate_cli.privacy.door import Door
from pate_cli.privacy.kinds import GaussianNoise
from pate_cli.types import FloatArray, IntArray, PrivateRecords, PublicPoints, Released

__all__ = ["CLIPS", "LINE", "ClippedGradients", "PersonSums", "grain_for", "noisy_descent"]

CLIPS = (1e-100, 1e100)
"""Range of accepted clips: products with them neither overflow nor lose bits."""

_RESIDUAL_BITS = 20  # most of a residual
_SUM_BITS = 52  # most of a sum over all records
_MARGIN = 1 - 1e-9  # of the clip: more than all rounding on the way to it
_ROWS = 1024  # records in a block: they stay in the processor's cache
_SPARSE_ROWS = 2**15
_NUMBERS = 2**20  # in a block of persons, about
_LAG, _SURE = 0.5, 2.0  # standard deviations: see `noisy_descent`

LINE = PublicPoints(np.array([[-1.0], [0.0], [1.0]]))
"""The public points of all attacks."""

_Side: TypeAlias = list[tuple[float, int]]
"""Records of D or of D' that the other has not: where on the line, and of which class."""

_FAR = 1e300
_MANY = 30  # records of a person that has many


class ClippedGradients:
    """Sums over persons of clipped gradients of the logistic loss. PRIVATE.

    A person's gradient is the sum of ``phi_i r_i^T`` over that person's records, phi_i the features and
    ``r_i = p(theta; x_i) - y_i`` the residual. It is shrunk to L2 norm `clip` and truncated towards 0 to
    whole multiples of `grain`. **It is a function of that person's records, of theta and of public numbers,
    to the bit** (assumed is that exp gives the same bits for the same number wherever it stands in an array).

    Features are whole multiples of `UNIT` as `on_grid` gives them, shape (n, p), dense or sparse, no row 0.
    `persons` is the person of each record, ascending from 0 without gaps, or None for a person each.
    `grain` is a power of two, see `grain_for`.
    """

    def __init__(
        self, features: Any, y: IntArray, persons: IntArray | None, *, clip: float, grain: float
    ) -> None:
        self._longest, self._grain = _MARGIN * clip, grain
        counts = np.bincount(persons) if persons is not None else np.ones(len(y), dtype=np.int64)
        alone = slice(None) if persons is None else counts[persons] == 1
        single, single_y = features[alone], y[alone]
        several = np.zeros(0, dtype=np.int64) if persons is None else np.flatnonzero(counts[persons] > 1)
        self._several, self._several_y = features[several], y[several]
        self._starts = np.concatenate([[0], np.cumsum(counts[counts > 1])])
        size = _ROWS if isinstance(features, np.ndarray) else _SPARSE_ROWS
        blocks = [slice(first, first + size) for first in range(0, len(single_y), size)]
        self._single = [
            (single[rows], single_y[rows], UNIT * np.sqrt(row_squares(single[rows]))) for rows in blocks
        ]

    def sum_at(self, theta: FloatArray) -> FloatArray:
        """Add up all terms at theta of shape (runs, p, q), in multiples of `grain`: whole, so exact.

        Runs are independent, side by side. q is 1 for two classes, else the number of classes.
        """
        runs, p, q = theta.shape
        weights, scale = to_integers(theta.transpose(0, 2, 1).reshape(runs * q, p))
        scale = scale * UNIT

        def residuals(block: Any, y: IntArray) -> FloatArray:
            miss = probabilities((dense(block @ weights.T) * scale).reshape(-1, runs, q))
            if q == 1:
                return miss - y[:, None, None]
            miss[np.arange(len(y)), :, y] -= 1
            return miss

        total = np.zeros((runs * q, p))
        for block, y, norms in self._single:  # one record: the norm is that of r_i times that of phi_i
            block = block.astype(np.float64, copy=False)  # kept in half of the room
            miss = residuals(block, y)
            sizes = np.abs(miss[..., 0]) if q == 1 else np.sqrt(row_squares(miss.reshape(-1, q)))
            sizes = sizes.reshape(-1, runs) * norms[:, None]
            miss *= (self._shrink(sizes) * (UNIT / self._grain))[:, :, None]
            total += dense(block.T @ np.trunc(miss, out=miss).reshape(-1, runs * q)).T
        for rows, starts in self._persons(runs * q):
            block = self._several[rows].astype(np.float64, copy=False)
            miss = residuals(block, self._several_y[rows]).reshape(-1, runs * q)
            terms = _segment_sums(miss.T, starts) @ block  # of each column of theta and person
            squares = row_squares(terms).reshape(runs, q, -1)
            sizes = UNIT * np.sqrt(sum(squares[:, code] for code in range(q)))
            factors = np.repeat(self._shrink(sizes)[:, None] * (UNIT / self._grain), q, axis=1)
            terms = by_row(_truncated_product, terms, factors.ravel())
            persons = len(starts) - 1
            total += dense(
                _segment_sums(np.ones((1, terms.shape[0])), persons * np.arange(runs * q + 1)) @ terms
            )
        return total.reshape(runs, q, p).transpose(0, 2, 1)

    def _shrink(self, sizes: FloatArray) -> FloatArray:
        return np.minimum(self._longest / np.maximum(sizes, 1e-300), 1.0)

    def _persons(self, columns: int) -> list[tuple[slice, IntArray]]:
        """Blocks of whole persons with several records: their rows, and where each begins in the block."""
        n = int(self._starts[-1])
        if n == 0:
            return []
        dense_rows = isinstance(self._several, np.ndarray)
        width = self._several.shape[1] if dense_rows else self._several.nnz // n + 1
        most = max(_NUMBERS // (columns * width + columns + width), 1)
        edges = np.unique(
            np.searchsorted(self._starts, np.arange(0, n + most, most)).clip(max=len(self._starts) - 1)
        )
        return [
            (slice(self._starts[a], self._starts[b]), self._starts[a : b + 1] - self._starts[a])
            for a, b in pairwise(edges.tolist())
        ]


def noisy_descent(
    gradients: ClippedGradients,
    door: Door,
    shape: tuple[int, int, int],
    *,
    steps: int,
    sensitivity: float,
    sigma: float,
    integer: bool,
    move: Callable[[FloatArray], FloatArray],
    momentum: float,
) -> tuple[FloatArray, FloatArray]:
    """Descend from 0 by noisy sums of gradients: theta, and all noisy sums added up, both PUBLIC.

    `shape` is (runs, p, q), of both. `sensitivity` of a sum to one person, in L2, and `sigma`, the standard
    deviation of the noise on each of its numbers, are in multiples of the grain, and so is the noise itself
    where it is `integer`, for a release. `move` makes a step of a noisy sum, and `momentum` is the share of a
    step that the next one repeats.

    Theta is the mean over the second half of the steps, turned towards that over the last eighth where the
    loss still falls along the way, and towards that over all steps where it rises. A noisy sum at theta has
    noise that is not in theta yet: its product with how far theta is ahead of the mean of all earlier
    positions says without bias whether the loss falls that way. These products, added up over the second half
    and divided by the standard deviation of their noise, say how far to turn: not at all at half a deviation
    (the mean lags behind a little anyway), all the way at two more or less. Only the direction of the weights
    turns: their length gives other probabilities and the same classes. The constant, the last of p, stays: it
    swings for longer than few steps.
    """
    kind = GaussianNoise(sensitivity=sensitivity, sigma=sigma, grain=1.0 if integer else None)
    theta, velocity, released, whole, half, late = np.zeros((6, *shape))
    slope, square = np.zeros((2, shape[0]))
    n_late = max((steps + 1) // 8, 1)
    for step in range(steps):
        total = gradients.sum_at(theta)
        noisy = door.release(total, kind)
        released += noisy
        if step >= max(steps // 2, 1):
            ahead = theta - whole / step
            ahead -= (_inner(ahead, theta) / np.maximum(_inner(theta, theta), 1e-300))[:, None, None] * theta
            ahead[:, -1] = 0.0
            slope += _inner(noisy, ahead)
            square += _inner(ahead, ahead)
        velocity = momentum * velocity - move(noisy)
        theta = theta + velocity
        whole += theta
        half += theta if step >= steps // 2 else 0.0
        late += theta if step >= steps - n_late else 0.0
    mean = half / (steps - steps // 2)
    falls = (_LAG - slope / np.maximum(sigma * np.sqrt(square), 1e-100)) / _SURE
    falls = np.clip(falls, -1.0, 1.0)[:, None, None]
    turned = mean + np.abs(falls) * (np.where(falls > 0, late / n_late, whole / steps) - mean)
    lengths = [np.sqrt(_inner(each[:, :-1], each[:, :-1])) for each in (mean, turned)]
    turned *= (lengths[0] / np.maximum(lengths[1], 1e-300))[:, None, None]
    turned[:, -1] = mean[:, -1]
    return turned, released


def _inner(one: FloatArray, other: FloatArray) -> FloatArray:
    """Inner product in each run."""
    products: FloatArray = np.einsum("rpq,rpq->r", one, other)
    return products


def grain_for(largest: float) -> float:
    """Unit of sums as large as this, a power of two: they are whole numbers of at most 52 bits in it."""
    return UNIT * float(2.0 ** -min(_RESIDUAL_BITS, _SUM_BITS - 16 - math.ceil(math.log2(largest + 1))))


def _segment_sums(weights: FloatArray, starts: IntArray) -> Any:
    """Matrix that adds up rows between `starts`, weighted: one segment sum a row of weights and a segment."""
    import scipy.sparse as sp

    rows, n = weights.shape
    firsts = (n * np.arange(rows)[:, None] + starts[:-1]).ravel()
    columns = np.tile(np.arange(n), rows)
    return sp.csr_matrix((weights.ravel(), columns, np.append(firsts, rows * n)), (len(firsts), n))


def _truncated_product(entries: FloatArray, factors: FloatArray) -> FloatArray:
    return np.trunc(entries * factors)


class PersonSums(Mechanism):
    """A learner on the private records that clips the sum of a person's gradients.

    Its attacks are on few records on a line, of any size. Its n, and with it noise and steps, stays as it is:
    the other persons have no gradient.
    """

    persons = "sums"
    in_words = "the model is trained by gradients with Gaussian noise of whole numbers, drawn exactly"
    n: int
    """Private persons."""

    @abstractmethod
    def outputs(self, private: PrivateRecords, door: Door, rng: np.random.Generator, runs: int) -> FloatArray:
        """All that independent runs release with the public points `LINE`, for an audit: shape (runs, k)."""

    def released(self, model: Any) -> Released:
        """A model, and no labels of points."""
        return Released(model, no_answers())

    @property
    def runs_on_persons(self) -> int:
        """Runs of each side of an attack on persons: some seconds' worth."""
        return 10_000

    def attacks(self) -> list[SampledAttack]:
        """Replace one record: its label, or where it is, in and out of bounds, alone and against a crowd."""
        pairs: dict[str, tuple[_Side, _Side]] = {
            "one label against another": ([(1.0, 1)], [(1.0, 0)]),
            "the same, far out of bounds": ([(_FAR, 1)], [(_FAR, 0)]),
            "a record and its mirror image, far out of bounds": ([(_FAR, 1)], [(-_FAR, 1)]),
            "a record far out of bounds against one in the middle": ([(_FAR, 1)], [(0.0, 1)]),
        }
        return self._with_crowd(pairs, 20_000, persons=False)

    def attacks_on_persons(self) -> list[SampledAttack]:
        """Replace all records of one person by others, as many or not."""
        spread = np.linspace(-2.0, 2.0, _MANY).tolist()
        pairs: dict[str, tuple[_Side, _Side]] = {
            "all labels of a person against others": ([(x, 1) for x in spread], [(x, 0) for x in spread]),
            "the same, at one place": ([(1.0, 1)] * _MANY, [(1.0, 0)] * _MANY),
            "many records far out of bounds, and their mirror images": (
                [(_FAR, 1)] * _MANY,
                [(-_FAR, 1)] * _MANY,
            ),
            "many records against one": ([(1.0, 1)] * _MANY, [(1.0, 0)]),
            "records that cancel against ones that add up": ([(1.0, 1), (1.0, 0)] * 3, [(1.0, 1)] * 6),
        }
        return self._with_crowd(pairs, self.runs_on_persons, persons=True)

    def _with_crowd(
        self, pairs: dict[str, tuple[_Side, _Side]], runs: int, *, persons: bool
    ) -> list[SampledAttack]:
        """Each pair alone, the first among records of one class, and one that would move a private median."""

        def records(side: _Side, crowd: FloatArray) -> PrivateRecords:
            x, labels = zip(*side, strict=True)
            X = np.concatenate([x, crowd])[:, None]
            y = np.concatenate([labels, np.ones(len(crowd), dtype=np.int64)])
            owners = np.concatenate([np.zeros(len(x), dtype=np.int64), 1 + np.arange(len(crowd))])
            return PrivateRecords(X, y, owners if persons else None)

        attacks = [(name, pair, np.zeros(0)) for name, pair in pairs.items()]
        name, pair, _ = attacks[0]
        one_class = np.linspace(-1.0, 1.0, min(8, self.n - 1))
        attacks.append((f"{name}, among records of one class", pair, one_class))
        # 3 records at one end and 6 at the other: most pairs are close, or far, by where one more is
        crowd = np.concatenate([-1 + 1e-3 * np.arange(3), 1 - 1e-3 * np.arange(6)])[: self.n - 1]
        attacks.append(("a record that moves the median distance", ([(-1.01, 1)], [(1.01, 1)]), crowd))
        return [
            SampledAttack.on(name, (records(first, crowd), records(other, crowd)), self.outputs, runs)
            for name, (first, other), crowd in attacks
        ]
