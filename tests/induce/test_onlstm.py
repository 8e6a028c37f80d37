"""The hand-written backward pass and the dropout masks of ON-LSTM, against plain code."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from induce.kernels import onlstm as kernel
from induce.kernels.dropout import keep_mask
from induce.kernels.onlstm import cumax
from induce.models import onlstm
from induce.models.onlstm import LayerState, OnLstmLayer


def plain_loop(layer: OnLstmLayer, x: Tensor, state: LayerState) -> tuple[Tensor, LayerState, Tensor, Tensor]:
    """The paper's equations 3 to 15, one step after another, left to automatic differentiation."""
    h, c = state
    chunks, units = layer.chunks, layer.units
    hidden, forget, entering = [], [], []
    for step in x:
        z = layer.input(step) + layer.recurrent(h)
        master_input, master_forget, output, candidate, input_, forget_ = z.split(
            [chunks, chunks, units, units, units, units], -1
        )
        master_input, master_forget = (1 - cumax(master_input))[..., None], cumax(master_forget)[..., None]
        by_chunk = (-1, chunks, layer.chunk_size)
        overlap = master_forget * master_input
        final_forget = forget_.sigmoid().view(by_chunk) * overlap + (master_forget - overlap)
        final_input = input_.sigmoid().view(by_chunk) * overlap + (master_input - overlap)
        c = final_forget * c + final_input * candidate.tanh().view(by_chunk)
        h = output.sigmoid() * c.tanh().flatten(1)
        hidden.append(h)
        forget.append(1 - master_forget.mean((1, 2)))
        entering.append(master_input.mean((1, 2)))
    return torch.stack(hidden), LayerState(h, c), torch.stack(forget), torch.stack(entering)


@pytest.mark.parametrize("large", [0, 2**62])
@pytest.mark.parametrize("cached", [1, 100, 2**16])
@pytest.mark.parametrize("shape", [(1, 1, 3, 4, 1), (7, 3, 5, 12, 4), (6, 2, 4, 6, 6)])
def test_segment_equals_the_plain_loop(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...], cached: int, large: int
) -> None:
    """Outputs and gradients, through every output at once, for both ways to multiply and any block of steps."""
    monkeypatch.setattr(kernel, "CACHED", cached)
    monkeypatch.setattr(kernel, "LARGE", large)
    steps, batch, inputs, units, chunk_size = shape
    torch.manual_seed(0)
    layer = OnLstmLayer(inputs, units, chunk_size).double()
    leaves = [
        torch.randn(steps, batch, inputs, dtype=torch.float64, requires_grad=True),
        torch.randn(batch, units, dtype=torch.float64, requires_grad=True),
        torch.randn(batch, units // chunk_size, chunk_size, dtype=torch.float64, requires_grad=True),
        *layer.parameters(),
    ]
    found = []
    for run in (layer, lambda *given: plain_loop(layer, *given)):
        hidden, state, forget, entering, *_ = run(leaves[0], LayerState(leaves[1], leaves[2]))
        values = [hidden, state.h, state.c, forget, entering]
        torch.manual_seed(1)
        total = torch.stack([(value * torch.randn_like(value)).sum() for value in values]).sum()
        found.append([*values, *torch.autograd.grad(total, leaves)])
    for got, want in zip(*found, strict=True):
        torch.testing.assert_close(got, want, rtol=1e-10, atol=1e-12)


def test_gradients_agree_with_finite_differences() -> None:
    torch.manual_seed(0)
    layer = OnLstmLayer(3, 4, 2).double()
    x = torch.randn(3, 2, 3, dtype=torch.float64, requires_grad=True)

    def outputs(x: Tensor, weight: Tensor) -> tuple[Tensor, ...]:
        out = layer(x, layer.initial_state(2), weight)
        return out.hidden, out.state.c, out.distance_forget, out.distance_input

    weight = layer.recurrent.weight.detach().requires_grad_()
    assert torch.autograd.gradcheck(outputs, (x, weight))


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.45, 0.9])
def test_masks_keep_the_share_they_should(rate: float) -> None:
    torch.manual_seed(3)
    kept = keep_mask((401, 503), rate, torch.device("cpu"))
    assert kept.shape == (401, 503)
    assert kept.double().mean().item() == pytest.approx(1 - rate, abs=0.005)
    columns = kept.double().mean(0)
    assert (columns - (1 - rate)).abs().max() < 0.15  # no column of the four that share a draw is special


def test_sizes_that_do_not_fit_are_told() -> None:
    with pytest.raises(ValueError, match="hidden_size = 25 is not a multiple of chunk_size = 4"):
        onlstm.OnLstm(onlstm.OnLstmConfig(embedding_size=8, hidden_size=25, chunk_size=4), 10)


def test_the_pieces_that_a_batch_is_parsed_in_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    config = onlstm.OnLstmConfig(embedding_size=8, hidden_size=12, layers=3, chunk_size=4)
    model = onlstm.OnLstm(config, 20).double()
    tokens, lengths = torch.randint(20, (3, 11)), torch.tensor([9, 9, 9])
    with torch.inference_mode():
        whole = [model.structure(tokens, lengths, layer=layer).values for layer in (1, 2, 3)]
        monkeypatch.setattr(onlstm, "POSITIONS", 6)  # two steps at a time
        for layer, want in enumerate(whole, 1):
            torch.testing.assert_close(model.structure(tokens, lengths, layer=layer).values, want)
