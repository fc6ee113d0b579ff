"""Every sample-complexity statement of the four papers, evaluated on one problem.

A quantity is either `explicit` (the paper, or its proofs, give every constant) or known
`up to a constant` (and, where the paper writes a tilde, logarithms), in which case the
number shown is the expression with the constant 1: good for comparing like with like as
n, m or eps change, and for nothing else.

References
----------
BTT18: R. Bassily, O. Thakkar, A. Thakurta. Model-agnostic private learning. NeurIPS 2018.
NB20: A. Nandi, R. Bassily. Privately answering classification queries in the agnostic PAC
model. ALT 2020.
LZCW21: C. Liu, Y. Zhu, K. Chaudhuri, Y.-X. Wang. Revisiting model-agnostic private learning:
faster rates and active learning. JMLR 2021.
LWY25: B. Li, W. Wang, P. Ye. Private realizable-to-agnostic transformation with near-optimal
sample complexity. COLT 2025.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log, sqrt
from typing import Literal, TypeAlias

from pate_cli.studies import rates
from pate_cli.theory.problem import TheoryProblem

__all__ = ["STATEMENTS", "Quantity", "Statement"]

Constants: TypeAlias = Literal["explicit", "up to a constant", "up to a constant and logs"]

EXPLICIT: Constants = "explicit"
CONSTANT: Constants = "up to a constant"
LOGS: Constants = "up to a constant and logs"


@dataclass(frozen=True)
class Quantity:
    """One number that a statement gives.

    Attributes
    ----------
    name : str
        What it is.
    value : float
        inf where the statement gives none for this problem.
    constants : {"explicit", "up to a constant", "up to a constant and logs"}
    kind : {"size", "error"}
        A number of records, points or teachers; or a probability, which says nothing from 1 on.
    """

    name: str
    value: float
    constants: Constants
    kind: Literal["size", "error"] = "size"


@dataclass(frozen=True)
class Statement:
    """A theorem as a function of the problem.

    Attributes
    ----------
    source : str
        Paper and number.
    about : str
        Algorithm and setting.
    evaluate : callable
        From a `TheoryProblem` to quantities.
    """

    source: str
    about: str
    evaluate: Callable[[TheoryProblem], Sequence[Quantity]]


def _btt_3_4(p: TheoryProblem) -> list[Quantity]:
    most = p.eps * p.n / p.d
    small = p.d / (p.eps * p.n)
    rate = small if p.m <= most else p.m * (p.d / (p.eps * p.n)) ** 2
    return [
        Quantity("M, queries at the non-private rate", most, LOGS),
        Quantity("misclassification rate of m queries", rate, LOGS, "error"),
    ]


def _btt_3_5(p: TheoryProblem) -> list[Quantity]:
    root = sqrt(p.eps * p.n / p.d)
    most = root if p.gamma == 0 else min(1 / p.gamma, root)
    excess = 1 / root if p.m <= most else p.m ** (1 / 3) * (p.d / (p.eps * p.n)) ** (2 / 3)
    return [
        Quantity("M, queries at the non-private rate", most, LOGS),
        Quantity("misclassification rate of m queries", p.gamma + excess, LOGS, "error"),
    ]


def _btt_3_2(p: TheoryProblem) -> list[Quantity]:
    """Theorem 3.2, on which 3.4 and 3.5 rest, has every constant."""
    wrong = p.gamma + p.alpha
    cutoff = 3 * (wrong * p.m + sqrt(wrong * p.m * log(p.m / p.beta) / 2))
    scale = sqrt(32 * cutoff * log(2 / p.delta)) / p.eps
    teachers = 34 * sqrt(2) * scale * log(4 * p.m * cutoff / min(p.delta, p.beta / 2))
    return [
        Quantity("T, unstable answers", cutoff, EXPLICIT),
        Quantity("k, teachers", teachers, EXPLICIT),
        Quantity("misclassification rate, at most T/m", cutoff / p.m, EXPLICIT, "error"),
    ]


def _public_agnostic(p: TheoryProblem) -> Quantity:
    return Quantity("m, public points", (p.d + log(1 / p.beta)) / p.alpha**2, CONSTANT)


def _btt_4_2(p: TheoryProblem) -> list[Quantity]:
    return [
        Quantity("n, private records", p.d**1.5 / (p.eps * p.alpha**1.5), LOGS),
        _public_agnostic(p),
        Quantity("error of the student, 15 alpha", 15 * p.alpha, EXPLICIT, "error"),
    ]


def _btt_4_3(p: TheoryProblem) -> list[Quantity]:
    return [
        Quantity("n, private records", p.d**1.5 / (p.eps * p.alpha**2.5), LOGS),
        _public_agnostic(p),
        Quantity("error of the student, alpha + gamma", p.alpha + p.gamma, CONSTANT, "error"),
    ]


def _nb_size(p: TheoryProblem, queries: float, factor: float) -> float:
    inner = p.d * log(1 / p.alpha) + log(queries / p.beta)
    stable: float = log(2 / p.delta) ** 1.5 * log(max(math.e, queries * p.alpha / min(p.delta, p.beta / 2)))
    return inner * stable * factor / (p.eps * p.alpha**2)


def _nb_7(p: TheoryProblem) -> list[Quantity]:
    """Lemma 9 is proved for ``n' = eps n/56`` records, of which its proof asks 8000 times the expression."""
    size = _nb_size(p, p.m, max(1.0, sqrt(p.m) * p.alpha**1.5))
    relabel = 56 / p.eps * 256 * (p.d + log(3 / p.beta)) / p.alpha**2
    return [
        Quantity("n, private records", size, CONSTANT),
        Quantity("n, with the 8000 of Lemma 9's proof", 56 * 8000 * size, EXPLICIT),
        Quantity("n for the relabelling alone (Lemma 6)", relabel, EXPLICIT),
        Quantity("m, queries, at least (Lemma 9)", 8 * log(1 / (p.alpha * p.beta)) / p.alpha, EXPLICIT),
        Quantity("misclassification rate, alpha + gamma", p.alpha + p.gamma, EXPLICIT, "error"),
    ]


def _nb_11(p: TheoryProblem) -> list[Quantity]:
    first = 32 * (p.d * log(1 / p.alpha) + log(1 / p.beta)) / p.alpha
    factor = max(1.0, sqrt(p.d) * p.alpha * sqrt(log(1 / p.alpha)))
    return [
        Quantity("n, private records, for any m", _nb_size(p, first, factor), CONSTANT),
        Quantity("m_o, queries before the semi-private learner", first, EXPLICIT),
        Quantity("misclassification rate, alpha + gamma", p.alpha + p.gamma, EXPLICIT, "error"),
    ]


def _lwy_3_6(p: TheoryProblem) -> list[Quantity]:
    generalise = (p.d * log(1 / p.alpha) + log(1 / p.beta)) / (p.alpha * p.eps)
    agnostic = (p.d + log(1 / p.beta)) / p.alpha**2
    return [
        Quantity("n, beyond the realizable learner's own", generalise + agnostic, CONSTANT),
        Quantity("of it without privacy, (d + ln 1/beta)/alpha^2", agnostic, CONSTANT),
    ]


def _lwy_4_2(p: TheoryProblem) -> list[Quantity]:
    once = log(1 / p.alpha)
    private = p.d * once**2 + once * log(max(math.e, once / p.beta))
    agnostic = (p.d + log(1 / p.beta)) / p.alpha**2
    return [
        Quantity("n, private records, one query", private / (p.alpha * p.eps) + agnostic, CONSTANT),
        Quantity("r, teachers of the inner eps = 1 (Lemma 4.1)", math.ceil(6 * log(4 / p.alpha)), EXPLICIT),
    ]


def _rate(p: TheoryProblem, algorithm: str, *, realizable: bool) -> float:
    problem = rates.Problem(p.d, p.tau, p.theta, p.gamma)
    return rates.rate(algorithm, p.n, p.m, p.eps, problem, realizable=realizable)


def _with_constants(p: TheoryProblem, algorithm: str) -> Quantity:
    value = rates.EXPLICIT[algorithm](p.n, p.m, p.eps, p.delta, p.beta, p.d)
    return Quantity("error, realizable, the proof's constants", value, EXPLICIT, "error")


def _lzcw_5(p: TheoryProblem) -> list[Quantity]:
    wrong = p.gamma + p.alpha
    cutoff = 3 * (wrong * p.m + sqrt(p.m * log(p.m / p.beta) / 2))
    return [
        Quantity("T, at a teacher's error of gamma + alpha", cutoff, EXPLICIT),
        Quantity("error, realizable", _rate(p, "svt before", realizable=True), LOGS, "error"),
        Quantity("error, agnostic", _rate(p, "svt before", realizable=False), LOGS, "error"),
        _with_constants(p, "svt before"),
    ]


def _lzcw_10(p: TheoryProblem) -> list[Quantity]:
    power = 2 / (4 - 3 * p.tau)
    cutoff = (p.m ** (2 - p.tau) * (p.d / (p.n * p.eps)) ** p.tau) ** power
    return [
        Quantity("T, unstable answers", cutoff, LOGS),
        Quantity("excess risk", _rate(p, "svt", realizable=False), LOGS, "error"),
        _with_constants(p, "svt"),
    ]


def _high_margin(p: TheoryProblem) -> tuple[float, float, float]:
    """T and K of Proposition 18: K as printed, and as its proof needs it for the distance of Algorithm 2.

    The proof compares the margin ``n1 - n2``, at least ``2 K xi - sqrt(2 K ln(3m/gamma))``, to the
    threshold; Algorithm 2 compares ``ceil((n1 - n2)/2) - 1``, which may be half of that less one. With
    the noise that the proof allows, ``x = sqrt(K)`` solves ``xi x^2 - sqrt(ln(3m/gamma)/2) x = need``.
    """
    rare = log(3 / p.beta)
    cutoff = p.nu * p.m + sqrt(2 * p.nu * p.m * rare) + 2 / 3 * rare
    inverse = log(2 / p.delta)
    scale = (sqrt(2 * cutoff * (p.eps + inverse)) + sqrt(2 * cutoff * inverse)) / p.eps
    union = log(3 * p.m / p.beta)
    printed = max(2 * union / p.xi**2, 3 * scale * (log(4 * p.m / p.delta) + union) / p.xi)
    draws = p.m + cutoff
    need = 1 + 3 * scale * (log(2 * draws / p.delta) + log(3 * draws / (2 * p.beta)))
    spread = sqrt(union / 2)
    root = (spread + sqrt(spread**2 + 4 * p.xi * need)) / (2 * p.xi)
    return cutoff, printed, root**2


def _lzcw_19(p: TheoryProblem) -> list[Quantity]:
    cutoff, printed, teachers = _high_margin(p)
    return [
        Quantity("T, unstable answers (Proposition 18)", cutoff, EXPLICIT),
        Quantity("K, teachers (Proposition 18, as printed)", printed, EXPLICIT),
        Quantity("K, for the distance that Algorithm 2 tests", teachers, EXPLICIT),
        Quantity("excess over the vote, 2T/m of it", 2 * cutoff / p.m, EXPLICIT, "error"),
        Quantity("and sqrt(d/m)", sqrt(p.d / p.m), LOGS, "error"),
    ]


def _lzcw_20(p: TheoryProblem) -> list[Quantity]:
    cutoff, _, teachers = _high_margin(p)
    bound = 4 * cutoff / p.m + 5 * (teachers * p.d + log(4 / p.beta)) / p.m
    return [Quantity("excess over the vote, a voting student", bound, EXPLICIT, "error")]


def _gaussian_teachers(p: TheoryProblem, queries: float) -> float:
    inverse = log(1 / p.delta)
    return 6 * sqrt(log(2 * p.n)) * (sqrt(queries * inverse) + sqrt(queries * (inverse + p.eps))) / p.eps


def _lzcw_22(p: TheoryProblem) -> list[Quantity]:
    """The number of labels at the excess risk `alpha`."""
    spread = log(1 / p.alpha)
    labels = p.theta * (1 + spread) * (p.d * log(p.theta) + log(max(math.e, spread) / (p.beta / 2)))
    return [
        Quantity("ell, labels asked for an excess risk alpha", labels, CONSTANT),
        Quantity("K, teachers, at that ell", _gaussian_teachers(p, labels), CONSTANT),
        Quantity("excess risk", _rate(p, "active", realizable=False), LOGS, "error"),
    ]


def _lzcw_28(p: TheoryProblem) -> list[Quantity]:
    return [
        Quantity("K, teachers, all m points asked", _gaussian_teachers(p, p.m), EXPLICIT),
        Quantity("excess risk", _rate(p, "gaussian", realizable=False), LOGS, "error"),
        _with_constants(p, "gaussian"),
    ]


def _table_1(p: TheoryProblem) -> list[Quantity]:
    problem = rates.Problem(p.d, p.tau, p.theta, p.gamma)
    names = {
        "gaussian": "Gaussian",
        "svt before": "SVT, BTT18",
        "svt": "SVT, LZCW21",
        "active": "active",
    }
    return [
        Quantity(
            f"{name}, {case}",
            rates.printed_rate(key, p.n, p.m, p.eps, problem, realizable=realizable),
            LOGS,
            "error",
        )
        for realizable, case in ((True, "realizable"), (False, f"TNC {p.tau:g}"))
        for key, name in names.items()
    ]


STATEMENTS: tuple[Statement, ...] = (
    Statement("BTT18 Theorem 3.2", "A_binClas (SVT), learners of error gamma + alpha", _btt_3_2),
    Statement("BTT18 Theorem 3.4", "A_binClas (SVT), realizable", _btt_3_4),
    Statement("BTT18 Theorem 3.5", "A_binClas (SVT), agnostic", _btt_3_5),
    Statement("BTT18 Theorem 4.2", "A_priv (SVT, then a student), realizable", _btt_4_2),
    Statement("BTT18 Theorem 4.3", "A_priv (SVT, then a student), agnostic", _btt_4_3),
    Statement("NB20 Theorem 7", "AgPrivCl, agnostic", _nb_7),
    Statement("NB20 Theorem 11", "Universal, agnostic, any number of queries", _nb_11),
    Statement("LWY25 Theorem 3.6", "A_Agnostic over a realizable private learner", _lwy_3_6),
    Statement("LWY25 Theorem 4.2", "private prediction, pure eps a query", _lwy_4_2),
    Statement("LZCW21 Theorem 5", "PSQ with SVT, as BTT18", _lzcw_5),
    Statement("LZCW21 Theorem 10", "PSQ with SVT, Tsybakov noise", _lzcw_10),
    Statement("LZCW21 Theorem 19", "PSQ with SVT, approximate high margin", _lzcw_19),
    Statement("LZCW21 Theorem 20", "the same with a voting student", _lzcw_20),
    Statement("LZCW21 Theorem 22", "ASQ with the Gaussian mechanism", _lzcw_22),
    Statement("LZCW21 Theorem 28", "PSQ with the Gaussian mechanism", _lzcw_28),
    Statement("LZCW21 Table 1", "the best number of points labelled", _table_1),
)
"""In the order of the papers."""
