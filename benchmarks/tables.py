"""Generated tables unlike each other, and one method against others on them: paired differences over splits.

Example: python -m benchmarks.tables --eps 1 --splits 3 tails rare
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from pate_cli import pipeline
from pate_cli.config import command_line, composition, parse
from pate_cli.streams import Streams
from pate_cli.types import Dataset, FloatArray, IntArray

__all__ = ["OTHERS", "TABLES", "Table", "compare"]

OTHERS = ("gaussian", "noisy_gd", "output_perturbation")
"""What `best` must not be below."""


class Table(NamedTuple):
    """Records, and where public points may be drawn from.

    Attributes
    ----------
    X : ndarray or csr_matrix of shape (n, d)
    y : ndarray of int64, shape (n,)
        Class codes.
    odds : ndarray of shape (n,) or None
        How likely each record is to be a public point, where they come from another distribution.
    """

    X: Any
    y: IntArray
    odds: FloatArray | None = None


def _labels(scores: FloatArray, rng: np.random.Generator, flip: float) -> IntArray:
    """Classes by the largest score, or by the sign of one; a share of the labels drawn at random."""
    n_classes = scores.shape[1] if scores.ndim > 1 else 2
    y = scores.argmax(axis=1) if scores.ndim > 1 else (scores > 0).astype(np.int64)
    random = rng.random(len(y)) < flip
    y[random] = rng.integers(0, n_classes, random.sum())
    return np.asarray(y, dtype=np.int64)


def _clusters(rng: np.random.Generator, n: int, d: int, n_classes: int, apart: float, each: int = 2) -> Table:
    centres = rng.normal(size=(n_classes * each, d)) * apart / np.sqrt(d)
    which = rng.integers(0, len(centres), n)
    return Table(centres[which] + rng.normal(size=(n, d)), which % n_classes)


def _words(rng: np.random.Generator, n: int, d: int, n_classes: int, per_row: int, flip: float) -> Table:
    """Bags of words by Zipf's law, rows of norm 1; each class has words of its own."""
    import scipy.sparse as sp

    y = rng.integers(0, n_classes, n)
    words = np.minimum((np.exp(rng.random((n, per_row)) * np.log(d)) - 1).astype(np.int64), d - 1)
    own = rng.permutation(d).reshape(-1)[: d // 2]
    marked = rng.random((n, per_row)) < 0.12
    of_class = own[(rng.integers(0, len(own) // n_classes, (n, per_row)) * n_classes + y[:, None]) % len(own)]
    words = np.where(marked, of_class, words)
    rows = np.repeat(np.arange(n), per_row)
    X = sp.csr_matrix((np.ones(n * per_row), (rows, words.ravel())), shape=(n, d))
    X = sp.csr_matrix(sp.diags(1 / np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())) @ X)
    random = rng.random(n) < flip
    y[random] = rng.integers(0, n_classes, random.sum())
    return Table(X, y)


def _moons(rng: np.random.Generator) -> Table:
    n = 20_000
    y = rng.integers(0, 2, n)
    angle = rng.random(n) * np.pi
    X = np.column_stack([np.cos(angle) * (1 - 2 * y) + y, np.sin(angle) * (1 - 2 * y) + 0.5 * y])
    return Table(X + rng.normal(0, 0.25, (n, 2)), y)


def _checkers(rng: np.random.Generator) -> Table:
    X = rng.random((15_000, 2)) * 4
    return Table(X, _labels(((X.astype(int).sum(axis=1) % 2) - 0.5).astype(float), rng, 0.05))


def _few(rng: np.random.Generator) -> Table:
    X = rng.normal(size=(1_000, 5))
    return Table(X, _labels(X @ rng.normal(size=5) + 0.3, rng, 0.1))


def _many(rng: np.random.Generator) -> Table:
    X = rng.normal(size=(500_000, 8))
    return Table(X, _labels(X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + 0.5 * X[:, 3], rng, 0.1))


def _rare(rng: np.random.Generator) -> Table:
    X = rng.normal(size=(40_000, 20))
    scores = X @ rng.normal(size=20)
    return Table(X, (scores + rng.normal(size=len(X)) > np.quantile(scores, 0.995) + 0.1).astype(np.int64))


def _tails(rng: np.random.Generator) -> Table:
    X = rng.standard_t(1.2, size=(15_000, 30)) * np.exp(rng.normal(0, 3, 30))
    return Table(X, _labels(np.sign(X)[:, :10] @ rng.normal(size=10) + 0.2, rng, 0.05))


def _copies(rng: np.random.Generator) -> Table:
    X = rng.normal(size=(200, 10)).round(1)
    y = _labels(X @ rng.normal(size=10), rng, 0.1)
    which = rng.integers(0, 200, 10_000)
    return Table(X[which], y[which])


def _constant(rng: np.random.Generator) -> Table:
    base = rng.normal(size=(8_000, 5))
    collinear = base @ rng.normal(size=(5, 15)) * 10.0 ** rng.integers(-6, 7, 15)
    X = np.hstack([base, collinear, np.tile(rng.normal(size=20) * 1e6, (8_000, 1))])
    return Table(X, _labels(base @ rng.normal(size=5), rng, 0.05))


def _wide(rng: np.random.Generator) -> Table:
    hidden = rng.normal(size=(3_000, 12))
    X = hidden @ rng.normal(size=(12, 1_000)) + 3 * rng.normal(size=(3_000, 1_000))
    return Table(X, _labels(hidden[:, 0] + hidden[:, 1] * hidden[:, 2], rng, 0.02))


def _flags(rng: np.random.Generator) -> Table:
    levels = rng.integers(0, 5, (20_000, 12))
    X = (levels[:, :, None] == np.arange(5)).reshape(20_000, 60).astype(float)
    pairs = rng.normal(size=(5, 5))
    return Table(X, _labels(X @ rng.normal(size=60) + 2 * pairs[levels[:, 0], levels[:, 1]], rng, 0.1))


def _shifted(rng: np.random.Generator) -> Table:
    X = rng.normal(size=(20_000, 10))
    scores = X[:, 0] + X[:, 1] ** 2 - 1 + 0.5 * X[:, 2]
    return Table(X, _labels(scores, rng, 0.05), odds=np.exp(2 * X[:, 0] + X[:, 3]))


def _nothing(rng: np.random.Generator) -> Table:
    return Table(rng.normal(size=(6_000, 8)), rng.integers(0, 3, 6_000))


def _mixed(rng: np.random.Generator) -> Table:
    numbers = np.exp(rng.normal(size=(30_000, 6)))
    flags = (rng.random((30_000, 10)) < rng.random(10) * 0.3).astype(float)
    scores = np.log(numbers) @ rng.normal(size=(6, 5)) + flags @ rng.normal(size=(10, 5))
    return Table(np.hstack([numbers, flags]), _labels(scores + np.array([2.0, 1, 0, 0, -1]), rng, 0.1))


def _questions(rng: np.random.Generator) -> Table:
    """Labels of a random tree of depth 4."""
    X = rng.random((9_000, 12))
    columns, cuts, leaves = rng.integers(0, 12, 15), 0.2 + 0.6 * rng.random(15), rng.integers(0, 2, 16)
    at = np.zeros(len(X), dtype=np.int64)
    for _ in range(4):
        at = 2 * at + 1 + (X[np.arange(len(X)), columns[at]] > cuts[at])
    return Table(X, _labels((leaves[at - 15] - 0.5).astype(np.float64), rng, 0.05))


def _counts(rng: np.random.Generator) -> Table:
    X = rng.poisson(np.exp(rng.normal(0, 1.5, 25)), (12_000, 25)).astype(float)
    return Table(X, _labels(np.log1p(X) @ rng.normal(size=(25, 3)), rng, 0.05))


def _shells(rng: np.random.Generator) -> Table:
    X = rng.normal(size=(15_000, 6))
    return Table(X, _labels(np.sin(1.5 * np.linalg.norm(X, axis=1)), rng, 0.05))


def _genes(rng: np.random.Generator) -> Table:
    hidden = rng.normal(size=(1_200, 20))
    X = np.exp(0.5 * (hidden @ rng.normal(size=(20, 5_000)) / 4 + rng.normal(size=(1_200, 5_000))))
    return Table(X, _labels(hidden[:, :4] @ rng.normal(size=4), rng, 0.02))


def _drifted(rng: np.random.Generator) -> Table:
    """Bags of words, public ones mostly of one class."""
    X, y, _ = _words(rng, 15_000, 3_000, 2, 25, 0.05)
    return Table(X, y, odds=np.where(y == 1, 7.0, 1.0))


TABLES: dict[str, Callable[[np.random.Generator], Table]] = {
    "moons": _moons,  # 2 columns, not linear
    "checkers": _checkers,
    "few": _few,  # 1,000 records
    "many": _many,  # 500,000
    "rare": _rare,  # 0.5% in one class
    "tails": _tails,  # hardly a variance, scales e^-3 to e^3
    "copies": _copies,  # 200 records, 50 times each
    "constant": _constant,  # and collinear columns, of scales 1e-6 to 1e6
    "wide": _wide,  # 3,000 x 1,000
    "flags": _flags,  # one-hot, two columns that interact
    "shifted": _shifted,  # public points of another distribution
    "nothing": _nothing,  # no signal, 3 classes
    "mixed": _mixed,  # numbers and flags, 5 unequal classes
    "clusters": lambda rng: _clusters(rng, 26_000, 16, 50, 4.0),  # 50 classes
    "digits": lambda rng: _clusters(rng, 4_000, 64, 10, 4.0, 3),
    "words": lambda rng: _words(rng, 12_000, 5_000, 2, 40, 0.02),  # sparse
    "topics": lambda rng: _words(rng, 20_000, 2_000, 20, 40, 0.02),
    # the last five were made once all rules were fixed, and looked at once
    "questions": _questions,
    "counts": _counts,
    "shells": _shells,
    "genes": _genes,  # 1,200 x 5,000
    "drifted": _drifted,
}
"""Name of a table to what makes it from a random generator."""


def compare(
    table: Table, *, eps: float, splits: int, methods: Sequence[str], seed: int = 0
) -> dict[str, FloatArray]:
    """Run methods on the same splits of a table; their accuracies, shape (splits,), are not private."""
    dataset = Dataset("generated", table.X, table.y, tuple(map(str, range(table.y.max() + 1))), "", "")
    found: dict[str, FloatArray] = {}
    for method in methods:
        line = command_line.parse_argv(
            ["dataset=libsvm", "dataset.path=generated", f"mechanism={method}", f"eps={eps}", f"seed={seed}"]
        )
        (job,) = command_line.jobs(line)
        run = pipeline.prepare(parse(composition.compose(job, None)), dataset)
        found[method] = np.array([_accuracy(run, repeat, table.odds) for repeat in range(splits)])
    return found


def _accuracy(run: pipeline.Prepared, repeat: int, odds: FloatArray | None) -> float:
    if odds is not None:
        rng = Streams.of(run.config.seed, repeat).split.spawn(1)[0]
        rows = rng.choice(len(odds), run.sizes.n_public, replace=False, p=odds / odds.sum())
        run = replace(run, public_rows=np.sort(rows))
    return pipeline.run_repeat(run, repeat).result.accuracy


def _interval(values: FloatArray) -> float:
    """Half of the 95% interval of a mean, by Student's t."""
    if len(values) < 2:
        return float("nan")
    return float(stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))


def main(argv: Sequence[str]) -> int:
    """Print, for each table and eps, the method's accuracy and its lead over each other; mark losses."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=__doc__)
    parser.add_argument("tables", nargs="*", help=f"of {', '.join(TABLES)}; all if none")
    parser.add_argument("--eps", default="1")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--method", default="best")
    parser.add_argument("--others", default=",".join(OTHERS))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    others, lost = options.others.split(","), 0
    for name in options.tables or TABLES:
        rng = np.random.default_rng([options.seed, *name.encode()])
        table = TABLES[name](rng)
        for eps in map(float, options.eps.split(",")):
            started = time.perf_counter()
            found = compare(
                table, eps=eps, splits=options.splits, methods=[options.method, *others], seed=options.seed
            )
            ours = found[options.method]
            cells = [f"{name} {table.X.shape[0]} x {table.X.shape[1]}, eps {eps:g}: {ours.mean():.4f}"]
            for other in others:
                lead = ours - found[other]
                below = lead.mean() < -np.nan_to_num(_interval(lead))
                lost += int(below)
                cells.append(f"{other} {lead.mean():+.4f} ± {_interval(lead):.4f}{' LOST' if below else ''}")
            print("; ".join(cells), f"({time.perf_counter() - started:.0f} s)", flush=True)
    print(f"lost beyond the interval: {lost}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
