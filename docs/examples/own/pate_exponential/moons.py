"""A data set in a package of its own: two half circles, from scikit-learn."""

from dataclasses import dataclass

from sklearn.datasets import make_moons

from pate_cli.checks import Real, Whole, option
from pate_cli.types import Dataset


@dataclass(frozen=True)
class Options:
    """Options of `dataset=moons`."""

    n_records: int = option(5000, Whole(100))
    noise: float = option(0.2, Real(0, 1))


def load(name, options):
    """Draw the records."""
    X, y = make_moons(options.n_records, noise=options.noise, random_state=0)
    return Dataset(name, X, y, ("upper", "lower"), checksum=repr(options), source="scikit-learn's make_moons")
