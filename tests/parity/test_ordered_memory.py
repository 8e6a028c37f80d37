"""Ordered Memory computes what the released program computes: slots, outputs, losses and every gradient, and trees."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from induce.decoding.distances import shift_reduce
from induce.models.language.ordered_memory import MaskedAttention, OrderedMemoryLayer, RecursiveCell
from tests.support.reference import Fixture, fixtures, load, weights_and_biases, without_labels
from treebank.core.tree import Tree

pytestmark = pytest.mark.usefixtures("double")

ALIASES = ("input_projection.1", "cell.activation")  # of the one layer normalization


def named_attention(attention: MaskedAttention, prefix: str = "distribution") -> dict[str, nn.Parameter]:
    """The parameters of the attention under their original names. The bias of the score has no effect."""
    parts = {"query.1": attention.query, "query.2": attention.query_norm}
    parts |= {"key.1": attention.key, "key.2": attention.key_norm}
    named = weights_and_biases({f"{prefix}.{name}": part for name, part in parts.items()})
    return {**named, f"{prefix}.beta.2.weight": attention.score.weight}


def named_cell(cell: RecursiveCell, norm: nn.Module, prefix: str = "") -> dict[str, nn.Parameter]:
    """The parameters of the cell and of its layer normalization."""
    parts = {
        "cell.input_t.1": cell.inner,
        "cell.input_t.4": cell.outer,
        "activation" if prefix else "cell.activation": norm,
    }
    return weights_and_biases({prefix + name: part for name, part in parts.items()})


def named_layer(layer: OrderedMemoryLayer, prefix: str) -> dict[str, nn.Parameter]:
    """The parameters of one direction."""
    return {
        **weights_and_biases({f"{prefix}.input_projection.0": layer.input}),
        **named_attention(layer.attention, f"{prefix}.distribution"),
        **named_cell(layer.cell, layer.norm, f"{prefix}."),
    }


def fill(fixture: Fixture, named: dict[str, nn.Parameter]) -> None:
    """Copy the weights of a fixture. All that it has are used, aliases and the score's bias aside."""
    for name in fixture.copy_weights(named):
        assert name.endswith("beta.2.bias") or any(f".{alias}." in name for alias in ALIASES), name
    for name, value in fixture.arrays.items():
        assert not name.endswith("beta.2.bias") or not name.startswith("grad/") or abs(value).max() < 1e-12


def check_gradients(fixture: Fixture, named: dict[str, Tensor]) -> None:
    """Compare and clear the gradients of ``named``."""
    for name, parameter in named.items():
        fixture.check(f"grad/{name}", parameter.grad)
        parameter.grad = None


@pytest.mark.parametrize("name", fixtures("om_parts"))
def test_parts(name: str) -> None:
    fixture = load(name)
    size, slots = fixture.sizes["slot_size"], fixture.sizes["slots"]
    norm = nn.LayerNorm(size)
    attention, cell = MaskedAttention(size), RecursiveCell(size)
    named = {**named_attention(attention), **named_cell(cell, norm)}
    fill(fixture, named)
    inputs = {
        key: fixture.tensor(key, gradient=True)
        for key in ("attention/x", "attention/memory", "attention/prev_p", "cell/v", "cell/h")
    }
    x, memory, previous, lower, right = inputs.values()
    p = attention(attention.queries(x), memory, previous)
    sums = {"attention/p": p, "attention/cp": p.cumsum(-1), "attention/rcp": p.flip(-1).cumsum(-1).flip(-1)}
    fixture.check_weighted({**sums, "cell/output": cell(lower, right, norm)})
    check_gradients(fixture, {**named, **{"input/" + key: value for key, value in inputs.items()}})

    layer = OrderedMemoryLayer(size, size, slots)  # its first step
    output = layer(torch.randn(1, len(x), size))
    fixture.check("first_step/p", output.positions[0])
    fixture.check("first_step/cp", output.positions[0].cumsum(-1))
    same = output.state.candidate[:, :1].expand(-1, slots, -1)
    torch.testing.assert_close(output.state.candidate, same, rtol=0, atol=0)
    assert (fixture.arrays["first_step/rcp"] == 1).all()


def last_real(output: Tensor, lengths: list[int]) -> Tensor:
    """The output (B, D) at the last of ``lengths`` steps of each row."""
    return output[torch.tensor(lengths) - 1, torch.arange(len(lengths))]


@pytest.mark.parametrize("name", fixtures("om_encoder"))
def test_bidirectional_encoder(name: str) -> None:
    fixture = load(name)
    sizes = fixture.sizes
    arguments = sizes["input_size"], sizes["slot_size"], sizes["slots"]
    forward, backward = (OrderedMemoryLayer(*arguments, exact=False) for _ in range(2))
    named = {**named_layer(forward, "OM_forward"), **named_layer(backward, "OM_backward")}
    fill(fixture, named)
    x, real = fixture.tensor("x", gradient=True), fixture.tensor("mask")
    stored, back = forward(x, real), backward(x.flip(0), real.flip(0))
    output = torch.cat((last_real(stored.output, sizes["lengths"]), back.output[-1]), -1)
    fixture.check_weighted({"output": output, "probs": stored.positions})
    values = {
        "probs_backward": back.positions.flip(0),
        "forward_only/output": stored.output,
        "forward_only/state/M": stored.state.memory,
        "forward_only/state/Mhat": stored.state.candidate,
        "forward_only/state/p": stored.state.position,
    }
    fixture.check_all(values)
    check_gradients(fixture, {**named, "input/x": x})


@pytest.mark.parametrize("name", fixtures("om_listops"))
def test_left_padded_classifier(name: str) -> None:
    fixture = load(name)
    sizes = fixture.sizes
    layer = OrderedMemoryLayer(sizes["emb"], sizes["slot_size"], sizes["slots"], exact=False)
    embedding = nn.Embedding(sizes["vocab"], sizes["emb"], padding_idx=0)
    classify = nn.Linear(sizes["slot_size"], sizes["classes"])
    named = {
        "embedding.weight": embedding.weight,
        **weights_and_biases({"mlp.1": classify}),
        **named_layer(layer, "encoder.OM_forward"),
    }
    fill(fixture, named)
    ids = fixture.tensor("ids").t()
    output, positions, _ = layer(embedding(ids), ids > 0)
    score = classify(output[-1])
    loss = nn.functional.cross_entropy(score, fixture.tensor("label"))
    loss.backward()
    fixture.check_all({"score": score, "probs": positions, "loss": loss})
    check_gradients(fixture, named)
    check_alone(fixture, layer, embedding, classify)


def check_alone(fixture: Fixture, layer: OrderedMemoryLayer, embedding: nn.Embedding, classify: nn.Linear) -> None:
    """Each sentence of a left-padded batch by itself: by itself, and in the batch where padding changes nothing."""
    ids, expected = fixture.tensor("ids").t(), fixture.doc["expected"]
    layer.exact = True
    batched = layer(embedding(ids), ids > 0)
    for k, length in enumerate(fixture.sizes["lengths"]):
        output, positions, _ = layer(embedding(ids[-length:, k : k + 1]))
        for score, probs in (
            (classify(output[-1, 0]), positions[:, 0]),
            (classify(batched.output[-1, k]), batched.positions[-length:, k]),
        ):
            fixture.check(f"alone/{k}/score", score)
            fixture.check(f"alone/{k}/probs", probs)
        decision = positions[:, 0].argmax(-1)
        decision[0] = fixture.sizes["slots"]
        fixture.check(f"alone/{k}/decision", decision)
        assert plain(expected["words"][k], shift_reduce(decision.tolist())) == expected["trees"][k]


@pytest.mark.parametrize("name", fixtures("om_logic"))
def test_right_padded_pairs(name: str) -> None:
    fixture = load(name)
    sizes = fixture.sizes
    layer = OrderedMemoryLayer(sizes["emb"], sizes["slot_size"], sizes["slots"])
    embedding = nn.Embedding(sizes["vocab"], sizes["emb"], padding_idx=sizes["vocab"] - 1)
    inner = nn.Linear(4 * sizes["slot_size"], sizes["slot_size"])
    outer = nn.Linear(sizes["slot_size"], sizes["classes"])
    named = {
        "embedding.weight": embedding.weight,
        **weights_and_biases({"mlp.1": inner, "mlp.4": outer}),
        **named_layer(layer, "encoder.OM_forward"),
    }
    fill(fixture, named)
    ids = fixture.tensor("ids")

    def score(slots: int | None = None) -> tuple[Tensor, Tensor]:
        output, positions, _ = layer(embedding(ids), ids < sizes["vocab"] - 1, slots=slots)
        u, v = last_real(output, sizes["lengths"]).chunk(2)
        return outer(nn.functional.elu(inner(torch.cat((u, v, u * v, (u - v).abs()), -1)))), positions

    for prefix, slots in (("more_slots/", 2 * sizes["slots"]), ("", None)):
        scores, positions = score(slots)
        fixture.check(prefix + "score", scores)
        fixture.check(prefix + "probs", positions)
    loss = nn.functional.cross_entropy(scores, fixture.tensor("label"))
    loss.backward()
    fixture.check("loss", loss)
    check_gradients(fixture, named)


@pytest.mark.parametrize("name", fixtures("om_decode"))
def test_decoding(name: str) -> None:
    fixture = load(name)
    expected: dict[str, Any] = fixture.doc["expected"]
    cases = zip(fixture.arrays["decision"], fixture.arrays["length"].tolist(), expected["trees"], strict=True)
    for row, length, tree in cases:
        words = [chr(ord("a") + i) for i in range(length)]
        assert plain(words, shift_reduce(row[:length])) == tree
    for case in expected["parenthesised"]:
        words = case["tokens"].split()
        tree = Tree.from_spans(words, shift_reduce(case["decision"]))
        assert square(tree) == case["tree"]
        bare = tree.keep([word not in ("(", ")") for word in words]).collapse_unary()
        assert square(bare) == case["without_brackets"]


def plain(words: Any, spans: list[tuple[int, int]]) -> str:
    """The bracketing without labels, ``(a (b c))``. One word by itself."""
    tree = Tree.from_spans(list(words), spans)
    return without_labels(tree) if len(tree) > 1 else tree.words[0]


def square(tree: Tree) -> str:
    """The bracketing in square brackets, ``[a [b c]]``, round brackets being words."""
    text = plain(tree.words, list(tree.spans)).replace("(", "[").replace(")", "]")
    return text.replace("-LRB-", "(").replace("-RRB-", ")")
