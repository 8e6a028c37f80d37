"""The facts about a training run that its checkpoints store next to the settings."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from induce.decoding.branching_direction import Direction
from treebank.corpora.sample import SAMPLE


@dataclass(frozen=True, kw_only=True)
class TextFacts:
    """Size and digest of a training or development text, as the model reads it."""

    sentences: int
    words: int
    sha256: str


NO_TEXT = TextFacts(sentences=0, words=0, sha256="")


@dataclass(frozen=True, kw_only=True)
class TreesFacts:
    """The treebank or the parsed text whose trees a model learned from."""

    name: str
    note: str = ""
    kind: str  # "gold", "random", "parsed" …
    sentences: int


@dataclass(frozen=True)
class Check:
    """One evaluation on the development text, which has no gold trees. Losses are in nats per token."""

    epoch: int
    step: int
    loss: float = math.inf
    perplexity: float = math.inf
    development_loss: float = math.inf
    development_perplexity: float = math.inf
    best: bool = False
    note: str = ""
    seconds: float = 0.0
    development_bits: float | None = None  # per character, for models of characters
    development_accuracy: float | None = None  # for tasks
    measure: str = "perplexity"


@dataclass(frozen=True, kw_only=True)
class RecipeFacts:
    """The recipe whose result a model is: its seed, the names of its trained models, and whether it ended."""

    name: str
    seed: int
    models: tuple[str, ...] = ()
    finished: bool = False
    minutes: float = 0.0  # wall-clock time of all models


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """The facts about a training run: its data, how far it is, and where it was computed."""

    texts: tuple[str, ...] = ()  # paths; empty for the built-in sample, and for a treebank alone
    development_texts: tuple[str, ...] = ()
    paragraphs: bool = False
    form: str = ""  # input format, if it was given
    encoding: str = ""
    trees: TreesFacts | None = None
    teachers: tuple[str, ...] = ()  # models and files that the model was distilled from
    annotation: str = ""  # type of the teachers' output, such as "parsed trees"
    training: TextFacts = NO_TEXT
    development: TextFacts = NO_TEXT
    joining: tuple[str, ...] = ()  # punctuation marks that join words
    direction: Direction | None = None  # branching direction of the training text
    health: dict[str, Any] = field(default_factory=dict)
    epoch: int = 0
    step: int = -1  # 0 before the first step, -1 if unknown
    finished: str = ""  # the reason why training is over, in the state to resume from; "" if it can continue
    seconds: float = 0.0
    device: str = ""
    threads: int = 0
    processes: int = 1
    matrix_library: str = ""  # library that multiplied matrices
    history: tuple[Check, ...] = ()
    task_facts: dict[str, Any] = field(default_factory=dict)  # of a task with a training program of its own
    recipe: RecipeFacts | None = None  # that the model is the result of
    confidence: tuple[tuple[float, float], ...] = ()  # score of a phrase -> confidence in it, rising

    @property
    def sources(self) -> tuple[str, ...]:
        """Texts, or else the treebank, whose words the model learned from. Empty for the built-in sample."""
        treebank = self.trees and self.trees.name
        return self.texts or ((treebank,) if treebank and treebank != SAMPLE else ())

    @property
    def learned_from(self) -> str:
        """The trees that the model learned from or was distilled from, or "" if it has seen text alone."""
        if self.recipe:
            return f"{self.annotation}: recipe {self.recipe.name} (teacher)" if self.annotation else ""
        if self.teachers:
            return f"{self.annotation}: {', '.join(self.teachers)} (teacher)"
        if not self.trees:
            return ""
        return f"{self.trees.kind} trees: {self.trees.name}" + (f" ({self.trees.note})" if self.trees.note else "")
