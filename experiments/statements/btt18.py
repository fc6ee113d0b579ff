"""The numbered statements of BTT18, the NeurIPS paper and its long version.

The copy at hand of the long version has no formulas; what is not restated by the short one or by LZCW21 is
derived as its proof says.

References
----------
BTT18: R. Bassily, O. Thakkar, A. Thakurta. Model-agnostic private learning. NeurIPS 2018. BTT18 long:
Model-agnostic private learning via stability. arXiv 1803.05101, 2018.
"""

from __future__ import annotations

from math import log, sqrt

from pate_cli.privacy.svt import printed_cutoff, printed_teachers

from .problem import CONSTANT, EXPLICIT, LOGS, SLIP, Row, Statement, TheoryProblem, numbered

__all__ = ["BTT18"]

BTT18: list[Statement] = []
"""In the order of the papers."""


@numbered(BTT18, "BTT18 Theorem 3.2", "A_binClas (SVT), learners of error gamma + alpha")
def _btt_3_2(p: TheoryProblem) -> list[Row]:
    """Theorem 3.2, on which 3.4 and 3.5 rest, has every constant."""
    cutoff = printed_cutoff(p.gamma + p.alpha, p.m, p.beta)
    teachers = printed_teachers(p.eps, p.delta, p.m, cutoff, p.beta)
    return [
        ("T, unstable answers", cutoff, EXPLICIT),
        ("k, teachers", teachers, EXPLICIT),
        ("misclassification rate, at most T/m", cutoff / p.m, EXPLICIT, "error"),
    ]


@numbered(BTT18, "BTT18 Lemma 3.3", "how often k classifiers err together")
def _btt_3_3(p: TheoryProblem) -> list[Row]:
    """The counting argument, at the share of a third of Theorem 3.2."""
    mistakes = printed_cutoff(p.gamma + p.alpha, p.m, p.beta) / 3
    return [
        ("B, mistakes of a teacher on m queries, at most", mistakes, EXPLICIT),
        ("queries on which over a third err, fewer than B/xi", 3 * mistakes, EXPLICIT),
    ]


@numbered(BTT18, "BTT18 Theorem 3.4", "A_binClas (SVT), realizable")
def _btt_3_4(p: TheoryProblem) -> list[Row]:
    most = p.eps * p.n / p.d
    small = p.d / (p.eps * p.n)
    rate = small if p.m <= most else p.m * (p.d / (p.eps * p.n)) ** 2
    return [
        ("M, queries at the non-private rate", most, LOGS),
        ("misclassification rate of m queries", rate, LOGS, "error"),
    ]


@numbered(BTT18, "BTT18 Theorem 3.5", "A_binClas (SVT), agnostic")
def _btt_3_5(p: TheoryProblem) -> list[Row]:
    root = sqrt(p.eps * p.n / p.d)
    most = root if p.gamma == 0 else min(1 / p.gamma, root)
    excess = 1 / root if p.m <= most else p.m ** (1 / 3) * (p.d / (p.eps * p.n)) ** (2 / 3)
    return [
        ("M, queries at the non-private rate", most, LOGS),
        ("misclassification rate of m queries", p.gamma + excess, LOGS, "error"),
    ]


@numbered(BTT18, "BTT18 Claim 4.1", "the private classifier")
def _btt_claim_4_1(p: TheoryProblem) -> list[Row]:
    """``7 alpha`` follows for ``beta <= alpha``, m as asked for, and gamma up to about 3 alpha.

    The proof bounds ``E[v_t]`` by ``beta + T/m``, and prints the square root in it without its factor.
    """
    asked = 4 * log(1 / (p.alpha * p.beta)) / p.alpha
    proved = p.beta + printed_cutoff(p.gamma + p.alpha, max(p.m, asked), p.beta) / max(p.m, asked)
    printed = 3 * p.gamma + 7 * p.alpha
    return [
        ("m, queries, at least", asked, EXPLICIT),
        ("error of h_priv, 3 gamma + 7 alpha", printed, EXPLICIT if proved <= printed else SLIP, "error"),
        ("error of h_priv, beta + T/m of its proof", proved, EXPLICIT, "error"),
    ]


def _public_agnostic(p: TheoryProblem) -> Row:
    return ("m, public points", (p.d + log(1 / p.beta)) / p.alpha**2, CONSTANT)


@numbered(BTT18, "BTT18 Theorem 4.2", "A_priv (SVT, then a student), realizable")
def _btt_4_2(p: TheoryProblem) -> list[Row]:
    return [
        ("n, private records", p.d**1.5 / (p.eps * p.alpha**1.5), LOGS),
        _public_agnostic(p),
        ("error of the student, 15 alpha", 15 * p.alpha, EXPLICIT, "error"),
    ]


@numbered(BTT18, "BTT18 Remark 2", "Theorem 4.2 with an ERM student")
def _btt_remark_2(p: TheoryProblem) -> list[Row]:
    return [
        ("n, private records", p.d**1.5 / (p.eps * p.alpha), LOGS),
        ("m, public points", p.d / p.alpha, LOGS),
    ]


@numbered(BTT18, "BTT18 Remark 3", "Theorem 4.2 with teachers of error 1/m")
def _btt_remark_3(p: TheoryProblem) -> list[Row]:
    return [
        ("n, private records", p.d**2 / (p.eps * p.alpha), LOGS),
        ("m, public points", p.d / p.alpha, LOGS),
    ]


@numbered(BTT18, "BTT18 Theorem 4.3", "A_priv (SVT, then a student), agnostic")
def _btt_4_3(p: TheoryProblem) -> list[Row]:
    return [
        ("n, private records", p.d**1.5 / (p.eps * p.alpha**2.5), LOGS),
        _public_agnostic(p),
        ("error of the student, alpha + gamma", p.alpha + p.gamma, CONSTANT, "error"),
    ]


def _long_cutoff(p: TheoryProblem) -> float:
    """T of Corollary 4.1, by Hoeffding's bound where the short version has Chernoff's."""
    return 3 * ((p.gamma + p.alpha) * p.m + sqrt(p.m * log(p.m / p.beta) / 2))


@numbered(BTT18, "BTT18 long Theorem 2.8", "the plain sparse vector technique")
def _long_2_8(p: TheoryProblem) -> list[Row]:
    cutoff = _long_cutoff(p)
    far = log(2 * p.m * cutoff / p.beta) * sqrt(512 * cutoff * log(1 / p.delta)) / p.eps
    return [("distance above w that is told, at T of Corollary 4.1", far, EXPLICIT)]


def _union(p: TheoryProblem, cutoff: float) -> float:
    """Logarithm that BTT18's union bounds have, ``ln(4 m T/min(delta, beta/2))``; for T of at least 1."""
    return log(4 * p.m * max(1.0, cutoff) / min(p.delta, p.beta / 2))


@numbered(BTT18, "BTT18 long Corollary 3.9", "stable queries online")
def _long_3_9(p: TheoryProblem) -> list[Row]:
    cutoff = _long_cutoff(p)
    stable = 32 * _union(p, cutoff) * sqrt(2 * cutoff * log(2 / p.delta)) / p.eps
    return [("distance to instability that is answered, same T", stable, EXPLICIT)]


@numbered(BTT18, "BTT18 long Theorem 3.11", "sub-sample and aggregate")
def _long_3_11(p: TheoryProblem) -> list[Row]:
    """K as LZCW21's Lemma 3 restates it; k of the short version's Algorithm 2 is twice that.

    Two thirds that agree have a distance of ``K/6 - 1``, of sensitivity 1, and Algorithm 3 with lambda =
    ``sqrt(32 T ln(2/delta))/eps`` needs up to 5 lambda times the logarithm: more than K/6 is.
    """
    cutoff = _long_cutoff(p)
    printed = 136 * _union(p, cutoff) * sqrt(cutoff * log(2 / p.delta)) / p.eps
    scale = sqrt(32 * cutoff * log(2 / p.delta)) / p.eps
    return [
        ("k, teachers, same T", printed, SLIP),
        ("k, for a distance of sensitivity 1", 6 * (5 * scale * _union(p, cutoff) + 1), EXPLICIT),
    ]


@numbered(BTT18, "BTT18 long Corollary 4.1", "binary classification, by Hoeffding")
def _long_4_1(p: TheoryProblem) -> list[Row]:
    cutoff = _long_cutoff(p)
    return [
        ("T, unstable answers", cutoff, EXPLICIT),
        ("misclassification rate, at most T/m", cutoff / p.m, EXPLICIT, "error"),
    ]


@numbered(BTT18, "BTT18 long Theorem 4.3", "queries, realizable")
def _long_4_3(p: TheoryProblem) -> list[Row]:
    size = p.d * sqrt(p.m / p.alpha) / p.eps
    return [("n, private records, for a misclassification rate alpha", size, LOGS)]


@numbered(BTT18, "BTT18 long Theorem 4.4", "queries, agnostic")
def _long_4_4(p: TheoryProblem) -> list[Row]:
    size = p.d * sqrt(p.m) / (p.eps * p.alpha**1.5)
    return [("n, private records, for a rate of alpha + O(gamma)", size, LOGS)]


@numbered(BTT18, "BTT18 long Claim 4.5", "the private classifier")
def _long_claim_4_5(p: TheoryProblem) -> list[Row]:
    return [("error of h_priv, alpha + gamma", p.alpha + p.gamma, CONSTANT, "error")]


@numbered(BTT18, "BTT18 long Theorem 4.6", "label-private learner, realizable")
def _long_4_6(p: TheoryProblem) -> list[Row]:
    return [*_btt_4_2(p)[:2], ("error of the student, alpha", p.alpha, CONSTANT, "error")]


numbered(BTT18, "BTT18 long Theorem 4.7", "label-private learner, agnostic")(_btt_4_3)


@numbered(BTT18, "BTT18 long Theorem 5.6", "soft labels")
def _long_5_6(p: TheoryProblem) -> list[Row]:
    """Corollary 3.9 with two tests a query: 2m for m and 2T for T."""
    cutoff = 2 * _long_cutoff(p)
    stable = 32 * (_union(p, cutoff) + log(2)) * sqrt(2 * cutoff * log(2 / p.delta)) / p.eps
    return [("stability of a histogram that is answered, same T", stable, EXPLICIT)]
