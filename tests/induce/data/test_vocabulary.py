"""Vocabularies from a file of the user."""

from __future__ import annotations

from pathlib import Path

import pytest

from induce.data.corpus import read_corpora
from induce.data.settings import DataConfig
from induce.data.vocabulary import Vocabulary
from induce.data.word_classes import choose_vocabulary
from treebank.base.errors import TreebankError
from treebank.core.sentence import Sentence


def test_vocabulary_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("the\n<unk>\nN\n<eos>\ndog\n\n", encoding="utf-8")
    text, _ = read_corpora([Sentence(("the", "cat", "saw", "12", "cats"))], "mikolov")
    words = choose_vocabulary(text, DataConfig(vocabulary=str(path)))
    assert words.words == ("<eos>", "<unk>", "the", "N", "dog")
    assert text.encode(words).ids.tolist() == [2, 1, 1, 3, 1, 0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("the\ndog\nthe\n", r"words.txt:3: the word 'the' is already in line 1"),
        ("the 12\n", r"words.txt:1: a vocabulary has one word per line"),
        ("\n", r"words.txt: this vocabulary has no words"),
    ],
)
def test_malformed_vocabulary_is_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "words.txt"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(TreebankError, match=message):
        Vocabulary.from_list(str(path))
