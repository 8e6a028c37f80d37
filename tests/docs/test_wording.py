"""Docstrings begin with a noun phrase or an imperative, and names say what they hold."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.support.reference import ROOT

FOLDERS = ("bench", "cli", "induce", "tests", "treebank")
WRONG_BEGINNINGS = re.compile(
    r"(What|Which|How|Where|Who|Whose|Why|When|Of|Those|These|That|It|They|Such|So|One that|The (same|others?)|"
    r"The ones? (that|which|of))\b"
)
VAGUE_NAMES = re.compile(
    r"_*(found|ones?|told|asked|wanted|kept|given|seen|places?|here|there|own|ours|theirs|mine|shown|taught|spelt|claimed|"
    r"gist|strangers|apart|along|together|beside|behind|who|what|which|how)_*"
)


def stored_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and name of each definition, parameter, and assigned variable or attribute."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name


def problems(source: str) -> Iterator[str]:
    """Docstrings and stored names of a module that break the rules. A set may be called ``seen``."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = (ast.get_docstring(node) or "").partition("\n")[0]
            if WRONG_BEGINNINGS.match(first):
                yield f"begins with a clause or a pronoun: {first}"
            if ";" in re.sub(r"``[^`]*``", "", first):
                yield f"has two statements in the first line: {first}"
    lines = source.splitlines()
    for line, name in stored_names(tree):
        if VAGUE_NAMES.fullmatch(name) and not (name == "seen" and "set" in lines[line - 1]):
            yield f"line {line}: vague name {name!r}"


@pytest.mark.parametrize("folder", FOLDERS)
def test_docstrings_and_names_are_plain(folder: str) -> None:
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files
    findings = {
        str(path.relative_to(ROOT)): texts for path in files if (texts := list(problems(path.read_text("utf-8"))))
    }
    assert findings == {}


@pytest.mark.parametrize(
    "source",
    [
        '"""What a copy does."""',
        '"""Number of lines; None for a pipe."""',
        'def f():\n    """It runs."""',
        "found = 1",
        "def f(kept): ...",
        "class A:\n    _place: int",
        "seen = 1",
    ],
)
def test_wrong_wording_is_detected(source: str) -> None:
    assert list(problems(source))
