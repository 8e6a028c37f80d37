"""Ordered Memory against its equations, written out slot by slot. Padding, state, and shift-reduce decoding."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from torch import Tensor

from induce.decoding.distances import shift_reduce
from induce.models.language.ordered_memory import OrderedMemoryLayer

pytestmark = pytest.mark.usefixtures("double")

SLOTS, SIZE = 4, 6


def plain_loop(layer: OrderedMemoryLayer, x: Tensor) -> tuple[Tensor, Tensor]:
    """Algorithm 2 for one sentence ``x`` (T, input): the top slot and the distribution of every step."""
    kind, slots = layer.attention.kind, layer.slots
    memory = candidate = torch.zeros(slots, layer.size)
    p = None
    outputs, result = [], []
    for word in layer.norm(layer.input(x)):
        previous, p = p, torch.zeros(slots)
        if previous is not None:
            scores = [score(layer, kind, word, item) for item in candidate]
            shares = [previous[: i + 2].sum() if i + 1 < slots else torch.tensor(1.0) for i in range(slots)]
            weights = torch.stack([a.exp() * (m if m >= 1e-5 else 0.0) for a, m in zip(scores, shares, strict=True)])
            p = weights / weights.sum()
        mask = [p[i:].sum() if previous is not None else torch.tensor(1.0) for i in range(slots)]
        memory = torch.stack([m * (1 - k) + c * k for m, c, k in zip(memory, candidate, mask, strict=True)])
        below, filled = word, []
        for i in range(slots):
            above = p[: i + 1].sum()
            below = word * (1 - above) + layer.cell(below[None], memory[i][None], layer.norm)[0] * above
            filled.append(below)
        candidate = torch.stack(filled)
        outputs.append(candidate[-1])
        result.append(p)
    return torch.stack(outputs), torch.stack(result)


def score(layer: OrderedMemoryLayer, kind: str, word: Tensor, candidate: Tensor) -> Tensor:
    """Equation 3.5.8, as released or as in the thesis."""
    attention = layer.attention
    if kind == "released":
        both = attention.query_norm(attention.query(word)) + attention.key_norm(attention.key(candidate))
        return (attention.score.weight[0] @ both.relu()) / layer.size**0.5
    joined = torch.cat((attention.key.weight, attention.query.weight), 1) @ torch.cat((candidate, word))
    return (attention.score.weight[0] @ (joined + attention.query.bias).tanh()) / layer.slots**0.5


@pytest.mark.parametrize("kind", ["released", "paper"])
def test_the_recurrence_is_that_of_the_equations(kind: str) -> None:
    layer = OrderedMemoryLayer(5, SIZE, SLOTS, attention=kind)
    for parameter in layer.attention.parameters():
        parameter.data *= 3  # decisions far from even ones
    x = torch.randn(9, 3, 5)
    output, positions, _ = layer(x)
    gradients = torch.autograd.grad((output.sin().sum() + positions.sin().sum()), list(layer.parameters()))
    plain = [plain_loop(layer, x[:, k]) for k in range(3)]
    for k, (expected, indices) in enumerate(plain):
        torch.testing.assert_close(output[:, k], expected)
        torch.testing.assert_close(positions[:, k], indices)
    total = torch.stack([expected.sin().sum() + indices.sin().sum() for expected, indices in plain]).sum()
    for got, want in zip(gradients, torch.autograd.grad(total, list(layer.parameters())), strict=True):
        torch.testing.assert_close(got, want)


def test_a_stream_in_pieces_is_the_stream() -> None:
    layer = OrderedMemoryLayer(5, SIZE, SLOTS)
    x = torch.randn(8, 2, 5)
    whole = layer(x)
    first = layer(x[:3])
    second = layer(x[3:], state=first.state)
    torch.testing.assert_close(torch.cat((first.output, second.output)), whole.output)
    assert second.state.started.all()


def test_dropout_acts_in_training_only_and_keeps_the_mean() -> None:
    layer = OrderedMemoryLayer(5, SIZE, SLOTS, dropout=0.3, attention_dropout=0.3)
    x = torch.randn(6, 2, 5)
    assert not torch.equal(layer(x).output, layer(x).output)
    layer.eval()
    assert torch.equal(layer(x).output, layer(x).output)
    dropped = layer.cell.dropout.train()(torch.ones(200, 200))
    assert float(dropped.mean()) == pytest.approx(1, abs=0.02)


def algorithm_3(slots: tuple[int, ...]) -> set[tuple[int, int]]:
    """Thesis, algorithm 3, on a stack of spans. The loop at the end goes on to one item, as the program's tree does."""
    stack, result = [(0, 1)], set()

    def reduce() -> None:
        second, first = stack.pop(), stack.pop()
        stack.append((first[0], second[1]))
        result.add(stack[-1])

    head = slots[0] - 1
    for i, slot in enumerate(slots[1:], 1):
        for _ in range(slot - head):
            if len(stack) < 2:
                break
            reduce()
        stack.append((i, i + 1))
        head = slot - 1
    while len(stack) > 1:
        reduce()
    return result


def test_shift_reduce_is_algorithm_3() -> None:
    for length in range(1, 6):
        for slots in product(range(4), repeat=length):
            result = shift_reduce(slots)
            assert len(result) == len(set(result)) == length - 1
            assert set(result) == algorithm_3(slots)
