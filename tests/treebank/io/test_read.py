"""Reading of files, folders and patterns, and folders of parsed text."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from treebank.base.errors import SynparseError, TreebankError
from treebank.base.metadata import seal, write_metadata
from treebank.io.predictions import gives_heads, read_prediction_heads
from treebank.io.read import BATCH_NOTE, NOTE_FORMAT, BatchNote, InputOptions, expand, parsed_files, read_sentences

ROOT = Path(__file__).resolve().parents[3]


def test_file_in_another_encoding_is_read_with_its_name(tmp_path: Path) -> None:
    text = "Größe und Käse kosten 5 € .\nDas ist für die Straße .\n" * 20
    path = tmp_path / "a.txt"
    path.write_bytes(text.encode("iso-8859-15"))
    with pytest.raises(TreebankError, match=r"give --encoding NAME, such as iso-8859-15"):
        list(read_sentences([path]))
    sentences = list(read_sentences([path], input_options=InputOptions(encoding="iso-8859-15")))
    assert "\n".join(" ".join(sentence.words) for sentence in sentences) + "\n" == text
    assert sentences[3].location == (str(path), 4)


@pytest.mark.parametrize("name", ["latin-99", "undefined", "\0", "\udcff"])
def test_unknown_encoding_is_reported(name: str) -> None:
    with pytest.raises(SynparseError, match="there is no encoding"):
        InputOptions(encoding=name)


@pytest.mark.parametrize(
    ("encoding", "content"), [("utf-16", b"the cat\n"), ("utf-7", b"+2AA-\n"), ("raw_unicode_escape", b"\\ud800\n")]
)
def test_text_without_byte_order_mark_or_with_half_a_character_is_reported(
    encoding: str, content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(content * 200)
    with pytest.raises(TreebankError, match=f"a.txt: this is not {encoding} "):
        list(read_sentences([path], input_options=InputOptions(encoding=encoding)))


def test_files_that_cannot_be_read_are_reported_and_the_others_are_read(tmp_path: Path) -> None:
    for number in range(1, 10):
        (tmp_path / f"{number}.mrg").write_text("(S (NN a) (NN b))\n", encoding="utf-8")
    (tmp_path / "4.mrg").write_bytes(gzip.compress(b"(S (NN a) (NN b))\n")[:-8])
    (tmp_path / "7.mrg").write_text("(S (NN a) (NN b))\n(S (NN\n", encoding="utf-8")
    with pytest.raises(TreebankError, match=r"4\.mrg: this compressed file ends too early"):
        list(read_sentences([tmp_path], trees=True))
    errors: list[TreebankError] = []
    assert len(list(read_sentences([tmp_path], trees=True, on_bad=errors.append))) == 9
    assert [Path(error.path).name for error in errors] == ["4.mrg", "7.mrg"]
    assert errors[0].message.endswith("; the rest of this file is left out")
    with pytest.raises(TreebankError, match=r"4\.mrg: this compressed file ends too early"):
        list(read_sentences([tmp_path / "4.mrg"], trees=True, on_bad=errors.append))


TWO_WORDS = "# text = {0}\n1\t{0}\t_\tX\t_\t_\t0\troot\t_\t_\n2\tb\t_\tX\t_\t_\t1\tdep\t_\t_\n\n"
EXPORT = "#BOS {0} 0 0 0\nw{0}\tN\t--\t--\t0\n#EOS {0}\n"


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("a.txt", b"a b\nx\xff y\nc d\n", 2),
        ("a.txt", b"a b\nx\0 y\nc d\n", 2),
        ("a.mrg", b"(S (N a))\n(S (N x\xff))\n(S (N c))\n", 2),
        ("a.mrg", b"(S (N a))\n# \xff\n(S (N x)\n  (\xe4 y)\n  (N \xff))\n(S (N c))\n", 4),
        ("a.sinica", "".join(f"#{i}:1.[0] S(Head:Nab:w{i})#\n" for i in "1ü2").encode("cp1252"), 2),
        ("a.jsonl", b'{"words": ["a"]}\n{"words": ["\xff"]}\n{"words": ["c"]}\n', 2),
        ("a.conllu", "".join(map(TWO_WORDS.format, "aüc")).encode("cp1252"), 5),
        ("a.negra", "".join(map(EXPORT.format, "1ü2")).encode("cp1252"), 4),
    ],
)
def test_sentence_that_cannot_be_decoded_is_left_out(tmp_path: Path, name: str, content: bytes, line: int) -> None:
    (tmp_path / name).write_bytes(content)
    errors: list[TreebankError] = []
    assert len(list(read_sentences([tmp_path / name], on_bad=errors.append))) == 2
    assert [error.line for error in errors] == [line]
    assert "invalid UTF-8" in errors[0].message or b"\0" in content


PSD = "( (IP (N a)\n (V b)) (ID T,.{0}))\n\n"
SINICA = "#{0}:1.[0] NP(Head:Neu:一)#\n"


@pytest.mark.parametrize(
    ("name", "sentence", "line"), [("a.psd", PSD, 7), ("a.sinica", SINICA, 3), ("a.negra", EXPORT, 7)]
)
def test_repeated_sentence_is_reported(tmp_path: Path, name: str, sentence: str, line: int) -> None:
    path, notes = tmp_path / name, list[str]()
    path.write_text("".join(map(sentence.format, "122")), encoding="utf-8")
    assert len(list(read_sentences([path], input_options=InputOptions(notify=notes.append)))) == 3
    assert [note.partition(";")[0] for note in notes] == [f"{path}:{line}: this sentence has the id of an earlier one"]


@pytest.mark.parametrize("options", [{}, {"tokenize": "unicode"}, {"tokenize": "unicode", "paragraphs": True}])
def test_line_that_cannot_be_decoded_is_reported_and_left_out(tmp_path: Path, options: dict[str, Any]) -> None:
    (tmp_path / "a.txt").write_bytes(b"a b\nx\xff y\nc d\n")
    errors: list[TreebankError] = []
    sentences = read_sentences([tmp_path / "a.txt"], input_options=InputOptions(**options), on_bad=errors.append)
    assert [sentence.words for sentence in sentences] == [("a", "b"), ("c", "d")]
    assert [error.line for error in errors] == [2]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32", "utf-16"])
def test_utf16_and_utf32_are_recognized_and_read(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "wide.txt"
    path.write_bytes("a dog sees\n".encode(encoding))
    with pytest.raises(TreebankError, match=f"give --encoding {encoding}, or convert"):
        list(read_sentences([path]))
    (sentence,) = read_sentences([path], input_options=InputOptions(encoding=encoding))
    assert sentence.words == ("a", "dog", "sees")


def test_suffix_decides_before_content(tmp_path: Path) -> None:
    (tmp_path / "a.mrg").write_text("(S (NN a))\n")
    (tmp_path / "T.PTB.gz").write_bytes(gzip.compress(b"(S (NN a))\n"))
    (tmp_path / "b.txt").write_text("(S (NN a))\n")
    paths = [tmp_path / name for name in ("a.mrg", "T.PTB.gz", "b.txt")]
    assert [sentence.words for sentence in read_sentences(paths)] == [("a",), ("a",), ("a",)]
    assert [sentence.words for sentence in read_sentences(tmp_path / "b.txt", trees=True)] == [("a",)]


def test_standard_input_is_utf8_and_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO("caf\u00e9 au lait\n\nx".encode()), encoding="ascii")
    monkeypatch.setattr(sys, "stdin", stream)
    sentences = list(read_sentences(["-"]))
    assert [sentence.words for sentence in sentences] == [("caf\u00e9", "au", "lait"), (), ("x",)]
    assert not stream.closed


def test_link_to_a_missing_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "x.txt").symlink_to("absent")
    with pytest.raises(TreebankError, match=r"x\.txt: cannot be read: no such file or directory"):
        list(read_sentences([tmp_path / "x.txt"]))


def test_reading_trees_loads_no_heavy_library() -> None:
    code = (
        "import sys; from treebank.io.read import read_sentences; import treebank.core.dependency\n"
        "list(read_sentences(['tests/data/brackets/penn.mrg']))\n"
        "assert not {'torch', 'nltk', 'numpy', 'regex'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


@pytest.mark.parametrize("name", ["a.txt", "a.mrg"])
def test_byte_order_mark_inside_a_file_is_reported(tmp_path: Path, name: str) -> None:
    line = "(S (A a) (B b))\n" if name == "a.mrg" else "a b\n"
    path = tmp_path / name
    path.write_text("\ufeff" + line + line.replace("b", "b\ufeff") + line, encoding="utf-8")
    notes: list[str] = []
    assert len(list(read_sentences([path], input_options=InputOptions(notify=notes.append)))) == 3
    assert [note.partition(" (")[0] for note in notes] == [
        f"{path}:2: a word of this sentence contains a byte-order mark"
    ]


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


def test_heads_in_order(tmp_path: Path) -> None:
    names = ["b.txt.conllu", "a.txt.gz.conllu", "a.txt.conllu"]
    for head, name in enumerate(names):
        rows = [f"{i}\tw\t_\t_\t_\t_\t{head if i != head else 0}\t_\t_\t_\n" for i in (1, 2)]
        (tmp_path / name).write_text("".join(rows) + "\n")
    (tmp_path / "c.txt").write_text("no part of it\n")
    write_metadata(tmp_path / BATCH_NOTE, BatchNote(files=tuple(names)), NOTE_FORMAT)
    assert gives_heads(str(tmp_path))
    heads = [prediction.heads for prediction in read_prediction_heads(str(tmp_path))]
    assert heads == [(-1, -1), (-1, 0), (1, -1)]
    assert [prediction.heads for prediction in read_sentences([tmp_path])] == heads


def test_file_outside_the_folder_is_refused(tmp_path: Path) -> None:
    for name in ("../a.txt", "/a.txt", ""):
        content = seal({"format": NOTE_FORMAT.number, "files": [name]})
        (tmp_path / BATCH_NOTE).write_text(json.dumps(content))
        with pytest.raises(SynparseError, match=r"is not in this folder\); name the files of trees themselves"):
            parsed_files(str(tmp_path))


@pytest.mark.parametrize("name", ["a.txt", "a.conllu", "a.mrg", "a.jsonl", "a.sfm"])
def test_line_ends_of_an_old_mac_are_an_error(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"The dog barked .\rThe cat slept .\r")
    with pytest.raises(TreebankError, match="as on an old Mac"):
        list(read_sentences([path]))


def test_files_without_sentences_are_reported(tmp_path: Path) -> None:
    notes: list[str] = []
    (tmp_path / "a.txt").write_text("a b\n")
    (tmp_path / "b.txt").touch()
    options = InputOptions(notify=notes.append)
    assert len(list(read_sentences([tmp_path / "a.txt", tmp_path / "b.txt"], input_options=options))) == 1
    assert notes == ["there are no sentences in 1 file (b.txt)"]
    assert not list(read_sentences([tmp_path / "b.txt"], input_options=options))
    assert len(notes) == 1  # a command says so itself if nothing is left
