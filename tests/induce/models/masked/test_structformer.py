"""StructFormer and Transformer compute what the released programs compute, and each part what its formula says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch.nn import functional

from induce.data.batches import SentenceBatch
from induce.decoding.distances import nary
from induce.decoding.heads import argmax, chu_liu_edmonds
from induce.layers.masks import real_words
from induce.models.base import Query
from induce.models.masked.masked_model import Transformer, TransformerConfig, without_self
from induce.models.masked.structformer import StructFormer, StructFormerConfig, block_ends, heads_of_blocks, margins
from induce.structures import Distances, HeadDistribution, Heights
from tests.support.masked_weights import check_masked_loss, check_that_padding_is_ignored, give_weights
from tests.support.reference import Fixture, fixtures, load
from treebank.core.sentence import ROOT
from treebank.io.bracketed import parse_bare

pytestmark = pytest.mark.usefixtures("double")

TINY = StructFormerConfig(
    embedding_size=8, heads=2, layers=2, feedforward_size=32, parser_layers=2, width=3, dropout=0.0, mask_rate=0.5
)
TINY_TRANSFORMER = TransformerConfig(
    embedding_size=8, heads=2, layers=2, feedforward_size=32, dropout=0.0, mask_rate=0.5
)


def structformer_of(fixture: Fixture) -> StructFormer:
    """The model of a fixture with its weights."""
    sizes = fixture.sizes
    config = replace(
        TINY,
        embedding_size=sizes["emb"],
        heads=sizes["heads"],
        layers=sizes["layers"],
        feedforward_size=4 * sizes["emb"],
        parser_layers=sizes["parser_layers"],
        width=sizes["width"],
        positions=sizes["positions"],
        affine=fixture.name == "structformer_released",
        calibration="batch",
    )
    model = StructFormer(config, sizes["vocab"] - 1)  # the mask has a number of its own
    give_weights(model, fixture)
    return model


@pytest.mark.parametrize("name", fixtures("structformer"))
def test_like_the_released_programs(name: str) -> None:
    fixture = load(name)
    model = structformer_of(fixture)
    lengths = torch.tensor(fixture.sizes["lengths"])
    ids = torch.tensor(fixture.arrays["ids"])
    real = real_words(ids, lengths)

    distances, heights = model.parser(model.embedding(ids), real)
    fixture.check("distance_raw", distances)
    fixture.check("height_raw", heights)
    parse = model.parse(ids, lengths, shared_margin=True)
    fixture.check("distance", parse.distances)
    fixture.check("height", parse.heights)
    fixture.check("margin", (distances - parse.distances)[0, 0])
    gamma = ((parse.heights[:, :, None] - parse.distances[:, None]) * model.scales[0].exp()).sigmoid()
    fixture.check("block", block_of(*block_ends(gamma, torch.arange(ids.shape[1]))))
    full = heads_of_blocks(*parse, model.scales)
    if "head_with_self" in fixture.arrays:
        fixture.check("head_with_self", full)
        fixture.check("loghead", (full + 1e-9).log().flatten(0, 1))
    head = model.head_distribution(parse)
    fixture.check("head", head)
    if "sibling" in fixture.arrays:
        fixture.check("sibling", without_self(head @ head.transpose(1, 2)))
    fixture.check("attention_mask", torch.stack([mask.flatten(0, 1) for mask in model.mixed_relations(head)]))
    check_masked_loss(model, fixture)


def block_of(begins: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
    """P(word j lies in the block of word i): the block begins before it, or at it, and ends not before it."""
    left, right = begins.cumsum(2), ends.flip(2).cumsum(2).flip(2)
    return torch.where(torch.ones_like(left).tril().bool(), left, right)


def framed(fixture: Fixture) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Each sentence of a fixture by itself, with boundary marks and without masked words."""
    rows = zip(fixture.arrays["tokens"], fixture.sizes["lengths"], strict=True)
    return [(torch.tensor([[0, *tokens[:length].tolist(), 0]]), torch.tensor([length])) for tokens, length in rows]


@pytest.mark.parametrize("name", fixtures("structformer_released"))
def test_the_same_trees_and_heads_as_the_released_program(name: str) -> None:
    """Each sentence alone, as it parses. Our margin of each sentence gives the same in a batch."""
    fixture = load(name)
    model = structformer_of(fixture)
    batched = torch.tensor(fixture.arrays["tokens"])
    batch = model.parse(batched, torch.tensor(fixture.sizes["lengths"]))
    for k, (tokens, length) in enumerate(framed(fixture)):
        target = fixture.doc["expected"]["parses"][k]
        count = int(length)
        for name_, got in (("distance", batch.distances[k, :count]), ("height", batch.heights[k, :count])):
            fixture.check(f"alone/{k}/{name_}", got)
        fixture.check(f"alone/{k}/head", model.head_distribution(batch)[k, :count, :count])
        alone = SentenceBatch(tokens[:, 1:-1], length)
        values = model.structure(alone, Query(Distances)).values[0].tolist()
        assert set(nary(values)) == set(parse_bare(target["tree"]).spans)
        heads = argmax(model.structure(alone, Query(HeadDistribution)).probability[0].tolist())
        assert [("root" if head == ROOT else head) for head in heads] == target["heads"]


@pytest.mark.parametrize("name", fixtures("structformer_mlm"))
def test_the_same_heads_as_the_program_of_udgn(name: str) -> None:
    """There the diagonal is 0, so that no word is its own head."""
    fixture = load(name)
    model = structformer_of(fixture)
    expected = fixture.doc["expected"]["heads"]
    assert len(expected) == len(fixture.sizes["lengths"])
    for (tokens, length), target in zip(framed(fixture), expected, strict=True):
        result = model.structure(SentenceBatch(tokens[:, 1:-1], length), Query(HeadDistribution)).probability
        assert list(argmax(without_self(result)[0].tolist())) == target["argmax"]
        tree = chu_liu_edmonds(result[0].tolist())
        assert [i if head == ROOT else head for i, head in enumerate(tree)] == target["tree"]


@pytest.mark.parametrize("name", fixtures("transformer_mlm"))
def test_the_transformer_like_the_released_program(name: str) -> None:
    fixture = load(name)
    sizes = fixture.sizes
    config = replace(
        TINY_TRANSFORMER,
        embedding_size=sizes["emb"],
        heads=sizes["heads"],
        layers=sizes["layers"],
        feedforward_size=4 * sizes["emb"],
        positions=sizes["positions"],
        affine=False,
    )
    model = Transformer(config, sizes["vocab"] - 1)
    give_weights(model, fixture)
    check_masked_loss(model, fixture)


# --- each part against its formula ----------------------------------------------------------------------------------


def random_parse(seed: int, lengths: list[int]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Distances and heights as the parser gives them before calibration, and all but the padding."""
    torch.manual_seed(seed)
    size = (len(lengths), max(lengths))
    real = real_words(torch.zeros(size), torch.tensor(lengths))
    distances, heights = torch.randn(size) * 2, torch.randn(size) * 2
    if seed % 3 == 0:  # ties
        distances, heights = distances.round(), heights.round()
    last = ~real.roll(-1, 1) | (torch.arange(size[1]) == size[1] - 1)
    return distances.masked_fill(last, 1e9).requires_grad_(), heights.masked_fill(~real, -1e9).requires_grad_(), real


def plain_margin(distances: torch.Tensor, heights: torch.Tensor) -> torch.Tensor:
    """The margin of one sentence by its definition, span by span."""
    best, count = torch.zeros(()), len(distances)
    for i in range(count):
        for j in range(i, count):
            if (i, j) != (0, count - 1):
                height = heights[i : j + 1].max()
                left = distances[i - 1] if i else torch.tensor(1e9)
                best = torch.maximum(best, torch.minimum(left - height, distances[j] - height))
    return best


@pytest.mark.parametrize("seed", range(30))
def test_the_margin_is_that_of_all_spans(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("induce.models.masked.structformer.ROWS", 4)  # words in several blocks
    lengths = [9, 1 + seed % 8, 2, 1]
    distances, heights, real = random_parse(seed, lengths)
    result = margins(distances, heights, real)
    for k, length in enumerate(lengths):
        target = plain_margin(distances[k, :length], heights[k, :length])
        assert result[k].item() == pytest.approx(target.item(), abs=1e-12)
        if seed % 3 and target > 0:
            for values in (distances, heights):
                got, expected = (torch.autograd.grad(x, values, retain_graph=True)[0] for x in (result[k], target))
                assert torch.equal(got, expected)


def plain_heads(distances: torch.Tensor, heights: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    """The head distribution of one sentence by its definition, for all ends of all blocks."""
    count = len(distances)
    heads = torch.zeros(count, count)
    scores = heights * scales[1].exp()
    for i in range(count):
        gamma = ((heights[i] - distances) * scales[0].exp()).sigmoid()
        reach_left = [torch.cat((torch.ones(1), gamma[k:i])).min() for k in range(i + 1)]  # to word k at least
        reach_right = [torch.cat((torch.ones(1), gamma[i:k])).min() for k in range(count)]
        for left in range(i + 1):
            begins = reach_left[left] - (reach_left[left - 1] if left else 0)
            for right in range(i, count):
                ends = reach_right[right] - (reach_right[right + 1] if right + 1 < count else 0)
                share = scores[left : right + 1].softmax(0) * begins * ends
                heads[i] = heads[i] + functional.pad(share, (left, count - 1 - right))
    return heads


@pytest.mark.parametrize("seed", range(1, 9))
def test_heads_are_those_of_all_blocks(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("induce.models.masked.structformer.ROWS", 4)
    lengths = [9, 1 + seed, 2, 1]
    distances, heights, real = random_parse(seed + (seed % 3 == 0), lengths)
    scales = (torch.randn(2) * 0.5).requires_grad_()
    distances_ = distances - margins(distances, heights, real)[:, None]
    result = heads_of_blocks(distances_, heights, scales)
    for k, length in enumerate(lengths):
        got = result[k, :length, :length]
        target = plain_heads(distances_[k, :length], heights[k, :length], scales)
        torch.testing.assert_close(got, target, rtol=1e-11, atol=1e-12)
        torch.testing.assert_close(got.sum(1), torch.ones(length))
        cotangent = torch.randn(length, length)
        values = (distances, heights, scales)
        for entry, other in zip(
            *(torch.autograd.grad((x * cotangent).sum(), values, retain_graph=True) for x in (got, target)), strict=True
        ):
            torch.testing.assert_close(entry, other, rtol=1e-9, atol=1e-11)


def test_heads_in_float32_far_apart() -> None:
    """Heights whose exponentials exceed float32."""
    distances = torch.tensor([[0.0, 1.0, 0.5, 1e9]]).float()
    heights = torch.tensor([[-150.0, 150.0, -149.0, -150.0]]).float()
    result = heads_of_blocks(distances, heights, torch.zeros(2).float())
    target = plain_heads(distances[0].double(), heights[0].double(), torch.zeros(2))
    assert result.dtype == torch.float32
    torch.testing.assert_close(result[0].double(), target, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", ["distance", "scrambled"])
def test_relative_bias(kind: str) -> None:
    """By the number of words between two, for each head. Scrambled, sentences get the bias of other heads."""
    torch.manual_seed(1)
    plain = replace(TINY_TRANSFORMER, layers=1, positions=False)
    model = Transformer(replace(plain, relative_bias=kind), 20)
    layer = model.layers[0]
    torch.nn.init.normal_(layer.relative)
    bias = layer.bias_of_pairs(layer.relative, 3, 5).expand(3, 2, 5, 5)
    for k in range(6):
        head = k % 2 if kind == "distance" else k // 3
        for i in range(5):
            for j in range(5):
                assert bias.flatten(0, 1)[k, i, j] == layer.relative[head, abs(i - j)]
    far = layer.bias_of_pairs(layer.relative, 1, 300)
    assert far.shape[-1] == 300
    assert torch.equal(far[..., 0, 299], far[..., 0, 255])


SETTINGS: dict[str, dict[str, Any]] = {
    "released": {},
    "udgn": {"affine": False, "xavier": True},
    "relative bias": {"relative_bias": "distance", "positions": False},
    "parent": {"relations": "parent"},
    "child": {"relations": "child"},
    "siblings": {"relations": "parent+child+sibling"},
}


@pytest.mark.parametrize("changes", SETTINGS.values(), ids=SETTINGS)
def test_every_setting_trains_and_ignores_padding(changes: dict[str, Any]) -> None:
    torch.manual_seed(2)
    model = StructFormer(replace(TINY, **changes), 20)
    check_that_padding_is_ignored(model)
    alone = "+" not in model.config.relations  # a single relation has the weight 1
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        free = name in ("parser.distance.bias", "parser.height.bias") or (alone and name == "relations")
        assert free or parameter.grad.abs().sum() > 0, name


def test_the_margin_of_the_batch_acts_in_training_only() -> None:
    """There sentences change each other's states. Parsing is as released, one sentence at a time."""
    torch.manual_seed(4)
    tokens, lengths = torch.randint(2, 20, (2, 7)), torch.tensor([7, 4])
    for calibration in ("sentence", "batch"):
        model = StructFormer(replace(TINY, calibration=calibration), 20)
        torch.nn.init.normal_(model.embedding.weight)
        states, parse = model.final_states(tokens, lengths), model.parse(tokens, lengths)
        same = []
        for k, length in enumerate(lengths.tolist()):
            alone, entry = tokens[k : k + 1, :length], lengths[k : k + 1]
            same.append(torch.allclose(model.final_states(alone, entry)[0], states[k, :length]))
            torch.testing.assert_close(model.parse(alone, entry).distances[0], parse.distances[k, :length])
        assert same.count(False) == (calibration == "batch")


def test_distances_before_each_word_and_the_highest_word_as_root() -> None:
    torch.manual_seed(5)
    model = StructFormer(TINY, 20).eval()
    tokens, lengths = torch.tensor([[0, 4, 5, 6, 0, 0], [0, 7, 0, 0, 0, 0]]), torch.tensor([3, 1])
    parse = model.parse(tokens[:, 1:-1], lengths)
    values = model.structure(SentenceBatch(tokens[:, 1:-1], lengths), Query(Distances)).values
    assert values.shape == (2, 4)
    assert torch.equal(values[0, 1:3], parse.distances[0, :2])
    assert values[:, 0].tolist() == [1e9, 1e9]
    pairs = model.structure(SentenceBatch(tokens[:, 1:-1], lengths), Query(Heights)).values
    assert torch.equal(pairs[..., 0], values)
    assert torch.equal(pairs[..., 1], parse.heights)
    heads = model.structure(SentenceBatch(tokens[:, 1:-1], lengths), Query(HeadDistribution)).probability
    assert heads[0].diagonal()[:3].tolist() == [float(h == parse.heights[0].max()) for h in parse.heights[0, :3]]
    assert heads[1, 0, 0] == 1


def test_parsing_cost_is_linear_up_to_hundreds_of_words() -> None:
    model = Transformer(TransformerConfig(), 10)
    assert model.parsing_cost(100) == pytest.approx(102, rel=0.03)
    assert model.parsing_cost(10_000) > 30_000
