"""What the neural grammars share: sentences of every length, batches of several, the scale of charts."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
import torch

from induce.data.batches import FragmentBatch, SentenceBatch
from induce.data.corpus import EncodedCorpus
from induce.data.vocabulary import Vocabulary
from induce.decoding.chart import mbr
from induce.models.base import Query
from induce.models.grammars import branching
from induce.models.grammars import grammar as module
from induce.models.grammars.cpcfg import CompoundPcfg, CpcfgConfig
from induce.models.grammars.grammar import Grammar
from induce.models.grammars.npcfg import NeuralPcfg, NpcfgConfig
from induce.models.grammars.simple_pcfg import SimplePcfg, SimplePcfgConfig
from induce.structures import Brackets, SpanScores

SIZES = {"nonterminals": 3, "preterminals": 4, "embedding_size": 8}
WORDS = 7


def model(kind: str) -> Grammar:
    """An untrained model over `WORDS` words, in evaluation mode."""
    torch.manual_seed(1)
    models = {
        "npcfg": lambda: NeuralPcfg(NpcfgConfig(**SIZES), WORDS),
        "cpcfg": lambda: CompoundPcfg(CpcfgConfig(**SIZES, latent_size=2, encoder_size=4), WORDS),
        "simple-pcfg": lambda: SimplePcfg(SimplePcfgConfig(**SIZES), WORDS),
    }
    return models[kind]().eval()


def batch(*lengths: int) -> SentenceBatch:
    tokens = torch.randint(1, WORDS, (len(lengths), max(lengths)), generator=torch.Generator().manual_seed(2))
    for row, length in enumerate(lengths):
        tokens[row, length:] = 0
    return SentenceBatch(tokens, torch.tensor(lengths))


@pytest.mark.parametrize("kind", ["npcfg", "simple-pcfg"])
def test_probabilities_of_all_sentences_of_a_length_make_one(kind: str) -> None:
    """Of three symbols' trees; a sentence of one word is drawn on its own, and so are those of two."""
    for length in (1, 2):
        grid = torch.cartesian_prod(*[torch.arange(WORDS)] * length).view(-1, length)
        total = model(kind).log_probability(SentenceBatch(grid, torch.full((len(grid),), length))).exp().sum()
        assert total.item() <= 1 + 1e-5
        assert length > 1 or total.item() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("kind", ["npcfg", "cpcfg", "simple-pcfg"])
def test_the_loss_is_that_of_the_sentences_one_by_one(kind: str) -> None:
    grammar, mixed = model(kind), batch(5, 1, 3, 5)
    alone = [grammar.log_probability(mixed.select(torch.tensor([k]))) for k in range(4)]
    assert grammar.log_probability(mixed).tolist() == pytest.approx(torch.cat(alone).tolist(), rel=1e-5)
    loss = grammar.loss(mixed)
    assert loss.count == 14
    assert loss.nll.item() == pytest.approx(-sum(map(float, alone)) / 14, rel=1e-5)


@pytest.mark.parametrize("kind", ["npcfg", "cpcfg", "simple-pcfg"])
def test_sentences_of_every_length_get_trees(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST", 4)
    grammar = model(kind)
    with torch.no_grad():
        scores = grammar.structure(batch(1, 2, 4, 9), Query(SpanScores)).rows()
        trees = grammar.structure(batch(1, 2, 4, 9), Query(Brackets)).rows()
    for count, score, spans in zip((1, 2, 4, 9), scores, trees, strict=True):
        assert len(mbr(score)) == len(spans) == count - 1
        assert all(label.startswith("NT") for _, _, label in spans)
    assert {(3, 9), (6, 9)} <= set(mbr(scores[3])) & {(start, end) for start, end, _ in trees[3]}


def test_the_scale_of_charts_follows_the_training() -> None:
    grammar = model("npcfg").train()
    for _ in range(60):
        before = float(grammar.growth)
        grammar.loss(batch(6, 6))
    assert float(grammar.growth) != 0
    assert float(grammar.growth) == pytest.approx(before, abs=1e-2)
    assert math.isfinite(before)


def test_symbols_are_counted_where_stretches_begin_and_end() -> None:
    """Of three words in stretches of one and two, the only phrases but the whole begin or end at the boundary."""
    grammar, plain = model("npcfg").train(), batch(3)
    grammar.loss(FragmentBatch(plain.tokens, plain.lengths, torch.tensor([[0, 1, 0]])))
    with torch.no_grad():
        marginals = grammar.eval().structure(plain, Query(SpanScores)).rows()[0]
    first, second = marginals[0, 2], marginals[1, 3]  # both begin where a stretch does, one ends so
    assert first + second == pytest.approx(1, abs=1e-5)
    begins, ends = grammar.edges.sum(1).tolist()
    assert begins == pytest.approx(module.COUNTED_MEMORY * 1, rel=1e-4)
    assert ends == pytest.approx(module.COUNTED_MEMORY * second, rel=1e-4)


def test_spans_of_a_symbol_that_hardly_ends_a_stretch_count_less() -> None:
    grammar, sentence = model("npcfg"), batch(5)

    def scores(end_votes: float) -> torch.Tensor:
        grammar.config = dataclasses.replace(grammar.config, end_votes=end_votes)
        with torch.no_grad():
            return torch.as_tensor(grammar.structure(sentence, Query(SpanScores)).rows()[0])

    plain = scores(0)
    torch.testing.assert_close(scores(2), plain)  # nothing has been counted yet
    grammar.edges.copy_(torch.tensor([[4.0, 4.0, 4.0], [1.0, 1.0, 1.0]]))
    torch.testing.assert_close(scores(2)[:, :5], plain[:, :5] / 2)  # the whole is a phrase in any case
    grammar.edges.copy_(torch.tensor([[4.0, 4.0, 4.0], [0.0, 2.0, 9.0]]))
    assert (scores(2) < plain - 1e-4)[plain > 0.1].any()
    grammar.edges.copy_(torch.tensor([[4.0, 4.0, 4.0], [2.0, 2.0, 9.0]]))
    torch.testing.assert_close(scores(2), plain)


def test_the_shape_for_the_other_side_is_the_mirror_image() -> None:
    grammar, fragments = model("npcfg"), torch.tensor([[0, 0, 1, 1, 1], [0, 1, 1, 2, 2]])
    right = grammar._shape(fragments)
    grammar.config = dataclasses.replace(grammar.config, branching="left")
    left = grammar._shape(fragments.flip(1).max() - fragments.flip(1))
    assert right[0, [2, 0, 1], [5, 2, 4]].tolist() == pytest.approx([2, 1, -branching.ENDS_INSIDE])
    for start in range(5):
        for end in range(start + 2, 6):
            assert torch.equal(right[:, start, end], left[:, 5 - end, 5 - start])
    grammar.config = dataclasses.replace(grammar.config, end_votes=1.0)
    grammar.edges.copy_(torch.tensor([[1.0, 2.0, 3.0], [2.0, 2.0, 2.0]]))
    assert grammar._votes().tolist() == pytest.approx([1 / 2, 1, 1])  # type: ignore[union-attr]


def test_words_are_counted_where_stretches_begin_and_end() -> None:
    """Of `2 3, 2 | 3 2`: word 2 begins two of three stretches and ends two, word 3 one and one, of five places."""
    corpus = EncodedCorpus(
        Vocabulary(("<eos>", "<unk>", "a", "b", "c")),
        np.array([2, 3, 2, 0, 3, 2, 0], dtype=np.int32),
        np.array([0, 4, 7]),
        np.array([False, False, True, True, False, False, False]),  # the final mark of a sentence may be dropped, too
        np.zeros(0, dtype=np.float32),
    )
    begins, ends = branching.word_edges(corpus, 5)
    mean, rare = 3 / 5, branching.RARE
    assert begins.tolist() == pytest.approx(
        [1, 1, (2 + rare * mean) / (3 + rare) / mean, (1 + rare * mean) / (2 + rare) / mean, 1]
    )
    assert ends.tolist() == pytest.approx(begins.tolist())
    assert begins[2] > 1 > begins[3]


def test_spans_whose_last_word_hardly_ends_a_stretch_count_less() -> None:
    grammar, sentence = model("npcfg"), batch(5)
    tokens = torch.tensor([[2, 3, 4, 2, 3]])
    stretches = FragmentBatch(tokens, sentence.lengths, torch.tensor([[0, 0, 1, 0, 0]]))
    grammar.word_edges.copy_(torch.tensor([[1.0] * WORDS, [1.0, 1.0, 9.0, 0.2, 0.6, 1.0, 1.0]]))

    def scores(word_votes: float, branching: str = "right") -> torch.Tensor:
        grammar.config = dataclasses.replace(grammar.config, word_votes=word_votes, branching=branching)
        with torch.no_grad():
            return torch.as_tensor(grammar.structure(stretches, Query(SpanScores)).rows()[0])

    plain = scores(0)
    share = scores(0.5)[1, 3:] / plain[1, 3:]
    assert share.tolist() == pytest.approx([0.3, 1, 1])  # word 4; word 2, which is not counted more; the end
    assert (scores(0.5)[0, 2] / plain[0, 2]).item() == pytest.approx(1)  # word 3 ends a stretch here
    grammar.word_edges.copy_(grammar.word_edges.flip(0))
    share = scores(0.5, "left")[:4, 4] / plain[:4, 4]
    assert share[:3].tolist() == pytest.approx([1, 0.1, 1])  # word 3 begins the second span only
