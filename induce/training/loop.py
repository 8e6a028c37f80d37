"""The training loop: a generator of events that a caller shows, logs or ignores.

Everything that decides the weights (stream position, carried state, optimiser, random numbers) is written to
``RUN/last``, so that a run killed at any moment and resumed ends with the same weights, bit for bit, as one left alone.
Models that learn without gradients go through the same events, checks and checkpoints (`Trainer._fit`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from induce import checkpoint as store
from induce.config import RunConfig, entry_of, kind_of
from induce.data.corpus import choose_vocabulary, unknown_share
from induce.data.loader import Loader, Step
from induce.data.tokens import bits
from induce.kernels.products import Products, use
from induce.models.base import FittedModel, Model, detach
from induce.models.build import make_model
from induce.process_group import ALONE, ProcessGroup
from induce.registry import DECODERS, READINGS, check_reading, find_task, fitting_decoder, load
from induce.storage.locking import RunLock
from induce.training.distributed import learn, own_state, whole_state
from induce.training.events import Check, Event, Finished, Halved, Progress, Scoring, Started
from induce.training.limits import ENDINGS, Limits, never
from induce.training.optimizer import EpochEnd, Unoptimized, make_optimizer
from induce.training.scoring import TextScore, score_text
from induce.training.seeding import random_state, restore_random_state, seed_everything
from treebank.errors import SynparseError, placed
from treebank.json_text import json_text

LEAST_WORDS = 20  # of training text
SAVE_SECONDS = 30.0  # between two writings of RUN/last
REPORT_STEPS = 20
SCORING_SECONDS = 1.0  # between two events while the development text is scored


@dataclass
class _Position:
    """Where a run stands; stored with ``last``."""

    epoch: int = 1
    step: int = 0
    start: int = 0  # where the next step of this epoch starts, in the loader's own count
    loss_sum: float = 0.0  # over the targets of this epoch
    count: int = 0  # these targets
    seconds: float = 0.0
    words: int = 0  # trained on so far
    best_loss: float = math.inf
    best_epoch: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)
    log_bytes: int = 0
    finished: str = ""  # why training is over, once the optimiser or the model has ended it


def check_fits(config: RunConfig) -> None:
    """Raises SynparseError where settings, model, reading and decoder do not fit together; before any text is read."""
    from induce.config import model_settings

    kind = kind_of(config)
    model_settings(kind.Config, config.model, config.model_name)
    check_reading(config.model_name, kind.reads, config.data.reading)
    if config.data.task:
        find_task(config.data.task).check(config)
    if kind.gives:
        fitting_decoder(config.model_name, kind.gives, config.parse.decoder)


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
        group: ProcessGroup = ALONE,
    ) -> None:
        """``training`` and ``development`` are a `Corpus` each, or `Examples` of a task.

        The processes of a ``group`` train one model; the first of them writes the folder and the log.
        """
        check_fits(config)
        self.config, self.run, self.device, self.group = config, run, device, group
        self.training, self.development, self.note = training, development, ""
        self._check_enough((facts or {}).get("texts", ()))
        if not development.words:
            self.development = training
            self.note = "too few sentences to set some aside: the training text serves as development text"
        self.facts = {**(facts or {}), "training": _about(training), "development": _about(self.development)}
        checkpoint = store.read(store.find(run, ("last",))) if resume else None
        self.rng = seed_everything(config.train.seed)
        data = config.data
        self.vocabulary = checkpoint.vocabulary if checkpoint else choose_vocabulary(training, data)
        self.model = self._build(checkpoint)
        choices = checkpoint.facts.get("products", ()) if checkpoint else ()
        self.products = Products(config.train.products, choices, measure=group.size == 1)
        use(self.products, self.model)
        self.optimizer: Any = Unoptimized()
        if isinstance(self.model, FittedModel):
            self.model.group = group
        else:
            self.optimizer = make_optimizer(list(self.model.parameters()), config.train)
        self.unknown_share = unknown_share(training.word_counts(), self.vocabulary)
        self.corpus = training.encode(self.vocabulary)
        self.loader = self._loader(self.corpus, config.train.batch_size)
        held_out = self.corpus if self.development is training else self.development.encode(self.vocabulary)
        self.held_out = self._loader(held_out, config.train.development_batch_size)
        self.position = _Position()
        self.state: Any = None
        self.parts = 1  # of a batch, the most so far
        self.resumed = checkpoint is not None
        self.lock: RunLock | None = None  # of the folder, given back after training
        self.limits = Limits()
        self.scored = True  # whether there was time to score the model of the last step
        self.scoring_seconds = 0.0  # that the development text took the last time
        if checkpoint:
            self._continue(checkpoint)

    def _check_enough(self, texts: Iterable[str]) -> None:
        """Raises SynparseError for too little text, and for trees if the model learns none or the other way round."""
        config, training = self.config, self.training
        if training.words < LEAST_WORDS:
            where = " ".join(texts) or "the training text"
            size = f"{training.words} {config.data.token}{'s' * (training.words != 1)}"
            raise SynparseError(
                f"{where}: {size} to learn from after normalisation "
                f"{config.data.normalization!r}; at least {LEAST_WORDS} are needed, and some 100,000 for useful trees"
            )
        with_trees = not config.data.task and bool(training.trees)
        if with_trees != entry_of(config).learns_trees:
            problem = "learns no trees" if with_trees else "learns from trees, and the training text has none"
            raise SynparseError(f"model {config.model_name!r} {problem}")

    def _build(self, checkpoint: store.Checkpoint | None) -> Model:
        try:
            return make_model(self.config, len(self.vocabulary)).to(self.device)
        except (TypeError, ValueError, SynparseError) as error:
            where = f"{checkpoint.folder}: " if checkpoint else ""
            raise SynparseError(f"{where}{error}") from None

    def _loader(self, corpus: Any, batch_size: int) -> Loader:
        kind = load(READINGS[self.config.data.reading].place)
        loader: Loader = kind(corpus, self.config.train, batch_size=batch_size, device=self.device)
        return loader

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

    def train(
        self,
        *,
        max_minutes: float | None = None,
        stop: Callable[[], bool] = never,
        hurry: Callable[[], bool] = never,
    ) -> Iterator[Event]:
        """Train to the end, yielding events; ``max_minutes`` are those of this call, scoring included.

        ``stop`` is asked after every step: what was learned is kept at once, and scored. ``hurry`` is asked while the
        development text is scored, too, and breaks that off.
        """
        deadline = math.inf if max_minutes is None else time.monotonic() + 60 * max_minutes
        self.limits = Limits(deadline, stop, hurry)
        try:
            yield from self._train()
        finally:
            if self.lock:
                self.lock.release()

    def _train(self) -> Iterator[Event]:
        began = time.monotonic()
        if not self.resumed:
            self.model.prepare(self.corpus)
            self.group.equalize(self.model)
            self.position.seconds = time.monotonic() - began
            self._save_last()  # a kill before the first step leaves something to go on from, too
        yield self._log(self._started())
        reason = self._over()
        while not reason:
            reason = yield from self._fit() if isinstance(self.model, FittedModel) else self._epoch()
        self._save_last()
        yield self._log(self._finished(reason))

    def _finished(self, reason: str) -> Finished:
        at, config = self.position, self.config
        best = at.best_epoch, _exp(at.best_loss), at.seconds, str(self.run), self._bits(at.best_loss)
        accuracy = next((check["development_accuracy"] for check in reversed(at.history) if check["best"]), None)
        gives = kind_of(config).gives
        decoder = fitting_decoder(config.model_name, gives, config.parse.decoder) if gives else ""
        return Finished(
            *(reason, at.epoch, at.step, *best),
            scored=self.scored,
            best_accuracy=accuracy,
            task=config.data.task,
            gives=DECODERS[decoder].gives if decoder else "",
            on_sample=not config.data.task and not self.facts.get("texts"),
        )

    def _started(self) -> Started:
        return Started(
            sentences=self.training.sentences,
            words=self.training.words,
            development_sentences=self.development.sentences,
            vocabulary=len(self.vocabulary),
            unknown_share=self.unknown_share,
            parameters=sum(parameter.numel() for parameter in self.model.parameters()),
            device=self.device if self.group.size == 1 else f"{self.device} ({self.group.size} processes)",
            resumed_at=self.position.step,
            note=self.note,
            token=self.config.data.token,
            task=self.config.data.task,
        )

    def _epoch(self) -> Generator[Event, None, str]:
        """Train to the end of the epoch and check. Returns why training ends, or ""."""
        at = self.position
        clock = _Clock(at)
        for step in self.loader.steps(self.rng, at.start, at.epoch):
            parts = self._learn(step)
            if parts > self.parts:
                self.parts = parts
                yield self._log(Halved(at.step, parts))
            at.seconds = clock.seconds()
            if at.step % REPORT_STEPS == 0:
                share = self.loader.share(at.start)
                yield self._log(self._progress(clock.speed(), share, at.epoch, self.config.train.epochs))
            self._expect_scoring(clock)
            reason, save = self._ended(clock)
            if reason:
                self._keep()
                yield from self._check(end_of_epoch=False)
                return reason
            if save:
                self._save_last()
        ended = yield from self._check(end_of_epoch=True)
        at.seconds = clock.seconds()
        if reason := self._unscored():
            return reason
        at.finished = "no more progress" if ended else ""
        self._next_epoch()
        self._save_last()
        return self._over() or self._ended()[0]

    def _fit(self) -> Generator[Event, None, str]:
        """Let a model that learns without gradients do so, to its end. Returns why training ends."""
        at, model = self.position, self.model
        assert isinstance(model, FittedModel)
        clock = _Clock(at)
        for step in model.fit(self.corpus, at.step):
            if not math.isfinite(step.nll):
                raise self._exploded("loss", step.done)
            at.step = step.done
            at.loss_sum += step.nll * step.count
            at.count += step.count
            at.words += self.training.words
            at.seconds = clock.seconds()
            yield self._log(self._progress(clock.speed(), step.done / step.total, 1, 1))
            self._expect_scoring(clock)
            reason, save = self._ended(clock)
            if reason:
                self._keep()
            if step.check or reason:
                yield from self._check(end_of_epoch=step.check)
                if step.check and self.scored:
                    self._next_epoch()
                reason = reason or self._unscored()
                self._save_last()
            if reason:
                return reason
            if save:
                self._save_last()
        if at.count or not at.best_epoch:
            yield from self._check(end_of_epoch=True)
        at.seconds = clock.seconds()
        if reason := self._unscored():
            return reason
        at.finished = "epochs"
        return at.finished

    def _expect_scoring(self, clock: _Clock) -> None:
        """Leave time for scoring the development text: as long as last time, at first at the speed of training."""
        self.limits.expect(self.scoring_seconds or self.development.words / max(clock.mean_speed(), 1e-9))

    def _ended(self, clock: _Clock | None = None) -> tuple[str, bool]:
        """Why training ends now, or "", and whether it is time to save; decided for all processes."""
        save = self.group.first and clock is not None and clock.time_to_save()
        ended, due = self.group.largest(ENDINGS.index(self.limits.ended()), save)
        return ENDINGS[int(ended)], bool(due)

    def _unscored(self) -> str:
        """Why training ends after a check for which there was no time, the model kept; else ""."""
        if self.scored:
            return ""
        self._keep()
        return self._ended()[0] or "time"

    def _keep(self) -> None:
        """Write the model at once, before it is scored: ``last``, and where no model was scored yet also ``best``."""
        self._save_last()
        if not self.position.best_epoch:
            with self.optimizer.averaged():
                self._store("best")

    def _next_epoch(self) -> None:
        at = self.position
        at.epoch, at.start, at.loss_sum, at.count, self.state = at.epoch + 1, 0, 0.0, 0, None

    def _over(self) -> str:
        """Why nothing is left to train, or ""; decided by what ``last`` holds, so that no kill adds an epoch."""
        at = self.position
        if at.finished:
            return at.finished
        return "epochs" if at.epoch > self.config.train.epochs and not isinstance(self.model, FittedModel) else ""

    def _learn(self, step: Step) -> int:
        """One update. Returns in how many parts the batch was taken."""
        at, config = self.position, self.config.train
        self.model.train()
        loss, parts = learn(self.group, self.model, step.batch, self.state, key=(config.seed, at.step))
        nll = float(loss.nll.detach())
        if not math.isfinite(nll):
            raise self._exploded("loss", at.step + 1)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), config.clip)
        self.optimizer.step(step.factor, step.rate)
        self.state = detach(loss.state) if step.batch.carries_state else None
        at.start = step.after
        at.step += 1
        at.loss_sum += nll * loss.count
        at.count += loss.count
        at.words += step.batch.token_count
        return parts

    def _exploded(self, what: str, step: int) -> SynparseError:
        """What to say, and to do, when weights grew beyond all numbers; nothing of that has been saved."""
        if isinstance(self.model, FittedModel):
            return SynparseError(f"the {what} is no longer a number at step {step}; the last model is kept")
        lower = f"--set train.learning_rate={self.config.train.learning_rate / 10:g}"
        return SynparseError(
            f"the {what} is no longer a number at step {step} (epoch {self.position.epoch}); "
            "lower train.learning_rate, and go on from the last saved state: "
            f"synparse train --resume -o {self.run} {lower}"
        )

    def _bits(self, loss: float) -> float | None:
        """Bits per character; None of masked ones, which are not the whole text."""
        data = self.config.data
        return None if data.reading == "masked" else bits(loss, data.token)

    def _check(self, *, end_of_epoch: bool) -> Generator[Event, None, bool]:
        """Score the development text; keep the model if it is the best so far. Returns whether training should end.

        Where there is no time for all of the text, `scored` is False and nothing has changed.
        """
        at = self.position
        with self.optimizer.averaged():
            score = yield from self._score()
            self.scored = score is not None
            if score is None:
                return False
            if math.isnan(score.loss):
                raise self._exploded("development loss", at.step)
            best = score.loss < at.best_loss or not at.best_epoch
            trained = at.loss_sum / max(1, at.count)
            losses = trained, _exp(trained), score.loss, _exp(score.loss)
            event = Check(at.epoch, at.step, *losses, best, "", at.seconds, self._bits(score.loss), score.accuracy)
            at.history.append(asdict(event))
            if best:
                at.best_loss, at.best_epoch = score.loss, at.epoch
                self._store("best")
        decision = self.optimizer.end_of_epoch(score.loss) if end_of_epoch else EpochEnd()
        yield self._log(replace(event, note=decision.note))
        stop: bool = decision.stop
        return stop

    def _score(self) -> Generator[Event, None, TextScore | None]:
        """The score of the development text, with a word each second; None where there is no time for it."""
        began = told = time.monotonic()
        tokens, scoring = 0, score_text(self.model, self.held_out.check(), self.group)
        while True:
            try:
                tokens += next(scoring)
            except StopIteration as end:
                self.scoring_seconds = time.monotonic() - began
                score: TextScore = end.value
                return score
            if any(self.group.largest(self.limits.overdue())):
                return None
            now = time.monotonic()
            if now - told > SCORING_SECONDS:
                told = now
                share = min(1.0, tokens / max(1, self.development.words))
                yield Scoring(share, (now - began) / max(share, 1e-9) * (1 - share))

    def _progress(self, speed: float, share: float, epoch: int, epochs: int) -> Progress:
        at = self.position
        done = epoch - 1 + share
        left = min(at.seconds / max(done, 1e-9) * (epochs - done), self.limits.left())
        loss = at.loss_sum / max(1, at.count)
        times = speed, at.seconds, max(0.0, left)
        return Progress(
            epoch, epochs, at.step, share, loss, _exp(loss), *times, self.config.data.token, self.config.data.task
        )

    def _log(self, event: Any) -> Any:
        """``event``, after it is appended to the run's log."""
        if not self.group.first:
            return event
        self.run.mkdir(parents=True, exist_ok=True)
        line = json_text({"event": type(event).__name__.lower(), **asdict(event)}) + "\n"
        with placed(self.run / "log.jsonl"), (self.run / "log.jsonl").open("ab") as log:
            log.write(line.encode("utf-8"))
            self.position.log_bytes = log.tell()
        return event

    def _pack(self, trainer: dict[str, Any] | None = None) -> dict[str, bytes]:
        at = self.position
        if not all(bool(value.isfinite().all()) for value in self.model.state_dict().values()):
            raise self._exploded("model", at.step)  # what could not be read again is not written
        facts = {
            **self.facts,
            "epoch": at.epoch,
            "step": at.step,
            "seconds": round(at.seconds, 1),
            "device": self.device,
            "threads": torch.get_num_threads(),
            **({"processes": self.group.size} if self.group.size > 1 else {}),
            "products": self.products.record(),
            "history": at.history,
        }
        return store.pack(self.model, self.config, self.vocabulary, facts, trainer)

    def _save_last(self) -> None:
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


class _Clock:
    """Times of one epoch: how long the run has taken, how fast it is, and when to save."""

    def __init__(self, at: _Position) -> None:
        self.at = at
        now = time.monotonic()
        self.began, self.saved = now - at.seconds, now
        self.since = self.start = (now, at.words)

    def seconds(self) -> float:
        """Of the whole run."""
        return time.monotonic() - self.began

    def speed(self) -> float:
        """Words a second since this was asked last."""
        now = (time.monotonic(), self.at.words)
        speed = (now[1] - self.since[1]) / max(now[0] - self.since[0], 1e-9)
        self.since = now
        return speed

    def mean_speed(self) -> float:
        """Words a second in this epoch, or since it was gone on with."""
        return (self.at.words - self.start[1]) / max(time.monotonic() - self.start[0], 1e-9)

    def time_to_save(self) -> bool:
        """Whether the last time is long ago; asking resets it."""
        now = time.monotonic()
        due = now - self.saved > SAVE_SECONDS
        if due:
            self.saved = now
        return due


def _about(text: Any) -> dict[str, Any]:
    """What a checkpoint says of a text."""
    return {"sentences": text.sentences, "words": text.words, "sha256": text.digest.hexdigest()}


def _exp(loss: float) -> float:
    """Perplexity; infinite where it is too large to write."""
    return math.exp(loss) if loss < 700 else math.inf
