"""Seeded bugs in the schema of a private file: each lets one record decide what is written."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from test_seeded_bugs import edit

from pate_cli.cli import main
from pate_cli.datasets import describing, json_lines
from pate_cli.datasets.csv_files import CsvFormat, read_csv
from pate_cli.datasets.distinct import N_PARTS, kept_parts
from pate_cli.datasets.schema import as_yaml
from pate_cli.errors import InputError
from pate_cli.testing import CheckFailed

N = 120
RECORDS = [f"{18 + 7 * i % 60};{'AB'[i % 2]};s;{['no', 'yes'][i * i % 7 > 2]};" for i in range(N)]
# one more record by what it holds, and the first line of the schema that it would change
MORE = {
    "a larger number": ("103;A;s;no;", "  age:"),
    "another class": ("40;A;s;maybe;", "classes:"),
    "the second text of a column": ("40;A;t;no;", "  site:"),
    "a letter of another encoding": ("40;Süd;s;no;", "format:"),
    "a decimal comma": ("40,5;A;s;no;", "format:"),
    "no label": ("40;A;s;;", "target_missing:"),
    "a cell behind the last column": ("40;A;s;no;z", '  "":'),
}
LINES = "\n".join(["age;ward;site;y;", *RECORDS])
BUGS = [
    ("bounds of all records", "describing:describe", "entry if public else", "entry if entry else",
     "a larger number"),
    ("classes of all records", "describing:_classes", 'if public or "levels" in edits', "if column",
     "another class"),
    ("a kind by all records alone", "describing:_kept", "replace(column, missing=None)", "Column()",
     "the second text of a column"),
    ("an encoding by one line", "encodings:_other_encoding", "len(stray) > 1 or", "True or",
     "a letter of another encoding"),
    ("decimals by two cells", "csv_files:typed_cells", 'plain = decimal or "."', "plain = point",
     "a second decimal comma"),
    ("records without a label dropped unasked", "describing:describe",
     'edits.get(target, {}).get("missing") == "dropped"', 'any(table.frame[target] == "")', "no label"),
    ("a column by one cell", "csv_records:_is_empty", "< 2", "< 1", "a cell behind the last column"),
]  # fmt: skip


# identifiers with thousands, one with decimals; and the line that another record in place of the last changes
COMMAS = "\n".join(["age;pid;y;", *[f"{i % 7};{300 + i * 7},{785 - i * 3};{['no', 'yes'][i % 2]};"
                                     for i in range(40)], "3;2,6;no;", ""])  # fmt: skip
OTHER = {"a second decimal comma": ("4;1,5;no;", "  pid:")}


def told_apart(where):
    """Attack a schema: the line by which it tells neighbours apart, if there is one."""
    before = written(where, LINES)
    pairs = [(what, before, written(where, f"{LINES}\n{record}")) for what, (record, _) in MORE.items()]
    commas = written(where, f"{COMMAS}4;310,785;no;")
    pairs += [(what, commas, written(where, COMMAS + record)) for what, (record, _) in OTHER.items()]
    for what, before, after in pairs:
        if before is not None and after is not None and after != before:
            lines = zip([*before.splitlines(), ""], after.splitlines(), strict=False)
            raise CheckFailed(f"{what}: {next(new for old, new in lines if old != new)}")
    return pairs[0][1]


def written(where, text):
    """The schema of a private file; None if its owner is asked, or a line is refused: nothing leaves."""
    path = where / "f.csv"
    path.write_bytes(text.encode("cp1252"))
    try:
        found = describing.describe(read_csv(path, CsvFormat(), keep=True), target="y")
    except InputError:
        return None
    return None if found.asked or found.refused else as_yaml(found.schema)


@pytest.mark.parametrize(("where", "right", "wrong", "seen"), [pytest.param(*b[1:], id=b[0]) for b in BUGS])
def test_a_seeded_bug_tells_neighbours_apart(where, right, wrong, seen, tmp_path, monkeypatch):
    assert "classes: null" in told_apart(tmp_path)
    edit(monkeypatch, f"datasets.{where}", right, wrong)
    with pytest.raises(CheckFailed) as caught:
        told_apart(tmp_path)
    assert str(caught.value).startswith(f"{seen}: {(MORE | OTHER)[seen][1]}")


def test_any_two_parts_of_the_records_are_left_out_together():
    """So one record in place of another leaves a decision that both files have: see `describing`."""
    lines = (~np.array([kept_parts(part) for part in range(N_PARTS)])).astype(int)
    together = lines.T @ lines
    assert (together[~np.eye(N_PARTS, dtype=bool)] == 1).all()


KEYS = [
    ("keys by all records alone", "_of_many",
     " | {_role(by_part[kept]) for kept in map(kept_parts, range(N_PARTS))}", "", "key: "),
    ("a key by one record", "_role", "cells + lists < 2", "cells + lists < 1", "key: "),
    ("a question that names it in the schema", "_of_many", "left_out.add(name)", "...", "key: "),
]  # fmt: skip


@pytest.mark.parametrize(("where", "right", "wrong", "seen"), [pytest.param(*b[1:], id=b[0]) for b in KEYS])
def test_a_seeded_bug_shows_a_key_of_one_record(where, right, wrong, seen, tmp_path, monkeypatch):
    def written(n_having):
        records = [{"age": i % 9, "y": "no" if i % 2 else "yes"} for i in range(40)]
        for record in records[:n_having]:
            record["key"] = 1
        path = tmp_path / "f.jsonl"
        path.write_text("\n".join(map(json.dumps, records)))
        return as_yaml(describing.describe(json_lines.read(path), target="y").schema)

    plain = written(0)
    assert [written(n) for n in (1, 2, 3)] == [plain] * 3
    assert "  key: {kind: " in written(39)
    edit(monkeypatch, f"datasets.describing:{where}", right, wrong)
    assert [n for n in (1, 2, 3) if seen in written(n)]


CELLS = [
    ("a type that names the keys in a cell", "datasets.parquet:read", '"lists or objects"', "str(kind)"),
    ("a public file read as one cell is", "commands.describe:_public_rows", "{*table.columns}",
     '{n for n in table.columns if hasattr(table.frame[n], "cat")}'),
]  # fmt: skip


@pytest.mark.parametrize(("where", "right", "wrong"), [pytest.param(*bug[1:], id=bug[0]) for bug in CELLS])
def test_a_seeded_bug_shows_one_cell(where, right, wrong, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    records = [{"age": i % 9, "code": 1, "cell": {"a": 1}, "y": "no" if i % 3 else "yes"} for i in range(60)]

    def told(name, **first):
        frame = pd.DataFrame([records[0] | first, *records[1:]])
        write = (
            frame.to_parquet if "parquet" in name else partial(frame.to_json, orient="records", lines=True)
        )
        write(name)
        argv = [
            "data",
            "describe",
            name,
            "--target",
            "y",
            "--set",
            "code.kind=category",
            "--output",
            "s.yaml",
        ]
        assert main([*argv, "--rows", f"rows{Path(name).suffix}"]) == 0
        return Path("s.yaml").read_text()

    Path("rows.jsonl").write_text("\n".join(json.dumps(record | {"code": 1.0}) for record in records))
    pd.DataFrame(records).assign(age=1).to_parquet("rows.parquet")
    pairs = [("f.parquet", {"cell": {"hiv": 1}}), ("f.jsonl", {"code": "x"})]
    assert all(told(name) == told(name, **first) for name, first in pairs)
    edit(monkeypatch, where, right, wrong)
    assert [told(name) == told(name, **first) for name, first in pairs].count(False) == 1
