"""Reading of sentences from files of any format, folders and standard input."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from treebank.base.errors import SynparseError, TreebankError
from treebank.io.read import InputOptions, read_sentences

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
