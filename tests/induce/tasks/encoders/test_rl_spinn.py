"""RL-SPINN: probabilities of all trees, composition along the sampled tree, and the loss of the policy."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor

from induce.tasks.encoders.base import Decisions, Encoding
from induce.tasks.encoders.rl_spinn import RlSpinn, RlSpinnConfig
from induce.tasks.encoders.trees import join_states
from treebank.core.tree import Span

pytestmark = pytest.mark.usefixtures("double")

WORDS = 5
TREES = 14  # binary trees over five words


def tiny(**settings: str) -> RlSpinn:
    """An untrained encoder."""
    config = RlSpinnConfig(hidden_size=4, tracking_size=3, value_size=3, embedding_dropout=0.0, **settings)
    return RlSpinn(config, 12).eval()


def test_probabilities_of_all_trees_sum_to_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """All sequences of actions are tried. The vector of each tree is composed along it."""
    torch.manual_seed(1)
    model = tiny()
    actions = torch.tensor(list(itertools.product([False, True], repeat=2 * WORDS - 1)))
    steps = iter(actions.t())
    monkeypatch.setattr(model, "choose_reduce", lambda _: next(steps))
    x, lengths = model.embedding(torch.arange(2, 2 + WORDS)).expand(len(actions), -1, -1), [WORDS] * len(actions)
    with torch.no_grad():
        parses = model.parse(x, torch.tensor(lengths))
        leaves = model.leaves(x[:1], torch.tensor([WORDS]))[0]

    def compose(start: int, end: int, spans: set[Span]) -> Tensor:
        if end - start == 1:
            return leaves[start]
        split = next(k for k in range(start + 1, end) if {(start, k), (k, end)} <= spans)
        return join_states(model.gates, compose(start, split, spans), compose(split, end, spans))

    rows = {tuple(spans): row for row, spans in enumerate(parses.spans)}
    assert len(rows) == TREES
    assert float(parses.log_probability[[*rows.values()]].exp().sum()) == pytest.approx(1.0, abs=1e-12)
    for tree, row in rows.items():
        root = compose(0, WORDS, {*tree, *((i, i + 1) for i in range(WORDS))})
        torch.testing.assert_close(parses.vectors[row], root[: model.size].detach())


def test_policy_loss_weights_log_probabilities_by_advantages() -> None:
    model = tiny(baseline="value")
    model.set_sides(2)
    log_probability = torch.tensor([-1.0, -2.0, -3.0, -4.0], requires_grad=True)
    expected = torch.tensor([0.5, 0.25, 0.0, 1.0], requires_grad=True)
    decisions = Decisions(log_probability, torch.tensor([1.0, 2.0, 3.0, 4.0]), expected)
    loss = model.added_loss(Encoding(torch.zeros(4, 4), decisions=decisions), torch.tensor([1.0, 0.0]))
    loss.backward()
    advantages = torch.tensor([0.5, -0.25, 1.0, -1.0])
    torch.testing.assert_close(log_probability.grad, -42 * advantages / 10)
    torch.testing.assert_close(expected.grad, -2 * advantages / 4)


def test_running_mean_of_rewards_is_the_baseline() -> None:
    model = tiny(baseline="mean").train()
    decisions = Decisions(torch.tensor([-1.0, -1.0]), torch.tensor([1.0, 1.0]))
    losses = [
        model.added_loss(Encoding(torch.zeros(2, 4), decisions=decisions), torch.tensor([1.0, 1.0])) for _ in range(2)
    ]
    assert [float(loss) for loss in losses if loss is not None] == pytest.approx([42.0, 42.0 * 0.9])
