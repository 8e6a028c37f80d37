"""Which files are read, how their lines are cut, and what is said about files that cannot be read."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
from pathlib import Path

import pytest

from treebank.base.errors import SynparseError, TreebankError
from treebank.io.formats import InputOptions, expand, open_lines, read_sentences
from treebank.io.lines import _BLOCK

ROOT = Path(__file__).resolve().parents[3]
INVALID = ROOT / "tests/data/invalid"
ERRORS = {
    "latin1.txt": ":2: invalid UTF-8 (0xe9 at byte 8 of the line, byte 12 of the file); as iso-8859-15 or cp1252",
    "utf16.txt": ":1: invalid UTF-8 (0xff at byte 1 of the line, byte 1 of the file): this looks like UTF-16",
    "binary.txt": ":2: this is a binary file (it holds a NUL byte), not text",
    "binary2.txt": ":1: this is a binary file, not text: invalid UTF-8 (0xff at byte 4 of the line",
    "truncated.txt.gz": ": this compressed file ends too early; copy or download it again",
    "not_gzip.txt.gz": ": this is not a .gz file, in spite of its name",
}


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of small files, and the current one."""
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
        ("empty", True, "empty: this folder holds no file of a treebank (.mrg"),
    ],
)
def test_nothing_found(corpus: Path, path: str, trees: bool | None, message: str) -> None:
    (corpus / "empty").mkdir()
    with pytest.raises(SynparseError) as caught:
        read_sentences([path], trees=trees)
    assert str(caught.value).startswith(message)


def test_a_file_with_pattern_characters_in_its_name(corpus: Path) -> None:
    (corpus / "x[1].txt").write_text("hello\n")
    assert expand(["x[1].txt"]) == ["x[1].txt"]


def test_suffix_chooses_the_format(corpus: Path) -> None:
    (corpus / "T.PTB.gz").write_bytes(gzip.compress(b"(S (NN a))\n"))
    words = [sentence.words for sentence in read_sentences(["a.mrg", "T.PTB.gz", "b.txt"])]
    assert words == [("a",), ("a",), ("a",)]  # the last by its content
    assert [sentence.words for sentence in read_sentences("b.txt", trees=True)] == [("a",)]


def test_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO("caf\u00e9 au lait\n\nx".encode()), encoding="ascii")
    monkeypatch.setattr(sys, "stdin", stream)
    sentences = list(read_sentences(["-"]))
    assert [sentence.words for sentence in sentences] == [("caf\u00e9", "au", "lait"), (), ("x",)]
    assert not stream.closed


def test_stdin_gives_lines_as_they_come() -> None:
    code = "from treebank.io.formats import open_lines\nfor line in open_lines('-'): print(*line, flush=True)"
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(b"one\n")
        child.stdin.flush()
        assert child.stdout.readline() == b"1 one\n"
        child.stdin.write(b"two")
        child.stdin.close()
        assert child.stdout.readline() == b"2 two\n"


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a", ["a"]),
        (b"a\n\nb\n", ["a", "", "b"]),
        (b"a\r\nb\r", ["a", "b"]),
        (b"a\r\r\nb\rc\n", ["a\r", "b\rc"]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n", ["a", "\ufeffb"]),
        ("a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\n".encode(), ["a\u2028b\u2029c\x85d\x0be\x0cf\x1cg"]),
    ],
)
def test_lines(tmp_path: Path, data: bytes, lines: list[str]) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(data)
    assert list(open_lines(str(path))) == list(enumerate(lines, 1))
    packed = tmp_path / "x.txt.gz"
    packed.write_bytes(gzip.compress(data))
    assert list(open_lines(str(packed))) == list(enumerate(lines, 1))


def test_lines_longer_than_a_block(tmp_path: Path) -> None:
    lines = ["é" * _BLOCK, "b", "c" * (_BLOCK - 1), "", "d"] * 2
    path = tmp_path / "x.txt"
    path.write_text("\r\n".join(lines), encoding="utf-8", newline="")
    assert list(open_lines(str(path))) == list(enumerate(lines, 1))


def test_place_of_a_bad_byte_after_many_blocks(tmp_path: Path) -> None:
    line = b"0123456789\r\n"
    count = 3 * _BLOCK // len(line)
    path = tmp_path / "x.txt"
    path.write_bytes(line * count + b"ab\xff\n" + line)
    lines = open_lines(str(path))
    for expected in range(1, count + 1):
        assert next(lines)[0] == expected
    with pytest.raises(TreebankError) as caught:
        next(lines)
    assert caught.value.line == count + 1
    assert f"byte 3 of the line, byte {count * len(line) + 3} of the file" in caught.value.message


@pytest.mark.parametrize("name", ERRORS)
def test_unreadable_files(name: str) -> None:
    with pytest.raises(TreebankError) as caught:
        list(read_sentences([INVALID / name]))
    assert str(caught.value).startswith(f"{INVALID / name}{ERRORS[name]}")
    assert "\n" not in str(caught.value)


def test_a_damaged_gzip_file(tmp_path: Path) -> None:
    path = tmp_path / "x.txt.gz"
    data = bytearray(gzip.compress(b"one two three four five\n" * 50))
    data[-6] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(TreebankError, match="this is a damaged compressed file"):
        list(open_lines(str(path)))


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(TreebankError, match="this is a folder where a file was expected"):
        list(open_lines(str(tmp_path)))


def test_a_link_to_nowhere(tmp_path: Path) -> None:
    (tmp_path / "x.txt").symlink_to("absent")
    with pytest.raises(TreebankError, match=r"x\.txt: cannot be read: no such file or directory"):
        list(read_sentences([tmp_path / "x.txt"]))


def test_reading_trees_loads_no_heavy_library() -> None:
    code = (
        "import sys; from treebank.io.formats import read_sentences; import treebank.core.normalization\n"
        "list(read_sentences(['tests/data/brackets/penn.mrg']))\n"
        "assert not {'torch', 'nltk', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32", "utf-16"])
def test_wide_characters_are_told_and_read(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "wide.txt"
    path.write_bytes("a dog sees\n".encode(encoding))
    with pytest.raises(TreebankError, match=f"give --encoding {encoding}, or convert"):
        list(read_sentences([path]))
    (sentence,) = read_sentences([path], input_options=InputOptions(encoding=encoding))
    assert sentence.words == ("a", "dog", "sees")
