"""A schema, or a public file, settles how a file is read: one record changes no other, and stops no run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pate_cli.cli import main
from pate_cli.datasets import load
from pate_cli.errors import ConfigError, DataError

NUMBER = "{kind: number, low: 0, high: 120, missing: true}"
COLUMNS = {"a": NUMBER, "b": NUMBER, "c": NUMBER}
NAMES = "a,b,c,y\n"
FULL = [f"{i % 90},{i % 7},{i % 5},{'no' if i % 2 else 'yes'}" for i in range(40)]
SPARSE = [f"{i % 90},,,{'no' if i % 2 else 'yes'}" for i in range(20)]
HALF = FULL[:20] + SPARSE  # as many lines of four filled cells as of two
TOWNS = [f"{i},{i},{('Zürich', 'Bern')[i % 2]},{'no' if i % 3 else 'yes'}" for i in range(30)]
MARKS = [f"{i},000;{i};{i};{'no' if i % 2 else 'yes'}" for i in range(1, 30)] + ["1,5;1;1;no"]
TEXTS = [f"{i};{i};x,x,x,x;{'no' if i % 2 else 'yes'}" for i in range(30)]
LEVELS = [f"{'AB'[i % 2]},{i},{i},{'no' if i % 2 else 'yes'}" for i in range(30)]
LONG = [f"{0.0132104863291301 + i / 7!r},1,1,{'no' if i % 2 else 'yes'}" for i in range(30)]

CASES = {
    # above, records, the record in place of the third, below, columns
    "a title": ("Report,x,,\n" + NAMES, HALF, "1,,,yes", "", COLUMNS),
    "a total": (NAMES, HALF, "1,,,yes", "Total,7,,\n", COLUMNS),
    "a total's name": (NAMES, LEVELS, "Total,3,3,yes", "Total,7,9,\n", COLUMNS | {"a": "{kind: category}"}),
    "units": (NAMES + "kg,cm,s,\n", FULL, "x,2,2,yes", "", COLUMNS),
    "row names": (
        NAMES,
        [f"{i},{line}" for i, line in enumerate(FULL, 1)],
        "99,2,2,2,yes",
        "",
        {"": "{kind: ignored}", **COLUMNS},
    ),
    "decimals": (NAMES.replace(",", ";"), MARKS, "7,5;1;1;yes", "", COLUMNS),
    "delimiters": (
        "A title\na;b;c,c,c,c;y\n",
        TEXTS,
        "2;2;x,x,x;yes",
        "",
        {"a": NUMBER, "b": NUMBER, "c,c,c,c": "{kind: category}"},
    ),
    "a text among numbers": (NAMES, LONG, "x,1,1,yes", "", COLUMNS),
    "an encoding": (NAMES, TOWNS, "2,2,Zürich,yes", "", COLUMNS | {"c": "{kind: category}"}),
}


def read(above, records, below, columns, encoding="utf-8"):
    lines = [record if isinstance(record, bytes) else record.encode() for record in records]
    Path("own.csv").write_bytes(b"\n".join([above.encode() + lines[0], *lines[1:], below.encode()]))
    entries = "".join(f"  {name!r}: {entry}\n" for name, entry in columns.items())
    form = "format: {encoding: cp1252}\n" if encoding == "cp1252" else ""
    head = f"version: 2\ndata: own.csv\ntarget: y\nclasses: ['no', 'yes']\nunit: null\n{form}"
    Path("own.schema.yaml").write_text(head + "columns:\n" + entries)
    return load("csv", schema="own.schema.yaml")


@pytest.mark.parametrize("name", CASES)
def test_one_record_decides_on_no_other(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    above, records, nasty, below, columns = CASES[name]
    encoding = "cp1252" if name == "an encoding" else "utf-8"
    other = [*records[:2], nasty.encode(encoding), *records[3:]]
    one, two = (read(above, lines, below, columns, encoding) for lines in (records, other))
    assert one.n_records == two.n_records == len(records)
    kept = np.delete(np.arange(len(records)), 2)
    pd.testing.assert_frame_equal(
        one.X.iloc[kept].astype(object),
        two.X.iloc[kept].astype(object),
        check_exact=True,
        check_index_type=False,
    )
    assert one.y[kept].tolist() == two.y[kept].tolist()
    assert one.public_warnings == two.public_warnings


def test_what_a_student_keeps_of_a_schema_does_not_name_the_private_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = read(NAMES, FULL, "", COLUMNS)
    kept = table.encoder.fit(table.X).profile_["schema"]
    assert kept["target"] == "y"
    assert "own.csv" not in repr(kept)


@pytest.mark.parametrize("column", ["a", "w"])
def test_a_list_of_one_record_leaves_out_no_column(tmp_path, monkeypatch, column):
    monkeypatch.chdir(tmp_path)
    entries = f"{{a: {NUMBER}, w: {{kind: category, levels: [u, v]}}}}"
    Path("s.yaml").write_text(f"target: y\nclasses: ['no', 'yes']\nunit: null\ncolumns: {entries}")
    records = [{"a": i, "w": "uv"[i % 2], "y": "no" if i % 3 else "yes"} for i in range(30)]
    records[2][column] = ["x", {}]
    Path("own.jsonl").write_text("\n".join(map(json.dumps, records)))
    table = load("jsonl", path="own.jsonl", schema="s.yaml")
    assert table.X["a"].isna().sum() == (column == "a")
    assert table.X["w"].value_counts()["u"] == 15 - (column == "w")


WITHOUT_HEADER = {
    # records, the place and the record there, below
    "a total": (HALF, 2, "1,,,yes", "Total,7,,\n"),
    "a mark": (["#2,,,yes", *HALF], 0, "#x,1,1,yes", ""),
    "a delimiter": (TEXTS, 2, "2;2;x,x,x;yes", ""),
}


@pytest.mark.parametrize("by", ["schema", "public"])
@pytest.mark.parametrize("name", WITHOUT_HEADER)
def test_without_a_header_one_record_decides_on_no_other(tmp_path, monkeypatch, name, by):
    monkeypatch.chdir(tmp_path)
    records, at, nasty, below = WITHOUT_HEADER[name]
    sign = ";" if name == "a delimiter" else ","
    form = f"format: {{header: false, delimiter: '{sign}'}}"
    entries = ", ".join(f"'{number}': {NUMBER}" for number in (1, 2, 3))
    Path("s.yaml").write_text(
        f"version: 2\ntarget: '4'\nclasses: ['no', 'yes']\nunit: null\n{form}\ncolumns: {{{entries}}}"
    )
    Path("new.csv").write_text("\n".join(FULL).replace(",", sign))
    given = {"public": "new.csv", "target": "4", "numeric": ["1", "2", "3"], "header": False}
    given = {"schema": "s.yaml"} if by == "schema" else given
    read = []
    for there in (records[at], nasty):
        Path("own.csv").write_text("\n".join([*records[:at], there, *records[at + 1 :], below]))
        table = load("csv", path="own.csv", unit=None, **given)
        assert table.n_records == len(records)
        read.append(np.delete(table.X.to_numpy(), at, axis=0))
    np.testing.assert_array_equal(*read)


@pytest.mark.parametrize("by", ["schema", "public"])
def test_a_key_that_one_record_has_is_a_column_without_it(tmp_path, monkeypatch, by):
    """The run was refused, or the column left out, where no record has it."""
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(f"target: y\nclasses: ['no', 'yes']\ncolumns: {{a: {NUMBER}, b: {NUMBER}}}")
    records = [{"a": i % 7, "y": "no" if i % 3 else "yes"} for i in range(30)]
    lines = [json.dumps(record | {"b": record["a"] % 5}) for record in records]
    Path("new.jsonl").write_text("\n".join(lines))
    given = {"schema": "s.yaml"} if by == "schema" else {"public": "new.jsonl", "target": "y"}
    for only in ({"b": 2}, {}):
        Path("own.jsonl").write_text("\n".join(map(json.dumps, [*records[:29], records[29] | only])))
        table = load("jsonl", path="own.jsonl", unit=None, **given)
        assert list(table.X) == ["a", "b"]
        assert table.X["b"].notna().sum() == len(only)


@pytest.mark.parametrize("name", ["a title", "a total", "units"])
def test_a_public_file_settles_it_too(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    above, records, nasty, below, columns = CASES[name]
    Path("new.csv").write_text(NAMES + "\n".join(FULL))
    for lines in (records, [*records[:2], nasty, *records[3:]]):
        Path("own.csv").write_text(above + "\n".join([*lines, below]))
        table = load("csv", path="own.csv", public="new.csv", target="y", numeric=list(columns))
        assert (table.n_records, list(table.X)) == (len(records), list(columns))


def test_decimals_are_those_of_the_public_file(tmp_path, monkeypatch):
    """Two cells of a private file said how the decimals of all others are read."""
    monkeypatch.chdir(tmp_path)
    Path("new.csv").write_text("a;b;y\n" + "1;2;no\n1234;567;yes\n" * 9)
    records = [f"{1000 + i};{i};{'no' if i % 2 else 'yes'}" for i in range(30)]
    records[5] = "1,5;5;no"
    read = []
    for nasty in (records[7], "2,5;7;no"):
        Path("own.csv").write_text("a;b;y\n" + "\n".join([*records[:7], nasty, *records[8:]]))
        table = load("csv", path="own.csv", public="new.csv", target="y", numeric=["a", "b"])
        read.append(np.delete(table.X.to_numpy(), 7, axis=0))
    np.testing.assert_array_equal(*read)
    Path("new.csv").write_text("a;b;y\n" + "1,5;2;no\n1,25;567;yes\n" * 9)
    points = [record.replace("1,5", "1.5") for record in records]
    for nasty, expected in (("2,5", 2.5), ("2.5", np.nan)):
        Path("own.csv").write_text("a;b;y\n" + "\n".join([*points[:7], f"{nasty};7;no", *points[8:]]))
        table = load("csv", path="own.csv", public="new.csv", target="y", numeric=["a", "b"])
        assert np.isnan(table.X["a"].iloc[5])
        np.testing.assert_equal(table.X["a"].iloc[7], expected)


def test_the_encoding_is_that_of_the_public_file(tmp_path, monkeypatch):
    """Two lines of a private file said what the letters of all others are."""
    monkeypatch.chdir(tmp_path)
    Path("new.csv").write_text(NAMES + "\n".join(TOWNS), encoding="cp1252")
    for nasty in ("2,2,\u0105\u0107\u0119,yes".encode("cp1250"), b"2,2,x,yes"):
        records = [record.encode("cp1250") for record in (TOWNS[1], *TOWNS[1:])]
        Path("own.csv").write_bytes(b"\n".join([NAMES.strip().encode(), *records[:2], nasty, *records[3:]]))
        table = load("csv", path="own.csv", public="new.csv", target="y")
        assert set(table.X["c"].drop(table.X.index[2])) == {"Z\xfcrich", "Bern"}
    Path("new.csv").write_text(NAMES + "\n".join(FULL))
    Path("own.csv").write_bytes(b"\n".join([NAMES.strip().encode(), *records]))
    with pytest.raises(DataError, match=r"line 4: not UTF-8 text; dataset.encoding says what it is"):
        load("csv", path="own.csv", public="new.csv", target="y", categories=["c"])


@pytest.mark.parametrize("by", ["schema", "public"])
@pytest.mark.parametrize("again", [False, True], ids=["each once", "one twice"])
def test_whether_a_name_repeats_does_not_say_who_is_protected(tmp_path, monkeypatch, again, by):
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(f"target: y\ncolumns: {{a: {NUMBER}}}")
    names = [f"p{min(i, 38) if again else i}" for i in range(40)]
    lines = [f"{line},{name}" for line, name in zip(FULL, names, strict=True)]
    Path("own.csv").write_text("\n".join(["a,b,c,y,patient_id", *lines]))
    Path("new.csv").write_text(
        "\n".join(["a,b,c,y,patient_id", *(f"{line},q{i}" for i, line in enumerate(FULL))])
    )
    given = {"schema": "s.yaml"} if by == "schema" else {"public": "new.csv", "target": "y"}
    with pytest.raises(ConfigError, match=r"dataset.unit: got 'auto'; accepted: patient_id"):
        load("csv", path="own.csv", **given)
    load("csv", path="own.csv", **given, unit=None)


@pytest.mark.parametrize("several", [1, 2700])
def test_the_records_of_one_person_do_not_say_how_many_classes_there_may_be(tmp_path, monkeypatch, several):
    monkeypatch.chdir(tmp_path)
    entries = (
        f"version: 2\ntarget: y\nunit: p\nclasses: {list(map(str, range(51)))}\ncolumns: {{a: {NUMBER}}}"
    )
    Path("s.yaml").write_text(entries)
    lines = [f"{i % 9},{i},{i % 51}" for i in range(99)] + ["1,7,1"] * several
    Path("own.csv").write_text("\n".join(["a,p,y", *lines]))
    with pytest.raises(ConfigError, match=r"'51 labels'; accepted: at most 50 for 99 p$"):
        load("csv", path="own.csv", schema="s.yaml")


def test_a_name_that_may_be_that_of_another_person_stops_no_run(tmp_path, monkeypatch):
    """Two names that are equal as numbers are one person, who is protected as a whole."""
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(
        f"version: 2\ntarget: y\nunit: p\nclasses: ['no', 'yes']\ncolumns: {{a: {NUMBER}}}"
    )
    for name, n in (("98", 39), ("7.0", 38), ("007", 38), ("７", 38)):
        lines = [f"{i % 9},{i},{'no' if i % 2 else 'yes'}" for i in range(38)] + [f"1,{name},yes"]
        Path("own.csv").write_text("\n".join(["a,p,y", *lines]))
        for given in ({"schema": "s.yaml"}, {"target": "y", "unit": "p"}):
            table = load("csv", path="own.csv", **given)
            assert table.n_persons == n
            assert (table.persons[-1] == table.persons[7]) == (n == 38)


def test_a_record_of_parquet_changes_no_other(tmp_path, monkeypatch):
    """One time of day, one number beyond 2^53 or one text changed how all cells of the column are written."""
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    entries = "when: {kind: category}, n: {kind: number, missing: [-9.0]}, a: {kind: number, missing: true}"
    Path("s.yaml").write_text(
        f"version: 2\ntarget: y\nclasses: ['0', '1']\nunit: null\ncolumns: {{{entries}}}"
    )
    days = np.datetime64("2020-01-01", "us") + np.arange(30).astype("timedelta64[D]")
    table = pd.DataFrame({"when": days, "n": [-9, *range(29)], "a": 0.5, "y": np.arange(30) % 2})
    other = table.copy()
    other.loc[2, "when"] += np.timedelta64(1500, "ms")
    other.loc[2, "n"] = 2**60
    read = []
    for frame in (table, other):
        frame.to_parquet("own.parquet", index=False)
        X = load("parquet", path="own.parquet", schema="s.yaml").X
        assert np.isnan(X["n"].iloc[0])
        read.append(X.astype(object).drop(X.index[2]))
    pd.testing.assert_frame_equal(*read, check_exact=True)
    assert read[0]["when"].iloc[0] == "2020-01-01"


def test_a_cell_of_parquet_that_nobody_can_read_is_named_or_missing(tmp_path, monkeypatch):
    """Years beyond 9999 and bytes that are no text ended the program."""
    pa, pq = (pytest.importorskip(name) for name in ("pyarrow", "pyarrow.parquet"))
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(
        "target: y\nclasses: ['0', '1']\nunit: null\ncolumns: {d: {kind: date, missing: true}}"
    )
    y = pa.array(["0", "1"] * 9)
    for days in (10**7, 2**31 - 1):
        d = pa.array([5, days] * 9, pa.int32()).cast(pa.date32())
        pq.write_table(pa.table({"d": d, "y": y}), "own.parquet")
        X = load("parquet", path="own.parquet", schema="s.yaml").X
        assert X["d"].isna().tolist() == [False, True] * 9
    sizes = pa.py_buffer(np.arange(0, 38, 2, dtype=np.int32).tobytes())
    bad = pa.Array.from_buffers(pa.string(), 18, [None, sizes, pa.py_buffer(b"\xc3\xa9" * 17 + b"a\xff")])
    pq.write_table(pa.table({"d": bad, "y": y}), "own.parquet")
    with pytest.raises(DataError, match=r"own.parquet: column 'd' cannot be read .*Invalid UTF8"):
        load("parquet", path="own.parquet", schema="s.yaml")


def test_an_infinite_number_is_refused_without_a_warning_of_numpy(tmp_path, monkeypatch, capfd):
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame({"a": np.arange(40) % 7 + 0.5, "y": np.arange(40) % 2})
    table.loc[3, "a"] = np.inf
    table.to_parquet("own.parquet", index=False)
    assert main(["data", "describe", "own.parquet", "--target", "y"]) == 2
    said = capfd.readouterr().err
    assert "row 4: 'a' has 'inf', no number" in said
    assert "Warning" not in said
