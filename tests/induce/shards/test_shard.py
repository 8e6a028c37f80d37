"""Shards of files, and the sentences that are read from them."""

from __future__ import annotations

import bz2
import gzip
import random
from pathlib import Path

import pytest

from induce.shards.shard import shards_of
from treebank.base.errors import SynparseError
from treebank.io.read import InputOptions, read_sentences
from treebank.io.source import AnyPath


def text(lines: int, seed: int = 1) -> str:
    """Lines of words with one to four bytes per letter, some of them empty or with a carriage return at the end."""
    rng = random.Random(seed)
    words = ["a", "größer", "語", "𝄞x", "Yes.", "No\u2028"]
    rows = [" ".join(rng.choices(words, k=rng.randrange(6))) + "\r" * (rng.random() < 0.1) for _ in range(lines)]
    return "\n".join(rows)


def read(path: AnyPath, options: InputOptions) -> list[tuple[object, ...]]:
    """Words, position and offset of each sentence of a file or shard."""
    sentences = read_sentences([path], input_options=options)
    return [(sentence.words, sentence.location, sentence.surface and sentence.surface.offset) for sentence in sentences]


@pytest.mark.parametrize("rule", ["", "unicode"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["", "\n"])
def test_shards_contain_the_sentences_of_the_file(tmp_path: Path, rule: str, mark: str, end: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes((mark + text(8000) + end).encode())
    options = InputOptions(tokenize=rule)
    shards = list(shards_of(str(path), options, size=20_000))
    assert len(shards) > 3
    assert [shard.start for shard in shards[1:]] == [shard.end for shard in shards[:-1]]
    assert shards[-1].end == path.stat().st_size
    assert [sentence for shard in shards for sentence in read(shard.source, options)] == read(str(path), options)


def in_members(path: Path, data: bytes, size: int) -> None:
    """Write a compressed file of members of ``size`` bytes each, which end anywhere, as `bgzip` and `pzstd` do."""
    parts = [data[start : start + size] for start in range(0, len(data), size)]
    if path.suffix == ".gz":
        path.write_bytes(b"".join(map(gzip.compress, [*parts, b""])) + bytes(40_000))
        return
    zstandard = pytest.importorskip("zstandard")
    frames = [zstandard.ZstdCompressor(write_content_size=bool(k % 2)).compress(part) for k, part in enumerate(parts)]
    table = b"\x5e\x2a\x4d\x18" + (3).to_bytes(4, "little") + b"..."  # a frame that is skipped
    path.write_bytes(b"".join([*frames, table]))


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_compressed_file_with_several_members_is_one_shard(tmp_path: Path, suffix: str) -> None:
    path, plain = tmp_path / f"a.txt{suffix}", tmp_path / "a.txt"
    data = text(8000).encode()
    plain.write_bytes(data)
    in_members(path, data, 7001)
    (shard,) = shards_of(str(path), InputOptions(), size=1)
    assert (shard.whole, shard.source) == (True, str(path))
    assert [words for words, *_ in read(path, InputOptions())] == [words for words, *_ in read(plain, InputOptions())]


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_damaged_member_of_a_compressed_file_is_an_error(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.txt{suffix}"
    in_members(path, text(8000).encode(), 30_000)
    content = path.read_bytes()
    middle = len(content) // 2 if suffix == ".zst" else content.index(b"\x1f\x8b\x08", 10)
    for broken, problem in {
        content[: middle + 40]: r"this compressed file ends too early; copy or download it again",
        content[:middle] + b"?" * 50 + content[middle + 50 :]: r"this is a damaged compressed file \(",
    }.items():
        path.write_bytes(broken)
        with pytest.raises(SynparseError, match=problem):
            read(path, InputOptions())


def test_files_that_cannot_be_cut_are_one_shard(tmp_path: Path) -> None:
    packed, trees, empty = tmp_path / "a.bz2", tmp_path / "a.mrg", tmp_path / "empty.txt"
    packed.write_bytes(bz2.compress(text(8000).encode()))
    trees.write_text("(S (NN a) (NN b))\n" * 3000, encoding="utf-8")
    empty.touch()
    for path in (packed, trees):
        (shard,) = shards_of(str(path), InputOptions(), size=1)
        assert (shard.whole, shard.source) == (True, str(path))
    (shard,) = shards_of(str(empty), InputOptions(), size=1)
    assert (shard.start, shard.end, read(shard.source, InputOptions())) == (0, 0, [])
    with pytest.raises(SynparseError, match=r"a\.txt: cannot be read"):
        list(shards_of(str(tmp_path / "a.txt"), InputOptions(form="text"), size=1))


def test_errors_name_lines_and_bytes_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"a b\n" * 3000 + b"a \xff\n" + b"a b\n" * 3000)
    problems = []
    for source in (str(path), *(shard.source for shard in shards_of(str(path), InputOptions(), size=1000))):
        try:
            list(read_sentences([source]))
        except SynparseError as error:
            problems.append(str(error))
    whole, shard = problems
    assert shard == whole
    assert "a.txt:3001: invalid UTF-8 (0xff at byte 3 of the line, byte 12003 of the file)" in whole


def test_changed_file_raises_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(text(5000), encoding="utf-8")
    shard = next(shards_of(str(path), InputOptions(), size=1000))
    path.write_text(text(5000, seed=2), encoding="utf-8")
    with pytest.raises(SynparseError, match=r"a\.txt: this file was changed while"):
        _ = shard.source
