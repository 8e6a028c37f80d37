"""The training loop: a generator of events that a caller shows, logs or ignores.

Models that learn without gradients go through the same events, checks and checkpoints (`Trainer._fit`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy
import torch

from induce.config import RunConfig, kind_of
from induce.data.batches import Batch
from induce.data.corpus import unknown_share
from induce.data.loaders import Loader, Step
from induce.data.tokens import bits
from induce.data.vocabulary_choice import choose_vocabulary, encode, joining_of
from induce.decoding.branching_direction import Edges, assumed_branching, edges_of
from induce.layers.matrix_library import multiplying
from induce.models.base import FittedModel, detach
from induce.registry import READINGS, decoder_entry, fitting_decoder, load
from induce.storage import checkpoint as store
from induce.storage.lock import RunLock
from induce.structures import Distances
from induce.training.compatibility import check_enough, check_fits
from induce.training.distributed import learn
from induce.training.events import Check, Event, Finished, Halved, Progress, Scoring, Started
from induce.training.optimizer import EpochEnd
from induce.training.position import Clock
from induce.training.process_group import ALONE, ProcessGroup
from induce.training.scoring import TextScore, score_text
from induce.training.state import RunState
from induce.training.time_limit import ENDINGS, Limits, never

SAVE_SECONDS = 30.0  # between two writings of RUN/last
REPORT_STEPS = 20
SCORING_SECONDS = 1.0  # between two events while the development text is scored


class Trainer(RunState):
    """One run and its data."""

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
        facts = facts or {}
        check_enough(config, training, facts.get("texts", ()))
        self.training, self.development, self.note = training, development, ""
        if not development.words:
            self.development = training
            self.note = "too few sentences to set some aside: the training text serves as development text"
        facts = {**facts, "training": _about(training), "development": _about(self.development)}
        checkpoint = store.read(store.find(run, ("last",))) if resume else None
        joining = checkpoint.facts.get("joining", []) if checkpoint else joining_of(training, config.data)
        facts |= {"joining": joining} if joining else {}
        vocabulary = checkpoint.vocabulary if checkpoint else choose_vocabulary(training, config.data)
        super().__init__(
            config, run, device=device, facts=facts, vocabulary=vocabulary, checkpoint=checkpoint, group=group
        )
        self.unknown_share = unknown_share(training.word_counts(), vocabulary)
        self.corpus = encode(training, vocabulary, joining)
        if not config.data.task:
            self.facts |= edges_of(self.corpus).fact()
        self.loader = self._loader(self.corpus, config.train.batch_size)
        held_out = self.corpus if self.development is training else encode(self.development, vocabulary, joining)
        self.held_out = self._loader(held_out, config.train.development_batch_size)
        self.parts = 1  # of a batch, the most so far
        self.resumed = checkpoint is not None
        self.lock: RunLock | None = None  # of the folder, given back after training
        self.limits = Limits()
        self.scored = True  # whether there was time to score the model of the last step
        self.scoring_seconds = 0.0  # that the development text took the last time
        if checkpoint:
            self.take_up(checkpoint)

    def _loader(self, corpus: Any, batch_size: int) -> Loader:
        kind = load(READINGS[self.config.data.reading].place)
        loader: Loader = kind(corpus, self.config.train, batch_size=batch_size, device=self.device)
        return loader

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
            self.choose_matrix_library(self._first_batch)
            self.position.seconds = time.monotonic() - began
            self.save_last()  # a kill before the first step leaves something to go on from, too
        yield self.log(self._started())
        reason = self._over()
        while not reason:
            reason = yield from self._fit() if isinstance(self.model, FittedModel) else self._epoch()
        self.save_last()
        yield self.log(self._finished(reason))

    def _first_batch(self) -> Batch:
        """The first batch that training will use, drawn without advancing the run's random numbers."""
        rng = numpy.random.RandomState(self.config.train.seed)
        return next(iter(self.loader.steps(rng, 0, 1))).batch

    def _finished(self, reason: str) -> Finished:
        at, config = self.position, self.config
        best = at.best_epoch, _exp(at.best_loss), at.seconds, str(self.run), self._bits(at.best_loss)
        accuracy = next((check["development_accuracy"] for check in reversed(at.history) if check["best"]), None)
        gives = kind_of(config).gives
        edges, name = Edges.in_facts(self.facts), config.parse.decoder
        branching = assumed_branching(config.parse.branching, edges)
        right = branching.branches_right
        decoder = fitting_decoder(config.model_name, gives, name, branches_right=right) if gives else ""
        is_estimated = config.parse.branching == "text" and gives[:1] == (Distances,) and not name
        return Finished(
            *(reason, at.epoch, at.step, *best),
            scored=self.scored,
            best_accuracy=accuracy,
            task=config.data.task,
            gives=decoder_entry(decoder).gives if decoder else "",
            decoder=decoder,
            branching=f"decoder {decoder}: {edges}" if is_estimated else "",
            measure=self.model.measure,
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
        clock = Clock(at)
        for step in self.loader.steps(self.rng, at.start, at.epoch):
            parts = self._learn(step)
            if parts > self.parts:
                self.parts = parts
                yield self.log(Halved(at.step, parts))
            at.seconds = clock.seconds()
            if at.step % REPORT_STEPS == 0:
                share = self.loader.share(at.start)
                yield self.log(self._progress(clock.speed(), share, at.epoch, self.config.train.epochs))
            self._expect_scoring(clock)
            reason, save = self._ended(clock)
            if reason:
                self.keep()
                yield from self._check(end_of_epoch=False)
                return reason
            if save:
                self.save_last()
        ended = yield from self._check(end_of_epoch=True)
        at.seconds = clock.seconds()
        if reason := self._unscored():
            return reason
        at.finished = "no more progress" if ended else ""
        self._next_epoch()
        self.save_last()
        return self._over() or self._ended()[0]

    def _fit(self) -> Generator[Event, None, str]:
        """Let a model that learns without gradients do so, to its end. Returns why training ends."""
        at, model = self.position, self.model
        assert isinstance(model, FittedModel)
        clock = Clock(at)
        for step in model.fit(self.corpus, at.step):
            if not math.isfinite(step.nll):
                raise self.exploded("loss", step.done)
            at.step = step.done
            at.loss_sum += step.nll * step.count
            at.count += step.count
            at.words += self.training.words
            at.seconds = clock.seconds()
            yield self.log(
                self._progress(clock.speed(), step.done / step.total if step.share is None else step.share, 1, 1)
            )
            self._expect_scoring(clock)
            reason, save = self._ended(clock)
            if reason:
                self.keep()
            if step.check or reason:
                yield from self._check(end_of_epoch=step.check)
                if step.check and self.scored:
                    self._next_epoch()
                reason = reason or self._unscored()
                self.save_last()
            if reason:
                return reason
            if save:
                self.save_last()
        if at.count or not at.best_epoch:
            yield from self._check(end_of_epoch=True)
        at.seconds = clock.seconds()
        if reason := self._unscored():
            return reason
        at.finished = "epochs"
        return at.finished

    def _expect_scoring(self, clock: Clock) -> None:
        """Leave time for scoring the development text: as long as last time, at first at the speed of training."""
        self.limits.expect(self.scoring_seconds or self.development.words / max(clock.mean_speed(), 1e-9))

    def _ended(self, clock: Clock | None = None) -> tuple[str, bool]:
        """Why training ends now, or "", and whether it is time to save; decided for all processes."""
        save = self.group.first and clock is not None and clock.time_to_save(SAVE_SECONDS)
        ended, due = self.group.largest(ENDINGS.index(self.limits.ended()), save)
        return ENDINGS[int(ended)], bool(due)

    def _unscored(self) -> str:
        """Why training ends after a check for which there was no time, the model kept; else ""."""
        if self.scored:
            return ""
        self.keep()
        return self._ended()[0] or "time"

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
        with multiplying(self.matrix_library):
            loss, parts = learn(self.group, self.model, step.batch, self.state, key=(config.seed, at.step))
        nll = float(loss.nll.detach())
        if not math.isfinite(nll):
            raise self.exploded("loss", at.step + 1)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), config.clip)
        self.optimizer.step(step.factor, step.rate)
        self.state = detach(loss.state) if step.batch.carries_state else None
        at.start = step.after
        at.step += 1
        at.loss_sum += nll * loss.count
        at.count += loss.count
        at.words += step.batch.token_count
        return parts

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
                raise self.exploded("development loss", at.step)
            best = score.loss < at.best_loss or not at.best_epoch
            trained = at.loss_sum / max(1, at.count)
            losses = trained, _exp(trained), score.loss, _exp(score.loss)
            told = self._bits(score.loss), score.accuracy, self.model.measure
            event = Check(at.epoch, at.step, *losses, best, "", at.seconds, *told)
            at.history.append(asdict(event))
            if best:
                at.best_loss, at.best_epoch = score.loss, at.epoch
                self.save_best()
        decision = self.optimizer.end_of_epoch(score.loss) if end_of_epoch else EpochEnd()
        yield self.log(replace(event, note=decision.note))
        stop: bool = decision.stop
        return stop

    def _score(self) -> Generator[Event, None, TextScore | None]:
        """The score of the development text, with a word each second; None where there is no time for it."""
        began = told = time.monotonic()
        tokens, scoring = 0, score_text(self.model, self.held_out.check(), self.group)
        while True:
            try:
                with multiplying(self.matrix_library):
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
            *(epoch, epochs, at.step, share, loss, _exp(loss), *times, self.config.data.token, self.config.data.task),
            measure=self.model.measure,
        )


def _about(text: Any) -> dict[str, Any]:
    """What a checkpoint says of a text."""
    return {"sentences": text.sentences, "words": text.words, "sha256": text.digest.hexdigest()}


def _exp(loss: float) -> float:
    """Perplexity; infinite where it is too large to write."""
    return math.exp(loss) if loss < 700 else math.inf
