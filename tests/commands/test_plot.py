"""`pate plot`: its points, its files, and what it refuses."""

from __future__ import annotations

import math
import os
import shutil
from pathlib import Path

import pytest
from written import repeats_of, values, write_run

from pate_cli.cli import main
from pate_cli.errors import InputError
from pate_cli.results import Interval, RunRecord
from pate_cli.results.lines import COLUMN_WIDTH, Point, draw, points
from pate_cli.results.means import rows_of
from pate_cli.results.repeats import find_repeats
from pate_cli.results.repeats_file import RepeatsFile
from pate_cli.types import RepeatResult

COMPARISON = {
    ("gaussian", 0.5): Interval(0.7, 0.02, 30),
    ("gaussian", 1.0): Interval(0.8, 0.02, 30),
    ("svt", 0.5): None,
    ("svt", 1.0): Interval(0.75, 0.03, 30),
    ("all private records", math.inf): Interval(0.99, 0.001, 30),
}


def write_frontier(directory):
    """Write the repeats of a frontier without running it."""
    rows = {
        key: {"dataset": "mushroom", "method": key[0], "eps": key[1], "row": f"{index:012}"}
        | ({} if found else {"status": "infeasible", "reason": "too few teachers"})
        for index, (key, found) in enumerate(COMPARISON.items())
    }
    table = RepeatsFile(directory, rows)
    for key, found in COMPARISON.items():
        for repeat, accuracy in enumerate(values(found) if found else []):
            table.add(key, repeat, RepeatResult(repeat, 64, 9, 9, key[1], 1e-4, key[1], accuracy, 1.0))
    table.write()


def record(mechanism, eps, accuracy, *, dataset="mushroom", seed=0, repeats=30, **config):
    """Write down a run without running it."""
    config |= {"eps": eps, "seed": seed, "repeats": repeats}
    return RunRecord(
        status="infeasible" if accuracy is None else "ok",
        dataset=dataset,
        mechanism=mechanism,
        config=config | {"dataset": {"name": dataset}, "mechanism": {"name": mechanism}},
        n_teachers=64,
        eps=eps,
        delta=1e-4,
        eps_ex_post=eps,
        accuracy=None if accuracy is None else Interval(accuracy, 0.01, repeats),
        diagnostics={"ceiling": 0.97, "majority_class": 0.52} if accuracy else {},
        provenance={"seed": seed},
    )


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A sweep and a frontier, the sweep being newer."""
    monkeypatch.chdir(tmp_path)
    frontier = tmp_path / "outputs" / "frontier" / "mushroom-1"
    write_frontier(frontier)
    os.utime(frontier / "repeats.csv", (1, 1))
    runs = [("gaussian", 0.5, 0.7), ("gaussian", 1.0, 0.8), ("svt", 0.5, None), ("svt", 1.0, 0.75)]
    for index, run in enumerate(runs):
        write_run(f"outputs/2026-01-01/sweep/{index}", record(*run))
    return tmp_path


def of(*records, by=()):
    """Points by method and eps, without the baselines."""
    found = points(rows_of(repeats_of(*records)), "eps", "accuracy", by)
    return {(point.method, point.x): point.y for point in found if math.isfinite(point.x)}


def test_the_ending_chooses_the_form_and_equal_runs_give_equal_bytes(place, capsys):
    for name, head in (("a.pdf", b"%PDF"), ("a.svg", b"<?xml"), ("a.PNG", b"\x89PNG"), ("b.pdf", b"%PDF")):
        assert main(["plot", "outputs/2026-01-01", "--output", name]) == 0
        assert capsys.readouterr() == ("", f"written to {name}, from outputs/2026-01-01\n")
        assert (place / name).read_bytes().startswith(head)
    assert (place / "a.pdf").read_bytes() == (place / "b.pdf").read_bytes()


def test_a_comparison_and_a_sweep_of_the_same_numbers_are_the_same_points(place):
    private = [
        {point for point in points(rows) if math.isfinite(point.x)}
        for rows in (
            rows_of(find_repeats([place / "outputs/frontier/mushroom-1"], constant=True)[0]),
            rows_of(find_repeats(["outputs/2026-01-01"], constant=True)[0]),
        )
    ]
    shown = [{point._replace(y=point.y and point.y.mean) for point in those} for those in private]
    assert shown[0] == shown[1]
    assert ("mushroom", "svt", 0.5, None) in shown[0]


def test_lines_bands_baselines_and_infeasible_points(place):
    figure = draw(points(rows_of(find_repeats(["outputs/2026-01-01"], constant=True)[0])))
    (axis,) = figure.axes
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    baselines = ["student on exact votes (not DP)", "majority class (not DP)"]
    assert labels == ["gaussian", "svt", "cannot run", *baselines]
    lines = {tuple(round(float(y), 9) for y in line.get_ydata()): line for line in axis.lines}
    assert {(0.7, 0.8), (0.75,), (0.97, 0.97), (0.52, 0.52), (0.0,)} == set(lines)
    assert lines[0.0,].get_transform().transform((0.5, 0))[1] < axis.transAxes.transform((0, 0))[1]
    assert list(lines[0.0,].get_xdata()) == [0.5]
    assert len(axis.collections) == 2  # bands
    assert figure.get_figwidth() == COLUMN_WIDTH
    styles = {(line.get_color(), line.get_marker(), line.get_linestyle()) for line in axis.lines[:2]}
    assert all(len(set(kind)) == 2 for kind in zip(*styles, strict=True))  # each tells them apart


def test_a_method_has_its_colour_and_marker_in_every_figure():
    first, second = (
        draw([Point("d", name, x, y) for name in names for x in (1.0, 2.0)])
        for names in (("gaussian", "mine", "best"), ("best", "svt", "gaussian"))
        for y in [Interval(0.7, 0.1, 3)]
    )
    kinds = [
        {line.get_label(): (line.get_color(), line.get_marker()) for line in fig.axes[0].lines}
        for fig in (first, second)
    ]
    assert all(kinds[0][name] == kinds[1][name] for name in ("best", "gaussian"))
    assert len({colour for colour, _ in (*kinds[0].values(), *kinds[1].values())}) == 4


def test_the_legend_has_the_marks_that_are_drawn():
    points = [Point("d", "svt", 1.0, None), Point("d", "svt", 2.0, Interval(0.7, 0.1, 3))]
    points += [Point("d", "active", x, None) for x in (1.0, 2.0)]
    figure = draw(points)
    legend = figure.legends[0]
    assert [text.get_text() for text in legend.get_texts()] == ["svt", "cannot run", "active: cannot run"]
    below = [line for line in figure.axes[0].lines if line.get_ydata()[0] == 0]
    drawn, shown = (
        {(line.get_marker(), line.get_color(), line.get_markerfacecolor()) for line in lines}
        for lines in (below, legend.legend_handles[1:])
    )
    assert len(drawn) == 2
    assert drawn == shown


def test_seeds_are_pooled_and_other_settings_are_lines_of_their_own():
    seeds = [record("gaussian", eps, 0.7 + seed / 10, seed=seed) for eps in (1, 2) for seed in (0, 1)]
    again = record("gaussian", 1, 0.9, repeats=5)  # repeats that the run with 30 has done too
    pooled = of(*seeds, again)
    whole = Interval.pooled([Interval(0.7, 0.01, 30), Interval(0.8, 0.01, 30)])
    assert pooled["gaussian", 1].mean == pytest.approx(whole.mean)
    assert pooled["gaussian", 1].half_width == pytest.approx(whole.half_width)
    assert len(pooled) == 2
    several = [
        record("gaussian", eps, 0.7 + count / 100, teacher={"count": count})
        for eps in (1, 2)
        for count in (2, 4)
    ]
    assert {name for name, _ in of(*several)} == {"gaussian, count=2", "gaussian, count=4"}
    with pytest.raises(
        InputError, match=r"'gaussian' differ in teacher.count \(2, 4\); --by mechanism,teach"
    ):
        of(*several, by=["mechanism"])  # their mean is a sample of nothing
    by_count = points(rows_of(repeats_of(*[one for one in several if one.eps == 1])), "teacher.count")
    assert [(point.method, point.x) for point in by_count[:2]] == [("gaussian", 2), ("gaussian", 4)]


def test_what_is_on_neither_axis_nor_line_is_told_or_refused(place, capsys):
    """A mean over eps would turn this slope round: small eps, where accuracy is less, cannot do 40."""
    runs = [(20, 0.5, 0.6), (20, 1, 0.8), (40, 0.5, None), (40, 1, 0.75)]
    for index, (size, eps, accuracy) in enumerate(runs):
        run = record("gaussian", eps, accuracy, teacher={"size": size, "estimator": f"of-{size}"})
        write_run(f"sizes/{index}", run)
    rows = rows_of(find_repeats(["sizes"], constant=True)[0])
    shown = {(one.method, one.x): one.y and one.y.mean for one in points(rows, "teacher.size")[:4]}
    low, high = "gaussian, eps=0.5", "gaussian, eps=1"
    assert shown == {(low, 20): 0.6, (low, 40): None, (high, 20): 0.8, (high, 40): 0.75}
    assert main(["plot", "sizes", "--x", "teacher.size"]) == 0
    assert "pate: teacher changes with teacher.size from point to point\n" in capsys.readouterr().err
    again = ["plot", "sizes", "--x", "teacher.size", "--output", "b.pdf", "--by"]
    assert main([*again, "mechanism"]) == 2
    said = "'gaussian' differ in eps (0.5, 1); --by mechanism,eps draws a line for each, or give the dir"
    assert said in capsys.readouterr().err
    assert main([*again, "mechanism,eps"]) == 0
    assert main(["plot", "sizes/1", "sizes/3", "--x", "teacher.size", "--output", "b.pdf"]) == 0
    assert "pate: eps is 1 at every point\n" in capsys.readouterr().err
    shutil.copytree(place / "outputs/frontier/mushroom-1", "again")
    assert main(["plot", "again", "outputs/frontier/mushroom-1", "--output", "b.pdf"]) == 0  # counted once
    copy = Path("again/repeats.csv")
    copy.write_text(copy.read_text().replace("00000000000", "11111111111"))  # of other configurations
    capsys.readouterr()
    assert main(["plot", "again", "outputs/frontier/mushroom-1", "--output", "b.pdf"]) == 2
    assert "several rows of 'gaussian' at one eps" in capsys.readouterr().err
    assert main(["plot", "again", "--by", "dataset", "--output", "b.pdf"]) == 2
    assert "'mushroom' differ in mechanism (gaussian, svt)" in capsys.readouterr().err


def test_a_stopped_run_does_not_count_beside_the_finished_one():
    stopped = vars(record("gaussian", 1, 0.5, repeats=3)) | {"status": "interrupted"}
    runs = [record("gaussian", 1, 0.7), RunRecord(**stopped), record("gaussian", 2, 0.8)]
    found = of(*runs)["gaussian", 1]
    assert (found.mean, found.half_width, found.n) == pytest.approx((0.7, 0.01, 30))


def test_files_of_one_kind_are_panels_of_their_own():
    runs = [record("gaussian", 1.0, 0.7, dataset="csv", teacher={"estimator": "tree"})]
    runs.append(record("gaussian", 1.0, 0.8, dataset="csv", teacher={"estimator": "logistic"}))
    runs.append(record("gaussian", 1.0, 0.9, dataset="csv"))
    for run, path in zip(runs, ("data/a.csv", "data/a.csv", "data/b.csv"), strict=True):
        run.config["dataset"]["path"] = path
    found = [(point.panel, point.y.mean) for point in points(rows_of(repeats_of(*runs))) if point.x == 1]
    assert found == [("a.csv", 0.7), ("a.csv", 0.8), ("b.csv", 0.9)]


def test_a_panel_a_dataset_and_no_privacy_is_a_level():
    runs = [record("best", eps, 0.9, dataset=name) for eps in (1, 2, math.inf) for name in ("a9a", "b", "c")]
    figure = draw(points(rows_of(repeats_of(*runs))))
    assert [axis.get_title("left") for axis in figure.axes] == ["a9a", "b", "c"]
    assert "best (not DP)" in [text.get_text() for text in figure.legends[0].get_texts()]


def test_the_newest_by_default_and_no_file_is_written_over_unnamed(place, capsys):
    failed = vars(record("gaussian", 4, None)) | {"status": "error", "message": "?"}
    write_run("outputs/2026-01-01/sweep/4", RunRecord(**failed))
    assert main(["plot"]) == 0
    said = "pate: 1 of the rows did not finish: drawn without what is missing\n"
    assert capsys.readouterr().err == f"{said}written to plot.pdf, from outputs/2026-01-01/sweep\n"
    assert main(["plot"]) == 2
    assert capsys.readouterr().err == "pate: plot.pdf: is there already; --output plot.pdf writes over it\n"
    os.utime("outputs/frontier/mushroom-1/repeats.csv")
    assert main(["plot", "--output", "plot.pdf"]) == 0
    assert capsys.readouterr().err == "written to plot.pdf, from outputs/frontier/mushroom-1\n"


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["nowhere"], "nowhere: no such file or directory"),
        (["empty"], "empty: no runs or frontier found"),
        (["outputs", "--y", "speed"], "--y: 'speed': no such column of numbers; there are: n_teachers, "),
        (["outputs", "--by", "colour"], "--by: 'colour': no such column; there are: dataset, mechanism"),
        (["outputs/2026-01-01/sweep/0"], "--x eps: 0.5 alone; a line takes at least two"),
        (["outputs", "--output", "a.eps"], "--output a.eps: unknown ending; accepted: .pdf, .svg, .png"),
    ],
)
def test_bad_input_is_refused_in_a_line(place, capsys, argv, said):
    (place / "empty").mkdir()
    assert main(["plot", *argv]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"pate: {said}")
    assert not list(place.glob("*.*"))
