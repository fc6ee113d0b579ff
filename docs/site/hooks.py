"""What the site has beside docs/*.md: README.md as its first page, every key, and every public class.

`mkdocs.yml` names it as a hook. `pages` gives the texts without MkDocs, which is how the tests read them.
"""

from __future__ import annotations

import ast
import json
import os
import re
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parents[2]
PACKAGE = REPO / "pate_cli"

_LINK = re.compile(r"\[([^\]]*)\]\(([^)\s#]+)(#[^)]*)?\)")
_KEY = re.compile(r"^(\s*)([\w-]+):(?:\s+(.*?))?(?:\s+# (.*))?$")
# pages of the repository that stand elsewhere, and what they are on the site
_ELSEWHERE = {"outputs/README.md": "files.md", "data/README.md": "datasets.md"}
_ABOUT = {
    "teacher": "`teacher.estimator` is one of the names below, or the import path of a classifier;"
    " `teacher.params` are its parameters. `teacher.size`: records a teacher (persons, with `dataset.unit`),"
    " at least 1; `teacher.count`: how many teachers instead, or `auto`, from public numbers.",
    "student": "`student.estimator` and `student.params` as of a teacher. `student.unanswered`: what becomes"
    " of points without an answer, `drop`, or `random` labels.",
}
_ROOMS_LAST = ("commands", "studies")  # read by who works on them


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are made."""
    from mkdocs.structure.files import File

    for name, text in pages().items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turn links to files of the repository that are not on the site into their names."""
    return unlinked(markdown, page.file.src_uri)


def unlinked(text: str, page: str) -> str:
    """Keep links between pages; of one to another file, keep its words.

    Parameters
    ----------
    text : str
        Markdown.
    page : str
        Its path below docs/.
    """
    made = pages()

    def kept(link: re.Match[str]) -> str:
        target = link[2]
        if "://" in target:
            return link[0]
        found = (REPO / "docs" / page).parent.joinpath(target).resolve()
        if found.is_relative_to(REPO) and (there := _ELSEWHERE.get(found.relative_to(REPO).as_posix())):
            return f"[{link[1]}]({os.path.relpath(there, Path(page).parent)})"
        name = found.relative_to(REPO / "docs").as_posix() if found.is_relative_to(REPO / "docs") else ""
        inside = bool(name) and not name.startswith(("example/", "site/"))
        if name in made or (inside and found.is_file()):
            return link[0]
        return link[1] if link[1].startswith("`") else f"`{link[1]}`"

    return _LINK.sub(kept, text)


@cache
def pages() -> dict[str, str]:
    """Give the pages that are made: path below docs/, and Markdown."""
    front = (REPO / "README.md").read_text(encoding="utf-8")
    return {
        "index.md": front.replace("](docs/", "](").replace("](data/", "](../data/"),
        **{page: (REPO / name).read_text(encoding="utf-8") for name, page in _ELSEWHERE.items()},
        "notebook.md": notebook(REPO / "docs/notebook.ipynb"),
        "reference/keys.md": keys(),
        **classes(),
    }


def notebook(file: Path) -> str:
    """Give a notebook as a page: texts as they are, code as blocks."""
    out = []
    for cell in json.loads(file.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        out.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
    return "\n\n".join([*out, "The same as a notebook: [notebook.ipynb](notebook.ipynb).", ""])


def keys() -> str:
    """Every key of every option, with its default, what is accepted, and what it is for."""
    out = [
        "# Every key",
        "",
        "`KEY=VALUE` on the command line, `GROUP=OPTION` for what stands in a heading. Made from the files in"
        " `conf/` and from the checks that refuse a wrong value.",
        "",
    ]
    out += ["## Of every run", "", *_table(REPO / "conf/config.yaml", "", {}), ""]
    for group in ("dataset", "mechanism", "teacher", "student", "compute"):
        out += [f"## `{group}`", "", *([_ABOUT[group], ""] if group in _ABOUT else [])]
        for file in sorted((REPO / "conf" / group).glob("*.yaml")):
            out += [f"### `{group}={file.stem}`", "", _said(file), ""]
            out += [*_table(file, f"{group}.", _accepted(group, file)), ""]
    return "\n".join(out)


def _said(file: Path) -> str:
    """Give the sentences at the head of a file of options."""
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    text = " ".join(line.lstrip("# ") for line in lines if "@package" not in line)
    return re.sub(r"Example: (pate .*?)(?=  |$)", r"Example: `\1`", text.strip())


def _accepted(group: str, file: Path) -> dict[str, str]:
    """Give what is accepted for each option that is declared with its check."""
    from pate_cli import datasets, mechanisms

    if group not in ("dataset", "mechanism"):
        return {}
    name = re.search(r"^\s*name: (\S+)", file.read_text(encoding="utf-8"), re.MULTILINE)
    module = (datasets if group == "dataset" else mechanisms).find(name[1] if name else file.stem)
    return {f"{group}.{field.name}": field.metadata["check"].describe() for field in fields(module.Options)}


def _table(file: Path, prefix: str, accepted: dict[str, str]) -> list[str]:
    """Give the rows of one file: keys with their defaults and comments, and options it does not name."""
    rows: dict[str, tuple[str, str]] = {}
    above: list[tuple[int, str]] = []
    for line in file.read_text(encoding="utf-8").splitlines():
        found = _KEY.match(line)
        if not found or line.lstrip().startswith("#"):
            continue
        depth, name, value, comment = len(found[1]), found[2], found[3], found[4] or ""
        if value is not None and value.startswith("# "):
            value, comment = None, value[2:]
        above = [(at, key) for at, key in above if at < depth]
        if name in ("defaults", "hydra") and not depth:
            above.append((depth, name))
            continue
        if above and above[0][1] in ("defaults", "hydra"):
            continue
        path = ".".join([*(key for _, key in above), name])
        if value is None:
            above.append((depth, name))
            if not comment:
                continue
        full = path if path.startswith(prefix) or path.split(".")[0] in _GROUPS else prefix + path
        rows[full] = (value or "", comment)
    for name in accepted:
        rows.setdefault(name, ("", ""))
    if not rows:
        return ["No keys of its own."]
    lines = ["| key | default | accepted | |", "|---|---|---|---|"]
    for name, (value, comment) in rows.items():
        cells = (f"`{name}`", f"`{value}`" if value else "", accepted.get(name, ""), comment)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return lines


_GROUPS = ("dataset", "mechanism", "teacher", "student", "compute", "split")


def classes() -> dict[str, str]:
    """Give a page a room of the package, with every public name of its modules; mkdocstrings fills them."""
    rooms: dict[str, list[str]] = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        names = public_names(file)
        if not names:
            continue
        parts = file.relative_to(PACKAGE).with_suffix("").parts
        module = ".".join(("pate_cli", *parts)).removesuffix(".__init__")
        room = parts[0] if len(parts) > 1 else "api"
        if defined := [name for name in names if name in _defined(file)]:
            rooms.setdefault(room, []).extend(f"{module}.{name}" for name in defined)
    made = {}
    for room, names in rooms.items():
        lines = [f"# `{room}`" if room != "api" else "# Python", ""]
        lines += [f"::: {name}" for name in names]
        made[f"reference/{room}.md"] = "\n\n".join(lines) + "\n"
    first = sorted(set(rooms) - {"api", *_ROOMS_LAST})
    links = [f"- [{room}]({room}.md)" for room in ("api", *first, *_ROOMS_LAST) if room in rooms]
    made["reference/index.md"] = "\n".join(["# Every public name, by room", "", *links, ""])
    return made


def public_names(file: Path) -> list[str]:
    """Names in `__all__` of a module, without importing it."""
    names: list[str] = []
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign | ast.AugAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and target.id == "__all__":
                names += ast.literal_eval(node.value)
    return names


def _defined(file: Path) -> set[str]:
    """Classes and functions of a module's own."""
    body = ast.parse(file.read_text(encoding="utf-8")).body
    return {node.name for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
