"""Evaluation of a model on a task of expressions: accuracy by size, and its trees compared with gold trees."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from induce.data.batches import batches_by_cost
from induce.parsing.model_parser import ModelParser
from induce.registry import choose_device, find_purpose
from induce.settings.run import kind_of
from induce.storage.checkpoint import Checkpoint, build_model, find, read
from induce.storage.locate import MODEL_FILES, system_name
from induce.tasks.base import CLOSE, OPEN, TaskEvaluation
from induce.tasks.examples import Examples, ExpressionLoader
from treebank.base import VERSION
from treebank.base.errors import SynparseError
from treebank.base.tables import Cell, Column, Table
from treebank.core.sentence import Sentence, Treebank
from treebank.core.tree import Tree
from treebank.evaluate.conventions import CONVENTIONS
from treebank.evaluate.score import Runs, TreeScore, pooled_score, total
from treebank.evaluate.statistics import wilson_interval
from treebank.evaluate.systems import System, SystemInfo, tree_predictions
from treebank.evaluate.uf1 import score_trees as score_bracketing

if TYPE_CHECKING:
    from treebank.draw.scene import Scene

GENERATED = 3000  # test examples, if no file is given


@dataclass(frozen=True, slots=True)
class AccuracyScore:
    """Accuracy and trees of one model on one set of examples."""

    system: str
    signature: str
    value: float  # accuracy in percent, over all examples
    groups: Mapping[str, tuple[int, int]]  # name -> number of correct labels, number of examples
    trees: TreeScore | None  # None if the model predicts no structure
    trees_by_group: Mapping[str, float]  # UF1 in percent
    model: str = ""  # the folder

    @property
    def count(self) -> int:
        """Number of examples."""
        return sum(count for name, (_, count) in self.groups.items() if name in ("learned", "longer"))

    @property
    def interval(self) -> tuple[float, float]:
        """95% confidence interval in percent, over the examples."""
        return wilson_interval(self.value * self.count / 100, self.count)

    def rows(self, columns: Sequence[str]) -> Iterator[list[Cell]]:
        """Rows of accuracy and of UF1, in total and for the groups ``columns``."""
        by_group = {name: 100 * correct / count for name, (correct, count) in self.groups.items()}
        yield [self.system, "accuracy", self.value, *map(by_group.get, columns)]
        if self.trees is not None:
            yield [self.system, "UF1", self.trees.value, *map(self.trees_by_group.get, columns)]

    def signatures(self) -> Iterator[str]:
        """Signatures with values."""
        low, high = self.interval
        yield f"{self.signature} = {self.value:.2f} [{low:.2f}, {high:.2f}]"
        if self.trees is not None:
            yield str(self.trees)

    def to_json(self) -> dict[str, Any]:
        """The entry of this score in the output of ``synparse task eval --format json``."""
        entry: dict[str, Any] = {"system": self.system, "model": self.model, "metric": "accuracy"}
        entry |= {"value": self.value, "interval": list(self.interval)}
        entry |= {"signature": self.signature, "groups": {name: list(counts) for name, counts in self.groups.items()}}
        if self.trees is not None:
            entry["trees"] = {**self.trees.to_json(), "groups": dict(self.trees_by_group)}
        return entry


def score_task(
    task: str,
    paths: Sequence[str],
    groups: Mapping[str, Sequence[str]],
    *,
    device: str = "auto",
    largest: int | None = None,
) -> TaskEvaluation:
    """Evaluate models on published files or generated examples of sizes up to ``largest``.

    ``groups`` maps patterns to the folders of models. Raises SynparseError if the task is unknown, a model has learned
    another task, or there is no example.
    """
    checkpoints = read_runs(groups, task)
    examples = load_test(task, paths, next(iter(checkpoints.values())).config.purpose, largest=largest)
    measure = examples.task.measure
    names = " ".join(Path(path).name for path in paths)
    data = (names or "generated") + (f" (up to {largest} {measure})" if largest else "")
    scores = []
    for run, checkpoint in checkpoints.items():
        name = system_name(checkpoint.config.model_name, run)
        score = score_run(name, checkpoint, examples, data, device=device)
        scores.append(replace(score, model=run))
    sizes = list(dict.fromkeys(name for score in scores for name in score.groups))
    columns = [Column("System"), Column("Measure"), *(Column(name, ".2f") for name in ("All", *sizes))]
    rows = [row for score in scores for row in score.rows(sizes)]
    numbers = [{name: count for name, (_, count) in score.groups.items()} for score in scores]
    shared = all(counts == numbers[0] for counts in numbers)  # one row for all models, or one for each
    for score, counts in list(zip(scores, numbers, strict=True))[: 1 if shared else None]:
        rows.append(["" if shared else score.system, "examples", score.count, *map(counts.get, sizes)])
    tables = [Table(f"By the number of {measure}, in percent", columns, rows)]
    signatures = [line for score in scores for line in score.signatures()]
    return TaskEvaluation(task, data, scores, tables, signatures, groups)


def read_runs(groups: Mapping[str, Sequence[str]], task: str) -> dict[str, Checkpoint]:
    """The checkpoints of the models of ``task`` in ``groups``, by folder."""
    return {run: read_run(run, task) for group in groups.values() for run in group}


def load_test(task: str, paths: Sequence[str], config: Any, *, largest: int | None = None) -> Examples:
    """The examples of published files, or the generated test part without files, of sizes up to ``largest``.

    Raises SynparseError if there is no example.
    """
    kind = find_purpose(task)
    available = kind.read_all(paths) if paths else kind.generate(config, "test", GENERATED, longer=True)
    examples = Examples(kind, (example for example in available if largest is None or example.size <= largest))
    if not examples.examples:
        raise SynparseError(f"{' '.join(paths) or task}: there is no example to score")
    return examples


def read_run(run: str, task: str, names: tuple[str, ...] = MODEL_FILES) -> Checkpoint:
    """The first of the checkpoints ``names`` of a model of ``task``.

    Raises SynparseError if it is a model of something else.
    """
    checkpoint = read(find(Path(run), names))
    learned = checkpoint.config.purpose_name
    if learned != task:
        raise SynparseError(f"{run}: this model has learned {learned or 'plain text'}, not task {task!r}")
    return checkpoint


def score_run(
    name: str, checkpoint: Checkpoint, examples: Examples, data: str, *, device: str = "auto"
) -> AccuracyScore:
    """Accuracy and trees of a model. ``data`` describes the examples in the signature."""
    device = choose_device(device)
    groups = grouped(checkpoint, examples)
    outcomes = correct(checkpoint, examples, device)
    accuracies = {group: (sum(outcomes[i] for i in members), len(members)) for group, members in groups.items()}
    trees, by_group = None, {}
    if kind_of(checkpoint.config).gives:
        trees = score_trees(name, checkpoint, examples, data, device)
        sides = examples.task.sides
        for group, members in groups.items():
            counts = [trees.counts[sides * i + k] for i in members for k in range(sides)]
            by_group[group] = 100 * pooled_score(total(counts)).f1
    count = len(examples.examples)
    signature = f"accuracy|task:{examples.task.name}|{checkpoint.identity}|data:{data}|sha256:{examples.sha256[:12]}"
    signature += f"|examples:{count}|v:{VERSION}"
    return AccuracyScore(name, signature, 100 * sum(outcomes) / count, accuracies, trees, by_group)


def grouped(checkpoint: Checkpoint, examples: Examples) -> dict[str, list[int]]:
    """The indices of the examples of each group of the task that is not empty."""
    groups = examples.task.groups(checkpoint.config.purpose)
    indexed = list(enumerate(examples.examples))
    members = {group.name: [index for index, example in indexed if group.contains(example)] for group in groups}
    return {name: indices for name, indices in members.items() if indices}


def correct(checkpoint: Checkpoint, examples: Examples, device: str) -> list[bool]:
    """Whether the model predicts the correct label of each example."""
    import torch

    model = build_model(checkpoint).to(device)
    read = Examples(examples.task, examples.examples, checkpoint.config.data.normalization)
    items = read.encode(checkpoint.vocabulary)
    loader = ExpressionLoader(items, checkpoint.config.loader, device=device)
    is_correct = [False] * len(items)
    with torch.inference_mode():
        for chosen in batches_by_cost(loader.lengths, budget=2**13):
            batch = loader.batch(chosen)
            scores = model(batch.tokens, batch.lengths, batch.trees)
            for index, outcome in zip(chosen, (scores.argmax(-1) == batch.targets).tolist(), strict=True):
                is_correct[index] = outcome
    return is_correct


def score_trees(name: str, checkpoint: Checkpoint, examples: Examples, data: str, device: str) -> TreeScore:
    """UF1 under ``evalb``, which counts the full-sentence bracket, of the trees without their round brackets."""
    parser = ModelParser(checkpoint, device=device)
    sides = [side for example in examples.examples for side in example.sides]
    gold = [Sentence(side.words, tree=Tree.from_spans(side.words, side.spans)) for side in sides]
    parse = tree_predictions(name, lambda _: map(without_brackets, parser.parse([side.tokens for side in sides])))
    system = System(SystemInfo(name, decoded=parser.decoded), "trees", parse)
    return score_bracketing(Treebank(data, gold), [system], [CONVENTIONS["evalb"]])[0]


def without_brackets(tree: Tree) -> Tree:
    """The tree over the words that are not round brackets, with one bracket per span."""
    return tree.keep([word not in (OPEN, CLOSE) for word in tree.words]).collapse_unary()


def draw_accuracy(evaluation: TaskEvaluation) -> Scene:
    """Accuracy in percent by size, one line for each model or pattern.

    The line of a pattern of several models is their mean, with bars of one standard deviation. Raises SynparseError if
    the task has no accuracy by size.
    """
    from induce.reporting.plots import Line, draw_lines

    scores = {score.model: score for score in evaluation.scores if isinstance(score, AccuracyScore)}
    sizes = list(dict.fromkeys(name for score in scores.values() for name in score.groups if name[0].isdigit()))
    if not sizes:
        raise SynparseError(f"--plot draws accuracy by the size of examples, which the task {evaluation.task} has not")
    lines = []
    for pattern, folders in evaluation.groups.items():
        several, points, deviations = len(folders) > 1, list[tuple[float, float]](), list[float]()
        for index, size in enumerate(sizes):
            counts = {folder: scores[folder].groups[size] for folder in folders if size in scores[folder].groups}
            if counts:
                runs = Runs({folder: 100 * correct / count for folder, (correct, count) in counts.items()})
                points.append((float(index), runs.mean))
                deviations += [runs.deviation] if several else []
        lines.append(Line(pattern if several else scores[folders[0]].system, points, deviations))
    title = f"Accuracy on {os.path.basename(evaluation.data)}"
    return draw_lines(lines, title=title, across="size of the examples", up="%", names=sizes)
