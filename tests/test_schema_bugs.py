"""Seeded bugs in the schema of a private file: each lets one record decide what is written."""

from __future__ import annotations

import pytest
from test_seeded_bugs import edit

from pate_cli.datasets import describing
from pate_cli.datasets.csv_files import CsvFormat, read_csv
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
    ("classes of all records", "describing:_classes", 'if public or "levels" in edits', "if found",
     "another class"),
    ("a kind by all records alone", "describing:_kept", "replace(column, missing=None)", "Column()",
     "the second text of a column"),
    ("an encoding by one line", "encodings:_other_encoding", "len(stray) > 1 or", "True or",
     "a letter of another encoding"),
    ("decimals by one cell", "cells:_decimal", "here[mark] > 1", "here[mark] > 0", "a decimal comma"),
    ("records without a label dropped unasked", "describing:describe",
     'edits.get(target, {}).get("missing") == "dropped"', "True", "no label"),
    ("a column by one cell", "csv_files:_is_empty", "< 2", "< 1", "a cell behind the last column"),
]  # fmt: skip


def told_apart(where):
    """Attack a schema: the line by which it tells a file from the one with a record more, if there is one."""
    before = written(where, LINES)
    for what, (record, _) in MORE.items():
        after = written(where, f"{LINES}\n{record}")
        if after is not None and after != before:
            lines = zip([*before.splitlines(), ""], after.splitlines(), strict=False)
            raise CheckFailed(f"{what}: {next(new for old, new in lines if old != new)}")
    return before


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
    assert str(caught.value).startswith(f"{seen}: {MORE[seen][1]}")
