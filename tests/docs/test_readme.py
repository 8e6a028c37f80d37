"""The commands of the README and the quickstart run as they are printed, one after another, in an empty folder.

Three things are not as in real life. The program is forked by a server that has loaded it
(``tests.support.fork_server``); a
``synparse`` that stands first on the path adds settings of a tiny model to every ``synparse train``, and a limit of
seconds to ``--best`` (a minute's training each would be too long); and files that the texts presuppose are made here.
"""

from __future__ import annotations

import gzip
import os
import re
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.reference import ROOT
from treebank.corpora.sample import sample_treebank

TINY = (
    "train.epochs=1 model.hidden_size=16 model.embedding_size=16 model.chunk_size=4 model.layers=2 "
    "loader.batch_size=600 loader.development_batch_size=100 data.vocabulary_size=100"
)
WRAPPER = """#!/bin/sh
if echo " $* " | grep -q -e " --best "; then set -- "$@" --max-minutes 0.1
elif [ "$1" = train ] && ! echo " $* " | grep -q -e " --resume "; then set -- "$@" {settings}; fi
exec {python} -IS {caller} {warm} "$@"
"""
NOT_HERE = ("make", "python3 -m venv", "pip install")  # installation, and the commands that run these tests


def commands(page: str) -> list[str]:
    """The lines of the fenced blocks of ``page`` that are commands, lines ending in a backslash joined."""
    blocks = re.findall(r"^```[a-z]*\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    starts = ("synparse ", "printf ", "cmp ", "python ", "echo ")
    return [line for line in lines if line.startswith(starts) and not line.startswith(NOT_HERE)]


def test_the_commands_are_found() -> None:
    for page in ("README.md", "docs/tutorials/first-parser.md"):
        assert commands(page)[1:3] == ["synparse draw input.txt", "synparse train"]
    assert sum(line.startswith("synparse ") for line in commands("README.md")) >= 7
    assert sum(line.startswith("synparse ") for line in commands("docs/tutorials/first-parser.md")) >= 7


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, warm: str) -> Path:
    """A folder with only the user's files, in which ``synparse`` is the wrapper and ``python`` runs the tests."""
    programs, work = tmp_path / "bin", tmp_path / "work"
    programs.mkdir()
    work.mkdir()
    settings = " ".join(f"--set {setting}" for setting in TINY.split())
    python, caller = shlex.quote(sys.executable), shlex.quote(str(ROOT / "tests" / "support" / "fork_server.py"))
    wrapper = WRAPPER.format(settings=settings, python=python, caller=caller, warm=warm)
    for name, content in (("synparse", wrapper), ("python", f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')):
        (programs / name).write_text(content, encoding="utf-8")
        (programs / name).chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.delenv("SYNPARSE_MODEL", raising=False)
    own_files(work)
    return work


def own_files(folder: Path) -> None:
    """Write the files that the pages assume: a corpus, more text, a treebank, and trees of another parser for it."""
    gold = sample_treebank("test").sentences[:50]
    text = "".join(" ".join(sentence.words) + "\n" for sentence in gold)
    (folder / "corpus.txt").write_text(text * 4, encoding="utf-8")
    (folder / "corpus.txt.gz").write_bytes(gzip.compress((text * 4).encode()))
    (folder / "more.txt").write_text(text, encoding="utf-8")
    trees = "".join(f"{sentence.tree}\n" for sentence in gold)
    (folder / "treebank.ptb").write_text(trees, encoding="utf-8")
    (folder / "trees-of-another-parser.txt").write_text(trees, encoding="utf-8")


@pytest.mark.parametrize("page", ["README.md", "docs/tutorials/first-parser.md"])
def test_every_command_runs_as_printed(page: str, folder: Path) -> None:
    for command in commands(page):
        done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        assert "Traceback" not in done.stderr
    trees = (folder / "trees.txt").read_text(encoding="utf-8").splitlines()
    assert [tree.count("(W ") for tree in trees] == [7, 7]
