"""A training run and its storage: ``RUN/last``, from which it can be resumed, ``RUN/best``, and the log.

Weights, state of the optimizer, carried state, random numbers and position are stored, so that a run that is killed at
any moment and resumed ends with the same weights, bit for bit, as an uninterrupted one.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from induce.storage import checkpoint as store
from induce.training.distributed import gather_state, split_state
from induce.training.learners import not_finite
from induce.training.position import Position
from induce.training.seeding import random_state, restore_random_state
from treebank.base.errors import SynparseError, placed
from treebank.base.json_text import json_text
from treebank.base.metadata import one_line

if TYPE_CHECKING:
    from induce.data.loaders import Loader
    from induce.data.vocabulary import Vocabulary
    from induce.models.base import Model
    from induce.settings.run import RunConfig
    from induce.storage.facts import RunFacts
    from induce.storage.lock import RunLock
    from induce.training.distributed import ProcessGroup
    from induce.training.learners import Learner
    from induce.training.strategy import Accumulating


@dataclass
class Run:
    """A training run, ready to begin or to continue."""

    folder: Path
    config: RunConfig
    device: str
    group: ProcessGroup
    training: Any  # a `Corpus`, or `Examples` of a task
    development: Any
    note: str  # on the development text, for the user
    vocabulary: Vocabulary
    corpus: Any  # the encoded training text
    loader: Loader  # of the training text
    held_out: Loader  # of the development text
    facts: RunFacts  # of the data, for the checkpoint
    model: Model
    learner: Learner
    strategy: Accumulating
    rng: Any  # numpy.random.RandomState
    position: Position
    matrix_library: str = ""  # chosen before the first step
    resumed: bool = False
    lock: RunLock | None = field(default=None, repr=False)  # of the folder, released after training


def restore(run: Run, checkpoint: store.Checkpoint) -> None:
    """Continue ``run`` where ``checkpoint`` was stored.

    Raises SynparseError if the checkpoint is damaged or belongs to another text.
    """
    texts = {
        "training": (run.facts.training, checkpoint.facts.training),
        "development": (run.facts.development, checkpoint.facts.development),
    }
    for name, (current, stored) in texts.items():
        if stored.sha256 not in ("", current.sha256):
            raise SynparseError(
                f"{run.folder}: the {name} text is not the one that this run began with; give the same text, "
                "or train again with --overwrite"
            )
    trainer = checkpoint.trainer()
    try:
        run.model.load_state_dict(checkpoint.weights(), strict=True)
        run.learner.load_state_dict(trainer["optimizer"])
        run.position = Position.from_stored(trainer["position"])
        run.learner.carried = _carried(run, trainer["state"])
        restore_random_state(run.rng, trainer["random"], run.device)
    except (AttributeError, KeyError, IndexError, TypeError, RuntimeError, ValueError) as error:
        problem = f"{type(error).__name__}: {one_line(error)}"
        raise store.CheckpointError(
            f"{checkpoint.folder}: this run cannot be resumed ({problem}); train again with --overwrite"
        ) from None
    log = run.folder / "log.jsonl"
    if run.group.first and log.exists() and log.stat().st_size > run.position.log_bytes:
        with log.open("r+b") as stream:  # events after the stored position happen again
            stream.truncate(run.position.log_bytes)


def _carried(run: Run, stored: Any) -> Any:
    """Carried state, on the device, from the nested lists in a checkpoint."""
    stored = split_state(run.group, run.model, stored)
    if stored is None:
        return None
    types = [type(layer) for layer in run.model.initial_state(1)]
    return [layer(*(part.to(run.device) for part in parts)) for layer, parts in zip(types, stored, strict=True)]


def log(run: Run, event: Any) -> Any:
    """``event``, after it was appended to the log of the run."""
    if not run.group.first:
        return event
    run.folder.mkdir(parents=True, exist_ok=True)
    line = json_text({"event": type(event).__name__.lower(), **asdict(event)}) + "\n"
    with placed(run.folder / "log.jsonl"), (run.folder / "log.jsonl").open("ab") as stream:
        stream.write(line.encode("utf-8"))
        run.position.log_bytes = stream.tell()
    return event


def save_unscored(run: Run) -> None:
    """Store the model at once, before it is scored: as ``last``, and as ``best`` if no model was scored before."""
    save_last(run)
    if not run.position.best_epoch:
        with run.learner.averaged():
            save_best(run)


def save_best(run: Run) -> None:
    """Store the model as the best so far."""
    _store(run, "best")


def save_last(run: Run) -> None:
    """Store everything that decides how the run continues."""
    carried = run.learner.carried
    trainer = {
        "optimizer": run.learner.state_dict(),
        "position": asdict(run.position),
        "state": gather_state(run.group, run.model, carried and [list(part) for part in carried]),
        "random": random_state(run.rng, run.device),
    }
    _store(run, "last", trainer)


def _store(run: Run, name: str, trainer: dict[str, Any] | None = None) -> None:
    """Write the folder ``name`` of the run. Raises SynparseError if a weight is not finite."""
    if not run.group.first:
        return
    at = run.position
    if not all(bool(value.isfinite().all()) for value in run.model.state_dict().values()):
        raise not_finite("model", at.step, run.learner.remedy())  # a model that could not be read again is not stored
    facts = replace(
        run.facts,
        epoch=at.epoch,
        step=at.step,
        seconds=round(at.seconds, 1),
        device=run.device,
        threads=torch.get_num_threads(),
        processes=run.group.size,
        matrix_library=run.matrix_library,
        history=tuple(at.history),
    )
    store.save(run.folder / name, store.pack(run.model, run.config, run.vocabulary, facts, trainer))
