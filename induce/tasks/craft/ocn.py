"""Option-Controller Network (Shen 2022, thesis, chapter 5), and the mixture of experts that it is compared with.

In this order: the settings; cells, the networks of options and controllers; the soft call and return; behavior
cloning. ``docs/reference/models/ocn.md`` maps the thesis's equations to these functions.

Shapes: B demonstrations, N steps, F features of an observation, C cells with parameters of their own (K options, one
controller), D units inside a cell, H of its hidden state, A actions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from induce.data.vocabulary import FIRST
from induce.models.base import Model
from induce.setting import choice, count, limited
from induce.tasks.craft.cloning import CloningModel


@dataclass(frozen=True, kw_only=True)
class OptionControllerConfig:
    """Sizes of an Option-Controller Network, with the values of the thesis as far as it states them."""

    features: int = count(1075, "numbers in an observation")
    hidden_size: int = count(128, "units of a hidden layer")
    inner_size: int = count(128, "units inside the network of a cell")
    options: int = limited(3, 1, 1000, "skills that can be learned")
    tasks: int = count(3, "tasks, each with a first state of the controller")
    temperature: float = limited(10.0, 1e-3, 1e6, "temperature of the controller's choice")
    activation: str = choice("tanh", ("tanh", "relu"), "activation inside options; relu is that of CompILE's types")


class CellOutput(NamedTuple):
    """One step of C cells in B worlds."""

    scores: Tensor  # (C, B, A) of actions, or of options
    hidden: Tensor  # (C, B, H)
    end: Tensor  # (C, B) the probability that the cell's task is done


class Cells(nn.Module):
    """C networks with separate parameters, computed together: K options or one controller (thesis, eq. 5.2.3 to 5.2.6).

    Each is a perceptron of two layers over an observation and its own state. It gives scores of actions (or options),
    the next state, and the probability that its task is complete.
    """

    def __init__(
        self, cells: int, features: int, inner: int, hidden: int, actions: int, activation: str = "tanh"
    ) -> None:
        super().__init__()
        self.activation = activation

        def matrix(rows: int, columns: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(cells, rows, columns).uniform_(-(rows**-0.5), rows**-0.5))

        self.sizes = inner, hidden, actions
        self.observed = matrix(features, inner)
        self.remembered = matrix(hidden, inner)
        self.inner = matrix(inner, inner)
        self.outer = matrix(inner, actions + hidden + 1)  # W_act, W_hid and w_end
        self.observed_bias = nn.Parameter(torch.zeros(cells, 1, inner))
        self.inner_bias = nn.Parameter(torch.zeros(cells, 1, inner))
        self.outer_bias = nn.Parameter(torch.zeros(cells, 1, actions + hidden + 1))

    def look(self, observations: Tensor) -> Tensor:
        """Projections (C, R, D) of ``observations`` (R, F), without the states of the cells."""
        cells, features, inner = self.observed.shape
        joint = observations @ self.observed.transpose(0, 1).reshape(features, cells * inner)  # one product for all
        return joint.unflatten(-1, (cells, inner)).transpose(0, 1) + self.observed_bias

    def inside(self, looked: Tensor, hidden: Tensor) -> Tensor:
        """The MLP (C, B, D) over ``looked`` (C, B, D) from `look` and the states ``hidden`` (C, B, H) (eq. 5.2.3)."""
        activate = torch.relu if self.activation == "relu" else torch.tanh
        first = activate(torch.baddbmm(looked, hidden, self.remembered))
        return activate(torch.baddbmm(self.inner_bias, first, self.inner))

    def forward(self, looked: Tensor, hidden: Tensor) -> CellOutput:
        """One step of each cell without the softmax (eq. 5.2.4 to 5.2.6)."""
        _, size, actions = self.sizes
        outer = torch.baddbmm(self.outer_bias, self.inside(looked, hidden), self.outer)
        scores, state, end = outer.split((actions, size, 1), -1)
        return CellOutput(scores, state.tanh(), end[..., 0].sigmoid())

    def split(self) -> list[Cells]:
        """Each cell as a module with a copy of its parameters."""
        inner, hidden, actions = self.sizes
        cells = []
        for index in range(len(self.inner)):
            cell = Cells(1, self.observed.shape[1], inner, hidden, actions, self.activation).to(self.inner)
            cell.load_state_dict({name: value[index : index + 1] for name, value in self.state_dict().items()})
            cells.append(cell)
        return cells


class State(NamedTuple):
    """State after a step: hidden states of controller and options, and the weights of the active options."""

    controller: Tensor  # (1, B, H)
    choice: Tensor  # (B, K) the active options
    options: Tensor  # (K, B, H)


class Trace(NamedTuple):
    """Predictions for B demonstrations of N steps."""

    actions: Tensor  # (B, N, A) probabilities
    end: Tensor  # (B, N) the probability that the subtask before this step was done; 1 before the first step
    choice: Tensor  # (B, N, K) the active options


class Move(NamedTuple):
    """Parts of the action distribution of a step, or of all steps (N, …) in `OptionProgram.moves`.

    Options that continue have the weight (1 - end) before, and options that are called have the weight end choice.
    """

    scores: Tensor  # (K, B, A) of actions, by options that continue
    before: Tensor  # (B, K) the active options before the step
    choice: Tensor  # (B, K) the controller's choice if control returns
    end: Tensor  # (B,) the probability that control returns

    def shares(self) -> tuple[Tensor, Tensor]:
        """Weights (B, K) of options that continue and that are called (eq. 5.2.13, 5.2.16 and 5.2.17)."""
        e = self.end[..., None]
        return (1 - e) * self.before, e * self.choice


class OptionProgram(Model):
    """A controller that softly calls options and waits until the called option is done.

    Subclasses define the actions of the options.
    """

    config: Any

    def __init__(self, config: Any, *, features: int, actions: int, tasks: int, activation: str = "tanh") -> None:
        """``config`` has ``inner_size``, ``hidden_size``, ``options`` and ``temperature``."""
        super().__init__()
        self.config = config
        sizes = features, config.inner_size, config.hidden_size
        self.options = Cells(config.options, *sizes, actions, activation)
        self.controller = Cells(1, *sizes, config.options)
        self.first_option_state = nn.Parameter(torch.zeros(config.options, 1, config.hidden_size))
        self.first_controller_state = nn.Parameter(torch.randn(tasks, config.hidden_size))

    def start(self, tasks: Tensor) -> State:
        """The state before the first step of demonstrations of ``tasks`` (B,), without a choice."""
        count = len(tasks)
        return State(
            self.first_controller_state[tasks][None],
            self.first_controller_state.new_zeros(count, self.config.options),
            self.first_option_state.expand(-1, count, -1),
        )

    def choose(self, looked: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """The controller's choice (B, K) among options (eq. 5.2.7) and its new state (1, B, H) (eq. 5.2.2)."""
        output = self.controller(looked, hidden)
        return (output.scores[0] / self.config.temperature).softmax(-1), output.hidden

    def restart(self, looked: Tensor) -> CellOutput:
        """Outputs of called options for ``looked`` (K, R, D) (eq. 5.2.9, 5.2.15)."""
        return self.options(looked, self.first_option_state.expand(-1, looked.shape[1], -1))

    def step(
        self, looked: tuple[Tensor, Tensor], restarted: Tensor, state: State, *, first: bool = False
    ) -> tuple[Move, State]:
        """The move of one step, and the new state (eq. 5.2.11 to 5.2.17).

        ``looked`` are the projections of the observation by options and controller, ``restarted`` (K, B, H) the states
        of called options. At the ``first`` step of a demonstration control returns (eq. 5.2.8 to 5.2.10).
        """
        continued = self.options(looked[0], state.options)  # eq. 5.2.11
        done = (state.choice * continued.end.t()).sum(-1)  # eq. 5.2.12
        done = torch.ones_like(done) if first else done
        choice, controller = self.choose(looked[1], state.controller)  # eq. 5.2.14
        e = done[:, None]
        new = State(  # eq. 5.2.17
            torch.lerp(state.controller, controller, e),
            torch.lerp(state.choice, choice, e),
            torch.lerp(continued.hidden, restarted, e),
        )
        return Move(continued.scores, state.choice, choice, done), new

    def moves(self, observations: Tensor, tasks: Tensor) -> tuple[Move, Tensor, Tensor]:
        """The moves of all steps of ``observations`` (B, N, F) in demonstrations of ``tasks`` (B,).

        Returns the `Move` of all steps, scores (N, K, B, A) of actions by called options, and the active options
        (N, B, K).
        """
        count, steps = observations.shape[:2]
        flat = observations.transpose(0, 1).flatten(0, 1)  # (N B, F)
        options, controller = self.options.look(flat), self.controller.look(flat)
        called = self.restart(options)
        parts = [part.split(count, 1) for part in (options, controller, called.hidden)]
        state, steps_taken, active = self.start(tasks), [], []
        for time in range(steps):
            move, state = self.step((parts[0][time], parts[1][time]), parts[2][time], state, first=time == 0)
            steps_taken.append(move)
            active.append(state.choice)
        stacked = Move(*(torch.stack(part) for part in zip(*steps_taken, strict=True)))
        return stacked, called.scores.unflatten(1, (steps, count)).transpose(0, 1), torch.stack(active)


class OptionController(OptionProgram, CloningModel):
    """Options that choose actions in Craft."""

    Config = OptionControllerConfig
    has_options = True
    config: OptionControllerConfig

    def __init__(self, config: OptionControllerConfig, vocabulary_size: int) -> None:
        sizes = {"features": config.features, "actions": vocabulary_size - FIRST, "tasks": config.tasks}
        super().__init__(config, **sizes, activation=config.activation)

    def run(self, observations: Tensor, tasks: Tensor) -> Trace:
        """Predictions for ``observations`` (B, N, F) in demonstrations of ``tasks`` (B,)."""
        move, called, at_work = self.moves(observations, tasks)
        return Trace(*(part.transpose(0, 1) for part in (actions_of(move, called), move.end, at_work)))

    def act(self, observations: Tensor, state: State, *, first: bool) -> tuple[Tensor, Tensor, State]:
        """Probabilities of actions (B, A), of an end before this step (B,), and the new state, for ``observations``
        (B, F)."""
        looked = self.options.look(observations), self.controller.look(observations)
        called = self.restart(looked[0])
        move, new = self.step(looked, called.hidden, state, first=first)
        return actions_of(move, called.scores), move.end, new


class MixtureOfExperts(OptionController):
    """Mixture of experts, a baseline of the thesis: the controller chooses among the options again at each step.

    It equals an Option-Controller Network whose probability of an end, e, is always 1.
    """

    def step(
        self, looked: tuple[Tensor, Tensor], restarted: Tensor, state: State, *, first: bool = False
    ) -> tuple[Move, State]:
        """One step, in which control always returns."""
        choice, controller = self.choose(looked[1], state.controller)
        continued = choice.new_zeros(*restarted.shape[:2], self.options.sizes[2])
        move = Move(continued, state.choice, choice, torch.ones_like(choice[:, 0]))
        return move, State(controller, choice, restarted)


def actions_of(move: Move, called: Tensor) -> Tensor:
    """Probabilities (…, B, A) of actions, from ``move`` and the scores ``called`` (…, K, B, A) of called options."""
    shares = zip(move.shares(), (move.scores, called), strict=True)
    mixed: Any = sum(torch.einsum("...bk,...kba->...ba", share, scores.softmax(-1)) for share, scores in shares)
    return mixed
