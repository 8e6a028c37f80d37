"""The training loop: a generator of events that a caller shows, logs or ignores.

Everything that decides the weights (stream position, carried state, optimiser, random numbers) is written to
``RUN/last``, so that a run killed at any moment and resumed ends with the same weights, bit for bit, as one left alone.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import torch

from induce import checkpoint as store
from induce.config import RunConfig
from induce.data.batching import FEEDS, Piece
from induce.data.tokens import bits
from induce.models.base import SegmentLoss, detach
from induce.registry import SUPERVISED, check_pairing, kind_of, make_model
from induce.training.microbatch import whole_or_halved
from induce.training.optimizer import EpochEnd, make_optimizer
from induce.training.seeding import random_state, restore_random_state, seed_everything
from treebank.errors import SynparseError, placed

LEAST_WORDS = 20  # of training text
SAVE_SECONDS = 30.0  # between two writings of RUN/last
REPORT_STEPS = 20


@dataclass(frozen=True)
class Started:
    """Before the first step."""

    sentences: int
    words: int  # or characters: tokens, as ``unit`` says
    development_sentences: int
    vocabulary: int
    unknown_share: float  # of the running training words
    parameters: int
    device: str
    resumed_at: int  # step, 0 for a fresh run
    note: str = ""
    unit: str = "word"


@dataclass(frozen=True)
class Progress:
    """Every few steps. Loss in nats a token, sentence ends included, averaged over the epoch so far."""

    epoch: int
    epochs: int
    step: int
    share: float  # of the epoch
    loss: float
    perplexity: float
    words_per_second: float
    seconds: float
    seconds_left: float
    unit: str = "word"


@dataclass(frozen=True)
class Halved:
    """Memory ran out, and a batch was taken in more parts than any before it."""

    step: int
    parts: int


@dataclass(frozen=True)
class Check:
    """After each epoch: the model is scored on the development text, without any gold tree."""

    epoch: int
    step: int
    loss: float
    perplexity: float
    development_loss: float
    development_perplexity: float
    best: bool
    note: str
    seconds: float
    development_bits: float | None = None  # per character, where these are the tokens
    development_accuracy: float | None = None  # of a task


@dataclass(frozen=True)
class Finished:
    """After the last step."""

    reason: str  # "epochs", "no more progress", "time", "interrupted"
    epoch: int
    step: int
    best_epoch: int
    best_perplexity: float
    seconds: float
    run: str
    best_bits: float | None = None


Event = Started | Progress | Halved | Check | Finished


@dataclass
class _Position:
    """Where a run stands; stored with ``last``."""

    epoch: int = 1
    step: int = 0
    start: int = 0  # first row of the next segment, or the next sentence
    loss_sum: float = 0.0  # over the rows of this epoch
    rows: int = 0
    seconds: float = 0.0
    words: int = 0  # trained on so far
    best_loss: float = math.inf
    best_epoch: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)
    log_bytes: int = 0
    finished: str = ""  # "no more progress" once the optimiser has ended training


class Trainer:
    """One run: the model, its data and where it stands."""

    def __init__(
        self,
        config: RunConfig,
        training: Any,
        development: Any,
        run: Path,
        *,
        device: str,
        facts: dict[str, Any] | None = None,
        resume: bool = False,
    ) -> None:
        """``training`` and ``development`` are a `Corpus` each, or `Examples` of a task."""
        self.config, self.run, self.device = config, run, device
        self.training, self.development = training, development
        if training.words < LEAST_WORDS:
            where = " ".join((facts or {}).get("texts", ())) or "the training text"
            found = f"{training.words} {config.data.unit}{'s' * (training.words != 1)}"
            raise SynparseError(
                f"{where}: {found} to learn from after normalisation "
                f"{config.data.normalization!r}; at least {LEAST_WORDS} are needed, and some 100,000 for useful trees"
            )
        self.note = ""
        if not development.words:
            self.development = training
            self.note = "too few sentences to set some aside: the training text serves as development text"
        self.facts = {
            **(facts or {}),
            "training": {
                "sentences": training.sentences,
                "words": training.words,
                "sha256": training.digest.hexdigest(),
            },
            "development": {
                "sentences": self.development.sentences,
                "words": self.development.words,
                "sha256": self.development.digest.hexdigest(),
            },
        }
        with_trees = not config.data.task and bool(training.trees)
        if with_trees != (config.model_name in SUPERVISED):
            problem = "learns no trees" if with_trees else "learns from trees, and the training text has none"
            raise SynparseError(f"model {config.model_name!r} {problem}")
        checkpoint = store.read(store.find(run, ("last",))) if resume else None
        self.draw = seed_everything(config.train.seed)
        self.vocabulary = (
            checkpoint.vocabulary
            if checkpoint
            else training.vocabulary(config.data.vocabulary_size, config.data.minimum_count)
        )
        kind = kind_of(config)
        if config.data.reading not in kind.reads:
            raise SynparseError(
                f"model {config.model_name!r} reads {' or '.join(kind.reads)}, not {config.data.reading} (data.reading)"
            )
        if kind.gives:
            check_pairing(config.model_name, kind.gives, config.parse.decoder)
        try:
            self.model = make_model(config, len(self.vocabulary)).to(device)
        except (TypeError, ValueError) as error:
            where = f"{checkpoint.folder}: " if checkpoint else ""
            raise SynparseError(f"{where}settings of model {config.model_name!r}: {error}") from None
        self.optimizer = make_optimizer(list(self.model.parameters()), config.train)
        counts = training.word_counts()
        unknown = sum(count for word, count in counts.items() if self.vocabulary.id(word) == 1)
        self.unknown_share = unknown / training.words
        feed = FEEDS[config.data.reading]
        text, held_out = training.encode(self.vocabulary), self.development.encode(self.vocabulary)
        train = config.train
        gold = {"gold": training.gold()} if with_trees else {}
        self.feed = feed(text, train, batch_size=train.batch_size, device=device, **gold)
        self.held_out = feed(held_out, train, batch_size=train.development_batch_size, device=device)
        self.position = _Position()
        self.state: Any = None
        self.parts = 1  # of a batch, the most so far
        if checkpoint:
            self._continue(checkpoint)

    def _continue(self, checkpoint: store.Checkpoint) -> None:
        """Take up the run where ``RUN/last`` left it."""
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
            self.position = _Position(**trainer["position"])
            self.state = self._carried(trainer["state"])
            restore_random_state(self.draw, trainer["random"], self.device)
        except (AttributeError, KeyError, IndexError, TypeError, RuntimeError, ValueError) as error:
            problem = f"{type(error).__name__}: {store.gist(error)}"
            raise store.CheckpointError(
                f"{checkpoint.folder}: this run cannot be resumed ({problem}); train anew with --overwrite"
            ) from None
        log = self.run / "log.jsonl"
        if log.exists() and log.stat().st_size > self.position.log_bytes:
            with log.open("r+b") as stream:  # what was logged after the state was written happens again
                stream.truncate(self.position.log_bytes)

    def _carried(self, plain: Any) -> Any:
        """Carried state from the nested lists that trainer.pt holds, on the device."""
        if plain is None:
            return None
        like = self.model.initial_state(1)
        return [type(one)(*(part.to(self.device) for part in parts)) for one, parts in zip(like, plain, strict=True)]

    def train(self, *, max_minutes: float | None = None, stop: Callable[[], bool] = lambda: False) -> Iterator[Event]:
        """Train to the end, yielding events; ``max_minutes`` are those of this call.

        ``stop`` is asked after every step; what was learned is kept.
        """
        resumed = self.position.step
        if not resumed:
            self._save_last()  # a kill before the first step leaves something to go on from, too
        yield self._log(
            Started(
                sentences=self.training.sentences,
                words=self.training.words,
                development_sentences=self.development.sentences,
                vocabulary=len(self.vocabulary),
                unknown_share=self.unknown_share,
                parameters=sum(parameter.numel() for parameter in self.model.parameters()),
                device=self.device,
                resumed_at=resumed,
                note=self.note,
                unit=self.config.data.unit,
            )
        )
        limit = self.position.seconds + max_minutes * 60 if max_minutes else math.inf
        reason = self._over()
        while not reason:
            reason = yield from self._epoch(limit, stop)
        at = self.position
        self._save_last()
        best = at.best_epoch, _exp(at.best_loss), at.seconds, str(self.run), self._bits(at.best_loss)
        yield self._log(Finished(reason, at.epoch, at.step, *best))

    def _epoch(self, limit: float, stop: Callable[[], bool]) -> Generator[Event, None, str]:
        """Train to the end of the epoch and check. Returns why training ends, or ""."""
        at = self.position
        began, saved = time.monotonic() - at.seconds, time.monotonic()
        since = (time.monotonic(), at.words)
        for piece in self.feed.pieces(self.draw, at.start):
            parts = self._step(piece)
            if parts > self.parts:
                self.parts = parts
                yield self._log(Halved(at.step, parts))
            at.seconds = time.monotonic() - began
            if at.step % REPORT_STEPS == 0:
                now = (time.monotonic(), at.words)
                yield self._log(self._progress((now[1] - since[1]) / max(now[0] - since[0], 1e-9), limit))
                since = now
            interrupted = stop()
            if interrupted or at.seconds > limit:
                yield from self._check(end_of_epoch=False)
                return "interrupted" if interrupted else "time"
            if time.monotonic() - saved > SAVE_SECONDS:
                self._save_last()
                saved = time.monotonic()
        ended = yield from self._check(end_of_epoch=True)
        at.finished = "no more progress" if ended else ""
        at.seconds = time.monotonic() - began
        at.epoch, at.start, at.loss_sum, at.rows, self.state = at.epoch + 1, 0, 0.0, 0, None
        self._save_last()
        return self._over() or ("interrupted" if stop() else "time" if at.seconds > limit else "")

    def _over(self) -> str:
        """Why nothing is left to train, or ""; decided by what ``last`` holds, so that no kill adds an epoch."""
        at = self.position
        if at.finished == "no more progress":
            return at.finished
        return "epochs" if at.epoch > self.config.train.epochs else ""

    def _step(self, piece: Piece) -> int:
        """One update. Returns in how many parts the piece was taken."""
        at, config = self.position, self.config.train
        self.model.train()
        loss, parts = self._learn(piece)
        nll = float(loss.nll.detach())
        if not math.isfinite(nll):
            raise SynparseError(
                f"the loss is no longer a number at step {at.step + 1} (epoch {at.epoch}); "
                "lower train.learning_rate, and go on from the last saved state with --resume"
            )
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), config.clip)
        self.optimizer.step(piece.factor)
        self.state = None if piece.counted is not None else detach(loss.state)
        at.start = piece.after
        at.step += 1
        weight = piece.rows if loss.targets is None else loss.targets
        at.loss_sum += nll * weight
        at.rows += weight
        at.words += piece.words
        return parts

    def _learn(self, piece: Piece) -> tuple[SegmentLoss, int]:
        """The loss of ``piece``, its gradient put into the model; masked sentences in parts if memory runs out."""
        if piece.masked:
            return whole_or_halved(self.model, piece)
        self.model.zero_grad(set_to_none=True)
        loss = loss_of(self.model, piece, self.state)
        loss.objective.backward()
        return loss, 1

    def _bits(self, loss: float) -> float | None:
        """Bits per character; None of masked ones, which are not the whole text."""
        data = self.config.data
        return None if data.reading == "masked" else bits(loss, data.unit)

    def _check(self, *, end_of_epoch: bool) -> Generator[Event, None, bool]:
        """Score the development text; keep the model if it is the best so far. Returns whether training should end."""
        at = self.position
        with self.optimizer.averaged():
            loss, accuracy = evaluate(self.model, self.held_out.check())
            best = loss < at.best_loss or not at.best_epoch
            trained = at.loss_sum / max(1, at.rows)
            scores = trained, _exp(trained), loss, _exp(loss)
            per_character = self._bits(loss)
            event = Check(at.epoch, at.step, *scores, best, "", at.seconds, per_character, accuracy)
            at.history.append(asdict(event))
            if best:
                at.best_loss, at.best_epoch = loss, at.epoch
                store.save(self.run / "best", self._pack())
        decision = self.optimizer.end_of_epoch(loss) if end_of_epoch else EpochEnd()
        yield self._log(replace(event, note=decision.note))
        return decision.stop

    def _progress(self, speed: float, limit: float) -> Progress:
        at, epochs = self.position, self.config.train.epochs
        share = self.feed.share(at.start)
        done = at.epoch - 1 + share
        left = min(at.seconds / max(done, 1e-9) * (epochs - done), limit - at.seconds)
        loss = at.loss_sum / max(1, at.rows)
        times = speed, at.seconds, max(0.0, left)
        return Progress(at.epoch, epochs, at.step, share, loss, _exp(loss), *times, self.config.data.unit)

    def _log(self, event: Any) -> Any:
        """``event``, after it is appended to the run's log."""
        self.run.mkdir(parents=True, exist_ok=True)
        line = json.dumps({"event": type(event).__name__.lower(), **asdict(event)}, ensure_ascii=False) + "\n"
        with placed(self.run / "log.jsonl"), (self.run / "log.jsonl").open("ab") as log:
            log.write(line.encode("utf-8"))
            self.position.log_bytes = log.tell()
        return event

    def _pack(self, trainer: dict[str, Any] | None = None) -> dict[str, bytes]:
        at = self.position
        facts = {
            **self.facts,
            "epoch": at.epoch,
            "step": at.step,
            "seconds": round(at.seconds, 1),
            "device": self.device,
            "threads": torch.get_num_threads(),
            "history": at.history,
        }
        return store.pack(self.model, self.config, self.vocabulary, facts, trainer)

    def _save_last(self) -> None:
        """Write everything that decides how the run goes on."""
        trainer = {
            "optimizer": self.optimizer.state_dict(),
            "position": asdict(self.position),
            "state": None if self.state is None else [list(part) for part in self.state],
            "random": random_state(self.draw, self.device),
        }
        store.save(self.run / "last", self._pack(trainer))


def loss_of(model: Any, piece: Piece, state: Any) -> SegmentLoss:
    """The loss of ``piece``: a segment of a stream goes on from ``state``, sentences begin anew."""
    if piece.trees is not None:
        return cast(SegmentLoss, model.label_loss(piece.tokens, piece.lengths, piece.targets, piece.trees))
    if piece.lengths is not None:
        return cast(SegmentLoss, model.loss(piece.tokens, piece.lengths, chance=piece.chance))
    more = {} if piece.gold is None else {"gold": piece.gold}
    if piece.counted is not None:
        return cast(SegmentLoss, model.loss(piece.tokens, piece.targets, counted=piece.counted, **more))
    return cast(SegmentLoss, model.loss(piece.tokens, piece.targets, state, **more))


@torch.no_grad()
def evaluate(model: Any, pieces: Iterable[Piece]) -> tuple[float, float | None]:
    """Mean negative log-likelihood of ``pieces`` in nats a word, sentence ends included; of a task the accuracy."""
    model.eval()
    total, rows, state = 0.0, 0, None
    correct: int | None = None
    for piece in pieces:
        loss = whole_or_halved(model, piece)[0] if piece.masked else loss_of(model, piece, state)
        weight = piece.rows if loss.targets is None else loss.targets
        total += float(loss.nll) * weight
        rows += weight
        state = loss.state
        if loss.correct is not None:
            correct = (correct or 0) + loss.correct
    return total / max(1, rows), None if correct is None else correct / max(1, rows)


def _exp(loss: float) -> float:
    """Perplexity; infinite where it is too large to write."""
    return math.exp(loss) if loss < 700 else math.inf
