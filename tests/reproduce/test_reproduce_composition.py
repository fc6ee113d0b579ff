import pytest

from pate_cli.config import composition, recipes
from pate_cli.config.rows import Composer, checked, choices, last_wins
from pate_cli.errors import InputError


def test_composing_together_gives_what_hydra_gives():
    composer = Composer()
    lists = [
        checked(row.overrides) for name in recipes.names() for row in recipes.find_recipe(name).rows[::36]
    ]
    lists += [["eps=inf", "seed=3"], ["mechanism.cutoff=3", "mechanism=svt"], ["delta=1e-5"], ["eps='2'"]]
    lists += [["++teacher.params.C=3"], ["++teacher.params.C=4"], ["split.public=60", "split.public=70"]]
    assert len(lists) > 15
    for given in lists:
        assert composer.compose(given) == composition.compose(given), given


@pytest.mark.parametrize("given", ["mechanism.cutof=3", "teacher=3", "nothing=3", "split.public.x=3"])
def test_what_hydra_refuses_is_refused(given):
    with pytest.raises(InputError) as alone:
        composition.compose([given])
    with pytest.raises(InputError) as together:
        Composer().compose([given])
    assert str(together.value) == str(alone.value)


def test_numbers_of_one_row_do_not_reach_the_next():
    composer = Composer()
    assert composer.compose(["eps=3"])["eps"] == 3
    assert composer.compose(["seed=1"])["eps"] == 1.0


def test_the_last_override_of_a_key_wins():
    given = ["mechanism=svt", "eps=1", "++teacher.params.C=1", "mechanism=gaussian", "++teacher.params.C=2"]
    assert last_wins(given) == ["eps=1", "mechanism=gaussian", "++teacher.params.C=2"]


def test_choices():
    given = ["dataset=[a, 'b']", "eps=2", "repeats=3"]
    assert choices(given) == ({"dataset": ["a", "b"]}, ["eps=2", "repeats=3"])
    assert choices(["dataset=a", "eps=[1,inf]"]) == ({"dataset": ["a"], "eps": [1.0, float("inf")]}, [])


def test_a_value_that_refers_to_another_follows_it(tmp_path):
    """In a file of the user's own: a number of the base in its place would make every epsilon wrong."""
    (tmp_path / "mechanism").mkdir()
    (tmp_path / "mechanism/own.yaml").write_text("name: soft\nwidth: ${eps}\n")
    composer = Composer(str(tmp_path))
    for eps in (0.5, 0.25):
        found = composer.compose(["mechanism=own", f"eps={eps}"])
        assert (found["eps"], found["mechanism"]["width"]) == (eps, eps)
