"""Thin products: every way gives the same numbers; choices are measured once, for large matrices only."""

from __future__ import annotations

from dataclasses import fields

import pytest
import torch

from induce.config import TrainConfig
from induce.layers import products
from induce.layers.products import WAYS, Products, possible, use
from induce.models.language.onlstm import OnLstm, OnLstmConfig
from induce.models.language.onlstm_kernel import recurrence
from treebank.base.errors import SynparseError

CONFIG = OnLstmConfig(embedding_size=8, hidden_size=12, layers=2, chunk_size=4)


@pytest.mark.parametrize("way", possible(torch.zeros(3, 4)))
@pytest.mark.parametrize("transposed", [False, True])
def test_every_way_adds_the_same_product(way: str, transposed: bool) -> None:
    torch.manual_seed(0)
    matrix = torch.randn(48, 40).t() if transposed else torch.randn(40, 48)
    product = WAYS[way](matrix, 5)
    for rows in (5, 3):  # a way may be prepared for another number of rows
        x, out = torch.randn(rows, 40), torch.randn(rows, 48)
        expected = out + x @ matrix
        torch.testing.assert_close(product(out, x), expected, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(out, expected, rtol=1e-5, atol=1e-5)  # in place


def test_bfloat16_is_as_exact_as_its_eight_bits() -> None:
    torch.manual_seed(0)
    matrix, x, out = torch.randn(300, 64), torch.randn(4, 300), torch.zeros(4, 64)
    WAYS["bfloat16"](matrix, 4)(out, x)
    error = (out - x @ matrix).abs().max() / (x @ matrix).abs().max()
    assert 1e-6 < error < 0.02


def test_a_small_matrix_is_not_measured() -> None:
    ways = Products()
    assert ways.way(torch.zeros(64, 64), 5, 10) == "right"
    assert ways.way(torch.zeros(64, 64).double(), 5, 10) == "right"
    assert ways.choices == {}


def test_a_large_matrix_is_measured_once_and_the_choice_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "LARGE", 10)
    measured: list[int] = []

    def seconds(matrix: torch.Tensor, rows: int, steps: int) -> dict[str, float]:
        measured.append(rows)
        return {"right": 0.8, "left": 1.0, "mkl": 0.9}

    monkeypatch.setattr(products, "seconds", seconds)
    ways, matrix = Products(), torch.zeros(4, 6)
    assert [ways.way(matrix, 5, 10), ways.way(matrix, 5, 99), ways.way(matrix, 7, 10)] == ["right"] * 3
    assert ways.choices == {"5 x 4 x 6": "right", "7 x 4 x 6": "right"}
    assert measured == [5, 7]
    assert ways.record() == ["5 x 4 x 6: right", "7 x 4 x 6: right"]
    again = Products("auto", ["5 x 4 x 6: left", "7 x 4 x 6: no way"])  # that of a run to be repeated
    assert [again.way(matrix, 5, 10), again.way(matrix, 7, 10)] == ["left", "right"]
    assert measured == [5, 7, 7]
    assert ways.way(matrix, 9, 10, learning=False) == "left"  # the rule's
    assert Products("bfloat16").way(matrix, 9, 10, learning=False) == "left"
    assert Products().way(matrix.double(), 5, 10) == "left"  # only in float32 is there a choice


def test_chance_does_not_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "LARGE", 10)
    monkeypatch.setattr(products, "seconds", lambda *_: {"right": 0.95, "left": 1.0})
    assert Products().way(torch.zeros(4, 6), 5, 10) == "left"


def test_real_times_are_those_of_the_possible_ways() -> None:
    times = products.seconds(torch.randn(30, 40), 3, 5)
    assert list(times) == possible(torch.randn(30, 40))
    assert all(0 < value < 10 for value in times.values())


def test_a_setting_that_there_is_not() -> None:
    with pytest.raises(ValueError, match="products = 'fast' is none of auto, right, left"):
        Products("fast")
    with pytest.raises(SynparseError, match="products = 'onednn' is not possible here, only right, left"):
        Products("onednn").product(torch.zeros(3, 4).double(), 2, 2)


def test_all_layers_of_a_model_are_told() -> None:
    torch.manual_seed(0)
    model, ways = OnLstm(CONFIG, 20), Products("left")
    use(ways, model)
    assert all(layer.products is ways for layer in model.stack)


@pytest.mark.parametrize("way", ["mkl", "onednn", "bfloat16"])
def test_a_recurrence_learns_the_same_by_packed_products(way: str) -> None:
    if way not in (*possible(torch.zeros(1, 1)), "bfloat16"):
        pytest.skip(f"this build of torch has no {way}")
    torch.manual_seed(0)
    given = [torch.randn(6, 3, 54), torch.randn(54, 12) / 4, torch.randn(3, 12), torch.randn(3, 3, 4)]
    results = []
    for setting in ("right", way):
        leaves = [leaf.clone().requires_grad_() for leaf in given]
        hidden, _, distance, _ = recurrence(*leaves, Products(setting))
        results.append([hidden, distance, *torch.autograd.grad(hidden.sin().sum() + distance.sum(), leaves)])
    close = {"rtol": 0.05, "atol": 0.05} if way == "bfloat16" else {"rtol": 1e-4, "atol": 1e-5}
    for value, expected in zip(*results, strict=True):
        torch.testing.assert_close(value, expected, **close)


def test_the_settings_of_a_run_are_the_ways_that_there_are() -> None:
    offered = next(field.metadata["choices"] for field in fields(TrainConfig) if field.name == "products")
    assert offered == products.SETTINGS
