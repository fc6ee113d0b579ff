"""What was typed, composed, before anything runs. What is refused is in test_refusals.py."""

from __future__ import annotations

import itertools

import hydra
import pytest
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf

from pate_cli.config import Composer, compose, hydra_composition
from pate_cli.config.command_line import checked, choices, jobs, last_wins, parse_argv
from pate_cli.config.hydra_composition import quoted
from pate_cli.engine import recipes
from pate_cli.errors import ConfigError, InputError


def test_options_and_overrides_in_any_order():
    for argv in (["-m", "eps=1,2", "seed=3"], ["eps=1,2", "-m", "seed=3"], ["eps=1,2", "seed=3", "-m"]):
        line = parse_argv(argv)
        assert line.multirun
        assert line.overrides == ["eps=1,2", "seed=3"]
        assert line.argv == ["-m", "eps=1,2", "seed=3"]  # Hydra wants options first
    for argv in (["--info", "eps=1"], ["eps=1", "--info"], ["eps=1", "-i"]):
        assert parse_argv(argv).argv == ["--info=all", "eps=1"]


def test_parameters_of_a_learner_need_not_exist_before():
    line = parse_argv(["teacher.params.C=3", "teacher.params.penalty=l1"])
    assert compose(jobs(line)[0])["teacher"]["params"] == {"C": 3, "penalty": "l1"}


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
    names = [f"mechanism={name}" for name in ("ours", "score_boosting", "scores", "sspp", "svt")]
    assert jobs(line) == [[name, "eps=1"] for name in names]


def test_another_main_configuration(tmp_path):
    (tmp_path / "mine.yaml").write_text("defaults: [config, _self_, override mechanism: svt]\neps: 3\n")
    line = parse_argv(["--config-name", "mine", "seed=4", "--config-dir", str(tmp_path)])
    config = compose(jobs(line)[0], line.config_dir, line.config_name)
    assert (config["mechanism"]["name"], config["eps"], config["seed"]) == ("svt", 3, 4)


def test_the_dataset_brings_its_sizes_and_the_user_has_the_last_word():
    assert compose([])["teacher"]["size"] == 20
    assert compose(["dataset=mushroom"])["teacher"]["size"] is None
    assert compose(["+experiment=psq_mushroom"])["teacher"]["size"] == 100
    assert compose(["teacher.size=7", "dataset=mushroom", "teacher=tree"])["teacher"]["size"] == 7


def test_every_option_of_every_group_composes():
    groups = [path for path in hydra_composition.conf_dir().iterdir() if path.is_dir()]
    files = [sorted(group.glob("*.yaml")) for group in groups]
    for together in itertools.zip_longest(*files):  # one of each group: a composition takes 0.1 s
        chosen = {path.parent.name: path.stem for path in together if path}
        whole = [f"+experiment={chosen.pop('experiment')}"] if "experiment" in chosen else []
        for given in filter(None, (whole, [f"{group}={name}" for group, name in chosen.items()])):
            compose(given)
    assert sum(map(len, files)) >= 20
    for path in itertools.chain(*files):
        assert "Example: pate run" in path.read_text().split("\n\n")[0]


def test_jobs_composed_together_are_as_hydra_composes_them(tmp_path):
    (tmp_path / "dataset").mkdir()
    (tmp_path / "dataset" / "mine.yaml").write_text("name: csv\npath: ${eps}-${seed}.csv\n")
    lists = [
        *(["mechanism=svt", f"eps={eps}"] for eps in ("1", "2.0", "inf", "null", "'3'", "${seed}", "[1]")),
        *(["eps=1", "mechanism=svt", "repeats=3"], ["seed=3", "seed=4"], ["dataset=mine", "eps=5", "seed=6"]),
        *(["dataset=mine", "eps=7"], ["eps=3", "++eps=2"], ["++eps=2", "eps=3"], ["~seed"], [], ["seed=1"]),
        ["dataset=csv", "dataset.path='a b/c,d.csv'", "dataset.target=", "name=x:y", "release=true"],
        *(["delta=null", "purpose=a b"], ["name=${seed}"], ["name='1'"], ["split.mode=label_private"]),
        *(["teacher=tree", "teacher.size=7"], ["teacher.size=7", "++teacher.params={C: 8}", "repeats=2"]),
        *(checked(row.overrides) for name in recipes.names() for row in recipes.find_recipe(name).rows[::97]),
    ]
    composer = Composer(str(tmp_path))
    for given in lists:
        found = composer.compose(given)
        with hydra.initialize_config_dir(
            str(hydra_composition.conf_dir()), **hydra_composition.version_base()
        ):
            alone = hydra.compose("config", [*given, f"hydra.searchpath=[{quoted(f'file://{tmp_path}')}]"])
        assert repr(found) == repr(OmegaConf.to_container(alone, resolve=True)), given


def test_what_is_kept_for_other_commands_is_theirs_alone(monkeypatch):
    compose(["name=a"])["teacher"]["size"] = "spoilt"
    assert compose(["name=b"]) == {**compose([]), "name": "b"}
    for place in ("here", "there"):
        monkeypatch.setenv("WHERE", place)
        assert compose(["name=${oc.env:WHERE}"])["name"] == place
        assert Composer().directory(["hydra.run.dir=${oc.env:WHERE}"], multirun=False) == place


def test_a_directory_may_name_values(tmp_path):
    (tmp_path / "mine.yaml").write_text("defaults: [config, _self_]\nhydra: {run: {dir: 'at-${eps}'}}\n")
    for eps in ("1", "2"):
        typed = ["hydra.run.dir=at-${eps}", f"eps={eps}"]
        assert Composer().directory(typed, multirun=False) == f"at-{eps}"
        assert Composer(str(tmp_path), "mine").directory(typed[1:], multirun=False) == f"at-{eps}"


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
    composer = Composer(str(mine))
    assert composer.compose(["teacher=small"])["teacher"]["estimator"] == "tree"
    with pytest.raises(ConfigError, match=r"teacher: got 'large'; accepted: libsvm, .*small, .*tree"):
        composer.compose(["teacher=large"])
    with pytest.raises(InputError, match=r"^teacher.oops: no such key; there are: teacher.estimator"):
        composer.compose(["teacher=small", "teacher.oops=1"])


@pytest.mark.parametrize("text", ["a/b", "1.50", "true", "'a b'", "0"])
def test_a_directory_is_what_hydra_reads_and_no_composition_of_its_own(text, monkeypatch):
    given = ["eps=3", f"hydra.run.dir={text}"]
    with hydra.initialize_config_dir(str(hydra_composition.conf_dir()), **hydra_composition.version_base()):
        alone = hydra.compose("config", given, return_hydra_config=True).hydra.run.dir
    composed, _ = compose(["eps=3"]), Composer().directory(["eps=3"], multirun=False)
    monkeypatch.setattr(hydra, "compose", None)
    assert Composer().directory(given, multirun=False) == alone
    assert compose(given) == composed


def test_chosen_directory():
    chosen = ["hydra.run.dir=a/${mechanism.name}-${eps}", "hydra.sweep.dir='b c'", "mechanism=svt", "eps=2"]
    for multirun, made in ((False, "a/svt-2"), (True, "b c")):
        assert Composer().directory([], multirun=multirun) is None
        assert Composer().directory(chosen, multirun=multirun) == made


@pytest.mark.parametrize(
    "text",
    [
        "/it's",
        "/a,b=c[d]{e}",
        "/${oops}",
        "/back\\",
        "/back\\'quote",
        "/é~!$#",
        "a/b.c",
        "nan.0",
        "1e3/x",
        "true",
    ],
)
def test_quoted_text_comes_back(text):
    assert (
        quoted("/data/mine.schema.yaml") == "/data/mine.schema.yaml"
    )  # in the next command, as one types it
    assert compose([f"dataset.name={quoted(text)}"])["dataset"]["name"] == text
    parsed = OverridesParser.create().parse_override(f"x={quoted(text)}")
    assert not parsed.is_sweep_override()


def test_the_last_override_of_a_key_wins():
    given = ["mechanism=svt", "eps=1", "++teacher.params.C=1", "mechanism=gaussian", "++teacher.params.C=2"]
    assert last_wins(given) == ["eps=1", "mechanism=gaussian", "++teacher.params.C=2"]


def test_choices():
    given = ["dataset=[a, 'b']", "eps=2", "repeats=3"]
    assert choices(given) == ({"dataset": ["a", "b"]}, ["eps=2", "repeats=3"])
    assert choices(["dataset=a", "eps=[1,inf]"]) == ({"dataset": ["a"], "eps": [1.0, float("inf")]}, [])
