"""Tree Transformer computes what the released program computes, and decodes the same trees."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from induce.data.batches import MaskedBatch, SentenceBatch
from induce.layers.masks import real_words
from induce.models.base import Query
from induce.models.masked.tree_transformer import TreeTransformer, TreeTransformerConfig, link_brackets
from induce.structures import Brackets, Distances
from tests.support.reference import Fixture, fixtures, load

pytestmark = pytest.mark.usefixtures("double")

ATTENTION = "self_attn.linears"
LAYER = {  # ours -> theirs, within a layer; several are concatenated
    "link_norm": ["group_attn.norm"],
    "link": ["group_attn.linear_query", "group_attn.linear_key"],
    "norm": ["sublayer.0.norm"],
    "project": [f"{ATTENTION}.{k}" for k in range(3)],
    "output": [f"{ATTENTION}.3"],
    "feedforward_norm": ["sublayer.1.norm"],
    "widen": ["feed_forward.w_1"],
    "narrow": ["feed_forward.w_2"],
}
OTHERS = {
    "embedding.weight": "word_embed.0.lut.weight",
    "decoder.weight": "proj.weight",
    "decoder_bias": "proj.bias",
    "norm.gain": "norm.a_2",
    "norm.bias": "norm.b_2",
}
TINY = TreeTransformerConfig(embedding_size=8, heads=2, layers=3, feedforward_size=10, dropout=0.0, mask_rate=0.5)


def original_names(name: str) -> list[str]:
    """Names, in the released program, of the weights whose rows are concatenated in ours."""
    parts = name.split(".")
    if parts[0] != "layers":
        return [OTHERS[name]]
    last = {"gain": "a_2", "bias": "b_2"}[parts[3]] if parts[2].endswith("norm") else parts[3]
    return [f"layers.{parts[1]}.{entry}.{last}" for entry in LAYER[parts[2]]]


def model_of(fixture: Fixture) -> TreeTransformer:
    """The model of a fixture with its weights."""
    sizes = fixture.sizes
    config = TreeTransformerConfig(
        embedding_size=sizes["d_model"],
        heads=sizes["heads"],
        layers=sizes["layers"],
        feedforward_size=sizes["d_ff"],
        dropout=0.0,
        threshold=sizes["threshold"],
        part_threshold=sizes.get("second_threshold", 0.7),
        lowest_layer=sizes["lowest_layer"] + 1,
    )
    model = TreeTransformer(config, sizes["vocab"] - 1)  # the mask has an index of its own
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.cat([fixture.tensor("weight/" + entry) for entry in original_names(name)]))
    return model


def model_fixtures(*, decoding: bool) -> list[str]:
    """Names of the fixtures of the model, or of its decoder."""
    names = fixtures("tree_transformer")
    return [item for item in names if str(item.values[0]).startswith("tree_transformer_decode") == decoding] or names


@pytest.mark.parametrize("name", model_fixtures(decoding=False))
def test_outputs_and_gradients_equal_those_of_the_program(name: str) -> None:
    fixture = load(name)
    model, sizes = model_of(fixture), fixture.sizes
    tokens, target, lengths = fixture.tensor("tokens"), fixture.tensor("target"), torch.tensor(sizes["lengths"])
    output, real = model(tokens, lengths), real_words(tokens, lengths)
    priors = torch.stack(output.priors, 1)
    fixture.check("constituent_prior", priors)
    links = torch.stack([link.diag_embed(1) + link.diag_embed(-1) for link in output.links], 1)
    fixture.check("break_probs", links + priors.diagonal(dim1=2, dim2=3).diag_embed())
    layers = list(zip(model.layers, output.states, output.priors, strict=False))
    weights = [layer.attention(state, real, prior)[0] for layer, state, prior in layers]
    fixture.check("attention", torch.stack(weights, 1))
    fixture.check("layer_output", torch.stack(output.states[1:], 1))
    logits = functional.linear(output.hidden, model.decoder_weight, model.decoder_bias)
    fixture.check("logits", logits)
    loss = functional.cross_entropy(logits[target >= 0], target[target >= 0])
    fixture.check("loss", loss)
    loss.backward()
    names = set()
    for parameter_name, parameter in model.named_parameters():
        entries = original_names(parameter_name)
        for entry, part in zip(entries, parameter.grad.chunk(len(entries)), strict=True):
            fixture.check("grad/" + entry, part)
        names.update("grad/" + entry for entry in entries)
    assert names == {array for array in fixture.arrays if array.startswith("grad/")}


@pytest.mark.parametrize("name", model_fixtures(decoding=False))
def test_trees_equal_those_of_the_program(name: str) -> None:
    """The class symbol of the program, which has an index of its own, gets the index of ours."""
    fixture = load(name)
    model, sizes = model_of(fixture), fixture.sizes
    with torch.no_grad():
        model.embedding.weight[0] = model.embedding.weight[sizes["cls"]]
    batch = SentenceBatch(fixture.tensor("tokens")[:, 1:], torch.tensor(sizes["lengths"]) - 1)
    trees = model.structure(batch, Query(Brackets, layer=sizes["layers"])).rows()
    for tree, length, expected in zip(trees, batch.lengths.tolist(), fixture.doc["expected"]["trees"], strict=True):
        assert sorted(set(tree) - {(0, length)}) == sorted(map(tuple, expected["brackets"]))


@pytest.mark.parametrize("name", model_fixtures(decoding=True))
def test_decoder_predicts_the_trees_of_the_program(name: str) -> None:
    fixture = load(name)
    sizes, links = fixture.sizes, fixture.arrays["links"].tolist()
    assert len(links) == len(fixture.doc["expected"]["trees"])
    for rows, length, expected in zip(links, fixture.arrays["length"], fixture.doc["expected"]["trees"], strict=True):
        tree = link_brackets(
            [row[: length - 1] for row in rows],
            threshold=sizes["threshold"],
            part_threshold=sizes["second_threshold"],
            lowest=sizes["lowest_layer"],
        )
        assert sorted(set(tree) - {(0, length)}) == sorted(map(tuple, expected["brackets"]))


def test_distances_are_one_minus_the_links_of_the_layer() -> None:
    model = TreeTransformer(TINY, 9).eval()
    batch = SentenceBatch(torch.tensor([[2, 3, 4, 5]]), torch.tensor([4]))
    links = model.with_class(batch.tokens, batch.lengths).links
    for layer in (1, 3):
        values = model.structure(batch, Query(Distances, layer=layer)).rows()[0]
        assert values == pytest.approx([1.0, *(1 - links[layer - 1][0, 1:]).tolist()])
    assert model.structure(batch, Query(Brackets, layer=3)).rows()[0][0] == (0, 4)


def test_chosen_words_are_masked_replaced_or_left() -> None:
    """Random numbers of 0 to 1 times the mask rate: the first 80 % mask a word, the next 10 % replace it."""
    model = TreeTransformer(TINY, 12)
    arguments = []
    model.masked_loss = lambda masked, *rest: arguments.extend([masked, *rest])
    uniforms = torch.tensor([[0.0, 0.79, 0.801, 0.899, 0.95, 1.01, 0.1]]) * TINY.mask_rate
    tokens, lengths = torch.tensor([[7, 7, 7, 7, 7, 7, 1]]), torch.tensor([7])
    model.loss(MaskedBatch(tokens, lengths, uniforms))
    assert arguments[0].tolist() == [[12, 12, 2, 11, 7, 7, 1]]
    assert arguments[3].tolist() == [[True, True, True, True, True, False, False]]
