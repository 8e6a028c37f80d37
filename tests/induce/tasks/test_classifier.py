"""Models of tasks: padding, training, resuming, and structures."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import torch

from induce.data.loaders import BatchSettings
from induce.decoding.specification import decoders_of
from induce.models.base import make_model
from induce.registry import find_purpose, load, models_of
from induce.settings.presets import load_preset, preset_names, resolve
from induce.settings.run import RunConfig, kind_of
from induce.storage.checkpoint import Check
from induce.tasks.encoders.trees import plan
from induce.tasks.examples import Examples, ExpressionLoader, Side, load_examples
from induce.training.loop import Trainer
from tests.support.tiny import assert_equal_weights, make_trainer, stop_after
from treebank.base.errors import SynparseError

TINY = ["task.expressions=120", "loader.batch_size=16", "optimizer.learning_rate=0.03", "train.epochs=2"]
SIZES = {
    "ordered-memory": ["model.slot_size=8", "model.slots=4", "model.test_slots=5"],
    "transformer": ["model.hidden_size=16", "model.depth=1", "model.heads=2"],
}
RUNS = [*(("listops", name) for name in models_of("listops")), ("logic", "ordered-memory"), ("logic", "transformer")]


def settings(task: str, name: str, *more: str) -> RunConfig:
    """Settings of a tiny run."""
    sizes = SIZES.get(name, ["model.hidden_size=16"])
    limit = "task.longest=12" if task == "listops" else "task.operators=2"
    return resolve(purpose=task, model=name, settings=[*TINY, *sizes, limit, *more])


def trainer(config: RunConfig, run: Path, **options: Any) -> Trainer:
    """A trainer on generated examples."""
    return make_trainer(config, *load_examples(config, (), ()), run, device="cpu", **options)


def untrained(config: RunConfig, count: int, **options: bool) -> tuple[Any, ExpressionLoader]:
    """A model in double precision, and batches of ``count`` examples."""
    torch.manual_seed(1)
    task = find_purpose(config.purpose_name)
    examples = Examples(task, task.generate(config.purpose, "train", count, **options))
    vocabulary = examples.vocabulary(0, 0)
    model = make_model(config, len(vocabulary)).double().eval()
    return model, ExpressionLoader(examples.encode(vocabulary), BatchSettings(batch_size=4), device="cpu")


def scores_of(model: Any, loader: ExpressionLoader, count: int) -> torch.Tensor:
    """Scores of a batch, which are compared with those of each example by itself."""
    batch, *alone = loader.batch(range(count)), *(loader.batch([k]) for k in range(count))
    scores = model(batch.tokens, batch.lengths, batch.trees)
    for row, item in zip(scores, alone, strict=True):
        torch.testing.assert_close(model(item.tokens, item.lengths, item.trees)[0], row)
    return scores


@pytest.mark.parametrize("name", ["crvnn", "gumbel-tree-lstm", "ordered-memory", "transformer"])
def test_groups_of_similar_length_change_neither_scores_nor_gradients(name: str) -> None:
    model, loader = untrained(settings("logic", name), 48)
    batch, gradients, losses = loader.batch(range(48)), list[list[torch.Tensor]](), list[torch.Tensor]()
    for groups in (1, 3):
        model.encoder.length_groups = groups
        model.zero_grad()
        losses.append(model.loss(batch).objective)
        losses[-1].backward()
        gradients.append([weight.grad for weight in model.parameters() if weight.grad is not None])
    torch.testing.assert_close(losses[0], losses[1])
    for whole, grouped in zip(*gradients, strict=True):
        torch.testing.assert_close(whole, grouped, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("preset", [name for name in preset_names() if load_preset(name).purpose_name])
def test_presets_name_every_setting(preset: str) -> None:
    for name, entry in models_of(load_preset(preset).purpose_name).items():
        config = load_preset(preset, name)
        assert config.model_name == name
        assert set(config.model) == {field.name for field in fields(load(entry.location).Config)}, name
        make_model(config, 10)
        gives = kind_of(config).gives
        assert not gives or config.parse.decoder in decoders_of(gives)


@pytest.mark.parametrize(("task", "name"), RUNS)
def test_scores_do_not_depend_on_padding_and_order(task: str, name: str) -> None:
    scores_of(*untrained(settings(task, name), 12, longer=True), 12)


def test_released_padding_changes_scores_of_shorter_expressions() -> None:
    torch.manual_seed(1)
    config = settings("listops", "ordered-memory", "model.padding=released")
    model = make_model(config, 20).double().eval().encoder
    tokens = torch.randint(2, 15, (2, 6))
    lengths = torch.tensor([6, 3])
    vectors, positions = model.run(tokens, lengths)
    for k, length in enumerate(lengths.tolist()):
        vector, alone = model.run(tokens[k : k + 1, :length], lengths[k : k + 1])
        assert torch.allclose(vector[0], vectors[k]) == (k == 0)
        assert torch.allclose(alone[:, 0], positions[:length, k]) == (k == 0)
    assert (positions[0, 1] == torch.eye(5)[4]).all()  # as if something had been read: only the top slot is open
    assert (positions[3:, 1] == 0).all()


@pytest.mark.parametrize(("task", "name"), RUNS)
def test_gradients_reach_all_parameters(task: str, name: str, tmp_path: Path) -> None:
    run = trainer(settings(task, name, "task.expressions=80"), tmp_path / "run")
    run.run.model.train()  # a greedy choice has no gradient
    for step in run.run.loader.steps(run.run.rng, 0):
        run.run.model.loss(step.batch).objective.backward()
    for key, parameter in run.run.model.named_parameters():
        assert parameter.grad is not None, key
        assert parameter.grad.abs().sum() > 1e-7, key


@pytest.mark.parametrize("name", ["tree-cell", "ordered-memory", "lstm", "gumbel-tree-lstm", "crvnn"])
def test_loss_falls_and_accuracy_is_reported(name: str, tmp_path: Path) -> None:
    more = ["train.epochs=3", "task.expressions=300", "optimizer.learning_rate=0.01"]
    events = trainer(settings("listops", name, *more), tmp_path / "run").train()
    checks = [event for event in events if isinstance(event, Check)]
    assert checks[-1].loss < checks[0].loss - 0.05
    assert all(check.development_accuracy is not None for check in checks)
    assert checks[-1].development_accuracy > 0.2


@pytest.mark.parametrize("name", ["ordered-memory", "gumbel-tree-lstm", "crvnn", "rl-spinn"])
def test_interrupted_run_resumes_bit_for_bit(name: str, tmp_path: Path) -> None:
    config = settings("logic", name, "task.expressions=48")
    list(trainer(config, tmp_path / "whole").train())
    list(trainer(config, tmp_path / "cut").train(stop=stop_after(4)))
    list(trainer(config, tmp_path / "cut", resume=True).train())
    assert_equal_weights(tmp_path / "whole", tmp_path / "cut")


def test_batches_have_every_example_once_in_a_new_order(tmp_path: Path) -> None:
    run = trainer(settings("listops", "lstm"), tmp_path / "run")
    passes = [[step.batch.tokens.tolist() for step in run.run.loader.steps(run.run.rng, 0)] for _ in range(2)]
    assert passes[0] != passes[1]
    rows = [sorted(str([word for word in row if word]) for batch in batches for row in batch) for batches in passes]
    assert rows[0] == rows[1]
    assert len(rows[0]) == 120


def test_joins_of_a_batch_are_ordered_by_height() -> None:
    trees = [Side([5, 6, 7], [0, 1, 2], [(0, 1), (3, 2)]), Side([8], [0], []), Side([9, 1, 9], [0, 2], [(0, 1)])]
    ids, levels, roots = plan(trees)
    assert ids == [5, 6, 7, 8, 9, 9]
    assert levels == [[(0, 1), (4, 5)], [(6, 2)]]
    assert roots == [8, 3, 7]


def test_conflicting_settings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SynparseError, match=r"there is no model of expressions 'ccm'; known: .*ordered-memory"):
        resolve(purpose="listops", model="ccm")
    with pytest.raises(SynparseError, match=r"there is no task 'listop'; did you mean 'listops'\?"):
        resolve(purpose="listop")
    with pytest.raises(SynparseError, match="preset 'listops-small' is for task 'listops': synparse task train lis"):
        resolve(preset="listops-small")
    with pytest.raises(SynparseError, match="preset 'onlstm-small' is for plain text"):
        resolve(purpose="logic", preset="onlstm-small")
    with pytest.raises(SynparseError, match="model 'lstm' reads expressions, not stream"):
        trainer(settings("listops", "lstm", "loader.name=stream"), tmp_path)
    with pytest.raises(SynparseError, match="there is no padding 'left'; known: exact, released"):
        trainer(settings("listops", "ordered-memory", "model.padding=left"), tmp_path)


@pytest.mark.parametrize("universal", [False, True])
def test_transformer_joins_both_formulas(universal: bool) -> None:
    """Scores depend on the order of the two sides, not on padding. A universal encoder has one layer."""
    changes = ["model.joint=true", f"model.universal={str(universal).lower()}", "model.depth=2"]
    model, loader = untrained(settings("logic", "transformer", *changes), 6)
    scores, batch = scores_of(model, loader, 6), loader.batch(range(6))
    assert scores.shape == (6, 7)
    reversed_scores = model(batch.tokens.roll(6, 0), batch.lengths.roll(6), batch.trees)
    assert not torch.allclose(reversed_scores, scores)
    assert len(model.encoder.layers.layers) == (1 if universal else 2)
    model.loss(batch).objective.backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


@pytest.mark.parametrize("task", ["listops", "logic"])
def test_released_classifier_of_gumbel_tree_lstm_learns_from_any_batch(task: str) -> None:
    """Batch normalization applies running statistics to a batch of one example."""
    changes = ["model.head=released", "model.head_size=6", "model.head_layers=2"]
    model, loader = untrained(settings(task, "gumbel-tree-lstm", *changes), 5)
    model.train()
    assert isinstance(loader.batch([0]), model.whole_batch)
    for chosen in (range(5), [0]):
        model.zero_grad()
        model.loss(loader.batch(chosen)).objective.backward()
        assert all(parameter.grad is not None for parameter in model.encoder.head.parameters())
    with pytest.raises(SynparseError, match="has no effect in this run"):
        settings(task, "gumbel-tree-lstm", "model.head_size=6")


def test_embedding_size_may_differ() -> None:
    """The sizes of the ON-LSTM paper, section 5.4: 128 and 400 units."""
    for name in ("lstm", "onlstm"):
        model = make_model(resolve(purpose="logic", model=name, settings=["model.embedding_size=12"]), 20)
        assert model.encoder.embedding.weight.shape == (20, 12)
        tokens = torch.tensor([[3, 4, 5], [6, 7, 0]])
        assert model(tokens, torch.tensor([3, 2]), [Side([], [], [])] * 2).shape == (1, 7)


def test_preset_names_the_source_of_its_model() -> None:
    assert "Ordered Memory" in load_preset("logic").source
    assert load_preset("logic", "onlstm").source.startswith("Shen 2022 (thesis), section 3.6.1, table 5: ON-LSTM")
