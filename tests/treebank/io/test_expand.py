"""Expansion of folders, patterns and standard input to files."""

from __future__ import annotations

from pathlib import Path

import pytest

from treebank.base.errors import SynparseError
from treebank.io.expand import expand
from treebank.io.read import read_sentences


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of small files, which is the current one."""
    for name in ("b.txt", "a.mrg", "sub/c.txt", "sub/deep/d.ptb", ".hidden.txt", ".git/e.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("(S (NN a))\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_folders_globs_and_stdin(corpus: Path) -> None:
    assert expand(["."]) == ["./a.mrg", "./sub/deep/d.ptb"]
    assert expand(["."], trees=True) == ["./a.mrg", "./sub/deep/d.ptb"]
    assert expand(["-", "*.txt", Path("a.mrg")]) == ["-", "b.txt", "a.mrg"]
    assert expand(["**/*.txt"]) == ["b.txt", "sub/c.txt"]
    assert expand(["su*"]) == ["sub/deep/d.ptb"]  # a folder that holds treebanks gives these


@pytest.mark.parametrize(
    ("path", "trees", "message"),
    [
        ("absent.txt", None, "absent.txt: no such file or folder"),
        ("*.conllu", None, "*.conllu: no file matches this pattern"),
        ("empty", None, "empty: this folder holds no file"),
        ("empty", True, "empty: this folder holds no file of a treebank (."),
    ],
)
def test_path_without_files_is_an_error(corpus: Path, path: str, trees: bool | None, message: str) -> None:
    (corpus / "empty").mkdir()
    with pytest.raises(SynparseError) as caught:
        read_sentences([path], trees=trees)
    assert str(caught.value).startswith(message)


def test_file_with_pattern_characters_in_its_name(corpus: Path) -> None:
    (corpus / "x[1].txt").write_text("hello\n")
    assert expand(["x[1].txt"]) == ["x[1].txt"]


def test_folder_of_text_leaves_out_other_files(tmp_path: Path) -> None:
    for name in ("README", "LICENSE.txt", "notes.md", "a.txt", "b", "picture.png"):
        (tmp_path / name).write_text("Yes\n")
    assert [Path(path).name for path in expand([tmp_path])] == ["a.txt", "b"]
