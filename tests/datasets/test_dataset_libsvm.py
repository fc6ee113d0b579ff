"""Reading files in LIBSVM's format, and refusing bad ones with file and line."""

from __future__ import annotations

import bz2
import gzip
import lzma

import numpy as np
import pytest
import scipy.sparse as sp

from pate_cli.cli import main
from pate_cli.datasets import load
from pate_cli.errors import ConfigError, DataError

GOOD = b"+1 1:0.5 3:2\n-1 2:1\n# a remark\n\n-1 1:-1e-3 # another\n+1 3:1\n"


@pytest.fixture
def write(tmp_path):
    def _write(content, name="f.libsvm"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return _write


def test_reads_records_and_labels(write):
    path = write(GOOD)
    data = load("libsvm", path=str(path))
    assert isinstance(data.X, sp.csr_matrix)
    np.testing.assert_array_equal(data.X.toarray(), [[0.5, 0, 2], [0, 1, 0], [-1e-3, 0, 0], [0, 0, 1]])
    np.testing.assert_array_equal(data.y, [1, 0, 0, 1])
    assert data.y.dtype == np.int64
    assert data.classes == ("-1", "+1")
    data = load("libsvm", path=write(b"10 1:1\n2 1:1\n1.5 1:1\n2 1:2\n10 1:3\n1.5 1:1\n"))
    assert data.classes == ("1.5", "2", "10")  # sorted as numbers
    assert data.y.tolist() == [2, 1, 0, 1, 2, 0]


@pytest.mark.parametrize(("suffix", "pack"), [("bz2", bz2), ("gz", gzip), ("xz", lzma)])
def test_damaged_compressed_files(write, suffix, pack):
    long = pack.compress(
        b"".join(b"%d %d:%f\n" % (i % 2, i % 7 + 1, (i * i) % 10007 / 3) for i in range(50_000))
    )
    with pytest.raises(DataError, match=rf"cut\.{suffix}: the compressed file is cut short"):
        load("libsvm", path=write(long[: len(long) // 2], f"cut.{suffix}"))
    with pytest.raises(DataError, match=rf"plain\.{suffix}: "):
        load("libsvm", path=write(GOOD, f"plain.{suffix}"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"x 1:1", "label 'x' is not a finite number"),
        (b"1:1 2:1", "label '1:1' is not a finite number"),
        (b"1 1:1 2:", "'2:' is not index:value, a whole and a finite number"),
        (b"1 1:1 2", "'2' is not index:value"),
        (b"1 1:nan", "'1:nan' is not index:value"),
        (b"1 1:1 2:-inf", "'2:-inf' is not index:value"),
        (b"1 2:1 1:1", "index '1' after index 2; indices must increase"),
        (
            b"1 99999999999999999999:1",
            "indices must increase, up to 2147483647",
        ),
        (b"\x80\x00\xff", "is not a finite number"),
        (b"1_0 1:1", "label '1_0' is not a finite number"),
        (b"inf 1:1", "label 'inf' is not a finite number"),
        (b"1e999 1:1", "label '1e999' is not a finite number"),
        (b"1 1:1_0.5", "'1:1_0.5' is not index:value"),
        (b"1 1:1e999", "'1:1e999' is not index:value"),
        (b"1 1_0:1", "'1_0:1' is not index:value"),
        (b"1 +1:1", "'+1:1' is not index:value"),
        (b"1 qid:1_0 1:1", "'qid:1_0' is not index:value"),
        (b"1 1:1 qid:1", "'qid:1' is not index:value"),
        ("\u0661 1:1".encode(), "is not a finite number"),
    ],
)
def test_bad_lines_are_named(write, line, message):
    path = write(GOOD + line + b"\n1 1:1\n")
    with pytest.raises(DataError) as caught:
        load("libsvm", path=path)
    assert str(caught.value).startswith(f"{path}, line 7: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("ending", ["", ".gz", ".GZ"])
def test_a_byte_order_mark_says_the_encoding(write, encoding, ending):
    content = "+1 qid:1 1:0.5\n-1 1:2 # caf\u00e9\n-1 1_:2\n".encode(encoding)
    path = write(gzip.compress(content) if ending else content, f"f.libsvm{ending}")
    with pytest.raises(DataError, match=r"line 3: '1_:2' is not index:value"):
        load("libsvm", path=path)
    good = content.replace(
        "_".encode(encoding.replace("-sig", "") + ("-le" if "1" in encoding or "3" in encoding else "")), b""
    )
    path.write_bytes(gzip.compress(good) if ending else good)
    data = load("libsvm", path=path)
    assert (data.classes, data.X.toarray().tolist()) == (("-1", "+1"), [[0.5], [2], [2]])
    cut = content[:-1] if encoding != "utf-8-sig" else b"\xef\xbb\xbf1 1:1\n\xff"
    path.write_bytes(gzip.compress(cut) if ending else cut)
    with pytest.raises(DataError, match=rf"not {'UTF-8' if 'sig' in encoding else encoding} text"):
        load("libsvm", path=path)


def test_no_record_decides_what_indices_mean(write):
    """An index 0 was refused in one record, and in two made columns of the indices of all others another."""
    rest = b"1 1:1 2:5\n0 1:2\n"
    plain = load("libsvm", path=write(rest + b"1 2:1\n"), n_features=3)
    assert plain.X.toarray().tolist() == [[1, 5, 0], [2, 0, 0], [0, 1, 0]]
    for more in (b"", b"0 0:0\n"):
        zero = {"path": write(rest + b"1 0:1 2:1\n" + more), "n_features": 3}
        with pytest.raises(DataError, match=r", line 3: index 0; accepted: indices from 1.*first_index=0"):
            load("libsvm", **zero)
        from_0 = load("libsvm", **zero, first_index=0)
        assert from_0.X[:2].toarray().tolist() == [[0, 1, 5], [0, 2, 0]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty, no records"),
        (b"1\n-1\n", "no record has a feature"),
        (b"1 1:1\n1 1:2\n", "every label is '1'; at least two classes"),
        (b"0.1 1:1\n0.2 1:2\n0.3 1:2\n0.4 1:2\n", "4 different labels on 4 records"),
    ],
)
def test_files_without_a_learning_problem_are_refused(write, content, message):
    path = write(content)
    with pytest.raises(DataError, match=message) as caught:
        load("libsvm", path=path)
    assert str(path) in str(caught.value)


def test_the_number_of_columns_is_the_largest_index_or_as_said(write):
    assert load("libsvm", path=write(GOOD), n_features=9).X.shape == (4, 9)
    with pytest.raises(DataError, match=r"line 1: index '3' is more than the 2 features accepted"):
        load("libsvm", path=write(GOOD), n_features=2)
    slip = write(b"1 1:1\n0 2000000000:1\n")  # each model would hold billions of numbers
    with pytest.raises(DataError, match=r"line 2: index '2000000000' is more than .*dataset.n_features"):
        load("libsvm", path=slip)
    assert load("libsvm", path=slip, n_features=2 * 10**9).n_features == 2 * 10**9
    assert load("libsvm", path=write(b"1 1:1\n0 16777216:1\n")).n_features == 2**24
    with pytest.raises(DataError, match=r"line 1: index '3' is more than the 2 features"):
        load("libsvm", path=write(GOOD), public=write(b"1 1:1\n0 2:1\n", "public"))


def test_options(write):
    for value in (0, 2.5, True, "many"):
        with pytest.raises(ConfigError, match=r"^dataset\.n_features: got "):
            load("libsvm", path=write(GOOD), n_features=value)


@pytest.mark.parametrize("last", ["2", "3"])
def test_classes_declared_say_which_public_labels_are_placeholders(write, last):
    """Not the private labels, of which a single one would decide it."""
    private = write(f"1 1:1\n2 1:2\n1 1:3\n{last} 1:4\n".encode(), "private")
    public = write(b"3 1:1\n9 1:2\n", "public")
    with pytest.raises(DataError, match="public, line 2: the label '9' is none of the classes"):
        load("libsvm", path=str(private), public=str(public), classes=["1", "2", "3"])
    write(b"0 1:1\n0 1:2\n", "public")
    data = load("libsvm", path=str(private), public=str(public), classes=["1", "2", "3"])
    assert data.public.y is None


@pytest.mark.parametrize("kind", ["libsvm", "shards"])
@pytest.mark.parametrize("zero", ["private", "public", "test"])
def test_where_indices_start_is_said_once_for_all_files(write, tmp_path, kind, zero):
    """A file without index 0 was read one column off beside files that have it."""
    (tmp_path / "private").mkdir()
    names = {"private": "private/part" if kind == "shards" else "file", "public": "public", "test": "test"}
    rows = {name: b"0 0:9\n1 0:9 2:3\n" if name == zero else b"0 1:7\n1 1:7 2:3\n" for name in names}
    paths = {name: write(rows[name] + b"# " + name.encode(), path) for name, path in names.items()}
    given = paths | {"private": tmp_path / "private"} if kind == "shards" else paths
    data = load(kind, **given, n_features=3, first_index=0)
    read = {"private": data.X[np.arange(2)], "public": data.public.X, "test": data.test.X}
    for name, X in read.items():
        assert X.toarray().tolist() == ([[9, 0, 0], [9, 0, 3]] if name == zero else [[0, 7, 0], [0, 7, 3]])
    with pytest.raises(DataError, match=f"{names[zero]}, line 1: index 0; accepted: indices from 1"):
        load(kind, **given, n_features=3)


def test_a_release_does_not_read_the_number_of_columns_from_private_records(write, capsys, monkeypatch):
    """It publishes them, and one private record may have the largest index."""
    monkeypatch.setenv("PATE_LEDGER", str(write(b"").parent / "ledger"))
    path = write(b"".join(b"%d 1:%d 2:1\n" % (i % 2, i) for i in range(200)))
    given = ["dataset=libsvm", f"dataset.path={path}", "teacher.size=20", "split.public=20", "release=true"]
    given += ["split.public_from_private=true", "eps=1", "delta=1e-5"]
    assert main(["run", *given]) == 2
    assert "dataset.n_features: got None; accepted: the number of columns" in capsys.readouterr().err
    assert main(["run", *given, "dataset.n_features=2"]) == 2
    assert "pate ledger init" in capsys.readouterr().err


def test_lines_that_end_in_a_carriage_return_alone_are_said(write):
    with pytest.raises(DataError, match=r"lines end in a carriage return alone; accepted: line feeds"):
        load("libsvm", path=write(GOOD.replace(b"\n", b"\r")))
