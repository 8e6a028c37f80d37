"""A training run and its storage: the state from which it can be resumed, the best model so far, and the log.

Weights, state of the optimizer, carried state, random numbers and position are stored, so that a run that is killed at
any moment and resumed ends with the same weights, bit for bit, as an uninterrupted one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy
import torch

from induce.decoding.branching_direction import assumed_probability
from induce.models.base import Context, FittedModel, Model
from induce.storage import checkpoint as store
from induce.storage.model_file import MODEL, RESUME
from induce.storage.outputs import LOG
from induce.training.learners import FittedLearner, GradientLearner, Learner, Position, not_finite
from induce.training.optimizer import make_optimizer
from treebank.base.errors import SynparseError, placed
from treebank.base.metadata import MetadataError, encode, json_text, one_line

if TYPE_CHECKING:
    from induce.data.loaders import Loader
    from induce.data.vocabulary import Vocabulary
    from induce.settings.run import RunConfig
    from induce.storage.checkpoint import RunFacts
    from induce.storage.outputs import RunLock
    from induce.training.learners import Accumulating, Learner, SingleProcess


@dataclass
class Run:
    """A training run, ready to begin or to continue."""

    folder: Path
    config: RunConfig
    device: str
    group: SingleProcess
    training: Any  # a `TextInMemory`, or other `TrainingData`
    development: Any
    vocabulary: Vocabulary
    corpus: Any  # the encoded training text
    loader: Loader  # of the training text
    held_out: Loader  # of the development text
    facts: RunFacts  # of the data, for the checkpoint
    model: Model
    strategy: Accumulating
    rng: Any  # numpy.random.RandomState
    position: Position = field(default_factory=Position)
    matrix_library: str = ""  # chosen before the first step
    resumed: bool = False
    learner: Learner = field(init=False)  # the algorithm that trains the model
    lock: RunLock | None = field(default=None, repr=False)  # of the folder, released after training

    def __post_init__(self) -> None:
        right = assumed_probability(self.config.parse.branching, self.facts.direction)
        context = Context(self.config.train.seed, right, self.group)
        if isinstance(self.model, FittedModel):
            self.learner = FittedLearner(self.model, context, self.corpus, self.training.words)
            return
        optimizer = make_optimizer(list(self.model.parameters()), self.config.optimizer)
        parts = optimizer, self.loader, self.strategy, self.rng
        self.learner = GradientLearner(self.model, context, *parts, config=self.config, folder=self.folder)


def restore(run: Run, checkpoint: store.Checkpoint) -> None:
    """Continue ``run`` where ``checkpoint`` was stored.

    Raises SynparseError if the checkpoint is damaged or belongs to another text.
    """
    source = run.facts.learned_from
    check_text(run.folder, "training", run.facts.training.sha256, checkpoint.facts.training.sha256, source)
    check_text(run.folder, "development", run.facts.development.sha256, checkpoint.facts.development.sha256, source)
    trainer = checkpoint.trainer()
    try:
        run.model.load_state_dict(checkpoint.weights(), strict=True)
        run.learner.optimizer.load_state_dict(trainer["optimizer"])
        run.position = Position.from_stored(trainer["position"])
        run.learner.stored_step = run.position.step
        state = run.group.split_state(run.model, trainer["state"])
        if state is not None:
            types = [type(layer) for layer in run.model.initial_state(1)]
            layers = zip(types, state, strict=True)
            run.learner.carried = [layer(*(part.to(run.device) for part in parts)) for layer, parts in layers]
        restore_random_state(run.rng, trainer["random"], run.device)
    except (AttributeError, KeyError, IndexError, TypeError, RuntimeError, ValueError) as error:
        raise resume_error(checkpoint.path, error) from None
    if run.group.first:
        cut_log(run.folder, run.position)


def check_text(folder: Path, name: str, sha256: str, stored: str, source: str = "") -> None:
    """Raises SynparseError if the digest of a text is not the ``stored`` one, unless that is "".

    ``source`` describes the trees or heads that are part of the digest, if there are any.
    """
    if stored not in ("", sha256):
        text, same = (f"text, with {source},", "text and trees or heads") if source else ("text", "text")
        raise SynparseError(
            f"{folder}: the {name} {text} is not the one that this run began with; give the same {same}, "
            "or train again with --overwrite"
        )


def resume_error(path: Path, error: Exception) -> MetadataError:
    """The error for a checkpoint whose state does not fit the run."""
    problem = f"{type(error).__name__}: {one_line(error)}"
    return MetadataError(f"{path}: this run cannot be resumed ({problem}); train again with --overwrite")


def log(run: Run, event: Any) -> Any:
    """``event``, after it was appended to the log of the run."""
    if run.group.first:
        append_event(run.folder, run.position, event)
    return event


def append_event(folder: Path, at: Position, event: Any) -> None:
    """Append ``event`` to the log in ``folder``, whose size becomes part of the position."""
    folder.mkdir(parents=True, exist_ok=True)
    line = json_text({"event": type(event).__name__.lower(), **asdict(event)}) + "\n"
    with placed(folder / LOG), (folder / LOG).open("ab") as stream:
        stream.write(line.encode("utf-8"))
        at.log_bytes = stream.tell()


def cut_log(folder: Path, at: Position) -> None:
    """Remove the events after the stored position ``at``, which happen again."""
    if (folder / LOG).exists() and (folder / LOG).stat().st_size > at.log_bytes:
        with (folder / LOG).open("r+b") as stream:
            stream.truncate(at.log_bytes)


def save_unscored(run: Run) -> None:
    """Store the model at once, before it is scored: for resuming, and as the best model if none was scored before."""
    save_last(run)
    if not run.position.best_epoch:
        with run.learner.optimizer.averaged():
            save_best(run)


def save_best(run: Run) -> None:
    """Store the model as the best so far."""
    _store(run, MODEL)


def save_last(run: Run) -> None:
    """Store everything that decides how the run continues."""
    carried = run.learner.carried
    trainer = {
        "optimizer": run.learner.optimizer.state_dict(),
        "position": encode(run.position),
        "state": run.group.gather_state(run.model, carried and [list(part) for part in carried]),
        "random": random_state(run.rng, run.device),
    }
    _store(run, RESUME, trainer)
    run.learner.stored_step = run.position.step


def _store(run: Run, name: str, trainer: dict[str, Any] | None = None) -> None:
    """Write the file ``name`` of the run."""
    if run.group.first:
        is_done = run.learner.is_done(run.position)
        facts = replace(
            run.facts,
            device=run.device,
            processes=run.group.size,
            matrix_library=run.matrix_library,
            finished=run.position.finished or ("epochs" if is_done else ""),
        )
        content = Content(run.model, run.config, run.vocabulary, facts)
        store_checkpoint(run.folder / name, content, run.position, trainer, remedy=run.learner.remedy)


class Content(NamedTuple):
    """Content of a checkpoint besides the position of its run."""

    model: Model
    config: RunConfig
    vocabulary: Vocabulary
    facts: RunFacts


def store_checkpoint(
    path: Path, content: Content, at: Position, trainer: dict[str, Any] | None, *, remedy: Callable[[int], str]
) -> None:
    """Write a checkpoint at the position ``at``.

    Raises SynparseError, with the ``remedy`` for a model of this step, if a weight is not finite: a model that could
    not be read again is never stored.
    """
    model, config, vocabulary, facts = content
    if not all(bool(value.isfinite().all()) for value in model.state_dict().values()):
        raise not_finite("model", at.step, remedy(at.step))
    facts = replace(
        facts,
        epoch=at.epoch,
        step=at.step,
        seconds=round(at.seconds, 1),
        threads=torch.get_num_threads(),
        history=at.history,
    )
    store.save(path, store.pack(model, config, vocabulary, facts, trainer))


def seed_everything(seed: int) -> Any:
    """Seed torch, and return the generator (numpy, legacy) that draws the segment lengths."""
    torch.manual_seed(seed)
    return numpy.random.RandomState(seed)


def random_state(draw: Any, device: str) -> dict[str, Any]:
    """The state of every generator, as tensors and plain values."""
    kind, keys, position, has_gauss, gauss = draw.get_state()
    state = {"torch": torch.get_rng_state(), "draw": [kind, keys.tolist(), position, has_gauss, gauss]}
    if device == "cuda":
        state["cuda"] = torch.cuda.get_rng_state()
    return state


def restore_random_state(draw: Any, state: dict[str, Any], device: str) -> None:
    """Continue where ``random_state`` was taken."""
    torch.set_rng_state(state["torch"])
    kind, keys, position, has_gauss, gauss = state["draw"]
    draw.set_state((kind, keys, position, has_gauss, gauss))
    if device == "cuda" and "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"])
