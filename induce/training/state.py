"""Everything that decides the weights of a run, and what its folder keeps of it.

Weights, optimiser, carried state, random numbers and position are written to ``RUN/last``, so that a run killed at any
moment and resumed ends with the same weights, bit for bit, as one left alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from induce.config import RunConfig
from induce.data.batches import Batch
from induce.data.vocabulary import Vocabulary
from induce.layers.matrix_library import MKL, choose_library
from induce.models.base import FittedModel, Model
from induce.models.build import make_model
from induce.storage import checkpoint as store
from induce.training.distributed import own_state, whole_state
from induce.training.optimizer import Unoptimized, make_optimizer
from induce.training.position import Position
from induce.training.process_group import ProcessGroup
from induce.training.seeding import random_state, restore_random_state, seed_everything
from treebank.base.errors import SynparseError, placed
from treebank.base.json_text import json_text


class RunState:
    """One run as it stands."""

    def __init__(
        self,
        config: RunConfig,
        run: Path,
        *,
        device: str,
        facts: dict[str, Any],
        vocabulary: Vocabulary,
        checkpoint: store.Checkpoint | None,
        group: ProcessGroup,
    ) -> None:
        """As it begins; `take_up` goes on from ``checkpoint``, which is what ``RUN/last`` holds."""
        self.config, self.run, self.device, self.group = config, run, device, group
        self.facts, self.vocabulary = facts, vocabulary
        self.rng = seed_everything(config.train.seed)
        self.model = self._build(checkpoint)
        self.model.precision = config.train.precision
        self.matrix_library = str(checkpoint.facts.get("matrix_library", MKL)) if checkpoint else ""
        self.optimizer: Any = Unoptimized()
        if isinstance(self.model, FittedModel):
            self.model.group = group
        else:
            self.optimizer = make_optimizer(list(self.model.parameters()), config.train)
        self.position = Position()
        self.state: Any = None  # carried from batch to batch

    def _build(self, checkpoint: store.Checkpoint | None) -> Model:
        try:
            return make_model(self.config, len(self.vocabulary)).to(self.device)
        except (TypeError, ValueError, SynparseError) as error:
            where = f"{checkpoint.folder}: " if checkpoint else ""
            raise SynparseError(f"{where}{error}") from None

    def choose_matrix_library(self, batch: Callable[[], Batch]) -> None:
        """Choose the library that multiplies matrices, by the setting or by the products of one step on ``batch``.

        The trial step leaves random numbers, buffers and gradients as they were. Several processes use MKL, so that
        all of them agree.
        """
        choice = self.config.train.products
        if choice == "auto":
            fixed = self.device != "cpu" or self.group.size > 1 or isinstance(self.model, FittedModel)
            choice = MKL if fixed else choose_library(lambda: self._try_step(batch()))
        self.matrix_library = choice

    def _try_step(self, batch: Batch) -> None:
        buffers = [(buffer, buffer.clone()) for buffer in self.model.buffers()]
        with torch.random.fork_rng([]):
            self.model.train()
            self.model.loss(batch, None).objective.backward()
        self.model.zero_grad(set_to_none=True)
        for buffer, value in buffers:
            buffer.copy_(value)

    def take_up(self, checkpoint: store.Checkpoint) -> None:
        """Go on from ``checkpoint``, which ``RUN/last`` holds. SynparseError: it is damaged, or one of another text."""
        for name in ("training", "development"):
            given = self.facts[name]["sha256"]
            if checkpoint.facts.get(name, {}).get("sha256", given) != given:
                raise SynparseError(
                    f"{self.run}: the {name} text is not the one that this run began with; give the same text, "
                    "or train anew with --overwrite"
                )
        trainer = checkpoint.trainer()
        try:
            self.model.load_state_dict(checkpoint.weights(), strict=True)
            self.optimizer.load_state_dict(trainer["optimizer"])
            self.position = Position.of(trainer["position"])
            self.state = self._carried(trainer["state"])
            restore_random_state(self.rng, trainer["random"], self.device)
        except (AttributeError, KeyError, IndexError, TypeError, RuntimeError, ValueError) as error:
            problem = f"{type(error).__name__}: {store.gist(error)}"
            raise store.CheckpointError(
                f"{checkpoint.folder}: this run cannot be resumed ({problem}); train anew with --overwrite"
            ) from None
        log = self.run / "log.jsonl"
        if self.group.first and log.exists() and log.stat().st_size > self.position.log_bytes:
            with log.open("r+b") as stream:  # what was logged after the state was written happens again
                stream.truncate(self.position.log_bytes)

    def _carried(self, plain: Any) -> Any:
        """Carried state from the nested lists that trainer.pt holds, on the device."""
        plain = own_state(self.group, self.model, plain)
        if plain is None:
            return None
        like = self.model.initial_state(1)
        return [type(one)(*(part.to(self.device) for part in parts)) for one, parts in zip(like, plain, strict=True)]

    def log(self, event: Any) -> Any:
        """``event``, after it is appended to the run's log."""
        if not self.group.first:
            return event
        self.run.mkdir(parents=True, exist_ok=True)
        line = json_text({"event": type(event).__name__.lower(), **asdict(event)}) + "\n"
        with placed(self.run / "log.jsonl"), (self.run / "log.jsonl").open("ab") as log:
            log.write(line.encode("utf-8"))
            self.position.log_bytes = log.tell()
        return event

    def exploded(self, what: str, step: int) -> SynparseError:
        """What to say, and to do, when weights grew beyond all numbers; nothing of that has been saved."""
        if isinstance(self.model, FittedModel):
            return SynparseError(f"the {what} is no longer a number at step {step}; the last model is kept")
        lower = f"--set train.learning_rate={self.config.train.learning_rate / 10:g}"
        return SynparseError(
            f"the {what} is no longer a number at step {step} (epoch {self.position.epoch}); "
            "lower train.learning_rate, and go on from the last saved state: "
            f"synparse train --resume -o {self.run} {lower}"
        )

    def keep(self) -> None:
        """Write the model at once, before it is scored: ``last``, and where no model was scored yet also ``best``."""
        self.save_last()
        if not self.position.best_epoch:
            with self.optimizer.averaged():
                self.save_best()

    def save_best(self) -> None:
        """Write the model as the best so far."""
        self._store("best")

    def _pack(self, trainer: dict[str, Any] | None = None) -> dict[str, bytes]:
        at = self.position
        if not all(bool(value.isfinite().all()) for value in self.model.state_dict().values()):
            raise self.exploded("model", at.step)  # what could not be read again is not written
        facts = {
            **self.facts,
            "epoch": at.epoch,
            "step": at.step,
            "seconds": round(at.seconds, 1),
            "device": self.device,
            "threads": torch.get_num_threads(),
            **({"processes": self.group.size} if self.group.size > 1 else {}),
            "matrix_library": self.matrix_library,
            "history": at.history,
        }
        return store.pack(self.model, self.config, self.vocabulary, facts, trainer)

    def save_last(self) -> None:
        """Write everything that decides how the run goes on."""
        trainer = {
            "optimizer": self.optimizer.state_dict(),
            "position": asdict(self.position),
            "state": whole_state(self.group, self.model, self.state and [list(part) for part in self.state]),
            "random": random_state(self.rng, self.device),
        }
        self._store("last", trainer)

    def _store(self, name: str, trainer: dict[str, Any] | None = None) -> None:
        """Write the model as it is to the folder ``name`` of the run."""
        if self.group.first:
            store.save(self.run / name, self._pack(trainer))
