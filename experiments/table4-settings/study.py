"""Settings of Table 4 that the paper does not state, against its printed numbers."""

from ..common.settings import CHECKS, finish

__all__ = ["CHECKS", "finish"]
