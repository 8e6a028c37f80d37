"""The dependency model with valence: resumed runs, and what its settings change in its predictions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch

from induce.data.batches import FragmentBatch, SentenceBatch
from induce.data.corpus import EncodedCorpus
from induce.models.base import Context, Query, SentenceTooLong
from induce.models.em.dependency_tables import by_head
from induce.models.em.dmv import LONGEST, Dmv, DmvConfig
from induce.models.em.head_evidence import LEANING_WEIGHT
from induce.models.em.valence_grammar import GrammarSums, blocks_of_similar_length
from induce.structures import HeadDistribution
from tests.support.tiny import encoded
from treebank.core.sentence import Sentence
from treebank.corpora.sample import sample_treebank

QUICK = {"members": 2, "classes_low": 6, "classes_high": 8, "short_passes": 2, "middle_passes": 1, "long_passes": 1}


RIGHT = Context(right_probability=1.0)


def sample(count: int = 60) -> EncodedCorpus:
    return encoded(sample_treebank("train").sentences[:count])


def fresh(corpus: EncodedCorpus, **settings: object) -> Dmv:
    return Dmv(DmvConfig(**{**QUICK, **settings}), len(corpus.vocabulary))


def learned(corpus: EncodedCorpus, right_probability: float = 1.0, **settings: object) -> Dmv:
    model = fresh(corpus, **settings)
    for _ in model.fit(corpus, 0, Context(right_probability=right_probability)):
        pass
    return model


@pytest.fixture(scope="module")
def corpus() -> EncodedCorpus:
    return sample()


@pytest.fixture(scope="module")
def model(corpus: EncodedCorpus) -> Dmv:
    """A fitted model of ``corpus``, which tests only read."""
    return learned(corpus)


def batch_of(corpus: EncodedCorpus, chosen: Sequence[int]) -> FragmentBatch:
    plain = corpus.sentences(np.array(chosen))
    return FragmentBatch(plain.tokens, plain.lengths, torch.from_numpy(corpus.gaps_before(np.array(chosen))))


def heads_of(model: Dmv, batch: SentenceBatch) -> torch.Tensor:
    return model.structure(batch, Query(HeadDistribution)).probability


def test_resumed_fit_with_lateen_passes_equals_uninterrupted_fit() -> None:
    """Only the buffers are restored."""
    corpus, settings = sample(15), {"em": "lateen", "members": 1, "short_passes": 16}
    whole, part, again = learned(corpus, **settings), fresh(corpus, **settings), fresh(corpus, **settings)
    next(step for step in part.fit(corpus, 0, RIGHT) if step.done == 14)
    again.load_state_dict(part.state_dict())
    steps = list(again.fit(corpus, 14, RIGHT))
    assert (steps[0].done, steps[-1].check) == (15, True)
    for name, table in whole.state_dict().items():
        assert torch.equal(table, again.state_dict()[name]), name


def test_viterbi_and_lateen_passes_count_in_the_best_trees() -> None:
    corpus, settings = sample(20), {"members": 1, "short_passes": 16, "middle_passes": 0, "long_passes": 0}
    models = {em: fresh(corpus, em=em, **settings) for em in ("soft", "viterbi", "lateen")}
    losses, hard = dict[str, list[float]](), dict[str, list[bool]]()
    for em, model in models.items():
        losses[em], hard[em] = [], []
        for step in model.fit(corpus, 0, RIGHT):
            losses[em].append(step.nll)
            hard[em].append(bool(model.hard[0]))
    assert losses["viterbi"][-1] < losses["viterbi"][0]
    assert losses["viterbi"][0] > losses["soft"][0]  # the best tree is less likely than all trees
    assert (set(hard["soft"]), set(hard["viterbi"]), set(hard["lateen"])) == ({False}, {True}, {False, True})
    same = hard["lateen"].index(True)  # passes before the first one in the best trees
    assert losses["lateen"][: same + 1] == losses["soft"][: same + 1]
    assert losses["lateen"][same + 1] > losses["soft"][same + 1]


def test_steps_report_progress_and_only_finished_members_vote(corpus: EncodedCorpus) -> None:
    model, steps = fresh(corpus), []
    assert model.ready() == [0]
    for step in model.fit(corpus, 0, RIGHT):
        assert model.ready() == ([0] if step.done < 8 else [0, 1])
        steps.append(step)
    assert [step.done for step in steps] == list(range(1, 9))
    assert {step.total for step in steps} == {8}
    assert [step.check for step in steps] == [False] * 7 + [True]
    assert steps[1].nll < steps[0].nll  # the second pass over the same sentences
    assert all(0 < step.count <= corpus.lengths.sum() for step in steps)  # without padding


def test_seeds_and_members_differ(corpus: EncodedCorpus, model: Dmv) -> None:
    second = fresh(corpus)
    list(second.fit(corpus, 0, Context(seed=2, right_probability=1.0)))
    assert not torch.equal(model.choose, second.choose)
    assert not torch.equal(model.choose[0], model.choose[1])
    assert len({model.preferences(member) for member in range(2)}) == 2


@pytest.mark.parametrize(("setting", "word", "strength"), [("leaning", "the", 2.0), ("head_leaning", "of", 4.0)])
def test_words_have_heads_or_dependents_on_the_side_to_which_they_lean(
    corpus: EncodedCorpus, setting: str, word: str, strength: float
) -> None:
    batch, shares = batch_of(corpus, range(40)), []
    chosen = batch.tokens == corpus.vocabulary.id(word)
    for value in (-strength, 0.0, strength):
        heads = heads_of(learned(corpus, **{setting: value}), batch)
        if setting == "leaning":
            shares.append(float(heads.triu(1).sum(2)[chosen].mean()))
        else:
            after, before = (side.sum(1)[chosen].mean() for side in (heads.tril(-1), heads.triu(1)))
            shares.append(float(after / (after + before)))
    assert shares[0] < shares[1] < shares[2]


def test_content_words_before_content_words_have_fewer_dependents_in_right_branching_text() -> None:
    """Phrases are an article and a noun, or an article, an adjective and a noun."""
    nouns, adjectives, draw = [f"n{k}" for k in range(9)], [f"a{k}" for k in range(9)], np.random.default_rng(0)
    sentences = []
    for _ in range(300):
        adjective, *heads = draw.choice(adjectives), *draw.choice(nouns, 2)
        phrases = draw.permutation([f"the {adjective} {heads[0]}", f"the {heads[1]}"])
        sentences.append(Sentence(tuple(" ".join(phrases).split())))
    corpus = encoded(sentences)
    words, batch, shares = np.array(corpus.vocabulary.words), batch_of(corpus, range(40)), []
    for probability in (0.4, 1.0):
        model = learned(corpus, probability, modifier_head=4.0)
        assert (model.last_heads > 0).tolist() == [probability > 0.5] * model.config.members
        before_noun = torch.from_numpy(np.char.startswith(words[batch.tokens.numpy()], "a"))
        shares.append(float(heads_of(model, batch).sum(1)[before_noun].mean()))
    assert shares[1] < shares[0]


def test_words_that_lean_to_each_other_are_phrases_only_with_leaning(corpus: EncodedCorpus) -> None:
    """The first of two words is a less likely head if it leans to the right and the second to the left."""
    weights = []
    for strength in (0.0, 2.0):
        model = learned(corpus, leaning=strength, modifier_head=1.0)
        model.last_heads.fill_(0.5)
        model.content.zero_()
        model.leaning[:, 1], model.leaning[:, 2] = 2.0, -1.0
        fragments = np.zeros((2, 1), dtype=int)
        block = model.block(0, np.array([[1], [2]]), fragments, np.array([2]))
        weights.append(float(block.head[0, 0]) / float(model.head_weight[0, 1]))
    assert weights == pytest.approx([1.0, np.exp(-0.5 * LEANING_WEIGHT / 2)])


def test_joint_votes_equal_the_mean_of_single_members(corpus: EncodedCorpus, model: Dmv) -> None:
    """All members in one float32 batch against each member in float64."""
    batch = batch_of(corpus, range(20))
    tokens, lengths, fragments = (part.numpy() for part in (batch.tokens, batch.lengths, batch.fragments))
    expected = np.zeros((*tokens.shape, tokens.shape[1]))
    for member in range(2):
        block = model.block(member, tokens.T, fragments.T, lengths)
        trees = GrammarSums(model.preferences(member)).trees(model.grammar(member), block)
        arcs = by_head(trees.first + trees.later)
        arcs[np.arange(len(arcs)), np.arange(len(arcs))] = trees.root
        expected += arcs.transpose(2, 1, 0) / 2
    np.testing.assert_allclose(heads_of(model, batch).numpy(), expected, atol=1e-5)


def test_blocks_contain_every_sentence_once() -> None:
    draw = np.random.default_rng(0)
    lengths, whole = draw.integers(0, 30, 200), draw.random(200) < 0.5
    indices: list[int] = []
    for rows, count in blocks_of_similar_length(lengths, whole, table=3000):
        assert lengths[rows].max() == count
        assert len(rows) * count**2 <= 3000
        assert len(set(whole[rows].tolist())) == 1
        indices += rows.tolist()
    assert sorted(indices) == np.flatnonzero(lengths).tolist()


def test_punctuation_changes_heads_and_is_optional(corpus: EncodedCorpus, model: Dmv) -> None:
    batch = batch_of(corpus, range(60))
    assert batch.fragments.any()
    plain = SentenceBatch(batch.tokens, batch.lengths)
    unbroken = FragmentBatch(batch.tokens, batch.lengths, torch.zeros_like(batch.gaps))
    torch.testing.assert_close(heads_of(model, plain), heads_of(model, unbroken))
    assert not torch.allclose(heads_of(model, plain), heads_of(model, batch))


def test_log_probabilities_sum_to_less_than_one() -> None:
    """Sum over all sentences of one and two words of a tiny vocabulary."""
    corpus = encoded([Sentence(("a", "b", "a", "b", "a", "c"))] * 20)
    model = learned(corpus, classes_low=2, classes_high=2)
    size = len(corpus.vocabulary)
    pairs = torch.cartesian_prod(torch.arange(size), torch.arange(size))
    log_pairs = model.log_probability(SentenceBatch(pairs, torch.full((len(pairs),), 2)))
    log_words = model.log_probability(SentenceBatch(torch.arange(size)[:, None], torch.ones(size, dtype=torch.int64)))
    assert 0 < float(log_words.exp().sum() + log_pairs.exp().sum()) < 1


def test_zero_classes_make_each_word_a_class() -> None:
    corpus = encoded([Sentence(("DT", "NN", "VBZ"))] * 5 + [Sentence(("NN", "VBZ", "NN"))] * 5)
    model = learned(corpus, members=1, classes_low=0, classes_high=0)
    assert model.classes[0].tolist() == list(range(len(corpus.vocabulary)))


def test_too_long_sentence_is_reported_with_its_index() -> None:
    corpus = sample(30)
    model = fresh(corpus)
    tokens = torch.ones(2, LONGEST + 1, dtype=torch.int64)
    with pytest.raises(SentenceTooLong, match="501 words are too many for this model, which reads at most") as error:
        model.structure(SentenceBatch(tokens, torch.tensor([3, LONGEST + 1])), Query(HeadDistribution))
    assert error.value.index == 1
