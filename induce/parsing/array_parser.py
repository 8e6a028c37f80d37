"""Parser of a model that computes with NumPy, without torch. Large texts are divided among worker processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from itertools import chain, islice
from typing import Any, NamedTuple

from induce import registry
from induce.data.batches import FragmentBatch, SentenceBatch
from induce.data.loaders import pad_arrays
from induce.layers.blas_threads import one_blas_thread
from induce.parsing.model_parser import ModelParser
from induce.parsing.parser import Finish, PredictOptions, Result, Words, until_failure
from induce.settings.run import entry_of
from induce.storage.checkpoint import build_array_model
from induce.structures import Structure
from induce.workers.pool import Pool, worker_count
from treebank.base.errors import SynparseError, TreebankError
from treebank.core.sentence import Sentence
from treebank.io.streams import STANDARD_INPUT

ATTEMPTS = 2  # to parse a block, if a worker dies
MIN_BLOCKS = 2  # of a text for which workers are started, which takes as long as parsing a block


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
        return (self._rows(batch) for batch in batches)

    def _computing(self) -> AbstractContextManager[Any]:
        return nullcontext()

    def batch(self, encoded: Sequence[tuple[list[int], Sequence[int]]]) -> SentenceBatch:
        """Batch of sentences as arrays."""
        tokens, lengths = pad_arrays([ids for ids, _ in encoded])
        gaps, _ = pad_arrays([marks for _, marks in encoded])
        arrays: dict[str, Any] = {"tokens": tokens, "lengths": lengths, "gaps": gaps}
        return FragmentBatch(**arrays)

    def ask(self, batch: SentenceBatch, trees: int = 1) -> Structure:
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
