"""Expansion of folders, patterns and standard input to files."""

from __future__ import annotations

from pathlib import Path

import pytest

from treebank.base.errors import SynparseError
from treebank.io.read import expand, read_sentences


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


@pytest.mark.parametrize("content", [b"%PDF-1.7\n%\xe2\xe3", b"\xd0\xcf\x11\xe0\x00", b"\x7fELF\x02\x00", b"{\\rtf1"])
def test_folder_of_text_leaves_out_documents_by_suffix_or_content(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.txt").write_text("Yes\n")
    (tmp_path / "utf16.txt").write_text("Yes\n", encoding="utf-16-le")
    for name in ("scan", "letter.txt", "letter.doc", "page.html", "paper.pdf"):
        (tmp_path / name).write_bytes(content)
    notes: list[str] = []
    assert [Path(path).name for path in expand([tmp_path], notify=notes.append)] == ["a.txt", "utf16.txt"]
    expected = "reading 2 files (a.txt, utf16.txt), leaving out 5 files (letter.doc, letter.txt, page.html, …)"
    assert notes == [f"{tmp_path}: {expected}"]


def test_xml_in_folders_is_recognized_by_content(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<?xml version='1.0'?>\n<TEI><s><w>Yes</w></s></TEI>\n")
    (tmp_path / "b.xml").write_text("<?xml version='1.0'?>\n<settings><s/></settings>\n")
    (tmp_path / "c.txt").write_text("Yes\n")
    for trees in (None, True):
        assert [sentence.words for sentence in read_sentences([tmp_path], trees=trees)] == [("Yes",)]
        assert expand([tmp_path], trees=trees) == [str(tmp_path / "a.xml")]
    (tmp_path / "a.xml").unlink()
    assert expand([tmp_path]) == [str(tmp_path / "c.txt")]


def test_treebank_files_without_suffix_are_found_by_content(tmp_path: Path) -> None:
    (tmp_path / "README").write_text("Sinica Treebank Corpus Sample\n")
    (tmp_path / "raw").write_text("#1:1.[0] 一 。\n")
    (tmp_path / "parsed").write_text("#1:1.[0] NP(Head:Neu:一)#。(PERIODCATEGORY)\n")
    (tmp_path / "page.xml.txt").write_text("<html><body>\n")
    notes: list[str] = []
    assert expand([tmp_path], trees=True, notify=notes.append) == [str(tmp_path / "parsed")]
    assert notes == [f"{tmp_path}: reading 1 file (parsed), leaving out 3 files (README, page.xml.txt, raw)"]
    assert next(read_sentences([tmp_path], trees=True)).words == ("一",)
