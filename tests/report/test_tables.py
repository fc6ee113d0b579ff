from __future__ import annotations

import csv
import io
import math
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from pate_cli.report import (
    MeanAccuracy,
    RunRecord,
    RunTable,
    run_table,
    to_console,
    to_csv,
    to_latex,
    to_markdown,
)


def record(
    dataset: str = "mushroom", mechanism: str = "svt", eps: float | None = 1.0, **changed: Any
) -> RunRecord:
    seed = changed.pop("seed", 0)
    started = changed.pop("started", "2026-01-01T00:00:00.000+00:00")
    values: dict[str, Any] = {
        "status": "ok",
        "config": {"dataset": dataset, "mechanism": mechanism, "eps": eps},
        "n_teachers": 324,
        "n_answered": 16.2,
        "n_asked": 163.0,
        "delta": 1e-4,
        "eps_ex_post": 0.9271,
        "accuracy": MeanAccuracy(0.92519, 0.00314, 30),
        "provenance": {"seed": seed, "started": started},
    }
    return RunRecord(dataset=dataset, mechanism=mechanism, eps=eps, **{**values, **changed})


def failed(**changed: Any) -> RunRecord:
    nothing = dict.fromkeys(["n_teachers", "n_answered", "n_asked", "delta", "eps_ex_post", "accuracy"])
    return record(**{**nothing, "status": "error", "message": "it\nbroke", "mechanism": "bad", **changed})


def console_text(table: RunTable, width: int = 80, encoding: str = "utf-8") -> str:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding)
    to_console(table, Console(file=file, width=width, color_system=None))
    file.flush()
    return raw.getvalue().decode(encoding)


def latex_rows(text: str) -> list[list[str]]:
    return [
        re.split(r"(?<!\\) & ", line[: -len(r" \\")]) for line in text.splitlines() if line.endswith(r" \\")
    ]


ALL = [
    record("synthetic", "svt", 1.0, n_teachers=3000, n_answered=385.4, n_asked=400.0),
    record("mushroom", "gaussian", math.inf, eps_ex_post=math.inf, n_answered=163.0),
    record("mushroom", "gaussian", 0.5, diagnostics={"ceiling": 0.99914}),
    record("a9a", "active[svt]", 2.0, accuracy=MeanAccuracy(0.82, None, 1)),
    failed(),
]


def test_sorted_by_dataset_mechanism_eps() -> None:
    table = run_table([*ALL, record("mushroom", "gaussian", 10.0)])
    assert [(row.dataset, row.mechanism, row.eps) for row in table.rows] == [
        ("a9a", "active[svt]", 2.0),
        ("mushroom", "gaussian", 0.5),
        ("mushroom", "gaussian", 10.0),
        ("mushroom", "gaussian", math.inf),
        ("synthetic", "svt", 1.0),
    ]


def test_sorting_is_stable() -> None:
    table = run_table([record(seed=seed) for seed in (3, 1, 2)])
    assert [row.seed for row in table.rows] == [3, 1, 2]


def test_the_latest_of_the_same_configuration_and_seed() -> None:
    early = record(started="2026-01-01T12:00:00+00:00", n_teachers=1)
    # Later on the clock of another time zone, though its text sorts before.
    late = record(started="2026-01-01T11:30:00-02:00", n_teachers=2)
    for order in ([early, late], [late, early]):
        table = run_table(order)
        assert [row.n_teachers for row in table.rows] == [2]
        assert table.left_out == 1
    assert run_table([early, late, record(seed=1)]).left_out == 1
    assert run_table([early, record(config={"eps": 9})]).left_out == 0


def test_a_failed_repetition_hides_no_finished_run() -> None:
    done = record(started="2026-01-01T12:00:00+00:00")
    broken = record(started="2026-01-01T13:00:00+00:00", status="error", message="disk", accuracy=None)
    table = run_table([done, broken])
    assert [row.status for row in table.rows] == ["ok"]
    assert [row.message for row in table.unfinished] == ["disk"]
    # Mended since: the failure is history.
    mended = record(started="2026-01-01T14:00:00+00:00")
    assert run_table([done, broken, mended]).unfinished == []
    assert run_table([done, broken, mended]).left_out == 2


@pytest.mark.parametrize("provenance", [{}, {"started": "yesterday", "seed": [1]}, {"started": 5}])
def test_odd_provenance_is_no_crash(provenance: dict[str, Any]) -> None:
    assert len(run_table([record(provenance=provenance), record(provenance=provenance)]).rows) == 1


def test_console_fits_80_columns_with_every_number() -> None:
    interrupted = record("mushroom", "svt", 0.123, status="interrupted", message="Ctrl-C")
    text = console_text(run_table([*ALL, interrupted]))
    assert max(map(len, text.splitlines())) <= 80
    for shown in (
        "0.9252 ± 0.0031",
        "385.4/400",
        "16.2/163",
        "163/163",
        "0.9271",
        "0.9991",
        "∞",
        "0.123",
        "3000",
    ):
        assert shown in text
    assert "…" not in text
    assert "not differentially private" in " ".join(text.split())
    assert "eps is the guarantee" in text


@pytest.mark.parametrize("width", [20, 40, 60])
def test_a_narrow_console_cuts_no_number(width: int) -> None:
    text = console_text(run_table(ALL), width)
    for shown in ("0.9252 ± 0.0031", "385.4/400", "0.9271", "0.9991", "3000"):
        assert shown in text
    assert "…" not in text


def test_names_are_not_read_as_markup() -> None:
    text = console_text(run_table([record("[bold]x[/]", "active[svt]")]), width=120)
    assert "[bold]x[/]" in text
    assert "active[svt]" in text


def test_a_terminal_without_unicode() -> None:
    text = console_text(run_table([*ALL, record("pilze ☂")]), encoding="ascii")
    assert "0.9252 +- 0.0031" in text
    assert " inf" in text


def test_what_did_not_finish_is_listed_after_the_table() -> None:
    half = record("mushroom", "svt", 4.0, status="interrupted", message="Ctrl-C")
    lines = console_text(run_table([*ALL, half]), width=200).splitlines()
    hash_of = failed().config_hash
    assert f"error: mushroom, bad, eps 1 ({hash_of}): it broke" in lines
    table = lines[: lines.index(next(line for line in lines if line.startswith("eps is")))]
    assert any("interrupted" in line for line in table)  # it has a row: some repeats were done
    assert not any(re.search(r"\bbad\b", line) for line in table)


def test_only_failures_is_a_list_without_a_table() -> None:
    table = run_table([failed()])
    assert "accuracy" not in console_text(table)
    assert "it broke" in console_text(table)
    assert to_markdown(table).startswith("- error: ")
    assert "tabular" not in to_latex(table)


def test_ceiling_and_status_only_where_they_say_something() -> None:
    header = to_markdown(run_table([record()])).splitlines()[0]
    assert (
        header == "| dataset | mechanism | teachers | answered/asked | eps | eps_ex_post | accuracy ± ci95 |"
    )


def test_csv_has_everything_and_rounds_nothing() -> None:
    text = to_csv(run_table(ALL))
    header, *lines = csv.reader(io.StringIO(text))
    assert all(len(line) == len(header) for line in lines)
    rows = [dict(zip(header, line, strict=True)) for line in lines]
    assert [row["status"] for row in rows] == ["ok", "error", "ok", "ok", "ok"]
    free = rows[3]
    assert (free["eps"], free["accuracy"], free["ci95"]) == ("inf", "0.92519", "0.00314")
    assert rows[0]["ci95"] == ""
    assert rows[1]["message"] == "it broke"


def test_markdown_rows_and_escaping() -> None:
    text = to_markdown(run_table([record("a|b", "gaussian", math.inf, eps_ex_post=math.inf)]))
    assert "| a\\|b | gaussian | 324 | 16.2/163 | ∞ | ∞ | 0.9252 ± 0.0031 |" in text.splitlines()
    assert "not differentially private" in text


def test_left_out_is_said() -> None:
    table = run_table([record(), record()])
    for text in (console_text(table), to_markdown(table), to_latex(table)):
        assert "1 earlier run of the same configuration and seed left out" in text


def test_latex_is_escaped_and_regular() -> None:
    names = ["my_data 50%", "[3] & #1", "a\\b^{c}~$", "*x*"]
    text = to_latex(run_table([*(record(name) for name in names), *ALL]))
    rows = latex_rows(text)
    assert {len(row) for row in rows} == {8}
    assert {row[0] for row in rows} >= {
        r"my\_data 50\%",
        r"{[}3] \& \#1",
        r"a\textbackslash{}b\textasciicircum{}\{c\}\textasciitilde{}\$",
        r"{*}x{*}",
    }
    assert r"\begin{tabular}{llrrrrrr}" in text
    assert r"$\infty$" in text
    assert r"0.9252 $\pm$ 0.0031" in text
    assert r"$\varepsilon$" in text
    order = [text.index(part) for part in (r"\toprule", r"\midrule", r"\bottomrule", r"\end{tabular}")]
    assert order == sorted(order)
    for line in text.splitlines():
        if not line.startswith("%"):
            assert line.count("{") - line.count(r"\{") == line.count("}") - line.count(r"\}")
    assert all(line.startswith("%") for line in text.splitlines() if "it broke" in line)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_compiles(tmp_path: Path) -> None:
    body = to_latex(run_table([record("my_data 50%"), record("[3] & a\\b^{c}~$"), *ALL]))
    page = "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\n" + body + "\\end{document}\n"
    (tmp_path / "t.tex").write_text(page, encoding="utf-8")
    subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
