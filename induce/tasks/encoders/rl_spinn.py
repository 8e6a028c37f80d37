"""RL-SPINN: a shift-reduce parser whose actions are learned from rewards (Yogatama et al. 2017, Williams et al. 2018).

Read from the top: the settings, a parser's state, the encoder with its steps, the loss of the policy.
``docs/reference/models/rl-spinn.md`` maps the papers to these functions.

Shapes: R expressions, N words of the longest one, D units. A state is [h; c], 2 D units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence

from induce.setting import choice, count, equal, weight
from induce.structures import Brackets
from induce.tasks.encoders.base import Decisions, Encoder, Encoding
from induce.tasks.encoders.trees import LeafConfig, Leaves, join_states
from induce.tasks.examples import Side
from treebank.core.tree import Span, pre_order

BASELINE_RATE = 0.1  # share of a new mean reward in the running mean


@dataclass(frozen=True, kw_only=True)
class RlSpinnConfig(LeafConfig):
    """Sizes and rates."""

    tracking_size: int = count(64, "units of the LSTM that follows stack and buffer")
    policy_weight: float = weight(42.0, "weight of the loss of the policy")
    baseline: str = choice(
        "value",
        ("value", "mean", "none"),
        "expected reward, which is subtracted: of a value network, a running mean, or 0",
    )
    value_size: int = count(100, "units of the value network", when=equal("model.baseline", "value"))


class ShiftReduceStack:
    """Buffer and stack of one expression."""

    def __init__(self, words: Sequence[Tensor], empty: Tensor) -> None:
        self.words, self.empty = words, empty  # states (2 D,)
        self.shifted = 0
        self.stack: list[tuple[Tensor, Span]] = []
        self.spans: list[Span] = []

    @property
    def can_shift(self) -> bool:
        """Whether the buffer holds a word."""
        return self.shifted < len(self.words)

    @property
    def can_reduce(self) -> bool:
        """Whether the stack holds two nodes."""
        return len(self.stack) > 1

    def top(self) -> tuple[Tensor, Tensor, Tensor]:
        """States of the first word in the buffer and of the two highest nodes, zeros if there is none."""
        nodes = [state for state, _ in self.stack[-2:]]
        first = self.words[self.shifted] if self.can_shift else self.empty
        second, third = [self.empty] * (2 - len(nodes)) + nodes
        return first, third, second

    def shift(self) -> None:
        """Move the first word of the buffer to the stack."""
        self.stack.append((self.words[self.shifted], (self.shifted, self.shifted + 1)))
        self.shifted += 1

    def reduce(self, state: Tensor) -> None:
        """Replace the two highest nodes by one with this state."""
        (_, (start, _)), (_, (_, end)) = self.stack[-2:]
        self.stack[-2:] = [(state, (start, end))]
        self.spans.append((start, end))


class Parses(NamedTuple):
    """Final states of the parsers of a batch."""

    vectors: Tensor  # (R, D)
    spans: list[list[Span]]  # in pre-order
    log_probability: Tensor  # (R,): sum over the free actions
    free_actions: Tensor  # (R,): number


class RlSpinn(Encoder):
    """RL-SPINN. The vector is the hidden state of the last node."""

    Config = RlSpinnConfig
    gives = (Brackets,)
    mean_reward: Tensor

    def __init__(self, config: RlSpinnConfig, symbols: int) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(symbols, config.words)
        self.dropout = nn.Dropout(config.embedding_dropout)
        self.leaves = Leaves(config)
        size = self.size = self.leaves.size
        self.gates = nn.Linear(2 * size, 5 * size)
        self.tracker = nn.LSTMCell(3 * size, config.tracking_size)
        self.policy = nn.Linear(config.tracking_size, 2)  # shift, reduce
        self.register_buffer("mean_reward", torch.zeros(()))
        self.value = None
        if config.baseline == "value":
            self.value = nn.LSTM(config.words, config.value_size, batch_first=True)
            self.value_output = nn.Linear(config.value_size, 1)

    def encode(self, tokens: Tensor, lengths: Tensor, trees: Sequence[Side]) -> Encoding:
        """Vectors (R, D), with the decisions of the policy."""
        words = self.embedding(tokens)
        parses = self.parse(words, lengths)
        expected = None if self.value is None else self.expected_reward(words, lengths)
        return Encoding(parses.vectors, decisions=Decisions(parses.log_probability, parses.free_actions, expected))

    def forward(self, tokens: Tensor, lengths: Tensor, trees: Sequence[Side]) -> Tensor:
        """Vectors (R, D) of R expressions ``tokens`` (R, N)."""
        return self.parse(self.embedding(tokens), lengths).vectors

    def parse(self, x: Tensor, lengths: Tensor) -> Parses:
        """Parse embedded words ``x`` (R, N, E) by sampled actions in training, else by the more probable ones.

        An impossible action is replaced by the other one. An action is free if both are possible.
        """
        states = self.leaves(self.dropout(x), lengths)
        empty = states.new_zeros(states.shape[-1])
        parsers = [
            ShiftReduceStack(row[:length].unbind(0), empty)
            for row, length in zip(states.unbind(0), lengths.tolist(), strict=True)
        ]
        tracked: tuple[Tensor, Tensor] | None = None
        log_probability, free_actions = x.new_zeros(len(x)), x.new_zeros(len(x))
        for _ in range(2 * x.shape[1] - 1):
            tops = [torch.stack(column)[:, : self.size] for column in zip(*(p.top() for p in parsers), strict=True)]
            tracked = self.tracker(torch.cat(tops, -1), tracked)
            log_policy = self.policy(tracked[0]).log_softmax(-1)
            reduce = self.choose_reduce(log_policy.detach())
            is_free = torch.tensor([p.can_shift and p.can_reduce for p in parsers], device=x.device).to(x)
            log_probability = log_probability + is_free * log_policy.gather(1, reduce.long()[:, None]).squeeze(1)
            free_actions = free_actions + is_free
            self.act(parsers, reduce.tolist())
        vectors = torch.stack([p.stack[0][0] for p in parsers])[:, : self.size]
        return Parses(vectors, [sorted(p.spans, key=pre_order) for p in parsers], log_probability, free_actions)

    def choose_reduce(self, log_policy: Tensor) -> Tensor:
        """Whether each parser should reduce (R,), given the log-probabilities (R, 2) of both actions."""
        if self.training:
            return torch.rand_like(log_policy[:, 1]) < log_policy[:, 1].exp()
        return log_policy[:, 1] > log_policy[:, 0]

    def act(self, parsers: Sequence[ShiftReduceStack], reduce: Sequence[bool]) -> None:
        """Apply one action to each parser that has not finished. All reductions are computed at once."""
        reducing = []
        for parser, wants in zip(parsers, reduce, strict=True):
            if parser.can_reduce and (wants or not parser.can_shift):
                reducing.append(parser)
            elif parser.can_shift:
                parser.shift()
        if reducing:
            left, right = (torch.stack([p.stack[position][0] for p in reducing]) for position in (-2, -1))
            for parser, state in zip(reducing, join_states(self.gates, left, right).unbind(0), strict=True):
                parser.reduce(state)

    def expected_reward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Reward (R,) that the value network expects for the embedded ``words`` (R, N, E), which it does not change."""
        assert self.value is not None
        packed = pack_padded_sequence(words.detach(), lengths.cpu(), batch_first=True, enforce_sorted=False)
        return cast(Tensor, self.value_output(self.value(packed)[1][0][-1]).squeeze(-1))

    def added_loss(self, encoding: Encoding, rewards: Tensor) -> Tensor | None:
        """Loss of the policy by REINFORCE, the mean over free actions, and of the value network (squared error).

        All expressions of an example have its reward.
        """
        decisions = encoding.decisions
        assert decisions is not None
        rewards = rewards.repeat(self.sides)
        added = rewards.new_zeros(())
        expected = self.mean_reward if decisions.expected_reward is None else decisions.expected_reward
        advantages = rewards - expected.detach()
        if decisions.expected_reward is not None:
            added = functional.mse_loss(decisions.expected_reward, rewards)
        elif self.training and self.config.baseline == "mean":
            self.mean_reward += BASELINE_RATE * (rewards.mean() - self.mean_reward)
        policy = (advantages * decisions.log_probability).sum() / decisions.number.sum().clamp(min=1)
        return added - self.config.policy_weight * policy

    def structure(self, tokens: Tensor, lengths: Tensor) -> Brackets:
        """The trees of ``tokens`` (R, N)."""
        return Brackets(self.parse(self.embedding(tokens), lengths).spans, lengths)
