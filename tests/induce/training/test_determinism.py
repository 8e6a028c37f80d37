"""Two trainings with the same seed give the same bits, although another program keeps all cores busy during one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from induce.registry import MODELS
from induce.settings.presets import resolve
from induce.storage import checkpoint
from induce.tasks.examples import load_examples
from induce.training.loop import Trainer
from tests.support.tiny import make_trainer, settings, trainer

# at least one from each folder of models
MODEL_NAMES = ["onlstm", "prpn", "ordered-memory", "udgn", "structformer", "npcfg", "diora", "chart", "dmv", "ndmv"]
TASK = "listops"
TASK_SETTINGS = ["task.expressions=60", "task.longest=12", "model.hidden_size=16", "loader.batch_size=16"]
STEPS = 3
BUSY_PROGRAM = (
    "import time\nend = time.monotonic() + 60\nwhile time.monotonic() < end: pass"  # ends if this process dies
)


@contextmanager
def busy_cores() -> Iterator[None]:
    """Keep every core busy with a process of its own."""
    programs = [subprocess.Popen([sys.executable, "-c", BUSY_PROGRAM]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


def new_run(name: str, folder: Path) -> Trainer:
    if name != TASK:
        return trainer(settings(name, "train.epochs=1"), folder)
    config = resolve(purpose=TASK, model="lstm", settings=[*TASK_SETTINGS, "train.epochs=1"])
    return make_trainer(config, *load_examples(config, (), ()), folder, device="cpu")


def train_some_steps(name: str, folder: Path) -> None:
    run = new_run(name, folder)
    for _ in run.train(stop=lambda: run.run.position.step >= STEPS):
        pass


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Folders with one training of each model, alone and beside busy programs, with two threads."""
    folders = tmp_path_factory.mktemp("alone"), tmp_path_factory.mktemp("busy")
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        for name in (*MODEL_NAMES, TASK):
            train_some_steps(name, folders[0] / name)
        with busy_cores():
            for name in (*MODEL_NAMES, TASK):
                train_some_steps(name, folders[1] / name)
    finally:
        torch.set_num_threads(before)
    return folders


def test_each_folder_of_models_is_represented() -> None:
    folders = {name: entry.location.rpartition(".")[0] for name, entry in MODELS.items()}
    expected = {folder for folder in folders.values() if folder.startswith("induce.models.")}
    assert {folders[name] for name in MODEL_NAMES} == expected


@pytest.mark.parametrize("name", [*MODEL_NAMES, TASK])
def test_busy_cores_change_no_bit(name: str, runs: tuple[Path, Path]) -> None:
    alone, busy = (checkpoint.read(folder / name / "resume.safetensors") for folder in runs)
    assert alone.facts.matrix_library == busy.facts.matrix_library
    assert alone.facts.threads == busy.facts.threads == 2
    weights = busy.weights()
    for key, value in alone.weights().items():
        assert torch.equal(value, weights[key]), key
