"""The constituent-context model and its product with DMV: against enumeration, and the limits on what is counted."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import lgamma, prod

import numpy as np
import pytest
import torch

from induce.data.batches import SentenceBatch
from induce.data.corpus import EncodedCorpus
from induce.decoding.chart import mbr
from induce.models.base import Context, Query
from induce.models.em.ccm import (
    UNUSED,
    Ccm,
    CcmConfig,
    Spans,
    SpanScorer,
    SpanTables,
    blocks_of_one_length,
    bracket_counts,
    frequent_keys,
    log_tree_count,
    random_split_probability,
)
from induce.models.em.dmv_ccm import DmvCcm, DmvCcmConfig
from induce.structures import HeadDistribution, SpanScores
from tests.support.binary_trees import all_brackets, bracket_sums
from tests.support.tiny import encoded
from treebank.base.errors import SynparseError
from treebank.core.sentence import WORD_TAGS, Sentence
from treebank.corpora.sample import sample_treebank

QUICK = {"classes": 8, "passes": 4, "sequences": 2000}


def sample(count: int = 80) -> EncodedCorpus:
    return encoded(sample_treebank("train").sentences[:count])


def fresh(corpus: EncodedCorpus, **settings: float) -> Ccm:
    return Ccm(CcmConfig(**{**QUICK, **settings}), len(corpus.vocabulary))


def learned(corpus: EncodedCorpus, **settings: int) -> Ccm:
    model = fresh(corpus, **settings)
    for _ in model.fit(corpus, 0, Context()):
        pass
    return model


def random_tables(spans: Spans, classes: int) -> SpanTables:
    draw, keys = np.random.default_rng(1), frequent_keys(spans.sequences, 12)
    sequences, contexts = draw.random((2, 13)) * 5, draw.random((2, (classes + 1) ** 2)) * 5
    return SpanTables(keys, sequences, contexts, (2.0, 8.0))


def test_likelihood_and_brackets_equal_enumeration() -> None:
    """Σ_trees P(tree) Π_spans P(sequence | in the tree?) P(context | in the tree?), including empty spans."""
    classes = np.array([[0], [2], [1], [2], [0]])
    spans = Spans.of(classes, 3)
    tables = random_tables(spans, 3)
    entries = tables.entries(spans)
    sequences, contexts = tables.log_probabilities()
    rows = (sequences[:, entries] + contexts[:, spans.contexts])[..., 0]  # (2, S)
    every = all_brackets(0, 5)
    total, expected = 0.0, np.zeros((5, 6))
    for brackets in every:
        constituents = {*brackets, *((i, i + 1) for i in range(5))}
        inside = [(start, end) in constituents for start, end in zip(spans.starts, spans.ends, strict=True)]
        weight = np.exp(np.where(inside, rows[0], rows[1]).sum()) / len(every)
        total += weight
        for span in brackets:
            expected[span] += weight
    counts, logs = SpanScorer(tables).trees(spans, entries)
    assert logs[0] == pytest.approx(np.log(total))
    np.testing.assert_allclose(counts.probability[..., 0], expected / total)
    assert log_tree_count(5) == pytest.approx(np.log(len(every)))


def test_span_keys_identify_sequences_and_contexts() -> None:
    """Equal sequences have equal keys at all positions, and different or reordered sequences do not."""
    spans = Spans.of(np.array([[1, 0], [2, 1], [1, 2], [2, 0]]), 3)
    named = {}
    for sentence in range(2):
        words = ((1, 2, 1, 2), (0, 1, 2, 0))[sentence]
        for index, (start, end) in enumerate(zip(spans.starts, spans.ends, strict=True)):
            key = named.setdefault(words[start:end], spans.sequences[index, sentence])
            assert key == spans.sequences[index, sentence]
            around = (3, *words, 3)
            assert spans.contexts[index, sentence] == around[start] * 4 + around[end + 1]
    assert len(set(named.values())) == len(named)


def test_frequent_sequences_are_kept() -> None:
    keys = np.array([7, 5, 7, 3, 5, 7])
    assert frequent_keys(keys, 2).tolist() == [5, 7]
    assert frequent_keys(keys, 4).tolist() == [3, 5, 7, UNUSED]


def test_tags_make_better_trees_than_chance() -> None:
    """Evaluation on short sentences of the built-in sample."""
    gold = [example for example in sample_treebank("train").sentences if len(example.words) <= 12 and example.tree][
        :300
    ]
    corpus = encoded(gold, "tags", minimum_count=1, unknown="one")
    assert {"DT", "NN", "VBZ"} <= set(corpus.vocabulary.words)
    model = learned(corpus, classes=0, passes=15, sequences=10_000)
    rows = model.structure(corpus.sentences(np.arange(len(corpus))), Query(SpanScores)).rows()
    matches = {"ccm": 0.0, "random": 0.0}
    for sentence, row in zip(gold, rows, strict=True):
        tree = sentence.tree
        spans = {tuple(span) for span in tree.keep([tag in WORD_TAGS for tag in tree.tags]).spans}
        inner = {(start, end) for start, end in spans if 1 < end - start < len(row)}
        matches["ccm"] += len(inner & set(mbr(row)))
        split = random_split_probability(len(row))
        matches["random"] += sum(split[span] for span in inner)
    assert matches["ccm"] > 1.2 * matches["random"] > 0, matches


def joint(corpus: EncodedCorpus, **settings: float) -> DmvCcm:
    return DmvCcm(DmvCcmConfig(**{**QUICK, **settings}), len(corpus.vocabulary))


@pytest.mark.parametrize(("make", "others"), [(fresh, ()), (joint, ("choose", "stop", "root"))], ids=["ccm", "dmv-ccm"])
def test_em_passes_increase_the_likelihood(make: Callable[..., Ccm], others: tuple[str, ...]) -> None:
    """EM guarantees this without smoothing, and the smoothing here is small."""
    corpus, counts = sample(), ("constituent", "distituent", *others)
    model = make(corpus, **{f"smooth_{name}": 1e-3 for name in counts})
    losses = [step.nll for step in model.fit(corpus, 0, Context())]
    assert len(losses) == 4
    assert all(later < earlier for earlier, later in pairwise(losses))


def test_joint_heads_and_brackets_depend_on_both_models() -> None:
    """Every word has one head, N words have N - 1 brackets, and both models affect both structures."""
    corpus = sample()
    model = joint(corpus)
    list(model.fit(corpus, 0, Context()))
    batch = corpus.sentences(np.flatnonzero(corpus.lengths <= 9)[:5])
    heads = model.structure(batch, Query(HeadDistribution)).rows()
    brackets = model.structure(batch, Query(SpanScores)).rows()
    for head, bracket in zip(heads, brackets, strict=True):
        np.testing.assert_allclose(head.sum(1), 1)
        assert bracket.sum() == pytest.approx(len(head) - 1)
    alone = learned(corpus).structure(batch, Query(SpanScores)).rows()
    assert any(abs(row - other).max() > 0.05 for row, other in zip(brackets, alone, strict=True))
    model.sequences.zero_()
    assert any(
        abs(row - other).max() > 0.01
        for row, other in zip(model.structure(batch, Query(HeadDistribution)).rows(), heads, strict=True)
    )


def test_limits_on_sequences_and_sentences_bound_the_counts() -> None:
    """Sequences above the limit share one count."""
    corpus = sample()
    few, all_ = learned(corpus, sequences=10), learned(corpus)
    assert few.sequences.shape == (2, 11)
    assert not (few.keys == UNUSED).any()
    assert float(few.sequences.sum()) == pytest.approx(float(all_.sequences.sum()))
    assert float(learned(corpus, sentences=5).sequences.sum()) < float(all_.sequences.sum()) / 2


def test_long_sentences_are_used_if_all_are_long() -> None:
    corpus = encoded([Sentence(tuple(f"w{i % 7}" for i in range(50)))] * 5)
    assert float(learned(corpus).sequences.sum()) > 0


def test_blocks_of_one_length() -> None:
    lengths = np.array([3, 1, 2, 3, 0])
    assert [(rows.tolist(), count) for rows, count in blocks_of_one_length(lengths)] == [([2], 2), ([0, 3], 3)]


def test_too_many_words_raise_an_error() -> None:
    corpus = sample(30)
    for model, message in ((fresh(corpus), "1,001 words are too many"), (joint(corpus), "81 words are too many")):
        tokens = torch.ones(1, (model.max_length or 0) + 1, dtype=torch.int64)
        for structure in model.gives:
            with pytest.raises(SynparseError, match=message):
                model.structure(SentenceBatch(tokens, torch.tensor([(model.max_length or 0) + 1])), Query(structure))


def random_weights(count: int, batch: int, spread: float = 1.0) -> np.ndarray:
    return spread * np.random.default_rng(count).normal(size=(count, count + 1, batch))


@pytest.mark.parametrize("count", range(1, 7))
def test_bracket_counts_equal_enumeration(count: int) -> None:
    weights = random_weights(count, 3)
    counts = bracket_counts(weights)
    total, expected = bracket_sums(weights, count)
    np.testing.assert_allclose(counts.log_total, np.log(total), atol=1e-12)
    np.testing.assert_allclose(counts.probability, expected / total, atol=1e-12)


@pytest.mark.parametrize("count", range(1, 7))
def test_random_split_probability_equals_enumeration(count: int) -> None:
    expected = np.zeros((count, count + 1))
    for spans in all_brackets(0, count):
        probability = prod(1 / (end - start - 1) for start, end in spans)
        for span in spans:
            expected[span] += probability
    np.testing.assert_allclose(random_split_probability(count), expected, atol=1e-12)


def test_large_weights_do_not_overflow() -> None:
    """N - 1 expected brackets for any weights, and the number of trees for weights of 1."""
    heavy = bracket_counts(random_weights(120, 1, 300.0))
    assert float(heavy.log_total[0]) > 710  # e^710 is the largest float64
    assert heavy.probability.sum() == pytest.approx(119)
    uniform = bracket_counts(np.zeros((120, 121, 1)))
    assert float(uniform.log_total[0]) == pytest.approx(lgamma(2 * 119 + 1) - lgamma(120) - lgamma(121))
