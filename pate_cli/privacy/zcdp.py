"""Zero-concentrated differential privacy and its conversions.

References
----------
.. [1] M. Bun, T. Steinke. Concentrated differential privacy. TCC 2016.
.. [2] C. Canonne, G. Kamath, T. Steinke. The discrete Gaussian for differential
   privacy. NeurIPS 2020, Corollary 13.
"""

from __future__ import annotations

import math

from scipy.optimize import minimize_scalar

__all__ = ["eps_simple", "eps_tight", "rho_of_eps"]


def eps_simple(rho: float, delta: float) -> float:
    """Eps of rho-zCDP at delta: ``rho + 2 sqrt(rho ln(1/delta))`` (Bun and Steinke, Prop. 1.3)."""
    return rho + 2 * math.sqrt(rho * math.log(1 / delta))


def rho_of_eps(eps: float, delta: float) -> float:
    """Rho at which `eps_simple` gives `eps`; the inverse used by LZCW21's Algorithms 1 and 2."""
    log_inv = math.log(1 / delta)
    root = eps / (math.sqrt(log_inv + eps) + math.sqrt(log_inv))  # without cancellation
    return root * root


def eps_tight(rho: float, delta: float) -> float:
    """Smallest eps of rho-zCDP at delta over all Renyi orders.

    Notes
    -----
    Minimises ``rho a + (ln(1/delta) + (a - 1) ln(1 - 1/a) - ln a) / (a - 1)`` over orders
    a > 1 (Canonne, Kamath, Steinke, Corollary 13, solved for eps); never above `eps_simple`,
    and a valid bound at whichever order the search ends.
    """
    if rho == 0:
        return 0.0
    log_inv = math.log(1 / delta)

    def at(log_order: float) -> float:
        above = math.exp(log_order)  # a - 1
        order = 1 + above
        return rho * order + (log_inv - math.log(order)) / above + math.log(above / order)

    centre = 0.5 * math.log(log_inv / rho)
    found = minimize_scalar(at, bounds=(centre - 12, centre + 12), method="bounded", options={"xatol": 1e-10})
    return max(0.0, min(float(found.fun), eps_simple(rho, delta)))
