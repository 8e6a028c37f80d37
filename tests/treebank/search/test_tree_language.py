"""Patterns for trees have the matches of nltk.tgrep, and errors name the position."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.files import write
from tests.support.nested_trees import ROOTS, Node, flat
from tests.support.plain_search import matches, parts_of, random_pattern, text_of
from tests.support.tgrep import MANUAL, our_nodes
from treebank.base.errors import SynparseError
from treebank.core.sentence import Sentence
from treebank.core.tree import Tree
from treebank.core.word_check import plain
from treebank.io.read import read_sentences
from treebank.search.pattern import PatternError
from treebank.search.search import Query, Search
from treebank.search.tree_language import IndexedTree

ANSWERS = Path(__file__).with_name("tgrep-answers.jsonl")
TREE = Tree.from_text("(S (NP (DT the) (NN cat)) (VP (VBD saw) (NP (DT the) (NN dog))))")


def labels(pattern: str, tree: Tree = TREE) -> list[tuple[str, int, int]]:
    """Label and words of each match."""
    return [(hit.label, hit.start, hit.end) for hit in Query(pattern).find(Sentence((), (), tree)).hits]


def test_two_hundred_patterns_match_as_in_nltk() -> None:
    first, *answers = map(json.loads, ANSWERS.read_text(encoding="utf-8").splitlines())
    trees = list(map(Tree.from_text, first))
    different = [item["pattern"] for item in answers if our_nodes(item["pattern"], trees) != item["nodes"]]
    assert different == []
    assert len(answers) == 200
    assert {item["pattern"] for item in answers} >= set(MANUAL)
    assert sum(any(item["nodes"]) for item in answers) > 130


def test_words_have_parents_and_equal_phrases_are_different_nodes() -> None:
    assert labels("cat > NN") == [("cat", 1, 2)]
    assert labels("the >>, S") == [("the", 0, 1)]
    assert labels("* !> *") == [("S", 0, 5)]


def test_names_are_bound_to_the_first_match() -> None:
    assert labels("S < NP=n : =n < DT") == [("S", 0, 5)]
    assert labels("S < NP=n : =n << dog") == []


def test_sister_relations_of_tregex() -> None:
    assert labels("NN $- DT") == labels("NN $, DT") == [("NN", 1, 2), ("NN", 4, 5)]
    assert labels("NP $++ VP") == labels("NP $.. VP") == [("NP", 0, 2)]


def test_empty_elements_are_not_counted_as_words() -> None:
    tree = Tree.from_text("(S (NP (-NONE- *)) (VP (TO to) (VB go)))")
    assert labels("VP", tree) == [("VP", 0, 2)]
    assert labels("NP", tree) == [("NP", 0, 0)]


def test_regular_expression_knows_unicode_properties() -> None:
    assert labels(r"/^\p{Lu}{2}$/ < cat") == [("NN", 1, 2)]


@pytest.mark.parametrize(
    ("pattern", "position", "problem"),
    [
        ("NP <", 4, "expected a node"),
        ("NP < (DT", 8, "closing )"),
        ("NP [< DT", 8, "closing ]"),
        ("NP <! DT", 4, "expected a node"),
        ("NP !DT", 4, "expected a relation"),
        ("NP < DT )", 8, "or the end of the pattern"),
        ("NP < /a(/", 8, "invalid regular expression"),
        ('NP < "a', 5, 'closing "'),
        ("NP $+++ DT", 3, "unknown relation $+++"),
        ("NP <0 DT", 3, "unknown relation <0"),
        ("NP < =n", 5, "no node before has the name 'n'"),
        ("@X < NP", 0, "macro @X is not defined"),
        ("", 0, "expected a node"),
        ("(" * 51 + "A" + ")" * 51, 51, "more than 50 brackets"),
        ("NP < /(?R)?/", 6, "cannot contain itself"),
        ("/a(?1)?/", 1, "cannot contain itself"),
        (f"/{'(' * 400}a{')' * 400}/", 1, "nested too deeply"),
        (f"NP <{'1' * 5000} A", 3, "unknown relation"),
        (f"N({'1' * 5000})", 1, "expected a relation"),
        ("A < B " * 2000, 40, "give at most 10,000"),
    ],
)
def test_error_names_the_position(pattern: str, position: int, problem: str) -> None:
    with pytest.raises(PatternError) as error:
        Query(pattern)
    assert (error.value.position, problem in error.value.problem) == (position, True), error.value


def test_long_patterns_and_other_forms_of_brackets() -> None:
    tree = Tree.from_text("(S (NP (-LRB- -LRB-) (NN 1\\/2) (-RRB- -RRB-)) (VP (VB go)))")
    sentence = Sentence(()).with_tree(tree)
    for pattern in (
        "NP" + " < NN" * 990,
        "NP=n" + " : =n < NN" * 990,
        'NP < (-LRB- < "(")',
        "NP < (* < -LRB-)",
        "/^1.2$/",
    ):
        assert Query(pattern).find(sentence).phrases[0][:2] in [("(", "1/2"), ("1/2",)], pattern
    assert len(Query('"("').find(sentence).hits) == 1


def test_words_are_found_without_case_however_they_are_written() -> None:
    tree = Tree.from_text("(S (-LRB- -LRB-) (NN cafe\u0301) (NN Caf\u00e9))")
    for pattern, count in (('i@"-LRB-"', 2), ('i@"("', 1), ('i@"CAF\u00c9"', 2)):
        assert len(labels(pattern, tree)) == count, pattern


def test_empty_sentences_are_not_counted(tmp_path: Path) -> None:
    path = write(tmp_path, '{"words": ["a"], "spans": [[0, 1]]}\n\n{"words": ["b"], "spans": [[0, 1]]}\n', "a.jsonl")
    for invert, expected in ((False, "a"), (True, "b")):
        (match,) = Search('"a"', read_sentences([path]), invert=invert, context=1)
        assert match.words == [expected]


def test_alternatives_of_words_are_found_however_a_file_writes_them(tmp_path: Path) -> None:
    path = write(tmp_path, "(S (CD 1\\/2) (NN a))\n(S (-LRB- -LRB-) (NN b))\n(S (CD 3\\/4) (NN c))\n")
    for pattern, count in (('"1/2"|"3/4"', 2), ('"("|"["', 1), ('"1/2"|"c"', 2), ('CD < ("1/2"|"3/4")', 2)):
        assert len(list(Search(pattern, read_sentences([path])))) == count, pattern


def test_regular_expressions_have_a_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treebank.search.pattern.MAX_REGEX_SECONDS", 0.01)
    sentence = Sentence(()).with_tree(Tree.from_text(f"(S (NN {'a' * 40}b))"))
    with pytest.raises(SynparseError, match=r"more than 0.01 s for 'aaa.*; repeat no part that contains a repetition"):
        Query("/(a|aa)+$/").find(sentence)


def test_caret_is_below_the_position_in_wide_script() -> None:
    with pytest.raises(PatternError) as error:
        Query("名詞 <\n日本 <")
    assert error.value.picture().splitlines()[1:] == ["  日本 <", "        ^"]


@given(ROOTS, st.integers(0, 1 << 30))
def test_random_patterns_agree_with_a_plain_search(root: Node, seed: int) -> None:
    parts = parts_of(root)
    for part in parts:
        part.label = part.label.replace("-LRB-", "(") if not part.children else part.label
    tree = flat(root)
    labels = ["*", *sorted({part.label for part in parts if part.label})]
    random = Random(seed)
    for _ in range(3):
        pattern = random_pattern(random, labels)
        nodes = Query(text_of(pattern)).pattern.nodes(IndexedTree(tree, plain(tree.words)))
        assert nodes == [i for i, part in enumerate(parts) if matches(pattern, part, parts)], text_of(pattern)
