"""Every sample-complexity statement of the four papers, evaluated on one problem.

A quantity is either `explicit` (the paper, or its proofs, give every constant) or known
`up to a constant` (and, where the paper writes a tilde, logarithms), in which case the
number shown is the expression with the constant 1: good for comparing like with like as
n, m or eps change, and for nothing else. `with a slip` is a number as printed that its proof
does not give here; the quantity after it is what does follow.

References
----------
BTT18: see `statements.btt18`.
NB20: A. Nandi, R. Bassily. Privately answering classification queries in the agnostic PAC
model. ALT 2020.
LZCW21: C. Liu, Y. Zhu, K. Chaudhuri, Y.-X. Wang. Revisiting model-agnostic private learning:
faster rates and active learning. JMLR 2021.
LWY25: B. Li, W. Wang, P. Ye. Private realizable-to-agnostic transformation with near-optimal
sample complexity. COLT 2025.
"""

from __future__ import annotations

import math
from math import log, sqrt

from . import rates
from .btt18 import BTT18
from .problem import CONSTANT, EXPLICIT, LOGS, SLIP, Row, Statement, TheoryProblem, numbered

__all__ = ["STATEMENTS"]

STATEMENTS: list[Statement] = [*BTT18]
"""In the order of the papers."""


@numbered(STATEMENTS, "NB20 Lemma 3", "A_SubSamp (BTT18), realizable")
def _nb_3(p: TheoryProblem) -> list[Row]:
    size = p.d / (p.eps * p.alpha) * max(1.0, sqrt(p.m * p.alpha))
    return [
        ("T, unstable answers", max(1.0, p.m * p.alpha), LOGS),
        ("n, private records", size, LOGS),
    ]


@numbered(STATEMENTS, "NB20 Lemma 4", "A_SubSamp (BTT18), agnostic")
def _nb_4(p: TheoryProblem) -> list[Row]:
    """The number of teachers goes with sqrt(T), and T has gamma in it; the printed n has not."""
    wrong = p.m * (p.alpha + p.gamma)
    excess = p.d / (p.eps * p.alpha**2)
    return [
        ("T, unstable answers", max(1.0, wrong), LOGS),
        (
            "n, private records, as printed",
            excess * max(1.0, sqrt(p.m * p.alpha)),
            LOGS if p.gamma == 0 else SLIP,
        ),
        ("n, private records, with the T above", excess * max(1.0, sqrt(wrong)), LOGS),
        ("misclassification rate, alpha + 3 gamma", p.alpha + 3 * p.gamma, EXPLICIT, "error"),
    ]


def _nb_size(p: TheoryProblem, queries: float, factor: float) -> float:
    inner = p.d * log(1 / p.alpha) + log(queries / p.beta)
    stable: float = log(2 / p.delta) ** 1.5 * log(max(math.e, queries * p.alpha / min(p.delta, p.beta / 2)))
    return inner * stable * factor / (p.eps * p.alpha**2)


@numbered(STATEMENTS, "NB20 Theorem 7", "AgPrivCl, agnostic")
def _nb_7(p: TheoryProblem) -> list[Row]:
    """Lemma 9 is proved for ``n' = eps n/56`` records, of which its proof asks 8000 times the expression."""
    size = _nb_size(p, p.m, max(1.0, sqrt(p.m) * p.alpha**1.5))
    relabel = 56 / p.eps * 256 * (p.d + log(3 / p.beta)) / p.alpha**2
    return [
        ("n, private records", size, CONSTANT),
        ("n, with the 8000 of Lemma 9's proof", 56 * 8000 * size, EXPLICIT),
        ("n for the relabelling alone (Lemma 6)", relabel, EXPLICIT),
        ("m, queries, at least (Lemma 9)", 8 * log(1 / (p.alpha * p.beta)) / p.alpha, EXPLICIT),
        ("misclassification rate, alpha + gamma", p.alpha + p.gamma, EXPLICIT, "error"),
    ]


@numbered(STATEMENTS, "NB20 Lemma 9", "accuracy of AgPrivCl")
def _nb_9(p: TheoryProblem) -> list[Row]:
    size = _nb_size(p, p.m, max(1.0, sqrt(p.m) * p.alpha**1.5)) * p.eps
    return [
        ("n', records relabelled", 8000 * size, EXPLICIT),
        ("m, queries, at least", 8 * log(1 / (p.alpha * p.beta)) / p.alpha, EXPLICIT),
        ("error of a teacher on the relabelled, alpha/24", p.alpha / 24, EXPLICIT, "error"),
    ]


@numbered(STATEMENTS, "NB20 Claim 10", "disagreement rates within alpha, but for beta")
def _nb_claim_10(p: TheoryProblem) -> list[Row]:
    """The bound of its proof, ``2 (e n/d)^(2d) exp(-n alpha^2/8)``, is below beta at the printed n or not.

    n as it does need solves ``n = 8/alpha^2 (2 d ln(e n/d) + ln(2/beta))``, from above.
    """
    printed = 50 * (p.d * log(1 / p.alpha) + log(1 / p.beta)) / p.alpha**2
    needed = 1e3 * max(printed, p.d / p.alpha**4)
    for _ in range(200):
        needed = 8 / p.alpha**2 * (2 * p.d * log(math.e * needed / p.d) + log(2 / p.beta))
    return [
        ("n_o, points, as printed", printed, EXPLICIT if needed <= printed else SLIP),
        ("n_o, points, for the bound of its proof", needed, EXPLICIT),
    ]


@numbered(STATEMENTS, "NB20 Theorem 11", "Universal, agnostic, any number of queries")
def _nb_11(p: TheoryProblem) -> list[Row]:
    first = 32 * (p.d * log(1 / p.alpha) + log(1 / p.beta)) / p.alpha
    factor = max(1.0, sqrt(p.d) * p.alpha * sqrt(log(1 / p.alpha)))
    return [
        ("n, private records, for any m", _nb_size(p, first, factor), CONSTANT),
        ("m_o, queries before the semi-private learner", first, EXPLICIT),
        ("misclassification rate, alpha + gamma", p.alpha + p.gamma, EXPLICIT, "error"),
    ]


@numbered(STATEMENTS, "NB20 Remark 12", "the same built on BTT18")
def _nb_remark_12(p: TheoryProblem) -> list[Row]:
    return [("n, private records, at a constant eps", p.d / p.alpha**2 * max(1.0, sqrt(p.d)), LOGS)]


@numbered(STATEMENTS, "LWY25 Lemma 2.10", "privacy generalises")
def _lwy_2_10(p: TheoryProblem) -> list[Row]:
    """For a learner of empirical error alpha; no bound from eps delta n = 1 on."""
    unlikely = p.eps * p.delta * p.n
    if unlikely >= 1:
        bound = failure = math.inf
    else:
        spread = log(1 / unlikely)
        bound = math.exp(2 * p.eps) * (p.alpha + 10 / (p.eps * p.n) * spread)
        failure = unlikely / spread
    return [
        ("error beyond the records, of an empirical one alpha", bound, EXPLICIT, "bound"),
        ("probability of failure", failure, CONSTANT, "bound"),
    ]


@numbered(STATEMENTS, "LWY25 Claim 3.2", "A_Relabel")
def _lwy_claim_3_2(p: TheoryProblem) -> list[Row]:
    relabelled = (p.d * log(1 / p.alpha) + log(1 / p.beta)) / p.alpha
    rest = max((p.d + log(1 / p.beta)) / p.alpha**2, relabelled / (6 * p.eps))
    return [
        ("|T|, records relabelled", relabelled, CONSTANT),
        ("|W|, the others", rest, CONSTANT),
        ("error of what relabels, alpha + gamma", p.alpha + p.gamma, EXPLICIT, "error"),
    ]


@numbered(STATEMENTS, "LWY25 Lemma 3.4", "A_Agnostic over an empirical learner")
def _lwy_3_4(p: TheoryProblem) -> list[Row]:
    """Of an inner (1, delta)-DP empirical learner, of m' records."""
    size = _lwy_3_6(p)[0][1]
    return [
        ("n, beyond m'/eps of the inner empirical learner", size, CONSTANT),
        ("probability of failure, beta + eps n delta", p.beta + p.eps * p.n * p.delta, CONSTANT, "bound"),
    ]


@numbered(STATEMENTS, "LWY25 Theorem 3.6", "A_Agnostic over a realizable private learner")
def _lwy_3_6(p: TheoryProblem) -> list[Row]:
    generalise = (p.d * log(1 / p.alpha) + log(1 / p.beta)) / (p.alpha * p.eps)
    agnostic = (p.d + log(1 / p.beta)) / p.alpha**2
    return [
        ("n, beyond the realizable learner's own", generalise + agnostic, CONSTANT),
        ("of it without privacy, (d + ln 1/beta)/alpha^2", agnostic, CONSTANT),
    ]


@numbered(STATEMENTS, "LWY25 Theorem 4.2", "private prediction, pure eps a query")
def _lwy_4_2(p: TheoryProblem) -> list[Row]:
    once = log(1 / p.alpha)
    private = p.d * once**2 + once * log(max(math.e, once / p.beta))
    agnostic = (p.d + log(1 / p.beta)) / p.alpha**2
    return [
        ("n, private records, one query", private / (p.alpha * p.eps) + agnostic, CONSTANT),
        ("r, teachers of the inner eps = 1 (Lemma 4.1)", math.ceil(6 * log(4 / p.alpha)), EXPLICIT),
    ]


def _rate(p: TheoryProblem, algorithm: str, *, realizable: bool) -> float:
    problem = rates.Problem(p.d, p.tau, p.theta, p.gamma)
    return rates.rate(algorithm, p.n, p.m, p.eps, problem, realizable=realizable)


def _with_constants(p: TheoryProblem, algorithm: str) -> Row:
    value = rates.EXPLICIT[algorithm](p.n, p.m, p.eps, p.delta, p.beta, p.d)
    return ("error, realizable, the proof's constants", value, EXPLICIT, "error")


@numbered(STATEMENTS, "LZCW21 Theorem 5", "PSQ with SVT, as BTT18")
def _lzcw_5(p: TheoryProblem) -> list[Row]:
    wrong = p.gamma + p.alpha
    cutoff = 3 * (wrong * p.m + sqrt(p.m * log(p.m / p.beta) / 2))
    return [
        ("T, at a teacher's error of gamma + alpha", cutoff, EXPLICIT),
        ("error, realizable", _rate(p, "svt before", realizable=True), LOGS, "error"),
        ("error, agnostic", _rate(p, "svt before", realizable=False), LOGS, "error"),
        _with_constants(p, "svt before"),
    ]


@numbered(STATEMENTS, "LZCW21 Theorem 10", "PSQ with SVT, Tsybakov noise")
def _lzcw_10(p: TheoryProblem) -> list[Row]:
    power = 2 / (4 - 3 * p.tau)
    cutoff = (p.m ** (2 - p.tau) * (p.d / (p.n * p.eps)) ** p.tau) ** power
    return [
        ("T, unstable answers", cutoff, LOGS),
        ("excess risk", _rate(p, "svt", realizable=False), LOGS, "error"),
        _with_constants(p, "svt"),
    ]


def _high_margin(p: TheoryProblem) -> tuple[float, float, float]:
    return rates.high_margin_sizes(p.eps, p.delta, p.m, p.beta, nu=p.nu, xi=p.xi)


@numbered(STATEMENTS, "LZCW21 Theorem 19", "PSQ with SVT, approximate high margin")
def _lzcw_19(p: TheoryProblem) -> list[Row]:
    cutoff, printed, teachers = _high_margin(p)
    return [
        ("T, unstable answers (Proposition 18)", cutoff, EXPLICIT),
        ("K, teachers (Proposition 18, as printed)", printed, EXPLICIT),
        ("K, for the distance that Algorithm 2 tests", teachers, EXPLICIT),
        ("excess over the vote, 2T/m of it", 2 * cutoff / p.m, EXPLICIT, "error"),
        ("and sqrt(d/m)", sqrt(p.d / p.m), LOGS, "error"),
    ]


@numbered(STATEMENTS, "LZCW21 Theorem 20", "the same with a voting student")
def _lzcw_20(p: TheoryProblem) -> list[Row]:
    cutoff, _, teachers = _high_margin(p)
    bound = 4 * cutoff / p.m + 5 * (teachers * p.d + log(4 / p.beta)) / p.m
    return [("excess over the vote, a voting student", bound, EXPLICIT, "error")]


def _gaussian_teachers(p: TheoryProblem, queries: float) -> float:
    inverse = log(1 / p.delta)
    return 6 * sqrt(log(2 * p.n)) * (sqrt(queries * inverse) + sqrt(queries * (inverse + p.eps))) / p.eps


@numbered(STATEMENTS, "LZCW21 Theorem 22", "ASQ with the Gaussian mechanism")
def _lzcw_22(p: TheoryProblem) -> list[Row]:
    """The number of labels at the excess risk `alpha`."""
    spread = log(1 / p.alpha)
    labels = p.theta * (1 + spread) * (p.d * log(p.theta) + log(max(math.e, spread) / (p.beta / 2)))
    return [
        ("ell, labels asked for an excess risk alpha", labels, CONSTANT),
        ("K, teachers, at that ell", _gaussian_teachers(p, labels), CONSTANT),
        ("excess risk", _rate(p, "active", realizable=False), LOGS, "error"),
    ]


@numbered(STATEMENTS, "LZCW21 Theorem 28", "PSQ with the Gaussian mechanism")
def _lzcw_28(p: TheoryProblem) -> list[Row]:
    return [
        ("K, teachers, all m points asked", _gaussian_teachers(p, p.m), EXPLICIT),
        ("excess risk", _rate(p, "gaussian", realizable=False), LOGS, "error"),
        _with_constants(p, "gaussian"),
    ]


@numbered(STATEMENTS, "LZCW21 Table 1", "the best number of points labelled")
def _table_1(p: TheoryProblem) -> list[Row]:
    problem = rates.Problem(p.d, p.tau, p.theta, p.gamma)
    names = ("Gaussian", "SVT, BTT18", "SVT, LZCW21", "active")

    def printed(key: str, realizable: bool) -> float:
        return rates.printed_rate(key, p.n, p.m, p.eps, problem, realizable=realizable)

    return [
        (f"{name}, {case}", printed(key, case == "realizable"), LOGS, "error")
        for case in ("realizable", f"TNC {p.tau:g}")
        for key, name in zip(rates.ALGORITHMS, names, strict=True)
    ]
