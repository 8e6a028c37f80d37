"""Distillation: a model learns from trees or heads that other parsers, its teachers, assign to the training text.

A teacher is a model, which parses the text on all cores, or a file with trees or heads of the same text. Grammars
prefer the spans of the trees for a while (after Park & Kim 2024, "focusing"); chart and biaffine parsers learn nothing
else; UDGN learns the heads besides the words; ONLSTM-SYD and PRPN-SYD learn the order of the distances. Gold trees are
read only from a file that the user names, and the facts of the model then say so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice, tee
from typing import Any, get_args

import numpy as np

from induce.data.batches import HeadSupervisedBatch, SpanSupervisedBatch, SpanTargetBatch
from induce.data.vocabulary import RECIPES
from induce.parsing.parser import Parser
from induce.registry import LOADERS, MODELS, Output
from induce.settings.run import RunConfig, entry_of
from induce.storage.locate import PathType, locate, parse_model_spec
from induce.structures import HeadDistribution
from induce.training.prepare import Supervision
from induce.training.request import RunRequest, read_text
from induce.workers.pool import map_in_workers, worker_count
from treebank.base.errors import SynparseError
from treebank.core.sentence import ROOT, Sentence, Treebank
from treebank.core.tree import Tree
from treebank.core.word_check import with_analyses
from treebank.io.read import InputOptions, read_sentences

OUTPUTS: tuple[Output, ...] = get_args(Output)
PARSED, GOLD = "parsed", "gold"
REWARDS = "rewards of spans"  # in the facts of a run, instead of the type of the trees of a teacher
CHUNK_SENTENCES = 500  # that a process parses at a time
MAX_CHUNKS = 64  # in memory
PLAIN_TAGS = {"W", "X", ""}  # of words in trees written by parsers


class Teacher:
    """A model or a file that gives a tree, or head distributions, for each sentence of the training text."""

    def __init__(
        self,
        name: str,
        output: Output = "trees",
        *,
        device: str = "auto",
        is_needed: Callable[[Sentence], bool] = lambda sentence: True,
    ) -> None:
        """``name`` is a model specification or a file. Raises SynparseError if it cannot give ``output``.

        A model gives a tree without phrases for a sentence for which ``is_needed`` is false.
        """
        self.name, self.output, self.is_needed = name, output, is_needed
        self.parser: Parser | None = None
        if is_file(name):
            return
        from induce.parsing.load import load_parser

        if locate(parse_model_spec(name).path).type in (PathType.MISSING, PathType.TREEBANK):
            raise SynparseError(f"{name}: there is no model and no file of {output} to learn from")
        self.parser = load_parser(name, device=device)
        self.parser.must_give(output, "another model")

    def predictions(self, sentences: Iterable[Sentence]) -> Iterator[Any]:
        """For each sentence, in order, a tree over all its words, or the distributions (N, N) of their heads.

        A word is the root with the probability on the diagonal. Raises SynparseError if a file is not over the same
        sentences.
        """
        if self.parser is None:
            for _, analysis in with_analyses(sentences, read_sentences([self.name]), self.name):
                if self.output == "trees" and analysis.tree:
                    yield analysis.tree.without_traces()
                elif self.output == "heads" and analysis.heads:
                    yield _one_hot(analysis.heads)
                else:
                    raise SynparseError(f"{analysis.location}: no {self.output} in this sentence")
            return
        plain = (Sentence(sentence.words, sentence.tags) for sentence in sentences)
        parser, count = self.parser, worker_count(self.parser.device)
        while block := list(islice(plain, CHUNK_SENTENCES * MAX_CHUNKS)):
            needed = list(filter(self.is_needed, block))
            chunks = [needed[start : start + CHUNK_SENTENCES] for start in range(0, len(needed), CHUNK_SENTENCES)]
            results = map_in_workers(lambda chunk: _parsed(parser, chunk), chunks, max(1, min(count, len(chunks))))
            parsed = chain.from_iterable(results)
            for sentence in block:
                yield next(parsed) if self.is_needed(sentence) else Tree.from_spans(sentence.words, ())

    @property
    def saw_gold(self) -> bool:
        """Whether this is a file with gold annotation, or a model that learned from gold trees, directly or not."""
        if self.parser is None:
            first = next(iter(read_sentences([self.name])), None)
            return first is not None and bool(set(first.tags or ()) - PLAIN_TAGS)  # tags, as in a treebank
        source = self.parser.learned_from
        if not source or source.startswith(REWARDS):
            return False
        return not source.startswith(PARSED) or f"{GOLD} {self.output}" in source


def check_teachers(request: RunRequest, config: RunConfig) -> None:
    """Raise SynparseError if the model of ``config`` cannot learn from teachers."""
    name, entry, reading = config.model_name, entry_of(config), config.loader_name
    if config.data.token == "character":
        raise SynparseError("--teacher is about words; data.token=character has none")
    supervised = {SpanSupervisedBatch, SpanTargetBatch, HeadSupervisedBatch} & set(LOADERS.get(reading).batches)
    if not entry.learns_trees and not (entry.teacher_output and supervised):
        trees, heads = (
            ", ".join(key for key, value in MODELS.items() if value.teacher_output == output) for output in OUTPUTS
        )
        raise SynparseError(
            f"model {name!r} (loader.name = {reading}) cannot learn from a teacher; "
            f"--teacher is for {trees} (trees), {heads} (heads)"
        )
    if config.model.get("start") == "random":
        raise SynparseError("model.start=random learns no initial trees; leave it or --teacher out")


def supervise(request: RunRequest, config: RunConfig) -> Supervision:
    """The trees or heads of the teachers: in a treebank for models that learn from one, else as references."""
    entry = entry_of(config)
    if entry.needs_teacher and (request.dev or request.sample):
        check_development(request.teachers)
    output = entry.teacher_output or "trees"
    longest = getattr(config.loader, "longest", 0)
    # Grammars never read longer sentences in training, and are scored without trees. Most of the time of parsing a text
    # is for its long sentences.
    is_grammar = output == "trees" and not entry.learns_trees
    skips = longest and is_grammar and SpanSupervisedBatch in LOADERS.get(config.loader_name).batches
    normalize = RECIPES[config.data.normalization]
    teachers = [
        Teacher(
            name,
            output,
            device=request.device,
            is_needed=lambda sentence: not skips or len(normalize(sentence.words, sentence.tags).forms) <= longest,
        )
        for name in request.teachers
    ]
    annotation = annotation_type(teachers)
    if entry.learns_trees:
        options = replace(request.input_options, tokenize=config.data.tokenization)
        return Supervision(annotation, treebank=parse_with_teacher(teachers, request, options))
    return Supervision(annotation, head_references(teachers) if output == "heads" else tree_references(teachers))


def tree_references(teachers: Sequence[Teacher]) -> Callable[[Iterable[Sentence]], Iterator[Sequence[Tree]]]:
    """Function from sentences to the trees of all teachers for each."""
    return lambda sentences: zip(*_predictions(teachers, sentences), strict=True)


def head_references(teachers: Sequence[Teacher]) -> Callable[[Iterable[Sentence]], Iterator[np.ndarray]]:
    """Function from sentences to the mean head distributions (N, N) of all teachers for each."""
    return lambda sentences: (
        np.mean(squares, axis=0) for squares in zip(*_predictions(teachers, sentences), strict=True)
    )


def parse_with_teacher(teachers: Sequence[Teacher], request: RunRequest, options: InputOptions) -> Treebank:
    """The training text with the trees of the only teacher, for models that learn from a treebank.

    Raises SynparseError for several teachers, or without a text.
    """
    teacher, *others = teachers
    if others:
        raise SynparseError(f"{others[0].name}: this model learns from one teacher; give --teacher once")
    if not request.text:
        raise SynparseError(f"{teacher.name}: a teacher parses the training text; name a TEXT")
    text = [replace(sentence, tree=None, heads=(), relations=()) for sentence in read_text(request.text, options)]
    text = [sentence for sentence in text if sentence.words]
    trees = teacher.predictions(text)
    return Treebank(teacher.name, [replace(sentence, tree=tree) for sentence, tree in zip(text, trees, strict=True)])


def check_development(names: Sequence[str]) -> None:
    """Raises SynparseError for a file: it has trees or heads of the training text, and none of development text."""
    for name in filter(is_file, names):
        raise SynparseError(
            f"{name}: this file is about the training text alone, and the development text needs a teacher, too; "
            "name a model, or give a TEXT without --dev"
        )


def annotation_type(teachers: Sequence[Teacher]) -> str:
    """``gold trees`` if a teacher has seen gold annotation, else ``parsed trees``. Likewise for heads."""
    gold = any(teacher.saw_gold for teacher in teachers)
    return f"{GOLD if gold else PARSED} {teachers[0].output}"


def is_file(name: str) -> bool:
    """Whether a teacher is a file of trees or heads, or a folder of parsed text, and not a model."""
    return locate(name).type in (PathType.FILE, PathType.PARSED)


def _predictions(teachers: Sequence[Teacher], sentences: Iterable[Sentence]) -> list[Iterator[Any]]:
    copies = tee(sentences, len(teachers))
    return [teacher.predictions(copy) for teacher, copy in zip(teachers, copies, strict=True)]


def _parsed(parser: Parser, sentences: Sequence[Sentence]) -> list[Any]:
    """Trees, or head distributions (N, N) over all words, with rows of zeros for words that the model does not read."""
    if parser.output == "trees":
        return list(parser.parse(sentences))
    if parser.structure is not HeadDistribution:
        return [_one_hot(heads) for _, heads in parser.parse_heads(sentences)]
    squares = []
    for reading in parser.predict(sentences):
        square = np.zeros((len(reading.words), len(reading.words)), dtype=np.float32)
        square[np.ix_(reading.indices, reading.indices)] = reading.scores
        squares.append(square)
    return squares


def _one_hot(heads: Sequence[int]) -> np.ndarray:
    """Distributions (N, N) with probability 1 for each given head."""
    square = np.zeros((len(heads), len(heads)), dtype=np.float32)
    square[range(len(heads)), [word if head == ROOT else head for word, head in enumerate(heads)]] = 1
    return square
