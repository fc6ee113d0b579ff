"""What a careful user writes today, with scikit-learn and autodp: the 16 cells of Table 4, one after another.

Every cell trains its ensemble again, as scripts do; nothing else is wasted. Votes are one matrix product,
noise is calibrated exactly by autodp, the active learner refits its hypothesis only after new labels and
inverts its Hessian then, on dense rows (faster here than sparse ones). Splits, parts, learners and
sizes are those of `pate`, of which only the split and its random streams are used.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["CELLS", "Cell", "run"]


@dataclass(frozen=True)
class Cell:
    """One entry of Table 4."""

    dataset: str
    active: bool
    eps: float


CELLS = tuple(
    Cell(dataset, active, eps)
    for dataset in ("mushroom", "a9a")
    for eps in (math.inf, 0.5, 1.0, 2.0)
    for active in (False, True)
)

SIZE = 100  # records a teacher
MELLOWNESS = 0.05


def run(cell: Cell, data: Any, repeat: int, seed: int = 0) -> float:
    """Accuracy of one cell in one repeat, on a `Dataset` loaded beforehand; `seed` as in `pate run`."""
    from pate_cli import datasets
    from pate_cli.pipeline import Streams

    streams = Streams.of(seed, repeat)
    split = datasets.split(data, private=0.8, public=0.02, budget=0.3, rng=streams.split)
    private, public, test = split.private, split.public.X, split.test

    votes = np.zeros(public.shape[0])
    n_teachers = private.n_records // SIZE
    models = []
    for part in np.array_split(streams.teachers.permutation(private.n_records), n_teachers):
        y = private.y[part]
        if y.min() == y.max():  # scikit-learn does not learn from one class
            votes += y[0]
        else:
            models.append(_logistic().fit(private.X[part], y))
    coefficients = np.concatenate([model.coef_ for model in models])
    intercepts = np.concatenate([model.intercept_ for model in models])
    votes += np.count_nonzero(public @ coefficients.T + intercepts > 0, axis=1)

    noise = np.random.default_rng(streams.noise)
    ell = split.budget if cell.active else len(votes)
    sigma = 0.0 if math.isinf(cell.eps) else _sigma(cell.eps, 1 / private.n_records, ell)
    order = streams.queries.permutation(len(votes))

    def answer(points: Any) -> Any:
        noisy = votes[points] + sigma * noise.standard_normal(np.shape(points))
        return (noisy >= n_teachers / 2).astype(np.int64)

    if cell.active:
        points, given = _ask_actively(public.toarray(), order, answer, split.budget)
        asked, labels = np.array(points), np.array(given)
    else:
        asked, labels = order, answer(order)
    if len(set(labels)) < 2:
        return float(np.mean(test.y == (labels[0] if len(labels) else 0)))
    student = _logistic().fit(public[asked], labels)
    return float(np.mean(student.predict(test.X) == test.y))


def _logistic(**params: Any) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(solver="liblinear", max_iter=1000, **params)


def _sigma(eps: float, delta: float, ell: int) -> float:
    """Noise of one query, in votes, so that `ell` of them are (eps, delta)-DP together."""
    from autodp.calibrator_zoo import eps_delta_calibrator  # type: ignore[import-untyped]
    from autodp.mechanism_zoo import ExactGaussianMechanism  # type: ignore[import-untyped]

    calibrated = eps_delta_calibrator()(ExactGaussianMechanism, eps, delta, [0, 100])
    return math.sqrt(ell) * float(calibrated.params["sigma"])


def _ask_actively(X: Any, order: Any, answer: Any, budget: int) -> tuple[list[int], list[int]]:
    """Ask where another label costs the current hypothesis little loss (LZCW21 Algorithm 5)."""
    X = np.column_stack([(X - X.mean(axis=0)) / np.maximum(1, X.std(axis=0)), np.ones(len(X))])
    asked: list[int] = []
    labels: list[int] = []
    fitted = 0
    for seen, point in enumerate(order.tolist(), start=1):
        if len(asked) == budget:
            break
        if len(set(labels)) == 2:
            if 25 * (len(asked) - fitted) >= fitted:  # few labels change little
                fitted = len(asked)
                w = _logistic(fit_intercept=False, tol=1e-6).fit(X[asked], labels).coef_[0]
                scores = X[asked] @ w
                curvature = 1 / (2 + 2 * np.cosh(scores))
                mistakes = np.count_nonzero((scores > 0) != labels)
                inverse = np.linalg.inv(np.eye(X.shape[1]) + (X[asked].T * curvature) @ X[asked])
            cost = (X[point] @ w) ** 2 / (2 * X[point] @ inverse @ X[point])
            log = math.log(seen + 1)
            if cost > MELLOWNESS * (math.sqrt(mistakes * log) + log):
                continue
        asked.append(point)
        labels.append(int(answer(point)))
    return asked, labels


def main() -> None:
    """Print `dataset method eps accuracy seconds`, a line a cell, for the repeat and datasets named."""
    import time

    from pate_cli import datasets

    repeat, *names = sys.argv[1:]
    data = {name: datasets.load(name) for name in names}
    for cell in CELLS:
        if cell.dataset in data:
            start = time.perf_counter()
            accuracy = run(cell, data[cell.dataset], int(repeat))
            took = time.perf_counter() - start
            print(cell.dataset, "ASQ" if cell.active else "PSQ", cell.eps, accuracy, f"{took:.4f}")


if __name__ == "__main__":
    main()
