"""What the interpreter that has mbi runs: tables that agree with each other, from noisy ones.

It is run by itself: nothing of ours can be imported here. See `outside.answer`.
"""

from __future__ import annotations

import importlib.metadata
from typing import Any

import numpy as np

__all__ = ["answer"]


def answer(
    *, sizes: Any, edges: Any, ones: Any, pairs: Any, deviations: Any, n: Any, steps: Any
) -> dict[str, Any]:
    """Fit the distribution of largest entropy to noisy tables of single columns and of pairs.

    Parameters
    ----------
    sizes : ndarray of int64, shape (d,)
        Codes of each column.
    edges : ndarray of int64, shape (e, 2)
        Pairs of columns, without circles.
    ones, pairs : ndarray of float64
        Noisy counts of the codes of all columns, and of the pairs of codes of all edges, in their order.
    deviations : ndarray of float64, shape (2,)
        Of the noise on both.
    n : int
        Records.
    steps : int
        Of mirror descent.

    Returns
    -------
    dict
        `tables`, in place of `pairs`; and versions.
    """
    import jax

    jax.config.update("jax_enable_x64", True)  # before mbi is imported, which warns of less
    from mbi import Domain, LinearMeasurement
    from mbi.estimation import MirrorDescent

    codes = [int(size) for size in sizes]
    of_columns = enumerate(np.split(ones, np.cumsum(codes)[:-1]))
    known = [LinearMeasurement(table, (k,), float(deviations[0])) for k, table in of_columns]
    cliques = [(int(a), int(b)) for a, b in edges]
    cells = [codes[a] * codes[b] for a, b in cliques]
    of_pairs = zip(cliques, np.split(pairs, np.cumsum(cells)[:-1]), strict=True)
    known += [LinearMeasurement(table, clique, float(deviations[1])) for clique, table in of_pairs]
    domain = Domain(list(range(len(codes))), codes)
    model = MirrorDescent().estimate(domain, known, known_total=float(n), iters=int(steps))
    tables = [np.asarray(model.project(clique).datavector(), dtype=np.float64) for clique in cliques]
    return {"tables": np.concatenate(tables), "versions": np.array([importlib.metadata.version("mbi")])}
