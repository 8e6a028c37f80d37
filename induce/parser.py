"""From plain words to trees: a checkpoint, a decoder, and sentences in and out in the same order."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from induce import registry
from induce.batching import pad, sentence_batches
from induce.checkpoint import Checkpoint, build_model, find, read
from treebank.dependency import Heads
from treebank.errors import SynparseError
from treebank.normalize import RECIPES, Normalized, restore, restore_heads
from treebank.sentence import Sentence
from treebank.tree import Tree

FIRST_BLOCK, LARGEST_BLOCK = 16, 2048  # sentences read before the first trees come out, and at most at a time


@dataclass(frozen=True)
class Reading:
    """What a model says of one sentence: the words, the indices of those it saw, and a number for each of these."""

    words: Sequence[str]
    kept: Sequence[int]
    distances: Sequence[float]


@dataclass(frozen=True)
class HeadReading:
    """The same from a model that gives heads: a row for each word that it saw, how probable each is as its head."""

    words: Sequence[str]
    kept: Sequence[int]
    heads: Any  # (K, K), an array or lists


@dataclass(frozen=True)
class StackReading:
    """The same from a model that keeps a stack: the number of a slot for each word that it saw."""

    words: Sequence[str]
    kept: Sequence[int]
    stack: Sequence[int]


AnyReading = Reading | HeadReading | StackReading
READINGS: dict[str, Any] = {"distances": Reading, "heads": HeadReading, "stack": StackReading}


class Parser:
    """A trained model with a decoder. ``name`` says which model it is in a score line."""

    def __init__(self, checkpoint: Checkpoint, *, device: str, decoder: str | None, layer: int | None) -> None:
        config = checkpoint.config
        self.checkpoint, self.device = checkpoint, device
        self.name = config.model_name
        self.decoder = decoder or config.parse.decoder
        self.layer = layer if layer is not None else config.parse.layer
        kind = registry.kind_of(config)
        registry.check_pairing(config.model_name, kind.gives, self.decoder)
        layers = config.model.get("layers", 1)
        if not 1 <= self.layer <= layers:
            found = f"this {config.model_name!r} has layers 1 to {layers}"
            raise SynparseError(f"{checkpoint.folder}: there is no layer {self.layer}; {found}")
        self.recipe = RECIPES[config.data.normalization]
        self.structure = registry.structure_of(self.decoder)  # "distances", "heads" or "stack"
        self.decode = registry.decoder(self.decoder)
        self.model: Any = build_model(checkpoint).to(device)
        self._pool: ThreadPoolExecutor | None = None  # kept: threads that come and go leave memory behind

    def parse(self, sentences: Iterable[Sequence[str] | Sentence]) -> Iterator[Tree]:
        """One tree over all the words of each sentence, in order; an empty sentence gives an empty tree.

        Of a `Sentence` the words are read, and by the recipe `ptb` the tags, to tell words from punctuation.
        Raises SynparseError if the decoder gives heads.
        """
        self.needs_trees("parse_heads")
        return (tree_of(one, self.decode) for one in self.read(sentences) if not isinstance(one, HeadReading))

    def parse_heads(
        self, sentences: Iterable[Sequence[str] | Sentence]
    ) -> Iterator[tuple[Sequence[str], Sequence[int]]]:
        """The words and their heads, in order, as ``parse`` does. Raises SynparseError if the decoder gives trees."""
        self.needs("heads", "parse")
        for reading in self.read(sentences):
            if isinstance(reading, HeadReading):
                yield reading.words, heads_of(reading, self.decode)

    def needs(self, structure: str, instead: str) -> None:
        """Raises SynparseError, naming what to do ``instead``, if the decoder does not read ``structure``."""
        if self.structure != structure:
            problem = f"the decoder {self.decoder!r} reads {self.structure}, not {structure}"
            raise SynparseError(f"model {self.name!r}: {problem} (try {instead})")

    def needs_trees(self, instead: str) -> None:
        """Raises SynparseError, naming what to do ``instead``, if the decoder gives heads."""
        if self.structure == "heads":
            self.needs("distances", instead)

    def read(self, sentences: Iterable[Sequence[str] | Sentence]) -> Iterator[AnyReading]:
        """What the model says of each sentence, in order. They are taken in blocks that grow: output starts early."""
        source = iter(sentences)
        size = FIRST_BLOCK
        problem = None
        while not problem:
            block, problem = _take(source, size)
            if not block and not problem:
                return
            yield from self._read_block(block)
            size = min(8 * size, LARGEST_BLOCK)
        raise problem

    def _read_block(self, given: Sequence[Sequence[str] | Sentence]) -> list[AnyReading]:
        block = [one if isinstance(one, Sentence) else Sentence(tuple(one)) for one in given]
        seen: list[Normalized] = [self.recipe(one.words, one.tags) for one in block]
        ids = [self.checkpoint.vocabulary.encode(sentence.forms) for sentence in seen]
        found: list[Any] = [[] for _ in block]
        batches = [batch for batch in sentence_batches([len(sentence) for sentence in ids]) if ids[batch[-1]]]
        for batch, values in zip(
            batches, self._at_once([[ids[index] for index in batch] for batch in batches]), strict=True
        ):
            for index, value in zip(batch, values, strict=True):
                found[index] = value
        kind = READINGS[self.structure]
        return [kind(one.words, sentence.kept, value) for one, sentence, value in zip(block, seen, found, strict=True)]

    def _at_once(self, batches: Sequence[Sequence[list[int]]]) -> Iterator[list[Any]]:
        """The structures of each batch. On a CPU every thread takes batches of its own: one batch gains little."""
        import torch

        threads = torch.get_num_threads()
        if self.device != "cpu" or threads == 1 or len(batches) == 1:
            yield from map(self._structures, batches)
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(threads)
        try:
            yield from self._pool.map(self._alone, batches)
        finally:
            torch.set_num_threads(threads)  # the libraries underneath may have taken the workers' 1 for everyone

    def _alone(self, batch: Sequence[list[int]]) -> list[Any]:
        """What a worker does: one batch in one thread."""
        import torch

        torch.set_num_threads(1)
        return self._structures(batch)

    def _structures(self, batch: Sequence[list[int]]) -> list[Any]:
        """A list of distances or slots, or a square of head probabilities, for each sentence."""
        import torch

        with torch.inference_mode():
            tokens, lengths = pad(batch)
            found = self.model.structure(tokens.to(self.device), lengths, layer=self.layer)
            if self.structure != "heads":
                values = found.values if self.structure == "distances" else found.slots
                return [row[: len(ids)] for row, ids in zip(values.cpu().tolist(), batch, strict=True)]
            squares = found.probability.cpu().numpy()
            return [square[: len(ids), : len(ids)].copy() for square, ids in zip(squares, batch, strict=True)]


def _take(source: Iterator[Any], size: int) -> tuple[list[Any], Exception | None]:
    """Up to ``size`` sentences, and what went wrong in reading the next one: those before it are not lost."""
    block: list[Any] = []
    try:
        block.extend(islice(source, size))  # keeps what came before an error
    except Exception as error:
        return block, error
    return block, None


def tree_of(reading: Reading | StackReading, decode: Any) -> Tree:
    """The tree over all words of ``reading``: decoded over the kept ones, the others put back."""
    words, kept = reading.words, reading.kept
    spans = decode(reading.distances if isinstance(reading, Reading) else reading.stack)
    if len(kept) == len(words):
        return Tree.from_spans(words, spans)
    seen = [words[index] for index in kept]
    return restore(Tree.from_spans(seen, spans), words, kept)


def heads_of(reading: HeadReading, decode: Any) -> Heads:
    """The heads of all words of ``reading``: decoded over the kept ones, the others put in."""
    return restore_heads(decode(reading.heads), reading.kept, len(reading.words))


def load_parser(
    run: str | os.PathLike[str], *, device: str = "auto", decoder: str | None = None, layer: int | None = None
) -> Parser:
    """The parser of the model in ``run`` (its best checkpoint), with the model's own decoder and layer by default."""
    if decoder is not None:
        registry.known(registry.DECODERS, decoder, "decoder")
    checkpoint = read(find(Path(run)))
    if checkpoint.facts.get("step") == 0:
        raise SynparseError(f"{run}: this model has not been trained yet; go on with: synparse train --resume -o {run}")
    return Parser(checkpoint, device=choose_device(device), decoder=decoder, layer=layer)


def choose_device(device: str) -> str:
    """``cpu`` or ``cuda``; ``auto`` takes the GPU where there is one."""
    import torch

    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device not in ("cpu", "cuda"):
        raise SynparseError(f"there is no device {device!r}; use auto, cpu or cuda")
    if device == "cuda" and not torch.cuda.is_available():
        raise SynparseError("device cuda: torch finds no GPU here; use --device cpu")
    return device
