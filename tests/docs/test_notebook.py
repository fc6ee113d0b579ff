"""docs/notebook.ipynb from its first cell to its last, in one namespace, as Jupyter would."""

from __future__ import annotations

import ast
import json

from pages import REPO

PAGE = REPO / "docs/notebook.ipynb"


def test_the_notebook_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook = json.loads(PAGE.read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    space: dict[str, object] = {}
    shown = []
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(cells):
        assert cell["outputs"] == []  # numbers of a day that is over
        body = ast.parse("".join(cell["source"])).body
        last = body.pop() if isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), f"cell {number}", "exec"), space)
        if last is not None:  # what Jupyter shows
            shown.append(repr(eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), space)))
    assert shown[0].startswith("Privacy(eps=1.0, delta=1e-05")
    assert "best" in shown[-1]
