"""UAS and UUAS against plain definitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.scoring import predicted_system
from treebank.base.errors import SynparseError
from treebank.core.dependency import delete
from treebank.core.sentence import ROOT, Location, Sentence, Treebank
from treebank.core.tree import Tree
from treebank.evaluate.align import HeadView
from treebank.evaluate.conventions import ATTACHMENT_CONVENTIONS, AttachmentConvention
from treebank.evaluate.systems import System, baseline, head_predictions
from treebank.evaluate.uas import count_directed, count_undirected, score_heads
from treebank.io.predictions import PredictedHeads

UDGN, NO_PUNCT, ALL = ATTACHMENT_CONVENTIONS.values()


# --- against plain definitions


@st.composite
def scored(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], list[bool]]:
    """Gold heads, predicted heads, which words count: several roots, none, cycles, words that head themselves."""
    n = draw(st.integers(1, 8))
    heads = st.tuples(*[st.integers(ROOT, n - 1)] * n)
    return draw(heads), draw(heads), draw(st.lists(st.booleans(), min_size=n, max_size=n))


def climb(heads: tuple[int, ...], mask: list[bool], i: int) -> str:
    """The name of the surviving word that heads word i, or its own name if there is none."""
    at = i
    for _ in heads:
        at = heads[at]
        if at == ROOT:
            return str(i)
        if mask[at]:
            return str(at)
    return str(i)  # round in circles among deleted words


@given(scored())
def test_udgn_is_its_definition(case: tuple[tuple[int, ...], tuple[int, ...], list[bool]]) -> None:
    gold, predicted, mask = case
    left = [i for i, counts in enumerate(mask) if counts]
    first = {str(i): climb(gold, mask, i) for i in left}
    second = {str(i): climb(predicted, mask, i) for i in left}
    sentence = Sentence(tuple(f"w{i}" for i in range(len(gold))), tuple("NN" if counts else "," for counts in mask))
    view = HeadView.of(sentence, gold, UDGN)
    reduced_heads = view.reduce(PredictedHeads("p", 1, sentence.words, predicted)).heads
    assert view.length == len(left)
    assert count_directed(reduced_heads, view) == sum(first[i] == second[i] for i in first)
    edges = [{frozenset(pair) for pair in graph.items()} for graph in (first, second)]
    assert count_undirected(reduced_heads, view, UDGN.pairs) == len(edges[0] & edges[1])


@given(scored())
def test_whole_trees_are_their_definition(case: tuple[tuple[int, ...], tuple[int, ...], list[bool]]) -> None:
    gold, predicted, mask = case
    n = len(gold)
    sentence = Sentence(tuple(f"w{i}" for i in range(n)), tuple("NN" if counts else "," for counts in mask))
    view = HeadView.of(sentence, gold, NO_PUNCT)
    reduced_heads = view.reduce(PredictedHeads("p", 1, sentence.words, predicted)).heads
    arcs = {(i, n if head in (i, ROOT) else head) for i, head in enumerate(gold)}  # n: the root of all
    given_arcs = [(i, n if head in (i, ROOT) else head) for i, head in enumerate(predicted) if mask[i]]
    assert view.length == sum(mask)
    assert count_directed(reduced_heads, view) == sum(arc in arcs for arc in given_arcs)
    either = sum((i, head) in arcs or (head, i) in arcs for i, head in given_arcs)
    assert count_undirected(reduced_heads, view, NO_PUNCT.pairs) == either


@given(scored())
def test_predictions_over_the_words_that_count(case: tuple[tuple[int, ...], tuple[int, ...], list[bool]]) -> None:
    gold, predicted, mask = case
    if not any(mask):
        return
    sentence = Sentence(tuple(f"w{i}" for i in range(len(gold))), tuple("NN" if counts else "," for counts in mask))
    words = tuple(word for word, counts in zip(sentence.words, mask, strict=True) if counts)
    reduced = delete(predicted, mask)
    udgn, whole = (HeadView.of(sentence, gold, convention) for convention in (UDGN, NO_PUNCT))
    assert udgn.reduce(PredictedHeads("p", 1, words, reduced)).heads == reduced
    spread = whole.reduce(PredictedHeads("p", 1, words, reduced)).heads
    assert delete(spread, mask) == reduced


def test_ten_thousand_words() -> None:
    n = 10_000
    words = tuple(map(str, range(n)))
    gold = Treebank("long", [Sentence(words, ("NN", ",") * (n // 2), heads=tuple(range(-1, n - 1)))])
    for report in score_heads(gold, [baseline("previous")], ATTACHMENT_CONVENTIONS.values()):
        assert report.value == 100


# --- what counts where


def treebank(*sentences: Sentence) -> Treebank:
    return Treebank("t", sentences)


def only(gold: Treebank, convention: AttachmentConvention, **settings: object) -> str:
    reports = score_heads(gold, [baseline("next")], [convention], **settings)  # type: ignore[arg-type]
    return f"{reports[0].signature} = {reports[0].totals.gold}"


def test_signature_says_what_was_counted() -> None:
    penn = treebank(Sentence(("It", "ended", "."), ("PRP", "VBD", "."), heads=(1, ROOT, 1)))
    assert only(penn, UDGN).startswith(
        "UAS|conv:udgn|avg:corpus|tokens:words+aux|others:deleted|pairs:set|len:1-|data:t|"
    )
    assert only(penn, UDGN, max_length=2).endswith("|len:1-2|data:t|sentences:1|v:0.1.0 = 2")
    assert "|tokens:all|others:kept|pairs:each|" in only(penn, ALL)
    assert only(penn, ALL).endswith(" = 3")


def test_other_tag_sets() -> None:
    words, heads = ("Es", "regnet", "!"), (1, ROOT, 1)
    tagged = treebank(Sentence(words, ("PPER", "VVFIN", "$."), heads=heads, universal_tags=("PRON", "VERB", "PUNCT")))
    bare = treebank(Sentence(words, heads=heads))
    for convention in (UDGN, NO_PUNCT):
        assert "|tokens:upos|" in only(tagged, convention)
        assert "|tokens:letters|" in only(bare, convention)
        assert only(tagged, convention).endswith(" = 2")
        assert only(bare, convention).endswith(" = 2")
    assert "|tokens:all|" in only(bare, ALL)


def test_tag_sets_that_share_names_with_the_penn_treebank() -> None:
    words, tags = ("Sie", "sah", "fern", "und", "las", "."), ("PRP", "VVFIN", "RB", "CC", "VVFIN", ".")
    universal = ("PRON", "VERB", "ADV", "CCONJ", "VERB", "PUNCT")
    gold = treebank(Sentence(words, tags, heads=(1, ROOT, 1, 4, 1, 1), universal_tags=universal))
    assert "|tokens:upos|" in only(gold, UDGN)
    assert only(gold, UDGN).endswith(" = 5")


def test_a_sentence_without_tags_among_others() -> None:
    tagged = Sentence(("a", "b"), ("NN", "NN"), heads=(ROOT, 0))
    bare = Sentence(("c",), heads=(ROOT,), location=Location("g.conllu", 7))
    with pytest.raises(SynparseError, match=r"g\.conllu:7: this sentence has no tags"):
        only(treebank(*[tagged] * 9, bare), UDGN)


def test_heads_from_trees_are_named() -> None:
    tree = Tree.from_text("(S (NP (DT the) (NN man)) (VP (TO to) (VP (VB go))))")
    gold = treebank(Sentence(tree.words, tree.tags, tree))
    assert "|heads:collins|" in only(gold, UDGN)
    assert "|heads:yamada-matsumoto|" in only(gold, UDGN, rules="yamada-matsumoto")
    annotated = treebank(Sentence(tree.words, tree.tags, tree, heads=(1, 2, ROOT, 2)))
    assert "|heads:" not in only(annotated, UDGN)
    assert "|heads:stanford|" in only(annotated, UDGN, rules="stanford")


# --- errors


def gold_of_two() -> Treebank:
    return treebank(
        Sentence(("a", "(", "b"), ("NN", "-LRB-", "NN"), heads=(2, 2, ROOT), location=Location("g.dp", 1)),
        Sentence(("c", "d"), ("NN", "NN"), heads=(ROOT, 0), location=Location("g.dp", 5)),
    )


def given_heads(*sentences: tuple[str, tuple[int, ...]]) -> System:
    heads = [
        PredictedHeads("p.conllu", 10 * i, tuple(words.split()), heads) for i, (words, heads) in enumerate(sentences, 1)
    ]
    return predicted_system(heads, "heads", "p.conllu")


@pytest.mark.parametrize(
    ("predicted", "message"),
    [
        (
            given_heads(("a ( b", (2, 2, -1)), ("c d e", (-1, 0, 0))),
            "p.conllu:20: the words differ from g.dp:5: word 3 is 'e', in gold the end after 2 words",
        ),
        (
            given_heads(("a ( b", (2, 2, -1))),
            "p.conllu: 1 sentence with heads for the 2 sentences of g.dp; the one for g.dp:5 is missing",
        ),
        (given_heads(("a ( b", (2, 3, -1)), ("c d", (-1, 0))), "p.conllu:10: a head is not a word of the sentence"),
    ],
)
def test_other_words_are_an_error(predicted: System, message: str) -> None:
    with pytest.raises(SynparseError) as caught:
        score_heads(gold_of_two(), [predicted], [ALL])
    assert str(caught.value).startswith(message)


def test_escaped_brackets_and_sentences_that_are_not_scored() -> None:
    escaped = given_heads(("a -LRB- b", (2, 2, -1)), ("c d", (-1, 0)))
    only_words = given_heads(("a b", (1, -1)), ("c d", (-1, 0)))
    short = given_heads(("c d", (-1, 0)))
    for predicted, convention, bound in ((escaped, ALL, None), (only_words, UDGN, None), (short, ALL, 2)):
        for report in score_heads(gold_of_two(), [predicted], [convention], max_length=bound):
            assert report.value == 100
            assert report.indices == ([1] if bound else [0, 1])
    parsed = head_predictions("m", lambda sentences: [(("a", "(", "b"), (2, 2, ROOT)), (("c", "d"), (1, ROOT))])
    model = predicted_system(parsed([]), "heads", "m")
    assert [f"{report.value:.1f}" for report in score_heads(gold_of_two(), [model], [UDGN])] == ["50.0", "75.0"]


def test_only_sentences_that_a_convention_scores_are_parsed() -> None:
    read = list[tuple[str, ...]]()

    def predict(sentences: Sequence[Sentence]) -> list[tuple[tuple[str, ...], tuple[int, ...]]]:
        read.extend(sentence.words for sentence in sentences)
        return [(sentence.words, (1, ROOT)) for sentence in sentences]

    system = replace(predicted_system([], "heads", "m"), predict=head_predictions("m", predict))
    uas, _ = score_heads(gold_of_two(), [system], [ALL], max_length=2)
    assert (read, uas.indices) == ([("c", "d")], [1])


def test_no_heads_and_nothing_left() -> None:
    gold = treebank(Sentence(("a",), ("NN",), location=Location("g.txt", 3)))
    with pytest.raises(SynparseError, match="this sentence has neither heads nor a tree"):
        score_heads(gold, [baseline("next")], [UDGN])
    with pytest.raises(SynparseError, match="t: no sentence is left to score"):
        score_heads(gold_of_two(), [baseline("next")], [UDGN], max_length=1)
