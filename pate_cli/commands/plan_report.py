"""What `pate plan` says: whether a run, or each point of a sweep, can run, with enough teachers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pate_cli.engine.rows import Row
from pate_cli.errors import count_of
from pate_cli.features.bought import SHARE
from pate_cli.results.marks import guaranteed, listed, rounded_up
from pate_cli.results.next_steps import NextStep
from pate_cli.results.page import Report
from pate_cli.results.tables import ABSENT, Head, Table, number

__all__ = ["one", "points"]

_FREE = "Computed from sizes alone, so showing it costs no privacy. How: --explain"
_ENOUGH = "Enough: with so many, half of the labels of such votes are right, beyond chance."
_MOST = 3  # points named in the answer


def one(row: Row, trained_on: int) -> Report:
    """A single run: `trained_on` records have teachers."""
    p, config = row.prepared, row.config
    sizes, n, eps = p.sizes, p.n_teachers, config.eps
    person = p.dataset.person_column is not None
    counted = "persons" if person else "records"
    finite, delta = math.isfinite(eps), f"{rounded_up(p.delta, 2):.2g}"
    each_one = "label" if config.split.mode == "label_private" else counted[:-1]
    under = f"under a guarantee of eps {guaranteed(eps)}, delta {delta} for each {each_one}"
    under = under if finite else "without privacy"
    ell = p.mechanism.describe().get("ell")
    each = ""
    if n:
        least, remainder = divmod(trained_on, n)
        each = f"{least:,} or {least + 1:,}" if remainder else f"{least:,}"
        label = f"label {count_of(ell or sizes.n_public, 'public point')}"
        answer = f"It can run: {count_of(n, 'teacher')} of {each} {counted} {label}, {under}."
    else:
        learns = f"{config.mechanism.label} learns from {sizes.n_private:,} private {counted}"
        answer = f"It can run: {learns}, {under}."
    parts = f"{sizes.n_private:,} private, {sizes.n_public:,} public, {sizes.n_test:,} to test"
    lines = [(counted, ABSENT if person else f"{p.dataset.n_records:,}", parts)]
    classes = f"{p.dataset.n_classes} classes" if not p.dataset.labels else "classes: to be bought"
    lines.append(("columns", f"{p.dataset.n_features:,}", classes))
    if (bought := p.whole.bought) and math.isfinite(bought.mu):
        texts = f"; a text is found from {bought.least:,} {counted}" if bought.texts else ""
        cost = f"{bought.what}, for {SHARE:g} of mu squared, eps of the rest {bought.eps_left:.3g}{texts}"
        lines.append(("bought", f"{len(bought.names):,}", cost))
    if n:
        lines.append(("teachers", f"{n:,}", f"of {each} {counted} each"))
    if ell is not None:
        asked = (
            "every public point"
            if ell >= sizes.n_public
            else f"of {count_of(sizes.n_public, 'public point')}"
        )
        lines.append(("questions", f"{ell:,}", asked))
    if finite and (expected := p.mechanism.expected_answers()):
        lines.append(("noise", f"{expected.noise:.3g}", "votes, on each class’s count"))
    if evaluation := p.whole.evaluation:
        known = f"± {rounded_up(100 * evaluation.half_width, 2):.2g} points"
        note = f"{counted}; accuracy will be known to about {known}"
        lines.append(("evaluation", f"{evaluation.n:,}", note))
    if finite:
        lines.append(
            (
                "guarantee",
                f"eps {guaranteed(eps)}",
                f"delta {delta}; {p.protects.rpartition('; ')[0]}; of one run",
            )
        )
    return Report(answer=answer, table=Table([], []), lines=lines, notes=[_FREE], next_step=_run(row))


def _run(row: Row) -> NextStep | None:
    return ("run it", [["pate", "run", *row.spec.overrides]]) if row.spec.overrides else None


def points(full: Table, command: Sequence[str]) -> Report:
    """A sweep: a line a point; `full` has every column, of which settings are details."""
    extras = [column.header for column in full.columns if column.detail]
    if len({point["dataset"] for point in full.records}) > 1:
        extras = ["dataset", *extras]
    words = [_enough(point) for point in full.records]
    heads = [Head("method", numeric=False), *(Head(of, numeric=False) for of in extras), Head("eps")]
    heads += [Head("teachers"), Head("labels given"), Head("enough teachers", numeric=False)]
    cells = [
        [
            *(ABSENT if point[of] is None else str(point[of]) for of in ("mechanism", *extras)),
            *(number(point["eps"], "g"), number(point["teachers"] or None, ",d")),
            ABSENT if point["answered"] is None else f"{point['answered']:,.0f} of {point['queries']:,.0f}",
            word,
        ]
        for point, word in zip(full.records, words, strict=True)
    ]
    refused = [
        f"{line[0]} at eps {line[len(extras) + 1]}: {point['status']}; what would do: {point['remedy']}"
        for line, point in zip(cells, full.records, strict=True)
        if point["status"] != "ready"
    ]
    ready = any(point["status"] == "ready" for point in full.records)
    notes = [_ENOUGH] if any(word.startswith(("yes", "no")) for word in words) else []
    return Report(
        answer=_answer(cells, words, len(extras)),
        table=Table(heads, cells),
        notes=[*notes, "Labels given: of votes of two to one. " + _FREE, *refused],
        explain=[full.note],
        next_step=("run it", [["pate", "run", *command]]) if ready else None,
        files={"table": full},
    )


def _enough(point: Mapping[str, Any]) -> str:
    """Whether the teachers are enough for votes of two to one, and how many would be."""
    if point["status"] != "ready":
        return "cannot run"
    if (needed := point["fewest_teachers"]) is None:
        return "needs none" if not point["teachers"] else ABSENT
    return f"{'yes' if point['teachers'] >= needed else 'no'}, {needed:,}"


def _answer(cells: Sequence[Sequence[str]], words: Sequence[str], extras: int) -> str:
    """How many can run, and which have too few teachers."""
    counts = Counter(word.partition(",")[0] for word in words)
    n, cannot = len(words), counts["cannot run"]
    text = f"All {n} can run." if not cannot else f"{n - cannot} of {n} can run."
    few: dict[str, list[str]] = {}
    for line, word in zip(cells, words, strict=True):
        if word.startswith("no,"):
            few.setdefault(" ".join(line[: extras + 1]), []).append(line[extras + 1])
    if not few:
        return f"{text} Each that has teachers has enough for votes of two to one." if counts["yes"] else text
    every = Counter(" ".join(line[: extras + 1]) for line in cells)
    parts = [
        f"{of} at each eps" if len(at) == every[of] and len(at) > 1 else f"{of} at eps {', '.join(at)}"
        for of, at in few.items()
    ]
    if len(parts) > _MOST:
        return f"{text} {counts['no']} of them have too few teachers for votes of two to one."
    verb = "has" if len(parts) == 1 else "have"
    return f"{text} {listed(parts)} {verb} too few teachers for votes of two to one."
