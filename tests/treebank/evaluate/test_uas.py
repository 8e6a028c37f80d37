"""UAS and UUAS against plain definitions, and the recall of gold arcs by relation and by distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log2

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.scoring import predicted_system
from treebank.base.errors import SynparseError
from treebank.core.dependency import delete
from treebank.core.sentence import ROOT, Location, Sentence, Treebank
from treebank.core.tree import Tree
from treebank.evaluate.align import HeadView, ReducedHeads
from treebank.evaluate.conventions import ATTACHMENT_CONVENTIONS, AttachmentConvention
from treebank.evaluate.systems import System, baseline, head_predictions
from treebank.evaluate.uas import (
    GoldArc,
    count_directed,
    count_undirected,
    gold_arcs,
    recall_by_distance,
    recall_by_relation,
    relation_scores,
    score_heads,
)
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


def test_trees_without_labels_give_no_heads() -> None:
    tree = Tree.from_spans(["The", "cat", "sat"], [(0, 2)])
    with pytest.raises(SynparseError, match="no head rule fits and heads are arbitrary; give trees with labels"):
        only(treebank(Sentence(tree.words, (), tree)), UDGN)


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


# --- arcs by relation and distance

BANK = Sentence(  # "girl" depends on the comma, which is deleted, and so goes to "saw"
    ("she", "saw", ",", "a", "girl", "yesterday"),
    tags=("PRP", "VBD", ",", "DT", "NN", "NN"),
    heads=(1, ROOT, 1, 4, 2, 1),
    relations=("nsubj:pass", "root", "punct", "det", "obj", "obl:tmod"),
)


def arcs(*heads: int) -> list[GoldArc]:
    """Gold arcs of ``BANK``, compared with ``heads`` of the five words that count."""
    return gold_arcs(ReducedHeads(heads), HeadView.of(BANK, BANK.heads, UDGN))


def test_deleted_words_do_not_count() -> None:
    results = arcs(1, ROOT, 3, 2, 1)  # she saw a girl yesterday: "a" and "girl" choose each other
    assert results == [
        ("nsubj", "", "+1", True, True),
        ("root", "", "root", True, True),
        ("det", "", "+1", True, True),
        ("obj", "", "-2", False, False),
        ("obl", "", "-3", True, True),
    ]


def test_direction() -> None:
    results = arcs(0, 0, ROOT, 2, 3)  # each word on the one before it, "she" on itself
    assert recall_by_relation(results, "UAS") == {
        "det": (0, 1),
        "nsubj": (0, 1),
        "obj": (0, 1),
        "obl": (0, 1),
        "root": (0, 1),
    }
    assert recall_by_distance(results, "UUAS") == {"root": (0, 1), "-3": (0, 1), "-2": (0, 1), "+1": (2, 2)}
    assert recall_by_distance(results, "UAS")["+1"] == (0, 2)


@pytest.mark.parametrize("is_whole", [True, False])
def test_relations_of_correct_arcs_are_compared_as_partitions(is_whole: bool) -> None:
    words = ("A", "root", "punct", "B:x", "A", "A") if is_whole else ("A", "root", "B:x", "A", "A")
    tokens = BANK.words if is_whole else tuple(word for word in BANK.words if word != ",")
    heads = (1, ROOT, 1, 4, 5, 1) if is_whole else (1, ROOT, 3, 4, 1)  # "girl" depends on "yesterday"
    system = predicted_system([PredictedHeads("p", 1, tokens, heads, words)], "heads", "p.conllu")
    uas, uuas = score_heads(Treebank("g", [BANK]), [system], [UDGN], details=True)
    assert (uas.value, uuas.relations) == (80, None)
    assert uas.relations is not None
    # nsubj and obl are A, det is B; the arc of obj is wrong, and the root is left out
    assert uas.relations.matched == 3
    assert uas.relations.homogeneity == pytest.approx(100 * (1 - 2 / 3 / log2(3)))
    assert uas.relations.completeness == pytest.approx(100)
    assert uas.relations.meanings == {"A": "nsubj", "B": "det"}
    assert uas.relations.recall == {"det": (1, 1), "nsubj": (1, 1), "obj": (0, 1), "obl": (0, 1)}
    assert uas.to_json()["relations"]["matched"] == 3


@pytest.mark.parametrize("root", [1, 2])  # the gold root, or a word that is attached in gold
def test_no_relations_or_one_have_no_scores(root: int) -> None:
    heads = tuple(ROOT if i == root else head for i, head in enumerate((1, 2, 3, 1, 1)))
    for names in ((), tuple("root" if i == root else "dep" for i in range(5))):
        reduced = ReducedHeads(heads, names)
        assert relation_scores(gold_arcs(reduced, HeadView.of(BANK, BANK.heads, UDGN))) is None


def test_far_away_is_one_group() -> None:
    heads = (ROOT, *[0] * 8)
    view = HeadView.of(Sentence(tuple("abcdefghi"), heads=heads), heads, ALL)
    assert recall_by_distance(gold_arcs(ReducedHeads((ROOT, *range(8))), view), "UAS") == {
        "root": (1, 1),
        "-5 or more": (0, 4),
        "-4": (0, 1),
        "-3": (0, 1),
        "-2": (0, 1),
        "-1": (1, 1),
    }
    assert recall_by_relation(gold_arcs(ReducedHeads(heads), view), "UAS") is None


@settings(deadline=None)  # the first one loads numpy
@given(st.integers(1, 8).flatmap(lambda n: st.tuples(*[st.lists(st.integers(-1, n - 1), min_size=n, max_size=n)] * 2)))
def test_sums_are_the_scores(heads: tuple[list[int], list[int]]) -> None:
    """The parts of UAS make the whole, and those of UUAS where arcs are a set and gold has no cycle."""
    predicted, drawn = heads
    gold_heads = tuple(min(head, i - 1) for i, head in enumerate(drawn))  # heads come before their words
    words = tuple(f"w{i}" for i in range(len(drawn)))
    gold = Treebank(
        "gold", [Sentence(words, tags=("NN",) * len(words), heads=gold_heads, relations=("dep",) * len(words))]
    )
    system = predicted_system(head_predictions("system", lambda _: [(words, predicted)])([]), "heads")
    for report in score_heads(gold, [system], [UDGN], details=True):
        ((right, total),) = report.by_relation.values()  # type: ignore[union-attr]
        by_distance = list(zip(*report.by_distance.values(), strict=True))  # type: ignore[union-attr]
        assert (right, total) == (sum(by_distance[0]), sum(by_distance[1])) == (report.totals.matched, len(words))
        assert report.by_length == {"1-10": (1, pytest.approx(report.value))}
