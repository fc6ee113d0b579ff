"""Checks that every mechanism passes, ours or a plug-in's: `check_mechanism`, and `pate check`.

`check_loader` and `check_strategy` are those of datasets and of query strategies.

In a test of a package of your own::

    import pytest
    from pate_cli.testing import check_mechanism

    @pytest.mark.parametrize("check", check_mechanism("my_package.my_mechanism"), ids=str)
    def test_my_mechanism(check):
        check()

A check raises `CheckFailed`, an AssertionError, or returns what it saw. None of them proves a guarantee.
"""

from __future__ import annotations

import inspect
import unittest
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from pate_cli import datasets
from pate_cli.checks import read_options
from pate_cli.queries import Strategy
from pate_cli.testing import call_checks, door_checks, part_checks, release_checks
from pate_cli.testing.failure import CheckFailed, require
from pate_cli.testing.forms import LABELS, Form, forms_of, name_of
from pate_cli.testing.release_checks import unmoved
from pate_cli.testing.unlike import WAYS, Way
from pate_cli.threads import one_thread

__all__ = ["CheckFailed", "NamedCheck", "check_loader", "check_mechanism", "check_strategy", "promises"]
__all__ += ["require"]


@dataclass(frozen=True)
class NamedCheck:
    """A named check of one form of a mechanism; calling it returns what it saw, or raises CheckFailed."""

    name: str
    form: str  # of the mechanism
    tried: str  # in words
    see: Callable[[], str] = field(repr=False)

    def __call__(self) -> str:
        """Carry it out, on one thread: all is small."""
        with one_thread():
            return self.see()

    def __str__(self) -> str:
        return f"{self.name}, {self.form}"


def check_mechanism(
    mechanism: str | ModuleType | type,
    options: Mapping[str, Any] | None = None,
    setting: Mapping[str, Any] | None = None,
) -> list[NamedCheck]:
    """List the checks of a mechanism, in all forms that it takes.

    Parameters
    ----------
    mechanism : str, module or class
        Its `mechanism.name`, the import path of its module, its module or its class.
    options : mapping, optional
        Checked in all forms. By default those that its `Options` list as ``checked``.
    setting : mapping, optional
        Values of `pate_cli.types.Setting` in place of those here, as ``{"eps": 1.0}``: 480 private records,
        12 public points, 48 logistic teachers; eps 24, so that votes decide, and 2 of a release.

    Returns
    -------
    list of NamedCheck
        Of a form all that need one run come together, and share it.

    Raises
    ------
    InputError
        If there is no such mechanism, or it takes none of the forms.
    """
    name = name_of(mechanism)
    return list(_checks(name, forms_of(name, options, dict(setting or {}))))


def _checks(name: str, forms: list[Form]) -> Iterator[NamedCheck]:
    plain = [form for form in forms if not (form.mapped or form.sparse or form.persons or form.exact)]
    yield _check(call_checks.options, forms[0], name)
    yield _check(release_checks.unforeseen, None, "any release")
    runs = [cache(partial(door_checks.Run, form)) for form in forms]
    for form, run in zip(forms, runs, strict=True):
        yield _check(call_checks.numbers, form)
        for check in door_checks.CHECKS:
            yield _check(partial(_on_all, check), run, str(form), like=check)
        if form.exact and form.mechanism().n_teachers:
            yield _check(call_checks.failing, form)
        if not form.exact and not form.mapped:
            yield _check(call_checks.without_noise, form)
            yield _check(call_checks.asked, form)
            yield _check(call_checks.blocks, form)
    for form in plain:
        yield _check(call_checks.audited, form)
        mechanism = form.mechanism()
        if not (mechanism.asks_votes or mechanism.n_teachers or mechanism.guarantee.mu is None):
            yield _check(call_checks.one_run, form)
    for form in plain[:1]:
        yield _check(call_checks.alike, form)
    for way in WAYS:
        yield _check(
            partial(_unlike, way), runs, f"{name.rpartition('.')[2]}, records of another kind", like=way
        )
    for release, ways in release_checks.shared_out(WAYS, list(_releases(forms))):
        yield _check(_released, partial(release_checks.unmoved, release), str(release), like=unmoved)
        for way in ways:
            yield _check(_released, partial(release_checks.unlike, release, way), str(release), like=way)


def check_loader(loader: str | ModuleType, options: Mapping[str, Any] | None = None) -> list[NamedCheck]:
    """List the checks of a dataset: by its `dataset.name`, the import path of its module, or the module.

    `options` are those of the module, as files to read. Raises InputError if there is no such dataset.
    """
    name = loader if isinstance(loader, str) else loader.__name__
    module, prefix = datasets.find(name), "dataset."

    def read(given: Mapping[str, Any]) -> Any:
        return read_options(module.Options, given, prefix)

    load = partial(datasets.load, name, **(options or {}))
    refuse = partial(part_checks.refused, module.Options, read)
    checks = [_check(refuse, prefix, name, like=part_checks.refused)]
    return checks + [
        _check(check, load, name) for check in (part_checks.dataset, part_checks.again, part_checks.splits)
    ]


def check_strategy(strategy: Strategy, *, picks: bool = True, n_features: int = 2) -> list[NamedCheck]:
    """List the checks of a query strategy, an instance; `picks`: whether it keeps to `split.budget`."""
    checks = [part_checks.answers, part_checks.exhausted, part_checks.no_answer]
    return [
        _check(partial(_called, check, n_features), strategy, type(strategy).__name__, like=check)
        for check in (*checks, *[part_checks.budget][: int(picks)])
    ]


def _called(check: Callable[[Any, int], str], n_features: int, strategy: Strategy) -> str:
    return check(strategy, n_features)


def promises(name: str) -> dict[str, str]:
    """Say what a mechanism promises, by its class and by the forms that it takes."""
    forms = forms_of(name, {}, {})
    mechanism = forms[0].mechanism()
    source = "votes" if mechanism.asks_votes else "teachers" if mechanism.n_teachers else "records"
    return {
        "mechanism": name,
        "class": type(mechanism).__name__,
        "from": source,
        "persons": {"one record": "one"}.get(mechanism.persons, mechanism.persons),
        "C": "any" if any(form.n_classes > 2 for form in forms) else "2",
        "release": "yes" if any(form.exact for form in forms) else "no",
    }


def _releases(forms: list[Form]) -> Iterator[release_checks.Release]:
    """Releases by the command line, of forms with exact noise; of persons with further options."""
    exact = {repr(form.options): form for form in forms if form.exact}
    for i, form in enumerate(exact.values()):
        kinds = release_checks.KINDS if i == 0 else [{"points": "two files", "persons": True}]
        for number, kind in enumerate(kinds):
            options = form.options if "defaults" in kind else form.options + form.few
            if kind.get("points") == "marginals" and replace(form, exact=False).mechanism().adds_mu:
                kind = {**kind, "bought": True}
            yield release_checks.Release(form.name, options, **kind, brief=i + number > 0)


def _unlike(way: Way, runs: list[Callable[[str], Any]]) -> str:
    """Private records of another kind, in two of the forms that have such records: each way in others."""
    releases = [run(LABELS[0]) for run in runs]
    able = [run for run in releases if run.form.unlike(run.records, way) is not None]
    if not able:
        raise unittest.SkipTest("no form of it has such records")
    at = 2 * WAYS.index(way)
    chosen = [able[i] for i in sorted({at % len(able), (at + 1) % len(able)})]
    for run in chosen:
        door_checks.unlike(run, way)
    return f"{len(chosen)} of {len(able)} forms, equal bytes"


def _released(check: Callable[[], str]) -> str:
    if find_spec("opendp") is None:
        raise unittest.SkipTest("release=true needs OpenDP: pip install opendp")
    return check()


def _on_all(check: Callable[[Any], str], runs: Callable[[str], Any]) -> str:
    """Check runs on labels of each kind."""
    form = runs(LABELS[0]).form
    kinds = LABELS[: 2 if form.exact or form.sparse or form.persons else 3]
    saw = [check(runs(labels)) for labels in kinds]
    return saw[0]


def _check(
    see: Callable[[Any], str], what: Any, form: str | None = None, like: Callable[..., Any] | None = None
) -> NamedCheck:
    named = like or see
    tried = inspect.getdoc(named) or ""
    return NamedCheck(
        named.__name__, str(what) if form is None else form, tried.partition("\n")[0], lambda: see(what)
    )
