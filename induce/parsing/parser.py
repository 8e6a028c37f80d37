"""Parsers: the interface that all commands use, and its implementation by a trained model with a decoder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import chain, islice
from typing import Any, Protocol

from induce import registry
from induce.data.batches import FragmentBatch, SentenceBatch
from induce.data.by_length import batches_by_cost
from induce.data.loaders import pad
from induce.data.normalization import RECIPES, Normalized
from induce.data.punctuation import NOTHING, gaps
from induce.data.tokens import leaf, split
from induce.decoding.branching_direction import CLEAR_PROBABILITY, assumed_probability
from induce.models.base import Query, SentenceTooLong
from induce.parsing.applied_priors import AppliedPriors, Scores, requested_priors
from induce.parsing.reading import Reading
from induce.settings.run import check_layer, default_layer, entry_of, kind_of
from induce.storage.checkpoint import Checkpoint, build_model
from induce.storage.facts import RunFacts
from induce.structures import Structure
from treebank.base.errors import SynparseError, TreebankError, out_of_memory
from treebank.core.dependency import Heads
from treebank.core.sentence import Sentence
from treebank.core.tree import Tree
from treebank.io.read import DEFAULT_INPUT, InputOptions
from treebank.io.streams import STANDARD_INPUT

FIRST_BLOCK, LARGEST_BLOCK = 16, 2048  # sentences read before the first trees come out, and at most at a time
BUDGET = 4096  # of a parsing batch, in the units of `Model.parsing_cost`
MANY = 1024  # words of a block from which it matters which library multiplies
FEW, TYPICAL = 8, 16  # sentences that it is chosen by, and their words
LARGE_FOR_FEW = 2**21  # multiplications of the mean product for these, from which oneDNN pays for more of them

ROOT_COUNTED = {"root": "counted"}  # option of decoders of head distributions

Words = str | Sequence[str] | Sentence


class Parser(Protocol):
    """Interface of parsers of trees or heads.

    A sentence is a string, whose words are separated by white space, a list of words, or a `Sentence`.
    """

    name: str  # of the model, for scores
    output: registry.Output  # "trees" or "heads"
    token: str  # type of the leaves of its trees: "word" or "character"
    tokenization: str  # rule that split the training corpus, or ""
    learned_from: str  # trees that it was trained with, such as "gold trees: wsj-train (5 % sample)", or ""
    device: str  # "cpu" or "cuda"
    facts: RunFacts | None  # of the training run; None for an ensemble
    tell: Callable[[str], None]  # called with notes about the sentences that were parsed

    @property
    def decoded(self) -> str:
        """The part of a signature that names the model and the way its trees are decoded."""
        ...

    def input_options(self, options: InputOptions = DEFAULT_INPUT) -> InputOptions:
        """``options``, with the tokenizer of the training corpus if no other is named."""
        ...

    def read(self, sentences: Iterable[Words]) -> Iterator[Reading]:
        """The structure that the model gives each sentence, in order."""
        ...

    def parse(self, sentences: Iterable[Words]) -> Iterator[Tree]:
        """One tree over all the words of each sentence, in order."""
        ...

    def parse_heads(self, sentences: Iterable[Words]) -> Iterator[tuple[Sequence[str], Heads]]:
        """The words of each sentence and their heads, in order."""
        ...


def block_after(size: int) -> int:
    """Size of the block of sentences after a block of ``size``."""
    return min(8 * size, LARGEST_BLOCK)


def as_sentence(words: Words) -> Sentence:
    """``words`` as a `Sentence`, with a string split at white space."""
    if isinstance(words, Sentence):
        return words
    return Sentence(tuple(words.split() if isinstance(words, str) else words))


def each_sentence(sentences: Iterable[Words]) -> Iterator[Sentence]:
    """The sentences. One string by itself is one sentence."""
    return map(as_sentence, [sentences] if isinstance(sentences, str | Sentence) else sentences)


def _ignore(line: str) -> None:
    pass


class StructureParser:
    """A parser that decodes trees or heads from the structures that ``read_block`` gives."""

    name: str
    token: str = "word"
    gives: tuple[type[Structure], ...]  # structures that it can give
    task: str = ""  # of the model, if it was trained for one
    device: str = "cpu"
    layer: int | None = None
    distances: str | None = None
    facts: RunFacts | None = None  # of the training run
    learned_from: str = ""  # trees or heads that it was trained with, for signatures
    tokenization: str = ""  # rule that split the training corpus, if one did
    estimates_root = False  # whether the diagonal of head distributions is P(word is the root)
    branches_right = False  # whether the language clearly branches to the right, for the default decoder
    first_block = FIRST_BLOCK
    on_refused: Callable[[TreebankError], None] | None = None  # called with errors of single sentences, if not None
    tell: Callable[[str], None] = staticmethod(_ignore)

    def __call__(self, sentences: Iterable[Words]) -> Iterator[Any]:
        """The trees, or the words and heads, of ``sentences``. One string is one sentence."""
        return self.parse(sentences) if self.output == "trees" else self.parse_heads(sentences)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.decoded}, gives {self.output}>"

    @property
    def decoded(self) -> str:
        """The part of a signature that names the model and the way its trees are decoded."""
        return f"model:{self.name}|decoder:{self.decoder}"

    @property
    def digest(self) -> str:
        """The SHA-256 of everything that decides the trees besides options: the weights, or the members."""
        raise NotImplementedError

    def read(self, sentences: Iterable[Words]) -> Iterator[Reading]:
        """The structure of each sentence, in order. Sentences are read in blocks that grow: output starts early."""
        return chain.from_iterable(self.read_blocks(sentences))

    def read_blocks(self, sentences: Iterable[Words]) -> Iterator[Iterable[Reading]]:
        """The structures of each block of sentences."""
        return map(self.read_block, self._blocks(sentences))

    def _blocks(self, sentences: Iterable[Words]) -> Iterator[list[Sentence]]:
        """The sentences in blocks. An error in reading a sentence is raised after the sentences before it."""
        source = each_sentence(sentences)
        size, problem = self.first_block, None
        while not problem:
            block, problem = _take(source, size)
            if not block and not problem:
                return
            yield block
            size = block_after(size)
        raise problem

    def read_block(self, block: Sequence[Sentence]) -> Iterable[Reading]:
        """The structure of each sentence of a list."""
        raise NotImplementedError

    def choose(self, decoder: str) -> None:
        """Select a decoder, or the default for "". Raises SynparseError if the model does not return what it reads."""
        fitting = registry.fitting_decoder(
            self.name, self.gives, decoder, task=self.task, branches_right=self.branches_right
        )
        self.decoder = registry.with_defaults(fitting, ROOT_COUNTED if self.estimates_root else {})
        self.decode = registry.decoder(self.decoder)
        entry = registry.decoder_entry(self.decoder)
        self.structure, self.output = entry.reads, entry.gives

    def parse(self, sentences: Iterable[Words]) -> Iterator[Tree]:
        """One tree over all the words of each sentence, in order. An empty sentence gives an empty tree.

        Raises SynparseError if the decoder gives heads.
        """
        self.must_give("trees", "parse_heads")
        return (reading.tree(self.decode) for reading in self.read(sentences))

    def parse_heads(self, sentences: Iterable[Words]) -> Iterator[tuple[Sequence[str], Heads]]:
        """The words and their heads, in order, as ``parse`` does. Raises SynparseError if the decoder gives trees."""
        self.must_give("heads", "parse")
        return chain.from_iterable(map(self._heads_of, self.read_blocks(sentences)))

    def _heads_of(self, block: Iterable[Reading]) -> Iterator[tuple[Sequence[str], Heads]]:
        """Leaves and heads of the sentences of a block, decoded together, up to the first error."""
        readings, problem = _until_failure(block)
        decode_all = registry.decoder_together(self.decoder)
        for reading, heads in zip(readings, decode_all([reading.scores for reading in readings]), strict=True):
            yield reading.leaves, reading.all_heads(heads)
        if problem:
            raise problem

    def input_options(self, options: InputOptions = DEFAULT_INPUT) -> InputOptions:
        """Input options for text for this model: ``options``, with the tokenizer of the training corpus by default.

        Raises SynparseError if the package of that rule is missing.
        """
        return with_rule(options, self.tokenization)

    def offer(self, structure: str) -> None:
        """Select the default decoder of the structure with this name, unless the decoder reads it already.

        Raises SynparseError if the model does not give it.
        """
        if structure == self.structure.name:
            return
        kind = registry.structure_called(structure)
        if kind not in self.gives:
            names = " or ".join(type_.name for type_ in self.gives)
            problem = f"the decoder {self.decoder!r} reads {self.structure.name}, not {structure}"
            raise SynparseError(f"model {self.name!r}: {problem} (try --what {names})")
        self.choose(registry.decoders_of((kind,))[0])

    def must_give(self, output: registry.Output, instead: str) -> None:
        """Raises SynparseError, naming what to do ``instead``, if the decoder does not give ``output``."""
        if self.output != output:
            fitting = [f"decoder {name!r}" for name in registry.decoders_of(self.gives, output)]
            hint = " or ".join([instead, *fitting[:1]])
            problem = f"the decoder {self.decoder!r} gives {self.output}, not {output}"
            raise SynparseError(f"model {self.name!r}: {problem} (try {hint})")


class ModelParser(StructureParser):
    """A trained model with a decoder."""

    layer: int
    distances: str

    def __init__(
        self,
        checkpoint: Checkpoint,
        *,
        device: str,
        decoder: str | None = None,
        layer: int | None = None,
        distances: str | None = None,
        priors: str | None = None,
    ) -> None:
        config = checkpoint.config
        self.checkpoint, self.device = checkpoint, device
        self.name, self.token, self.task = config.model_name, leaf(config.data.token), config.task_name
        self.gives, self.tokenization = kind_of(config).gives, config.data.tokenization
        right_probability = assumed_probability(config.parse.branching, checkpoint.facts.direction)
        self.branches_right = right_probability >= CLEAR_PROBABILITY
        self.estimates_root = getattr(kind_of(config), "estimates_root", False)
        self.choose(decoder or config.parse.decoder)
        self.distances = distances or config.parse.distances
        self.layer = layer if layer is not None else default_layer(config, self.distances)
        try:
            check_layer(config, self.layer)
        except ValueError as error:
            raise SynparseError(f"{checkpoint.folder}: {error}") from None
        sets = ("lm", *entry_of(config).sets)
        if self.distances not in sets:
            raise SynparseError(
                f"model {self.name!r} has no distances {self.distances!r}: it does not learn from trees"
            )
        self.recipe = RECIPES[config.data.normalization]
        self.marks = config.loader_name in ("fragments", "spans")
        self.joining = frozenset(checkpoint.facts.joining)
        self.facts, self.learned_from = checkpoint.facts, checkpoint.facts.learned_from
        self.model: Any = build_model(checkpoint).to(device)
        listed = requested_priors(priors, config.parse.priors, self.gives)
        self._all_priors = AppliedPriors(listed, right_probability, self.model.edge_statistics())
        self._library = ""  # of matrix products, for blocks of many words; chosen at the first such block
        self._pool: ThreadPoolExecutor | None = None  # kept: threads that come and go leave memory behind

    @property
    def decoded(self) -> str:
        """``model:onlstm|checkpoint:3f2a91c0|decoder:biased|layer:2``: the digest is that of the weights."""
        entry = entry_of(self.checkpoint.config)
        parts = [f"model:{self.name}", f"checkpoint:{self.digest[:8]}", f"decoder:{self.decoder}"]
        parts += [f"layer:{self.layer}"] if entry.layered else []
        parts += [f"distances:{self.distances}"] if entry.sets else []
        has_priors = any(prior.reads is self.structure for prior in registry.PRIORS.values())
        parts += [f"priors:{self.priors}"] if has_priors else []
        return "|".join(parts)

    @property
    def priors(self) -> AppliedPriors:
        """The priors that apply to the structure which the decoder reads."""
        return self._all_priors.reading(self.structure)

    @property
    def digest(self) -> str:
        return self.checkpoint.digest

    def __getstate__(self) -> dict[str, Any]:
        """State without the threads, so that a parser can be sent to another process."""
        return {**self.__dict__, "_pool": None}

    def read_block(self, block: Sequence[Sentence]) -> Iterator[Reading]:
        """The structure of each sentence of a list.

        Raises TreebankError at a sentence that is too long for the model or the memory, after the sentences before it;
        with ``on_refused``, that is called with the error, and the sentence is read as an empty one.
        """
        normalized = [self._normalize(sentence) for sentence in block]
        encoded = [
            (
                self.checkpoint.vocabulary.encode(read.forms),
                gaps(words, read.kept, self.joining) if self.marks or self.priors.priors else (),
            )
            for words, read in normalized
        ]
        rows = self._rows_of(encoded)
        for sentence, (words, read), scores in zip(block, normalized, rows, strict=True):
            if isinstance(scores, SynparseError):
                error = TreebankError(*sentence.place, str(scores)) if sentence.place.path else scores
                if self.on_refused is None or not isinstance(error, TreebankError):
                    raise error
                self.on_refused(error)
                yield Reading((), (), self.structure, [], token=self.token)
            else:
                yield Reading(words, read.kept, self.structure, *scores, token=self.token)  # type: ignore[misc]

    def _rows_of(self, encoded: Sequence[tuple[list[int], Sequence[int]]]) -> list[Any]:
        """The scores of each sentence, or an error. Sentences of similar length share a batch."""
        lengths = [len(ids) for ids, _ in encoded]
        rows: list[Any] = [self._without_model(index, length) for index, length in enumerate(lengths)]
        unread = [index for index, row in enumerate(rows) if row is None]
        costs = [lengths[index] for index in unread]
        groups = [
            [unread[position] for position in batch]
            for batch in batches_by_cost(costs, cost=self.model.parsing_cost, budget=BUDGET)
        ]
        with self._multiplying(sum(costs)):
            batches = [[encoded[index] for index in group] for group in groups]
            for group, values in zip(groups, self._at_once(batches), strict=True):
                for index, value in zip(group, values, strict=True):
                    rows[index] = value
        return rows

    def _without_model(self, index: int, length: int) -> Scores | SynparseError | None:
        """Scores of a sentence that is too short for the model, the error of one that is too long, or None."""
        if length < max(1, self.model.shortest):
            return Scores(self.structure.trivial(length) if length else [])
        limit = self.model.max_length
        return SentenceTooLong(index, length, limit) if limit is not None and length > limit else None

    def _normalize(self, sentence: Sentence) -> tuple[Sequence[str], Normalized]:
        """The words of a sentence, and those that the model reads. Both are characters for a model of characters."""
        normalized = self.recipe(sentence.words, sentence.tags)
        if self.token == "word":
            return sentence.words, normalized
        characters = split(normalized.forms, self.token)
        return characters, Normalized(characters, tuple(range(len(characters))))

    def _multiplying(self, words: int) -> AbstractContextManager[None]:
        """Multiply by the library that suits this model and this number of words, independent of anything else."""
        from induce.layers.matrix_library import MKL, choose_library, multiplying

        if self.device != "cpu" or words < MANY:
            return multiplying(MKL)
        if not self._library:
            sentence = self.checkpoint.vocabulary.encode(["x"] * TYPICAL), [NOTHING] * TYPICAL
            self._library = choose_library(lambda: self._rows([sentence] * FEW), LARGE_FOR_FEW)
        return multiplying(self._library)

    def _at_once(self, batches: Sequence[Any]) -> Iterator[list[Any]]:
        """Rows of each batch. On a CPU each thread computes separate batches, as threads hardly speed up one batch."""
        import torch

        threads = torch.get_num_threads()
        if self.device != "cpu" or threads == 1 or len(batches) == 1:
            yield from map(self._rows, batches)
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(threads)
        try:
            yield from self._pool.map(self._alone, batches)
        finally:
            torch.set_num_threads(threads)  # the libraries underneath may have taken the workers' 1 for everyone

    def _alone(self, batch: Sequence[Any]) -> list[Any]:
        """Compute one batch in one thread."""
        import torch

        torch.set_num_threads(1)
        return self._rows(batch)

    def _rows(self, batch: Sequence[tuple[list[int], Sequence[int]]]) -> list[Any]:
        """The scores of each sentence, given its word indices and gaps.

        A sentence that is too long for the memory has an error instead of scores.
        """
        import torch

        try:
            with torch.inference_mode():
                return list(self.priors.apply(self.ask(self.batch(batch)), batch))
        except (MemoryError, RuntimeError) as error:
            if not out_of_memory(error):
                raise
        if len(batch) == 1:
            return [SynparseError(f"memory ran out on a sentence of {len(batch[0][0]):,} words; leave it out")]
        half = len(batch) // 2
        return [*self._rows(batch[:half]), *self._rows(batch[half:])]

    def batch(self, encoded: Sequence[tuple[list[int], Sequence[int]]]) -> SentenceBatch:
        """Batch of sentences, of the type that the model reads."""
        tokens, lengths = pad([ids for ids, _ in encoded])
        if not self.marks:
            return SentenceBatch(tokens, lengths).to(self.device)
        before, _ = pad([marks for _, marks in encoded])
        return FragmentBatch(tokens, lengths, before).to(self.device)

    def ask(self, batch: SentenceBatch) -> Structure:
        """The structure that the decoder reads."""
        query = Query(self.structure, self.layer, self.distances, symbols=self.priors.need_symbols)
        structure: Structure = self.model.structure(batch, query)
        return structure


def default_decoder(checkpoint: Checkpoint) -> str:
    """Default decoder of a model, or "" if it returns no structure."""
    config, gives = checkpoint.config, kind_of(checkpoint.config).gives
    right_probability = assumed_probability(config.parse.branching, checkpoint.facts.direction)
    if not gives:
        return ""
    fitting = registry.fitting_decoder(
        config.model_name,
        gives,
        config.parse.decoder,
        task=config.task_name,
        branches_right=right_probability >= CLEAR_PROBABILITY,
    )
    return registry.with_defaults(fitting, ROOT_COUNTED if kind_of(config).estimates_root else {})


def with_rule(options: InputOptions, rule: str) -> InputOptions:
    """``options`` for reading text, with the tokenization ``rule`` of a model's training corpus by default."""
    return options if options.tokenize or not rule else replace(options, tokenize=rule)


def _until_failure(block: Iterable[Reading]) -> tuple[list[Reading], SynparseError | None]:
    """Readings of a block up to the first error, and this error or None."""
    readings: list[Reading] = []
    try:
        for reading in block:
            readings.append(reading)
    except SynparseError as problem:
        return readings, problem
    return readings, None


def _take(source: Iterator[Any], size: int) -> tuple[list[Any], Exception | None]:
    """Up to ``size`` sentences, and the error in reading the next one, so that those before it are not lost."""
    block: list[Any] = []
    try:
        for sentence in islice(source, size):
            block.append(sentence)
            if STANDARD_INPUT.is_idle():  # a person at the keyboard, or a slow pipe: what has come is parsed
                break
    except Exception as error:
        return block, error
    return block, None
