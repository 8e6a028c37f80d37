"""Recall of gold arcs by relation and by distance."""

from __future__ import annotations

from math import log2

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.scoring import predicted_system
from treebank.core.sentence import ROOT, Sentence, Treebank
from treebank.evaluate.align import HeadView, ReducedHeads
from treebank.evaluate.conventions import ATTACHMENT_CONVENTIONS
from treebank.evaluate.systems import head_predictions
from treebank.evaluate.uas import (
    GoldArc,
    gold_arcs,
    recall_by_distance,
    recall_by_relation,
    relation_scores,
    score_heads,
)
from treebank.io.predictions import PredictedHeads

UDGN, _, ALL = ATTACHMENT_CONVENTIONS.values()
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
