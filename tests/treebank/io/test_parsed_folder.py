"""Heads in a folder of parsed text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from treebank.base.errors import SynparseError
from treebank.base.metadata import seal, write_metadata
from treebank.io.predictions import gives_heads, read_prediction_heads
from treebank.io.read import BATCH_NOTE, NOTE_FORMAT, BatchNote, parsed_files, read_sentences


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
