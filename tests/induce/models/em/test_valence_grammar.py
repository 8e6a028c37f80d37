"""The dependency grammar over classes: weights by definition, EM, smoothing, predicate scores, and heads of phrases."""

from __future__ import annotations

import numpy as np
import pytest

from induce.models.em.dependency_tables import TreeWeights, by_head
from induce.models.em.head_evidence import (
    LEANING_WEIGHT,
    SAME_CLASS_WEIGHT,
    divergence,
    evidence_for_last_heads,
    frequency_weights,
    modifier_degree,
    predicate_scores,
)
from induce.models.em.valence_grammar import GrammarSums, Preferences, SentenceBlock, Smoothing, ValenceGrammar
from tests.induce.models.em.test_dependency_sums import by_all_trees

CLASSES = 4
PLAIN = Preferences(length_bias=0.0, penalty=1.0)


def a_grammar(seed: int = 0) -> ValenceGrammar:
    draw = np.random.default_rng(seed)
    choose = draw.dirichlet(np.ones(CLASSES), size=(CLASSES, 2, 2))
    return ValenceGrammar(draw.dirichlet(np.ones(CLASSES)), draw.uniform(0.2, 0.8, (CLASSES, 2, 2)), choose)


def a_block(count: int, batch: int, seed: int = 0, weighted: bool = False) -> SentenceBlock:
    draw = np.random.default_rng(seed)
    unweighted = np.ones((count, batch))
    weights = (
        (draw.uniform(0.2, 1, (count, batch)), draw.uniform(0.2, 1, (count, batch)))
        if weighted
        else (unweighted, unweighted)
    )
    fragments = (draw.random((count, batch)) < 0.3).cumsum(0)
    lengths = np.full(batch, count)
    classes = draw.integers(0, CLASSES, (count, batch))
    leaning = draw.normal(size=(count, batch)) if weighted else 0.0
    return SentenceBlock(classes, fragments, *weights, lengths, leaning=leaning)


def weights_by_definition(grammar: ValenceGrammar, block: SentenceBlock, preferences: Preferences) -> TreeWeights:
    """Weights of trees, computed word by word."""
    length_bias = preferences.length_bias
    count, batch = block.classes.shape
    first, later = np.zeros((2, 2, count, count, batch))
    stop, root = np.zeros((2, count, 2, batch)), np.zeros((count, batch))
    leaning = np.broadcast_to(block.leaning, (count, batch))
    for sentence in range(batch):
        classes = block.classes[:, sentence]
        for side in (0, 1):
            for position in range(count):
                head = position if side == 0 else count - 1 - position
                stop[side, position, :, sentence] = grammar.stop[classes[head], side]
                for width in range(1, count - position):
                    child = head + width if side == 0 else head - width
                    preference = block.head[head, sentence] * np.exp(-length_bias * (width - 1))
                    lean = preferences.leaning * leaning[child, sentence]
                    lean -= preferences.head_leaning * leaning[head, sentence]
                    preference *= np.exp((-0.5 if side == 0 else 0.5) * lean)
                    for v, table in ((0, first), (1, later)):
                        goes_on = 1 - grammar.stop[classes[head], side, v]
                        chosen = grammar.choose[classes[head], side, v, classes[child]]
                        table[side, position, width, sentence] = preference * goes_on * chosen
        root[:, sentence] = grammar.root[classes] * block.root[:, sentence]
    return TreeWeights(first, later, stop, root)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_sums_follow_the_definition(count: int) -> None:
    grammar, block = a_grammar(), a_block(count, 2, weighted=True)
    preferences = Preferences(length_bias=0.3, penalty=0.2, leaning=0.7, head_leaning=1.5)
    actual = GrammarSums(preferences).trees(grammar, block)
    expected = by_all_trees(weights_by_definition(grammar, block, preferences), block.fragments, 0.2)
    for name in ("first", "later", "stop", "root", "log_total"):
        np.testing.assert_allclose(getattr(actual, name), getattr(expected, name), atol=1e-10, err_msg=name)


def test_probabilities_of_all_sentences_sum_to_one() -> None:
    """Sum over all class sequences of up to five words under a grammar that prefers short sentences."""
    grammar = a_grammar(1)
    grammar.stop[:] = 0.9
    sums, total = GrammarSums(PLAIN), 0.0
    for count in range(1, 6):
        every = np.array(np.meshgrid(*[np.arange(CLASSES)] * count, indexing="ij")).reshape(count, -1)
        unweighted = np.ones(every.shape)
        lengths = np.full(every.shape[1], count)
        block = SentenceBlock(every, np.zeros(every.shape, dtype=int), unweighted, unweighted, lengths)
        total += float(np.exp(sums.trees(grammar, block).log_total).sum())
    assert 0.98 < total < 1


@pytest.mark.parametrize("extended", [True, False])
def test_em_never_lowers_the_likelihood(extended: bool) -> None:
    sums, nothing = GrammarSums(PLAIN), Smoothing(0.0, 0.0, 0.0, 0.0, extended)
    blocks = [a_block(count, 20, seed=count) for count in (2, 4, 7)]
    grammar, before = a_grammar(), -np.inf
    if not extended:
        grammar.choose[:, :, 1] = grammar.choose[:, :, 0]
    for _ in range(8):
        counts, likelihood = ValenceGrammar.zeros(CLASSES), 0.0
        for block in blocks:
            trees = sums.trees(grammar, block)
            likelihood += trees.log_total.sum()
            sums.add(counts, block, trees)
        assert likelihood >= before - 1e-9
        before = likelihood
        grammar = ValenceGrammar.from_counts(counts, nothing)
        if not extended:
            np.testing.assert_array_equal(grammar.choose[:, :, 0], grammar.choose[:, :, 1])


def test_counts_add_up() -> None:
    """One root per sentence, one head for each other word, and two stops for each word."""
    sums, block = GrammarSums(Preferences(0.2, 0.1)), a_block(9, 6)
    for trees in (sums.trees(a_grammar(), block), sums.harmonic_heads(block)):
        counts = ValenceGrammar.zeros(CLASSES)
        sums.add(counts, block, trees)
        assert counts.root.sum() == pytest.approx(6)
        assert counts.choose.sum() == pytest.approx(6 * 8)
        assert counts.stop.sum() == pytest.approx(6 * 9 * 2)


def test_harmonic_start_by_definition() -> None:
    """Independent heads and Poisson-distributed dependents of three words with punctuation after the second."""
    fragments, unweighted, head = np.array([[0], [0], [1]]), np.ones((3, 1)), np.array([[0.5], [1.0], [1.0]])
    block = SentenceBlock(np.zeros((3, 1), dtype=int), fragments, head, unweighted, np.array([3]))
    counts = GrammarSums(Preferences(length_bias=9.0, penalty=0.1)).harmonic_heads(block)
    np.testing.assert_allclose(counts.root[:, 0], 1 / 3)
    arcs = by_head(counts.first + counts.later)[..., 0]
    near, far = 1.0, 0.1 / 2  # weights of heads of the first word: the second and the third word
    assert arcs[1, 0] == pytest.approx(2 / 3 * near / (near + far))
    assert arcs[0, 1] == pytest.approx(2 / 3 * 0.5 / (0.5 + 0.1))
    right = arcs[1, 2]  # the only dependent on the right of the second word
    assert counts.stop[0, 1, :, 0] == pytest.approx([np.exp(-right), 1 - np.exp(-right)])
    assert counts.first[0, 1, 1, 0] == pytest.approx(1 - np.exp(-right))


def test_leaning_words_start_with_heads_and_dependents_on_their_side() -> None:
    count, leaning = 3, np.array([[0.0], [np.log(4.0)], [0.0]])
    unweighted, words = np.ones((count, 1)), np.zeros((count, 1), dtype=int)
    block = SentenceBlock(words, words, unweighted, unweighted, np.array([count]), leaning=leaning)
    counts = GrammarSums(PLAIN).harmonic_heads(block)
    arcs = by_head(counts.first + counts.later)[..., 0]
    assert arcs[2, 1] == pytest.approx(4 * arcs[0, 1])
    assert arcs[:, 0] == pytest.approx([0, 2 / 3 * 2 / 3, 2 / 3 / 3])
    counts = GrammarSums(Preferences(0.0, 1.0, leaning=0.0, head_leaning=1.0)).harmonic_heads(block)
    arcs = by_head(counts.first + counts.later)[..., 0]
    assert arcs[0] == pytest.approx([0, 2 / 3 / 2, 2 / 3 / 2 / (1 / 2 + 2)])  # the last word: 1 / distance, and 2
    assert arcs[1] == pytest.approx([2 / 3 * 0.5 / (0.5 + 0.5), 0, 2 / 3 * 2 / (2 + 0.5)])


def test_harmonic_start_ignores_padding() -> None:
    long, short = a_block(7, 1, weighted=True), a_block(4, 1, seed=3, weighted=True)
    both = [np.concatenate([getattr(short, name), getattr(long, name)[4:]]) for name in ("classes", "fragments")]
    names = ("head", "root", "leaning")
    *weights, leaning = [np.concatenate([getattr(short, name), getattr(long, name)[4:]]) for name in names]
    sums, counts = GrammarSums(Preferences(0.0, 0.2)), []
    for block in (short, SentenceBlock(*both, *weights, np.array([4]), leaning=leaning)):
        counts.append(ValenceGrammar.zeros(CLASSES))
        sums.add(counts[-1], block, sums.harmonic_heads(block))
    for name in ("root", "stop", "choose"):
        np.testing.assert_allclose(getattr(counts[0], name), getattr(counts[1], name), atol=1e-12)


def test_probabilities_are_smoothed() -> None:
    grammar = ValenceGrammar.from_counts(ValenceGrammar.zeros(CLASSES), Smoothing())
    for table in (grammar.root, grammar.choose):
        np.testing.assert_allclose(table, 1 / CLASSES)
    np.testing.assert_allclose(grammar.stop, 0.5)


def scores_of(sentences: list[np.ndarray], leaning: float = 0.0) -> np.ndarray:
    """Predicate scores of classes in sentences without punctuation. Words before class 2 have this ``leaning``."""
    classes = np.concatenate([*sentences, np.zeros(0, dtype=int)])
    numbers = np.repeat(np.arange(len(sentences)), [len(sentence) for sentence in sentences])
    return predicate_scores(classes, numbers, numbers, leaning * (classes == 2), 0.0 * classes, count=CLASSES)


def test_class_that_occurs_once_in_each_sentence_is_a_predicate() -> None:
    draw = np.random.default_rng(0)
    sentences = [
        draw.permutation([2, *draw.choice([0, 1, 3], length - 1, p=[0.6, 0.3, 0.1])])
        for length in draw.integers(3, 6, 400)
    ]
    scores = scores_of(sentences)
    assert scores.argmax() == 2, scores


def test_classes_that_exclude_each_other_are_predicates() -> None:
    """Each sentence has a word of class 2 or of class 3, and three others."""
    draw = np.random.default_rng(0)
    sentences = [draw.permutation([draw.choice([2, 3]), *draw.choice([0, 1], 3)]) for _ in range(400)]
    assert set(np.argsort(scores_of(sentences))[2:]) == {2, 3}


def test_words_that_lean_to_the_left_precede_predicates() -> None:
    draw = np.random.default_rng(0)
    sentences = [draw.permutation(4) for _ in range(400)]
    assert scores_of(sentences, leaning=0.5).argmax() == 2


def test_predicate_scores_are_zero_without_sentences() -> None:
    np.testing.assert_array_equal(scores_of([]), 0.0)


def test_frequent_words_have_smaller_weights() -> None:
    assert frequency_weights(np.array([0.0, 1e-3]), scale=1e-3, power=0.5) == pytest.approx([1.0, 0.5**0.5])


ARTICLE, NOUN, ADJECTIVE = 0, 1, 2


def evidence_of(phrases: list[list[int]]) -> float:
    """Evidence for last heads in a text of segments that begin with an article."""
    classes = np.concatenate([np.zeros(0, dtype=int), *([ARTICLE, *phrase] for phrase in phrases)])
    segments = np.repeat(np.arange(len(phrases)), [len(phrase) + 1 for phrase in phrases])
    return evidence_for_last_heads(classes, (classes != ARTICLE).astype(float), segments, count=3)


def test_position_of_heads_is_that_of_the_classes_of_single_words() -> None:
    assert evidence_of([]) == evidence_of([[]] * 3) == 0.0  # no phrases give no evidence
    single = [[NOUN]] * 90 + [[ADJECTIVE]] * 10
    assert evidence_of([*single, *[[ADJECTIVE, NOUN]] * 50]) > 2
    assert evidence_of([*single, *[[NOUN, ADJECTIVE]] * 50]) < -2
    assert evidence_of([*single, *[[NOUN, NOUN]] * 50]) == pytest.approx(0.0)


def test_divergence_is_zero_for_equal_and_log_two_for_disjoint_distributions() -> None:
    p, q = np.array([0.25, 0.75, 0.0]), np.array([0.0, 0.0, 1.0])
    assert divergence(p, p) == 0.0
    assert divergence(p, q) == pytest.approx(np.log(2))


def test_modifiers_before_content_words_and_between_words_that_lean_to_each_other() -> None:
    content = np.array([[0.0], [1.0], [0.5], [1.0], [1.0], [1.0]])
    fragments = np.array([[0], [0], [0], [1], [1], [-1]])
    classes, none = np.array([[0], [1], [2], [3], [4], [5]]), np.zeros_like(content)
    degree = modifier_degree(content, none, classes, fragments, strength=0.5)
    np.testing.assert_array_equal(degree[:, 0], [0, 0.5, 0, 1, 0, 0])
    classes[4] = 3
    compound = modifier_degree(content, none, classes, fragments, strength=0.5)
    np.testing.assert_array_equal(compound[:, 0], [0, 0.5, 0, 1 + SAME_CLASS_WEIGHT / 2, 0, 0])
    leaning = np.array([[1.0], [-0.5], [0.5], [-1.0], [0.5], [0.5]])
    pairs = modifier_degree(none, leaning, classes, fragments, strength=0.5)
    np.testing.assert_array_equal(pairs[:, 0], [0.5 * LEANING_WEIGHT, 0, 0, 0, 0, 0])
