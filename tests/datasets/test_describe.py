"""`pate data describe`: files as people bring them, what a schema may hold of a private one, and its use."""

from __future__ import annotations

import functools
import json
import random
import shlex
from pathlib import Path

import numpy as np
import pytest

from pate_cli.cli import main
from pate_cli.datasets import load
from pate_cli.datasets.csv_files import CsvFormat, read_csv
from pate_cli.datasets.describing import describe, read_edits
from pate_cli.datasets.schema import as_yaml, read_schema
from pate_cli.errors import DataError, InputError

N = 160
MESES = [
    "enero",
    "febrero",
    "marzo",
    "abril",
    "mayo",
    "junio",
    "julio",
    "agosto",
    "septiembre",
    "octubre",
    "noviembre",
    "diciembre",
]


@functools.cache
def cells(seed=0, n=N):
    """Columns of texts, by what they are like; `y` is the class."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    days = rng.integers(0, 900, n)
    date = np.datetime64("2021-02-03") + days.astype("timedelta64[D]")
    pay = rng.integers(20_000, 180_000, n)
    gap = rng.random(n) < 0.12
    year, month, day = (np.array([str(d).split("-")[i] for d in date]) for i in range(3))
    return {
        "x": [f"{v:.2f}" for v in x],
        "comma": [f"{v:.2f}".replace(".", ",") for v in x * 20],
        "dmy": [f"{d}.{m}.{y}" for d, m, y in zip(day, month, year, strict=True)],
        "mdy": [f"{int(m)}/{int(d)}/{y}" for d, m, y in zip(day, month, year, strict=True)],
        "iso": [str(d) for d in date],
        "pay": [f'"${v:,}"' for v in pay],
        "plainpay": [str(v) for v in pay],
        "swiss": [f"{v:,}".replace(",", "'") + ".50" for v in pay],
        "percent": [f"{abs(v) * 5:.1f}%" for v in x],
        "kg": [f"{60 + 9 * v:.1f} kg" for v in x],
        "minus": [f"{v:.2f}".replace("-", "\u2212") for v in x],
        "limit": ["<5" if v < -1 else f"{20 + 5 * v:.1f}" for v in x],
        "gaps": ["k.A." if g else f"{v:.2f}".replace(".", ",") for g, v in zip(gap, x, strict=True)],
        "na": ["NA" if g else f"{v:.1f}" for g, v in zip(gap, x, strict=True)],
        "zip": rng.choice(["01067", "04109", "10115"], n).tolist(),
        "ward": rng.choice(["A", "B", "C"], n).tolist(),
        "answer": rng.choice(["yes", "Yes", "NO", "no"], n).tolist(),
        "hidden": rng.choice(["West", "West\u200b", "East\xa0", "East"], n).tolist(),
        "id": [f"P{i:05d}" for i in range(n)],
        "text": [f"this is what somebody wrote {i} times" for i in range(n)],
        "clock": [
            f"{h}:{m:02d}" for h, m in zip(rng.integers(0, 24, n), rng.integers(0, 60, n), strict=True)
        ],
        "sentinel": ["-999" if g else f"{20 + v:.1f}" for g, v in zip(gap, x, strict=True)],
        "unclear": [f'"{rng.integers(1, 90)},{rng.integers(100, 999)}"' for _ in range(n)],
        "real": [f"R$ {v:,}".replace(",", ".") + ",50" for v in pay],
        "zloty": [f"{v:,}".replace(",", " ") + ",50 zł" for v in pay],
        "han": [f"{y}年{int(m)}月{int(d)}日" for d, m, y in zip(day, month, year, strict=True)],
        "mes": [f"{int(d)} de {MESES[int(m) - 1]} de {y}" for d, m, y in zip(day, month, year, strict=True)],
        "month": [f"{y}-{m}" for m, y in zip(month, year, strict=True)],
        "millions": [f"${v / 1e5:.1f}M" for v in pay],
        "card": [str(4 * 10**15 + int(v)) for v in rng.integers(0, 10**14, n)],
        "y": np.where(x > 0, "ill", "well").tolist(),
    }


def number(low=None, high=None, **more):
    return {"kind": "number", **({} if low is None else {"low": low, "high": high}), **more}


# name: columns, delimiter, encoding, text above and below, and what is right of the columns
FILES = {
    "german.csv": ("id dmy comma gaps zip ward", ";", "cp1252", "Größe;", "", {
        "id": {"kind": "ignored", "why": "identifiers"},
        "dmy": {"kind": "date", "format": "d-m-y"},
        "comma": number(),
        "gaps": number(missing=True),
        "zip": {"kind": "category", "levels": ["01067", "04109", "10115"]},
        "ward": {"kind": "category", "levels": ["A", "B", "C"]},
    }),
    "payroll.csv": ("id mdy pay percent ward", ",", "utf-8", "", "", {
        "id": {"kind": "ignored", "why": "identifiers"},
        "mdy": {"kind": "date", "format": "m-d-y"},
        "pay": number(unit="$", thousands=","),
        "percent": number(unit="%"),
    }),
    "survey.csv": ("iso answer hidden text x", ",", "utf-8", "", "", {
        "iso": {"kind": "date"},
        "answer": {"kind": "category", "n": 2},
        "hidden": {"kind": "category", "levels": ["East", "West"]},
        "text": {"kind": "ignored", "why": "free text"},
    }),
    "excel.txt": ("comma ward", "\t", "utf-16", "", "", {"comma": number()}),
    "report.csv": ("x ward", ",", "utf-8", "Report of 2024\nby the ward\n\n", "Total,\nSource: the ward\n", {
        "x": number(),
        "ward": {"kind": "category", "n": 3},
    }),
    "comments.csv": ("x na kg minus limit", ",", "utf-8", "# made by a tool\n", "", {
        "na": number(missing=True),
        "kg": number(unit="kg"),
        "minus": number(),
        "limit": number(),
    }),
    "abroad.csv": ("real zloty han mes month millions card", ";", "utf-8", "", "", {
        "real": number(unit="R$", thousands="."),
        "zloty": number(unit="zł", thousands=" "),
        "han": {"kind": "date", "format": "y-m-d"},
        "mes": {"kind": "date", "format": "d mon y"},
        "month": {"kind": "date", "format": "y-m"},
        "millions": number(unit="$M"),
        "card": {"kind": "ignored", "why": "identifiers"},
    }),
    "swiss.csv": ("swiss clock plainpay", ";", "utf-8", "sep=;\n", "", {
        "swiss": number(thousands="'"),
        "clock": number(unit="hours", format="h:m"),
        "plainpay": number(),
    }),
}  # fmt: skip


def write(where, name, seed=0, n=N, change=None):
    """Write one of the files; its records are changed by a function of the list of their lines."""
    columns, delimiter, encoding, above, below, _ = FILES[name]
    names = [*columns.split(), "y"]
    more = above.endswith(";")
    made = cells(seed, n)
    lines = [delimiter.join(made[name][i] for name in names) + (";grün" if more else "") for i in range(n)]
    lines = change(lines) if change else lines
    head = delimiter.join(names) + (";Größe" if more else "")
    text = ("" if more else above) + "\n".join([head, *lines]) + "\n" + below
    path = Path(where) / name
    path.write_bytes(text.encode(encoding))
    return path


def described(capsys, *argv):
    code = main(["data", "describe", *map(str, argv), "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_read_as_it_is_meant(name, tmp_path, capsys):
    code, said = described(capsys, write(tmp_path, name), "--target", "y")
    assert (code, said["asked"], said["refused"]) == (0, [], [])
    assert (said["rows"], said["classes"]) == (N, ["ill", "well"])
    assert said["format"]["encoding"] == FILES[name][2]
    columns = {column["name"]: column for column in said["columns"]}
    made = cells()
    for column, right in FILES[name][-1].items():
        found = columns[column]
        for key, value in right.items():
            if key == "n":
                assert len(found["levels"]) == value
            elif key == "missing":
                assert found["missing"] == sum(cell in ("NA", "k.A.") for cell in made[column])
            else:
                assert found[key] == value, (column, key)
    if "pay" in columns:
        pay = [int(cell) for cell in made["plainpay"]]
        assert (columns["pay"]["low"], columns["pay"]["high"]) == (min(pay), max(pay))
    if "minus" in columns:
        assert columns["minus"]["low"] == min(map(float, made["x"]))


@pytest.mark.parametrize("name", FILES)
def test_the_next_command_runs_as_printed_to_a_prediction(name, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, name)
    assert main(["data", "describe", name, "--target", "y"]) == 0
    printed = capsys.readouterr().out.split("next: ")[1]
    command = shlex.split(printed)
    assert command[1:2] == ["plan"]
    assert main(command[1:]) == 0
    plain = ["features=none", "student=logistic"]
    assert main(["run", *command[2:], "eps=50", "teacher.size=20", *plain, "hydra.run.dir=out"]) == 0
    write(tmp_path, name, seed=1)
    capsys.readouterr()
    assert main(["predict", "out/student.skops", name]) == 0
    assert set(capsys.readouterr().out.split()) <= {"ill", "well"}


def schema_of(path, **more):
    """What is written of a private file; None if its owner is asked, or a line is refused."""
    try:
        found = describe(read_csv(path, CsvFormat(), keep=True), target="y", **more)
    except InputError:
        return None
    return None if found.asked or found.refused else as_yaml(found.schema)


ODD = [
    "103",
    "B20",
    "<5",
    "1,5",
    "x",
    "",
    "31.12.2024",
    "12/31/2024",
    "99",
    "-9",
    "YES",
    "é",
    "0012",
    "$5",
    "7 kg",
]
ODD += [
    "NA",
    "unknown",
    "1'000",
    "(5)",
    "12%",
    "1e9",
    "k.A.",
    "P0001",
    "2024-01-01 10:00:00Z",
    "10:30",
    "1.234",
]


def test_no_single_record_decides_what_is_written_of_a_private_file(tmp_path):
    """About 200 neighbours: a record less, or an odd cell in one; the same bytes, refused, or asked."""
    chance, n, same = random.Random(0), 80, 0  # the fewer, the more one is
    for name, (columns, delimiter, *_) in FILES.items():
        before = schema_of(write(tmp_path, name, n=n))
        assert before is not None
        odd = [(column, cell) for column in range(len(columns.split()) + 1) for cell in chance.sample(ODD, 4)]
        for column, cell in [(None, ""), *odd]:
            at = chance.randrange(n)

            def change(lines, delimiter=delimiter, at=at, column=column, cell=cell):
                record = lines[at].split(delimiter)
                if column is not None:
                    record[column] = cell
                return [*lines[:at], *[delimiter.join(record)] * (column is not None), *lines[at + 1 :]]

            try:
                after = schema_of(write(tmp_path, name, n=n, change=change))
            except UnicodeEncodeError:
                continue
            assert after in (before, None), (column, cell)
            same += after is not None
    assert same > 75  # many are neither refused nor asked


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_no_private_cell_decides_how_the_public_file_is_read(ending, tmp_path):
    """One text in a private column of numbers made the levels `1.0` of what was `1`."""
    told = []

    def file(name, codes):
        cells = [
            {"age": 20 + i % 60, "code": code, "y": "no" if i % 3 else "yes"} for i, code in enumerate(codes)
        ]
        lines = ["age,code,y", *(",".join(map(str, cell.values())) for cell in cells)]
        (tmp_path / name).write_text("\n".join(lines if ending == "csv" else map(json.dumps, cells)))
        return str(tmp_path / name)

    public = file(f"public.{ending}", [1.0, 2.0] * 30)
    for first in (1, "x", None):
        argv = ["data", "describe", file(f"own.{ending}", [first, *[1, 2] * 60]), "--target", "y"]
        argv += ["--rows", public, "--output", str(tmp_path / f"{len(told)}.yaml")]
        assert main([*argv, "--set", "code.kind=category"]) == 0
        told.append((tmp_path / f"{len(told)}.yaml").read_text())
    assert told[0] == told[1] == told[2]
    assert "code: {kind: category, levels: ['1.0', '2.0']" in told[0]


def test_a_private_schema_holds_no_bound_no_level_and_no_class(tmp_path):
    text = schema_of(write(tmp_path, "payroll.csv"))
    for private in ("ill", "17", "A, B"):
        assert private not in text.partition("columns:")[2].replace("1900", "")
    columns = read_schema_text(tmp_path, text).columns
    assert (columns["pay"].low, columns["ward"].levels) == (None, None)
    assert (columns["percent"].high, columns["percent"].source) == (100, "proposal")


def read_schema_text(where, text):
    path = Path(where) / "s.yaml"
    path.write_text(text, encoding="utf-8")
    return read_schema(path)


@pytest.mark.parametrize("name", FILES)
def test_reading_by_the_written_schema_gives_each_cell_that_describe_saw(name, tmp_path):
    path = write(tmp_path, name)
    table = read_csv(path, CsvFormat(), keep=True)
    found = describe(table, target="y", public=True)
    schema = read_schema_text(tmp_path, as_yaml(found.schema))
    frame, _ = schema.read(read_csv(path, CsvFormat(), schema.texts, schema.form))
    assert table.decimal == schema.form["decimal"]  # so a run without a schema reads the same
    for column, entry in schema.columns.items():
        if entry.is_number:
            values = frame[column].to_numpy()
            assert np.nanmin(values) >= found.observed[column].low
            assert int(np.isnan(values).sum()) == found.missing[column]
        elif entry.kind == "category":
            assert {*frame[column]} - {""} == {*found.observed[column].levels}
    assert as_yaml(describe(table, target="y", public=True).schema) == as_yaml(found.schema)


def test_what_no_cell_decides_is_asked_and_the_answer_is_printed(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = cells()
    days = [f"{i % 12 + 1}/{i % 9 + 1}/2021" for i in range(N)]
    rows = zip(made["unclear"], made["sentinel"], days, made["y"], strict=True)
    # no cell with decimals: the sentinel's are whole
    lines = [",".join([a, b.partition(".")[0], c, d]) for a, b, c, d in rows]
    Path("f.csv").write_text("\n".join(["amount,lab,day,y", *lines]) + "\n")
    code, said = described(capsys, "f.csv", "--target", "y")
    assert code == 3
    assert {(a["column"], a["key"]) for a in said["asked"]} == {
        ("amount", "decimal"),
        ("lab", "missing"),
        ("day", "format"),
    }
    with pytest.raises(DataError, match=r"f\.schema\.yaml, line \d+: to decide: "):
        read_schema("f.schema.yaml")
    assert main(["data", "describe", "f.csv", "--target", "y"]) == 3
    command = shlex.split(capsys.readouterr().out.split("next: ")[1])
    assert main(command[1:]) == 0
    schema = read_schema("f.schema.yaml")
    assert schema.columns["lab"].words == ["-999"]
    assert main(["plan", "dataset=f.schema.yaml"]) == 0
    # a run without a schema asks, too
    capsys.readouterr()
    assert main(["run", "dataset=csv", "dataset.path=f.csv", "dataset.target=y"]) == 2
    assert "to decide: " in capsys.readouterr().err


@pytest.mark.parametrize("argv", [["data", "describe", "f.csv", "--target", "y"], ["plan", "dataset=csv"]])
def test_of_a_long_cell_the_beginning_is_shown(argv, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"{i % 9}.5,{'ab'[i % 2]}" for i in range(60)]
    Path("f.csv").write_text("\n".join(["v,y", *lines, f"{'long ' * 9000},a"]) + "\n")
    assert main([*argv, *["dataset.path=f.csv", "dataset.target=y"] * (argv[0] == "plan")]) == 2
    said = "".join(capsys.readouterr())
    assert "'v' has 'long long " in said
    assert "characters), no number" in said
    assert max(map(len, said.splitlines())) < 700


def test_numbers_with_different_units_are_named(tmp_path, capsys):
    path = tmp_path / "f.csv"
    lines = [f"{30 + i % 9} {'kg' if i % 2 else 'lb'},{i % 7} kg,{'ab'[i % 3 > 1]}" for i in range(60)]
    path.write_text("\n".join(["weight,dose,y", *lines]) + "\n")
    assert main(["data", "describe", str(path), "--target", "y"]) == 0
    assert "'weight': 31 kg, 30 lb: different units, so no numbers\n" in (said := capsys.readouterr().out)
    assert "'dose'" not in said


ROWS = [f"{i / 7:.2f},{'uvw'[i % 3]},{'ab'[i * i % 7 > 2]}" for i in range(60)]
BOX = ["| v | g | y |", *(f"| {row.replace(',', ' | ')} |" for row in ROWS)]
LAYOUTS = {
    "a header behind a #": ["# made by a tool", "#v,g,y", *ROWS],
    "names of rows without a header": ["v,g,y", *(f'"{i}",{row}' for i, row in enumerate(ROWS, 1))],
    "names of some rows": ["v,g,y", *(f'"{2 * i}",{row}' for i, row in enumerate(ROWS, 1))],
    "blanks": ["v  g y", *(row.replace(",", "  ") for row in ROWS)],
    "headers in between": ["v,g,y", *ROWS[:30], "v,g,y", *ROWS[30:]],
    "a rule": ["v|g|y", "-----+---+---", *(row.replace(",", "|") for row in ROWS), "(60 rows)"],
    "a rule above a note": ["v,g,y", *ROWS, "__________", "© the office 2024"],
    "a box of MySQL": ["+--+-+-+", *BOX[:1], "+--+-+-+", *BOX[1:], "+--+-+-+"],
    "a table of Markdown": [BOX[0], "|---:|:--|:--|", *BOX[1:]],
    "units above no value": ["v,g,y", "kg,,", f"---,{ROWS[0][-3:]}", *ROWS[1:]],
    "notes filled up with delimiters": ["Report,,", "v,g,y", *ROWS, ",,", "Mean,1.5,", "* as measured,,"],
    "a sum in the second column": ["v,g,y", *ROWS, ",Gesamtsumme,99"],
    "questions of Qualtrics": [
        "v,g,y",
        '"How\nmuch v?",Which g?,y?',
        ",".join(['"{""ImportId"":""Q""}"'] * 3),
        *ROWS,
    ],
    "a second file behind the first": ["v,g,y", *ROWS[:30], "\ufeffv,g,y", *ROWS[30:], "\x1a"],
    "units in brackets": ["v,g,y", "[kg],[-],[-]", *ROWS],
    "a unit of several words and signs": ["v,g,y", "mL/min/1.73m²,,", *ROWS],
    "a fixed width": [f"{a:<6}{b:<3}{c:<3}" for a, b, c in (row.split(",") for row in ["v,g,y", *ROWS])],
    "letters in the header alone": ["v,g,y", *ROWS],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_lines_that_are_no_records_are_left_out(layout, tmp_path, capsys):
    lines = "\n".join(LAYOUTS[layout]) + "\n"
    alone = layout == "letters in the header alone"
    path = tmp_path / "f.csv"
    path.write_bytes(lines.replace("v", "Größe", 1).encode("cp1252") if alone else lines.encode())
    code, said = described(capsys, path, "--target", "y")
    assert (code, said["rows"], said["classes"]) == (0, 60, ["a", "b"])
    columns = {c["name"]: c for c in said["columns"] if c["kind"] != "ignored"}
    assert {*columns} == {"Größe" if alone else "v", "g"}
    assert (columns["g"]["levels"], columns["Größe" if alone else "v"]["high"]) == (["u", "v", "w"], 8.43)


def test_codes_for_no_answer_are_asked_together(tmp_path, capsys):
    answers = [97 if i % 20 == 0 else 98 if i % 15 == 0 else 99 if i % 31 == 0 else i % 7 for i in range(300)]
    days = ["9999-12-31" if i % 25 == 0 else f"2021-03-{1 + i % 28:02d}" for i in range(300)]
    lines = [f"{v},{day},{'ab'[i % 2]}" for i, (v, day) in enumerate(zip(answers, days, strict=True))]
    (tmp_path / "f.csv").write_text("\n".join(["q,day,y", *lines]))
    code, said = described(capsys, tmp_path / "f.csv", "--target", "y")
    assert (code, [ask["set"] for ask in said["asked"]]) == (
        3,
        ["q.missing=[97,98,99]", "day.missing=[9999-12-31]"],
    )
    assert said["columns"][0]["high"] == 6


def test_a_separator_that_is_not_the_files_is_refused(tmp_path, capsys):
    path = write(tmp_path, "payroll.csv")
    assert main(["data", "describe", str(path), "--target", "y", "--sep", ";"]) == 2
    assert main(["run", "dataset=csv", f"dataset.path={path}", "dataset.target=y", 'dataset.sep=";"']) == 2
    shown = capsys.readouterr().err
    assert shown.count("got ';'; accepted: what stands between two cells of") == 2
    assert shown.count("\n") == 2


def test_the_next_command_says_where_public_points_are_from(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "swiss.csv", seed=1).rename("public.csv")
    write(tmp_path, "swiss.csv")
    of = ["data", "describe", "swiss.csv", "--target", "y"]
    bought = [f"{name}.levels=private" for name in ("swiss", "clock", "plainpay")]
    for more, points in ((["--rows", "public.csv"], "public.csv"), (bought, "marginals")):
        sets = more if more[0] == "--rows" else [w for b in bought for w in ("--set", b)]
        assert main([*of, *sets, "--set", "y.levels=[ill,well]"]) == 0
        command = shlex.split(capsys.readouterr().out.split("next: ")[1])
        assert command[-1] == f"dataset.public={points}"
        assert main([*command[1:], "eps=20"]) == 0
    assert main([*of, "--set", "y.levels=private"]) == 0
    assert "classes: private\n" in Path("swiss.schema.yaml").read_text()
    assert capsys.readouterr().out.splitlines()[-1].endswith("dataset.public=marginals")


def test_lines_that_do_not_fit_are_refused_all_at_once(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"{i / 7:.2f},{'ab'[i % 2]}" for i in range(60)]
    lines[10] += ",9"
    lines[20] = "1.2"
    lines[30] = "0.x6,a"
    Path("f.csv").write_text("\n".join(["v,y", *lines]) + "\n")
    code, said = described(capsys, "f.csv", "--target", "y")
    assert (code, [one["line"] for one in said["refused"]]) == (2, [12, 22, 32])
    assert not Path("f.schema.yaml").exists()
    assert main(["run", "dataset=csv", "dataset.path=f.csv", "dataset.target=y"]) == 2
    shown = capsys.readouterr().err
    assert "line 12: 3 cells, the header has 2 (dataset.sep is ','); line 22: 1 cells" in shown
    assert shown.count("\n") == 1


def test_a_public_file_gives_bounds_and_levels_and_the_release_says_where_from(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATE_LEDGER", str(tmp_path / "ledger"))
    write(tmp_path, "german.csv", n=400)
    Path("public.csv").write_bytes(write(tmp_path / ".", "german.csv", seed=3).read_bytes())
    write(tmp_path, "german.csv", n=400)
    decided = ["--set", "gaps.low=-9", "--set", "gaps.high=9"]
    assert main(["data", "describe", "german.csv", "--target", "y", "--rows", "public.csv", *decided]) == 0
    schema = read_schema("german.schema.yaml")
    assert schema.classes == ["ill", "well"]
    sources = {name: column.source for name, column in schema.columns.items() if column.kind != "ignored"}
    assert sources == {**dict.fromkeys(("dmy", "comma", "zip", "ward"), "public.csv"), "gaps": "hand"}
    given = ["dataset=german.schema.yaml", "dataset.public=marginals"]
    assert main(["ledger", "init", *given, "--eps", "9", "--delta", "1e-3"]) == 0
    more = ["mechanism=best", "eps=8", "delta=1e-4", "release=true", "purpose=test", "hydra.run.dir=rel"]
    assert main(["run", *given, *more]) == 0
    certificate = json.loads(next(Path("rel").glob("certificate.json")).read_text())
    assert certificate["data"]["schema"]["gaps"]["from"] == "hand"
    assert certificate["data"]["file"] == "german.csv"
    assert certificate["data"]["schema"]["zip"]["from"] == "public.csv"
    assert main(["verify", "rel"]) == 0
    assert main(["predict", "rel/student.skops", "german.csv", "--id", "id"]) == 0


def test_a_schema_that_was_edited_is_not_written_over(tmp_path, capsys):
    path = write(tmp_path, "german.csv")
    argv, schema = ["data", "describe", str(path), "--target", "y"], tmp_path / "german.schema.yaml"
    assert main(argv) == 0
    assert (
        main([*argv, "--set", "gaps.low=-9", "--set", "gaps.high=9"]) == 0
    )  # as it was written: decisions are added by typing
    edited = schema.read_text().replace("low: -9", "low: -8")
    schema.write_text(edited)
    capsys.readouterr()
    assert main(argv) == 2
    said = "was edited, and would be lost; give another, or move it away\n"
    assert capsys.readouterr().err == f"pate: --output {schema}: {said}"
    assert schema.read_text() == edited
    assert read_schema(schema).columns["gaps"].low == -8


def test_what_the_owner_sets_is_read_and_checked(tmp_path):
    names = ["a", "a.b", "lab (mg/l)"]
    edits = read_edits(["a.b.high=12", "a.levels=[x, 'y,z']", "lab (mg/l).missing=trace"], names)
    assert edits == {
        "a.b": {"high": "12"},
        "a": {"levels": ["x", "y,z"]},
        "lab (mg/l)": {"missing": ["trace"]},
    }
    for wrong in ("c.low=1", "a.colour=red", "a", "a.kind=thing"):
        with pytest.raises(InputError):
            read_edits([wrong], names)


@pytest.mark.parametrize("kind", ["date", "number"])
def test_a_kind_that_no_cell_has_is_asked_about(kind, tmp_path, capsys):
    write(tmp_path, "report.csv")
    code, said = described(capsys, tmp_path / "report.csv", "--target", "y", "--set", f"ward.kind={kind}")
    assert (code, [(ask["column"], ask["key"]) for ask in said["asked"]]) == (3, [("ward", "missing")])


def test_a_schema_of_version_1_is_read(tmp_path):
    path = tmp_path / "old.yaml"
    path.write_text("columns: {a: {kind: numeric, low: 0, high: 9}, w: {kind: category, values: [x, y]}}")
    schema = read_schema(path)
    assert (schema.columns["a"].kind, schema.columns["a"].missing) == ("number", False)
    assert schema.columns["w"].levels == ["x", "y"]
    lines = ["a,w,l", *(f"{i % 10},{'xy'[i % 2]},{'pq'[i % 2]}" for i in range(40))]
    (tmp_path / "f.csv").write_text("\n".join([*lines, ",x,p"]))
    with pytest.raises(DataError, match="line 42: column 'a' has ''"):
        load("csv", path=tmp_path / "f.csv", schema=path, target="l")


def test_what_is_declared_is_found_in_whatever_form_of_unicode_the_file_has_it(tmp_path, monkeypatch, capsys):
    """`½` was read as `1⁄2`, and then none of the classes or levels that say `½`."""
    monkeypatch.chdir(tmp_path)
    lines = [
        f"{i % 7},{('½ dose', 'ＦＵＬＬ')[i % 3 % 2]},{('sick ½', 'well')[i % 7 > 3]}" for i in range(200)
    ]
    Path("odd.csv").write_text("\n".join(["x,dose,label", *lines]) + "\n", encoding="utf-8")
    sets = ["x.low=0", "x.high=6", "dose.levels=[½ dose,ＦＵＬＬ]", "label.levels=[well,sick ½]"]
    described = ["data", "describe", "odd.csv", "--target", "label"]
    assert main([*described, *[word for each in sets for word in ("--set", each)]]) == 0
    run = ["run", "dataset=odd.schema.yaml", "split.public=20", "teacher.size=20", "hydra.run.dir=out"]
    assert main(run) == 0
    assert "none of the schema's categories" not in capsys.readouterr().err
    assert main(["predict", "out/student.skops", "odd.csv"]) == 0
    said = capsys.readouterr()
    assert set(said.out.split("\n")) == {"well", "sick ½", ""}
    assert "unseen categories" not in said.err
    assert main([*described, "--set", "dose.levels=[½,1⁄2]"]) == 2
    assert "categories that are all different" in capsys.readouterr().err


def test_a_class_that_reads_like_a_missing_value_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [f"{i % 7},{('true', 'null')[i % 2]}" for i in range(60)]
    Path("two.csv").write_text("\n".join(["x,label", *rows]) + "\n")
    assert main(["data", "describe", "two.csv", "--target", "label"]) == 2
    said = capsys.readouterr().err
    assert "if 'null' is one, not a missing label" in said
    answer = shlex.split(said.partition("as ")[2])[:2]
    assert main(["data", "describe", "two.csv", "--target", "label", *answer]) == 0


@pytest.mark.parametrize("other", ["p7", "Р7"])  # the second is Cyrillic
def test_two_names_of_persons_that_look_alike_are_asked_about(other, tmp_path, capsys):
    """If they were one person, eps would be for a part of its records, and a release is silent about it."""
    names = [*(f"P{i // 3}" for i in range(90)), other]
    lines = [f"{name},{i % 13}.5,{'ab'[i % 2]}" for i, name in enumerate(names)]
    (tmp_path / "f.csv").write_text("\n".join(["who,x,y", *lines]), encoding="utf-8")
    argv = [tmp_path / "f.csv", "--target", "y", "--unit", "who"]
    code, said = described(capsys, *argv)
    assert (code, [ask["set"] for ask in said["asked"]]) == (3, ["who.case=kept"])
    assert "alone: two persons?" in said["asked"][0]["question"]
    assert other not in (tmp_path / "f.schema.yaml").read_text(encoding="utf-8")
    code, said = described(capsys, *argv, "--set", "who.case=kept")
    assert (code, said["asked"]) == (0, [])
