"""An Option-Controller Network over words: the program of `ocn` with next words as actions, and distances."""

from __future__ import annotations

import torch
from torch.nn import functional

from induce.data.batches import SentenceBatch
from induce.models.base import Query
from induce.structures import Distances
from induce.tasks.craft.ocn import actions_of
from induce.tasks.craft.ocn_text import OptionWords, OptionWordsConfig

WORDS = 7


def make_model() -> OptionWords:
    torch.manual_seed(3)
    config = OptionWordsConfig(embedding_size=4, hidden_size=5, inner_size=6, options=3, temperature=1.0, dropout=0.0)
    model = OptionWords(config, WORDS).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.5 * torch.randn_like(parameter)
    return model


def make_batch() -> SentenceBatch:
    return SentenceBatch(torch.tensor([[2, 3, 4, 5], [6, 2, 0, 0]]), torch.tensor([4, 2]))


@torch.no_grad()
def test_next_words_are_the_actions_of_the_program() -> None:
    """The scores of each option are computed one by one and mixed like actions of Craft."""
    model, sentences = make_model(), make_batch()
    before = functional.pad(sentences.tokens, (1, 0))
    move, called, _ = model.moves(model.embedding(before), torch.zeros(2, dtype=torch.long))
    scored = [vectors @ model.embedding.weight.t() + model.bias for vectors in (move.scores, called)]
    words = actions_of(move._replace(scores=scored[0]), scored[1]).transpose(0, 1)  # (B, S, V)
    torch.testing.assert_close(words.sum(-1), torch.ones_like(words[..., 0]))
    logs = words.log()
    expected = [[(0, 2), (1, 3), (2, 4), (3, 5), (4, 0)], [(0, 6), (1, 2), (2, 0)]]
    scores = model.word_log_probabilities(sentences)
    for row, steps in enumerate(expected):
        torch.testing.assert_close(
            scores[row, : len(steps)], torch.stack([logs[row, step, word] for step, word in steps])
        )
    assert not scores[1, 3:].any()
    loss = model.loss(sentences)
    assert loss.count == 8
    torch.testing.assert_close(loss.nll, -scores.sum() / 8)


@torch.no_grad()
def test_distance_does_not_depend_on_later_words() -> None:
    model, sentences = make_model(), make_batch()
    rows = model.structure(sentences, Query(Distances)).rows()
    assert [len(row) for row in rows] == [4, 2]
    assert rows[0][0] == 1
    other = SentenceBatch(torch.tensor([[2, 3, 6, 6]]), torch.tensor([4]))
    changed = model.structure(other, Query(Distances)).rows()[0]
    assert changed[:3] == rows[0][:3]  # gaps up to the third word depend on the first two words
    assert changed[3] != rows[0][3]
