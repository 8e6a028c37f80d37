"""A run small enough for a test: a few hundred sentences of a toy language, a model of a few thousand weights."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from induce.batching import Corpus, read_corpora
from induce.config import RunConfig, resolve
from induce.training.loop import Event, Trainer
from treebank.sentence import Sentence

SETTINGS = {
    "onlstm": [
        "model.embedding_size=16",
        "model.layers=2",
        "model.hidden_size=24",
        "model.chunk_size=4",
        "train.batch_size=4",
        "train.learning_rate=0.01",
        "train.segment_length=8",
        "train.epochs=3",
        "data.minimum_count=1",
    ],
    "udgn": [
        "model.embedding_size=16",
        "model.channels=2",
        "model.channel_size=8",
        "model.layers=2",
        "model.parser_layers=1",
        "train.batch_words=64",
        "train.learning_rate=0.01",
        "train.epochs=3",
        "data.minimum_count=1",
    ],
    "ordered-memory": [
        "model.slot_size=16",
        "model.slots=3",
        "train.batch_size=8",
        "train.learning_rate=0.01",
        "train.segment_length=8",
        "train.epochs=3",
        "data.minimum_count=1",
    ],
    "prpn": [
        "model.embedding_size=16",
        "model.hidden_size=24",
        "model.slots=5",
        "model.lookback=2",
        "train.batch_size=8",
        "train.learning_rate=0.01",
        "train.segment_length=8",
        "train.epochs=3",
        "data.minimum_count=1",
    ],
}


def settings(model: str, *more: str) -> RunConfig:
    """Settings of a tiny run of ``model``."""
    return resolve(model=model, settings=[*SETTINGS[model], *more])


def sentences(count: int = 200, seed: int = 1) -> list[Sentence]:
    """Sentences such as ``the big dog saw a cat .``"""
    draw = random.Random(seed)
    found = []
    for _ in range(count):
        noun, verb = draw.choice(["dog", "cat", "man", "girl"]), draw.choice(["saw", "met", "heard"])
        words = ["The", noun, verb, draw.choice(["a", "the"]), draw.choice(["dog", "cat", "12", "man"]), "."]
        if draw.random() < 0.5:
            words.insert(1, draw.choice(["big", "old", "red"]))
        found.append(Sentence(tuple(words)))
    return found


def corpora(config: RunConfig, count: int = 200) -> tuple[Corpus, Corpus]:
    """Training and development text."""
    share = config.data.development_share
    return read_corpora(sentences(count), config.data.normalization, development_share=share)


def trainer(config: RunConfig, run: Path, **options: Any) -> Trainer:
    """A trainer on the toy text."""
    return Trainer(config, *corpora(config), run, device="cpu", **options)


def train(config: RunConfig, run: Path, **options: Any) -> list[Event]:
    """All events of a whole run."""
    events: Iterator[Event] = trainer(config, run).train(**options)
    return list(events)
