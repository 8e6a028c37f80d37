"""Scores against plain recursion over nested lists, and against the published figures."""

from __future__ import annotations

import math
import random
import tracemalloc
from collections import Counter
from collections.abc import Collection
from dataclasses import fields, replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.scoring import (
    SAFE,
    Node,
    predicted_system,
    predictions_of,
    treebank_of,
    without_intervals,
)
from treebank.base.errors import SynparseError
from treebank.core.sentence import WORD_TAGS, Sentence, Treebank
from treebank.core.tree import Tree
from treebank.corpora.catalog import load_whole
from treebank.evaluate.conventions import CONVENTIONS, ScoringConvention, find_convention
from treebank.evaluate.score import SentenceCounts
from treebank.evaluate.systems import System, baseline, given_trees
from treebank.evaluate.uf1 import heights, score_trees

leaves = st.sampled_from([("NN", "n"), ("VB", "v"), (".", "."), ("-NONE-", "*"), ("$", "$")])
nodes = st.recursive(
    leaves,
    lambda parts: st.tuples(st.sampled_from(["S", "NP-SBJ", "VP=2", "X"]), st.lists(parts, min_size=1, max_size=4)).map(
        lambda pair: [pair[0], *pair[1]]
    ),
    max_leaves=14,
)
roots = nodes.map(lambda node: node if isinstance(node, list) else ["S", node])


def leaves_of(node: Node) -> list[tuple[str, str]]:
    return [node] if isinstance(node, tuple) else [leaf for child in node[1:] for leaf in leaves_of(child)]


def reduced(node: Node, tags: Collection[str] = WORD_TAGS) -> Node | None:
    """The node without leaves that have other tags, and without nodes that are left empty."""
    if isinstance(node, tuple):
        return node if node[0] in tags else None
    children = [child for child in (reduced(child, tags) for child in node[1:]) if child is not None]
    return [node[0], *children] if children else None


def collapsed(node: Node) -> Node:
    """The published nested lists: a node with one child is that child."""
    if isinstance(node, tuple):
        return node
    children = [collapsed(child) for child in node[1:]]
    return children[0] if len(children) == 1 else [node[0], *children]


def all_spans(node: Node, start: int = 0) -> list[tuple[str, int, int]]:
    """(label, start, end) of every node in pre-order."""
    if isinstance(node, tuple):
        return []
    spans, at = [], start
    for child in node[1:]:
        spans += all_spans(child, at)
        at += len(leaves_of(child))
    return [(node[0], start, at), *spans]


def below_root(node: Node) -> set[tuple[int, int]]:
    """The published ``get_brackets``: the root's own bracket and brackets of one word are left out."""
    return {(start, end) for _, start, end in all_spans(node)[1:] if end - start > 1}


def predicted_for(gold: Node, seed: int) -> Node:
    """Another tree over the same leaves, n-ary and without unary nodes."""
    chance = random.Random(seed)

    def build(part: list[tuple[str, str]]) -> Node:
        if len(part) == 1:
            return part[0]
        inner = range(1, len(part))
        cuts = [0, *sorted(chance.sample(inner, chance.randint(1, min(3, len(inner))))), len(part)]
        return ["X", *(build(part[a:b]) for a, b in pairwise(cuts))]

    tree = build(leaves_of(gold))
    return tree if isinstance(tree, list) else ["X", tree]


def plain_sentence(gold: set[tuple[int, int]], prediction: set[tuple[int, int]]) -> float:
    overlap = len(gold & prediction)
    precision, recall = overlap / (len(prediction) + 1e-8), overlap / (len(gold) + 1e-8)
    if not gold:
        recall = 1.0
        if not prediction:
            precision = 1.0
    return 2 * precision * recall / (precision + recall + 1e-8)


def plain_value(name: str, pairs: list[tuple[Node, Node]]) -> float:
    """Percentage by the definition of each convention, from pairs of reduced gold and prediction."""
    scores, totals = [], [0, 0, 0]
    for gold, prediction in pairs:
        n = len(leaves_of(gold))
        whole = {(0, n)} if n > 1 else set()
        guess, truth = below_root(collapsed(prediction)), below_root(collapsed(gold))
        if name in ("km", "km-wsj10"):
            guess, truth = guess | whole, truth | whole
        elif name.startswith("kim"):
            truth = below_root(gold)
        if n >= (1 if name == "on-lstm" else 2) and not (name == "km-wsj10" and n > 10):
            scores.append(plain_sentence(truth, guess))
            counts = (len(guess & truth), len(guess), len(truth))
            if name in ("tnpcfg-corpus", "seminfo-corpus"):
                counts = plain_lists(gold, guess, exchanged=name == "seminfo-corpus")
            totals = [a + b for a, b in zip(totals, counts, strict=True)]
    if CONVENTIONS[name].average == "sent":
        return 100 * sum(scores) / len(scores)
    return 100 * (2 * totals[0] / (totals[1] + totals[2]) if totals[1] + totals[2] else 1.0)


def plain_lists(gold: Node, guess: set[tuple[int, int]], *, exchanged: bool) -> tuple[int, int, int]:
    """True positives, with false positives, and with false negatives, counted over lists as in TN-PCFG's program."""
    n = len(leaves_of(gold))
    lists = [list(guess), [(a, b) for _, a, b in all_spans(gold) if b - a > 1 and (a, b) != (0, n)]]
    predicted, reference = lists[::-1] if exchanged else lists
    true = sum(span in reference for span in predicted)
    return true, len(predicted), true + sum(span not in predicted for span in reference)


def plain_evalb(golds: list[Node], predictions: list[Node]) -> float:
    """Every bracket with its multiplicity, over all tokens but traces and some punctuation."""
    matched = total = 0
    for pair in zip(golds, predictions, strict=True):
        left = [reduced(node, {"NN", "VB", "$"}) for node in pair]
        if left[0] is not None:
            truth, guess = (Counter((start, end) for _, start, end in all_spans(node)) for node in left)
            matched += sum(min(times, guess[span]) for span, times in truth.items())
            total += truth.total() + guess.total()
    return 100 * 2 * matched / total


@settings(deadline=None, max_examples=60)
@given(
    golds=st.lists(roots, min_size=1, max_size=4),
    seed=st.integers(0, 9),
    measure=st.sampled_from(["all", "seen", "words"]),
)
def test_like_plain_recursion(golds: list[Node], seed: int, measure: str) -> None:
    golds = [gold for gold in golds if reduced(gold)] + [SAFE] * 6
    predictions = [predicted_for(gold, seed + i) for i, gold in enumerate(golds)]
    pairs = [(reduced(gold), reduced(prediction)) for gold, prediction in zip(golds, predictions, strict=True)]
    trees = predictions_of([prediction for _, prediction in pairs] if measure == "words" else predictions)
    if measure == "seen":
        trees = [replace(tree, labelled=tree.labelled.without_traces()) for tree in trees if tree.labelled]
    conventions = [
        CONVENTIONS[name] for name in CONVENTIONS if name != "evalb" or measure != "words"
    ]  # evalb counts "$" too
    with without_intervals():
        reports = score_trees(treebank_of(golds), [predicted_system(trees)], conventions)
    for report in reports:
        name = report.convention.name
        plain = plain_evalb(golds, predictions) if name == "evalb" else plain_value(name, pairs)
        assert report.value == pytest.approx(plain, abs=1e-9), name
    on_lstm = reports[0]
    assert on_lstm.shape.depth == pytest.approx(
        sum(map(plain_depth, (prediction for _, prediction in pairs))) / len(pairs)
    )
    assert on_lstm.shape.right_left == pytest.approx(plain_ratio([prediction for _, prediction in pairs]))
    assert dict(on_lstm.by_label) == plain_recall(pairs)


def plain_depth(node: Node) -> float:
    spans = {(start, end) for _, start, end in all_spans(collapsed(node)) if end - start > 1}
    n = len(leaves_of(node))
    return sum(sum(start <= i < end for start, end in spans) for i in range(n)) / n


def plain_ratio(nodes: list[Node]) -> float:
    first = last = 0
    todo = [collapsed(node) for node in nodes]
    while todo:
        node = todo.pop()
        if isinstance(node, list):
            first += isinstance(node[1], tuple)
            last += isinstance(node[-1], tuple)
            todo += node[1:]
    return first / last if last else 1.0


def plain_recall(pairs: list[tuple[Node, Node]]) -> dict[str, tuple[int, int]]:
    counts: dict[str, tuple[int, int]] = {}
    for gold, prediction in pairs:
        brackets = below_root(collapsed(prediction)) | {(0, len(leaves_of(gold)))}
        triples = {(label.split("-")[0].split("=")[0], a, b) for label, a, b in all_spans(gold) if b - a > 1}
        for label, start, end in triples:
            hits, total = counts.get(label, (0, 0))
            counts[label] = hits + ((start, end) in brackets), total + 1
    return counts


# --- the pieces


def test_repeats_all_counts_with_multiplicity() -> None:
    """As EVALB does: a span with k gold and l predicted brackets matches min(k, l) times, one-word spans included."""
    evalb = ScoringConvention("evalb", "corpus", "keep", trivial="keep", repeats="all")
    gold = ["S", ["VP", ["VP", ("VB", "a"), ["NP", ("NN", "b")]]]]
    prediction = ["S", ["VP", ("VB", "a"), ["NP", ["NP", ("NN", "b")]]]]
    report = score_trees(treebank_of([gold]), [predicted_system(predictions_of([prediction]))], [evalb])[0]
    assert report.totals == SentenceCounts(matched=3, predicted=4, gold=4)


def test_unary_chain_over_the_sentence_is_matched_by_no_prediction() -> None:
    """As docs/reference/conventions.md says of ``root:node``."""
    gold = [["S", ["VP", ("VB", "go"), ("RB", "home")]]]
    report = score_trees(treebank_of(gold), [predicted_system(predictions_of(gold))], [CONVENTIONS["kim-corpus"]])[0]
    assert report.totals == SentenceCounts(matched=0, predicted=0, gold=1)


def test_every_choice_is_in_the_signature() -> None:
    base = ScoringConvention("name", "sent", "drop")
    other = ScoringConvention("other", "corpus", "keep", "keep", "letters", "missed", 3, 7, "seen")
    for field in fields(base):
        assert str(replace(base, **{field.name: getattr(other, field.name)})) != str(base), field.name


def test_the_signature() -> None:
    gold = replace(treebank_of([SAFE] * 2), note="5 % sample")
    report = score_trees(gold, [baseline("random", 4)], [find_convention("km")], max_length=10)[0]
    assert str(report) == (
        "UF1|conv:km|avg:corpus|root:keep|trivial:drop|tokens:words|repeats:once|len:2-10|seed:4"
        f"|data:toy (5 % sample)|sentences:2|v:0.1.0 = {report.value:.1f}"
    )


def test_a_treebank_with_other_tags_is_scored_by_letters() -> None:
    tree = Tree.from_text("(IP (NPR Jón) (VBDI las) (NP (D þá) (N-A bók)) (PUNC .))")
    report = score_trees(
        Treebank("is", [Sentence(tree.words, tree.tags, tree)]), [baseline("right")], CONVENTIONS.values()
    )[0]
    assert report.convention.tokens == "letters"
    assert "tokens:letters" in report.signature
    assert report.totals == SentenceCounts(matched=1, predicted=2, gold=1)


def test_a_long_sentence_needs_no_recursion() -> None:
    n = 10_000
    tree = Tree.from_spans(["w"] * n, [(i, n) for i in range(n - 1)], tag="NN")
    gold = Treebank("long", [Sentence(tree.words, tree.tags, tree)])
    values = [
        report.value for report in score_trees(gold, [baseline("right"), baseline("oracle")], [CONVENTIONS["km"]])
    ]
    assert values == [100, 100]


def test_a_spelt_convention() -> None:
    assert all(name == convention.name for name, convention in CONVENTIONS.items())
    assert find_convention("avg:corpus,root:keep,len:2-") == CONVENTIONS["km"]
    assert find_convention("km,len:2-10") == CONVENTIONS["km-wsj10"]
    custom = find_convention("kim-corpus,trivial:keep,tokens:evalb,measure:seen,len:3-")
    assert custom == ScoringConvention("custom", "corpus", "node", "keep", "evalb", "once", 3, None, "seen")
    for text, message in [
        ("avg:corpse", "'avg:corpse' in a convention: avg is sent or corpus"),
        ("rot:keep", "a convention has no field 'rot'; did you mean 'root'"),
        ("km,len:10", "write len:2-10"),
        ("kn,len:2-10", "no convention 'kn'; did you mean 'km'"),
    ]:
        with pytest.raises(SynparseError, match=message):
            find_convention(text)


@pytest.mark.parametrize("label", ["TOP", "ROOT"])
def test_an_outer_bracket_is_ignored(label: str) -> None:
    """The outer bracket is left out of gold and prediction, also under Kim's convention."""
    golds = [SAFE, ["S", ("NN", "a"), ["VP", ("VB", "b"), ("NN", "c")], (".", ".")]]
    bare = score_trees(treebank_of(golds), [predicted_system(predictions_of(golds))], CONVENTIONS.values())
    outer = [[label, gold] for gold in golds]
    topped = score_trees(treebank_of(outer), [predicted_system(predictions_of(outer))], CONVENTIONS.values())
    assert [report.totals for report in bare] == [report.totals for report in topped]


def test_a_single_top_does_not_count() -> None:
    golds = [SAFE, ["TOP", ("NN", "a")]]
    (score,) = score_trees(treebank_of(golds), [predicted_system(predictions_of(golds))], [CONVENTIONS["evalb"]])
    assert score.counts[1][:3] == (0, 0, 0)


def test_sentences_are_grouped_by_the_length_that_selects_them() -> None:
    """Under evalb, punctuation belongs to the length, although it does not count as words."""
    golds = [["S", ["NP", ("NN", "a"), ("NN", "b")], ("VB", "c"), *[(".", ".")] * 9]]
    system = predicted_system(predictions_of(golds))
    lengths = {}
    for name in ("evalb", "km"):
        (score,) = score_trees(treebank_of(golds), [system], [replace(CONVENTIONS[name], max_words=None)], details=True)
        lengths[name] = [*(score.by_length or ())]
    assert lengths == {"evalb": ["11-20"], "km": ["1-10"]}


@settings(deadline=None, max_examples=10)
@given(golds=st.lists(roots, min_size=1, max_size=3), name=st.sampled_from(["random", "random-uniform"]))
def test_the_exact_expectation_is_the_mean_of_many_runs(golds: list[Node], name: str) -> None:
    """Against all binary trees of each sentence, weighted."""
    gold = treebank_of([gold for gold in golds if reduced(gold)] + [SAFE] * 6)
    many = replace(baseline(name), draws=range(60))
    with without_intervals():
        for report in score_trees(gold, [many], CONVENTIONS.values()):
            assert report.draws is not None
            assert report.value == pytest.approx(
                report.draws.mean, abs=5 * report.draws.deviation / math.sqrt(60) + 1e-6
            )


@settings(deadline=None)
@given(root=roots, seed=st.integers(0, 9))
def test_heights_and_precision_by_height(root: Node, seed: int) -> None:
    gold, prediction = collapsed(root), collapsed(predicted_for(root, seed))
    n = len(leaves_of(root))

    def height(node: Node) -> int:
        return 1 if isinstance(node, tuple) else 1 + max(map(height, node[1:]))

    def all_heights(node: Node, start: int = 0) -> dict[tuple[int, int], int]:
        result = {}
        if isinstance(node, list):
            result[start, start + len(leaves_of(node))] = height(node)
            for child in node[1:]:
                result |= all_heights(child, start)
                start += len(leaves_of(child))
        return result

    plain = all_heights(prediction)
    assert heights(set(plain)) == plain
    truth = set(all_heights(gold))
    inner = {span: value for span, value in plain.items() if span != (0, n)}
    rule = replace(CONVENTIONS["on-lstm"], name="custom", tokens="all")
    system = predicted_system(predictions_of([prediction]))
    with without_intervals():
        (score,) = score_trees(treebank_of([gold]), [system], [rule], details=True)
    expected = {
        each: (sum(value == each and span in truth for span, value in inner.items()), list(inner.values()).count(each))
        for each in sorted(inner.values())
    }
    assert score.by_height == expected


@settings(deadline=None, max_examples=20)
@given(golds=st.lists(roots, min_size=2, max_size=5))
def test_sentences_that_are_too_long_leave_no_trace(golds: list[Node]) -> None:
    """Scores and details are those of a treebank without the long sentences."""
    golds = [SAFE, *golds, SAFE]
    bound = replace(CONVENTIONS["on-lstm"], name="custom", max_words=4)
    short_golds = [gold for gold in golds if (left := reduced(gold)) and len(leaves_of(left)) <= 4]
    (whole,), (short,) = (
        score_trees(treebank_of(some), [predicted_system(predictions_of(some))], [bound], details=True)
        for some in (golds, short_golds)
    )
    assert whole.by_height == short.by_height
    assert (whole.counts, whole.by_label, whole.by_length) == (short.counts, short.by_label, short.by_length)
    assert whole.shape == short.shape
    assert whole.predicted == short.predicted


@pytest.mark.parametrize("system", [baseline("left"), baseline("random"), predicted_system([])])
def test_without_sentences_nothing_can_be_scored(system: System) -> None:
    with pytest.raises(SynparseError, match="nothing: no sentence is left to score"):
        score_trees(Treebank("nothing", []), [system], [CONVENTIONS["km"]])


def test_memory_does_not_grow_with_the_brackets_of_scored_sentences() -> None:
    gold = load_whole("sample")
    system = given_trees("again", [str(sentence.tree) for sentence in gold.sentences])
    tracemalloc.start()
    try:
        with without_intervals():
            score_trees(gold, [system], [CONVENTIONS["on-lstm"]])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak / len(gold) < 1_200  # bytes
