"""JSON lines, through the one registry of readers by the ending of a file."""

from __future__ import annotations

import importlib.metadata
import json
import shlex
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from pate_cli import datasets
from pate_cli.cli import main
from pate_cli.datasets import describing, json_lines
from pate_cli.errors import DataError


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str, n: int = 600) -> list[dict[str, object]]:
    """Records whose zip code, a text of digits, says the class."""
    rng = np.random.default_rng(0)
    records = [{"zip": f"010{i % 4:02}", "x": round(x, 3)} for i, x in enumerate(rng.normal(size=n))]
    records = [record | {"y": "yes" if record["zip"] < "01002" else "no"} for record in records]
    Path(name).write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return records


def test_a_text_of_digits_stays_a_text_and_numbers_are_numbers():
    write("f.jsonl", 8)
    table = json_lines.read(Path("f.jsonl"))
    assert list(table.frame["zip"][:2]) == ["01000", "01001"]
    assert table.frame["x"].dtype == np.float64
    Path("f.jsonl").write_text(
        '{"id": 1152921504606846977, "b": true}\n\n{"id": 1152921504606846979, "c": 0.5}\n'
    )
    table = json_lines.read(Path("f.jsonl"), {"id"})
    assert list(table.frame["id"]) == ["1152921504606846977", "1152921504606846979"]
    assert list(table.frame["b"]) == ["true", ""]
    assert list(table.frame.index) == [1, 3]


@pytest.mark.parametrize("other", ["2.10", "0.21e1", '"2.100"'])
def test_labels_are_as_they_are_written(other):
    """Numbers above 2^53 are, beside a float too; and those that are equal but not alike are refused."""
    labels = ["1152921504606846977", "1152921504606846979", "0.5"]
    Path("f.jsonl").write_text("".join(f'{{"y": {label}}}\n' for label in labels))
    assert list(json_lines.read(Path("f.jsonl"), {"y"}).frame["y"]) == labels
    Path("f.jsonl").write_text(f'{{"x": 1, "y": 2.1}}\n{{"x": 2, "y": {other}}}\n' * 50)
    with pytest.raises(DataError, match="one way of writing it"):
        json_lines.load("f", json_lines.Options(path="f.jsonl", target="y"))


@pytest.mark.parametrize(
    "line",
    [
        "[1]",
        "7",
        '{"a": 1',
        '{"a": NaN}',
        '{"a": 1e999}',
        '{"a": 1, "a": 2}',
        r'{"a": "\ud800"}',
        "[" * 10**5,
    ],
)
def test_what_is_no_record_is_refused_by_its_line(line):
    Path("f.jsonl").write_text(f'{{"a": 1}}\n{line}\n')
    with pytest.raises(DataError, match=r"f\.jsonl, line 2: not an object of JSON \("):
        json_lines.read(Path("f.jsonl"))


def test_a_record_is_dealt_to_a_part_whatever_the_others_hold():
    """A text among numbers made 1.50 of what was 1.5, and dealt all records to other parts."""
    lines = [f'{{"a": {i}.50}}' for i in range(40)]
    Path("f.jsonl").write_text("\n".join(lines))
    Path("g.jsonl").write_text("\n".join([*lines, '{"a": "x"}']))
    one, other = (describing.marks_of(json_lines.read(Path(name))) for name in ("f.jsonl", "g.jsonl"))
    assert (one == other[:-1]).all()
    assert len({*one.tolist()}) == 40


@pytest.mark.parametrize(
    "odd",
    [{"seen once": 1}, {"seen once": None}, {"seen once": [1]}, {"y": "no", "x": 1.5, "zip": "01003"}],
    ids=json.dumps,
)
def test_a_key_of_one_record_and_the_order_of_its_keys_are_in_no_schema(odd):
    """They were published: the name of a key, and that its one value was a list."""
    records, told = write("f.jsonl", 60), []
    for first in (records[0], odd if "y" in odd else records[0] | odd):
        Path("f.jsonl").write_text("\n".join(map(json.dumps, [first, *records[1:]])))
        assert main(["data", "describe", "f.jsonl", "--target", "y", "--output", f"{len(told)}.yaml"]) == 0
        told.append(Path(f"{len(told)}.yaml").read_text())
    assert told[0] == told[1]
    assert "zip: {kind: category" in told[0]


@pytest.mark.parametrize("value", [1, None, "t", [1]], ids=json.dumps)
def test_a_key_of_few_records_is_named_to_its_owner_alone(value, capsys):
    """A key of two records was in the schema: one of them put it there. The owner who wants it says so."""
    records = write("f.jsonl", 60)
    for few in range(3):
        more = [record | {"seen by few": 1} for record in records[:few]]
        more.append(records[few] | {"seen by few": value})
        Path("f.jsonl").write_text("\n".join(map(json.dumps, [*more, *records[few + 1 :]])))
        n = few + (value is not None)
        code = main(["data", "describe", "f.jsonl", "--target", "y", "--output", f"{few}.yaml"])
        schema = Path(f"{few}.yaml").read_text()
        assert "seen by few" not in schema
        assert (code, schema.count("# ASK")) == ((3, 1) if n > 1 else (0, 0))
        left_out = [*shlex.split(capsys.readouterr().out.splitlines()[-1].removeprefix("next: pate "))]
        if n > 1:
            assert left_out[-1] == "seen by few.kind=ignored"
            assert main([*left_out, "--output", "left.yaml"]) == 0
            assert Path("left.yaml").read_text() == Path("0.yaml").read_text()
        if n > 1 and value == 1:
            used = [*left_out[:-1], "seen by few.kind=number", "--output", "used.yaml"]
            assert main(used) == 0
            assert '"seen by few": {kind: number' in Path("used.yaml").read_text()
            capsys.readouterr()


@pytest.mark.parametrize("cell", [[1], {"a": 1}])
def test_one_list_makes_no_column_of_lists(cell):
    records = write("f.jsonl", 60)
    Path("f.jsonl").write_text("\n".join(map(json.dumps, [records[0] | {"zip": cell}, *records[1:]])))
    table = json_lines.read(Path("f.jsonl"))
    assert not table.unread
    assert list(table.frame["zip"][1:3]) == ["01001", "01002"]
    lists = [record | {"zip": cell} if i % 2 else record for i, record in enumerate(records)]
    Path("f.jsonl").write_text("\n".join(map(json.dumps, lists)))
    assert json_lines.read(Path("f.jsonl")).unread == {"zip": "lists or objects"}


def test_it_is_trained_on_described_and_predicted(capsys):
    records = write("f.jsonl")
    given = ["dataset=jsonl", "dataset.path=f.jsonl", "dataset.target=y", "teacher.size=20", "eps=20"]
    given += ["features=none", "student=logistic"]
    assert main(["run", *given, "split.public=100", "repeats=1", "hydra.run.dir=out"]) == 0
    assert main(["data", "describe", "f.jsonl", "--target", "y"]) == 0
    assert "zip" in capsys.readouterr().out
    assert main(["predict", "out/student.skops", "f.jsonl", "--output", "labels"]) == 0
    labels = Path("labels").read_text().split()
    assert np.mean([label == record["y"] for label, record in zip(labels, records, strict=True)]) > 0.9


def test_files_of_a_plug_in_are_known_by_their_ending(monkeypatch):
    arff = SimpleNamespace(ENDINGS=(".arff",))
    points = [SimpleNamespace(name="arff", value="arff", load=lambda: arff)]
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: points)
    names = ["a.arff", "a.ARFF.gz", "a.jsonl.xz", "a.txt", "a"]
    assert [datasets.kind_of(Path(name)) for name in names] == ["arff", "arff", "jsonl", "libsvm", "libsvm"]
