"""Which columns a released model bends along, and going on with distances that are weighed by it."""

from __future__ import annotations

import numpy as np

from pate_cli.mechanisms.baselines.public_distances import WeighedDistances
from pate_cli.mechanisms.baselines.public_features import PublicFeatures
from pate_cli.types import FloatArray

__all__ = ["carried", "column_weights", "slopes", "weighs_columns"]

_RIDGE = 1e-5  # of the mean variance, added where a function is fitted in other features


def weighs_columns(features: PublicFeatures) -> bool:
    """Whether columns can be weighed: several, of dense landmarks that are more than they are."""
    landmarks = features.landmarks
    return isinstance(landmarks, np.ndarray) and 1 < landmarks.shape[1] < len(landmarks)


def column_weights(features: PublicFeatures, model: FloatArray, of_noise: FloatArray) -> FloatArray:
    r"""Weigh columns by how much the slope of a model along each varies. PUBLIC: of what was released.

    Along a column in which the model is a straight line distances do not matter, as lines have a kernel of
    their own. V_j is the variance over the landmarks of the slope along column j, summed over classes,
    and N_j what it is of noise alone. What noise does not explain counts by its share s of the whole::

        w_j = 1 - s + s d max(V_j - N_j, 0) / sum_k max(V_k - N_k, 0),  s = max(1 - sum N / sum V, 0)

    That is taken twice, of the whole model, and of its Gaussian part alone, in which columns interact and
    which splines may drown; the weights are the mean of both. It is the diagonal of the average outer
    product of gradients [1]_, less its mean and less noise.

    Parameters
    ----------
    features : PublicFeatures
        With dense landmarks.
    model : ndarray of shape (p, q)
        Weights of the features.
    of_noise : ndarray of shape (K, p, q)
        The same of K models that have seen noise alone.

    Returns
    -------
    ndarray of shape (d',)
        At least 0, of mean 1.

    References
    ----------
    .. [1] A. Radhakrishnan, D. Beaglehole, P. Pandit, M. Belkin. Mechanism for feature learning in neural
       networks and backpropagation-free machine learning models. Science 383, 2024.
    """
    varies = _variation(features, model)
    by_chance = np.mean([_variation(features, each) for each in of_noise], axis=0)
    left = np.maximum(varies - by_chance, 0.0)
    left /= np.maximum(left.mean(axis=1, keepdims=True), 1e-300)
    share = np.maximum(1 - by_chance.sum(axis=1) / np.maximum(varies.sum(axis=1), 1e-300), 0.0)[:, None]
    weights: FloatArray = (1 - share + share * left).mean(axis=0)
    return np.asarray(weights / weights.mean())


def _variation(features: PublicFeatures, model: FloatArray) -> FloatArray:
    """Variance of the slope along each column, of the whole model and of its Gaussian part, shape (2, d')."""
    return np.stack([each.var(axis=0).sum(axis=1) for each in slopes(features, model)])


def slopes(features: PublicFeatures, model: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Find the slopes of a model at the landmarks, less those of its lines, and of its Gaussian part alone.

    Parameters
    ----------
    features : PublicFeatures
        With dense landmarks.
    model : ndarray of shape (p, q)
        Weights of the features.

    Returns
    -------
    tuple of two ndarrays of shape (L, d', q)
        To the right of a knot, where a spline has a bend.
    """
    along = features.back @ model[: features.back.shape[1]]
    along = along - along.mean(axis=0)  # the kernel is centred
    of_distances = _slopes_of_distances(features, along)
    if features.turns is None:
        return of_distances, of_distances
    whole, (_, splines) = of_distances.copy(), features.turns
    whole[:, features.columns.numbers] += features.columns.slopes(features.landmarks, splines.T @ along)
    return whole, of_distances


def _slopes_of_distances(features: PublicFeatures, along: FloatArray) -> FloatArray:
    """Slopes at the landmarks of a sum of the Gaussian kernel's columns, weights (L, q): (L, d', q)."""
    plain = WeighedDistances(
        np.ones(features.landmarks.shape[1]), features.landmarks, features.squares, features.spread
    )
    parts = [plain] if features.weighed is None else [plain, features.weighed]
    slopes = np.zeros((*features.landmarks.shape, along.shape[1]))
    for part in parts:
        near, z = features.smooth / len(parts) * part.kernel(features.landmarks), part.landmarks
        pulled = np.stack([near @ (z * one[:, None]) for one in along.T], axis=2)
        pulled -= z[:, :, None] * (near @ along)[:, None]
        slopes += part.weights[:, None] * pulled / part.spread
    return slopes


def carried(was: FloatArray, known: FloatArray, model: FloatArray, *, ridge: float = _RIDGE) -> FloatArray:
    """Fit a function of old features in new ones, by least squares at some public points.

    Parameters
    ----------
    was, known : ndarray of shape (m, p - 1) and (m, p' - 1)
        Old and new directions of the points.
    model : ndarray of shape (runs, p, q)
        Weights of the old ones, then of what old and new features share: bins, and the constant.
    ridge : float
        Of the mean square of the new ones: the larger it is, the less goes to directions of small variance.

    Returns
    -------
    ndarray of shape (runs, p', q)
    """
    spanned, squares = was.shape[1], known.T @ known
    squares += ridge * np.trace(squares) / len(squares) * np.eye(len(squares))
    wanted = known.T @ was @ model[:, :spanned]
    return np.concatenate([np.linalg.solve(squares, wanted), model[:, spanned:]], axis=1)
