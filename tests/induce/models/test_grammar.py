"""What the neural grammars share: sentences of every length, batches of several, the scale of charts."""

from __future__ import annotations

import math

import pytest
import torch

from induce.data.batches import SentenceBatch
from induce.decoding.chart import mbr
from induce.models import grammar as module
from induce.models.base import Query
from induce.models.cpcfg import CompoundPcfg, CpcfgConfig
from induce.models.grammar import Grammar
from induce.models.npcfg import NeuralPcfg, NpcfgConfig
from induce.models.simple_pcfg import SimplePcfg, SimplePcfgConfig
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
