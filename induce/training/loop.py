"""The training loop: a generator of events that the caller prints, logs or ignores."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy
import torch

from induce.data.batches import Batch
from induce.data.corpus import unknown_share
from induce.data.vocabulary import bits
from induce.decoding.specification import decoder_entry
from induce.layers.products import MKL, choose_library, multiplying
from induce.models.base import FittedModel, Model
from induce.settings.run import fitting_to
from induce.storage.checkpoint import Check
from induce.training.events import Event, Finished, Halved, Progress, Scoring, Started
from induce.training.learners import Accumulating, Position, not_finite
from induce.training.optimizer import EpochEnd
from induce.training.state import Run, log, save_best, save_last, save_unscored
from treebank.base.errors import NotANumberError

TOO_FEW = "too few sentences to set some aside: the training text serves as development text"
UNSCORED = "no word of the development text is scored, so the last model is kept; give another text with --dev"
SAVE_SECONDS = 30.0  # between two writings of the state to resume from
ENDINGS = ("", "time", "interrupted")  # reasons why a call ends, the strongest last
SCORING_SECONDS = 1.0  # between two events while the development text is scored


class Clock:
    """Clock of an epoch: seconds since the run began, words per second, and seconds since the last checkpoint."""

    def __init__(self, at: Position) -> None:
        self.at = at
        now = time.monotonic()
        self.began, self.saved = now - at.seconds, now
        self.reported = self.start = (now, at.words)

    def seconds(self) -> float:
        """Seconds of the whole run."""
        return time.monotonic() - self.began

    def speed(self) -> float:
        """Words per second since the last call."""
        now = (time.monotonic(), self.at.words)
        speed = (now[1] - self.reported[1]) / max(now[0] - self.reported[0], 1e-9)
        self.reported = now
        return speed

    def mean_speed(self) -> float:
        """Words per second since the beginning of the epoch, or since the run was resumed."""
        return (self.at.words - self.start[1]) / max(time.monotonic() - self.start[0], 1e-9)

    def time_to_save(self, interval: float) -> bool:
        """Whether the last time to save is more than ``interval`` seconds ago. If so, it is now."""
        now = time.monotonic()
        due = now - self.saved > interval
        if due:
            self.saved = now
        return due


def never() -> bool:
    """Stop callback that never requests a stop."""
    return False


@dataclass
class Limits:
    """Limits of one call of training.

    ``deadline`` is a time of ``time.monotonic``. ``stop`` returns whether to end training and score the model,
    ``hurry`` whether to abort the scoring, too. ``reserve`` is the time in seconds that scoring will
    take: training ends earlier by so much, unless it is more than half of the whole time.
    """

    deadline: float = math.inf
    stop: Callable[[], bool] = never
    hurry: Callable[[], bool] = never
    reserve: float = 0.0
    began: float = field(default_factory=time.monotonic)

    def ended(self) -> str:
        """The reason why training ends now, or ""."""
        if self.stop() or self.hurry():
            return "interrupted"
        return "time" if self.left() <= 0 else ""

    def overdue(self) -> bool:
        """Whether scoring must be aborted, too."""
        return self.hurry() or time.monotonic() > self.deadline

    def left(self) -> float:
        """Remaining seconds of training, infinite without a deadline."""
        return self.deadline - self.reserve - time.monotonic()

    def expect(self, seconds: float) -> None:
        """Reserve the ``seconds`` that scoring will take."""
        self.reserve = seconds if seconds < (self.deadline - self.began) / 2 else 0.0


class Trainer:
    """Train a prepared run, event by event."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.limits = Limits()
        self.scored = True  # whether there was time to score the model of the last step
        self.scoring_seconds = 0.0  # of the last check

    def train(
        self, *, max_minutes: float | None = None, stop: Callable[[], bool] = never, hurry: Callable[[], bool] = never
    ) -> Iterator[Event]:
        """Train to the end, yielding events. ``max_minutes`` limits this call, scoring included.

        ``stop`` is called after every step; if it returns true, the model is stored at once and then scored. ``hurry``
        is also called during scoring, and aborts it.
        """
        run, deadline = self.run, math.inf if max_minutes is None else time.monotonic() + 60 * max_minutes
        self.limits = Limits(deadline, stop, hurry)
        try:
            if not run.resumed:
                began = time.monotonic()
                run.learner.prepare(run.corpus)
                run.group.equalize(run.model)
                run.matrix_library = choose_matrix_library(run)
                run.position.seconds = time.monotonic() - began
                save_last(run)  # a run that is killed before the first step can be resumed
            yield log(run, self._started())
            reason = self._over() or (yield from self._learn())
            save_last(run)
            yield log(run, self._finished(reason))
        finally:
            if run.lock:
                run.lock.release()

    def _learn(self) -> Generator[Event, None, str]:
        """Train until nothing is left to learn, or until the time is up. Returns the reason why training ends."""
        run, at = self.run, self.run.position
        clock, parts = Clock(at), 1
        updates = run.learner.updates(at)
        while True:
            with multiplying(run.matrix_library):
                update = next(updates, None)
            if update is None:
                at.finished = "epochs"
                return at.finished
            at.seconds = clock.seconds()
            if run.strategy.parts > parts:
                parts = run.strategy.parts
                yield log(run, Halved(at.step, parts))
            if update.report:
                yield log(run, self._progress(clock.speed(), update.share))
            # scoring takes as long as the last time, at first as training on so many words
            estimate = run.development.words / max(clock.mean_speed(), 1e-9)
            self.limits.expect(self.scoring_seconds or estimate)
            reason, save = self._ended(clock)
            if reason:
                save_unscored(run)
            if update.ends_epoch or reason:
                decision = yield from self._check(end_of_epoch=update.ends_epoch)
                at.seconds = clock.seconds()
                if update.ends_epoch and self.scored:
                    at.finished = "no more progress" if decision.stop else ""
                    at.next_epoch()
                reason = (update.ends_epoch and self._over()) or reason
                if not reason and not self.scored:
                    save_unscored(run)
                    reason = self._ended()[0] or "time"
                save_last(run)
                clock = Clock(at)
            elif save:
                save_last(run)
            if reason:
                return reason

    def _ended(self, clock: Clock | None = None) -> tuple[str, bool]:
        """The reason why training ends now, or "", and whether it is time to save, equal in all processes."""
        group = self.run.group
        save = group.first and clock is not None and clock.time_to_save(SAVE_SECONDS)
        ended, due = group.largest(ENDINGS.index(self.limits.ended()), save)
        return ENDINGS[int(ended)], bool(due)

    def _over(self) -> str:
        """The reason why nothing is left to train, or "". It follows from the stored position alone."""
        at = self.run.position
        return at.finished or ("epochs" if self.run.learner.is_done(at) else "")

    def _check(self, *, end_of_epoch: bool) -> Generator[Event, None, EpochEnd]:
        """Score the development text, and store the model if it is the best so far.

        Returns the decision of the optimizer. Without enough time, `scored` is false and nothing has changed.
        """
        run, at = self.run, self.run.position
        with run.learner.optimizer.averaged():
            score = yield from self._score()
            self.scored = score is not None
            if score is None:
                return EpochEnd()
            event = Check(
                epoch=at.epoch,
                step=at.step,
                loss=at.mean_loss,
                perplexity=_exp(at.mean_loss),
                development_loss=score.loss,
                development_perplexity=_exp(score.loss),
                best=score.loss < at.best_loss or not at.best_epoch or math.isinf(score.loss),
                seconds=at.seconds,
                development_bits=self._bits(score.loss),
                development_accuracy=score.accuracy,
                measure=run.model.measure,
            )
            at.history += (event,)
            if event.best:
                at.best_loss, at.best_epoch = score.loss, at.epoch
                save_best(run)
        decision = run.learner.optimizer.end_of_epoch(score.loss) if end_of_epoch else EpochEnd()
        yield log(run, replace(event, note=UNSCORED if math.isinf(score.loss) else decision.note))
        return decision

    def _score(self) -> Generator[Event, None, TextScore | None]:
        """The score of the development text, with one event per second, or None without enough time."""
        run = self.run
        began = reported = time.monotonic()
        tokens, scoring = 0, score_text(run.model, run.held_out.check(), run.config.train.precision)
        while True:
            try:
                with multiplying(run.matrix_library):
                    tokens += next(scoring)
            except StopIteration as end:
                self.scoring_seconds = time.monotonic() - began
                return end.value
            except NotANumberError:
                step = run.position.step
                raise not_finite("development loss", step, run.learner.remedy(step)) from None
            if any(run.group.largest(self.limits.overdue())):
                return None
            now = time.monotonic()
            if now - reported > SCORING_SECONDS:
                reported = now
                share = min(1.0, tokens / max(1, run.development.words))
                yield Scoring(share, (now - began) / max(share, 1e-9) * (1 - share))

    def _started(self) -> Started:
        run = self.run
        return Started(
            sentences=run.training.sentences,
            words=run.training.words,
            development_sentences=run.development.sentences,
            vocabulary=len(run.vocabulary),
            unknown_share=unknown_share(run.training.word_counts(), run.vocabulary),
            parameters=sum(parameter.numel() for parameter in run.model.parameters()),
            device=run.device if run.group.size == 1 else f"{run.device} ({run.group.size} processes)",
            resumed_at=run.position.step,
            note=TOO_FEW if run.development is run.training else "",
            token=run.config.data.token,
            purpose=run.config.purpose_name,
        )

    def _progress(self, speed: float, share: float) -> Progress:
        at, data, epochs = self.run.position, self.run.config.data, self.run.learner.epochs
        done = at.epoch - 1 + share if epochs > 1 else share
        left = min(at.seconds / max(done, 1e-9) * (epochs - done), self.limits.left())
        return Progress(
            epoch=at.epoch if epochs > 1 else 1,
            epochs=epochs,
            step=at.step,
            share=share,
            loss=at.mean_loss,
            perplexity=_exp(at.mean_loss),
            words_per_second=speed,
            seconds=at.seconds,
            seconds_left=max(0.0, left),
            token=data.token,
            purpose=self.run.config.purpose_name,
            measure=self.run.model.measure,
        )

    def _finished(self, reason: str) -> Finished:
        run, at = self.run, self.run.position
        accuracy = next((check.development_accuracy for check in reversed(at.history) if check.best), None)
        decoder = fitting_to(run.config, run.facts.direction)
        return Finished(
            reason=reason,
            epoch=at.epoch,
            step=at.step,
            best_epoch=at.best_epoch,
            best_perplexity=_exp(at.best_loss),
            seconds=at.seconds,
            run=str(run.folder),
            best_bits=self._bits(at.best_loss),
            scored=self.scored,
            best_accuracy=accuracy,
            purpose=run.config.purpose_name,
            gives=decoder_entry(decoder).gives if decoder else "",
            decoder=decoder,
            direction=run.facts.direction if decoder and run.config.parse.branching == "text" else None,
            measure=run.model.measure,
            on_sample=not run.facts.sources,
        )

    def _bits(self, loss: float) -> float | None:
        """Bits per character, or None for masked characters, which are not the complete text."""
        config = self.run.config
        return None if config.loader_name == "masked" else bits(loss, config.data.token)


def choose_matrix_library(run: Run) -> str:
    """The library of the setting ``train.products``, by default that of the rule, tried on the first batch.

    Several processes use MKL, so that all of them agree.
    """
    choice = run.config.train.products
    if choice != "auto":
        return choice
    if run.device != "cpu" or run.group.size > 1 or isinstance(run.model, FittedModel):
        return MKL

    def compute_gradient() -> None:
        """Compute the gradient of the first batch, and restore random numbers, buffers and gradients."""
        buffers = [(buffer, buffer.clone()) for buffer in run.model.buffers()]
        rng = numpy.random.RandomState(run.config.train.seed)
        with torch.random.fork_rng([]):
            run.model.train()
            run.strategy.step(run.model, next(iter(run.loader.steps(rng, 0, 1))).batch)
        run.model.zero_grad(set_to_none=True)
        for buffer, value in buffers:
            buffer.copy_(value)

    return choose_library(compute_gradient)


def _exp(loss: float) -> float:
    """Perplexity. Infinite if it is too large to write."""
    return math.exp(loss) if loss < 700 else math.inf


class TextScore(NamedTuple):
    """Mean negative log-likelihood in nats per target, infinite without any, and the accuracy if items have labels."""

    loss: float
    accuracy: float | None


def score_text(model: Model, batches: Iterable[Batch], precision: str = "float32") -> Generator[int, None, TextScore]:
    """The score of ``batches``. Yields the number of tokens after each batch. Raises NotANumberError if it is NaN."""
    nats, scored, corrects, state = 0.0, 0, list[int](), None
    strategy = Accumulating(precision)
    model.eval()
    for batch in batches:
        with torch.no_grad():  # not around the yield, where the caller computes
            loss = strategy.step(model, batch, state)
        state = loss.state if batch.carries_state else None
        if loss.count:  # the loss of no item is undefined
            nats, scored = nats + float(loss.nll) * loss.count, scored + loss.count
        corrects += [] if loss.correct is None else [loss.correct]
        yield batch.token_count
    if math.isnan(nats):
        raise NotANumberError
    return TextScore(nats / scored if scored else math.inf, sum(corrects) / max(1, scored) if corrects else None)
