"""Privacy arithmetic of sampling, relabelling and resampling; neighbours differ by one replaced record.

Each function states its proof. NB20: Nandi and Bassily, ALT 2020. LWY25: Li, Wang and Ye, COLT 2025.
"""

from __future__ import annotations

import math

from pate_cli.privacy.composition import root_on_safe_side

__all__ = ["agprivcl", "before_sampled", "black_box", "black_box_draws", "copies_tail"]
__all__ += ["lwy25_eps_in", "lwy25_transformed", "nb20_resampled", "relabelled", "resampled", "sampled"]
__all__ += ["share_drawn", "transformed", "transformed_eps_in"]


def sampled(eps: float, delta: float, rate: float) -> tuple[float, float]:
    """(eps, delta) of an algorithm run on a share `rate` of the records, drawn without replacement.

    Balle, Barthe and Gaboardi (NeurIPS 2018), Theorem 9, for an algorithm that does not look at the order of
    its records, or is given them in random order.
    """
    return math.log1p(rate * math.expm1(eps)), rate * delta


def before_sampled(eps: float, rate: float) -> float:
    """Inverse of `sampled`: eps of an algorithm that is `eps` after sampling."""
    return math.log1p(math.expm1(eps) / rate)


def relabelled(eps: float, delta: float, relabel_eps: float) -> tuple[float, float]:
    """(eps, delta) of an algorithm run on records relabelled by NB20 Algorithm 2.

    S and S' differ in record 1; c runs over the labelings of their common records, W(c) is the total weight
    of the one or two dichotomies that extend c. A mistake more or less on record 1 is a factor
    ``e^(relabel_eps/2)``, so W(c) lies between ``e^(-relabel_eps/2)`` and ``1 + e^(-relabel_eps/2)`` times
    the weight of c alone, on both sides, and ``P(c) <= (1 + e^(relabel_eps/2))^2 P'(c)``: once for W, once
    for the sum that normalises. Given c, the two relabelled sets differ in one record for either extension,
    so the laws Q and Q' of the output are (eps, delta) apart. Weighing with P and then using the ratio,
    ``sum_c P(c) (e^eps Q'(c) + delta) <= (1 + e^(relabel_eps/2))^2 e^eps P'(O) + delta``: delta does not
    grow. (NB20 Lemma 5 has ``eps + 3`` and ``4 e delta`` at relabel_eps = 1, where this is eps + 1.948 and
    delta.)

    **It is tight.** Thresholds, M copies of (0, 1), and record 1 either (1, 0) or (-1, 1). On one side the
    labeling 0 of the copies has two extensions, of weight ``e^(-M relabel_eps/2)`` times 1 and times
    ``e^(-relabel_eps/2)``, and on the other side one, with that factor; with the labeling 1 it is the other
    way round, and as M grows it has nearly all of the weight. So the ratio of P(0) tends to
    ``(1 + e^(relabel_eps/2))^2``, and an algorithm after it that reveals the labeling and the place of record
    1 (a factor ``e^(-eps)`` for each record that differs) adds its eps. The tests show it to 1e-4.
    """
    return eps + 2 * math.log1p(math.exp(relabel_eps / 2)), delta


def share_drawn(n: int) -> float:
    """Probability that n draws with replacement from n records draw a given one."""
    return -math.expm1(n * math.log1p(-1 / n)) if n > 1 else 1.0


def resampled(eps: float, delta: float, n: int) -> tuple[float, float]:
    """(eps, delta) after n draws with replacement from n records, copies kept together.

    The copies of one record go to one teacher, and which record goes where depends on the draws alone. So,
    given the draws, one changed record changes one teacher, and none if it was not drawn: averaging over the
    draws, ``(eps, p delta)`` with ``p = 1 - (1 - 1/n)^n``. (No amplification of eps: a set of draws with the
    record and one without it differ in several teachers.)
    """
    return eps, share_drawn(n) * delta


def agprivcl(
    svt_eps: float, svt_delta: float, relabel_eps: float, n_sampled: int, n: int
) -> tuple[float, float]:
    """(eps, delta) of AgPrivCl: n_sampled of n records, relabelled, resampled, then the sparse vector."""
    inner = resampled(svt_eps, svt_delta, n_sampled)
    return sampled(*relabelled(*inner, relabel_eps), n_sampled / n)


def nb20_resampled(eps: float, delta: float, copies: float) -> tuple[float, float]:
    """(eps, delta) of NB20 Lemma 8, whose teachers share the copies of a record: group privacy for `copies`.

    The probability of more copies, `copies_tail`, is not in it.
    """
    return copies * eps, copies * math.exp(copies * eps) * delta


def copies_tail(n: int, most: float) -> float:
    """Probability that n draws from n records draw a given one more than `most` times."""
    from scipy.stats import binom

    return float(binom.sf(math.floor(most), n, 1 / n))


def black_box(eps: float, draws: int, n: int) -> float:
    """Eps of an (eps, 0)-DP algorithm run on m = `draws` draws with replacement from n records.

    Record 1 is drawn k times, binomial (m, 1/n); put draws of the other records in its places, and the set
    has the law that it has given k = 0. So with a_k and b_k the probabilities of an output on the two sides
    given k, ``a_k <= e^(k eps) a_0``, ``b_k >= e^(-k eps) b_0`` and a_0 = b_0, and the ratio of the sums is
    at most ``E e^(k eps) / E e^(-k eps)``, that is ``((1 + (e^eps - 1)/n)/(1 - (1 - e^-eps)/n))^m``. LWY25
    Lemma 2.13 (with Lemma 2.12) has ``6 eps m/n``, for eps <= 1, where this is about ``2 sinh(eps) m/n``,
    2.35 m/n at eps = 1.
    """
    return draws * (math.log1p(math.expm1(eps) / n) - math.log1p(math.expm1(-eps) / n))


def black_box_draws(eps: float, total: float, n: int, kind: str) -> int:
    """Most draws at which the algorithm is (total, 0)-DP: by `black_box`, or by Lemma 2.13 (`paper`).

    Lemma 2.13 assumes eps and total of at most 1 and at least 2 records; more of `total` is not used.
    """
    if kind == "paper":
        return math.floor(min(1.0, total) * n / (6 * eps)) if n > 1 and eps <= 1 else 0
    return math.floor(total / black_box(eps, 1, n))


def transformed(eps_in: float, inner_eps: float, n: int, t: int) -> float:
    """Eps of LWY25's transformation, for an inner (eps_A, delta_A); its delta is r delta_A, r = t/n.

    t of n records, 1 <= t < n, are T, the others W; h is chosen with weight ``exp(-(eps_in |W|/2) q(h))``.
    Fix the indices I of T. If record 1 is not among them, ``p1(I) <= e^eps_in p2(I)``. If it is, let
    K = eps_in |W|/2 and compare with indices J. With ``m(c) = min_f dis(c, f)/.. + err_W(f)`` over the common
    records of T, each extension of c has a score in ``[m(c), m(c) + 1/t]`` and, if there are two, one of them
    has m(c); so W(c) is within ``[e^(-K/t), 2] e^(-K m(c))``. For J = I, m is the same on both sides:
    ``P(c) <= 4 e^(2K/t) P'(c)``, so ``p1(I) <= B p2(I) + delta_A`` with ``B = 4 e^(2K/t + eps_A)``. For J = I
    with 1 swapped for i outside, W changes by one record too: m moves by at most 1/|W|, so
    ``p1(I) <= e^eps_in B p2(J) + delta_A``. The J's average, over I with 1 and i without, to the indices
    without 1, as in the paper. A share s of the second and 1 - s of the first is
    ``e^eps = e^eps_in + r/(1-r) s e^eps_in B`` on the indices without 1 and ``(1 - s) B`` on those with 1;
    making both equal, ``e^eps = e^eps_in (1 - r + r B)/(1 - r + r e^eps_in)``, and delta = r delta_A. It
    needs ``e^eps_in <= B``. The paper (Lemma 3.1) takes s = 1, ``e^eps_in B <= 4 e^2`` (for eps_in <= r and
    eps_A = 1) and 4 e delta_A: `lwy25_transformed`.

    It may not be tight: the copies of `relabelled` lose 1.11 where it has 2.18 (n = 30, t = 9, eps_in = .3,
    eps_A = 1), the most that was found. The slack: each record i of J may double the weight as record 1 does;
    in a class of VC dimension d the dichotomies of J have at most d such records each on average. No proof of
    less is known to us, so none is used.
    """
    r = t / n
    log_b = math.log(4) + eps_in * (n - t) / t + inner_eps
    if log_b < eps_in:  # t beyond n/2 and a small eps_in: outside the proof
        raise ValueError(f"t={t} of n={n} at eps_in={eps_in:g}")
    return eps_in + math.log(1 - r + r * math.exp(min(log_b, 700))) - math.log1p(r * math.expm1(eps_in))


def transformed_eps_in(eps: float, inner_eps: float, n: int, t: int) -> float | None:
    """Largest eps_in at which `transformed` is at most `eps`, rounded down; None if there is none."""

    def excess(eps_in: float) -> float:
        return transformed(eps_in, inner_eps, n, t) - eps

    low = 1e-12
    return None if excess(low) >= 0 else root_on_safe_side(excess, low, eps, below=True)


def lwy25_transformed(eps_in: float, inner_delta: float, n: int) -> tuple[float, float, int]:
    """(eps, delta) and t of LWY25 Lemma 3.1 with its constants, for an inner (1, inner_delta).

    ``eps = ln(e^eps_in + r/(1-r) 4 e^2)``, ``delta = 4 e r inner_delta``, t = ceil(eps_in n), r = t/n.
    """
    t = math.ceil(eps_in * n)
    r = t / n
    return math.log(math.exp(eps_in) + r / (1 - r) * 4 * math.e**2), 4 * math.e * r * inner_delta, t


def lwy25_eps_in(eps: float, n: int) -> float | None:
    """Largest eps_in, at most 1/3, at which LWY25's total is at most `eps`; None if n is too small."""

    def within(t: int) -> bool:  # the largest eps_in with this t is t/n
        return lwy25_transformed(t / n * (1 - 1e-15), 0.0, n)[0] <= eps

    low, high = 0, n // 3
    while low < high:  # the largest such t
        middle = (low + high + 1) // 2
        low, high = (middle, high) if within(middle) else (low, middle - 1)
    return low / n * (1 - 1e-15) if low else None
