"""Small texts, commands on them, and digests of the files that these commands write."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from induce.registry import MODELS
from induce.storage.checkpoint import build_model, read
from induce.storage.model_file import MODEL, RESUME
from induce.storage.outputs import LOCK
from tests.support.calls import set_options
from tests.support.tiny import SETTINGS, sentences, with_trees
from treebank.base.files import PART

TASKS = {
    "listops": ["task.expressions=80", "task.longest=10", "loader.batch_size=20", "model.slot_size=6"],
    "logic": ["task.expressions=80", "loader.batch_size=20", "model.slot_size=6"],
    "craft": ["task.expressions=24", "model.hidden_size=6", "model.inner_size=6", "loader.batch_size=12"],
}
TEACHERS = {"trees": "trees.mrg", "heads": "heads"}
CHANGING = (MODEL, RESUME, "log.jsonl", "synparse-shards.jsonl", LOCK)  # they contain times
TIMES = ("seconds", "log_bytes")
Digests = dict[str, str]


def write_texts(folder: Path, count: int = 24) -> None:
    """Write text.txt, trees of its sentences in trees.mrg, and a folder of two texts."""
    annotated = with_trees(sentences(count))
    text = "".join(" ".join(sentence.words) + "\n" for sentence in annotated)
    (folder / "text.txt").write_text(text, encoding="utf-8")
    (folder / "trees.mrg").write_text("".join(f"{sentence.tree}\n" for sentence in annotated), encoding="utf-8")
    for name in ("in/1", "in/2"):
        (folder / name).mkdir(parents=True)
        (folder / name / "a.txt").write_text(text * 5, encoding="utf-8")


def training(model: str, *changes: str, resume: bool = False, run: str = "run") -> list[str]:
    """Command that trains the smallest ``model``, or a model of the task of that name, for one epoch."""
    command = ["task", "train", model] if model in TASKS else ["train", "text.txt", "--model", model]
    inputs = ["--trees", "trees.mrg"] if model.endswith("-syd") else []
    entry = None if model in TASKS else MODELS.get(model)
    inputs += ["--teacher", TEACHERS[entry.teacher_output]] if entry and entry.needs_teacher else []
    settings = TASKS[model] if model in TASKS else SETTINGS[model]
    has_epochs = model in TASKS or "train.epochs=3" in settings
    settings = [*(setting for setting in settings if setting != "train.epochs=3"), *changes]
    settings += ["train.epochs=1"] if has_epochs else []
    return [*command, *inputs, *(["--resume"] if resume else []), "-o", run, *set_options(*settings)]


def files(folder: Path, name: str) -> Digests:
    """Digest of every file below ``name``, without locks, files with times, and temporary files left by a kill."""
    below, digests = folder / name, {}
    for path in [below] if below.is_file() else sorted(below.rglob("*")):
        if path.is_file() and path.name not in CHANGING and not PART.search(path.name):
            digests[str(path.relative_to(folder))] = sha256(path.read_bytes()).hexdigest()
    return digests


def digest(value: Any) -> str:
    """Digest of nested lists, tables, tensors and numbers, without times."""
    if hasattr(value, "numpy"):
        value = sha256(value.detach().contiguous().numpy().tobytes()).hexdigest()
    elif isinstance(value, dict):
        value = [(key, digest(part)) for key, part in value.items() if key not in TIMES]
    elif isinstance(value, list | tuple):
        value = list(map(digest, value))
    return sha256(repr(value).encode()).hexdigest()


def digests_of_run(folder: Path) -> Digests:
    """Digests of a training: weights, the state that resuming depends on, and the checks in its log."""
    run = folder / "run"
    state = read(run / RESUME).trainer()
    events = [json.loads(line) for line in (run / "log.jsonl").read_text("utf-8").splitlines()]
    checks = [event["step"] for event in events if event["event"] == "check"]
    return {**weights(folder, "run"), "state": digest(state), "checks": str(checks)}


def weights(folder: Path, name: str) -> Digests:
    """Digests of the weights and vocabularies of all models below ``name``."""
    models = {path: read(path) for path in sorted((folder / name).rglob("*.safetensors"))}
    return {
        str(path.relative_to(folder)): digest([model.digest, model.vocabulary.words]) for path, model in models.items()
    }


def complete_models(folder: Path) -> set[str]:
    """Names of the existing files of one or two runs. Raises an error if one of them cannot be loaded."""
    names = [f"{run}/{name}" for run in ("run", "run/seed-1", "run/seed-2") for name in (MODEL, RESUME)]
    complete = [name for name in names if (folder / name).exists()]
    for name in complete:
        build_model(read(folder / name))
    return set(complete)
