"""Patterns for heads: attributes, relations, and errors that name the position."""

from __future__ import annotations

import pytest

from treebank.base.errors import TreebankError
from treebank.core.sentence import Sentence
from treebank.core.tree import Tree
from treebank.search.pattern import PatternError
from treebank.search.search import Query

WORDS = ("Old", "dogs", "often", "chase", "the", "small", "cats")
SENTENCE = Sentence(
    WORDS,
    ("JJ", "NNS", "RB", "VBP", "DT", "JJ", "NNS"),
    heads=(1, 3, 3, -1, 6, 6, 3),
    universal_tags=("ADJ", "NOUN", "ADV", "VERB", "DET", "ADJ", "NOUN"),
    relations=("amod", "nsubj", "advmod", "root", "det", "amod", "obj:x"),
)
PLACE = Sentence(("New\u00a0York", "sleeps"), heads=(1, -1))
CYCLE = Sentence(("a", "b"), heads=(1, 0))


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ("{}", WORDS),
        ("{form=dogs}", ["dogs"]),
        ("{form=i@old}", ["Old"]),
        ("{form=/s$/}", ["dogs", "cats"]),
        ('{form="the"|often}', ["often", "the"]),
        ("{tag=JJ; form!=Old}", ["small"]),
        ("{upos=NOUN}", ["dogs", "cats"]),
        ("{relation=root}", ["chase"]),
        ("{direction=root}", ["chase"]),
        ("{direction=left}", ["cats"]),
        ("{direction=right; distance=1}", ["Old", "often", "small"]),
        ("{distance>=2}", ["dogs", "the", "cats"]),
        ("{distance!=1}", ["dogs", "the", "cats"]),
        ("{} > {relation=det}", ["cats"]),
        ("{} >det {}", ["cats"]),
        ("{} >/^obj/ ({} > {form=small})", ["chase"]),
        ("{} <nsubj {tag=/^V/}", ["dogs"]),
        ("{} <obj {}", []),
        ("{} >> {form=the}", ["chase", "cats"]),
        ("{} << {form=cats}", ["the", "small"]),
        ("{} . {form=cats}", ["small"]),
        ("{} , {form=Old}", ["dogs"]),
        ("{} .. {form=often}", ["Old", "dogs"]),
        ("{} ,, {form=small}", ["cats"]),
        ("{} $ {form=often}", ["dogs", "cats"]),
        ("{} $.. {form=often}", ["dogs"]),
        ("{} $,, {form=often}", ["cats"]),
        ("{upos=NOUN} !> {relation=det}", ["dogs"]),
        ("{upos=NOUN} [> {form=Old} | > {form=small}] & < {}", ["dogs", "cats"]),
        ("{upos=VERB} >nsubj {}=s : =s > {tag=JJ}", ["chase"]),
        ("@ ADJ {upos=ADJ}; {} > @ADJ", ["dogs", "cats"]),
    ],
)
def test_matching_words(pattern: str, matches: list[str]) -> None:
    hits = Query(pattern).find(SENTENCE).hits
    assert [WORDS[hit.start] for hit in hits] == list(matches)


def test_cycle_is_passed_once() -> None:
    assert [hit.start for hit in Query("{} << {form=b}").find(CYCLE).hits] == [0]
    assert [hit.start for hit in Query("{} >> {form=b}").find(CYCLE).hits] == [0]


@pytest.mark.parametrize(
    ("pattern", "position", "problem"),
    [
        ("{tag=NN", 7, "closing }"),
        ("{tags=NN}", 1, "expected an attribute: form, tag, upos, relation, distance, direction"),
        ("{tag NN}", 5, "expected = or !="),
        ("{tag>NN}", 4, "tag is compared with = or !="),
        ("{distance=x}", 10, "a number of words"),
        ("{direction=up}", 11, "expected left, right, root"),
        ("{} > NN", 5, "expected a word in braces"),
        ("{} < (/x/)", 6, "expected a word in braces"),
    ],
)
def test_error_names_the_position(pattern: str, position: int, problem: str) -> None:
    with pytest.raises(PatternError) as error:
        Query(pattern)
    assert (error.value.position, problem in error.value.problem) == (position, True), error.value


def test_missing_annotation_is_an_error() -> None:
    tree = Tree.from_text("(S (NN cat))")
    with pytest.raises(TreebankError, match="no heads"):
        Query("{}").find(Sentence(tree.words, (), tree))
    with pytest.raises(TreebankError, match="no tree"):
        Query("NP").find(SENTENCE)


@pytest.mark.parametrize("value", ['"New York"', "i@/^new york$/", "/New\u00a0Y/"])
def test_words_with_a_space(value: str) -> None:
    assert [hit.start for hit in Query(f"{{form={value}}}").find(PLACE).hits] == [0]
