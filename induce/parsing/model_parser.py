"""Parsers of trained models: sentences become batches, and the structures of the model their scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from itertools import chain, islice, repeat
from typing import Any, NamedTuple

from induce import registry
from induce.data.batches import FragmentBatch, SentenceBatch, batches_by_cost, pad, pad_arrays
from induce.data.punctuation import NOTHING, gaps
from induce.data.vocabulary import RECIPES, Normalized, leaf, split
from induce.decoding import specification
from induce.decoding.branching_direction import CLEAR_PROBABILITY, assumed_probability
from induce.decoding.priors import AppliedPriors, Scores, requested_priors
from induce.models.capabilities import EdgeCounting
from induce.parsing.parser import (
    ROOT_COUNTED,
    Finish,
    Parser,
    PredictOptions,
    Report,
    Result,
    TextCheck,
    Words,
    until_failure,
)
from induce.parsing.reading import Reading
from induce.settings.run import check_layer, default_layer, entry_of, fitting_to, kind_of
from induce.storage.checkpoint import Checkpoint, build_array_model, build_model
from induce.structures import Structure
from induce.workers.pool import Pool, one_blas_thread, worker_count
from treebank.base.arguments import ignore
from treebank.base.errors import SynparseError, TreebankError, UsageError, out_of_memory
from treebank.core.sentence import Sentence
from treebank.io.source import STANDARD_INPUT

BUDGET = 4096  # of a parsing batch, in the units of `Model.parsing_cost`
LONG_COST = 100 * BUDGET  # of a sentence, above which it is reported
MIN_LIBRARY_WORDS = 1024  # words of a block from which the library for matrix products is chosen
TRIAL_SENTENCES, TRIAL_WORDS = 8, 16  # sentences that are parsed to choose the library, and words of each
MIN_TRIAL_PRODUCT = 2**21  # mean multiplications per product in the trial from which oneDNN is faster on blocks
ATTEMPTS = 2  # to parse a block, if a worker dies
MIN_BLOCKS = 2  # of a text for which workers are started, which takes as long as parsing a block


class ModelParser(Parser):
    """Parser that applies a decoder to the structures of a trained model."""

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
        report: Report = ignore,
    ) -> None:
        config, self.report = checkpoint.config, report
        self.checkpoint, self.device = checkpoint, device
        self.model: Any = self._built_model()  # checks the settings of the model, which are used below
        kind = self._kind()
        self.name, self.token, self.purpose = config.model_name, leaf(config.data.token), config.purpose_name
        self.gives, self.tokenization = kind.gives, config.data.tokenization
        self.right_probability = assumed_probability(config.parse.branching, checkpoint.facts.direction)
        self.branches_right = self.right_probability >= CLEAR_PROBABILITY
        self.estimates_root = kind.estimates_root
        self.head_style = config.parse.head_style
        self.distances = distances or config.parse.distances
        self.choose_layer(layer)
        self.choose_decoder(decoder or self.default_decoder)
        self.recipe = RECIPES[config.data.normalization]
        self.marks = config.loader_name in ("fragments", "spans")
        self.joining = frozenset(checkpoint.facts.joining)
        self.facts, self.learned_from = checkpoint.facts, checkpoint.facts.learned_from
        self.confidence = checkpoint.facts.confidence
        counts = self.model.edge_statistics() if isinstance(self.model, EdgeCounting) else None
        listed = requested_priors(priors, config.parse.priors, self.gives, has_counts=counts is not None)
        self._all_priors = AppliedPriors(listed, self.right_probability, counts)
        self._chosen_priors = () if priors is None else listed
        self._check_chosen_priors()
        self._text_check = TextCheck(checkpoint.vocabulary, self.token)
        self._library = ""  # of matrix products, for blocks of many words; chosen at the first such block
        self._pool: ThreadPoolExecutor | None = None  # one for all blocks, because new threads would use more memory

    def _built_model(self) -> Any:
        """The model with its trained weights, on the device."""
        return build_model(self.checkpoint).to(self.device)

    def _kind(self) -> Any:
        """Class of the model, or of its encoder."""
        return kind_of(self.checkpoint.config)

    def choose_layer(self, layer: int | None) -> None:
        """Set the layer. Raises LayerError if the model does not have it."""
        config = self.checkpoint.config
        self.layer = layer if layer is not None else default_layer(config, self.distances)
        check_layer(config, self.layer)

    @property
    def default_decoder(self) -> str:
        """The decoder of the settings, or "" for the default of the structure."""
        return self.checkpoint.config.parse.decoder

    @property
    def decoded(self) -> str:
        """``model:onlstm|checkpoint:3f2a91c0|decoder:biased|layer:2``: the digest is that of the weights."""
        parts = [self.checkpoint.identity, f"decoder:{self.decoder}", *self.source_parts]
        has_priors = any(prior.reads is self.structure for prior in registry.PRIORS.values())
        parts += [f"priors:{self.priors}"] if has_priors else []
        stated = self.checkpoint.config.parse.branching
        parts += [f"branching:{stated}"] if has_priors and stated != "text" else []
        return "|".join(parts) + self._stated_style

    @property
    def source_parts(self) -> list[str]:
        """The parts of a signature that name the layer and the set of distances, if the model has several."""
        entry = entry_of(self.checkpoint.config)
        parts = [f"layer:{self.layer}"] if entry.layered else []
        return [*parts, f"distances:{self.distances}"] if entry.sets else parts

    def choose_structure(self, structure: str) -> None:
        """Select the default decoder of a structure. Raises UsageError for a prior that it does not read."""
        super().choose_structure(structure)
        self._check_chosen_priors()

    def _check_chosen_priors(self) -> None:
        """Raises UsageError for a prior that the user has chosen and that the decoder does not read."""
        for prior in self._chosen_priors:
            reads = registry.PRIORS.get(prior.name).reads
            if reads is not self.structure:
                problem = f"needs {reads.name}, and the decoder {self.decoder!r} reads {self.structure.name}"
                raise UsageError(f"prior {str(prior)!r} {problem}; choose another decoder, or leave the prior out")

    @property
    def priors(self) -> AppliedPriors:
        """The priors that apply to the structure which the decoder reads."""
        return self._all_priors.reading(self.structure)

    @property
    def max_length(self) -> int | None:
        """Words of the longest sentence that it parses, or None."""
        limit: int | None = self.model.max_length
        return limit

    @property
    def digest(self) -> str:
        return self.checkpoint.digest

    def __getstate__(self) -> dict[str, Any]:
        """State without threads and without reports, so that a parser can be sent to another process."""
        return {**self.__dict__, "_pool": None, "report": ignore}

    def predict_block(self, block: Sequence[Sentence], options: PredictOptions) -> list[Reading | SynparseError]:
        """The structure of each sentence of a list. Sentences of similar length share a batch.

        A sentence that is too long for the model or the memory has an error instead; with ``options.on_refused``, that
        is called with the error, and the sentence is read as an empty one.
        """
        normalized = [self._normalize(sentence) for sentence in block]
        self._report_problems(block, normalized, options.report or self.report)
        encoded = [
            (
                self.checkpoint.vocabulary.encode(read.forms),
                gaps(words, read.indices, self.joining) if self.marks or self.priors.priors else (),
            )
            for words, read in normalized
        ]
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
            for group, values in zip(groups, self._in_threads(batches, options.trees), strict=True):
                for index, value in zip(group, values, strict=True):
                    rows[index] = value
        return [
            self._refused(sentence, scores, options)
            if isinstance(scores, SynparseError)
            else Reading(words, read.indices, self.structure, *scores, token=self.token)  # type: ignore[misc]
            for sentence, (words, read), scores in zip(block, normalized, rows, strict=True)
        ]

    def _refused(self, sentence: Sentence, error: SynparseError, options: PredictOptions) -> Reading | SynparseError:
        """The error of a sentence with its location, or an empty reading if ``options.on_refused`` receives it."""
        if not sentence.location.path:
            return error
        located = TreebankError(*sentence.location, str(error))
        if options.on_refused is None:
            return located
        options.on_refused(located)
        return Reading((), (), self.structure, [], token=self.token)

    def _report_problems(
        self, block: Sequence[Sentence], normalized: Sequence[tuple[Any, Normalized]], report: Report
    ) -> None:
        """Report text that does not fit the model, once, and sentences that will take long."""
        self.check_text(zip(block, normalized, strict=True), report)
        for sentence, (_, read) in zip(block, normalized, strict=True):
            limit = self.max_length or len(read.forms)
            if len(read.forms) <= limit and self.model.parsing_cost(len(read.forms)) > LONG_COST:
                problem = f"a sentence of {len(read.forms):,} words takes long, because the time of model {self.name!r}"
                report(f"{sentence.location}: {problem} grows with the square or the cube of the length")

    def check_text(self, sentences: Iterable[tuple[Sentence, tuple[Any, Normalized]]], report: Report) -> None:
        """Check the beginning of a text against the vocabulary, and report a problem once."""
        if self._text_check.finished:
            return
        for sentence, (_, read) in sentences:
            self._text_check.add(sentence.words, read.forms)
        if problem := self._text_check.problem():
            report(problem)

    def _without_model(self, index: int, length: int) -> Scores | SynparseError | None:
        """Result for sentence ``index`` if the model cannot read it, else None.

        A sentence that is too short for the model has trivial scores, and one that is too long an error.
        """
        if length < max(1, self.model.shortest):
            return Scores(self.structure.trivial(length) if length else [])
        limit = self.max_length
        if limit is None or length <= limit:
            return None
        from induce.models.base import SentenceTooLong

        return SentenceTooLong(index, length, limit)

    def _normalize(self, sentence: Sentence) -> tuple[Sequence[str], Normalized]:
        """The words of a sentence, and those that the model reads. Both are characters for a model of characters."""
        normalized = self.recipe(sentence.words, sentence.tags)
        if self.token == "word":
            return sentence.words, normalized
        characters = split(normalized.forms, self.token)
        return characters, Normalized(characters, tuple(range(len(characters))))

    def _multiplying(self, words: int) -> AbstractContextManager[None]:
        """Context in which matrices are multiplied by the library that suits the model and the number of words."""
        from induce.layers.products import MKL, choose_library, multiplying

        if self.device != "cpu" or words < MIN_LIBRARY_WORDS:
            return multiplying(MKL)
        if not self._library:
            sentence = self.checkpoint.vocabulary.encode(["x"] * TRIAL_WORDS), [NOTHING] * TRIAL_WORDS
            self._library = choose_library(lambda: self._rows([sentence] * TRIAL_SENTENCES), MIN_TRIAL_PRODUCT)
        return multiplying(self._library)

    def _in_threads(self, batches: Sequence[Any], trees: int) -> Iterator[list[Any]]:
        """Rows of each batch. On a CPU, each thread computes a batch, because several threads hardly speed up one."""
        import torch

        threads = torch.get_num_threads()
        if self.device != "cpu" or threads == 1 or len(batches) == 1:
            return map(self._rows, batches, repeat(trees))
        pool = self._pool = self._pool or ThreadPoolExecutor(threads)

        def compute(batch: Sequence[Any]) -> list[Any]:
            torch.set_num_threads(1)
            return self._rows(batch, trees)

        def computed() -> Iterator[list[Any]]:
            try:
                yield from pool.map(compute, batches)
            finally:
                torch.set_num_threads(threads)  # `compute` may have set the number for the whole process

        return computed()

    def _rows(self, batch: Sequence[tuple[list[int], Sequence[int]]], trees: int = 1) -> list[Any]:
        """The scores of each sentence, given its word indices and gaps.

        A sentence that is too long for the memory has an error instead of scores.
        """
        try:
            with self._computing():
                return list(self.priors.apply(self.structure_of(self.batch(batch), trees), batch))
        except (MemoryError, RuntimeError) as error:
            if not out_of_memory(error):
                raise
        if len(batch) == 1:
            return [SynparseError(f"memory ran out on a sentence of {len(batch[0][0]):,} words; leave it out")]
        half = len(batch) // 2
        return [*self._rows(batch[:half], trees), *self._rows(batch[half:], trees)]

    def _computing(self) -> AbstractContextManager[Any]:
        """Context in which the model computes, without gradients."""
        import torch

        return torch.inference_mode()

    def batch(self, encoded: Sequence[tuple[list[int], Sequence[int]]]) -> SentenceBatch:
        """Batch of sentences, of the type that the model reads."""
        tokens, lengths = pad([ids for ids, _ in encoded])
        if not self.marks:
            return SentenceBatch(tokens, lengths).to(self.device)
        before, _ = pad([marks for _, marks in encoded])
        return FragmentBatch(tokens, lengths, before).to(self.device)

    def structure_of(self, batch: SentenceBatch, trees: int = 1) -> Structure:
        """The structure that the decoder reads, with this number of ``trees`` if it consists of trees."""
        from induce.models.base import Query

        query = Query(
            self.structure,
            self.layer,
            self.distances,
            symbols=self.priors.need_symbols,
            trees=trees,
            right_probability=self.right_probability,
        )
        structure = self.model.structure(batch, query)
        if not isinstance(structure, self.structure):
            actual, expected = type(structure).__name__, self.structure.__name__
            raise SynparseError(f"model {self.name}: its method structure has returned {actual}, not {expected}")
        return structure


def default_decoder(checkpoint: Checkpoint) -> str:
    """Default decoder of a model, or "" if it returns no structure."""
    fitting = fitting_to(checkpoint.config, checkpoint.facts.direction)
    defaults = ROOT_COUNTED if kind_of(checkpoint.config).estimates_root else {}
    return specification.with_defaults(fitting, defaults) if fitting else ""


def stored_decoder(checkpoint: Checkpoint) -> str:
    """Decoder of a model by its settings, else its default, which is "" if torch, which knows it, is missing."""
    try:
        return checkpoint.config.parse.decoder or default_decoder(checkpoint)
    except ModuleNotFoundError:
        return ""


class BlockResults(NamedTuple):
    """Results of the sentences of a block in a worker.

    ``messages`` are for ``report``, ``refused`` for ``on_refused``. ``problem`` is the error after the results, if any.
    """

    results: list[Any]
    messages: list[str]
    refused: list[TreebankError]
    problem: SynparseError | None


class ArrayParser(ModelParser):
    """A trained model that has a version in NumPy (``ModelEntry.arrays``), with a decoder. It computes on the CPU.

    Each worker parses full blocks, which do not depend on the number of workers, so that the trees do not, either.
    """

    largest_block = 1024  # sentences; larger blocks are a little faster, but divide a text of some pages less evenly

    def _built_model(self) -> Any:
        return build_array_model(self.checkpoint, self._kind())

    def _kind(self) -> Any:
        return registry.load(entry_of(self.checkpoint.config).arrays)

    def _multiplying(self, words: int) -> AbstractContextManager[None]:
        """Context in which matrices are multiplied in one thread. NumPy has only one library for this."""
        return one_blas_thread()

    def _in_threads(self, batches: Sequence[Any], trees: int) -> Iterator[list[Any]]:
        return map(self._rows, batches)

    def _computing(self) -> AbstractContextManager[Any]:
        return nullcontext()

    def batch(self, encoded: Sequence[tuple[list[int], Sequence[int]]]) -> SentenceBatch:
        """Batch of sentences as arrays."""
        tokens, lengths = pad_arrays([ids for ids, _ in encoded])
        gaps, _ = pad_arrays([marks for _, marks in encoded])
        arrays: dict[str, Any] = {"tokens": tokens, "lengths": lengths, "gaps": gaps}
        return FragmentBatch(**arrays)

    def structure_of(self, batch: SentenceBatch, trees: int = 1) -> Structure:
        """The structure that the decoder reads."""
        return self.model.structure(batch)

    @property
    def processes(self) -> int:  # type: ignore[override]
        return worker_count()

    def decode_all(
        self, sentences: Iterable[Words], finish: Finish[Result], options: PredictOptions
    ) -> Iterator[Result]:
        """``finish`` of the structure of each sentence and its brackets, in order, in workers if the text is large."""
        blocks, workers = self.blocks(sentences, options), self.processes
        for block in blocks:
            is_full = workers > 1 and len(block) == self.largest_block
            following, problem = until_failure(islice(_without_waiting(blocks), MIN_BLOCKS - 1 if is_full else 0))
            if len(following) == MIN_BLOCKS - 1:
                rest = chain([block], following, _without_waiting(blocks))
                yield from self._in_workers(rest, finish, workers, options)
            else:
                for each in (block, *following):
                    yield from self.decode_block(each, finish, options)
            if problem:
                raise problem

    def _in_workers(
        self, blocks: Iterable[list[Sentence]], finish: Finish[Result], workers: int, options: PredictOptions
    ) -> Iterator[Result]:
        """``finish`` of each sentence of ``blocks``, in order. Workers are forks, so that ``finish`` is not sent."""
        problems: list[Exception] = []
        report = options.report or self.report

        def jobs() -> Iterator[list[Sentence]]:
            try:
                for block in blocks:
                    self.check_text(((sentence, self._normalize(sentence)) for sentence in block), report)
                    yield block
            except Exception as error:  # raised after the sentences before it
                problems.append(error)

        with Pool(lambda job: self._results(job[1], finish, options), workers, attempts=ATTEMPTS) as pool:
            for results, messages, refused, problem in pool.run_in_order(jobs()):
                for message in messages:
                    report(message)
                for error in refused:
                    if options.on_refused:
                        options.on_refused(error)
                yield from results
                if problem:
                    raise problem
        for error in problems:
            raise error

    def _results(self, block: Sequence[Sentence], finish: Finish[Result], options: PredictOptions) -> BlockResults:
        """Results of a block in a worker, with the messages and errors that the parent reports."""
        messages, refused = list[str](), list[TreebankError]()
        self._text_check.finished = True  # the parent checks the text
        collecting = replace(options, report=messages.append, on_refused=refused.append if options.on_refused else None)
        results, problem = until_failure(self.decode_block(block, finish, collecting))
        if problem is not None and not isinstance(problem, SynparseError):
            raise problem
        return BlockResults(results, messages, refused, problem)


def _without_waiting(blocks: Iterator[list[Sentence]]) -> Iterator[list[Sentence]]:
    """The blocks up to a pause of standard input, after which the parsed sentences are written first."""
    while not STANDARD_INPUT.is_idle():
        try:
            yield next(blocks)
        except StopIteration:
            return
