"""The first line of each docstring is a noun phrase or an imperative, and names say what they hold."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.reference import ROOT

FILES = sorted(path for folder in ("cli", "induce", "treebank") for path in (ROOT / folder).rglob("*.py"))
WRONG_BEGINNINGS = re.compile(r"(What|Which|How|Where|Who|Of|The same|Those|These|It|They|One that)\b")
VAGUE_NAMES = {"found", "told", "asked", "mine", "ours", "theirs", "here", "there"}


def problems(source: str) -> Iterator[str]:
    """Docstrings and assigned names of a module that break the rules."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = (ast.get_docstring(node) or "").partition("\n")[0]
            if WRONG_BEGINNINGS.match(first):
                yield f"begins with a clause or a pronoun: {first}"
            if ";" in re.sub(r"``[^`]*``", "", first):
                yield f"has two statements in the first line: {first}"
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in VAGUE_NAMES:
            yield f"line {node.lineno}: vague name {node.id!r}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_docstrings_and_names_are_plain(path: Path) -> None:
    assert list(problems(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    "source",
    ['"""What a copy does."""', '"""Number of lines; None for a pipe."""', "found = 1", 'def f():\n    """It runs."""'],
)
def test_wrong_wording_is_detected(source: str) -> None:
    assert list(problems(source))
