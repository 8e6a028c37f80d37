"""Construction of untrained models."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import torch

from induce.models.build import make_model
from tests.support.tiny import settings


def test_denormal_numbers_are_zero_where_models_compute() -> None:
    smallest = torch.tensor([1.2e-38])
    torch.set_flush_denormal(False)
    assert smallest / 2 > 0
    make_model(settings("simple-pcfg"), 30)
    assert smallest / 2 == 0
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: (smallest / 2).item()).result() == 0
