"""Files as other programs write them: what each cell, line and name means, and what is asked or refused."""

from __future__ import annotations

import csv
import json
import shlex

import numpy as np
import pytest

from pate_cli.cli import main
from pate_cli.datasets import cached_split, load
from pate_cli.datasets.csv_files import CsvFormat, read_csv
from pate_cli.datasets.dates import as_date, days_of, seconds_of
from pate_cli.errors import DataError

N = 120


def table(path, columns, *, header=True, encoding="utf-8"):
    """Write columns of texts, each a function of the number of its record."""
    with path.open("w", newline="", encoding=encoding) as file:
        writer = csv.writer(file)
        writer.writerows([[*columns]] * header)
        writer.writerows([cell(i) for cell in columns.values()] for i in range(N))
    return path


def described(capsys, path, *more):
    code = main(["data", "describe", str(path), *more, "--public", "--json"])
    shown = capsys.readouterr()
    return code, json.loads(shown.out) if shown.out else shown.err


def label(i):
    return "ab"[i * i % 7 > 2]


def v(i):
    return f"{i * 37 % 120 / 7:.2f}"


@pytest.mark.parametrize(
    ("form", "text", "day", "hour"),
    [
        ("y-m-d", "2023-01-01 10:30:00.000123+00", "2023-01-01", 10.5),  # Postgres
        ("y-m-d", "2023-01-01 10:30:00 UTC", "2023-01-01", 10.5),  # BigQuery
        ("y-m-d", "2024/03/01 1:30:00 PM GMT+1", "2024-03-01", 12.5),  # Google Forms
        ("y-m-d", "2023-01-01T10:30+05:30", "2023-01-01", 5),
        ("y-m-d", "2023-01-01 10:30:00,123", "2023-01-01", 10.5),  # logs of Java and Python
        ("d mon y", "01JAN2020:10:30:00", "2020-01-01", 10.5),  # SAS
        ("d mon y", "10/Oct/2023:13:30:00 -0700", "2023-10-10", 20.5),  # Apache
        ("d mon y", "Sun, 01 Jan 2023 10:30:00 GMT", "2023-01-01", 10.5),  # e-mail
        ("mon d y", "Wednesday, March 1, 2023", "2023-03-01", 0),  # Excel
        ("ymd", "20230101T103000Z", "2023-01-01", 10.5),
        ("ymd", "20230101103000", "2023-01-01", 10.5),  # DICOM
        ("m-d-y", "1/13/2023, 10:30:00 PM", "2023-01-13", 22.5),  # JavaScript
        ("d-m-y", "1/2/2024, 10:30:00 a. m.", "2024-02-01", 10.5),
        ("d-m-y", "Mo, 01.02.2024, 10:30 Uhr", "2024-02-01", 10.5),
        ("d-m-y", "12.03.45", "2045-03-12", 0),
        ("d-m-y from 1927", "12.03.45", "1945-03-12", 0),
        ("d-m-y from 1927", "12.03.26", "2026-03-12", 0),
        ("mon y", "Sep-22", "2022-09-01", 0),  # Excel
        ("d mon y", "01-JAN-21 10.30.00.000000 PM", "2021-01-01", 22.5),  # Oracle
        ("d-m-y", "13-08-2021 10.30", "2021-08-13", 10.5),  # Denmark
        ("d-m-y", "18.03.2021 г.", "2021-03-18", 0),
        ("d mon y", "18 марта 2021 г.", "2021-03-18", 0),
        ("mon d y", "March 3rd, 2021", "2021-03-03", 0),
        ("y-w", "2020-W53", "2020-12-28", 0),
        ("y-w", "2021W017", "2021-01-10", 0),
    ],
)
def test_a_date_of_another_program(form, text, day, hour):
    days = days_of(form)(text)
    assert (as_date(days), days % 1 * 24) == (day, pytest.approx(hour))


def test_a_zone_that_nobody_knows_is_refused(tmp_path, capsys):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    times = pa.array([10**15] * 9, pa.timestamp("us", tz="Mars/Phobos"))
    pq.write_table(pa.table({"t": times, "y": [*"ababababa"]}), tmp_path / "f.parquet")
    assert main(["data", "describe", str(tmp_path / "f.parquet"), "--target", "y"]) == 2
    said = capsys.readouterr().err
    assert "column 't' cannot be read (Cannot locate or parse timezone 'Mars/Phobos'" in said
    assert said.count("\n") == 1


def test_what_looks_like_a_date_and_is_none():
    assert days_of("d mon y")("10 oak 20") is None
    assert seconds_of("1 days 02:03:04") == 93784  # pandas
    assert seconds_of("-1 days +23:00:00") == -3600
    assert [seconds_of(text) for text in ("1h 20m", "1 Std. 20 Min.", "PT1H20M", "P1DT2S")] == [4800] * 3 + [
        86402
    ]
    assert [seconds_of(text) for text in ("", "PT", "P1M", "5", "20m 1h", "1:80")] == [None] * 6


def test_columns_of_other_programs(tmp_path, capsys):
    columns = {
        "zoned": lambda i: f"2023-01-{1 + i % 28:02d} 10:22:11.000{i:03d}+00",
        "sas": lambda i: f"{1 + i % 28:02d}FEB2023",
        "dicom": lambda i: f"202301{1 + i % 28:02d}10{i % 60:02d}00",
        "pandas": lambda i: f"{i % 9} days 00:00:{i % 60:02d}",
        "nat": lambda i: "NaT" if i % 10 == 0 else f"2023-01-{1 + i % 28:02d}",
        "excel": lambda i: ["#REF!", "#WERT!", "#NV"][i // 10 % 3] if i % 10 == 0 else "pqr"[i % 3],
        "dbeaver": lambda i: "[NULL]" if i % 10 == 0 else v(i),
        "post": lambda i: ["01067", "80331", "10115"][i % 3],
        "oak": lambda i: f"{1 + i % 4} {['oak', 'elm'][i % 2]} 10",
        "account": lambda i: 1_234_567_890_123_456_789 + i * 7,
        "turkish": lambda i: f"%{i % 90},5",
        "indian": lambda i: f"Rs. {i % 9 + 1},20,500/-",
        "swiss": lambda i: f"{i % 40 + 1}.-",
        "pulse": lambda i: f"{50 + i % 40}/min",
        "year": lambda i: 2021 if i % 3 else "",
        "blood": lambda i: f"{v(i)} x10^9/L",
        "arabic": lambda i: f"{i % 40 + 1}٫٥".translate({48 + at: 0x660 + at for at in range(10)}),
        "address": lambda i: f"{100 + i}.117.{238 - i}.{i % 9}",
        "station": lambda i: ["#N/D", "---", "n.a.", "..", "#¿NOMBRE?"][i // 10 % 5] if i % 10 == 0 else v(i),
        "excel month": lambda i: f"{['Jan', 'Feb', 'Mar'][i % 3]}-{20 + i % 4}",
        "week": lambda i: f"2021-W{10 + i % 30}",
        "stay": lambda i: f"{i % 40}m" if i % 3 else f"{i % 5}h {i % 60}m",
        "order no": lambda i: 20240100 + i,
        "mark": lambda i: ["1-", "2+", "2", "3-"][i % 4],
        "x": v,
        "x ": lambda i: i % 5,
        "x_2": lambda i: "st"[i % 2],
        "": lambda i: "kl"[i % 2],
        "y": label,
    }
    code, said = described(capsys, table(tmp_path / "f.csv", columns), "--target", "y")
    assert code == 0, said
    found = {c["name"]: [c["kind"], c["low"], c["high"], c["missing"]] for c in said["columns"]}
    assert found == {
        "zoned": ["date", "2023-01-01", "2023-01-28", 0],
        "sas": ["date", "2023-02-01", "2023-02-28", 0],
        "dicom": ["date", "2023-01-01", "2023-01-28", 0],
        "pandas": ["number", 0, 8 * 86400 + 56, 0],
        "nat": ["date", "2023-01-01", "2023-01-28", 12],
        "excel": ["category", None, None, 12],
        "dbeaver": ["number", 0.14, 17, 12],
        "post": ["category", None, None, 0],
        "oak": ["category", None, None, 0],
        "account": ["ignored", None, None, None],
        "turkish": ["number", 0.5, 89.5, 0],
        "indian": ["number", 120_500, 920_500, 0],
        "swiss": ["number", 1, 40, 0],
        "pulse": ["number", 50, 89, 0],
        "year": ["ignored", None, None, None],
        "blood": ["number", 0, 17, 0],
        "arabic": ["number", 1.5, 40.5, 0],
        "address": ["ignored", None, None, None],
        "station": ["number", 0.14, 17, 12],
        "excel month": ["date", "2020-01-01", "2023-03-01", 0],
        "week": ["date", "2021-03-08", "2021-09-27", 0],
        "stay": ["number", 0, 4 * 3600 + 54 * 60, 0],
        "order no": ["ignored", None, None, None],
        "mark": ["category", None, None, 0],
        "x": ["number", 0, 17, 0],
        "x_3": ["number", 0, 4, 0],
        "x_2": ["category", None, None, 0],
        "": ["category", None, None, 0],
    }


def test_columns_that_are_read_again_keep_their_places(tmp_path, capsys):
    # where cells are quoted, 07 may be a code of any column; the eighth and the ninth changed places
    columns = {f"g{at}": lambda i: "pq"[i % 2] for at in range(4)}
    columns |= {"when": lambda i: f"2023-01-{1 + i % 28:02d} 07:30", "said": lambda i: 'an "a"' * (i % 2)}
    columns |= {f"x{at}": lambda i, at=at: f"{at}.{i % 9 + 1}" for at in range(6, 10)} | {"y": label}
    path = table(tmp_path / "f.csv", columns)
    code, said = described(capsys, path, "--target", "y", "--set", "said.kind=ignored")
    assert code == 0
    assert [c["low"] for c in said["columns"][6:10]] == [6.1, 7.1, 8.1, 9.1]


ASKED = {
    "years of two digits": ("d", lambda i: f"{1 + i % 28:02d}.{1 + i % 12:02d}.{30 + i % 60}", "--set"),
    "numbers beside percent": ("d", lambda i: f"{i % 90}%" if i % 3 else f"0.{i % 90:02d}", "--set"),
    "a word with a comma": ("d", lambda i: "late, none" if i % 12 == 0 else i % 40, "--set"),
    "an error of Excel": ("d", lambda i: "#####" if i % 12 == 0 else i % 40, "--set"),
    "hexadecimal digits": ("d", lambda i: f"{i * 7 % 90:02x}", "--set"),
    "a day that is none": (
        "d",
        lambda i: "0000-00-00" if i % 12 == 0 else f"2023-01-{1 + i % 28:02d}",
        "--set",
    ),
    "a sentinel with decimals": ("d", lambda i: "-99.9" if i % 12 == 0 else v(i), "--set"),
    "a tick that is a number": ("d", lambda i: "" if i % 3 else 1, "--set d.empty=missing"),
    "verdicts": ("d", lambda i: ["++", "+", "o", "-", "--"][i % 5], 'd.answers=["-","--","---"]'),
    "a class or none": ("y", lambda i: ["unknown", "a", "b"][i % 3], "--set"),
    "negative, not missing": ("d", lambda i: ["+", "-", "++"][i % 3], "--set"),
    "persons of some records": (
        "patient",
        lambda i: "" if i % 3 else f"P{i % 12}",
        "--set patient.persons=no",
    ),
    "few persons": ("patient", lambda i: f"P{i % 12}", "--unit"),
    "a record for a header": ("a", label, "--no-header"),
}


@pytest.mark.parametrize("name", ASKED)
def test_what_can_be_read_in_two_ways_is_asked_and_the_answer_runs(name, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    column, cell, answer = ASKED[name]
    columns = {"x": v, "y": label, column: cell} if column != "a" else {"1.5": v, "b": label, "a": label}
    table(tmp_path / "f.csv", columns)
    assert main(["data", "describe", "f.csv", "--target", "a" if column == "a" else "y"]) == 3
    command = capsys.readouterr().out.splitlines()[-1].removeprefix("next: pate ")
    assert answer in command
    if column == "a":
        command = command.replace("--target a", "--target 3")
    assert main(shlex.split(command)) == 0
    command = capsys.readouterr().out.splitlines()[-1].removeprefix("next: pate ")
    assert main(shlex.split(command)) == 0, capsys.readouterr().err


def test_that_names_are_no_persons_is_said_once(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table(tmp_path / "f.csv", {"x": v, "patient": ASKED["few persons"][1], "y": label})
    assert main(["data", "describe", "f.csv", "--target", "y", "--set", "patient.persons=no"]) == 0
    assert main(["plan", "dataset=f.schema.yaml"]) == 0, capsys.readouterr().err


@pytest.mark.parametrize(
    ("columns", "unit", "said"),
    [
        ({"x": v, "y": lambda i: "a"}, None, "two classes or more"),
        # no second class is proposed that reads like the first
        ({"x": v, "y": lambda i: ["e\u0301", "é"][i % 2]}, None, "as --set 'y.levels=[A,B]'\n"),
        ({"x": v, "y": lambda i: ["1", "1.0", "0"][i % 3]}, None, "line 3: --target 'y' is '1.0', and '1'"),
        ({"x": v, "y": label, "p": lambda i: i % 40 or ""}, "p", "line 2: --unit 'p' has ''"),
        ({"x": lambda i: 1, "y": label}, None, "no column to learn from ('x': constant); accepted: --set"),
        ({"x": lambda i: f"{i}0x" if i == 3 else i % 50, "y": label}, None, "accepted: --set COLUMN.missing"),
    ],
)
@pytest.mark.parametrize("rows", ["private", "public"])
def test_what_a_run_would_refuse_is_refused_at_once(rows, columns, unit, said, tmp_path, capsys):
    path = table(tmp_path / "f.csv", columns)
    more = [*(["--unit", unit] if unit else []), *(["--public"] if rows == "public" else [])]
    assert main(["data", "describe", str(path), "--target", "y", *more]) == 2
    assert said in capsys.readouterr().err
    assert [*tmp_path.iterdir()] == [path]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "a spreadsheet"),
        (b"ARROW1\0\0", "to be saved as Parquet"),
        (b"\x28\xb5\x2f\xfd\0", "zstd"),
        (b"f.csv".ljust(257, b"\0") + b"ustar\x0000a,y\n1,2\n", "an archive"),
        (b"7z\xbc\xaf\x27\x1c", "an archive"),
        (b"%PDF-1.4\n", "a PDF, or"),
        (b"\x80\x04\x95", "a pickle of Python"),
        (b"BZh91AY&SY", ".bz2"),
        (b"<!DOCTYPE html>\n<p>a,b</p>", "a page"),
        (b"% a comment\n\n@RELATION r\n@ATTRIBUTE a NUMERIC\n", "an ARFF file"),
        (b"\x93NUMPY\1\0v\0", "a single array of NumPy"),
        (b"<stata_dta><header>", "a file of Stata"),
        (b"r\2\1\0\2\0", "a file of Stata"),
        (b"MATLAB 5.0 MAT-file", "HDF5 or Matlab"),
        (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
    ],
)
def test_a_file_of_another_kind_is_named(content, said, tmp_path, capsys):
    (tmp_path / "f.csv").write_bytes(content)
    assert said in described(capsys, tmp_path / "f.csv")[1]


@pytest.mark.parametrize("first", ["PAR1", "par1", "SQLite", "Matlab", "$FL"])
def test_a_column_is_not_taken_for_a_file_of_another_kind(first, tmp_path, capsys):
    code, said = described(capsys, table(tmp_path / "f.csv", {first: v, "y": label}), "--target", "y")
    assert (code, said["columns"][0]["name"]) == (0, first)


def test_a_line_names_a_few_columns_and_what_is_asked_is_typed_as_printed(tmp_path, capsys):
    path = table(tmp_path / "f.csv", {f"x{at}": v for at in range(30)} | {"y": label})
    assert main(["data", "describe", str(path), "--target", "y"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "bounds of x0, x1, x2, x3, x4, x5, x6, x7 and 22 more; the classes" in said
    columns = {
        "patient no": lambda i: f"{i // 2:04}",
        "город": lambda i: ("Москва", "Пермь")[i % 2],
        "y": label,
    }
    path = table(tmp_path / "g.csv", columns, encoding="cp1251")
    assert main(["data", "describe", str(path), "--target", "y", "--public"]) == 3
    said = capsys.readouterr().out
    for asked in (
        "cp1251 or cp1253?; --encoding cp1251",
        "(--unit 'patient no')? If not: --set 'patient no.",
    ):
        assert asked in said
        assert asked in (tmp_path / "g.schema.yaml").read_text()


def test_orders_with_a_number_sign_are_no_comments(tmp_path, capsys):
    columns = {
        "Name": lambda i: f"#{1001 + i}",
        "x": v,
        "note": lambda i: "pqr"[i % 3] if i % 4 else "",
        "y": label,
    }
    code, said = described(capsys, table(tmp_path / "f.csv", columns), "--target", "y")
    assert (code, said["rows"]) == (0, N)


def test_a_header_of_which_names_are_empty_is_one(tmp_path, capsys):
    lines = "\n".join(f"{v(i)},{'pq'[i % 2]},{i % 5},{label(i)}" for i in range(N))
    (tmp_path / "f.csv").write_text(f"v,,,y\n{lines}\n")
    code, said = described(capsys, tmp_path / "f.csv", "--target", "y")
    assert (code, said["rows"], [c["name"] for c in said["columns"]]) == (0, N, ["v", "", "_2"])


def test_records_that_are_left_out_leave_no_bound_and_no_level(tmp_path, capsys):
    columns = {
        "x": lambda i: 9999 if i % 30 == 7 else i % 40,
        "g": lambda i: "Subtotal" if i % 30 == 7 else "pq"[i % 2],
        "y": lambda i: "" if i % 30 == 7 else label(i),
    }
    path = table(tmp_path / "f.csv", columns)
    code, said = described(capsys, path, "--target", "y", "--set", "y.missing=dropped")
    assert (code, said["format"]["target_missing"]) == (0, 4)
    assert [said["columns"][0]["high"], said["columns"][1]["levels"]] == [39, ["p", "q"]]


@pytest.mark.parametrize("encoding", ["iso8859-15", "utf-16-be"])
def test_an_encoding_without_a_mark_is_found(encoding, tmp_path, capsys):
    columns = {"x": v, "mot": lambda i: ["cœur", "sœur", "été"][i % 3], "y": label}
    path = table(tmp_path / "f.csv", columns, encoding=encoding)
    code, said = described(capsys, path, "--target", "y")
    assert (code, said["columns"][1]["levels"]) == (0, ["cœur", "sœur", "été"])


def test_columns_of_parquet_and_json_that_a_table_does_not_hold(tmp_path, capsys):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    labels = [label(i) for i in range(N)]
    columns = {
        "dur": pa.array([None if i % 6 == 0 else i % 50 * 10**6 for i in range(N)], pa.duration("us")),
        "id": pa.array([2**60 + i * 7 for i in range(N)]),
        "list": pa.array([[1, 2]] * N),
        "y": pa.array(labels),
    }
    pq.write_table(pa.table(columns), tmp_path / "f.parquet")
    code, said = described(capsys, tmp_path / "f.parquet", "--target", "y")
    found = [(c["name"], c["kind"], c["high"], c["missing"]) for c in said["columns"]]
    assert (code, found[0]) == (0, ("dur", "number", 49, 20))  # seconds
    assert [one[:2] for one in found[1:]] == [("id", "ignored"), ("list", "ignored")]
    rows = [{"x": i % 9, "id": 2**60 + i * 7, "tags": ["a"], "y": labels[i]} for i in range(N)]
    (tmp_path / "f.jsonl").write_text("\n".join(map(json.dumps, rows)))
    code, said = described(capsys, tmp_path / "f.jsonl", "--target", "y")
    assert (code, [(c["name"], c["why"]) for c in said["columns"] if c["why"]]) == (
        0,
        [("id", "identifiers"), ("tags", "holds lists or objects")],
    )


def test_questions_on_private_records_are_for_the_screen_alone(tmp_path, capsys):
    columns = {
        "x": lambda i: -999 if i % 9 == 0 else i % 40,
        "g": lambda i: "gestohlen" if i % 9 == 0 else i % 40,
        "m": lambda i: "ja" if i % 3 else "",
        "y": lambda i: "" if i % 8 == 0 else label(i),
    }
    path = table(tmp_path / "f.csv", columns)
    assert main(["data", "describe", str(path), "--target", "y"]) == 3
    shown, text = capsys.readouterr().out, (tmp_path / "f.schema.yaml").read_text()
    for private in ("-999", "gestohlen", "14", "ja", "15"):
        assert private in shown
        assert private not in text.partition("columns:")[2]
    assert text.count("# ASK") == 4
    assert main(["plan", f"dataset={tmp_path / 'f.schema.yaml'}"]) == 2
    assert "to decide: missing: see pate data describe" in capsys.readouterr().err


def test_decimal_commas_between_commas_are_read_without_a_schema(tmp_path):
    columns = {"x": lambda i: v(i).replace(".", ","), "g": lambda i: "pq"[i % 2], "y": label}
    data = load("csv", path=table(tmp_path / "f.csv", columns), target="y")
    assert data.X["x"].max() == 17


def test_decimal_commas_of_json_are_in_the_schema(tmp_path, capsys):
    rows = [{"price": v(i).replace(".", ","), "g": "pq"[i % 2], "y": label(i)} for i in range(N)]
    (tmp_path / "f.json").write_text("\n".join(map(json.dumps, rows)))  # as Spark and MongoDB call it
    code, said = described(capsys, tmp_path / "f.json", "--target", "y")
    assert (code, said["columns"][1]["high"]) == (0, 17)
    assert main(["plan", f"dataset={tmp_path / 'f.schema.yaml'}"]) == 0, capsys.readouterr().err


def test_a_name_is_found_as_it_stands_in_the_file(tmp_path, capsys):
    path = table(tmp_path / "f.csv", {"Ｑ１": v, "Ｑ２": label})
    code, said = described(capsys, path, "--target", "Ｑ２", "--set", "Ｑ１.high=9", "--set", "Ｑ１.low=1")
    assert (code, said["target"], said["columns"][0]["high"]) == (0, "Q2", 9)


def test_minus_beside_plus_is_a_label(tmp_path, capsys):
    path = table(tmp_path / "f.csv", {"x": v, "y": lambda i: "+-"[i * i % 7 > 2]})
    code, said = described(capsys, path, "--target", "y")
    assert (code, said["classes"]) == (0, ["+", "-"])
    assert main(["plan", f"dataset={tmp_path / 'f.schema.yaml'}"]) == 0
    argv = ["data", "describe", str(path), "--target", "y"]  # private: classes are not written
    assert main(argv) == 3
    assert '--set \'y.levels=["+","-"]\'' in capsys.readouterr().out
    assert main([*argv, "--set", 'y.levels=["+",-]']) == 0
    assert main(["plan", f"dataset={tmp_path / 'f.schema.yaml'}"]) == 0
    assert load("csv", path=path, target="y", classes=["+", "-"]).classes == ("+", "-")
    with pytest.raises(DataError, match=r"has '-'; accepted: .*, or dataset.classes with '-' among them"):
        load("csv", path=path, target="y")


@pytest.mark.parametrize("declared", [None, ["+", "-", "a"]])
def test_no_record_decides_whether_others_have_a_label(tmp_path, declared):
    others = []
    for first in ("+", "a"):
        path = table(tmp_path / "f.csv", {"x": v, "y": lambda i, first=first: "-a"[i % 2] if i else first})
        found = read_csv(path, CsvFormat()).labels("y", (), "dataset.target", declared=declared, missing=True)
        others.append([found.names[code] if code >= 0 else None for code in found.codes[1:]])
    assert others[0] == others[1]
    assert ("-" in others[0]) is (declared is not None)


def test_letters_of_the_header_alone_say_the_encoding(tmp_path, capsys):
    path = table(tmp_path / "f.csv", {"âge": v, "y": label}, encoding="cp1252")
    assert described(capsys, path, "--target", "y")[0] == 0


def test_a_date_of_years_months_and_days_is_read_in_any_column():
    assert days_of("d-m-y")("2024-02-01") == days_of("d-m-y")("01.02.2024")


def test_arrays_as_keras_and_c_write_them(tmp_path, capsys):
    X, y = np.arange(120.0).reshape(-1, 2), np.array([b"a", b"b"] * 30)
    np.savez(tmp_path / "f.npz", X=X, y=y[:, None])
    assert load("npz", path=tmp_path / "f.npz").classes == ("a", "b")
    np.savez(tmp_path / "g.npz", data=X, target=y)
    assert main(["plan", "dataset=npz", f"dataset.path={tmp_path / 'g.npz'}"]) == 2
    assert "it holds data, target; accepted: X and y" in capsys.readouterr().err
    assert "numbers alone have no schema" in described(capsys, tmp_path / "f.npz")[1]
    np.save(tmp_path / "X.npy", X)
    (tmp_path / "t.npz").write_text("a,b\n1,2\n")
    for name, is_it in (
        ("X.npy", "a single array of NumPy, to be saved as X and y"),
        ("t.npz", "no arrays of"),
    ):
        assert main(["plan", "dataset=npz", f"dataset.path={tmp_path / name}"]) == 2
        assert f"{name}: {is_it}" in (said := capsys.readouterr().err)
        assert said.endswith("; accepted: an .npz file with X and y, as np.savez(FILE, X=X, y=y) writes\n")


@pytest.mark.parametrize("second", ['19" w', '"w" and'])
def test_a_quote_that_is_not_closed_swallows_no_records(second, tmp_path, capsys):
    lines = [f"{v(i)},{'pq'[i % 2]},{label(i)}" for i in range(N)]
    lines[30], lines[50] = '1.0,"so,a', f"1.0,{second},b"  # the second closes the first, 20 records below
    (tmp_path / "f.csv").write_text("\n".join(["x,g,y", *lines]) + "\n")
    code, said = described(capsys, tmp_path / "f.csv", "--target", "y")
    assert (code, said["refused"][0]["line"]) == (2, 32)


def test_quotes_behind_a_backslash_are_named(tmp_path, capsys):
    lines = [rf'{v(i)},"he said \"no\", {i}",{label(i)}' for i in range(N)]  # Spark, Hive
    (tmp_path / "f.csv").write_text("\n".join(["x,g,y", *lines]) + "\n")
    said = described(capsys, tmp_path / "f.csv", "--target", "y")[1]
    assert r'line 2: 4 cells, the header has 3 (a quote within a cell is written \"; accepted: "")' in said


def test_a_second_header_is_no_record_to_be_mended(tmp_path, capsys):
    """As of SurveyMonkey: with its cells missing, `Response` would be a class."""
    path = table(
        tmp_path / "f.csv", {"age": lambda i: 20 + i % 50 if i else "Open-Ended Response", "y": label}
    )
    assert main(["data", "describe", str(path), "--target", "y"]) == 2
    said = capsys.readouterr().err
    assert "line 2: 'age' has 'Open-Ended Response', no number" in said
    assert said.endswith("or the file without lines that are no records, as a second header\n")


def test_a_number_that_is_no_date_is_shown_as_it_is_written(tmp_path, capsys):
    path = table(tmp_path / "f.csv", {"a": lambda i: 20 + i % 50, "x": v, "y": label})
    refused = described(capsys, path, "--set", "a.kind=date")[1]["refused"]
    assert refused[0] == {"line": 2, "why": "'a' has '20', no date"}


@pytest.mark.parametrize("place", [".", "..", "/"])
def test_a_directory_is_no_table(place, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["data", "describe", place, "--output", "s.yaml"]) == 2
    assert main(["data", "describe", place]) == 2
    assert f"{place}: cannot be read (Is a directory)" in capsys.readouterr().err


def test_two_files_of_one_content_keep_how_each_is_written(tmp_path):
    path = table(tmp_path / "f.csv", {"x": v, "g": lambda i: "pq"[i % 2], "y": label})
    (tmp_path / "g.csv").write_text(path.read_text().replace(",", ";"))
    signs = []
    for name in ("f.csv", "g.csv"):
        parts = cached_split(load("csv", path=tmp_path / name, target="y"), np.random.default_rng(0))
        signs.append(parts.encoder.profile_["schema"]["format"]["delimiter"])
    assert signs == [",", ";"]
