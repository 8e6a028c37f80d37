"""Option-Controller Network (Shen 2022, thesis, chapter 5), and the mixture of experts that it is compared with.

In this order: behavior cloning and the parser of trajectories, for all models of demonstrations; settings; cells, the
networks of options and controllers; the soft call and return; options over words instead of actions.
``docs/reference/models/ocn.md`` maps the thesis's equations to these functions. A line with a trajectory contains a
task, a map and actions.

Shapes: B demonstrations or sentences, N steps, F features of an observation, C cells with parameters of their own (K
options, one controller), D units inside a cell, H of its hidden state, E of an embedded word, A actions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.data.batches import SentenceBatch, batches_by_cost
from induce.data.vocabulary import FIRST
from induce.layers.cross_entropy import mixture_cross_entropy, mixture_log_probabilities
from induce.layers.masks import real_words
from induce.models.base import Loss, Model, Query
from induce.models.capabilities import WordScoring, WordVectors
from induce.parsing.model_parser import ModelParser
from induce.parsing.parser import PredictOptions
from induce.parsing.reading import Reading
from induce.setting import choice, count, dropout_rate, limited
from induce.structures import Distances
from induce.tasks.craft.demonstrations import Demonstration, follow, make_batch, replay
from induce.tasks.craft.world import read_sketch, read_sketches
from induce.tasks.examples import DemonstrationBatch
from treebank.base.errors import SynparseError
from treebank.core.sentence import Sentence

MIN_PROBABILITY = 1e-9  # probability of an action in the loss


class CloningModel(Model):
    """A model of demonstrations. A subclass defines ``run``."""

    reads = (DemonstrationBatch,)
    gives = (Distances,)
    has_options: ClassVar[bool] = False  # whether the result of ``run`` also has ``choice`` (B, N, K), of options

    def run(self, observations: Tensor, tasks: Tensor) -> Any:
        """Predictions for ``observations`` (B, N, F) in demonstrations of ``tasks`` (B,).

        The result has ``actions`` (B, N, A or more), the probabilities of actions, and ``end`` (B, N), the probability
        that the subtask before a step was done.
        """
        raise NotImplementedError

    def trace(self, batch: DemonstrationBatch) -> Any:
        """`run` for demonstrations."""
        return self.run(batch.observations, batch.sketches)

    def loss(self, batch: DemonstrationBatch, state: None = None) -> Loss:
        """Mean negative log-likelihood of the demonstrated actions (thesis, eq. 5.2.18)."""
        actions, real, targets = self.trace(batch).actions, *targets_of(batch)
        probability = actions.gather(-1, targets[..., None])[..., 0][real]
        nll = -probability.clamp(min=MIN_PROBABILITY).log().mean()
        return Loss(nll, nll, int(real.sum()), correct=self.count_correct(actions, real, targets))

    def count_correct(self, actions: Tensor, real: Tensor, targets: Tensor) -> int:
        """Number of steps whose most probable action is the demonstrated one."""
        return int(((actions.argmax(-1) == targets) & real).sum())

    def structure(self, batch: SentenceBatch, query: Query) -> Distances:
        """Distances whose gap before each action is the probability that the subtask before it was done."""
        assert isinstance(batch, DemonstrationBatch)
        return Distances(self.trace(batch).end, batch.lengths)


def targets_of(batch: DemonstrationBatch) -> tuple[Tensor, Tensor]:
    """Mask (B, N) of the steps, and the index (B, N) of the action of each."""
    return real_words(batch.tokens, batch.lengths), (batch.tokens - FIRST).clamp(min=0)


class TrajectoryParser(ModelParser):
    """A trained policy with a decoder."""

    def predict_block(self, block: Sequence[Sentence], options: PredictOptions) -> list[Reading | SynparseError]:
        """Predictions for each trajectory, with its actions as words. An empty line has no words.

        Raises SynparseError if a line is not a trajectory or the model has not learned its task.
        """
        sketches = read_sketches(self.checkpoint.config.purpose.sketches)
        trajectories = [self._trajectory(sentence, sketches) for sentence in block]
        nonempty = [index for index, trajectory in enumerate(trajectories) if trajectory is not None]
        rows: list[list[float]] = [[] for _ in trajectories]
        items = replay([trajectory for trajectory in trajectories if trajectory is not None], sketches)
        for chosen in batches_by_cost(items.lengths):
            with torch.inference_mode():
                batch = make_batch(items, chosen).to(self.device)
                structure = self.model.structure(batch, Query(self.structure, self.layer, self.distances))
            for item, row in zip(chosen, structure.rows(), strict=True):
                rows[nonempty[item]] = row
        actions = [() if trajectory is None else trajectory.actions for trajectory in trajectories]
        return [
            Reading(words, range(len(words)), self.structure, row) for words, row in zip(actions, rows, strict=True)
        ]

    def _trajectory(self, sentence: Sentence, sketches: Sequence[str]) -> Demonstration | None:
        """The trajectory on a line, or None if the line is empty."""
        if not sentence.words:
            return None
        if len(sentence.words) < 3:
            raise SynparseError(f"{sentence.location}: expected a task, a map and actions")
        try:
            sketch = read_sketch(sentence.words[0])
            if sketch not in sketches:
                raise SynparseError(f"task {sketch!r} is not one of the tasks of this model ({' '.join(sketches)})")
            return follow(sketch, sentence.words[1], sentence.words[2:])
        except (ValueError, SynparseError) as error:
            raise SynparseError(f"{sentence.location}: {error}") from None


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


MIN_SHARE = 1e-9  # share of an option, for a finite logarithm


@dataclass(frozen=True, kw_only=True)
class OptionWordsConfig:
    """Sizes of an Option-Controller Network over words. The defaults are not from a paper."""

    embedding_size: int = count(64, "units of a word embedding")
    hidden_size: int = count(128, "units of a hidden layer")
    inner_size: int = count(128, "units inside the network of a cell")
    options: int = limited(4, 1, 1000, "types of segments that can be learned")
    temperature: float = limited(30.0, 1e-3, 1e6, "temperature of the controller's choice")
    dropout: float = dropout_rate(0.1, "dropout of the embedded words and before the output layer")


class OptionWords(WordScoring, WordVectors, OptionProgram):
    """Options that predict the next word."""

    Config = OptionWordsConfig
    reads = (SentenceBatch,)
    gives = (Distances,)

    def __init__(self, config: OptionWordsConfig, vocabulary_size: int) -> None:
        size = config.embedding_size
        super().__init__(config, features=size, actions=size, tasks=1)
        self.embedding = nn.Embedding(vocabulary_size, size)
        self.bias = nn.Parameter(torch.zeros(vocabulary_size))
        self.dropout = nn.Dropout(config.dropout)
        nn.init.normal_(self.embedding.weight, std=size**-0.5)

    def read(self, tokens: Tensor) -> tuple[Move, Tensor]:
        """Moves of S = N + 1 steps for ``tokens`` (B, N), and vectors (S, K, B, E) of the called options."""
        before = functional.pad(tokens, (1, 0))  # the boundary token comes first
        move, called, _ = self.moves(self.dropout(self.embedding(before)), tokens.new_zeros(len(tokens)))
        return move, called

    def mixture_parts(self, batch: SentenceBatch) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Parts of the mixture for each of the R tokens, end-of-sentence tokens included, in the order of the steps.

        Returns vectors (R, 2 K, E) of the options that continue and of those that are called, the logarithms of their
        shares (R, 2 K), the target tokens (R,), and a boolean mask of the real steps (S, B).
        """
        move, called = self.read(batch.tokens)
        targets = functional.pad(batch.tokens, (0, 1)).t()
        steps = torch.arange(len(targets), device=targets.device)[:, None]
        real = steps <= batch.lengths.to(targets.device)
        vectors = torch.cat((move.scores, called), 1).transpose(1, 2)[real]  # (R, 2 K, E)
        shares = torch.cat(move.shares(), -1)[real]
        return self.dropout(vectors), shares.clamp(min=MIN_SHARE).log(), targets[real], real

    def loss(self, batch: SentenceBatch, state: None = None) -> Loss:
        """Mean negative log-likelihood of words and end-of-sentence tokens: behavior cloning (eq. 5.2.18)."""
        vectors, shares, targets, _ = self.mixture_parts(batch)
        nll = mixture_cross_entropy(vectors, shares, self.embedding.weight, self.bias, targets)
        return Loss(nll, nll, len(targets))

    def word_log_probabilities(self, batch: SentenceBatch) -> Tensor:
        """Log-probability (B, N + 1) of each word given the preceding words, and of the end-of-sentence token."""
        vectors, shares, targets, real = self.mixture_parts(batch)
        scores = mixture_log_probabilities(vectors, shares, self.embedding.weight, self.bias, targets)
        return scores.new_zeros(real.shape).masked_scatter(real, scores).t()

    def word_vectors(self, batch: SentenceBatch) -> Tensor:
        """Mean vector of the options after each word (B, N, E), weighted by their shares."""
        move, called = self.read(batch.tokens)
        shares, vectors = torch.cat(move.shares(), -1), torch.cat((move.scores, called), 1)
        return torch.einsum("sbk,skbe->bse", shares, vectors)[:, 1:]

    def structure(self, batch: SentenceBatch, query: Query) -> Distances:
        """The gap before each word is the probability that the segment before it was done."""
        return Distances(self.read(batch.tokens)[0].end.t()[:, : batch.tokens.shape[1]], batch.lengths)
