"""Words of two texts compared: equal texts pass, and any other text is refused at its first difference."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treebank.base.errors import SynparseError
from treebank.core.sentence import Location, Sentence
from treebank.core.word_check import plain, with_analyses

WORDS = st.sampled_from(["a", "b", "(", ")", "[", "1/2", "*", "x-y", "-LRB"])
TEXTS = st.lists(st.lists(WORDS, min_size=1, max_size=4), min_size=1, max_size=5)
ESCAPES = {"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "/": "\\/", "*": "\\*"}


def read(texts: list[list[str]], path: str) -> list[Sentence]:
    """The sentences of a file with one of ``texts`` per line."""
    return [Sentence(tuple(words), location=Location(path, line)) for line, words in enumerate(texts, 1)]


def escaped(word: str) -> str:
    return "".join(ESCAPES.get(character, character) for character in word)


@given(TEXTS)
def test_escaped_words_are_equal_to_unescaped_ones(texts: list[list[str]]) -> None:
    others = [[escaped(word) for word in words] for words in texts]
    assert [plain(words) for words in others] == texts
    pairs = list(with_analyses(read(texts, "text"), read(others, "trees"), "trees"))
    assert [(list(first.words), list(second.words)) for first, second in pairs] == list(zip(texts, others, strict=True))


@given(TEXTS, TEXTS)
def test_first_difference_of_two_texts_is_reported(texts: list[list[str]], others: list[list[str]]) -> None:
    lines = range(max(len(texts), len(others)))
    line = next((i for i in lines if texts[i : i + 1] != others[i : i + 1]), None)
    pairs = with_analyses(read(texts, "text"), read(others, "trees"), "trees")
    if line is None:
        assert len(list(pairs)) == len(texts)
        return
    expected = f"trees:{line + 1}: " if line < len(others) else "trees: no analysis of "
    with pytest.raises(SynparseError) as error:
        list(pairs)
    assert str(error.value).startswith(expected)
    assert (f"text:{line + 1}" in str(error.value)) == (line < len(texts))
