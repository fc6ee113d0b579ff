"""The table of runs: which runs, which columns, averages, and each of its forms."""

from __future__ import annotations

import csv
import io
import math
import re

import pytest
from rich.console import Console
from written import repeats_of, table_of

from pate_cli.errors import InputError
from pate_cli.results import Interval, RunRecord
from pate_cli.results.means import rows_of
from pate_cli.results.tables import Head, Table


def record(dataset="mushroom", mechanism="svt", eps=1.0, **changed):
    seed = changed.pop("seed", 0)
    started = changed.pop("started", "2026-01-01T00:00:00.000+00:00")
    values = {
        "status": "ok",
        "config": {"dataset": dataset, "mechanism": mechanism, "eps": eps},
        "n_teachers": 324,
        "n_answered": 16.2,
        "n_asked": 163.0,
        "delta": 1e-4,
        "eps_ex_post": 0.9271,
        "accuracy": Interval(0.92519, 0.00314, 30),
        "provenance": {"seed": seed, "started": started},
    }
    return RunRecord(dataset=dataset, mechanism=mechanism, eps=eps, **{**values, **changed})


def failed(**changed):
    nothing = dict.fromkeys(["n_teachers", "n_answered", "n_asked", "delta", "eps_ex_post", "accuracy"])
    return record(**{**nothing, "status": "error", "message": "it\nbroke", "mechanism": "bad", **changed})


def run(seed=0, accuracy=None, **settings):
    """A run with settings by their dotted names."""
    config = {"teacher": {"estimator": "logistic"}, "seed": seed, "hydra": {"x": seed}}
    for key, value in settings.items():
        group, _, name = key.partition("__")
        if name:
            config.setdefault(group, {})[name] = value
        else:
            config[group] = value
    accuracy = accuracy or Interval(0.9, 0.01, 3)
    return record(config=config, seed=seed, accuracy=accuracy, eps=settings.get("eps", 1.0))


def console_text(table, width=80, encoding="utf-8"):
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding)
    table.show(Console(file=file, width=width, color_system=None))
    file.flush()
    return raw.getvalue().decode(encoding)


def heads(table):
    return [column.header for column in table.columns]


ALL = [
    record("synthetic", "svt", 1.0, n_teachers=3000, n_answered=385.4, n_asked=400.0),
    record("mushroom", "gaussian", math.inf, eps_ex_post=math.inf, n_answered=163.0),
    record("mushroom", "gaussian", 0.5, diagnostics={"ceiling": 0.99914}),
    record("a9a", "active[svt]", 2.0, accuracy=Interval(0.82, None, 1)),
    failed(),
]
BASE = ["teachers", "labels given/asked", "eps", "eps used", "accuracy ± ci95"]
NUMBERS = ("0.9252 ± 0.0031", "385.4/400", "16.2/163", "0.9271", "0.9991", "3000")


# -- which runs, in which order


def test_runs_are_sorted_by_dataset_mechanism_eps_and_what_else_differs():
    table = table_of([*ALL, record("mushroom", "gaussian", 10.0)])
    records = [line for line in table.records if line["n_repeats"]]
    assert [(line["dataset"], line["mechanism"], line["eps"]) for line in records] == [
        ("a9a", "active[svt]", 2.0),
        ("mushroom", "gaussian", 0.5),
        ("mushroom", "gaussian", 10.0),
        ("mushroom", "gaussian", math.inf),
        ("synthetic", "svt", 1.0),
    ]
    seeds = table_of([run(seed) for seed in (3, 10, 2)])
    assert [row[heads(seeds).index("seed")] for row in seeds.cells] == ["2", "3", "10"]


def test_the_latest_of_the_same_configuration_and_seed_and_no_finished_run_is_hidden():
    early = record(started="2026-01-01T12:00:00+00:00", n_teachers=1)
    # later on the clock of another time zone, though its text sorts before
    late = record(started="2026-01-01T11:30:00-02:00", n_teachers=2)
    for order in ([early, late], [late, early]):
        frame = repeats_of(*order)
        assert [row["n_teachers"] for row in rows_of(frame)] == [2]
        assert frame.attrs["left_out"] == 1
    assert repeats_of(early, record(config={"eps": 9})).attrs["left_out"] == 0
    broken = record(started="2026-01-01T14:00:00+00:00", status="error", message="disk", accuracy=None)
    rows = rows_of(repeats_of(late, broken))
    assert [(row.status, row.reason, row.n) for row in rows] == [("ok", "", 30), ("error", "disk", 0)]
    mended = record(started="2026-01-01T15:00:00+00:00")
    frame = repeats_of(late, broken, mended)
    assert ([row.status for row in rows_of(frame)], frame.attrs["left_out"]) == (["ok"], 2)
    odd = record(provenance={"started": "yesterday", "seed": [1]})
    assert len(rows_of(repeats_of(odd, odd))) == 1


# -- which columns


def test_what_differs_has_a_column_and_nothing_else_has():
    assert heads(table_of([run(0), run(1)])) == ["dataset", "mechanism", "seed", *BASE]
    assert heads(table_of([run(eps=1.0), run(eps=2.0)])) == ["dataset", "mechanism", *BASE]
    table = table_of([run(student__estimator="tree"), run(student__estimator="tree", student__depth=3)])
    assert heads(table) == ["dataset", "mechanism", "student.depth", *BASE]  # set in one of two trees
    assert [row[2] for row in table.cells] == ["3", "–"]
    other = run(student__estimator="logistic", student__C=3)
    table = table_of([run(student__estimator="tree"), other])
    assert heads(table) == ["dataset", "mechanism", "student", *BASE]
    same = [run(x=1), run(x=1)]
    for one, checksum in zip(same, "ab", strict=True):
        one.provenance["dataset_checksum"] = checksum * 64
    assert heads(table_of(same)) == ["dataset", "mechanism", "data", *BASE]


def test_seeds_are_averaged_only_if_asked_and_then_over_all_repeats():
    first, second = [0.8, 0.9, 0.85], [0.7, 0.75, 0.95, 0.9]
    runs = [run(0, Interval.of(first)), run(1, Interval.of(second))]
    assert len(table_of(runs).cells) == 2
    half = RunRecord(**{**vars(run(2, Interval(0.1, 0.1, 3))), "status": "interrupted", "message": "Ctrl-C"})
    table = table_of([*runs, half], by=["mechanism"])
    ours, both = table.records[0], Interval.of(first + second)
    assert (ours["runs"], ours["n_repeats"]) == (2, 7)
    assert (ours["accuracy"], ours["ci95"]) == (
        pytest.approx(both.mean),
        pytest.approx(both.half_width, rel=0.05),
    )
    assert "averaged over all their repeats" in table.note
    assert any("Ctrl-C" in footnote for footnote in table.footnotes)
    mixed = table_of([*runs, run(0, eps=2.0)], by=["mechanism"])
    assert mixed.records[0]["ci95"] is None
    assert "Rows that differ in eps are averaged by their means, without an interval" in mixed.note
    assert mixed.cells[0][heads(mixed).index("eps")] == "1 to 2"


def test_a_repeat_that_stands_in_two_runs_counts_once():
    accuracies = [0.8, 0.9, 0.85, 0.7, 0.75]
    few = run(repeats=3, accuracy=Interval.of(accuracies[:3]))
    more = run(repeats=5, accuracy=Interval.of(accuracies))
    for runs in ([few, more], [more, few]):
        (ours,) = table_of(runs, by=["mechanism"]).records
        assert (ours["runs"], ours["n_repeats"]) == (1, 5)
        ours = ours["accuracy"], ours["ci95"]
        assert ours == pytest.approx((more.accuracy.mean, more.accuracy.half_width))
        assert table_of(runs, by=["dataset"], pivot="mechanism").cells == [["mushroom", "0.8000 ± 0.0982"]]
    other = run(1, repeats=3, accuracy=Interval.of(accuracies[:3]))
    assert table_of([few, more, other], by=["mechanism"]).records[0]["n_repeats"] == 8


def test_a_pivot_has_a_column_a_value_in_their_order():
    runs = [run(seed, Interval(0.5 + eps / 100, 0.01, 3), eps=eps) for seed in (0, 1) for eps in (10.0, 2.0)]
    table = table_of(runs[:-1], pivot="eps")
    assert heads(table) == ["dataset", "mechanism", "seed", "eps 2", "eps 10"]
    assert [row[2:] for row in table.cells] == [
        ["0", "0.5200 ± 0.0100", "0.6000 ± 0.0100"],
        ["1", "–", "0.6000 ± 0.0100"],
    ]
    assert len(table_of(runs, by=["mechanism"], pivot="eps").cells) == 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"by": ["nope"]}, "--by: 'nope': no such setting of these rows; there are: dataset, mechanism,"),
    ],
)
def test_keys_that_are_not_there_are_refused_with_those_that_are(given, said):
    with pytest.raises(InputError, match=said):
        table_of([run()], **given)
    assert table_of([run()], by=["teacher.estimator"]).columns[0].header == "teacher"


# -- the terminal


def test_a_long_name_is_broken_into_two_lines():
    table = Table(
        [Head("method", numeric=False), Head("accuracy")],
        [["output_perturbation", "0.1"], ["a" * 30, "0.2"]],
    )
    lines = console_text(table, 24).splitlines()
    assert [line.split() for line in lines[2:]] == [
        ["output_", "0.1"],
        ["perturbation"],
        ["aaaaaaa…aaaaaaa", "0.2"],
    ]


@pytest.mark.parametrize("width", [20, 40, 80])
def test_a_console_cuts_no_number(width):
    interrupted = record("mushroom", "svt", 0.123, status="interrupted", message="Ctrl-C")
    text = console_text(table_of([*ALL, interrupted]), width)
    for shown in (*NUMBERS, "∞", "0.123"):
        assert shown in text
    assert "…" not in text
    assert width < 80 or max(map(len, text.splitlines())) <= width
    words = " ".join(text.split())
    assert "not differentially private" in words
    assert "eps is the guarantee" in words


def test_names_are_not_read_as_markup_and_signs_are_those_of_the_terminal():
    assert "[bold]x[/]" in console_text(table_of([record("[bold]x[/]", "active[svt]")]), width=120)
    text = console_text(table_of([*ALL, record("pilze ☂")]), encoding="ascii")
    assert "0.9252 +- 0.0031" in text
    assert " inf" in text


def test_a_terminal_names_what_does_not_fit():
    many = {f"split__part{i}": i for i in range(12)}
    table = table_of([run(**many), run(1, **dict.fromkeys(many, -1))])
    text = console_text(table)
    assert max(map(len, text.splitlines())) <= 80
    assert "In every row: dataset mushroom, mechanism svt, teachers 324," in " ".join(text.split())
    assert re.search(r"Only in the files and in CSV: (.*, )?split.part11\.", " ".join(text.split()))
    assert "0.9000 ± 0.0100" in text.splitlines()[4]
    assert "split.part11" in table.to_csv()


def test_what_did_not_finish_is_listed_after_the_table():
    half = record("mushroom", "svt", 4.0, status="interrupted", message="Ctrl-C")
    lines = console_text(table_of([*ALL, half]), width=200).splitlines()
    assert any(re.fullmatch(r"error: mushroom, bad, eps 1 \(/.*/004\): it broke", line) for line in lines)
    table = lines[: lines.index(next(line for line in lines if line.startswith("eps is")))]
    assert any("interrupted" in line for line in table)  # it has a row: some repeats were done
    assert not any(re.search(r"\bbad\b", line) for line in table)
    only = table_of([failed()])
    assert "accuracy" not in console_text(only)
    assert only.to_markdown().startswith("- error: ")
    assert "tabular" not in only.to_latex()


# -- CSV, Markdown, LaTeX, HTML


def test_csv_has_everything_and_rounds_nothing():
    header, *lines = csv.reader(io.StringIO(table_of(ALL).to_csv()))
    rows = [dict(zip(header, line, strict=True)) for line in lines]
    assert [row["status"] for row in rows] == ["ok", "error", "ok", "ok", "ok"]
    free = rows[3]
    assert free["eps"] == "inf"
    assert (float(free["accuracy"]), float(free["ci95"])) == pytest.approx((0.92519, 0.00314), rel=1e-12)
    assert (rows[0]["ci95"], rows[1]["message"]) == ("", "it broke")


def test_markdown_and_what_is_left_out():
    table = table_of([record("a|<b>", "gaussian", math.inf, eps_ex_post=math.inf)] * 2)
    lines = table.to_markdown().splitlines()
    assert lines[0] == f"| dataset | mechanism | {' | '.join(BASE)} |"
    assert "| a\\|<b> | gaussian | 324 | 16.2/163 | ∞ | ∞ | 0.9252 ± 0.0031 |" in lines
    for text in (console_text(table), table.to_markdown(), table.to_latex()):
        assert "1 other row of the same configuration and data left out" in text
        assert "not differentially private" in " ".join(text.split())


def test_latex_is_escaped_and_regular():
    names = ["my_data 50%", "[3] & #1", "a\\b^{c}~$", "*x*"]
    text = table_of([*(record(name) for name in names), *ALL]).to_latex()
    rows = [
        re.split(r"(?<!\\) & ", line[: -len(r" \\")]) for line in text.splitlines() if line.endswith(r" \\")
    ]
    assert {len(row) for row in rows} == {8}
    assert {row[0] for row in rows} >= {
        r"my\_data 50\%",
        r"{[}3] \& \#1",
        r"a\textbackslash{}b\textasciicircum{}\{c\}\textasciitilde{}\$",
        r"{*}x{*}",
    }
    for part in (r"\begin{tabular}{llrrrrrr}", r"$\infty$", r"0.9252 $\pm$ 0.0031", r"$\varepsilon$"):
        assert part in text
    assert all(line.startswith("%") for line in text.splitlines() if "it broke" in line)


LONG = [run(seed) for seed in range(41)]


def test_latex_says_once_what_is_the_same_in_every_row_and_breaks_at_a_page():
    text = table_of(LONG).to_latex()
    assert "In every row: dataset mushroom; mechanism svt; teachers 324;" in text
    assert text.count(r"\begin{tabular}{r}") == text.count(r"\toprule" + "\nseed") == 2


@pytest.mark.parametrize(
    "runs",
    [
        [*ALL, record("my_data 50%"), record("[3] & a\\b^{c}~$")],
        [run(seed, c__d=str(seed) * 80) for seed in range(3)],  # wider than a line
        LONG,
    ],
)
def test_latex_compiles(runs, typeset):
    typeset(table_of(runs).to_latex())


def test_runs_of_other_deltas_are_told_apart():
    """At one eps the one of the larger delta was better, and nothing said why."""
    runs = [
        record(config={"mechanism": "svt", "eps": 1.0, "delta": delta}, delta=delta) for delta in (1e-5, 0.1)
    ]
    table = table_of(runs)
    assert [cells[heads(table).index("delta")] for cells in table.cells] == ["1e-05", "0.1"]
    unlike = [record(dataset, config={"dataset": dataset, "delta": None}, delta=1 / n)
              for dataset, n in (("a", 99), ("b", 999))]  # fmt: skip
    assert "delta" not in heads(table_of(unlike))
