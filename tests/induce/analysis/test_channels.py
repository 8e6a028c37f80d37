"""Channels and relations: correlations as numpy's, arcs that go past dropped words, weights as UDGN uses them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch

from induce.analysis.channels import Arc, Correlations, RelationChannels, add_block, seen_arcs
from induce.models.build import make_model
from induce.models.masked.udgn import EDGE, Udgn, UdgnConfig
from induce.settings import resolve
from tests.support.tiny import SETTINGS
from treebank.base.errors import SynparseError
from treebank.core.sentence import ROOT, Place, Sentence

LAYERS, CHANNELS = 2, 3


class FakeModel:
    """Gives each pair of words weights that depend on their numbers and places only; keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, ...]] = []

    def channels(self, tokens: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        self.asked.append(tuple(tokens.shape))
        return torch.stack(
            [torch.stack([self.pairs(row, k) for k in range(LAYERS * CHANNELS)]) for row in tokens]
        ).view(len(tokens), LAYERS, CHANNELS, tokens.shape[1], tokens.shape[1])

    @staticmethod
    def pairs(row: torch.Tensor, k: int) -> torch.Tensor:
        place = torch.arange(len(row))
        return torch.sin((k + 1.0) * row[:, None] + 0.37 * k * row + place[:, None] - 2 * place)


def drawn(count: int) -> tuple[list[list[int]], list[list[Arc]]]:
    """Words and arcs of some sentences, some without an arc or without a word."""
    draw = random.Random(3)
    ids, arcs = [], []
    for _ in range(count):
        n = draw.randint(0, 9)
        ids.append([draw.randint(2, 20) for _ in range(n)])
        own = [Arc(i, draw.choice([j for j in range(n) if j != i]), draw.choice("aaab")) for i in range(1, n)]
        arcs.append(own)
    return ids, arcs


def test_correlations_are_those_of_numpy() -> None:
    ids, arcs = drawn(60)
    found, model = Correlations(), FakeModel()
    for start in range(0, 60, 17):
        add_block(found, model, ids[start : start + 17], arcs[start : start + 17])
    assert len(model.asked) < 20  # side by side
    assert found.arcs == sum(map(len, arcs))
    names = [arc.relation for own in arcs for arc in own]
    for relation in "ab":
        assert found.counts[relation] == names.count(relation)
        y = [float(name == relation) for name in names]
        for k, value in enumerate(found.of(relation).ravel()):
            squares = [FakeModel.pairs(torch.tensor(row), k) for row in ids]
            x = [float(square[arc.head, arc.child]) for square, own in zip(squares, arcs, strict=True) for arc in own]
            assert value == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-6)
    np.testing.assert_allclose(found.of("a"), -found.of("b"), rtol=0, atol=1e-12)


def test_partial_correlations_are_those_of_residuals() -> None:
    """Of what is left when the mean of each kind of arc is taken off both."""
    draw, found = np.random.default_rng(2), Correlations()
    kinds = draw.integers(0, 4, 300)
    y = (draw.random(300) < 0.2 + 0.2 * kinds).astype(float)
    weights = 0.3 * kinds + 0.1 * y + 0.2 * draw.random(300)
    names = ["a" if one else "b" for one in y]
    for start in range(0, 300, 90):
        part = slice(start, start + 90)
        found.add(weights[part, None, None], names[part], kinds[part].tolist())
    assert found.of("a").item() == pytest.approx(np.corrcoef(weights, y)[0, 1])
    means = [np.array([values[kinds == kind].mean() for kind in range(4)])[kinds] for values in (weights, y)]
    assert found.within("a").item() == pytest.approx(np.corrcoef(weights - means[0], y - means[1])[0, 1])


@pytest.mark.parametrize("name", ["transformer", "structformer"])
def test_attention_heads_are_channels(name: str) -> None:
    """Of a Transformer they sum to 1; padding changes nothing; the last layer's give what the model computes."""
    torch.manual_seed(1)
    sizes = [setting for setting in SETTINGS[name] if setting.startswith("model.")]
    model: Any = make_model(resolve(model=name, settings=sizes), 20).double().eval()
    tokens, lengths = torch.tensor([[4, 5, 6, 7], [8, 9, 0, 0]]), torch.tensor([4, 2])
    with torch.inference_mode():
        found = model.channels(tokens, lengths)
        alone = model.channels(tokens[1:, :2], lengths[1:])
    assert found.shape == (2, 2, 2, 4, 4)
    torch.testing.assert_close(found[1:, :, :, :2, :2], alone)
    assert float(found[1, :, :, :, 2:].abs().max()) == 0
    if name == "transformer":
        torch.testing.assert_close(found.sum(-1), torch.ones(2, 2, 2, 4, dtype=torch.float64))
    else:
        assert float(found.sum(-1).max()) > 0


def test_weights_that_hardly_differ_keep_their_digits() -> None:
    draw, found = np.random.default_rng(1), Correlations()
    weights = 0.125 + 1e-7 * draw.random((500, 1, 2))
    names = ["a" if weights[i, 0, 0] > 0.125 + 5e-8 else "b" for i in range(500)]
    for start in range(0, 500, 100):
        found.add(weights[start : start + 100], names[start : start + 100])
    found.add(weights[:0], [])
    for channel in range(2):
        wanted = np.corrcoef(weights[:, 0, channel], [name == "a" for name in names])[0, 1]
        assert found.of("a")[0, channel] == pytest.approx(wanted, abs=1e-6)


def test_a_channel_that_is_always_the_same_has_no_correlation() -> None:
    found = Correlations()
    found.add(np.full((4, 1, 1), 0.3), ["a", "a", "b", "b"])
    assert np.isnan(found.of("a")).all()
    row = RelationChannels(relation="a", arcs=2, correlations=found.of("a"))
    assert row.best is None
    assert row.to_json()["correlations"] == [[None]]
    alone = Correlations()
    alone.add(np.random.default_rng(1).random((4, 1, 2)), ["a"] * 4)
    assert np.isnan(alone.of("a")).all()


def test_the_best_channel() -> None:
    values = np.array([[np.nan, -0.9], [0.2, 0.5], [0.5, 0.1]])
    row = RelationChannels(relation="a", arcs=2, correlations=values)
    assert row.best == (1, 1)
    assert {key: row.to_json()[key] for key in ("layer", "channel", "correlation")} == {
        "layer": 2,
        "channel": 2,
        "correlation": 0.5,
    }


def test_arcs_go_past_words_that_are_not_seen() -> None:
    sentence = Sentence(
        ("He", "saw", ",", "her", "dog", "bark", "."),
        heads=(1, ROOT, 1, 4, 2, 4, 1),
        relations=("nsubj", "root", "punct", "nmod:poss", "obj", "acl", "punct"),
    )
    kept = [0, 1, 3, 4, 5]
    assert seen_arcs(sentence, kept) == [(0, 1, "nsubj"), (2, 3, "nmod"), (3, 1, "obj"), (4, 3, "acl")]
    assert seen_arcs(sentence, kept, subtypes=True)[1] == (2, 3, "nmod:poss")
    assert seen_arcs(sentence, [0, 3, 4]) == [(1, 2, "nmod")]  # the root is gone: words below it are roots
    assert seen_arcs(sentence, []) == []


@pytest.mark.parametrize("given", [{"heads": (1, ROOT)}, {"relations": ("a", "root")}, {}])
def test_sentences_without_relations(given: Any) -> None:
    with pytest.raises(
        SynparseError, match=r"g.conllu:3: this sentence has no dependency relations; CoNLL-U with HEAD"
    ):
        seen_arcs(Sentence(("a", "b"), place=Place("g.conllu", 3), **given), [0, 1])


@pytest.mark.parametrize("changes", [{}, {"competition": "sigmoid"}, {"channels": 1}, {"positions": "embedding"}])
def test_channels_of_udgn_are_what_the_mask_weighs(changes: Any) -> None:
    torch.manual_seed(1)
    config = {"embedding_size": 6, "channels": 3, "channel_size": 4, "layers": 2, "parser_layers": 1, **changes}
    model = Udgn(UdgnConfig(**config), 20).double().eval()
    tokens, lengths = torch.tensor([[4, 5, 6, 7], [8, 9, 0, 0]]), torch.tensor([4, 2])
    with torch.inference_mode():
        found, output = model.channels(tokens, lengths), model(tokens, lengths)
        alone = model.channels(tokens[1:, :2], lengths[1:])
    assert found.shape == (2, 2, config["channels"], 4, 4)
    masked = found * (output.mask + EDGE)[:, None, None]
    for layer, weights in enumerate(output.weights):
        torch.testing.assert_close(masked[0, layer], weights[0])
    torch.testing.assert_close(found[1:, :, :, :2, :2], alone)
    if "competition" not in changes:
        torch.testing.assert_close(found.sum(2), torch.ones(2, 2, 4, 4, dtype=torch.float64))
