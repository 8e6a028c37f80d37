"""Options of an Option-Controller Network in a small world, by temperature and seed (thesis, chapter 5).

``python -m bench.experiments.small_world [--temperatures 10 1] [--seeds 5]`` trains a model for each temperature and
seed, in less than a minute of one core, and prints its scores. Existing results are not computed again. ``--variant``
changes one choice that the thesis does not state: ``ties`` draws one of the shortest paths, ``weights`` gives all
inputs of a cell one range of first weights, and ``states`` also divides the first states of the controller by ten.

The world has 4 x 4 cells, an agent and three objects in random cells; the tasks are those of the thesis: AC, CD and DA.
An agent sees where each object is from its cell, and what it carries. It goes to an object by a shortest path, along
the first coordinate first, and uses it. Model, loss and scores are those of the task ``craft``.

Shapes: B demonstrations of N steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
import torch

from bench.common import experiment, spread, stored
from bench.report import markdown, processor
from induce.data.vocabulary import FIRST
from induce.tasks.craft.ocn import OptionController, OptionControllerConfig
from induce.tasks.craft.policy_scores import alignment, boundary_f1, mutual_information, widest
from induce.tasks.examples import DemonstrationBatch

SIZE, OBJECTS, SUBTASKS = 4, 3, 2
VIEW = (2 * SIZE - 1) ** 2  # cells that an object can be in, seen from the agent
TASKS = np.array([(0, 1), (1, 2), (2, 0)])  # AC, CD, DA
STEPS = np.array([(0, -1), (0, 1), (-1, 0), (1, 0), (0, 0)])  # of the actions; the last one uses the object
TRAINING, TEST, TEST_SEED = 6000, 200, 99
BATCH, RATE, CLIP, WIDTH = 64, 0.003, 1.0, 32
VARIANTS = ("none", "ties", "weights", "states")
MEASURES = ("actions", "F1, 1 step", "align", "NMI")


@dataclass(frozen=True)
class Paths:
    """Demonstrations of at most N steps."""

    observations: np.ndarray  # (B, N, features)
    actions: np.ndarray  # (B, N)
    subtasks: np.ndarray  # (B, N) object that the agent goes to
    lengths: np.ndarray  # (B,)
    ends: np.ndarray  # (B, 2) last step of each subtask
    tasks: np.ndarray  # (B,)

    def batch(self, rows: np.ndarray) -> DemonstrationBatch:
        """The demonstrations ``rows``."""
        longest = int(self.lengths[rows].max())
        real = np.arange(longest) < self.lengths[rows][:, None]
        tokens = np.where(real, self.actions[rows][:, :longest] + FIRST, 0)
        arrays = tokens, self.lengths[rows], self.observations[rows][:, :longest], self.tasks[rows]
        return DemonstrationBatch(*map(torch.from_numpy, arrays))


def demonstrate(rng: np.random.Generator, count: int, *, random_ties: bool = False) -> Paths:
    """``count`` demonstrations of random tasks in random worlds."""
    cells = np.argsort(rng.random((count, SIZE * SIZE)), 1)[:, : OBJECTS + 1]
    coordinates = np.stack([cells // SIZE, cells % SIZE], -1)
    objects, agent, rows = coordinates[:, :OBJECTS], coordinates[:, OBJECTS], np.arange(count)
    tasks, steps = rng.integers(len(TASKS), size=count), SUBTASKS * (2 * SIZE - 1)
    observations = np.zeros((count, steps, OBJECTS * VIEW + OBJECTS), np.float32)
    actions, subtasks = np.zeros((count, steps), int), np.full((count, steps), -1)
    progress, lengths, ends = np.zeros(count, int), np.zeros(count, int), np.zeros((count, SUBTASKS), int)
    carried = np.zeros((count, OBJECTS), bool)
    for time in range(steps):
        running = progress < SUBTASKS
        for number in range(OBJECTS):
            away = objects[:, number] - agent + SIZE - 1
            visible = np.flatnonzero(running & ~carried[:, number])
            observations[visible, time, (number * VIEW + away @ [2 * SIZE - 1, 1])[visible]] = 1
        observations[running, time, OBJECTS * VIEW :] = carried[running]
        goal = TASKS[tasks, np.minimum(progress, SUBTASKS - 1)]
        away = objects[rows, goal] - agent
        first = away[:, 0] != 0  # whether to go along the first coordinate
        if random_ties:
            first = np.where((away != 0).all(1), rng.random(count) < 0.5, first)
        action = np.where(first, np.where(away[:, 0] < 0, 2, 3), np.where(away[:, 1] < 0, 0, 1))
        action = np.where((away == 0).all(1), len(STEPS) - 1, action)
        actions[running, time], subtasks[running, time] = action[running], goal[running]
        lengths += running
        agent = agent + np.where(running[:, None], STEPS[action], 0)
        done = np.flatnonzero(running & (action == len(STEPS) - 1))
        carried[done, goal[done]] = True
        ends[done, progress[done]] = time
        progress[done] += 1
    return Paths(observations, actions, subtasks, lengths, ends, tasks)


@torch.no_grad()
def draw_weights(model: OptionController) -> None:
    """Draw first weights as those of one linear map over observation and state, with biases."""
    for cells in (model.options, model.controller):
        limit = (cells.observed.shape[1] + WIDTH) ** -0.5
        for weights in (cells.observed, cells.remembered, cells.observed_bias):
            weights.uniform_(-limit, limit)
        cells.inner_bias.uniform_(-(WIDTH**-0.5), WIDTH**-0.5)


def train(temperature: float, seed: int, updates: int, variant: str) -> dict[str, float]:
    """Scores in percent of a model after ``updates``, with a learning rate that falls linearly to 0."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    paths = demonstrate(rng, TRAINING, random_ties=variant == "ties")
    sizes = {"features": paths.observations.shape[2], "hidden_size": WIDTH, "inner_size": WIDTH}
    model = OptionController(OptionControllerConfig(**sizes, temperature=temperature), FIRST + len(STEPS))
    if variant in ("weights", "states"):
        draw_weights(model)
    if variant == "states":
        model.first_controller_state.data *= 0.1
    optimizer = torch.optim.Adam(model.parameters())
    for update in range(updates):
        optimizer.param_groups[0]["lr"] = RATE * (1 - update / updates)
        optimizer.zero_grad()
        model.loss(paths.batch(rng.integers(TRAINING, size=BATCH))).objective.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
    return score(model.eval(), demonstrate(np.random.default_rng(TEST_SEED), TEST, random_ties=variant == "ties"))


@torch.inference_mode()
def score(model: OptionController, paths: Paths) -> dict[str, float]:
    """Correct actions, F1 of ends, aligned steps, and mutual information of options and subtasks, in percent."""
    trace = model.trace(paths.batch(np.arange(len(paths.lengths))))
    predicted, chosen = trace.actions.argmax(-1).numpy(), trace.choice.argmax(-1).numpy()
    rows: list[Sequence[float]] = []
    for row, length in enumerate(paths.lengths):
        best, true = widest(trace.end[row, :length].tolist(), SUBTASKS), paths.ends[row].tolist()
        correct = float((predicted[row, :length] == paths.actions[row, :length]).mean())
        rows.append((correct, boundary_f1(best, true, 1), alignment(best, true, length)))
    real = paths.subtasks[:, : chosen.shape[1]] >= 0
    shared = mutual_information(chosen[real], paths.subtasks[:, : chosen.shape[1]][real])
    return dict(zip(MEASURES, (100 * float(value) for value in (*np.mean(rows, 0), shared)), strict=True))


def main() -> None:
    """Train, score and print."""
    parser = experiment(__doc__, "small-world")
    parser.add_argument("--temperatures", nargs="+", type=float, default=[1.0, 10.0, 100.0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--updates", type=int, default=1000)
    parser.add_argument("--variant", choices=VARIANTS, default="none")
    options = parser.parse_args()
    torch.set_num_threads(1)
    results: dict[float, list[dict[str, float]]] = {}
    for seed, temperature in product(range(1, options.seeds + 1), options.temperatures):
        suffix = "" if options.variant == "none" else f"-{options.variant}"
        path = options.out / f"{temperature:g}-{options.updates}-{seed}{suffix}.json"
        run = partial(train, temperature, seed, options.updates, options.variant)
        values = stored(path, run)
        results.setdefault(temperature, []).append(values)
    rows = []
    for temperature, runs in results.items():
        by_seed = ", ".join(f"{run['NMI']:.0f}" for run in runs)
        rows.append([f"{temperature:g}", *(spread([run[name] for run in runs]) for name in MEASURES), by_seed])
    print(f"{processor()[0]}, one thread, {options.updates:,} updates.")
    print(markdown(["temperature", *MEASURES, "NMI by seed"], rows))


if __name__ == "__main__":
    main()
