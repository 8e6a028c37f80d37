"""The Ordered Memory Policy Network: the released program's numbers and gradients. Padding, steps, heights."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from induce.tasks.craft.baselines import FIRST, OrderedMemoryPolicy, OrderedMemoryPolicyConfig, height
from induce.tasks.examples import DemonstrationBatch
from tests.support.reference import Fixture, fixtures, load, weights_and_biases


def model_of(fixture: Fixture, memory: str = "released") -> tuple[OrderedMemoryPolicy, dict[str, nn.Parameter]]:
    """The network with the fixture's weights, and its parameters under their original names."""
    sizes = fixture.sizes
    config = OrderedMemoryPolicyConfig(
        features=sizes["features"], slot_size=sizes["slot_size"], slots=sizes["slots"], memory=memory
    )
    model = OrderedMemoryPolicy(config, FIRST + 5).double()
    modules = {"inp_enc": model.observed, "actor.0": model.actor}
    modules |= {"distribution.mlp.1": model.level[0], "distribution.mlp.4": model.level[2]}
    for name, cells in (("com_cell", model.compose), ("decom_cell", model.expand)):
        for k, cell in enumerate(cells):
            modules |= {f"{name}.{k}.input_t.1": cell.inner, f"{name}.{k}.input_t.4": cell.outer}
            modules |= {f"{name}.{k}.gates.0": cell.norm}
    named = weights_and_biases(modules)
    fixture.copy_weights(named)
    return model, named


def rollout(model: OrderedMemoryPolicy, fixture: Fixture) -> dict[str, Tensor]:
    """All that the fixture has of a rollout without a task."""
    observations = torch.tensor(fixture.arrays["observation"])
    memory = model.start_with(torch.zeros(observations.shape[1], fixture.sizes["slot_size"], dtype=torch.float64))
    steps = []
    for time, x in enumerate(model.observed(observations)):
        actions, levels, memory = model.step(x, memory, first=time == 0)
        steps.append((actions, levels, memory.slots.transpose(0, 1)))
    names = ("probability", "slot_probability", "memory")
    return dict(zip(names, map(torch.stack, zip(*steps, strict=True)), strict=True))


@pytest.mark.parametrize("name", fixtures("ompn_stack"))
def test_every_number_of_a_rollout(name: str) -> None:
    fixture = load(name)
    model, named = model_of(fixture)
    result = rollout(model, fixture)
    fixture.check_all(result)
    actions = torch.tensor(fixture.arrays["action"])
    loss = -result["probability"].gather(-1, actions[..., None]).log().mean()
    fixture.check("loss", loss)
    loss.backward()
    for original, parameter in named.items():
        fixture.check(f"grad/{original}", parameter.grad)


@pytest.mark.parametrize("name", fixtures("ompn_stack"))
def test_the_papers_memory_is_another_one(name: str) -> None:
    """The paper keeps the content of the slots above. The first two steps are the same."""
    fixture = load(name)
    result = rollout(model_of(fixture, "paper")[0], fixture)["probability"]
    released = torch.tensor(fixture.arrays["probability"])
    torch.testing.assert_close(result[0], released[0])
    assert (result[2:] - released[2:]).abs().max() > 1e-4


def test_all_at_once_is_step_by_step_and_padding_changes_nothing() -> None:
    torch.manual_seed(3)
    model = OrderedMemoryPolicy(
        OrderedMemoryPolicyConfig(features=6, slot_size=4, slots=3, tasks=2), FIRST + 5
    ).double()
    observations, tasks = torch.randn(3, 6, 6, dtype=torch.float64), torch.tensor([0, 1, 1])
    moves, memory = model.run(observations, tasks), model.start(tasks)
    torch.testing.assert_close(moves.actions.sum(-1), torch.ones(3, 6, dtype=torch.float64))
    torch.testing.assert_close(moves.levels.sum(-1), torch.ones(3, 6, dtype=torch.float64))
    for time in range(6):
        actions, end, memory = model.act(observations[:, time], memory, first=time == 0)
        torch.testing.assert_close(actions, moves.actions[:, time, :-1])
        torch.testing.assert_close(end, moves.end[:, time])
    lengths = torch.tensor([6, 4, 2])
    real = torch.arange(6) < lengths[:, None]
    batch = DemonstrationBatch(FIRST + torch.randint(5, (3, 6)) * real, lengths, observations * real[..., None], tasks)
    loss, alone = model.loss(batch), [model.loss(part) for part in batch.parts(3)]
    torch.testing.assert_close(loss.nll, sum(item.nll * item.count for item in alone) / 12)
    assert loss.correct == sum(item.correct or 0 for item in alone)
    loss.objective.backward()
    assert all(parameter.grad is not None and parameter.grad.any() for parameter in model.parameters())


def test_a_gap_is_how_far_up_subtasks_are_done() -> None:
    levels = torch.tensor([[[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]]])
    torch.testing.assert_close(height(levels), torch.tensor([[2 / 3, 0.0, 1.0, 1 / 6]]))
