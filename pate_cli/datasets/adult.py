"""The Adult (Census Income) dataset from its raw UCI files: 48,842 records, 108 features.

The encoding is fixed, nothing is computed from the records. Categories are those that UCI's `adult.names`
lists, with "?", a missing value, where it occurs. Numbers are scaled to [0, 1] over round ranges and clipped.
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from pate_cli.datasets.known_files import Options, joined
from pate_cli.datasets.labels import Labels
from pate_cli.datasets.reading import read_bytes
from pate_cli.datasets.three_files import LoadedFile
from pate_cli.errors import DataError
from pate_cli.types import Dataset

__all__ = ["CATEGORIES", "NUMBERS", "Options", "load"]

_COLUMNS = (
    "age workclass fnlwgt education education-num marital-status occupation relationship race sex"
    " capital-gain capital-loss hours-per-week native-country"
)

NUMBERS: dict[str, tuple[float, float]] = {
    "age": (0, 100),
    "fnlwgt": (0, 1_000_000),
    "education-num": (1, 16),  # the 16 levels of education
    "capital-gain": (0, 100_000),
    "capital-loss": (0, 10_000),
    "hours-per-week": (0, 100),
}
"""Range of each number."""

CATEGORIES: dict[str, list[str]] = {
    name: values.split()
    for name, values in {
        "workclass": (
            "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay Never-worked ?"
        ),
        "education": (
            "Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc 9th 7th-8th 12th Masters"
            " 1st-4th 10th Doctorate 5th-6th Preschool"
        ),
        "marital-status": (
            "Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent"
            " Married-AF-spouse"
        ),
        "occupation": (
            "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty Handlers-cleaners"
            " Machine-op-inspct Adm-clerical Farming-fishing Transport-moving Priv-house-serv Protective-serv"
            " Armed-Forces ?"
        ),
        "relationship": "Wife Own-child Husband Not-in-family Other-relative Unmarried",
        "race": "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black",
        "sex": "Female Male",
        "native-country": (
            "United-States Cambodia England Puerto-Rico Canada Germany Outlying-US(Guam-USVI-etc) India Japan"
            " Greece South China Cuba Iran Honduras Philippines Italy Poland Jamaica Vietnam Mexico Portugal"
            " Ireland France Dominican-Republic Laos Ecuador Taiwan Haiti Columbia Hungary Guatemala"
            " Nicaragua Scotland Thailand Yugoslavia El-Salvador Trinadad&Tobago Peru Hong"
            " Holand-Netherlands ?"
        ),
    }.items()
}
"""Categories of each other column, as `adult.names` lists them."""


def load(name: str, options: Options) -> Dataset:
    """Load `adult.data` and `adult.test`, joined.

    `X` is a csr_matrix of shape (48842, 108): the numbers in [0, 1], then the one-hot categories.

    References
    ----------
    Becker and Kohavi (1996), Adult, UCI Machine Learning Repository.
    """
    return joined(name, _parse)


def _parse(path: Path) -> LoadedFile:
    """Read one file; refuses cells that the documentation does not list."""
    import pandas as pd
    import scipy.sparse as sp

    content, checksum = read_bytes(path)
    try:
        table = pd.read_csv(
            io.BytesIO(content),
            names=[*_COLUMNS.split(), "income"],
            skipinitialspace=True,
            keep_default_na=False,
            comment="|",  # the first line of adult.test
            dtype=dict.fromkeys(NUMBERS, np.float64) | dict.fromkeys([*CATEGORIES, "income"], str),
        )
    except ValueError as error:  # pandas' parser errors among them
        raise DataError(f"{path}: not a file of the Adult dataset ({error})") from None
    table["income"] = table["income"].str.removesuffix(".")  # adult.test adds it
    for column, categories in (CATEGORIES | {"income": ["<=50K", ">50K"]}).items():
        strange = ~table[column].isin(categories)
        if strange.any():
            value = table.loc[strange, column].iloc[0]
            raise DataError(f"{path}: {column} has {value!r}, which adult.names does not list")
    low, high = np.array(list(NUMBERS.values()), dtype=np.float64).T
    scaled = np.clip((table[list(NUMBERS)].to_numpy(dtype=np.float64) - low) / (high - low), 0.0, 1.0)
    flags = [
        table[name].to_numpy()[:, None] == np.array(categories) for name, categories in CATEGORIES.items()
    ]
    labels = Labels.of(table["income"].to_numpy(dtype=str))
    return LoadedFile(path, sp.csr_matrix(np.hstack([scaled, *flags])), labels, checksum, str)
