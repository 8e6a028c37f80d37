"""The package as a library: calls from Python, types, and files that hide its packages."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

import synparse
from tests.support.fork_server import Call
from tests.support.pages import fences
from tests.support.reference import ROOT
from treebank.base.errors import SynparseError

SNIPPETS = fences("docs/how-to/python.md", "python")


@pytest.fixture(scope="module")
def after_docs(tmp_path_factory: pytest.TempPathFactory, warm: str) -> tuple[str, Path]:
    """Output of the snippets of docs/how-to/python.md, run in order in an empty folder with shorter training."""
    folder = tmp_path_factory.mktemp("docs")
    program = re.sub(r"max_minutes=0\.(1|05)", "max_minutes=0.03", "\n".join(SNIPPETS))
    assert program.count("max_minutes=0.03") == 2
    with (folder / "out").open("w") as out, (folder / "err").open("w") as err:
        before = Path.cwd()
        os.chdir(folder)
        try:
            call = Call(warm, [], program=program, streams=(0, out.fileno(), err.fileno()), environment=_environment())
        finally:
            os.chdir(before)
        assert call.wait() == 0, (folder / "err").read_text("utf-8")
    return (folder / "out").read_text("utf-8"), folder


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}


def test_snippets_of_python_page_run(after_docs: tuple[str, Path]) -> None:
    assert len(SNIPPETS) == 9
    printed = after_docs[0]
    assert "(W the)" in printed
    assert "('the', 'cat', 'sat') distances [" in printed
    assert "F1|" in printed
    assert "('the', 'cat', 'sat') (S (NP (DT the) (NN cat)) (VP (VBD sat)))" in printed
    assert "mine.ptb:1 [('the', 'cat')]\n1 ('the', 'cat', 'sat') 1\nthe cat 1\n" in printed
    assert "nowhere: there is no such model" in printed


def test_string_is_one_sentence_and_used_parser_can_be_pickled(after_docs: tuple[str, Path]) -> None:
    parser = synparse.load(after_docs[1] / "model")
    (tree,) = parser.parse("the cat sat")
    assert tree.words == ("the", "cat", "sat")
    assert list(parser.parse(["the cat sat", ["the", "cat", "sat"]])) == [tree, tree]
    assert list(pickle.loads(pickle.dumps(parser)).parse(["the cat sat"])) == [tree]


def test_training_on_lists_of_words(tmp_path: Path) -> None:
    text = [["the", "dog", "saw", "a", "cat"], ["a", "man", "met", "the", "girl"]] * 20
    settings = [
        "model.hidden_size=8",
        "model.chunk_size=4",
        "model.embedding_size=8",
        "train.epochs=1",
        "model.layers=2",
    ]
    parser = synparse.train(text, run=str(tmp_path / "run"), settings=settings)
    assert len(next(parser.parse("the dog saw a cat"))) == 5
    with pytest.raises(SynparseError, match="the training text is not the one"):
        synparse.trainer(text[1:], run=str(tmp_path / "run"), resume=True)


@pytest.mark.parametrize("name", ["treebank", "induce", "cli"])
def test_file_that_hides_a_package_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / f"{name}.py").write_text("x = 1\n", "utf-8")
    call = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import synparse"]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True)
    problem = f"{tmp_path / name}.py: hides synparse's package '{name}'; rename it or work in another folder"
    assert done.stderr.splitlines()[-1] == f"ImportError: {problem}"
    done = subprocess.run(
        [sys.executable, "-m", "synparse"], cwd=tmp_path, capture_output=True, text=True, env=_environment()
    )
    assert done.stderr.splitlines() == [f"synparse: {problem}"]
    assert done.returncode == 1


def test_the_packages_are_typed() -> None:
    assert all((ROOT / name / "py.typed").exists() for name in ("treebank", "induce", "cli"))
