"""The real datasets through their loaders, and Adult's encoding."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
import scipy.sparse as sp

from pate_cli.datasets import load
from pate_cli.datasets.adult import CATEGORIES, NUMBERS, _parse
from pate_cli.errors import DataError

ROW = (
    "39, {workclass}, {fnlwgt}, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male,"
    " 2174, 0, 40, {country}, {label}\n"
)
USUAL = {"workclass": "State-gov", "fnlwgt": "77516", "country": "United-States", "label": "<=50K"}


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "shape", "counts", "classes", "paths"),
    [
        ("mushroom", (8_124, 112), [3_916, 4_208], ("1", "2"), ["mushrooms"]),
        ("a9a", (48_842, 123), [37_155, 11_687], ("-1", "+1"), ["a9a", "a9a.t"]),
        ("adult", (48_842, 108), [37_155, 11_687], ("<=50K", ">50K"), ["adult.data", "adult.test"]),
    ],
)
def test_real_data_has_the_published_sizes(real_data, monkeypatch, name, shape, counts, classes, paths):
    monkeypatch.setenv("PATE_DATA", str(real_data))
    data = load(name)
    assert isinstance(data.X, sp.csr_matrix)
    assert data.X.shape == shape
    assert np.bincount(data.y).tolist() == counts
    assert data.classes == classes
    digests = [hashlib.sha256((real_data / path).read_bytes()).hexdigest() for path in paths]
    both = hashlib.sha256("".join(digests).encode()).hexdigest()
    assert data.checksum == (both if len(paths) > 1 else digests[0])


@pytest.mark.real_data
def test_adult_and_a9a_tell_of_the_same_people(real_data, monkeypatch):
    monkeypatch.setenv("PATE_DATA", str(real_data))
    adult, a9a = load("adult"), load("a9a")
    np.testing.assert_array_equal(adult.y, a9a.y)
    # Eight one-hot groups a record, the missing value among them.
    assert (adult.X[:, len(NUMBERS) :].sum(axis=1) == len(CATEGORIES)).all()
    assert adult.X.min() == 0
    assert adult.X.max() == 1


def _parsed(tmp_path, *rows):
    path = tmp_path / "adult.data"
    path.write_text("|1x3 Cross validator\n" + "".join(ROW.format(**(USUAL | row)) for row in rows) + "\n")
    file = _parse(path)
    return file.X.toarray(), file.labels.names


def test_adult_encoding_of_a_record_does_not_depend_on_the_others(tmp_path):
    one = {"workclass": "?", "label": ">50K."}
    (row,), labels = _parsed(tmp_path, one)
    among, _ = _parsed(tmp_path, {"fnlwgt": "2000000", "country": "Peru"}, one, {})
    assert labels == [">50K"]
    np.testing.assert_array_equal(row, among[1])
    np.testing.assert_allclose(row[:6], [0.39, 0.077516, 0.8, 0.02174, 0, 0.4])
    assert row[6 + CATEGORIES["workclass"].index("?")] == 1
    assert among[0, 1] == 1  # clipped


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"country": "Atlantis"}, r"adult\.data: native-country has 'Atlantis'"),
        ({"fnlwgt": "heavy"}, r"adult\.data: not a file of the Adult dataset"),
        ({"label": "rich"}, r"adult\.data: income has 'rich'"),
    ],
)
def test_adult_refuses_what_is_not_documented(tmp_path, row, said):
    with pytest.raises(DataError, match=said):
        _parsed(tmp_path, row)
