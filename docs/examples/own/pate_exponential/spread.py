"""A query strategy in a package of its own: each next point is the farthest from all asked before."""

from dataclasses import dataclass, replace

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from pate_cli.mechanisms.gaussian import gaussian_labels
from pate_cli.mechanisms.options import MechanismOptions
from pate_cli.queries import collect


@dataclass(frozen=True)
class Options(MechanismOptions):
    """`mechanism=spread` has no options."""


@dataclass(frozen=True)
class Farthest:
    """Ask `budget` points that lie apart: it sees public points alone, and needs no answer to choose."""

    def ask(self, stream, oracle, rng):
        """Begin with a random point."""
        X, first = stream.points.X, stream.order[:1]
        asked, gaps = [first[0]], euclidean_distances(X, X[first])[:, 0]
        while len(asked) < min(stream.budget, X.shape[0]):
            asked.append(np.argmax(gaps))
            gaps = np.minimum(gaps, euclidean_distances(X, X[asked[-1:]])[:, 0])
        return collect(asked, oracle.answer_all(np.array(asked))), None


def calibrate(options, setting):
    """Calibrate noisy counts for `split.budget` questions."""
    s = setting
    made = gaussian_labels(s.eps, s.delta, s.budget, s.n_classes)
    return replace(made, n_teachers=s.n_teachers, budget=s.budget, strategy=Farthest())
