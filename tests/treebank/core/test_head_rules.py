"""Heads from trees by head rules: trees whatever the input, and as other converters find them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.dependency_trees import is_projective
from tests.support.reference import SHARED
from tests.support.scoring import dependency_sample
from treebank.core.dependency import is_tree
from treebank.core.head_rules import HEAD_RULES, heads_from_tree
from treebank.core.relations import relations_from_tree
from treebank.core.sentence import ROOT
from treebank.core.tree import TRACE, Tree
from treebank.corpora.catalog import load_whole
from treebank.io.bracketed import read_bracketed
from treebank.io.conllu import read_conllu

CRAFT = SHARED / "data" / "craft"
PUNCTUATION = {".", ",", ":", "``", "''", "-LRB-", "-RRB-"}

TAGS = "NN NNS NNP DT JJ VB VBD VBN TO MD IN CC CD $ POS PRP WP RB , . : `` -LRB- -NONE- X"
PHRASES = "S SBAR NP NP-SBJ-1 VP PP ADJP ADVP QP UCP NML PRN CONJP WHNP SQ FRAG PRT|ADVP IP-MAT"
tags, phrases = (st.sampled_from(names.split()) for names in (TAGS, PHRASES))
texts = st.recursive(
    tags.map(lambda tag: f"({tag} w)"),
    lambda parts: st.tuples(phrases, st.lists(parts, min_size=1, max_size=6)).map(
        lambda node: f"({node[0]} {' '.join(node[1])})"
    ),
    max_leaves=30,
)


@given(texts, st.sampled_from(list(HEAD_RULES)))
def test_any_tree_gives_a_projective_tree_of_its_words(text: str, rules: str) -> None:
    tree = Tree.from_text(text)
    heads = heads_from_tree(tree, rules)
    assert len(heads) == sum(tag != TRACE for tag in tree.tags)
    assert is_projective(heads)
    assert is_tree(heads) or not heads


def test_every_line_of_a_table_finds_a_child() -> None:
    for rules in HEAD_RULES.values():
        assert "*" in rules.table
        for phrase, searches in rules.table.items():
            assert searches[-1][1] == {"*"}, (rules.name, phrase)


def named(text: str, rules: str) -> dict[str, str]:
    tree = Tree.from_text(text).without_traces()
    heads = heads_from_tree(tree, rules)
    return {word: "ROOT" if head == ROOT else tree.words[head] for word, head in zip(tree.words, heads, strict=True)}


WILL_SELL = """(S (NP-SBJ-1 (PRP They)) (VP (MD will) (VP (VB try) (S (NP-SBJ (-NONE- *-1)) (VP (TO to) (VP (VB sell)
    (NP (NP (NNP Kim) (POS 's)) (NN car)) (PP (IN on) (NP (NNP Monday)))))))) (. .))"""


def test_auxiliaries_to_and_possessives() -> None:
    collins, yamada, stanford = (named(WILL_SELL, rules) for rules in HEAD_RULES)
    assert collins["will"] == yamada["will"] == stanford["try"] == "ROOT"
    assert collins["They"] == yamada["They"] == "will"
    assert stanford["They"] == stanford["will"] == stanford["."] == "try"
    assert (collins["to"], collins["sell"]) == ("try", "to")
    assert (yamada["to"], yamada["sell"]) == ("sell", "try")
    assert (stanford["to"], stanford["sell"]) == ("sell", "try")
    assert collins["Kim"] == yamada["Kim"] == "'s"
    assert (stanford["Kim"], stanford["'s"]) == ("car", "Kim")
    for heads in (collins, yamada, stanford):
        assert (heads["on"], heads["Monday"]) == ("sell", "on")


def test_coordination() -> None:
    text = "(NP (JJ red) (NNS apples) (, ,) (NNS pears) (CC and) (NNS plums))"
    collins, yamada, stanford = (named(text, rules) for rules in HEAD_RULES)
    assert collins == dict.fromkeys(collins, "pears") | {"pears": "ROOT"}
    assert yamada == dict.fromkeys(yamada, "plums") | {"plums": "ROOT"}
    assert stanford == {
        "red": "apples",
        "apples": "ROOT",
        ",": "apples",
        "pears": "apples",
        "and": "pears",
        "plums": "pears",
    }


def test_clauses() -> None:
    text = """(S (SBAR (IN Because) (S (NP (PRP it)) (VP (VBZ is) (ADJP (JJ late))))) (NP (PRP we))
        (VP (VBP go) (NP (NN home))))"""
    assert named(text, "collins")["is"] == "Because"
    assert named(text, "stanford")["Because"] == "is"
    assert named(text, "stanford")["late"] == "is"


def test_trees_without_labels_or_words() -> None:
    assert heads_from_tree(Tree((), (), (), ())) == ()
    assert heads_from_tree(Tree(("a",), ("",), (), ())) == (ROOT,)
    assert heads_from_tree(Tree.from_text("(X (X (W a) (W b)) (W c))")) == (ROOT, 0, 0)


@pytest.mark.parametrize("tag", [",", "$,", "PUNCT", "KOMMA", "PU-X"])
def test_punctuation_of_any_tag_set_is_not_a_head(tag: str) -> None:
    text = f"(FOO ({tag} ,) (BAR (DET la) (NOUN maison) ({tag} ,)) ({tag} .))"
    assert named(text, "collins") == {",": "la", "la": "ROOT", "maison": "la", ".": "la"}
    assert named(text, "yamada-matsumoto") == {",": "maison", "la": "maison", "maison": "ROOT", ".": "maison"}
    assert relations_from_tree(Tree.from_text(f"(VP (VERB va) ({tag} .))")) == ("root", "punct")


def test_symbols_with_penn_tags_are_heads() -> None:
    assert named("(NP (CD 5) (NN %))", "collins") == {"5": "%", "%": "ROOT"}


# --- agreement with converted treebanks, as in docs/results/dependencies.md

Pairs = Iterable[tuple[Tree, tuple[int, ...]]]


def agreement(pairs: Pairs, rules: str) -> tuple[str, str]:
    """Percent of words with the same head: all words, all but punctuation."""
    same = [[0, 0], [0, 0]]
    for tree, converted in pairs:
        heads = heads_from_tree(tree, rules)
        for tag, head, other in zip(tree.without_traces().tags, heads, converted, strict=True):
            for counts in same[: 1 + (tag not in PUNCTUATION)]:
                counts[0] += head == other
                counts[1] += 1
    (hits, words), (hits_of_words, words_only) = same
    return f"{100 * hits / words:.2f}", f"{100 * hits_of_words / words_only:.2f}"


def test_agreement_with_nltks_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    converted = dependency_sample().sentences
    monkeypatch.setenv("NLTK_DATA", str(SHARED / "data" / "nltk_data"))
    trees = [sentence.tree for sentence in load_whole("wsj").sentences if sentence.tree]
    assert len(trees) == len(converted) == 3914
    pairs = list(zip(trees, (sentence.heads for sentence in converted), strict=True))
    assert agreement(pairs, "yamada-matsumoto") == ("100.00", "100.00")
    assert agreement(pairs, "collins") == ("84.86", "86.27")
    assert agreement(pairs, "stanford") == ("70.12", "70.89")


def craft(part: str, suffix: str = "") -> Pairs:
    path = CRAFT / "dep" / f"craft-{part}.conllu{suffix}"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    converted = [sentence.heads for sentence in read_conllu(str(path))]
    trees = islice(read_bracketed(str(CRAFT / "const" / f"craft-{part}.ptb{suffix}")), len(converted))
    return ((sentence.tree, heads) for sentence, heads in zip(trees, converted, strict=True) if sentence.tree)


@pytest.mark.parametrize(("part", "suffix", "percent"), [("train", ".gz", "99.5"), ("dev", "", "99.5")])
def test_stanford_rules_agree_with_clearnlp(part: str, suffix: str, percent: str) -> None:
    assert agreement(craft(part, suffix), "stanford")[1].startswith(percent)


def test_relations_agree_with_clearnlp() -> None:
    """All words except punctuation."""
    path = CRAFT / "dep" / "craft-dev.conllu"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    converted = [sentence.relations for sentence in read_conllu(str(path))]
    trees = islice(read_bracketed(str(CRAFT / "const" / "craft-dev.ptb")), len(converted))
    derived = [relations_from_tree(sentence.tree) for sentence in trees if sentence.tree]
    pairs = [pair for both in zip(converted, derived, strict=True) for pair in zip(*both, strict=True)]
    pairs = [pair for pair in pairs if pair[0] != "punct"]
    counts, right = Counter(name for name, _ in pairs), Counter(name for name, other in pairs if name == other)
    assert right.total() > 0.955 * len(pairs)
    for name in ("prep", "pobj", "det", "compound", "nsubj", "amod"):  # thesis of Shen (2022), table 8
        assert right[name] > 0.97 * counts[name]


def test_relations_of_clauses() -> None:
    trees = {
        "(S (NP-SBJ (PRP It)) (VP (VBD was) (VP (VBN seen) (PP (IN by) (NP-LGS (PRP us))))))": (
            *("nsubjpass", "auxpass", "root", "agent", "pobj"),
        ),
        "(S (NP-SBJ (NNS men)) (VP (VBP want) (S (VP (TO to) (VP (VB eat) (CC and) (VB drink))))) (. .))": (
            *("nsubj", "root", "aux", "xcomp", "cc", "conj", "punct"),
        ),
        "(S (NP-SBJ (NP (NN John) (POS 's)) (NN dog)) (VP (VBZ is) (RB n't) (ADJP-PRD (JJ old))))": (
            *("poss", "case", "nsubj", "root", "neg", "acomp"),
        ),
        "(S (NP-SBJ (NP (NN A)) (, ,) (NP (DT the) (NN b))) (VP (VBD said) (SBAR (IN that) (S (NP-SBJ (EX there)) "
        "(VP (VBD were) (NP-PRD (CD two)))))))": (
            *("nsubj", "punct", "det", "appos", "root", "mark", "expl", "ccomp", "attr"),
        ),
        "": (),
    }
    for text, expected in trees.items():
        assert relations_from_tree(Tree.from_text(text) if text else Tree((), (), (), ())) == expected


def test_ten_thousand_words_by_rules() -> None:
    n = 10_000
    words = ["w"] * n
    spans = {
        "right": [(i, n) for i in range(n)],
        "left": [(0, i) for i in range(2, n + 1)],
        "flat": [(0, n)],
    }
    for name, shape in spans.items():
        for tag in ("NN", "CC", ","):
            tree = Tree.from_spans(words, shape, label="NP", tag=tag)
            for rules in HEAD_RULES:
                heads = heads_from_tree(tree, rules)
                assert is_tree(heads), (name, tag, rules)
                assert is_projective(heads)
    list_of_nouns = Tree(tuple(words), ("NN", "CC") * (n // 2), tree.spans, tree.labels)
    assert is_tree(heads_from_tree(list_of_nouns, "stanford"))
