"""CSV files: types, encoder, and every refusal."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from pate_cli.datasets import load, split
from pate_cli.datasets.csv_files import CsvFormat, read_csv
from pate_cli.errors import ConfigError, DataError

GOOD = (
    """age,colour,code,label
31,red,a1,yes
40.5,,b2,no
1e1,"two
lines",?,no

-3,red,a1,yes
"""
    + "7,green,b2,no\n8,green,b2,yes\n9,red,a1,no\n" * 5
)


@pytest.fixture
def write(tmp_path):
    def _write(content, name="f.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return _write


def test_columns_get_their_types(write):
    data = load("csv", path=write(GOOD), target="label")
    assert list(data.X.columns) == ["age", "colour", "code"]
    np.testing.assert_array_equal(data.X["age"][:4], [31, 40.5, 10, -3])
    assert data.X["colour"].tolist()[:4] == ["red", "", "two lines", "red"]
    assert data.classes == ("no", "yes")
    assert data.y.tolist()[:4] == [1, 0, 0, 1]
    encoder = data.encoder.fit(data.X)
    # A missing cell is a category of its own, if there is one among public records.
    assert [list(c) for c in encoder.named_transformers_["levels"].categories_] == [
        ["", "green", "red", "two lines"],
        ["", "a1", "b2"],
    ]
    assert sp.issparse(encoder.transform(data.X))


def test_numbers_only_give_a_dense_matrix_after_the_split(write):
    rows = "".join(f"{i},{i % 3},{i % 2}\n" for i in range(40))
    data = load("csv", path=write("a,b,y\n" + rows), target="y")
    parts = split(data, private=0.5, public=0.25, budget=2, rng=np.random.default_rng(0))
    assert isinstance(parts.private.X, np.ndarray)
    assert parts.public.X.mean(axis=0) == pytest.approx([0, 0])
    assert parts.public.X.std(axis=0) == pytest.approx([1, 1])


def test_numeric_labels_are_sorted_as_numbers(write):
    data = load("csv", path=write("a,y\n1,+10\n2,2.0\n3,+10\n4,2.0\n"), target="y")
    assert data.classes == ("2.0", "+10")
    assert data.y.tolist() == [1, 0, 1, 0]
    data = load("csv", path=write("0\t1\n" + "5\tp\n6\tq\n" * 9), target=1, sep="\\t")  # as it is typed
    assert (data.classes, data.X.shape) == (("p", "q"), (18, 1))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "empty, no header line"),
        ("a,y\n", "no records after the header line"),
        ("a,y\n" + "1,p\n2,p\n" * 9, "column 'y' (dataset.target): every label is 'p'; at least two classes"),
        ("y\np\nq\n", "no column but the target 'y'"),
        ("a,y\n1,p\n\n2\n", "line 4: 1 cells, the header has 2"),
        ('a,y\n1,p\n2,"q\n', "line 3: not CSV (unexpected end of data)"),
        (b"a,y\n1,p\n\xff,q\n", "line 3: not UTF-8 text; dataset.encoding says what it is, as cp1252"),
        ("a,y\n" + "1,p\n2,q\n3,p\n" * 9 + "\n-inf,q\n", "line 30: column 'a' has '-inf', no number"),
        ("[\n{}\n]\n", "JSON, not CSV; accepted: CSV, or JSON lines"),
        ("a,y\n" + "1,p\n2,p\n3,q\n" * 9 + "3,\n", "line 29: dataset.target 'y' has ''"),
        ("a,y\n" + "1,1\n2,0\n3,1\n" * 9 + "3,inf\n", "line 29: dataset.target 'y' has 'inf'"),
    ],
)
def test_bad_files_are_refused_by_name_and_line(write, content, message):
    path = write(content)
    with pytest.raises(DataError) as caught:
        load("csv", path=path, target="y")
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)


def test_two_columns_of_one_name_and_blanks_around_names_are_told(write):
    rows = "".join(f"{i % 5},{i % 3 / 2},{'pq'[i % 2]}\n" for i in range(40))
    data = load("csv", path=write("a,a,label \n" + rows), target="label")
    assert list(data.X) == ["a", "a_2"]
    assert "the column 'a' occurs 2 times; called 'a_2'" in " ".join(data.warnings)


def test_bad_options(write, tmp_path):
    path = write(GOOD)
    with pytest.raises(ConfigError, match=r"^dataset\.target: got 'lable'; .* age, colour, code, label"):
        load("csv", path=path, target="lable")
    with pytest.raises(ConfigError, match=r"^dataset\.target: got None"):
        load("csv", path=path)
    with pytest.raises(ConfigError, match=r"^dataset\.path: got None"):
        load("csv", target="label")
    for sep in (", ", '"'):
        with pytest.raises(ConfigError, match=r"^dataset\.sep: got "):
            load("csv", path=path, target="label", sep=sep)
    with pytest.raises(DataError, match="no such file"):
        load("csv", path=tmp_path / "absent.csv", target="label")


@pytest.mark.parametrize("quoted", [False, True])
def test_codes_keep_their_zeros_and_lines_their_numbers(tmp_path, quoted):
    """Lines without quotes are counted at once, the others one by one: to the same end."""
    code, label = ('"007"', '"a"') if quoted else ("007", "a")
    rows = [f"{code if i % 2 else '8'},{i},{label}" for i in range(6)]
    path = tmp_path / "f.csv"
    path.write_text("code,x,y\n" + "\n".join(rows))
    table = read_csv(path, CsvFormat())
    assert list(table.frame["code"]) == ["8", "007"] * 3
    assert list(table.frame.index) == list(range(2, 8))
    path.write_text("code,x,y\n" + "\n".join([*rows, "1,2"]))
    with pytest.raises(DataError, match="line 8: 2 cells, the header has 3"):
        read_csv(path, CsvFormat())
