"""What was typed, before anything runs. Refusals are in test_bad_input.py, through the command."""

from __future__ import annotations

import pytest
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser

from pate_cli import cli
from pate_cli.config import composition
from pate_cli.config.command_line import jobs, parse_argv
from pate_cli.config.composition import chosen_directory, compose, quoted
from pate_cli.config.rows import compose_all
from pate_cli.errors import ConfigError, InputError


def test_options_and_overrides_in_any_order():
    for argv in (["-m", "eps=1,2", "seed=3"], ["eps=1,2", "-m", "seed=3"], ["eps=1,2", "seed=3", "-m"]):
        line = parse_argv(argv)
        assert line.multirun
        assert line.overrides == ["eps=1,2", "seed=3"]
        assert line.argv == ["-m", "eps=1,2", "seed=3"]  # Hydra wants options first


@pytest.mark.parametrize("who", ["teacher", "student"])
def test_parameters_of_a_learner_need_not_exist_before(who):
    line = parse_argv([f"{who}.params.C=3", f"{who}.params.penalty=l1"])
    assert compose(jobs(line)[0])[who]["params"] == {"C": 3, "penalty": "l1"}


def test_jobs_of_a_sweep():
    line = parse_argv(["-m", "mechanism=gaussian,svt", "eps=1,2", "seed=4"])
    assert jobs(line) == [
        [f"mechanism={mechanism}", f"eps={eps}", "seed=4"]
        for mechanism in ("gaussian", "svt")
        for eps in (1, 2)
    ]


def test_a_glob_is_the_options_it_fits(tmp_path):
    (tmp_path / "mechanism").mkdir()
    (tmp_path / "mechanism" / "ours.yaml").write_text("name: svt\n")
    line = parse_argv(["-m", "mechanism=glob([s*,ours],exclude=so*)", "eps=1", "--config-dir", str(tmp_path)])
    names = [f"mechanism={name}" for name in ("ours", "score_boosting", "sspp", "svt")]
    assert jobs(line) == [[name, "eps=1"] for name in names]


def test_another_main_configuration(tmp_path):
    (tmp_path / "mine.yaml").write_text("defaults: [config, _self_, override mechanism: svt]\neps: 3\n")
    line = parse_argv(["--config-name", "mine", "seed=4", "--config-dir", str(tmp_path)])
    config = compose(jobs(line)[0], line.config_dir, line.config_name)
    assert (config["mechanism"]["name"], config["eps"], config["seed"]) == ("svt", 3, 4)


def test_the_dataset_brings_its_sizes_and_the_user_has_the_last_word():
    assert compose([])["teacher"]["size"] == 20
    assert compose(["dataset=mushroom"])["teacher"]["size"] == 100
    assert compose(["dataset=mushroom", "teacher=tree", "teacher.size=7"])["teacher"]["size"] == 7
    assert compose(["teacher.size=7", "dataset=mushroom"])["teacher"]["size"] == 7


def test_every_option_of_every_group_composes():
    count = 0
    for group in sorted(path for path in composition.conf_dir().iterdir() if path.is_dir()):
        for path in group.glob("*.yaml"):
            compose([f"{'+' * (group.name == 'experiment')}{group.name}={path.stem}"])
            count += 1
            assert "Example: pate run" in path.read_text().split("\n\n")[0]
    assert count >= 20


def test_jobs_composed_together_are_as_composed_one_by_one(tmp_path):
    (tmp_path / "dataset").mkdir()
    (tmp_path / "dataset" / "mine.yaml").write_text("name: csv\npath: ${eps}-${seed}.csv\n")
    lists = [
        *(
            ["mechanism=svt", f"eps={eps}"]
            for eps in ("1", "2.0", "inf", "null", "'3'", "${seed}", "[1]", "")
        ),
        *(["eps=1", "mechanism=svt", "repeats=3"], ["seed=3", "seed=4"], ["dataset=mine", "eps=5", "seed=6"]),
        *(["dataset=mine", "eps=7"], ["eps=3", "++eps=2"], ["++eps=2", "eps=3"], ["~seed"], []),
        *(["teacher=tree", "teacher.size=7"], ["teacher.size=7", "++teacher.params={C: 8}", "repeats=2"]),
    ]
    together = list(compose_all(lists, parse_argv(["--config-dir", str(tmp_path)])))
    assert [repr(raw) for raw in together] == [repr(compose(job, str(tmp_path))) for job in lists]
    assert together[10]["dataset"]["path"] == "5-6.csv"


def test_hydra_is_left_as_it_was():
    before = HydraConfig.instance().cfg
    compose([])
    with pytest.raises(InputError):
        compose(["oops=1"])
    assert not GlobalHydra.instance().is_initialized()
    assert HydraConfig.instance().cfg is before


def test_interpolations_are_resolved(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WHERE", "here")
    argv = ["dataset=libsvm", "dataset.path=${hydra:runtime.cwd}/${oc.env:WHERE}/x"]
    assert compose(argv)["dataset"]["path"] == f"{tmp_path}/here/x"
    assert compose(["seed=3", "repeats=${seed}"])["repeats"] == 3


def test_configs_of_the_user(tmp_path):
    mine = tmp_path / "it's mine, = [all]"
    (mine / "teacher").mkdir(parents=True)
    (mine / "teacher" / "small.yaml").write_text("estimator: tree\nparams: {}\nsize: 5\ncount: null\n")
    assert compose(["teacher=small"], str(mine))["teacher"]["estimator"] == "tree"
    with pytest.raises(
        ConfigError, match=r"teacher: got 'large'; accepted: libsvm, linear_svm, logistic, .*small, .*tree"
    ):
        compose(["teacher=large"], str(mine))
    with pytest.raises(InputError, match=r"^teacher.oops: no such key; there are: teacher.estimator"):
        compose(["teacher=small", "teacher.oops=1"], str(mine))


def test_chosen_directory():
    chosen = ["hydra.run.dir=a/${mechanism.name}", "hydra.sweep.dir='b c'", "mechanism=svt"]
    for multirun, made in ((False, "a/svt"), (True, "b c")):
        assert chosen_directory([], multirun=multirun) is None
        assert chosen_directory(chosen, multirun=multirun) == made


@pytest.mark.parametrize(
    "text",
    ["/plain", "/a b", "/it's", "/a,b=c[d]{e}", "/${oops}", "/back\\", "/back\\'quote", '/"', "/é~!$#"],
)
def test_quoted_text_comes_back(text):
    assert compose([f"dataset.name={quoted(text)}"])["dataset"]["name"] == text
    parsed = OverridesParser.create().parse_override(f"x={quoted(text)}")
    assert not parsed.is_sweep_override()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"estimator: [tree\n", ", line 2: not YAML (expected ',' or ']', but got '<stream end>')"),
        (b"a: b: c\n", ", line 1: not YAML (mapping values are not allowed here)"),
        (b"estimator: tree\n\tparams: 1\n", ", line 2: not YAML (found character '\\t'"),
        (b"estimator: tree\nparams: \xff\n", ", line 2: not UTF-8 text"),
        (b"estimator: tree\nparams: \x01\n", ": not YAML (special characters are not allowed)"),
        (b"- estimator\n", ": holds a list; keys and values are needed"),
    ],
)
def test_a_config_that_is_not_yaml_is_named(content, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own" / "teacher").mkdir(parents=True)
    (tmp_path / "own" / "teacher" / "mine.yaml").write_bytes(content)
    for argv in (["run"], ["plan"], ["audit"]):
        assert cli.main([*argv, "--config-dir", "own", "teacher=mine"]) == 2
        message = capsys.readouterr().err
        assert message.startswith(f"pate: own/teacher/mine.yaml{said}")
        assert message.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["own"]


@pytest.mark.parametrize(("argv", "key"), [([], "hydra.run.dir"), (["-m"], "hydra.sweep.dir")])
def test_an_empty_directory_is_not_the_current_one(argv, key, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["run", *argv, f"{key}=", "repeats=1"]) == 2
    assert capsys.readouterr().err == f"pate: {key}: got ''; accepted: a directory, or auto\n"
    assert list(tmp_path.iterdir()) == []
