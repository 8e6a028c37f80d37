"""NT-ASGD and segment lengths, against traces of the released training script."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from induce.data.loaders import segments
from induce.settings.run import NtAsgdSettings
from induce.training.optimizer import NtAsgd
from tests.support.reference import fixtures, load

pytestmark = pytest.mark.usefixtures("double")


class Watched(NtAsgd):
    """NT-ASGD that remembers what it decided in which epoch."""

    def follow(self, losses: Any) -> dict[str, Any]:
        """Feed one loss an epoch. What the fixtures record of the decisions."""
        result: dict[str, Any] = {"switch_epoch": 0, "restart_epoch": 0, "stop_epoch": 0, "averaging": [], "saved": []}
        best = float("inf")
        for epoch, loss in enumerate(losses, 1):
            result["averaging"].append(self.averages is not None)
            result["saved"].append(bool(loss < best))
            best = min(best, loss)
            decision = self.end_of_epoch(float(loss))
            if decision.note == "averaging starts":
                result["switch_epoch"] = epoch
            if decision.note == "averaging restarts":
                result["restart_epoch"] = epoch
            if decision.stop:
                result["stop_epoch"] = epoch
                break
        result["epochs_run"] = epoch
        return result


@pytest.mark.parametrize("name", fixtures("opt_nt_asgd"))
def test_when_averaging_starts_restarts_and_stops(name: str) -> None:
    fixture = load(name)
    scenarios = {array.split("/")[0] for array in fixture.arrays}
    for scenario in sorted(scenarios):
        part = {key.split("/")[1]: value for key, value in fixture.arrays.items() if key.startswith(scenario + "/")}
        optimizer = Watched(
            [torch.zeros(1)],
            NtAsgdSettings(
                learning_rate=1.0,
                weight_decay=0.0,
                nonmonotone=int(part["nonmono"]),
                restart_epoch=int(part["finetune_epoch"]),
            ),
        )
        result = optimizer.follow(part["val_losses"])
        for key, value in result.items():
            want = part[key][: result["epochs_run"]] if part[key].ndim else part[key]
            np.testing.assert_array_equal(value, want, err_msg=f"{scenario}: {key}")


@pytest.mark.parametrize("name", fixtures("opt_asgd_trace"))
def test_parameters_through_switch_and_restart(name: str) -> None:
    fixture = load(name)
    sizes, arrays = fixture.sizes, fixture.arrays
    parameter = torch.nn.Parameter(torch.tensor(arrays["start"]))
    optimizer = NtAsgd(
        [parameter],
        NtAsgdSettings(
            learning_rate=sizes["lr"],
            weight_decay=sizes["weight_decay"],
            nonmonotone=sizes["nonmono"],
            restart_epoch=sizes["finetune_epoch"],
        ),
    )
    params, validated, saved, best = [], [], [], float("inf")
    for epoch, loss in enumerate(arrays["val_losses"]):
        for k in range(sizes["steps_per_epoch"]):
            step = epoch * sizes["steps_per_epoch"] + k
            parameter.grad = torch.tensor(arrays["gradient"][step])
            optimizer.step(float(arrays["factor"][step]))
            params.append(parameter.detach().numpy().copy())
        with optimizer.averaged():
            validated.append(parameter.detach().numpy().copy())
        if loss < best:
            best = loss
            saved.append(validated[-1])
        if optimizer.end_of_epoch(float(loss)).stop:
            break
    fixture.check("params", np.array(params))
    fixture.check("validated", np.array(validated))
    fixture.check("saved_values", np.array(saved))


@pytest.mark.parametrize("name", fixtures("opt_bptt"))
def test_segment_lengths(name: str) -> None:
    fixture = load(name)
    sizes, arrays = fixture.sizes, fixture.arrays
    draw = np.random.RandomState(int(arrays["seed"]))
    result = list(segments(draw, sizes["nominal"], sizes["total_rows"]))
    for key in ("start", "length", "rows"):
        np.testing.assert_array_equal([getattr(segment, key) for segment in result], arrays[key])
    fixture.check("lr", np.array([sizes["lr"] * segment.length / sizes["nominal"] for segment in result]))
