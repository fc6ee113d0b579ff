"""Names, options, configs, and the cost of the import."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from pate_cli.datasets import NAMES, find, load
from pate_cli.errors import ConfigError, InputError

CONF = Path(__file__).resolve().parents[2] / "conf" / "dataset"


def test_unknown_name_and_option_list_what_exists():
    with pytest.raises(
        ConfigError, match=r"^dataset\.name: got 'mushrom'; did you mean mushroom; accepted: synthetic, "
    ):
        load("mushrom")
    with pytest.raises(InputError, match=r"^dataset\.gapp: no such key; there are: .*dataset\.gap"):
        load("synthetic", gapp=1)
    with pytest.raises(InputError, match=r"^dataset\.path: no such key; there are: none in dataset"):
        load("a9a", path="x")


def test_importing_the_room_imports_nothing_heavy():
    code = (
        "import sys, pate_cli.datasets;"
        "print({'sklearn', 'pandas', 'scipy', 'pooch', 'rich'} & set(sys.modules) or 'nothing')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "nothing"


def test_every_name_has_a_config_and_every_config_a_name():
    assert {path.stem for path in CONF.glob("*.yaml")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_config_holds_the_options_of_the_loader(name):
    text = (CONF / f"{name}.yaml").read_text()
    assert text.splitlines()[0] == "# @package _global_"
    options = yaml.safe_load(text)["dataset"]
    assert options.pop("name") == name
    defaults = {field.name: field.default for field in dataclasses.fields(find(name).Options)}
    assert {key: None if value == "???" else value for key, value in options.items()} == defaults
