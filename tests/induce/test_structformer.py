"""StructFormer and Transformer compute what the released programs compute, and each part what its formula says."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch.nn import functional

from induce.decoding.distances import nary
from induce.decoding.heads import argmax, chu_liu_edmonds
from induce.models.layers import EncoderLayer, real_words, without_self
from induce.models.structformer import StructFormer, StructFormerConfig, block_ends, heads_of_blocks, margins
from induce.models.transformer import Transformer, TransformerConfig
from tests.reference import Fixture, fixtures, load
from treebank.sentence import ROOT

PADDING = 1  # the number that the released programs pad with

TINY = StructFormerConfig(
    embedding_size=8, heads=2, layers=2, feedforward_size=32, parser_layers=2, width=3, dropout=0.0, mask_rate=0.5
)
TINY_TRANSFORMER = TransformerConfig(
    embedding_size=8, heads=2, layers=2, feedforward_size=32, dropout=0.0, mask_rate=0.5
)


@pytest.fixture(autouse=True)
def double() -> Any:
    """Everything here is in float64, like the fixtures."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


ENCODER = {  # ours -> theirs, within a layer
    "output": "self_attn.out_proj",
    "norm": "norm",
    "feedforward_norm": "feedforward.0",
    "widen": "feedforward.1",
    "narrow": "feedforward.4",
}
OTHERS = {
    "embedding.weight": "emb.weight",
    "place.weight": "pos_emb.weight",
    "decoder_bias": "output_layer.bias",
    "norm.weight": "norm.weight",
    "norm.bias": "norm.bias",
    "scales": "_scaler",
    "relations": "_rel_weight",
    "parser.gap.weight": "distance_ff.0.conv.weight",
    "parser.gap.bias": "distance_ff.0.conv.bias",
    "parser.distance.weight": "distance_ff.3.weight",
    "parser.distance.bias": "distance_ff.3.bias",
    "parser.word.weight": "height_ff.0.weight",
    "parser.word.bias": "height_ff.0.bias",
    "parser.height.weight": "height_ff.3.weight",
    "parser.height.bias": "height_ff.3.bias",
}


def original_names(name: str) -> list[str]:
    """The names, in the released programs, of the weights that stand one below the other in ours."""
    parts = name.split(".")
    if parts[0] == "layers":
        if parts[2] == "project":
            return [f"layers.{parts[1]}.self_attn.{x}_proj.{parts[3]}" for x in "qkv"]
        return [f"layers.{parts[1]}.{ENCODER[parts[2]]}.{parts[3]}"]
    if name.startswith("parser.convolutions"):
        return [f"parser_layers.{parts[2]}.0.conv.{parts[3]}"]
    return [OTHERS[name]]


def give_weights(model: Any, fixture: Fixture) -> None:
    """Copy the weights of a fixture into ``model``, all of them and no others."""
    used = {"output_layer.weight"}  # tied to emb.weight
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            names = original_names(name)
            value = torch.cat([torch.tensor(fixture.arrays["weight/" + one]) for one in names])
            parameter[: len(value)] = value  # of the places only those in use are there
            assert name == "place.weight" or parameter.shape == value.shape
            used.update(names)
    assert used == {name.removeprefix("weight/") for name in fixture.arrays if name.startswith("weight/")}


def check_gradients(model: Any, fixture: Fixture) -> None:
    """Compare every gradient with the fixture's; all of them must be used."""
    used = set()
    for name, parameter in model.named_parameters():
        names = original_names(name)
        rows = fixture.arrays["grad/" + names[0]].shape[0]
        assert not parameter.grad[rows * len(names) :].any()
        for k, one in enumerate(names):
            fixture.check("grad/" + one, parameter.grad[k * rows : (k + 1) * rows])
        used.update(names)
    assert used == {name.removeprefix("grad/") for name in fixture.arrays if name.startswith("grad/")}


def structformer_of(fixture: Fixture, **changes: Any) -> StructFormer:
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
    model = StructFormer(replace(config, **changes), sizes["vocab"] - 1)  # the mask has a number of its own
    give_weights(model, fixture)
    return model


@pytest.mark.parametrize("name", fixtures("structformer"))
def test_like_the_released_programs(name: str) -> None:
    fixture = load(name)
    model = structformer_of(fixture)
    lengths = torch.tensor(fixture.sizes["lengths"])
    ids, targets = torch.tensor(fixture.arrays["ids"]), torch.tensor(fixture.arrays["targets"])
    real = real_words(ids, lengths)

    distances, heights = model.parser(model.embedding(ids), real)
    fixture.check("distance_raw", distances)
    fixture.check("height_raw", heights)
    parse = model.parse(ids, lengths)
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
    fixture.check("attention_mask", torch.stack([mask.flatten(0, 1) for mask in model.attention_masks(head)]))
    hidden = model(ids, lengths)
    fixture.check("hidden", hidden)
    fixture.check("logits", functional.linear(hidden, model.embedding.weight, model.decoder_bias))

    loss = model.masked_loss(ids, lengths, targets, targets != PADDING)
    fixture.check("loss", loss.objective)
    loss.objective.backward()
    check_gradients(model, fixture)


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
    """Each sentence alone, as it parses; our margin of each sentence gives the same in a batch."""
    fixture = load(name)
    model = structformer_of(fixture, calibration="sentence")
    together = torch.tensor(fixture.arrays["tokens"])
    batch = model.parse(together, torch.tensor(fixture.sizes["lengths"]))
    for k, (tokens, length) in enumerate(framed(fixture)):
        wanted = fixture.doc["expected"]["parses"][k]
        count = int(length)
        for name_, got in (("distance", batch.distances[k, :count]), ("height", batch.heights[k, :count])):
            fixture.check(f"alone/{k}/{name_}", got)
        fixture.check(f"alone/{k}/head", model.head_distribution(batch)[k, :count, :count])
        values = model.structure(tokens, length).values[0].tolist()
        assert set(nary(values)) == spans_of(wanted["tree"])
        heads = argmax(model.structure(tokens, length, what="heads").probability[0].tolist())
        assert [("root" if head == ROOT else head) for head in heads] == wanted["heads"]


def spans_of(tree: str) -> set[tuple[int, int]]:
    """The brackets of ``((w1 w2) w3)``."""
    open_at, spans, count = [], set(), 0
    for token in tree.replace("(", " ( ").replace(")", " ) ").split():
        if token == "(":
            open_at.append(count)
        elif token == ")":
            spans.add((open_at.pop(), count))
        else:
            count += 1
    return spans


@pytest.mark.parametrize("name", fixtures("structformer_mlm"))
def test_the_same_heads_as_the_program_of_udgn(name: str) -> None:
    """There the diagonal is 0, so that no word is its own head."""
    fixture = load(name)
    model = structformer_of(fixture)
    expected = fixture.doc["expected"]["heads"]
    assert len(expected) == len(fixture.sizes["lengths"])
    for (tokens, length), wanted in zip(framed(fixture), expected, strict=True):
        found = model.structure(tokens, length, what="heads").probability
        assert list(argmax(without_self(found)[0].tolist())) == wanted["argmax"]
        tree = chu_liu_edmonds(found[0].tolist())
        assert [i if head == ROOT else head for i, head in enumerate(tree)] == wanted["tree"]


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
    ids, targets = torch.tensor(fixture.arrays["ids"]), torch.tensor(fixture.arrays["targets"])
    lengths = torch.tensor(sizes["lengths"])
    hidden = model(ids, lengths)
    fixture.check("hidden", hidden)
    fixture.check("logits", functional.linear(hidden, model.embedding.weight, model.decoder_bias))
    loss = model.masked_loss(ids, lengths, targets, targets != PADDING)
    fixture.check("loss", loss.objective)
    loss.objective.backward()
    check_gradients(model, fixture)
