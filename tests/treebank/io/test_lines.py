"""Lines of text files, and compressed files."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Thread

import pytest

from treebank.base.errors import TreebankError
from treebank.io.formats import detect
from treebank.io.lines import BLOCK_BYTES, count_lines, open_lines
from treebank.io.read import read_sentences
from treebank.io.source import Source, open_zip

ROOT = Path(__file__).resolve().parents[3]
INVALID = ROOT / "tests/data/invalid"
ERRORS = {
    "latin1.txt": ":2: invalid UTF-8 (0xe9 at byte 8 of the line, byte 12 of the file); if it is in",
    "utf16.txt": ":1: invalid UTF-8 (0xff at byte 1 of the line, byte 1 of the file): this looks like UTF-16",
    "binary.txt": ":2: this is a binary file (it holds a NUL byte), not text",
    "binary2.txt": ":1: this is a binary file, not text: invalid UTF-8 (0xff at byte 4 of the line",
    "truncated.txt.gz": ": this compressed file ends too early; copy or download it again",
    "not_gzip.txt.gz": ": this is not a .gz file, in spite of its name",
}


def test_stdin_yields_lines_as_they_come() -> None:
    code = "from treebank.io.lines import open_lines\nfor line in open_lines('-'): print(*line, flush=True)"
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
    ("chunks", "form"),
    [
        (["# foo = 1\n", "1\ta\t_\tN\t_\t_\t0\troot", "\t_\t_\n"], "conllu"),
        (["# foo = 1\n", "(S (NN a)", " (NN b))\n"], "brackets"),
        (['{"words": ["' + "a" * 9000, '"]}\n'], "jsonl"),
        (["# foo = 1\n"], "text"),
    ],
)
def test_pipe_is_read_until_a_line_decides_about_its_format(chunks: Sequence[str], form: str) -> None:
    source, feed = os.pipe()
    writer = Thread(target=write_slowly, args=(feed, chunks))
    writer.start()
    path = f"/dev/fd/{source}"
    assert detect(path).name == form
    assert "".join(f"{line}\n" for _, line in open_lines(path)) == "".join(chunks)
    writer.join()
    os.close(source)


def write_slowly(feed: int, chunks: Sequence[str]) -> None:
    """Write the chunks to a pipe and close it."""
    with os.fdopen(feed, "wb", buffering=0) as stream:
        for chunk in chunks:
            stream.write(chunk.encode())
            time.sleep(0.1)


def test_long_compressed_line_on_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    line = json.dumps({"words": [f"w{i}" for i in range(9000)]})
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(f"{line}\n".encode()))))
    assert detect("-").name == "jsonl"
    assert list(open_lines("-")) == [(1, line)]


def test_line_from_a_terminal_is_read_at_once() -> None:
    keyboard, terminal = os.openpty()
    os.write(keyboard, b"# foo = 1\n")
    path = f"/dev/fd/{terminal}"
    assert detect(path).name == "text"
    assert next(open_lines(path)) == (1, "# foo = 1")
    os.close(keyboard)
    os.close(terminal)


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
    lines = ["é" * BLOCK_BYTES, "b", "c" * (BLOCK_BYTES - 1), "", "d"] * 2
    path = tmp_path / "x.txt"
    path.write_text("\r\n".join(lines), encoding="utf-8", newline="")
    assert list(open_lines(str(path))) == list(enumerate(lines, 1))


def test_position_of_an_invalid_byte_after_many_blocks(tmp_path: Path) -> None:
    line = b"0123456789\r\n"
    count = 3 * BLOCK_BYTES // len(line)
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
def test_unreadable_file_is_an_error(name: str) -> None:
    with pytest.raises(TreebankError) as caught:
        list(read_sentences([INVALID / name]))
    assert str(caught.value).startswith(f"{INVALID / name}{ERRORS[name]}")
    assert "\n" not in str(caught.value)


def test_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TreebankError, match="this is a folder; name a file"):
        list(open_lines(str(tmp_path)))


def test_last_line_without_end_is_counted(tmp_path: Path) -> None:
    for text, count in (("", 0), ("a", 1), ("a\n", 1), ("a\n\nb", 3)):
        (tmp_path / "a.txt").write_text(text)
        assert count_lines(str(tmp_path / "a.txt")) == count


def test_byte_range_keeps_numbers_of_lines(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\ntwo\nthree\nfour\n")
    source = Source(str(tmp_path / "a.txt"), start=4, end=14, line=2, characters=4)
    assert list(open_lines(source)) == [(2, "two"), (3, "three")]


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("a.bz2", bz2.compress),
        ("a.xz", lzma.compress),
        ("a.gz", gzip.compress),
        ("misnamed.txt", gzip.compress),
    ],
)
def test_compressed_file_is_read_and_truncated_file_refused(tmp_path: Path, name: str, pack: object) -> None:
    path = tmp_path / name
    path.write_bytes(pack(b"It rained .\nYes\n"))  # type: ignore[operator]
    assert [sentence.words for sentence in read_sentences([path])] == [("It", "rained", "."), ("Yes",)]
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(TreebankError, match="compressed file"):
        list(read_sentences([path]))


def test_zip_archive_with_one_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.txt.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "It rained .\n")
    assert [sentence.words for sentence in read_sentences([path])] == [("It", "rained", ".")]
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("b.txt", "Yes\n")
    with pytest.raises(TreebankError, match="holds 2 files; unpack it"):
        list(read_sentences([path]))


def test_zstandard_file_is_read(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    path = tmp_path / "a.zst"
    path.write_bytes(zstandard.compress(b"It rained .\n" * 1000))
    assert len(list(read_sentences([path]))) == 1000


def test_zip_archive_with_a_hidden_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("a.txt", "b.txt"):
            archive.writestr(name, "one two\n")
    with open_zip(path) as archive:
        assert archive.namelist() == ["a.txt", "b.txt"]
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\1\2") + 33] ^= 1  # the comment of the first file now includes the entry of the second one
    path.write_bytes(data)
    with pytest.raises(zipfile.BadZipFile, match="1 of 2 files are listed"):
        open_zip(path)


def test_damaged_gzip_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x.txt.gz"
    data = bytearray(gzip.compress(b"one two three four five\n" * 50))
    data[-6] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(TreebankError, match="this is a damaged compressed file"):
        list(open_lines(str(path)))


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst", ".zip"])
def test_empty_compressed_file_is_an_error(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.txt{suffix}"
    path.touch()
    with pytest.raises(TreebankError, match="this compressed file ends too early"):
        list(read_sentences([path]))


@pytest.mark.parametrize("compress", [bz2.compress, lzma.compress], ids=["bz2", "xz"])
def test_content_after_the_end_is_reported(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "a"
    path.write_bytes(compress(b"one\n") + compress(b"two\n"))
    assert [line for _, line in open_lines(path)] == ["one", "two"]
    path.write_bytes(compress(b"one\n") + b"garbage")
    with pytest.raises(TreebankError, match="damaged compressed file"):
        list(open_lines(path))
