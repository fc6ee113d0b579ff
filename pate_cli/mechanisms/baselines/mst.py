r"""Made-up records from noisy tables of pairs of columns that span a tree: the MST mechanism.

The tables are measured here; `mbi`, which others maintain, makes them agree, in an environment of its own
(`outside`), from what was released. A plain learner is then fitted to the made-up records.

References
----------
.. [1] R. McKenna, G. Miklau, D. Sheldon. Winning the NIST contest: a scalable and general approach to
   differentially private synthetic data. Journal of Privacy and Confidentiality 11(3), 2021.
.. [2] M. Cesar, R. Rogers. Bounding, concentrating, and truncating: unifying privacy loss composition for
   data analytics. ALT 2021 (the exponential mechanism is ``eps^2/8``-zCDP).
.. [3] M. Bun, T. Steinke. Concentrated differential privacy. TCC 2016.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pate_cli import students
from pate_cli.checks import Or, Text, Whole, option
from pate_cli.errors import ConfigError, InfeasibleError
from pate_cli.mechanisms.baselines import mst_child, outside
from pate_cli.mechanisms.baselines.public_codes import PublicCodes
from pate_cli.mechanisms.protocol import Plan, SampledAttack, no_answers
from pate_cli.privacy.noise import Noise, SeededNoise
from pate_cli.privacy.zcdp import rho_at
from pate_cli.types import (
    Answers,
    FloatArray,
    IntArray,
    PrivacyLoss,
    Private,
    PublicPoints,
    Released,
    Setting,
    dense,
)

__all__ = ["MstPlan", "Options", "Tables", "plan", "sampled"]

_VERSION = "2.0.0"
_RECIPE = (
    f"python -m venv DIR && DIR/bin/pip install mbi=={_VERSION}, and then mechanism.python=DIR/bin/python"
)
_TRIAL: dict[str, Any] = {
    "sizes": (2, 2),
    "edges": ((0, 1),),
    "ones": (1.0, 3.0, 2.0, 2.0),
    "pairs": (1.0, 0.0, 1.0, 2.0),
}
_TRIAL |= {"deviations": (1.0, 1.0), "n": 4, "steps": 50}
"""A job of made-up counts, for the trial of an interpreter."""

_STEPS = 1000
"""Of mirror descent."""

_MOST_CODES = 4000
"""Of all columns together: their pairs are counted in one table."""

_MOST = 200_000_000
"""Most numbers of private records that are written out."""

_PARTS = 3
"""Of rho: for columns, for choosing pairs, for pairs; as published."""


class Tables(NamedTuple):
    """What one run has measured. PUBLIC.

    Attributes
    ----------
    ones : ndarray of shape (K,)
        Noisy counts of all codes of all columns.
    edges : ndarray of int64, shape (d - 1, 2)
        Pairs of columns.
    pairs : list of ndarray
        Noisy counts of each.
    """

    ones: FloatArray
    edges: IntArray
    pairs: list[FloatArray]


@dataclass(frozen=True)
class MstPlan(Plan):
    r"""Noisy counts of all columns, then of d - 1 pairs of columns, which the exponential mechanism chose.

    The label is the last of d columns; numbers are codes between public cuts (`PublicCodes`). From the noisy
    counts of single columns follows what each pair would have if its columns were independent; of the pairs
    that close no circle the one is taken, by the exponential mechanism, that is farthest from it in L1, until
    all columns hang together. ([1]_, Algorithm 1, without its compression of rare codes.)

    **Guarantee.** (eps, delta)-DP for neighbours that differ in one private record, replaced by another; n
    is public. A replaced record leaves one code of each column and joins another, so the counts of a column
    move by at most sqrt(2) in L2, those of all d by ``sqrt(2 d)``, and those of d - 1 chosen pairs by
    ``sqrt(2 (d - 1))``: with Gaussian noise of deviation sigma each is ``d/sigma^2``-zCDP, or
    ``(d - 1)/sigma^2`` [3]_. The distance of a pair from what is released moves by at most 2 in L1, so a
    choice by ``exp(e q / 4)`` is e-DP and ``e^2/8``-zCDP [2]_. Each of the three parts has a third of rho,
    as published (for a record more or less, of which the same noise costs a half, a quarter and a half as
    much). Adaptively composed they are rho-zCDP, and (eps, delta)-DP by the conversion over all Renyi
    orders. Made-up records, and what is learned from them, are post-processing; the child process sees
    nothing else.

    **Assumed.** Noise is drawn in floating point, as in every experiment. It cannot be released.

    Attributes
    ----------
    eps, delta, rho : float
    n, n_classes, bins : int
        Private records; classes; codes of a column at most.
    python : str
        The interpreter that has mbi.
    setting : Setting
        Whose student is fitted.
    """

    eps: float
    delta: float
    rho: float
    n: int
    n_classes: int
    bins: int
    python: str
    setting: Setting

    @property
    def guarantee(self) -> PrivacyLoss:
        """(eps, delta) for tables and choices."""
        return PrivacyLoss(self.eps, self.delta, "zCDP of noisy tables and exponential mechanisms")

    @property
    def n_teachers(self) -> int:
        """None."""
        return 0

    def describe(self) -> dict[str, Any]:
        """Its public numbers."""
        names = ("eps", "delta", "rho", "n", "n_classes", "bins", "python")
        return {name: getattr(self, name) for name in names}

    def release(
        self, private: Private, public: PublicPoints, noise: Noise, rng: np.random.Generator
    ) -> Released:
        """Measure, make records up, and fit the student on them; see `Plan`."""
        records = private.records
        coded = PublicCodes.of(dense(public.X), self.bins)
        sizes = np.append(coded.sizes, self.n_classes)
        if sizes.sum() > _MOST_CODES:
            accepted = f"at most {_MOST_CODES:,} codes in all columns; here {sizes.sum():,}"
            raise ConfigError("mechanism.bins", self.bins, accepted)
        tables = self.count(np.column_stack([coded.codes(dense(records.X)), records.y]), sizes, noise)
        made = sampled(self._agreeing(tables, sizes), tables.edges, sizes, self.n, rng)
        points, labels = PublicPoints(coded.decode(made[:, :-1])), made[:, -1]
        estimator, params = self.setting.student
        model = students.fit_student(
            points,
            Answers(np.arange(self.n), labels),
            estimator=estimator,
            params=params,
            unanswered="drop",
            rng=rng,
            n_classes=self.n_classes,
            seed=int(rng.integers(2**31)),
        )
        return Released(model, no_answers(), self.guarantee)

    def deviations(self, d: int) -> tuple[float, float]:
        """Standard deviations of the noise on counts of d columns, and of d - 1 pairs."""
        part = self.rho / _PARTS
        return math.sqrt(d / part), math.sqrt(max(d - 1, 1) / part)

    def count(self, codes: IntArray, sizes: IntArray, noise: Noise) -> Tables:
        """Count with noise.

        Parameters
        ----------
        codes : ndarray of int64, shape (rows, d)
            Of private records, the label last.
        sizes : ndarray of int64, shape (d,)
            Codes of each column.
        noise : Noise
        """
        d, starts = len(sizes), np.concatenate([[0], np.cumsum(sizes)])
        counts = _pair_counts(codes + starts[:-1], int(starts[-1]))
        of_ones, of_pairs = self.deviations(d)
        ones = np.diagonal(counts) + noise.gaussian(of_ones, len(counts))
        edges = self._tree(_distances(counts, ones, starts, self.n), noise)
        pairs = []
        for a, b in edges:
            table = counts[starts[a] : starts[a + 1], starts[b] : starts[b + 1]]
            pairs.append(table + noise.gaussian(of_pairs, table.size).reshape(table.shape))
        return Tables(ones, edges, pairs)

    def _tree(self, distances: FloatArray, noise: Noise) -> IntArray:
        """Choose pairs by the exponential mechanism: the largest of scores with noise of Gumbel's law."""
        d = len(distances)
        first, second = np.triu_indices(d, 1)
        factor = math.sqrt(8 * self.rho / _PARTS / max(d - 1, 1)) / 4
        group, edges = np.arange(d), []
        for _ in range(d - 1):
            noisy = factor * distances[first, second] - np.log(noise.exponential(1.0, len(first)))
            best = int(np.argmax(np.where(group[first] != group[second], noisy, -np.inf)))
            a, b = int(first[best]), int(second[best])
            edges.append((a, b))
            group[group == group[b]] = group[a]
        return np.array(edges, dtype=np.int64).reshape(-1, 2)

    def _agreeing(self, tables: Tables, sizes: IntArray) -> list[FloatArray]:
        """Let mbi make the tables of pairs agree with each other and with those of columns."""
        if not tables.pairs:
            return []
        job = {
            "sizes": sizes,
            "edges": tables.edges,
            "ones": tables.ones,
            "pairs": np.concatenate([table.ravel() for table in tables.pairs]),
            "deviations": np.array(self.deviations(len(sizes))),
            "n": self.n,
            "steps": _STEPS,
        }
        found = outside.answer(self.python, mst_child, job)
        cells = np.cumsum([table.size for table in tables.pairs])
        agreeing = outside.checked(self.python, found, "tables", (int(cells[-1]),))
        parts = np.split(np.maximum(agreeing, 0.0), cells[:-1])
        return [part.reshape(table.shape) for part, table in zip(parts, tables.pairs, strict=True)]

    def attacks(self) -> list[SampledAttack]:
        """Replace a record by one that differs in all columns, among few others; see `Plan`."""
        few = np.array([[0, 0], [1, 1]])
        more = np.array([[0, 1, 0], [1, 0, 1]])
        return [
            SampledAttack("another code in each of two columns", self._sample(few), 20_000),
            SampledAttack("another code in each of three columns", self._sample(more), 10_000),
        ]

    def _sample(self, codes: IntArray) -> Any:
        d = codes.shape[1]
        sizes = np.full(d, 2)

        def sample(neighbour: bool, rng: np.random.Generator, runs: int) -> FloatArray:
            noise = SeededNoise(np.random.SeedSequence(int(rng.integers(2**63))))
            found = np.zeros((runs, 2 * d + d * d + 4 * d * d))
            for run in range(runs):
                tables = self.count(codes[[int(neighbour)]], sizes, noise)
                chosen, pairs = np.zeros((d, d)), np.zeros((d, d, 4))
                for (a, b), table in zip(tables.edges, tables.pairs, strict=True):
                    chosen[a, b], pairs[a, b] = 1, table.ravel()
                found[run] = np.concatenate([tables.ones, chosen.ravel(), pairs.ravel()])
            return found

        return sample


def _pair_counts(places: IntArray, width: int) -> FloatArray:
    """How many records have each pair of codes, shape (width, width); codes of all columns are distinct."""
    import scipy.sparse as sp

    rows, d = places.shape
    ends = np.arange(0, rows * d + 1, d)
    has = sp.csr_matrix((np.ones(rows * d), places.ravel(), ends), shape=(rows, width))
    return dense(has.T @ has)


def _distances(counts: FloatArray, ones: FloatArray, starts: IntArray, n: int) -> FloatArray:
    """L1 distance of each pair's counts from those of independent columns with noisy counts, shape (d, d)."""
    kept = np.maximum(ones, 0.0)
    totals = np.add.reduceat(kept, starts[:-1])
    sizes = np.diff(starts)
    even = np.repeat(1.0 / sizes, sizes)
    shares = np.where(np.repeat(totals > 0, sizes), kept / np.repeat(np.maximum(totals, 1e-300), sizes), even)
    apart = np.abs(counts - n * np.outer(shares, shares))
    found: FloatArray = np.add.reduceat(np.add.reduceat(apart, starts[:-1], axis=0), starts[:-1], axis=1)
    return found


def sampled(
    tables: list[FloatArray], edges: IntArray, sizes: IntArray, n: int, rng: np.random.Generator
) -> IntArray:
    """Draw records from tables of the pairs of a tree.

    Parameters
    ----------
    tables : list of ndarray
        Counts of the codes of both columns of each edge, not negative.
    edges : ndarray of int64, shape (d - 1, 2)
    sizes : ndarray of int64, shape (d,)
    n : int
        Records to draw.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of int64, shape (n, d)
    """
    made = np.zeros((n, len(sizes)), dtype=np.int64)
    of_first = tables[0].sum(axis=1) if tables else np.ones(sizes[0])
    root = int(edges[0, 0]) if tables else 0
    made[:, root] = _drawn(of_first[None], np.zeros(n, dtype=np.int64), rng)
    known, left = {root}, [(int(a), int(b), table) for (a, b), table in zip(edges, tables, strict=True)]
    while left:
        a, b, table = left.pop(0)
        if a in known:
            made[:, b] = _drawn(table, made[:, a], rng)
        elif b in known:
            made[:, a] = _drawn(table.T, made[:, b], rng)
        else:
            left.append((a, b, table))
            continue
        known |= {a, b}
    return made


def _drawn(table: FloatArray, given: IntArray, rng: np.random.Generator) -> IntArray:
    """Draw for each record a code from the row of a table that is given; any, where the row is empty."""
    totals = table.sum(axis=1, keepdims=True)
    shares = np.where(totals > 0, table / np.maximum(totals, 1e-300), 1 / table.shape[1])
    below = np.cumsum(shares, axis=1)[:, :-1]
    found: IntArray = (rng.random(len(given))[:, None] >= below[given]).sum(axis=1)
    return found


@dataclass(frozen=True)
class Options:
    """Options of `mechanism=mst`."""

    python: str | None = option(None, Or("null", Text("the path of an interpreter that has mbi")))
    bins: int = option(16, Whole(2))


def plan(options: Options, setting: Setting) -> Plan:
    """Try the interpreter, and find rho.

    Raises
    ------
    InputError
        If the interpreter does not have the library, or this is not for it: no privacy, more numbers than
        it should write out.
    """
    s = setting
    if math.isinf(s.eps):
        raise ConfigError("eps", s.eps, "a finite number with mechanism=mst, which always adds noise")
    if s.n_private * s.n_features > _MOST or s.n_features * 2 > _MOST_CODES:
        raise InfeasibleError(
            f"mechanism=mst counts all pairs of columns, and {s.n_private:,} x {s.n_features:,} is more than "
            f"{_MOST_CODES // 2:,} columns or {_MOST:,} numbers; what would do: fewer columns"
        )
    python = outside.interpreter(options.python, mst_child, _TRIAL, _VERSION, _RECIPE)
    rho = rho_at(s.eps, s.delta)
    return MstPlan(s.eps, s.delta, rho, s.n_private, s.n_classes, options.bins, python, s)
