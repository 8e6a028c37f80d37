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
from induce.checkpoint import Checkpoint, build_model, find, read
from induce.data.batching import pad, sentence_batches
from induce.data.tokens import split
from treebank.dependency import Heads
from treebank.errors import SynparseError
from treebank.normalize import RECIPES, Normalized, restore, restore_heads
from treebank.sentence import Sentence
from treebank.tree import Tree

FIRST_BLOCK, LARGEST_BLOCK = 16, 2048  # sentences read before the first trees come out, and at most at a time


@dataclass(frozen=True)
class Reading:
    """What a model says of one sentence: the words, the indices of those it saw, and a number for each of these.

    The words of a model of characters are the characters that it saw.
    """

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
class HeightReading:
    """The same from a model that gives heights: for each word that it saw the gap before it and its height."""

    words: Sequence[str]
    kept: Sequence[int]
    heights: Sequence[Sequence[float]]


@dataclass(frozen=True)
class StackReading:
    """The same from a model that keeps a stack: the number of a slot for each word that it saw."""

    words: Sequence[str]
    kept: Sequence[int]
    stack: Sequence[int]


AnyReading = Reading | HeadReading | HeightReading | StackReading
READINGS: dict[str, Any] = {
    "distances": Reading,
    "heads": HeadReading,
    "heights": HeightReading,
    "stack": StackReading,
}


class Parser:
    """A trained model with a decoder. ``name`` says which model it is in a score line."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        *,
        device: str,
        decoder: str | None = None,
        layer: int | None = None,
        distances: str | None = None,
    ) -> None:
        config = checkpoint.config
        self.checkpoint, self.device = checkpoint, device
        self.name = config.model_name
        self.gives: tuple[str, ...] = registry.kind_of(config).gives
        self.choose(decoder or config.parse.decoder)
        self.layer = layer if layer is not None else config.parse.layer
        try:
            registry.check_layer(config, self.layer)
        except ValueError as error:
            raise SynparseError(f"{checkpoint.folder}: {error}") from None
        self.options: dict[str, Any] = {"layer": self.layer}  # of `Model.structure`
        if config.model_name in registry.SUPERVISED:
            self.options["distances"] = distances or config.parse.distances
        elif distances not in (None, "lm"):
            raise SynparseError(f"model {self.name!r} has no distances {distances!r}: it does not learn from trees")
        self.recipe, self.unit = RECIPES[config.data.normalization], config.data.unit
        given = checkpoint.facts.get("trees")
        self.trees = ""  # those that the model learned from, such as "gold trees: wsj-train (5 % sample)"
        if given:
            self.trees = f"{given['kind']} trees: {given['name']}" + (f" ({given['note']})" if given["note"] else "")
        self.model: Any = build_model(checkpoint).to(device)
        self._pool: ThreadPoolExecutor | None = None  # kept: threads that come and go leave memory behind

    def choose(self, decoder: str) -> None:
        """Take another decoder. Raises SynparseError if the model does not give what it reads."""
        registry.check_pairing(self.name, self.gives, decoder, task=self.checkpoint.config.data.task)
        self.decoder, self.decode = decoder, registry.decoder(decoder)
        self.structure = registry.structure_of(decoder)  # "distances", "heads", "heights" or "stack"
        self.output = registry.output_of(decoder)  # "trees" or "heads"

    def parse(self, sentences: Iterable[Sequence[str] | Sentence]) -> Iterator[Tree]:
        """One tree over all the words of each sentence, in order; an empty sentence gives an empty tree.

        Of a `Sentence` the words are read, and by the recipe `ptb` the tags, to tell words from punctuation, if
        they are the Penn Treebank's.
        Raises SynparseError if the decoder gives heads.
        """
        self.must_give("trees", "parse_heads")
        return (tree_of(reading, self.decode) for reading in self.read(sentences))

    def parse_heads(
        self, sentences: Iterable[Sequence[str] | Sentence]
    ) -> Iterator[tuple[Sequence[str], Sequence[int]]]:
        """The words and their heads, in order, as ``parse`` does. Raises SynparseError if the decoder gives trees."""
        self.must_give("heads", "parse")
        for reading in self.read(sentences):
            if isinstance(reading, HeadReading | HeightReading):
                yield reading.words, heads_of(reading, self.decode)

    def needs(self, structure: str, instead: str) -> None:
        """Raises SynparseError, naming what to do ``instead``, if the decoder does not read ``structure``."""
        if self.structure != structure:
            problem = f"the decoder {self.decoder!r} reads {self.structure}, not {structure}"
            raise SynparseError(f"model {self.name!r}: {problem} (try {instead})")

    def must_give(self, output: str, instead: str) -> None:
        """Raises SynparseError, naming what to do ``instead``, if the decoder does not give ``output``."""
        if self.output != output:
            problem = f"the decoder {self.decoder!r} gives {self.output}, not {output}"
            fitting = [name for name, (_, structure) in registry.DECODERS.items() if structure in self.gives]
            fitting = [f"decoder {name!r}" for name in fitting if registry.output_of(name) == output]
            hint = " or ".join([instead, *fitting[:1]])
            raise SynparseError(f"model {self.name!r}: {problem} (try {hint})")

    def read(self, sentences: Iterable[Sequence[str] | Sentence]) -> Iterator[AnyReading]:
        """What the model says of each sentence, in order. They are taken in blocks that grow: output starts early."""
        source = iter(sentences)
        size = FIRST_BLOCK
        problem = None
        while not problem:
            block, problem = _take(source, size)
            if not block and not problem:
                return
            whole = [one if isinstance(one, Sentence) else Sentence(tuple(one)) for one in block]
            yield from self._read_block(whole)
            size = min(8 * size, LARGEST_BLOCK)
        raise problem

    def _read_block(self, block: Sequence[Sentence]) -> list[AnyReading]:
        seen = [self._seen(one.words, one.tags) for one in block]
        ids = [self.checkpoint.vocabulary.encode(sentence.forms) for _, sentence in seen]
        found: list[Any] = [[] for _ in block]
        batches = [batch for batch in sentence_batches([len(sentence) for sentence in ids]) if ids[batch[-1]]]
        for batch, values in zip(
            batches, self._at_once([[ids[index] for index in batch] for batch in batches]), strict=True
        ):
            for index, value in zip(batch, values, strict=True):
                found[index] = value
        kind = READINGS[self.structure]
        return [kind(words, one.kept, value) for (words, one), value in zip(seen, found, strict=True)]

    def _seen(self, words: Sequence[str], tags: Sequence[str]) -> tuple[Sequence[str], Normalized]:
        """The words of a sentence and what the model sees of them; of a model of characters both are these."""
        seen = self.recipe(words, tags)
        if self.unit == "word":
            return words, seen
        spelt = split(seen.forms, self.unit)
        return spelt, Normalized(spelt, tuple(range(len(spelt))))

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
        """A list of distances, heights or slots, or a square of head probabilities, for each sentence."""
        import torch

        with torch.inference_mode():
            tokens, lengths = pad(batch)
            found = self.ask(tokens, lengths)
            if self.structure != "heads":
                values = found.slots if self.structure == "stack" else found.values
                return [row[: len(ids)] for row, ids in zip(values.cpu().tolist(), batch, strict=True)]
            squares = found.probability.cpu().numpy()
            return [square[: len(ids), : len(ids)].copy() for square, ids in zip(squares, batch, strict=True)]

    def ask(self, tokens: Any, lengths: Any) -> Any:
        """The structure of ``tokens`` (B, N + 2), boundary marks on either side, that the decoder reads."""
        which = {"what": self.structure} if len(self.gives) > 1 else {}
        return self.model.structure(tokens.to(self.device), lengths, **self.options, **which)


def _take(source: Iterator[Any], size: int) -> tuple[list[Any], Exception | None]:
    """Up to ``size`` sentences, and what went wrong in reading the next one: those before it are not lost."""
    block: list[Any] = []
    try:
        block.extend(islice(source, size))  # keeps what came before an error
    except Exception as error:
        return block, error
    return block, None


def tree_of(reading: AnyReading, decode: Any) -> Tree:
    """The tree over all words of ``reading``: decoded over the kept ones, the others put back."""
    words, kept = reading.words, reading.kept
    spans = decode(numbers_of(reading))
    if len(kept) == len(words):
        return Tree.from_spans(words, spans)
    return restore(Tree.from_spans([words[index] for index in kept], spans), words, kept)


def numbers_of(reading: AnyReading) -> Any:
    """What a decoder reads of ``reading``: distances, rows of head probabilities, heights or slots."""
    if isinstance(reading, Reading):
        return reading.distances
    if isinstance(reading, HeightReading):
        return reading.heights
    return reading.heads if isinstance(reading, HeadReading) else reading.stack


def heads_of(reading: HeadReading | HeightReading, decode: Any) -> Heads:
    """The heads of all words of ``reading``: decoded over the kept ones, the others put in."""
    return restore_heads(decode(numbers_of(reading)), reading.kept, len(reading.words))


def load_parser(
    run: str | os.PathLike[str],
    *,
    device: str = "auto",
    decoder: str | None = None,
    layer: int | None = None,
    distances: str | None = None,
) -> Parser:
    """The parser of the model in ``run`` (its best checkpoint), with the model's own decoder and layer by default.

    ``distances`` names one of the two sets of a model that learned from trees, ``lm`` or ``syd``.
    """
    if decoder is not None:
        registry.known(registry.DECODERS, decoder, "decoder")
    return Parser(read_trained(run), device=choose_device(device), decoder=decoder, layer=layer, distances=distances)


def read_trained(run: str | os.PathLike[str]) -> Checkpoint:
    """The best checkpoint in ``run``. Raises SynparseError if nothing has been learned yet."""
    checkpoint = read(find(Path(run)))
    if checkpoint.facts.get("step") == 0:
        raise SynparseError(f"{run}: this model has not been trained yet; go on with: synparse train --resume -o {run}")
    return checkpoint


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
