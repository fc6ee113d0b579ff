"""Group privacy against two-point distributions that lose all they may at each record replaced."""

import math

import numpy as np
import pytest

from pate_cli.privacy.composition import group_loss


def loses(p, q, eps):
    """Least delta at which two coins of heads p and q are (eps, delta)-indistinguishable."""
    gaps = [
        a - math.exp(eps) * b for one, two in ((p, q), (q, p)) for a, b in ((one, two), (1 - one, 1 - two))
    ]
    return max(0.0, *gaps)


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize(("eps", "delta"), [(0.1, 1e-5), (0.5, 0.01), (1.0, 0.0)])
def test_it_is_the_loss_of_a_chain_and_no_less_would_do(eps, delta, size):
    heads = [1e-4]
    for _ in range(size):  # each coin is as far from the last as one record may move it
        heads.append(math.exp(eps) * heads[-1] + delta)
    assert heads[-1] < 0.5
    assert max(loses(p, q, eps) for p, q in zip(heads[1:], heads, strict=False)) <= delta + 1e-15
    group_eps, group_delta = group_loss(eps, delta, size)
    assert group_eps == pytest.approx(size * eps, rel=1e-15)
    assert loses(heads[-1], heads[0], group_eps) == pytest.approx(group_delta, rel=1e-10, abs=1e-15)


def test_where_it_promises_nothing():
    assert group_loss(1.0, 1e-6, 15)[1] > 1
    assert group_loss(1.0, 1e-6, 10**6) == (1e6, np.inf)
    assert group_loss(1.0, 0.0, 10**6) == (1e6, 0.0)
