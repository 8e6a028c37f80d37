"""Correlations of channels compared with numpy, arcs over dropped words, and the channels of each model."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch

from induce.analysis.channels import Arc, Correlations, RelationChannels, add_block, read_arcs
from induce.models.base import make_model
from induce.models.masked.udgn import EDGE, Udgn, UdgnConfig
from induce.settings.presets import resolve
from tests.support.tiny import SETTINGS
from treebank.base.errors import SynparseError
from treebank.core.sentence import ROOT, Location, Sentence

LAYERS, CHANNELS = 2, 3


class FakeModel:
    """Model whose channels depend on word indices and positions only. It records the shapes of its batches."""

    def __init__(self) -> None:
        self.shapes: list[tuple[int, ...]] = []

    def channels(self, tokens: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        self.shapes.append(tuple(tokens.shape))
        return torch.stack(
            [torch.stack([self.pairs(row, k) for k in range(LAYERS * CHANNELS)]) for row in tokens]
        ).view(len(tokens), LAYERS, CHANNELS, tokens.shape[1], tokens.shape[1])

    @staticmethod
    def pairs(row: torch.Tensor, k: int) -> torch.Tensor:
        position = torch.arange(len(row))
        return torch.sin((k + 1.0) * row[:, None] + 0.37 * k * row + position[:, None] - 2 * position)


def random_arcs(count: int) -> tuple[list[list[int]], list[list[Arc]]]:
    """Word indices and arcs of sentences, some of them without an arc or without a word."""
    draw = random.Random(3)
    ids, arcs = [], []
    for _ in range(count):
        n = draw.randint(0, 9)
        ids.append([draw.randint(2, 20) for _ in range(n)])
        heads = [draw.choice([j for j in range(n) if j != i]) for i in range(1, n)]
        arcs.append([Arc(i, head, draw.choice("aaab")) for i, head in enumerate(heads, 1)])
    return ids, arcs


def test_correlations_equal_those_of_numpy() -> None:
    ids, arcs = random_arcs(60)
    sums, model = Correlations(), FakeModel()
    for start in range(0, 60, 17):
        add_block(sums, model, ids[start : start + 17], arcs[start : start + 17])
    assert len(model.shapes) < 20  # batches of similar length
    assert sums.arcs == sum(map(len, arcs))
    names = [arc.relation for sentence in arcs for arc in sentence]
    for relation in "ab":
        assert sums.counts[relation] == names.count(relation)
        y = [float(name == relation) for name in names]
        for k, value in enumerate(sums.of(relation).ravel()):
            squares = [FakeModel.pairs(torch.tensor(row), k) for row in ids]
            x = [float(square[arc.head, arc.child]) for square, some in zip(squares, arcs, strict=True) for arc in some]
            assert value == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-6)
    np.testing.assert_allclose(sums.of("a"), -sums.of("b"), rtol=0, atol=1e-12)


def test_partial_correlations_equal_those_of_residuals() -> None:
    """Residuals are differences from the mean of the group of an arc."""
    draw, sums = np.random.default_rng(2), Correlations()
    groups = draw.integers(0, 4, 300)
    y = (draw.random(300) < 0.2 + 0.2 * groups).astype(float)
    weights = 0.3 * groups + 0.1 * y + 0.2 * draw.random(300)
    names = ["a" if value else "b" for value in y]
    for start in range(0, 300, 90):
        part = slice(start, start + 90)
        sums.add(weights[part, None, None], names[part], groups[part].tolist())
    assert sums.of("a").item() == pytest.approx(np.corrcoef(weights, y)[0, 1])
    means = [np.array([values[groups == group].mean() for group in range(4)])[groups] for values in (weights, y)]
    assert sums.within("a").item() == pytest.approx(np.corrcoef(weights - means[0], y - means[1])[0, 1])


@pytest.mark.parametrize("name", ["transformer", "structformer"])
def test_attention_heads_are_channels_whatever_the_padding(name: str) -> None:
    torch.manual_seed(1)
    sizes = [setting for setting in SETTINGS[name] if setting.startswith("model.")]
    model: Any = make_model(resolve(model=name, settings=sizes), 20).double().eval()
    tokens, lengths = torch.tensor([[4, 5, 6, 7], [8, 9, 0, 0]]), torch.tensor([4, 2])
    with torch.inference_mode():
        weights = model.channels(tokens, lengths)
        alone = model.channels(tokens[1:, :2], lengths[1:])
    assert weights.shape == (2, 2, 2, 4, 4)
    torch.testing.assert_close(weights[1:, :, :, :2, :2], alone)
    assert float(weights[1, :, :, :, 2:].abs().max()) == 0
    if name == "transformer":
        torch.testing.assert_close(weights.sum(-1), torch.ones(2, 2, 2, 4, dtype=torch.float64))
    else:
        assert float(weights.sum(-1).max()) > 0


def test_correlation_of_similar_weights_is_precise() -> None:
    draw, sums = np.random.default_rng(1), Correlations()
    weights = 0.125 + 1e-7 * draw.random((500, 1, 2))
    names = ["a" if weights[i, 0, 0] > 0.125 + 5e-8 else "b" for i in range(500)]
    for start in range(0, 500, 100):
        sums.add(weights[start : start + 100], names[start : start + 100])
    sums.add(weights[:0], [])
    for channel in range(2):
        expected = np.corrcoef(weights[:, 0, channel], [name == "a" for name in names])[0, 1]
        assert sums.of("a")[0, channel] == pytest.approx(expected, abs=1e-6)


def test_constant_channel_has_no_correlation() -> None:
    sums = Correlations()
    sums.add(np.full((4, 1, 1), 0.3), ["a", "a", "b", "b"])
    assert np.isnan(sums.of("a")).all()
    row = RelationChannels(relation="a", arcs=2, correlations=sums.of("a"))
    assert row.best is None
    assert row.to_json()["correlations"] == [[None]]
    alone = Correlations()
    alone.add(np.random.default_rng(1).random((4, 1, 2)), ["a"] * 4)
    assert np.isnan(alone.of("a")).all()


def test_best_channel_has_the_largest_correlation() -> None:
    values = np.array([[np.nan, -0.9], [0.2, 0.5], [0.5, 0.1]])
    row = RelationChannels(relation="a", arcs=2, correlations=values)
    assert row.best == (1, 1)
    assert {key: row.to_json()[key] for key in ("layer", "channel", "correlation")} == {
        "layer": 2,
        "channel": 2,
        "correlation": 0.5,
    }


def test_arcs_pass_over_dropped_words() -> None:
    sentence = Sentence(
        ("He", "saw", ",", "her", "dog", "bark", "."),
        heads=(1, ROOT, 1, 4, 2, 4, 1),
        relations=("nsubj", "root", "punct", "nmod:poss", "obj", "acl", "punct"),
    )
    indices = [0, 1, 3, 4, 5]
    assert read_arcs(sentence, indices) == [(0, 1, "nsubj"), (2, 3, "nmod"), (3, 1, "obj"), (4, 3, "acl")]
    assert read_arcs(sentence, indices, subtypes=True)[1] == (2, 3, "nmod:poss")
    assert read_arcs(sentence, [0, 3, 4]) == [(1, 2, "nmod")]  # dependents of the dropped root are roots
    assert read_arcs(sentence, []) == []


@pytest.mark.parametrize("annotation", [{"heads": (1, ROOT)}, {"relations": ("a", "root")}, {}])
def test_sentence_without_relations_is_refused(annotation: Any) -> None:
    with pytest.raises(
        SynparseError, match=r"g.conllu:3: this sentence has no dependency relations; give CoNLL-U with HEAD"
    ):
        read_arcs(Sentence(("a", "b"), location=Location("g.conllu", 3), **annotation), [0, 1])


@pytest.mark.parametrize("changes", [{}, {"competition": "sigmoid"}, {"channels": 1}, {"positions": "embedding"}])
def test_channels_of_udgn_are_weighted_by_the_mask(changes: Any) -> None:
    torch.manual_seed(1)
    config = {"embedding_size": 6, "channels": 3, "channel_size": 4, "layers": 2, "parser_layers": 1, **changes}
    model = Udgn(UdgnConfig(**config), 20).double().eval()
    tokens, lengths = torch.tensor([[4, 5, 6, 7], [8, 9, 0, 0]]), torch.tensor([4, 2])
    with torch.inference_mode():
        channels, output = model.channels(tokens, lengths), model(tokens, lengths)
        alone = model.channels(tokens[1:, :2], lengths[1:])
    assert channels.shape == (2, 2, config["channels"], 4, 4)
    masked = channels * (output.mask + EDGE)[:, None, None]
    for layer, weights in enumerate(output.weights):
        torch.testing.assert_close(masked[0, layer], weights[0])
    torch.testing.assert_close(channels[1:, :, :, :2, :2], alone)
    if "competition" not in changes:
        torch.testing.assert_close(channels.sum(2), torch.ones(2, 2, 4, 4, dtype=torch.float64))
