"""The words that a model knows: those of a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from induce.config import DataConfig
from induce.data.corpus import read_corpora
from induce.data.known_words import choose_vocabulary
from induce.data.vocabulary import Vocabulary
from treebank.errors import TreebankError
from treebank.sentence import Sentence


def test_a_vocabulary_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("the\n<unk>\nN\n<eos>\ndog\n\n", encoding="utf-8")
    text, _ = read_corpora([Sentence(("the", "cat", "saw", "12", "cats"))], "mikolov")
    words = choose_vocabulary(text, DataConfig(vocabulary=str(path)))
    assert words.words == ("<eos>", "<unk>", "the", "N", "dog")
    assert text.encode(words).ids.tolist() == [2, 1, 1, 3, 1, 0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("the\ndog\nthe\n", r"words.txt:3: the word 'the' stands in line 1 already"),
        ("the 12\n", r"words.txt:1: a vocabulary has one word a line"),
        ("\n", r"words.txt: this vocabulary has no words"),
    ],
)
def test_a_file_that_is_no_vocabulary(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "words.txt"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(TreebankError, match=message):
        Vocabulary.from_list(str(path))


def test_a_rare_word_without_a_known_ending_is_known_itself() -> None:
    """Seen twice; words whose ending many rare words have stay pseudo-words, and so does what was seen once."""
    counts = {"the": 5, "運動": 2, "会話": 1, **{f"{letter}ing": 2 for letter in "abcdefgh"}}
    by_shape = Vocabulary.from_counts(counts, size=100, minimum_count=3, unknown="shape")
    words = Vocabulary.from_counts(counts, size=100, minimum_count=3, unknown="shape-or-word")
    assert [by_shape.knows(word) for word in ("the", "運動", "会話", "bing")] == [True, False, False, False]
    assert [words.knows(word) for word in ("the", "運動", "会話", "bing")] == [True, True, False, False]
    assert words.words[words.id("bing")] == "<unk:w-ing>"
    assert words.words[words.id("会話")] == words.words[words.id("話会")] == "<unk:w>"
    assert set(by_shape.words) < set(words.words)
