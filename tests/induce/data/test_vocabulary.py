"""Vocabularies from files of users, and the recipes of normalization with the words that they drop."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from induce.data.corpus import read_corpora
from induce.data.vocabulary import RECIPES, Normalized, Vocabulary
from induce.settings.presets import load_preset
from induce.settings.run import DataConfig
from induce.training.prepare import choose_vocabulary
from tests.support.dependency_trees import is_projective
from treebank.base.errors import SynparseError, TreebankError
from treebank.core.dependency import delete, is_tree, restore, restore_heads
from treebank.core.sentence import ROOT, WORD_TAGS, Sentence, is_word
from treebank.core.tree import Tree


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


def test_raw_changes_nothing() -> None:
    assert RECIPES["raw"](["The", ",", "75.3"]) == Normalized(("The", ",", "75.3"), (0, 1, 2))


def test_words_recipe() -> None:
    words = ["The", "30-year", ",", "-LRB-", "1,000.5", "-rrb-", "U.S.", "$", "''", "٣٤", "ISTANBUL"]
    expected = Normalized(("the", "0-year", "0,0.0", "u.s.", "0", "istanbul"), (0, 1, 4, 6, 9, 10))
    assert RECIPES["words"](words) == expected
    assert RECIPES["words"]([]) == Normalized((), ())
    assert RECIPES["words"](["!"]) == Normalized((), ())


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ("a", True),
        ("'s", True),
        ("2", True),
        ("½", True),
        ("%", False),
        ("…", False),
        ("-LSB-", False),
        ("-lcb-", False),
        ("friend-LRB-s-RRB-", True),
        ("❤", False),
        ("❤\ufe0f", False),
        ("👩\u200d👧", False),
        ("1\ufe0f\u20e3", True),
        ("\u200b", False),
        ("\u0301", True),
        (".\u00a0.", False),
        ("\ue000", True),
        ("कि", True),
        ("।", False),
    ],
)
def test_word_or_punctuation(token: str, expected: bool) -> None:
    assert is_word(token) is expected


@given(st.text(min_size=1, max_size=4))
def test_only_punctuation_and_symbols_are_dropped(token: str) -> None:
    kinds = {unicodedata.category(character)[0] for character in token}
    if kinds <= {"P", "S"}:
        assert not is_word(token)
    if kinds & {"L", "N"}:
        assert is_word(token) or token.lower().endswith("b-")


def test_published_recipe() -> None:
    words = ["The", "30-year", "75.3", "$", "5", "%", "*-1", "-LRB-", "%"]
    tags = ["DT", "JJ", "CD", "$", "CD", "NN", "-NONE-", "-LRB-", "SYM"]
    expected = Normalized(("the", "N-year", "N.N", "N", "%", "%"), (0, 1, 2, 4, 5, 8))
    assert RECIPES["ptb"](words, tags) == expected
    assert len(WORD_TAGS) == 36


def test_auxiliaries_of_bllip_are_words() -> None:
    words, tags = ["It", "is", "being", "fun", "."], ["PRP", "AUX", "AUXG", "NN", "."]
    assert RECIPES["ptb"](words, tags).forms == ("it", "is", "being", "fun")


def test_mikolov_recipe() -> None:
    words = ["Pay", "$", "1,000.5", ",", "or", "3\\/4", "%", "of", "investors", "'", "30-year", "AT&T", "-LRB-", "."]
    expected = "pay $ N or N\\/N % of investors ' 30-year at&t"
    normalized = RECIPES["mikolov"](words)
    assert " ".join(normalized.forms) == expected
    assert normalized.indices == (0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11)
    text = [*expected.split(), "<unk>", "u.s.", "n't", "&", "#", "and\\/or", "1980s"]
    assert RECIPES["mikolov"]([*text, "</s>"]).forms == tuple(text), "only sentence ends are removed"
    published = [load_preset(name).data.normalization for name in ("onlstm-ptb", "lstm-ptb", "prpn-lm-ptb")]
    assert set(published) == {"mikolov"}, "one model gives perplexity and trees"


def test_published_recipe_without_tags_drops_what_words_drops() -> None:
    assert RECIPES["ptb"](["Pay", "$", "10", "%", "."]) == Normalized(("pay", "N"), (0, 2))


def test_tags_recipe_returns_tags_instead_of_words() -> None:
    """The tags are those of the words of `ptb`, or for other tag sets of all words except punctuation."""
    assert RECIPES["tags"](["It", "'s", "$", "5", "."], ["PRP", "VBZ", "$", "CD", "."]) == Normalized(
        ("PRP", "VBZ", "CD"), (0, 1, 3)
    )
    assert RECIPES["tags"](["ja", "!"], ["PTKANT", "$."]) == Normalized(("PTKANT",), (0,))
    with pytest.raises(SynparseError, match="needs part-of-speech tags, and a sentence here has none"):
        RECIPES["tags"](["It", "rains"], [])


def test_dropped_word_is_restored_in_the_lowest_phrase() -> None:
    words = ["``", "the", ",", "old", "man", "''", ",", "(", "yes", ")", "."]
    indices = [1, 3, 4, 8]
    tree = Tree.from_text("(X (X (W the) (X (W old) (W man))) (W yes))")
    assert str(restore(tree, words, indices)) == (
        "(X (W ``) (X (W the) (W ,) (X (W old) (W man))) (W '') (W ,) (W -LRB-) (W yes) (W -RRB-) (W .))"
    )


def test_restore_refuses_another_length() -> None:
    with pytest.raises(ValueError, match="a tree of 1 words for 2 kept ones"):
        restore(Tree.from_text("(X (W a))"), ["a", "b"], [0, 1])


@st.composite
def decoded_sentences(draw: st.DrawFn) -> tuple[Tree, list[str], list[int]]:
    """A binary or flatter tree over some words of a sentence, the sentence, and the indices of these words."""
    mask = draw(st.lists(st.booleans(), max_size=12))
    words = [f"w{i}" if is_token else "," for i, is_token in enumerate(mask)]
    indices = [i for i, is_token in enumerate(mask) if is_token]
    spans: list[tuple[int, int]] = []
    pending = [(0, len(indices))]
    while pending:
        start, end = pending.pop()
        if end - start > 1:
            middle = draw(st.integers(start + 1, end - 1))
            if draw(st.booleans()):
                spans.append((start, end))
            pending += [(start, middle), (middle, end)]
    return Tree.from_spans([words[i] for i in indices], spans), words, indices


@given(decoded_sentences())
def test_decoded_tree_is_recovered_by_deleting_restored_words(case: tuple[Tree, list[str], list[int]]) -> None:
    tree, words, indices = case
    restored = restore(tree, words, indices)
    assert restored.words == tuple(words)
    inside = set(indices)
    if indices:
        assert restored.keep([i in inside for i in range(len(words))]) == tree
    if words:
        assert restored.spans[0] == (0, len(words))
    for i in set(range(len(words))) - inside:  # the lowest phrase around a dropped word is that of its neighbors
        left = max((j for j in indices if j < i), default=None)
        right = min((j for j in indices if j > i), default=None)
        around = min((s for s in restored.spans if s[0] <= i < s[1]), key=lambda s: s[1] - s[0])
        if left is None or right is None:
            assert around == (0, len(words))
        else:
            covering = [s for s in restored.spans if s[0] <= left and right < s[1]]
            assert around == min(covering, key=lambda s: s[1] - s[0])


def test_restore_in_a_long_sentence() -> None:
    count = 5_000
    words = [word for i in range(count) for word in (f"w{i}", ",")]
    indices = list(range(0, 2 * count, 2))
    tree = Tree.from_spans([words[i] for i in indices], [(i, count) for i in range(count)])
    restored = restore(tree, words, indices)
    assert restored.spans[0] == (0, 2 * count)
    assert restored.spans[1] == (2, 2 * count - 1)


@pytest.mark.parametrize(
    ("heads", "indices", "count", "expected"),
    [
        ((), (), 0, ()),
        ((), (), 3, (ROOT, 0, 0)),
        ((ROOT,), (1,), 3, (1, ROOT, 1)),
        ((1, ROOT), (0, 1), 2, (1, ROOT)),
        # ( a , b c ; d ) where a and b are the dependents of c, and d of b
        ((2, 2, ROOT, 1), (1, 3, 4, 6), 8, (4, 4, 4, 4, ROOT, 4, 3, 4)),
        # a chain: each word depends on the next
        ((1, 2, ROOT), (0, 2, 4), 6, (2, 2, 4, 4, ROOT, 4)),
        # not a tree: a cycle, and two roots
        ((1, 0), (1, 3), 5, (1, 3, 1, 1, 3)),
        ((ROOT, ROOT), (0, 2), 4, (ROOT, 0, ROOT, 2)),
    ],
)
def test_restore_heads(heads: tuple[int, ...], indices: tuple[int, ...], count: int, expected: tuple[int, ...]) -> None:
    assert restore_heads(heads, indices, count) == expected


def test_restore_heads_refuses_another_length() -> None:
    with pytest.raises(ValueError, match="heads of 1 words for 2 kept ones"):
        restore_heads((ROOT,), (0, 1), 3)


@st.composite
def projective_heads(draw: st.DrawFn) -> tuple[tuple[int, ...], list[int], int]:
    """Projective heads of some words of a sentence, the indices of these words, and the length of the sentence."""
    count = draw(st.integers(1, 12))
    heads, pending = [ROOT] * count, [(0, count, ROOT)]
    while pending:
        start, end, above = pending.pop()
        if start < end:
            word = draw(st.integers(start, end - 1))
            heads[word] = above
            pending += [(start, word, word), (word + 1, end, word)]
    dropped = draw(st.lists(st.integers(0, 2), min_size=count + 1, max_size=count + 1))  # before each word; at the end
    indices = [i + sum(dropped[: i + 1]) for i in range(count)]
    return tuple(heads), indices, count + sum(dropped)


@given(projective_heads())
def test_restored_heads_cross_no_arc(case: tuple[tuple[int, ...], list[int], int]) -> None:
    heads, indices, count = case
    assert is_projective(heads)
    restored = restore_heads(heads, indices, count)
    assert is_tree(restored)
    assert is_projective(restored)
    assert delete(restored, [i in indices for i in range(count)]) == heads


def test_restore_heads_of_a_long_chain() -> None:
    count = 20_000
    heads = (*range(1, count), ROOT)
    restored = restore_heads(heads, range(0, 2 * count, 2), 2 * count)
    assert restored[:4] == (2, 2, 4, 4)
    assert is_tree(restored)
