"""Decompression: all kinds of compressed files, archives, and damage."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from treebank.base.errors import TreebankError
from treebank.io.lines import open_lines
from treebank.io.read import read_sentences
from treebank.io.source import open_zip


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
