"""The table of formats: unique names and suffixes, readers and writers."""

from __future__ import annotations

from pathlib import Path

from treebank.io.formats import FORMATS, TEXT, WRITERS, detect, format_by_suffix, suffix_of


def test_suffix_looks_through_a_compression() -> None:
    assert suffix_of("a.MRG.gz") == ".mrg"
    assert suffix_of("dir.mrg/a") == ""
    assert format_by_suffix("a.conll.xz") is FORMATS["conllx"]
    assert format_by_suffix("a.txt") is None


def test_each_suffix_and_writer_has_one_format() -> None:
    suffixes = [suffix for entry in FORMATS.values() for suffix in entry.suffixes]
    assert len(suffixes) == len(set(suffixes))
    assert list(WRITERS) == ["text", "brackets", "spans", "distances", "path-lengths", "conllu", "negra", "tiger"]


def test_missing_file_is_left_to_the_reader(tmp_path: Path) -> None:
    assert detect(tmp_path / "absent") is TEXT
