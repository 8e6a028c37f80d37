"""Events of a training, in the order in which they happen."""

from __future__ import annotations

from dataclasses import dataclass

from induce.decoding.branching_direction import Direction
from induce.storage.checkpoint import Check


@dataclass(frozen=True)
class Started:
    """Event before the first step."""

    sentences: int
    words: int  # or characters: tokens, as ``token`` says
    development_sentences: int
    vocabulary: int
    unknown_share: float  # of the running training words
    parameters: int
    device: str
    resumed_at: int  # step, 0 for a fresh run
    note: str = ""
    token: str = "word"
    purpose: str = ""  # of the model, whose examples the sentences are, if it is not parsing


@dataclass(frozen=True)
class Progress:
    """Event every few steps. The loss is the mean of the epoch so far in nats per token, ends of sentences included."""

    epoch: int
    epochs: int
    step: int
    share: float  # of the epoch
    loss: float
    perplexity: float
    words_per_second: float
    seconds: float
    seconds_left: float
    token: str = "word"
    purpose: str = ""
    measure: str = "perplexity"  # or the name of the loss, if it is not a log-likelihood


@dataclass(frozen=True)
class Halved:
    """Event after memory ran out and a batch was divided into more parts than any earlier one."""

    step: int
    parts: int


@dataclass(frozen=True)
class Scoring:
    """Event while the development text is scored, if that takes long. It is not logged."""

    share: float  # of the text
    seconds_left: float


@dataclass(frozen=True)
class Finished:
    """Event after the last step."""

    reason: str  # "epochs", "no more progress", "time", "interrupted"
    epoch: int
    step: int
    best_epoch: int
    best_perplexity: float
    seconds: float
    run: str
    best_bits: float | None = None
    scored: bool = True  # False where there was no time to score the model of the last step
    best_accuracy: float | None = None  # if items have labels
    purpose: str = ""
    gives: str = ""  # what the model parses into: "trees", "heads", or nothing
    decoder: str = ""  # by which it does
    direction: Direction | None = None  # of the text, if priors and the default decoder depend on it
    on_sample: bool = False  # whether it learned from the built-in sample, or from generated examples
    measure: str = "perplexity"  # as in `Progress`


@dataclass(frozen=True)
class PartProgress:
    """Event of a program that trains several models, while it trains one of its parts."""

    part: int  # from 1
    parts: int
    does: str  # what the models of the part do
    share: float  # of the work of all parts
    minutes: float  # since the program began
    minutes_left: float  # estimated


Event = PartProgress | Started | Progress | Halved | Scoring | Check | Finished
