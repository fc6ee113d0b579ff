"""A view in a page: ``pate page DIR --view pate_exponential.views.extremes``."""

from __future__ import annotations

import pandas as pd


def extremes(repeats: pd.DataFrame) -> pd.DataFrame:
    """Extremes of the accuracy over splits."""
    done = repeats[repeats["status"] == "ok"]
    return done.groupby(["method", "eps"])["accuracy"].agg(["min", "max", "std"]).reset_index()
