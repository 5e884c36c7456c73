"""Runs a notebook and writes it as a page: `python docs/notebooks.py FILE.ipynb` prints what it shows.

A notebook here holds no outputs.  Its cells are run in order, in one fresh namespace, whenever the site is
built and whenever the tests run; what a page shows is what came out then.  Plain Python: no magic, no kernel.
"""

import ast
import base64
import io
import json
import sys
import tempfile
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any


def cells(path: Path) -> list[tuple[str, str]]:
    """Return kind and source of every cell; raises `ValueError` where one has an output stored."""
    document = json.loads(path.read_text(encoding="utf-8"))
    if any(cell.get("outputs") or cell.get("execution_count") for cell in document["cells"]):
        raise ValueError(f"{path.name} holds outputs; clear them, they are made when the site is")
    return [(cell["cell_type"], "".join(cell["source"])) for cell in document["cells"]]


def run(path: Path) -> list[tuple[str, str, str]]:
    """Run a notebook in an empty folder; return kind, source and output, as Markdown, of every cell."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = path.name
    inside: dict[str, Any] = {"__name__": "__main__"}
    found, sources = [], cells(path)
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        sys.path.insert(0, folder)  # a cell may write a module
        try:
            for number, (kind, source) in enumerate(sources, 1):
                said = _run(source, inside, f"{path.name}, cell {number}") if kind == "code" else ""
                found.append((kind, source, said))
        finally:
            sys.path.remove(folder)
    return found


def _run(source: str, inside: dict[str, Any], name: str) -> str:
    tree, said, value = ast.parse(source, name), io.StringIO(), None
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with redirect_stdout(said):
        exec(compile(tree, name, "exec"), inside)  # noqa: S102 - the documents' own code
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), name, "eval"), inside)  # noqa: S307
    shown = [f"```text\n{said.getvalue().rstrip()}\n```"] if said.getvalue().strip() else []
    return "\n\n".join([*shown, *([] if value is None else [_shown(value)])])


def _shown(value: Any) -> str:
    figure = getattr(value, "figure", None)
    if figure is not None:
        made = io.BytesIO()
        figure.savefig(made, format="svg", metadata={"Date": None}, bbox_inches="tight")
        picture = f"data:image/svg+xml;base64,{base64.b64encode(made.getvalue()).decode()}"
        return f'<img alt="{value.get_ylabel()} over {value.get_xlabel()}" src="{picture}">'
    return f"```text\n{value!r}\n```"


def page(path: Path) -> str:
    """Return a notebook as a page of Markdown, with what its cells give when they are run now."""
    parts = []
    for kind, source, said in run(path):
        parts += [source] if kind == "markdown" else [f"```python\n{source}\n```", said]
    return "\n\n".join(part for part in parts if part) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page(Path(sys.argv[1])))
