"""The extra entry of master gates, dropout masks, parsing in pieces and products of ON-LSTM."""

from __future__ import annotations

import pytest
import torch

from induce.data.batches import SentenceBatch
from induce.layers.masks import keep_mask
from induce.models.base import Query
from induce.models.language import onlstm, onlstm_kernel
from induce.models.language.onlstm import OnLstmLayer, OnLstmSyd, OnLstmSydConfig
from induce.models.language.onlstm_kernel import add_product
from induce.structures import Distances


@pytest.mark.parametrize("extra", [False, True])
def test_last_chunk_receives_input_with_an_extra_master_gate(extra: bool) -> None:
    """The remark of Stratos in section 2.0.1."""
    torch.manual_seed(0)
    layer = OnLstmLayer(5, 12, 4, extra_master_gate=extra)
    with torch.no_grad():
        output = layer(torch.randn(7, 3, 5), layer.initial_state(3))
    changed = output.state.c.abs().sum((0, 2))
    assert (changed[:-1] > 0).all()
    assert (changed[-1] > 1e-5) == extra


def test_second_gate_of_syd_has_an_extra_entry() -> None:
    torch.manual_seed(0)
    sizes = {"embedding_size": 8, "hidden_size": 8, "chunk_size": 2, "layers": 2, "supervised_layer": 2}
    model = OnLstmSyd(OnLstmSydConfig(**sizes, extra_master_gate=True), 9).eval()
    assert model.head.weight.shape == (5, 5)
    batch = SentenceBatch(torch.tensor([[2, 3, 4, 5]]), torch.tensor([4]))
    with torch.no_grad():
        model.head.weight.zero_()
        model.head.bias.zero_()
        distances = model.structure(batch, Query(Distances, 2, "syd"))
    assert torch.allclose(distances.values, torch.tensor(0.5)), "cumax of equal scores: 1/5, 2/5, 3/5 and 4/5"


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.45, 0.9])
def test_masks_keep_the_share_they_should(rate: float) -> None:
    torch.manual_seed(3)
    mask = keep_mask((401, 503), rate, torch.device("cpu"))
    assert mask.shape == (401, 503)
    assert mask.double().mean().item() == pytest.approx(1 - rate, abs=0.005)
    columns = mask.double().mean(0)
    assert (columns - (1 - rate)).abs().max() < 0.15  # no column of the four that share a draw is special


def test_the_pieces_that_a_batch_is_parsed_in_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    config = onlstm.OnLstmConfig(embedding_size=8, hidden_size=12, layers=3, chunk_size=4)
    model = onlstm.OnLstm(config, 20).double()
    batch = SentenceBatch(torch.randint(1, 20, (3, 9)), torch.tensor([9, 9, 9]))
    with torch.inference_mode():
        whole = [model.structure(batch, Query(Distances, layer)).values for layer in (1, 2, 3)]
        monkeypatch.setattr(onlstm, "WORDS_PER_PASS", 6)  # two steps at a time
        for layer, want in enumerate(whole, 1):
            torch.testing.assert_close(model.structure(batch, Query(Distances, layer)).values, want)


@pytest.mark.parametrize("cached", [0, 2**20])
@pytest.mark.parametrize("contiguous", [True, False])
def test_product_is_added_in_place(monkeypatch: pytest.MonkeyPatch, cached: int, contiguous: bool) -> None:
    monkeypatch.setattr(onlstm_kernel, "CACHED_ENTRIES", cached)
    matrix = torch.randn(6, 4) if contiguous else torch.randn(4, 6).t()
    total, x = torch.randn(3, 4), torch.randn(3, 6)
    expected = total + x @ matrix
    result = add_product(matrix)(total, x)
    torch.testing.assert_close(total, expected)
    assert result.data_ptr() == total.data_ptr()


@pytest.mark.parametrize("packs", [True, False])
def test_rounded_product_is_near_the_exact_one(monkeypatch: pytest.MonkeyPatch, packs: bool) -> None:
    """On processors with products of bfloat16, and on others."""
    if not packs:
        monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: False)
    matrix, x = torch.randn(64, 32), torch.randn(5, 64)
    total = torch.zeros(5, 32)
    add_product(matrix, rounded=True)(total, x)
    expected = x @ matrix
    assert 0 < float((total - expected).norm() / expected.norm()) < 0.02
