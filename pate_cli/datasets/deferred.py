"""Private records that are put together only if somebody learns from them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from pate_cli.types import IntArray, PrivateRecords

__all__ = ["DeferredRecords"]


class DeferredRecords(PrivateRecords):
    """Private records whose features are made when first asked for. PRIVATE.

    Where the votes of the teachers are known, nobody asks.
    """

    @classmethod
    def of(
        cls,
        features: Callable[[], Any],
        y: IntArray,
        units: IntArray | None,
        blocks: IntArray | None = None,
    ) -> DeferredRecords:
        """Records with labels `y`, of `units`, in `blocks`, and the features that `features()` gives."""
        records = object.__new__(cls)
        vars(records).update(_features=features, y=y, units=units, blocks=blocks)
        return records

    @cached_property
    def X(self) -> Any:
        """Features, of shape (n_private, d)."""
        return vars(self)["_features"]()
