"""Ordered Memory Policy Network and CompILE, baselines of the thesis that learn from demonstrations.

Ordered Memory Policy Network (Lu, Shen, Zhou, Courville, Tenenbaum & Gan 2021): a policy with a memory of S slots; the
top slot holds the longest subtask. At each step the policy decides up to which slot its subtasks are done. That slot
and all lower slots are recomputed from the top down, as in the released program. Slot 0 is the top, S - 1 the lowest.

CompILE (Kipf et al. 2019): segments of demonstrations and their types are hidden. A recurrent network reads a complete
demonstration, actions included, and predicts the end and the type of the first segment. It then continues from that
end, until it has predicted the required number of segments. A policy chooses each action from the observation and the
type of the segment. Ends and types are sampled softly (Gumbel-softmax). To act, each type is an option
(`options_of_types`). Since an agent has no complete demonstration, a linear layer on the policy learns from the
predicted ends whether a segment of a type is done. Its gradient does not reach the other parameters.

Shapes: B demonstrations, N steps, P = N + 1 positions where a segment can end (before each step, and after the last), F
features, D units of a slot, H units of CompILE, K types, A actions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.data.vocabulary import FIRST
from induce.models.base import Loss
from induce.setting import choice, count, limited, weight
from induce.tasks.craft.ocn import CloningModel, OptionController, OptionControllerConfig, Trace, targets_of
from induce.tasks.examples import DemonstrationBatch

MIN_PROBABILITY = 1e-9  # probability of being done, or of not being done


@dataclass(frozen=True, kw_only=True)
class OrderedMemoryPolicyConfig:
    """Sizes of an Ordered Memory Policy Network. The defaults are those of the published Craft runs."""

    features: int = count(1075, "numbers in an observation")
    slot_size: int = count(128, "units of a memory slot and of a word embedding")
    slots: int = limited(3, 2, 1000, "memory slots")
    tasks: int = count(3, "tasks, each with its own vector")
    memory: str = choice(
        "released",
        ("released", "paper"),
        "content of slots above the chosen one: released, the candidates, as in the program; "
        "paper, their previous content",
    )


class GatedCell(nn.Module):
    """Cell that computes a slot: a gated sum of its ``inputs`` vectors (B, D) and of a candidate, then normalized.

    The candidate vector and the gates are computed from the vectors and a context (B, 2 D) (Lu et al. 2021).
    """

    def __init__(self, size: int, inputs: int) -> None:
        super().__init__()
        self.size, self.inputs = size, inputs
        self.inner = nn.Linear((inputs + 2) * size, 4 * size)
        self.outer = nn.Linear(4 * size, (inputs + 2) * size)  # gates of the inputs and of the new vector; the vector
        self.norm = nn.LayerNorm((inputs + 1) * size)

    def forward(self, *vectors: Tensor, context: Tensor) -> Tensor:
        """The new content (B, D) of a slot, from ``inputs`` vectors (B, D) and a ``context`` (B, 2 D)."""
        outer = self.outer(self.inner(torch.cat((*vectors, context), -1)).relu())
        scores, new = outer.split(((self.inputs + 1) * self.size, self.size), -1)
        gates = self.norm(scores).sigmoid().split(self.size, -1)
        total = sum(gate * vector for gate, vector in zip(gates, (*vectors, new), strict=True))
        assert isinstance(total, Tensor)
        return functional.layer_norm(total, (self.size,))


class Memory(NamedTuple):
    """Content of the memory after a step, and the vector of the task."""

    slots: Tensor  # (S, B, D)
    task: Tensor  # (B, D)


class Moves(NamedTuple):
    """Predictions for B demonstrations of N steps."""

    actions: Tensor  # (B, N, A + 1) probabilities; the last entry is that of being done
    levels: Tensor  # (B, N, S + 1) distribution of the highest completed subtask: all, slot 0, .., the lowest slot
    end: Tensor  # (B, N) mean level, from 0 (the lowest slot) to 1 (all); 1 before the first step


class OrderedMemoryPolicy(CloningModel):
    """Ordered Memory Policy Network: predicts the next action, and which subtasks are complete, at each step."""

    Config = OrderedMemoryPolicyConfig

    def __init__(self, config: OrderedMemoryPolicyConfig, vocabulary_size: int) -> None:
        super().__init__()
        self.config = config
        size = config.slot_size
        self.observed = nn.Linear(config.features, size)
        self.tasks = nn.Embedding(config.tasks, size)
        self.level = nn.Sequential(nn.Linear(4 * size, size), nn.LeakyReLU(), nn.Linear(size, 1))
        self.compose = nn.ModuleList(GatedCell(size, 2) for _ in range(config.slots))
        self.expand = nn.ModuleList(GatedCell(size, 1) for _ in range(config.slots - 1))
        self.actor = nn.Linear(3 * size, vocabulary_size - FIRST)

    def start(self, tasks: Tensor) -> Memory:
        """The memory before the first step of demonstrations of ``tasks`` (B,): the top slot holds the task."""
        return self.start_with(self.tasks(tasks))

    def start_with(self, task: Tensor) -> Memory:
        """The memory before the first step for task vectors ``task`` (B, D)."""
        top = functional.layer_norm(task, (self.config.slot_size,))
        return Memory(torch.stack([top, *[torch.zeros_like(top)] * (self.config.slots - 1)]), task)

    def candidates(self, slots: Tensor, x: Tensor, context: Tensor) -> Tensor:
        """New content (S, B, D) of each slot if all lower slots are done, computed from the lowest slot up."""
        made, below = [], x
        for cell, slot in zip(reversed(self.compose), reversed(slots.unbind(0)), strict=True):
            below = cell(below, slot, context=context)
            made.append(below)
        return torch.stack(made[::-1])

    def levels(self, slots: Tensor, candidates: Tensor, context: Tensor) -> Tensor:
        """Distribution (B, S + 1) of the highest completed subtask, by stick-breaking from the lowest slot.

        The entries stand for: all subtasks, slot 0, .., the lowest slot.
        """
        count = len(slots)
        stay = self.level(torch.cat((context.expand(count, -1, -1), slots, candidates), -1))[..., 0].sigmoid()  # (S, B)
        remainder = torch.ones_like(stay[0])
        shares = []
        for probability in reversed(stay.unbind(0)):
            shares.append(probability * remainder)
            remainder = remainder * (1 - probability)
        return torch.stack([remainder, *shares[::-1]], -1)

    def step(self, x: Tensor, memory: Memory, *, first: bool = False) -> tuple[Tensor, Tensor, Memory]:
        """Probabilities of actions (B, A + 1) and of levels (B, S + 1), and the new memory, for ``x`` (B, D).

        At the ``first`` step of a demonstration all slots below the top one are recomputed.
        """
        slots, task = memory
        context = torch.cat((x, task), -1)
        if first:
            made = slots
            levels = functional.one_hot(torch.ones(len(x), dtype=torch.long, device=x.device), len(slots) + 1).to(x)
        else:
            made = self.candidates(slots, x, context)
            levels = self.levels(slots, made, context)
        new = self._renew(slots, made, levels[:, 1:], context)
        scores = self.actor(torch.cat((new[-1], task, x), -1))
        done = levels[:, :1].clamp(MIN_PROBABILITY, 1 - MIN_PROBABILITY)
        actions = torch.cat((scores.softmax(-1) * (1 - done), done), -1)
        return actions, levels, Memory(new, task)

    def _renew(self, slots: Tensor, made: Tensor, chosen: Tensor, context: Tensor) -> Tensor:
        """Slots (S, B, D) after those below the ``chosen`` one (B, S) are recomputed from the top down."""
        share = (chosen / chosen.sum(-1, keepdim=True)).t()[..., None]  # (S, B, 1)
        above = share.cumsum(0)  # the chosen slot is this one or a higher one
        below = share.flip(0).cumsum(0).flip(0)
        previous = made if self.config.memory == "released" else slots
        from_above, renewed = torch.zeros_like(made[0]), []
        for k in range(len(slots)):
            renewed.append(previous[k] * (1 - above[k]) + made[k] * share[k] + from_above * (1 - below[k]))
            if k + 1 < len(slots):
                held = below[k] * made[k] + (1 - below[k]) * from_above
                from_above = self.expand[k](held, context=context)
        return torch.stack(renewed)

    def run(self, observations: Tensor, tasks: Tensor) -> Moves:
        """Predictions for ``observations`` (B, N, F) in demonstrations of ``tasks`` (B,)."""
        memory, outputs = self.start(tasks), []
        for time, x in enumerate(self.observed(observations).unbind(1)):
            actions, levels, memory = self.step(x, memory, first=time == 0)
            outputs.append((actions, levels, height(levels) if time else torch.ones_like(levels[:, 0])))
        return Moves(*(torch.stack(part, 1) for part in zip(*outputs, strict=True)))

    def act(self, observations: Tensor, state: Memory, *, first: bool) -> tuple[Tensor, Tensor, Memory]:
        """Probabilities of actions (B, A), of an end before this step (B,), and the new memory."""
        actions, levels, memory = self.step(self.observed(observations), state, first=first)
        return actions[:, :-1], torch.ones_like(levels[:, 0]) if first else height(levels), memory

    def count_correct(self, actions: Tensor, real: Tensor, targets: Tensor) -> int:
        """Number of correct steps. Being done is not an action."""
        return super().count_correct(actions[..., :-1], real, targets)


def height(levels: Tensor) -> Tensor:
    """Mean height (…) of ``levels`` (…, S + 1), from 0 (the lowest slot) to 1 (everything)."""
    steps = levels.shape[-1] - 1
    weights = torch.arange(steps, -1, -1, device=levels.device, dtype=levels.dtype) / steps
    return (levels * weights).sum(-1)


NEVER = -1e9  # score of a position that cannot be an end


@dataclass(frozen=True, kw_only=True)
class CompileConfig:
    """Sizes of CompILE, with weights, rate and type of hidden variable of the published Craft runs."""

    features: int = count(1075, "numbers in an observation")
    hidden_size: int = count(128, "units of a hidden layer")
    options: int = limited(3, 1, 1000, "types of segments")
    segments: int = limited(2, 1, 1000, "segments of each demonstration")
    tasks: int = count(3, "tasks in the demonstrations; not used by the model")
    rate: float = limited(3.0, 1e-3, 1e6, "prior mean of the number of steps in a segment")
    temperature: float = limited(1.0, 1e-3, 1e6, "temperature of samples")
    end_weight: float = weight(0.1, "weight of the divergence of ends from their prior")
    kind_weight: float = weight(0.1, "weight of the divergence of types from uniform")


class Segments(NamedTuple):
    """Predicted segments of B demonstrations."""

    ends: list[Tensor]  # (B, P) scores of the end of each segment but the last; `NEVER` at impossible positions
    kinds: list[Tensor]  # (B, K) scores of each segment's type
    drawn_ends: list[Tensor]  # (B, P) sampled, including that of the last segment; each sums to 1
    drawn_kinds: list[Tensor]  # (B, K) sampled


class Compile(CloningModel):
    """A model of segments of complete demonstrations. Only its types can act, as options."""

    Config = CompileConfig
    has_options = True

    def __init__(self, config: CompileConfig, vocabulary_size: int) -> None:
        super().__init__()
        self.config = config
        size, actions = config.hidden_size, vocabulary_size - FIRST
        self.observed = nn.Linear(config.features, size)
        self.acted = nn.Embedding(actions + 1, size)  # the last one follows a demonstration
        self.reader = nn.LSTMCell(size, size)
        self.end = nn.Sequential(nn.Linear(size, size), nn.ReLU(), nn.Linear(size, 1))
        self.kind = nn.Sequential(nn.Linear(size, size), nn.ReLU(), nn.Linear(size, config.options))
        self.observed_policy = nn.Linear(config.features, size)
        self.segment_policy = nn.Linear(config.options, size, bias=False)
        self.policy = nn.Sequential(nn.ReLU(), nn.Linear(size, size), nn.ReLU(), nn.Linear(size, actions))
        self.done = nn.Linear(size, 1)  # whether the segment ended before a step, from the last layer of the policy

    def read(self, batch: DemonstrationBatch) -> Segments:
        """Ends and types of segments, sampled in training mode, the most probable ones otherwise."""
        steps, lengths = batch.tokens.shape[1], batch.lengths.to(batch.tokens.device)
        position = torch.arange(steps + 1, device=lengths.device)
        actions_taken = functional.pad((batch.tokens - FIRST).clamp(min=0), (0, 1))
        actions_taken = actions_taken.masked_fill(position == lengths[:, None], self.acted.num_embeddings - 1)
        x = self.observed(functional.pad(batch.observations, (0, 0, 0, 1))) + self.acted(actions_taken)
        possible = (position > 0) & (position <= lengths[:, None])
        last = functional.one_hot(lengths, steps + 1).to(x)
        begun, segments = torch.ones_like(last), Segments([], [], [], [])
        for number in range(self.config.segments):
            hidden = cell = x.new_zeros(len(x), x.shape[2])
            read = []  # states (B, H) along x, reset in proportion to 1 - begun
            for step, share in zip(x.unbind(1), begun.unbind(1), strict=True):
                hidden, cell = self.reader(step, (hidden * share[:, None], cell * share[:, None]))
                read.append(hidden)
            states = torch.stack(read, 1)  # (B, P, H)
            if number + 1 < self.config.segments:
                segments.ends.append(self.end(states)[..., 0].masked_fill(~possible, NEVER))
                segments.drawn_ends.append(self._draw(segments.ends[-1]))
            else:
                segments.drawn_ends.append(last)
            before = segments.drawn_ends[-1][:, 1:]  # the state before the step where the next segment begins
            segments.kinds.append(self.kind((states[:, :-1] * before[..., None]).sum(1)))
            segments.drawn_kinds.append(self._draw(segments.kinds[-1]))
            begun = segments.drawn_ends[-1].cumsum(1)
        return segments

    def _draw(self, scores: Tensor) -> Tensor:
        if not self.training:
            return functional.one_hot(scores.argmax(-1), scores.shape[-1]).to(scores)
        return functional.gumbel_softmax(scores, self.config.temperature)

    def run_with(self, batch: DemonstrationBatch, segments: Segments) -> tuple[Tensor, Tensor, Tensor]:
        """Predictions for each step by each of the M segments.

        Returns the membership of steps in segments (M, B, N), log-probabilities of actions (M, B, N, A), and scores of
        an end before the step (M, B, N). The gradient of these scores reaches only the parameters of `done`.
        """
        inside = shares(segments.drawn_ends)[:, :, :-1]
        observed = self.observed_policy(batch.observations)
        kinds = self.segment_policy(torch.stack(segments.drawn_kinds))
        inner = self.policy[:-1](observed + kinds[:, :, None])
        return inside, self.policy[-1](inner).log_softmax(-1), self.done(inner.detach())[..., 0]

    def trace(self, batch: DemonstrationBatch) -> Trace:
        """Predictions for demonstrations. A segment counts as a subtask, its type as an option."""
        segments = self.read(batch)
        inside, actions, _ = self.run_with(batch, segments)
        number = (inside * torch.arange(len(inside), device=inside.device)[:, None, None]).sum(0)
        end = torch.cat((torch.ones_like(number[:, :1]), number.diff(dim=1).clamp(0, 1)), 1)
        choice = torch.einsum("mbn,mbk->bnk", inside, torch.stack(segments.drawn_kinds))
        return Trace((inside[..., None] * actions.exp()).sum(0), end, choice)

    def loss(self, batch: DemonstrationBatch, state: None = None) -> Loss:
        """Negative evidence lower bound: NLL of actions, and divergence of ends and types from their priors.

        The NLL of the ends given observations and types is added, to train `done`.
        """
        segments = self.read(batch)
        inside, actions, done = self.run_with(batch, segments)
        real, actions_taken = targets_of(batch)
        chosen = actions.gather(-1, actions_taken.expand(len(actions), -1, -1)[..., None])[..., 0]
        nll = -(inside * chosen).sum(0)[real].mean()
        correct = self.count_correct((inside[..., None] * actions.exp()).sum(0), real, actions_taken)
        count = int(real.sum())
        divergence = self.config.end_weight * self._end_divergence(segments) + self.config.kind_weight * sum(
            map(type_divergence, segments.kinds)
        )
        ends = nll_of_ends(inside.detach(), done, real)
        return Loss(nll + (divergence + ends) / count, nll, count, correct=correct)

    def _end_divergence(self, segments: Segments) -> Tensor:
        """Divergence, summed over demonstrations, of ends from their prior: `rate` steps after the previous end."""
        total = torch.zeros((), device=segments.drawn_ends[0].device)
        last = torch.zeros_like(segments.drawn_ends[0])
        last[:, 0] = 1.0  # the first segment begins at the first position
        for scores, drawn in zip(segments.ends, segments.drawn_ends, strict=False):
            expected = (last @ poisson(scores.shape[1], self.config.rate).to(scores)).clamp(min=1e-9).log()
            expected = expected.masked_fill(scores == NEVER, NEVER).log_softmax(-1)
            logs = scores.log_softmax(-1)
            total = total + (logs.exp() * (logs - expected)).sum()
            last = drawn
        return total

    @torch.no_grad()
    def options_of_types(self) -> OptionController:
        """Each type as an option without a memory, with an untrained controller for one task."""
        second: Any = self.policy[1]
        last: Any = self.policy[-1]
        sizes = {"features": self.config.features, "inner_size": self.config.hidden_size, "hidden_size": 1}
        config = OptionControllerConfig(**sizes, options=self.config.options, tasks=1, activation="relu")
        result = OptionController(config, last.out_features + FIRST).to(last.weight)
        cells, count = result.options, last.out_features
        for parameter in cells.parameters():
            parameter.zero_()
        cells.observed[:] = self.observed_policy.weight.t()
        cells.observed_bias[:, 0] = self.observed_policy.bias + self.segment_policy.weight.t()
        cells.inner[:], cells.inner_bias[:] = second.weight.t(), second.bias
        cells.outer[:, :, :count], cells.outer_bias[..., :count] = last.weight.t(), last.bias
        cells.outer[:, :, -1:], cells.outer_bias[..., -1:] = self.done.weight.t(), self.done.bias
        return result.requires_grad_(False)


def nll_of_ends(inside: Tensor, scores: Tensor, real: Tensor) -> Tensor:
    """Negative log-likelihood of ends with ``scores`` (M, B, N), summed over the ``real`` (B, N) steps but the first.

    ``inside`` (M, B, N) is the membership of steps in segments: a segment ends before the step where it decreases.
    """
    before, now, scores = inside[:, :, :-1], inside[:, :, 1:], scores[:, :, 1:]
    stays, ends = torch.minimum(before, now), (before - now).clamp(min=0)
    terms = stays * functional.logsigmoid(-scores) + ends * functional.logsigmoid(scores)
    return -(terms * real[:, 1:]).sum()


def shares(ends: list[Tensor]) -> Tensor:
    """Membership of each position in each segment (M, B, P), for ``ends`` (B, P) that each sum to 1."""
    left, memberships = torch.ones_like(ends[0]), []
    for end in ends:
        reached = end.cumsum(1)
        memberships.append(left * (1 - reached))
        left = left * reached
    return torch.stack(memberships)


def type_divergence(scores: Tensor) -> Tensor:
    """Divergence of types (B, K) from uniform probabilities, summed over demonstrations."""
    logs = scores.log_softmax(-1)
    return (logs.exp() * (logs - logs.new_tensor(1 / logs.shape[-1]).log())).sum()


def poisson(positions: int, rate: float) -> Tensor:
    """Prior probability (P, P) that a segment that starts at one position ends at a later one."""
    steps = torch.arange(positions, dtype=torch.float64)
    probabilities = (steps * torch.tensor(rate, dtype=torch.float64).log() - rate - (steps + 1).lgamma()).exp()
    offsets = torch.arange(positions) - torch.arange(positions)[:, None]
    return torch.where(offsets > 0, probabilities[offsets.clamp(min=0)], 0.0)
