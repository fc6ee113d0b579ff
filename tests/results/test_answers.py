"""The answer follows from the numbers, whichever way they came out; no page is needed to see it."""

from __future__ import annotations

import shlex

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

from pate_cli.commands.reporting import say
from pate_cli.results import sentences
from pate_cli.results.answers import (
    ALIKE,
    NO_USE,
    UNSURE,
    USE,
    WORSE,
    advise,
    measure_of,
    repeats_that_tell,
)
from pate_cli.results.boards import METRICS, boards_of
from pate_cli.results.interval import Interval
from pate_cli.results.marks import plain
from pate_cli.results.means import rows_of
from pate_cli.results.next_steps import release_step, shell_words, wrapped
from pate_cli.results.report import main_table, report
from pate_cli.results.settings import ALL_PRIVATE, LIMIT, MAJORITY
from pate_cli.results.two_results import compare_two
from pate_cli.results.verdicts import CANNOT, TOO_FEW


def frame(rows, *, share=0.5, seeds=None, **columns):
    """Repeats of rows: {(method, eps): [accuracy a repeat], or the reason why there is none}."""
    lines = []
    for (method, eps), values in rows.items():
        row = {
            "dataset": "d",
            "method": method,
            "seed": (seeds or {}).get((method, eps), "0"),
            "eps": float(eps),
        }
        row |= {"delta": 1e-4, "n_teachers": None, "n_private": 1000.0, "n_public": 100.0, "n_test": 100.0}
        row |= {"splits": "s", "overrides": f"dataset=d mechanism={method} eps={eps}", "largest_class": "no"}
        row |= columns | {"row": f"{method}{eps}", "checksum": "c"}
        if isinstance(values, str):
            lines.append(row | {"repeat": None, "status": "infeasible", "reason": values})
            continue
        for repeat, value in enumerate(values):
            value = value if isinstance(value, dict) else {"accuracy": value}
            lines.append(
                row
                | {
                    "repeat": repeat,
                    "status": "ok",
                    "reason": None,
                    "majority_class": share,
                    "directory": "x",
                }
                | value
            )
    return pd.DataFrame(lines).assign(directory="x").astype({"repeat": "Int64"})


def found(rows, **options):
    (board,) = boards_of(rows_of(frame(rows, **options)))
    return advise(board)


def around(mean, spread=0.01, n=10):
    return [mean + spread * (-1) ** i for i in range(n)]


def test_best_stays_where_two_splits_tell_little():
    """Another whose lead over a constant answer varies less by chance is not used in its place."""
    rows = {("best", 1): [0.94, 0.97], ("svt", 1): [0.9420, 0.9421]}
    rows |= {
        (name, 1): [0.94, 0.95] for name in ("scores", "gaussian", "active", "gnmax", "soft", "noisy_gd")
    }
    assert found(rows).method == "best"


def test_best_is_used_unless_another_is_better_beyond_the_interval():
    rows = {("best", 1): around(0.80), ("gaussian", 1): around(0.804), ("svt", 1): around(0.7)}
    rows["noisy_gd", 1] = [0.81 + 0.03 * np.sin(i) for i in range(10)]  # the better mean, within the interval
    a = found(rows)
    assert a.method == "gaussian"  # by .004 in each split: the interval has no width
    rows["gaussian", 1] = [0.80 + 0.05 * (-1) ** i + 0.002 for i in range(9, -1, -1)]
    a = found(rows)
    assert a.method == "best"
    assert a.verdicts == {"noisy_gd": ALIKE, "gaussian": ALIKE, "best": USE, "svt": WORSE}
    assert set(a.open) == {"noisy_gd", "gaussian"}
    assert "cannot be told from `best` on 10 splits" in sentences.lede(a)


def test_what_is_lost_and_at_which_eps():
    rows = {("best", eps): around(0.7 + 0.05 * eps) for eps in (0.5, 1, 4)}
    rows |= {(LIMIT, "inf"): around(0.9), (MAJORITY, "inf"): around(0.5, 0.0)}
    a = found(rows)
    assert a.eps == 1  # the nearest
    assert a.lost().mean == pytest.approx(15)
    assert a.lost(eps=4).mean == pytest.approx(0)
    said = sentences.headline(a)
    assert said == (
        "Use `best`. At eps 1 it is right on 75.0% of held-out records, 15.0 ± 0.0 points less than without "
        "privacy."
    )
    assert sentences.constant_clause(a) == "always answering “no” is right on 50.0%"
    assert "17.5 ± 0.0 points at eps 0.5, 15.0 ± 0.0 at eps 1 and 0.0 ± 0.0 at eps 4" in sentences.lede(a)


def test_a_rare_outcome_is_answered_in_roc_auc():
    both = lambda accuracy, auc: [{"accuracy": accuracy, "roc_auc": auc + 0.01 * (-1) ** i} for i in range(6)]  # noqa: E731
    rows = {("best", 1): both(0.94, 0.77), ("svt", 1): both(0.94, 0.5)}
    a = found(rows, share=0.94)
    assert a.metric.name == "roc_auc"
    assert (a.method, a.verdicts["svt"]) == ("best", UNSURE)
    assert sentences.constant_clause(a) == "50% is guessing"
    assert "One class has 94.0% of the records" in sentences.lede(a)
    assert found(rows, share=0.6).metric.name == "accuracy"
    # the limit is no better than a constant answer
    rows |= {(LIMIT, "inf"): both(0.6, 0.8), (MAJORITY, "inf"): both(0.6, 0.5)}
    assert found(rows, share=0.6).metric.name == "roc_auc"
    no_auc = {key: [one["accuracy"] for one in values] for key, values in rows.items()}
    assert measure_of(boards_of(rows_of(frame(no_auc, share=0.94)))).name == "accuracy"


def test_no_better_than_a_constant_says_how_many_repeats_would_tell():
    noisy = [0.56 + 0.05 * (-1) ** i + 0.001 * i for i in range(6)]
    a = found({("best", 1): noisy, ("gaussian", 1): around(0.4)}, share=0.5)
    assert not a.useful
    assert a.verdicts == {"best": UNSURE, "gaussian": NO_USE}
    needed = a.repeats_over_constant
    assert f"about {needed} splits would tell" in sentences.headline(a)
    assert needed > 6


def test_one_repeat_has_no_interval_and_decides_nothing():
    a = found({("best", 1): [0.7], ("gaussian", 1): [0.9]}, share=0.6)
    assert (a.method, a.verdicts["gaussian"]) == ("best", TOO_FEW)
    assert a.useful  # nothing says that it is not
    assert "One split has no interval" in sentences.lede(a)
    assert "constant" not in sentences.headline(a)


def test_what_cannot_run_is_a_row_and_no_number():
    a = found({("best", 1): around(0.8), ("svt", 1): "too few teachers"})
    assert a.verdicts == {"best": USE, "svt": CANNOT}
    assert [c for c in main_table(a).cells[1] if c] == ["`svt`", "–", CANNOT]


def test_seeds_are_pooled_and_equal_rows_keep_their_names():
    rows = {("best", 1): around(0.8, n=4)}
    two = pd.concat([frame(rows), frame(rows, seeds={("best", 1): "1"}).assign(splits="t", row="other")])
    (board,) = boards_of(rows_of(two))
    (row,) = board.rows
    assert (row.n, row["seed"]) == (8, "0, 1")
    # equal in everything but the directory: neither is lost in silence
    twice = pd.concat([frame(rows), frame(rows).assign(directory="y", row="z")])
    (board,) = boards_of(rows_of(twice))
    assert sorted(board.methods) == ["best (x)", "best (y)"]
    # two results with baselines of their own are two boards
    of_both = {**rows, (ALL_PRIVATE, "inf"): around(0.9)}
    both = pd.concat([frame(of_both), frame(of_both).assign(directory="y", row="z")])
    assert [board.name for board in boards_of(rows_of(both))] == ["d (x)", "d (y)"]


def test_rows_at_other_splits_are_not_compared():
    rows = frame({("best", 1): around(0.8)})
    other = frame({("gaussian", 1): around(0.7)}).assign(splits="t", seed="1")
    (board,) = boards_of(rows_of(pd.concat([rows, other])))
    assert advise(board).verdicts == {"best": USE, "gaussian": "other splits"}


def test_the_release_keeps_what_was_typed_and_has_room_in_its_ledger():
    typed = "dataset=csv 'dataset.path=my file.csv' dataset.target=y mechanism=best eps=1 repeats=10 seed=3"
    typed += " split.public=50"
    a = found({("best", 1): around(0.8)}, overrides=typed)
    title, (described, init, release) = release_step(a)
    assert title == "publish it"
    assert described == ["pate", "data", "describe", "my file.csv", "--target", "y"]  # a release needs it
    assert init == [
        *["pate", "ledger", "init", "dataset=csv"],
        "dataset.path=my file.csv",
        "dataset.target=y",
        "dataset.schema=my file.schema.yaml",
        *["--eps", "2", "--delta", "0.0003"],
    ]
    assert "split.public_from_private=true" in release
    assert {"eps=1", "evaluate=0.2", "split.public=50", "mechanism=best"} <= {*release}
    assert not {text.partition("=")[0] for text in release} & {"repeats", "seed"}
    lines = wrapped(release)
    assert max(map(len, lines)) <= 80
    assert shlex.split(" ".join(line.removesuffix("\\") for line in lines)) == release
    persons = found({("best", 1): around(0.8)}, overrides=f"{typed} dataset.unit=id")
    assert release_step(persons) is None  # their columns are not opened
    by_schema = found({("best", 1): around(0.8)}, overrides=typed, protects="all records of one id")
    assert release_step(by_schema) is None
    for typed_so, of in (
        (f"{typed} dataset.unit=null", None),
        (f"{typed} dataset.public=f", "all of one id"),
    ):
        assert release_step(found({("best", 1): around(0.8)}, overrides=typed_so, protects=of))
    labels = found({("best", 1): around(0.8)}, overrides=typed, protects="the label of one record")
    assert release_step(labels) is None  # a release protects records
    tuned = found({("tune", 1): around(0.8)}, overrides="mechanism=tune")
    assert release_step(tuned) is None  # between which candidates is not typed there
    assert release_step(found({("lnmax", 1): around(0.8)}, overrides=typed, release="no")) is None
    tested = found({("best", 1): around(0.8)}, overrides=f"{typed} dataset.test=t.csv")
    assert release_step(tested)[1] == release_step(a)[1]  # a release does not take one
    preset = found({("best", 1): around(0.8)}, overrides="+experiment=psq_mushroom")
    assert release_step(preset)[1][0][:4] == ["pate", "ledger", "init", "+experiment=psq_mushroom"]


def test_terminal_and_page_say_the_same():
    rows = {("best", 1): around(0.8), ("<b>x`y", 1): around(0.7)}
    told = report(frame(rows), ["pate", "page"], {})
    assert told.page.answer.rstrip(".") in told.answer
    assert plain("`a` **b**") == "a b"
    assert "`<b>xy`" in told.page.answer


def test_what_is_said_of_a_release_is_what_its_command_does():
    def said(typed):
        rows = frame({("best", 1): around(0.8), ("svt", 1): around(0.7)}, overrides=typed)
        sections = report(rows, ["pate", "page"], {}).page.sections
        return next(text for section in sections for kind, text in section.blocks if kind == "note")

    assert "with noise on a share of 0.2 of" in said("mechanism=best")
    assert "the columns of 100 records public" in said("mechanism=best")
    other = said("mechanism=best evaluate=0.1 dataset.public=marginals")
    assert "on a share of 0.1 of" in other
    assert "columns" not in other
    assert "nearest" not in other


def test_one_that_is_better_than_a_constant_is_used_where_best_is_not():
    rows = {("best", 1): [0.52 + 0.2 * (-1) ** i for i in range(6)], ("svt", 1): around(0.56, 0.001, 6)}
    a = found(rows)
    assert (a.method, a.verdicts) == ("svt", {"svt": USE, "best": UNSURE})
    assert sentences.headline(a).startswith("`svt` at eps 1 is right on 56.0% of held-out records;")
    assert "No other method" not in sentences.lede(a)  # `best` is not told from it
    below = {("best", 1): around(0.3), ("svt", 1): around(0.35, 0.1)}
    assert sentences.headline(found(below)).endswith("by 10 splits: `best` is 20.0 ± 1.0 points worse.")
    assert not found({("best", 1): [0.4]}).useful  # all that was seen is against it


@pytest.mark.parametrize("of", [LIMIT, ALL_PRIVATE])
def test_smaller_is_better_in_words_too(of):
    nats = lambda mean: [{"accuracy": 0.8, "log_loss": value} for value in around(mean)]  # noqa: E731
    rows = {("best", 1): nats(0.5), ("svt", 1): nats(0.7)}
    told = report(frame(rows), ["pate"], {}, metric=METRICS["log_loss"])
    assert told.page.answer == "`best` is the best: 0.500 nats at eps 1, 0.200 ± 0.000 nats less than `svt`."
    assert told.table.columns[-2].header == "more than `best`, eps 1"
    rows |= {(of, "inf"): nats(0.4), (MAJORITY, "inf"): nats(0.9)}
    told = report(frame(rows), ["pate"], {}, metric=METRICS["log_loss"])
    assert "0.500 nats on held-out records, 0.100 ± 0.000 nats more than without privacy" in told.answer
    assert "always giving the shares of the classes gets 0.900 nats" in told.answer
    rows[of, "inf"] = nats(0.6)
    best = "the best model " * (of == LIMIT)
    told = report(frame(rows), ["pate"], {}, metric=METRICS["log_loss"])
    assert f"0.100 ± 0.000 nats less than {best}without privacy" in told.answer


def test_what_other_methods_do_is_said_of_those_that_are_told():
    rows = {("best", 1): around(0.9, 0.001), ("b", 1): around(0.85, 0.001)}
    assert "No other method is as good" in sentences.lede(found(rows))
    rows["c", 1] = [0.84 + 0.3 * (i == 0) - 0.1 * (i == 1) for i in range(10)]
    said = sentences.headline(found(rows))  # the second best is told
    assert "`c` cannot be told from it, with 4.0" in said
    assert said.endswith(" points less.")  # as the table has it: it read as if `c` had 4 points more
    other = frame({("c", 1): around(0.7)}).assign(splits="t", seed="1")
    (board,) = boards_of(rows_of(pd.concat([frame({("best", 1): around(0.8)}), other])))
    assert "No other" not in sentences.lede(advise(board))
    details = report(pd.concat([frame({("best", 1): around(0.8)}), other]), ["pate"], {}).page.details
    assert "the same ones" not in str(details)
    assert "No other" not in sentences.lede(found({("best", 1): around(0.8), ("svt", 1): "too few"}))


@pytest.mark.parametrize(("low", "everywhere"), [(0.6, True), (0.7, False), (0.8, False)])
def test_the_best_at_every_eps_has_no_equal_at_any(low, everywhere):
    rows = {("best", 1): around(0.9), ("b", 1): around(0.8), ("best", 2): around(0.7), ("b", 2): around(low)}
    assert (" at every eps" in sentences.headline(found(rows))) == everywhere


def test_equals_on_several_data_sets_rank_first_together():
    def on(name, best, svt, n):
        rows = {
            ("best", 1): around(best, n=n),
            ("svt", 1): around(svt, n=n),
            (LIMIT, "inf"): around(0.9, n=n),
        }
        rows |= {("student on true labels", "inf"): around(0.8, n=n)}
        return frame(rows).assign(dataset=name, checksum=name)

    told = report(pd.concat([on("a", 0.8, 0.7, 4), on("b", 0.7, 0.8, 2)]), ["pate"], {})
    assert told.answer.startswith(
        "`best` and `svt` rank first together: at eps 1 their mean rank is 1.5 of 2"
    )
    assert ("Measured", "2 to 4 random splits") in [(fact.label, fact.value) for fact in told.page.facts]
    told = report(pd.concat([on("a", 0.8, 0.7, 4), on("b", 0.8, 0.7, 4)]), ["pate"], {})
    assert "10.0 points less than the best model without privacy" in told.answer


def test_a_sentence_keeps_an_interval_together(capsys):
    for pad in range(60, 80):
        say(f"{'x' * pad} 0.200 ± 0.009 nats")
    assert all(("0.200 ± 0.009" in line) == ("±" in line) for line in capsys.readouterr().out.splitlines())


def test_two_equal_gaps_show_no_spread():
    rows = {("best", 1): [0.92, 0.90], ("svt", 1): [0.90, 0.88]}
    assert found(rows).verdicts == {"best": USE, "svt": TOO_FEW}
    assert found(rows | {("svt", 1): [0.92, 0.90]}).verdicts["svt"] == ALIKE
    rows = {name: 5 * values for name, values in rows.items()}
    assert found(rows).verdicts["svt"] == WORSE
    of = [frame({key: values[:2]}) for key, values in rows.items()]
    assert "2 splits that differ by the same tell" in compare_two(*of).answer
    assert "right on as many records in each of 2 splits" in compare_two(of[0], of[0]).answer
    one = frame({("best", 1): [0.92]})
    assert "right on as many records in the one split" in compare_two(one, one).answer


@pytest.mark.parametrize("n", [2, 3, 10, 50])
def test_so_many_repeats_tell_and_one_less_does_not(n):
    error = 1 / np.sqrt(n)
    needed = repeats_that_tell(Interval.around(0.28, error, n))
    half = lambda m: t.ppf(0.975, m - 1) * error * np.sqrt(n / m)  # noqa: E731
    assert half(needed) < 0.28 <= half(needed - 1)
    assert repeats_that_tell(Interval.around(0.28, 100 * error, n)) is None


def test_two_that_differ_in_several_settings_are_run_by_themselves():
    of = [
        frame({("best", 1): [0.8, 0.9, 0.9]}, overrides="dataset=d mechanism=best eps=1"),
        frame({("svt", 2): [0.81, 0.86, 0.87]}, overrides="dataset=d mechanism=svt eps=2"),
    ]
    _, commands = compare_two(*of).next_step
    assert [words[1:-1] for words in commands] == [
        ["run", "dataset=d", "mechanism=best", "eps=1"],
        ["run", "dataset=d", "mechanism=svt", "eps=2"],
    ]
    of[1]["overrides"] = "dataset=d mechanism=svt eps=1"
    _, commands = compare_two(*of).next_step
    assert commands[0][:-1] == ["pate", "run", "-m", "dataset=d", "mechanism=best,svt", "eps=1"]


def test_of_shards_no_frontier_is_printed():
    typed = "dataset=shards dataset.path=x mechanism=svt"
    assert report(frame({("svt", 1): around(0.8)}, overrides=typed), ["pate"], {}).next_step is None


def test_where_no_method_can_run_each_reason_is_said_once():
    refused = frame({("a", 1): "too few", ("b", 1): "too few", ("c", 1): "no bound"})
    found = report(refused, ["pate", "frontier"], {})
    assert found.answer.startswith("No method can run")
    assert [plain(note) for note in found.notes] == ["a and b cannot run: too few", "c cannot run: no bound"]


def test_a_run_of_which_no_file_says_what_was_typed_proposes_no_other():
    old = frame({("best", 1): around(0.8)}).drop(columns="overrides")
    assert report(old, ["pate", "page"], {}).next_step is None
    assert report(frame({("best", 1): around(0.8)}), ["pate", "page"], {}).next_step is not None


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        (["dataset=csv", "dataset.schema='my f.schema.yaml'", "eps=1"], "'dataset=my f.schema.yaml' eps=1"),
        (["dataset=jsonl", "dataset.schema=f.yaml"], "dataset=f.yaml"),
        (["dataset=csv", "dataset.path=g.csv", "dataset.schema=f.yaml"], None),  # another file
        (["dataset=csv", "dataset.schema=f.yaml,g.yaml"], None),
        (["dataset=csv", "dataset.schema='${oc.env:HOME}/f.yaml'"], None),
    ],
)
def test_a_schema_that_names_its_data_is_printed_as_the_data_set(typed, shown):
    assert " ".join(shell_words(typed)) == (shown or shlex.join(typed))


def test_a_row_that_was_killed_after_some_splits_is_not_called_not_run():
    repeats = frame({("best", 1): [0.9, 0.91], ("svt", 1): [0.8], ("active", 1): "gone"})
    stopped = repeats[repeats["method"] != "best"].groupby("method").tail(1)
    stopped = stopped.assign(repeat=pd.NA, status="killed", reason="gone", accuracy=np.nan)
    kept = repeats[repeats["status"] == "ok"]
    told = report(pd.concat([kept, stopped]), ["pate", "page"], {})
    why = next(section for section in told.page.details if section.title.startswith("Why"))
    ((_, texts),) = why.blocks
    assert {"`svt` not finished at eps 1: gone", "`active` not run at eps 1: gone"} <= set(texts)
    assert any("svt" in note and "not finished: gone" in note for note in told.notes)
