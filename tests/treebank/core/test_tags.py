"""The tag set of a sentence is decided from that sentence alone."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from treebank.convert.convert import Transformation
from treebank.core.sentence import Sentence, Treebank, count_words, has_penn_tags, tags_are_penn
from treebank.core.tree import Tree

PENN = Sentence(("%", "of", "US$", "5", "."), ("NN", "IN", "$", "CD", "."))
GERMAN = Sentence(("Das", "Haus", "kostet", "5", "%", "."), ("ART", "NN", "VVFIN", "CARD", "NN", "$."))
BARE = Sentence(("the", "%", "fell", "."))


@pytest.mark.parametrize(
    ("words", "tags", "penn"),
    [
        (PENN.words, PENN.tags, True),
        (GERMAN.words, GERMAN.tags, False),
        (("He", "is", "here", "!"), ("PRP", "AUX", "RB", "PU"), True),  # only what has letters must have its tags
        (("a", "b"), ("DT", ""), False),
        (("a", "*", "b"), ("DT", "-NONE-", "NN"), True),
        ((), (), True),
    ],
)
def test_a_sentence_is_judged_by_its_words(words: Sequence[str], tags: Sequence[str], penn: bool) -> None:
    assert tags_are_penn(words, tags) is penn


def test_words_are_counted_with_and_without_trees_and_tags() -> None:
    tree = Sentence(()).with_tree(Tree.from_text("(S (NP (-NONE- *)) (VP (VB Go) (RB on)) (. .))"))
    assert count_words(Treebank("penn", [PENN, BARE, tree])) == [3, 2, 2]
    assert count_words(Treebank("german", [GERMAN, BARE])) == [4, 2]


def test_shards_are_converted_to_what_the_whole_is() -> None:
    notes: list[str] = []
    sentences = [PENN, GERMAN] * 20 + [GERMAN] * 30 + [PENN] * 30
    strip = Transformation(strip=("punctuation",))
    whole = [sentence.words for sentence in strip(sentences, notes.append)]
    assert whole[0] == ("%", "of", "5")
    assert whole[1] == ("Das", "Haus", "kostet", "5")
    assert len(notes) == 1
    for size in (1, 7, 50):
        shards = (sentences[start : start + size] for start in range(0, len(sentences), size))
        assert [sentence.words for shard in shards for sentence in strip(shard)] == whole


def test_a_treebank_has_the_tags_of_most_of_its_sentences() -> None:
    assert has_penn_tags(Treebank("", [PENN, PENN, GERMAN]))
    assert not has_penn_tags(Treebank("", [PENN, GERMAN, BARE]))
    assert not has_penn_tags(Treebank("", [BARE]))
    tree = Tree.from_text("(S (NP (DT the) (NN man)) (VP (VBZ sleeps)))")
    assert has_penn_tags(Treebank("", [Sentence(tree.words, (), tree)]))
