"""``synparse task eval craft``: segments, options and successes of policies (Lu et al. 2021, thesis).

``ends`` are the indices of the last actions of the segments of a trajectory of T steps; the last one is T - 1. ``gaps``
are predictions of a model: entry t is the probability that a segment ends before step t; entry 0 has no meaning.

Successes are counted in new worlds, in tasks and for each option by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch

from induce.data.batches import batches_by_cost
from induce.data.vocabulary import FIRST, Vocabulary
from induce.decoding.distances import EVEN
from induce.registry import choose_device
from induce.storage.checkpoint import Checkpoint, build_model
from induce.storage.locate import system_name
from induce.tasks.accuracy import read_runs
from induce.tasks.base import TaskEvaluation
from induce.tasks.craft.baselines import OrderedMemoryPolicy
from induce.tasks.craft.demonstrations import Craft, CraftSettings, Demonstration, Demonstrations, make_batch
from induce.tasks.craft.ocn import OptionController
from induce.tasks.craft.option_calls import Calls, draw_each, options_of
from induce.tasks.craft.world import (
    ACTIONS,
    LIMIT,
    SUBTASKS,
    Episodes,
    draw,
    goals_of,
    observe,
    read_sketches,
    treasure_of,
)
from treebank.base import VERSION
from treebank.base.errors import SynparseError
from treebank.base.tables import Cell, Column, Table

Policy = OptionController | OrderedMemoryPolicy  # models that choose actions step by step


@torch.inference_mode()
def success(model: Policy, sketch: str, task: int, *, count: int, seed: int) -> float:
    """Share of ``count`` worlds in which the model completes ``sketch``, its task ``task``, within 64 actions.

    The model always takes its most probable action.
    """
    device = next(model.parameters()).device
    episodes = Episodes(sketch, count, seed=seed, renew=False)
    state: Any = model.start(torch.full((count,), task, device=device))
    solved = np.zeros(count, dtype=bool)
    for time in range(LIMIT):
        observations = torch.from_numpy(episodes.observe()).to(device)
        actions, _, state = model.act(observations, state, first=time == 0)
        running = np.where(solved, 0, actions.argmax(-1).cpu().numpy())
        episodes.progress[solved] = 0  # a solved world stays solved
        solved |= episodes.step(running).solved
    return float(solved.mean())


@torch.inference_mode()
def success_of_calls(model: OptionController, sketch: str, task: int, *, count: int, seed: int) -> float:
    """Share of ``count`` worlds in which the model completes ``sketch`` by calling one option at a time.

    Choices, actions and ends are sampled from the model's probabilities, as in reinforcement learning (algorithm 4).
    """
    device = model.first_controller_state.device
    calls = Calls(options_of([model]), Episodes(sketch, count, seed=seed), seed=seed)
    hidden = model.start(torch.full((count,), task, device=device)).controller
    running, solved = np.ones(count, dtype=bool), np.zeros(count, dtype=bool)
    while running.any():
        observations = model.controller.look(torch.from_numpy(calls.observe()).to(device))
        choice, hidden = model.choose(observations, hidden)
        called = calls.step(draw_each(calls.rng, choice.cpu().numpy()))
        solved |= running & called.solved  # later steps belong to another episode
        running &= ~called.over
    return float(solved.mean())


@torch.inference_mode()
def option_success(model: OptionController, letters: Sequence[str], *, count: int, seed: int) -> np.ndarray:
    """Share of ``count`` worlds in which an option completes a subtask, for each option and subtask (K, L) (table 13).

    An option acts until it is done with a probability of one half or more, for at most 64 actions. It completes a
    subtask if the first object that it gains is the goal of that subtask.
    """
    device = model.first_controller_state.device
    worlds = draw(np.random.default_rng(seed), count, treasure_of("".join(letters)))
    goals = [int(goals_of(letter)[0]) for letter in letters]
    table = np.zeros((model.config.options, len(letters)))
    for option in range(model.config.options):
        running = worlds.copy()
        gained, done = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=bool)
        hidden = model.first_option_state.expand(-1, count, -1)
        for time in range(LIMIT):
            output = model.options(model.options.look(torch.from_numpy(observe(running)).to(device)), hidden)
            hidden = output.hidden
            if time:
                done |= (output.end[option] >= EVEN).cpu().numpy()
            used = running.act(output.scores[option].argmax(-1).cpu().numpy())
            first = used.changed & (gained == 0) & ~done
            gained[first] = used.kind[first]
            if done.all():
                break
        table[option] = [(gained == goal).mean() for goal in goals]
    return table


GENERATED = 300  # demonstrations, if no file is given
WORLDS = 100  # for each task and option
SEED = 2022  # of these worlds


@dataclass(frozen=True, slots=True)
class CraftScore:
    """One policy, or the mean of several."""

    system: str
    signature: str
    values: Mapping[str, float]  # measure -> percent
    deviations: Mapping[str, float]  # over several models; empty for one
    options: Mapping[str, Sequence[float]]  # subtask -> success of each option in percent; empty for a mean
    model: str = ""  # the folder; "" for a mean

    value: ClassVar[None] = None  # there are several measures

    def to_json(self) -> dict[str, Any]:
        """The entry of this score in the output of ``synparse task eval craft --format json``."""
        entry: dict[str, Any] = {"system": self.system, "signature": self.signature, "values": dict(self.values)}
        optional = {"model": self.model, "deviations": self.deviations, "options": self.options}
        return entry | {name: value for name, value in optional.items() if value}

    def cell(self, measure: str) -> Cell:
        """Table cell of a measure in percent: the value, or mean ± standard deviation of several models."""
        if measure in self.deviations:
            return f"{self.values[measure]:.1f} ± {self.deviations[measure]:.1f}"
        return self.values.get(measure)

    def options_table(self) -> Table:
        """Table of the success of each option (row) at each subtask (column), in percent."""
        rows: list[list[Cell]] = [[k, *row] for k, row in enumerate(zip(*self.options.values(), strict=True), 1)]
        columns = [Column("Option"), *(Column(name, ".0f") for name in self.options)]
        return Table(f"{self.system}: success of each option by itself, in percent", columns, rows)


def score_craft(
    task: str,
    paths: Sequence[str],
    groups: Mapping[str, Sequence[str]],
    *,
    device: str = "auto",
    largest: int | None = None,
) -> TaskEvaluation:
    """Evaluate policies on demonstrations in files, or on generated ones, of up to ``largest`` actions.

    ``groups`` maps patterns to the folders of models. Several runs of one model also give their mean, and the deviation
    of single runs. Raises SynparseError if a model has learned another task or there is no demonstration.
    """
    checkpoints = read_runs(groups, task)
    data = (" ".join(paths) or "generated") + (f" (up to {largest} actions)" if largest else "")
    scores, by_model = [], dict[str, list[CraftScore]]()
    for run, checkpoint in checkpoints.items():
        demonstrations = load_test(paths, checkpoint.config.purpose, largest=largest)
        name = system_name(checkpoint.config.model_name, run)
        score = score_policy(name, checkpoint, demonstrations, data, device=choose_device(device))
        scores.append(replace(score, model=run))
        by_model.setdefault(checkpoint.config.model_name, []).append(scores[-1])
    for model, members in by_model.items():
        if len(members) > 1:
            scores.append(mean_of(f"{model} (mean of {len(members)})", members))
    measures = list(dict.fromkeys(name for score in scores for name in score.values))
    columns = [Column("System"), *(Column(name, ".1f") for name in measures)]
    rows = [[score.system, *map(score.cell, measures)] for score in scores]
    tables = [Table("In percent", columns, rows), *(score.options_table() for score in scores if score.options)]
    signatures = list(dict.fromkeys(score.signature for score in scores))
    return TaskEvaluation(task, data, scores, tables, signatures, groups)


def load_test(paths: Sequence[str], config: CraftSettings, *, largest: int | None = None) -> Demonstrations:
    """The demonstrations of files, or of the generated test part if there are none, of up to ``largest`` actions.

    Raises SynparseError if there is no demonstration, or if one is not of a task of the settings ``config``.
    """
    craft, sketches = Craft(), read_sketches(config.sketches)
    examples = craft.read(paths, config) if paths else craft.generate(config, "test", GENERATED)
    demonstrations = Demonstrations(
        (example for example in examples if largest is None or example.size <= largest), sketches
    )
    if not demonstrations.demonstrations:
        raise SynparseError(f"{' '.join(paths) or 'craft'}: there is no demonstration to score")
    return demonstrations


def score_policy(
    name: str, checkpoint: Checkpoint, demonstrations: Demonstrations, data: str, *, device: str = "cpu"
) -> CraftScore:
    """Segments and options of a model along demonstrations, and its success in new worlds."""
    model: Any = build_model(checkpoint).to(device)
    values = segment_scores(model, demonstrations, checkpoint.vocabulary, device)
    for number, sketch in enumerate(demonstrations.sketches if isinstance(model, Policy) else ()):
        values[f"success {sketch}"] = 100 * success(model, sketch, number, count=WORLDS, seed=SEED)
        if isinstance(model, OptionController):
            values[f"calls {sketch}"] = 100 * success_of_calls(model, sketch, number, count=WORLDS, seed=SEED)
    options = {}
    if type(model) is OptionController:  # options of a mixture have no ends
        letters = sorted(set("".join(demonstrations.sketches)))
        table = 100 * option_success(model, letters, count=WORLDS, seed=SEED)
        options = {f"{letter} ({SUBTASKS[letter].name})": table[:, k].tolist() for k, letter in enumerate(letters)}
    counted = f"data:{data}|sha256:{demonstrations.sha256[:12]}|demonstrations:{demonstrations.sentences}"
    signature = f"craft|{checkpoint.identity}|{counted}|worlds:{WORLDS}|v:{VERSION}"
    return CraftScore(name, signature, values, {}, options)


@torch.inference_mode()
def segment_scores(model: Any, demonstrations: Demonstrations, actions: Vocabulary, device: str) -> dict[str, float]:
    """Scores in percent: correct actions, F1 of ends, aligned steps, mutual information of options and subtasks.

    ``F1`` and ``align`` use as many predicted ends as there are gold ends, including the last one, as the released
    program does. ``F1 own`` uses ends with a probability of one half or more, without the last one,
    which is given.
    """
    items, with_options = demonstrations.encode(actions), model.has_options
    rows: dict[str, list[float]] = {name: [] for name in ("F1 tol 0", "F1 tol 1", "F1 own", "align")}
    chosen, subtasks, correct, weights = [], [], 0, []
    for part in batches_by_cost(items.lengths):
        batch = make_batch(items, part).to(device)
        trace = model.trace(batch)
        best_actions = trace.actions[..., : len(ACTIONS)].argmax(-1)  # without the entry of being done
        correct += int(((best_actions + FIRST == batch.tokens) & (batch.tokens > 0)).sum())
        gaps = trace.end.cpu().tolist()
        choices = trace.choice.argmax(-1).cpu().numpy() if with_options else np.zeros((0, 0))
        for row, index in enumerate(part):
            demonstration = demonstrations.demonstrations[index]
            length, true = demonstration.size, demonstration.ends
            best = widest(gaps[row][:length], len(true))
            rows["F1 tol 0"].append(boundary_f1(best, true, 0))
            rows["F1 tol 1"].append(boundary_f1(best, true, 1))
            rows["F1 own"].append(boundary_f1(probable(gaps[row][:length])[:-1], true[:-1], 0))
            rows["align"].append(alignment(best, true, length))
            weights.append(length)
            if with_options:
                chosen.append(choices[row, :length])
                subtasks.append(subtasks_of(demonstration))
    values = {"actions": 100 * correct / sum(weights)}
    values |= {name: 100 * float(np.mean(row)) for name, row in rows.items() if name != "align"}
    values["align"] = 100 * float(np.average(rows["align"], weights=weights))
    if with_options:
        values["NMI"] = 100 * mutual_information(np.concatenate(chosen), np.concatenate(subtasks))
    return values


def subtasks_of(demonstrations: Demonstration) -> np.ndarray:
    """Index in `SUBTASKS` of the subtask of each step (T,)."""
    letters = np.array([list(SUBTASKS).index(letter) for letter in demonstrations.sketch])
    return np.repeat(letters, np.diff([-1, *demonstrations.ends]))


def mean_of(name: str, members: Sequence[CraftScore]) -> CraftScore:
    """Mean and deviation (of single runs, n - 1) of the values that all ``members`` have.

    The signature has the fields that they share.
    """
    shared = [measure for measure in members[0].values if all(measure in member.values for member in members)]
    table = np.array([[member.values[measure] for measure in shared] for member in members])
    means, deviations = table.mean(0).tolist(), table.std(0, ddof=1).tolist()
    fields = [member.signature.split("|") for member in members]
    return CraftScore(
        name,
        "|".join(field for field in members[0].signature.split("|") if all(field in each for each in fields)),
        dict(zip(shared, means, strict=True)),
        dict(zip(shared, deviations, strict=True)),
        {},
    )


def widest(gaps: Sequence[float], segments: int) -> list[int]:
    """The most probable ends of ``segments`` segments, as in the released program. The first of equal ends counts."""
    order = sorted(range(1, len(gaps)), key=lambda step: (-gaps[step], step))
    return [*sorted(step - 1 for step in order[: segments - 1]), len(gaps) - 1]


def probable(gaps: Sequence[float]) -> list[int]:
    """The ends with a probability of one half or more."""
    return [step - 1 for step in range(1, len(gaps)) if gaps[step] >= EVEN] + [len(gaps) - 1]


def boundary_f1(predicted: Sequence[int], true: Sequence[int], tolerance: int) -> float:
    """F1 of the ends of two segmentations that match within ``tolerance`` steps, not necessarily one to one."""
    if not predicted or not true:
        return float(not predicted and not true)

    def near(ends: Sequence[int], others: Sequence[int]) -> float:
        return sum(min(abs(end - other) for other in others) <= tolerance for end in ends) / len(ends)

    precision, recall = near(predicted, true), near(true, predicted)
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def labels_of(ends: Sequence[int], length: int) -> np.ndarray:
    """The index (T,) of the segment of each of ``length`` steps."""
    return np.searchsorted(np.asarray(ends), np.arange(length))


def alignment(predicted: Sequence[int], true: Sequence[int], length: int) -> float:
    """The share of steps with the same segment index in both segmentations."""
    return float((labels_of(predicted, length) == labels_of(true, length)).mean())


def mutual_information(first: np.ndarray, second: np.ndarray) -> float:
    """Mutual information of two labelings (S,) divided by the mean of their entropies, or 1 if both are constant."""
    _, first = np.unique(first, return_inverse=True)
    _, second = np.unique(second, return_inverse=True)
    table = np.zeros((first.max() + 1, second.max() + 1))
    np.add.at(table, (first, second), 1)
    joint = table / table.sum()
    entropies = [_entropy(joint.sum(axis)) for axis in (0, 1)]
    mean = sum(entropies) / 2
    return float((sum(entropies) - _entropy(joint.reshape(-1))) / mean) if mean > 0 else 1.0


def _entropy(probabilities: np.ndarray) -> float:
    """Entropy in nats."""
    positive = probabilities[probabilities > 0]
    return float(-(positive * np.log(positive)).sum())
