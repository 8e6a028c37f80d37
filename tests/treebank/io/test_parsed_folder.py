"""Heads in a folder of parsed text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from treebank.base.errors import SynparseError
from treebank.io.parsed_folder import NOTE, parsed_files
from treebank.io.predictions import gives_heads, read_prediction_heads
from treebank.io.read import read_sentences


def test_heads_in_order(tmp_path: Path) -> None:
    names = ["b.txt.conllu", "a.txt.gz.conllu", "a.txt.conllu"]
    for head, name in enumerate(names):
        rows = [f"{i}\tw\t_\t_\t_\t_\t{head if i != head else 0}\t_\t_\t_\n" for i in (1, 2)]
        (tmp_path / name).write_text("".join(rows) + "\n")
    (tmp_path / "c.txt").write_text("no part of it\n")
    (tmp_path / NOTE).write_text(json.dumps({"files": names}))
    assert gives_heads(str(tmp_path))
    heads = [prediction.heads for prediction in read_prediction_heads(str(tmp_path))]
    assert heads == [(-1, -1), (-1, 0), (1, -1)]
    assert [prediction.heads for prediction in read_sentences([tmp_path])] == heads


@pytest.mark.parametrize("note", ["", "[]", "{}", '{"files": 3}', "[" * 100_000])
def test_damaged_note_is_an_error(tmp_path: Path, note: str) -> None:
    (tmp_path / NOTE).write_text(note)
    with pytest.raises(SynparseError, match=r"synparse-batch\.json is damaged"):
        parsed_files(str(tmp_path))
