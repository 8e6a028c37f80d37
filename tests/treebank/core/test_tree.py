"""Trees, tags, labels and scripts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treebank.convert.convert import Transformation
from treebank.core.sentence import Sentence, Treebank, count_words, has_penn_tags, tags_are_penn
from treebank.core.tree import Tree, escape

SENTENCE = "(S (NP-SBJ (DT the) (NN man)) (VP (VBZ sleeps) (NP (-NONE- *))))"


def test_from_spans() -> None:
    tree = Tree.from_spans(["a", "b", "c"], [(1, 3), (1, 3), (0, 1)])
    assert str(tree) == "(X (W a) (X (W b) (W c)))"
    assert str(Tree.from_spans(["Yes"], [])) == "(X (W Yes))"
    assert str(Tree.from_spans([], [])) == ""


@pytest.mark.parametrize("spans", [[(0, 2), (1, 3)], [(1, 4)], [(-1, 2)]])
def test_crossing_spans_are_refused(spans: list[tuple[int, int]]) -> None:
    with pytest.raises(ValueError, match="crosses another span or leaves the sentence"):
        Tree.from_spans(["a", "b", "c"], spans)


def test_brackets_in_words_tags_and_labels_are_escaped() -> None:
    assert escape("f(x)") == "f-LRB-x-RRB-"
    tree = Tree.from_spans([":-(", ")"], [])
    assert str(tree) == "(X (W :--LRB-) (W -RRB-))"
    assert Tree.from_text(str(tree)).words == (":--LRB-", "-RRB-")
    assert str(Tree(("(", "a"), ("$(", ""), ((0, 2),), ("(S)",))) == "(-LRB-S-RRB- ($-LRB- -LRB-) a)"


def test_from_text_takes_exactly_one_tree() -> None:
    with pytest.raises(ValueError, match="found 2 trees where one was expected"):
        Tree.from_text("(A (B c)) (A (B c))")
    with pytest.raises(ValueError, match="found 0 trees"):
        Tree.from_text(" ")


def test_nltk_and_back() -> None:
    import nltk

    text = "(S (NP (NP (DT the) man) (PRN (NN x))) (VP (VBZ sleeps) (ADVP (RB well))))"
    tree = Tree.from_text(text)
    nltk_tree = nltk.Tree.fromstring(text)
    assert tree.to_nltk() == nltk_tree
    assert Tree.from_nltk(nltk_tree) == tree


def test_leaves_of_nltk_trees_are_words_with_or_without_tags() -> None:
    import nltk

    def tree(*children: object) -> nltk.Tree:
        return nltk.Tree("S", children)

    words = Tree.from_nltk(tree(nltk.Tree("NP", ["New York", "City"]), "is"))
    assert words == Tree.from_text(str(words))
    assert words.words == ("New\u00a0York", "City", "is")
    chunks = Tree.from_nltk(tree(nltk.Tree("NP", [("the", "DT"), ("dog", "NN")]), ("ran", "VBD")))
    assert str(chunks) == "(S (NP (DT the) (NN dog)) (VBD ran))"
    with pytest.raises(TypeError, match="a leaf of this nltk tree is 1, not a string"):
        Tree.from_nltk(tree(1, 2))


def test_deletion_takes_empty_brackets_along() -> None:
    tree = Tree.from_text(SENTENCE).without_traces()
    assert str(tree) == "(S (NP-SBJ (DT the) (NN man)) (VP (VBZ sleeps)))"
    assert tree.without_traces() is tree
    assert str(tree.keep([False] * 3)) == ""


def test_collapse_unary() -> None:
    tree = Tree.from_text("(TOP (S (NP (NN we)) (VP (VP (VB go) (RB on)))))")
    assert str(tree.collapse_unary()) == "(TOP (NN we) (VP (VB go) (RB on)))"
    assert str(Tree.from_text("(TOP (S (VB go)))").collapse_unary()) == "(TOP (VB go))"


def test_with_words() -> None:
    tree = Tree.from_text("(X (W a) (W b))")
    assert str(tree.with_words(["c", "d"])) == "(X (W c) (W d))"
    with pytest.raises(ValueError, match="1 words for a tree of 2"):
        tree.with_words(["c"])


@given(st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.lists(st.booleans(), min_size=n, max_size=n))))
def test_keep_agrees_with_deleting_from_spans(case: tuple[int, list[bool]]) -> None:
    count, mask = case
    words = [f"w{i}" for i in range(count)]
    tree = Tree.from_spans(words, [(i, count) for i in range(count)])
    shorter = tree.keep(mask)
    assert shorter.words == tuple(word for word, keep in zip(words, mask, strict=True) if keep)
    assert all(0 <= start < end <= len(shorter) for start, end in shorter.spans)
    assert shorter.collapse_unary() == Tree.from_spans(shorter.words, [(i, len(shorter)) for i in range(len(shorter))])


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
