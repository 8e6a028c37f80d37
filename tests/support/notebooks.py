"""Notebooks without a server: run the cells of a notebook in this process and store their outputs.

``python -m tests.support.notebooks docs/tutorials/tour.ipynb`` runs a notebook in an empty folder and stores its
outputs.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from treebank.core.sentence import Sentence
from treebank.core.tree import Tree
from treebank.draw.notebook import display_svg


def run_cells(notebook: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """The outputs of each code cell, run in order in the current folder. Raises the exceptions of cells."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return [_outputs("".join(cell["source"]), names, number) for number, cell in enumerate(cells, start=1)]


def _outputs(source: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """The printed text, then the value of the last line if that is an expression."""
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), f"cell {number}", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())})
    if value is not None:
        data = {"execution_count": number, "metadata": {}, "output_type": "execute_result", "data": _mime_data(value)}
        outputs.append(data)
    return outputs


def _mime_data(value: Any) -> dict[str, list[str]]:
    """The value as a notebook displays it: as text, and as a picture or HTML if available."""
    displayed = {}
    if isinstance(value, Tree | Sentence):
        displayed["image/svg+xml"] = _lines(display_svg(value))
    elif hasattr(value, "_repr_html_"):
        displayed["text/html"] = _lines(value._repr_html_())
    return {**displayed, "text/plain": _lines(repr(value)[:2000])}


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def refresh(path: Path) -> None:
    """Run the notebook and write its outputs into it."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        outputs = run_cells(notebook)
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, (cell, output) in enumerate(zip(cells, outputs, strict=True), start=1):
        cell["outputs"], cell["execution_count"] = output, number
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    refresh(Path(os.path.abspath(sys.argv[1])))
