"""A schema, or a public file, settles how a file is read: one record changes no other, and stops no run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pate_cli.datasets import load
from pate_cli.errors import ConfigError

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
    assert one.public_remarks == two.public_remarks


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


@pytest.mark.parametrize("name", ["a title", "a total", "units"])
def test_a_public_file_settles_it_too(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    above, records, nasty, below, columns = CASES[name]
    Path("new.csv").write_text(NAMES + "\n".join(FULL))
    for lines in (records, [*records[:2], nasty, *records[3:]]):
        Path("own.csv").write_text(above + "\n".join([*lines, below]))
        table = load("csv", path="own.csv", public="new.csv", target="y", numeric=list(columns))
        assert (table.n_records, list(table.X)) == (len(records), list(columns))


@pytest.mark.parametrize("again", [False, True], ids=["each once", "one twice"])
def test_whether_a_name_repeats_does_not_say_who_is_protected(tmp_path, monkeypatch, again):
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(f"target: y\ncolumns: {{a: {NUMBER}}}")
    names = [f"p{min(i, 38) if again else i}" for i in range(40)]
    lines = [f"{line},{name}" for line, name in zip(FULL, names, strict=True)]
    Path("own.csv").write_text("\n".join(["a,b,c,y,patient_id", *lines]))
    with pytest.raises(ConfigError, match=r"dataset.unit: got 'auto'; accepted: patient_id"):
        load("csv", path="own.csv", schema="s.yaml")
    load("csv", path="own.csv", schema="s.yaml", unit=None)
