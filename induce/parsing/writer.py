"""Output of parsed text as lines: formats, single files, folders of files, and resuming of interrupted jobs."""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, Protocol

from induce.decoding.specification import k_best_decoder
from induce.parsing.json_lines import (
    Relations,
    confidence_notes,
    heads_line,
    ranked_heads_line,
    ranked_line,
    tree_line,
    with_confidence_labels,
)
from induce.parsing.output_batch import FinishedFiles, batches, remove_shards, report_finished
from induce.parsing.output_lock import OutputFolder, locked_output
from induce.parsing.parser import Parser, block_of
from induce.parsing.reading import ConfidentTree, ScoredTree
from treebank.base.errors import TreebankError, UsageError, placed
from treebank.base.terminal_text import quantity
from treebank.core.sentence import Location, Sentence
from treebank.core.tree import Tree
from treebank.corpora.catalog import read_input
from treebank.io.conllu_writer import ConlluWriter
from treebank.io.expand import expand
from treebank.io.lines import OnBad
from treebank.io.read import InputOptions, OnSentence
from treebank.io.source import AnyPath

#: format that can be resumed -> suffix of its files
SUFFIXES = {"brackets": ".trees", "jsonl": ".jsonl", "conllu": ".conllu"}

PART_SUFFIX = ".part"  # of an incomplete output file

Draw = Callable[[Sentence], str]  # picture of a sentence with a predicted tree or heads


class Labeler(Protocol):
    """Labels for predicted trees and heads."""

    names: Sequence[str]

    def label(self, tree: Tree) -> Tree:
        """The tree with labels of its phrases."""

    def relations(self, words: Sequence[str], heads: Sequence[int]) -> Sequence[str]:
        """The relation of each word to its head."""


@dataclass(frozen=True)
class TreeOptions:
    """Options of the trees of a job.

    Phrases with a confidence below ``min_confidence`` are left out. With ``marked``, the confidence is written into
    labels (``X=0.93``), or into MISC for heads. With ``k``, the k best trees are written instead of one. ``labeler``
    gives the phrases labels, or the arcs relations.
    """

    min_confidence: float = -math.inf
    marked: bool = False
    k: int | None = None
    labeler: Labeler | None = None

    def facts(self) -> dict[str, Any]:
        """The options, for the record of a job."""
        limit = None if self.min_confidence == -math.inf else self.min_confidence
        labels = " ".join(self.labeler.names) if self.labeler else None
        return {"min_confidence": limit, "mark_confidence": self.marked, "k": self.k, "labels": labels}


class SentenceBuffer:
    """Passes sentences on and stores them until `next` returns them, in the same order.

    An empty sentence replaces each malformed sentence, whose locations are in ``broken``.
    """

    def __init__(self, sentences: Iterable[Sentence], broken: deque[Location] | None = None) -> None:
        self._sentences = sentences
        self._broken = broken if broken is not None else deque()
        self._passed: deque[Sentence] = deque()

    def __iter__(self) -> Iterator[Sentence]:
        for sentence in self._sentences:
            yield from self._replacements(sentence.location)
            self._passed.append(sentence)
            yield sentence
        yield from self._replacements(None)

    def next(self) -> Sentence:
        """Remove and return the oldest stored sentence."""
        return self._passed.popleft()

    def _replacements(self, following: Location | None) -> Iterator[Sentence]:
        """Empty sentences for the malformed ones before position ``following``. Readers may be further ahead."""
        while self._broken and (following is None or _before(self._broken[0], following)):
            empty = Sentence((), location=self._broken.popleft())
            self._passed.append(empty)
            yield empty


def _before(broken: Location, following: Location) -> bool:
    return broken.path != following.path or broken.line < following.line


@dataclass(frozen=True)
class Job:
    """Parsing job: text read with ``input_options``, parsed by ``parser`` and written in the format ``form``.

    ``draw`` returns the pictures of the format ``drawing``. ``on_bad`` is called with the error of each malformed
    sentence, for which an empty line is written; without ``on_bad`` the first one raises its error. ``watch`` is called
    with the position of each sentence that is written.
    """

    parser: Parser
    form: str
    input_options: InputOptions
    draw: Draw | None = None
    on_bad: OnBad | None = None
    watch: OnSentence | None = None
    options: TreeOptions = TreeOptions()

    def __post_init__(self) -> None:
        """Raises SynparseError if the parser or format gives no confidence, or one tree, and the options need more."""
        if self.options.min_confidence > -math.inf:
            self.parser.must_support("trees")
        if self.options.marked:
            self.parser.must_support(self.parser.output)
            if self.draw and self.parser.output == "heads":
                raise UsageError("drawings of heads show no confidence; leave out --mark-confidence")
        if self.options.k:
            k_best_decoder(self.parser.decoder, self.parser.gives)

    def lines(self, paths: Sequence[AnyPath], *, skip: int = 0, first: int = 1) -> Iterator[str]:
        """Lines of the sentences in ``paths``, in order, without the first ``skip`` sentences.

        ``first`` is the number of the first sentence in CoNLL-U output, if ``paths`` begin in the middle of a text.
        """
        broken: deque[Location] = deque()
        on_bad = None if self.on_bad is None else self._error_collector(broken)
        options = replace(self.input_options, keep_annotation=True)
        self.parser.on_refused = self.on_bad
        source = SentenceBuffer(read_input(paths, input_options=options, on_bad=on_bad), broken)
        return self._written(source, skip, first)

    def _error_collector(self, broken: deque[Location]) -> OnBad:
        def collect(error: TreebankError) -> None:
            broken.append(Location(error.path, error.line))
            if self.on_bad:
                self.on_bad(error)

        return collect

    def _written(self, source: SentenceBuffer, skip: int, first: int) -> Iterator[str]:
        sentences = iter(source)
        for _ in islice(sentences, skip):
            source.next()
        if self.parser.output == "heads" and self.options.k:
            for words, heads in self.parser.parse_k_best_heads(sentences, self.options.k):
                yield ranked_heads_line(words, heads, self._next(source), self._relations)
        elif self.parser.output == "heads":
            yield from self._lines_of_heads(sentences, source, first + skip)
        elif self.options.k:
            for trees in self.parser.parse_k_best(sentences, self.options.k):
                labeled = [ScoredTree(score, self._labeled(tree)) for score, tree in trees]
                yield ranked_line(labeled, self._next(source))
        elif self.form == "jsonl" or self.options.marked or self.options.min_confidence > -math.inf:
            for parsed in self.parser.parse_confident(sentences, self.options.min_confidence):
                labeled_tree = ConfidentTree(self._labeled(parsed.tree), parsed.confidences)
                yield self._confident_line(labeled_tree, self._next(source))
        elif self.draw is None:
            for line in self.parser.parse_as(sentences, lambda tree: str(self._labeled(tree))):
                self._next(source)
                yield line
        else:
            for tree in self.parser.parse(sentences):
                yield self.draw(self._next(source).with_tree(self._labeled(tree)))

    def _labeled(self, tree: Tree) -> Tree:
        """The tree with induced labels, if the options have any."""
        return self.options.labeler.label(tree) if self.options.labeler else tree

    @property
    def _relations(self) -> Relations | None:
        """The function that gives the relations of heads, if the options have any."""
        return self.options.labeler.relations if self.options.labeler else None

    def _lines_of_heads(self, sentences: Iterable[Sentence], source: SentenceBuffer, first: int) -> Iterator[str]:
        writer = ConlluWriter(first, predicted=True)
        for parsed in self.parser.parse_confident_heads(sentences):
            sentence, words = self._next(source), parsed.words
            if self.form == "jsonl":
                yield heads_line(parsed, sentence, self._relations)
                continue
            relations = self._relations(words, parsed.heads) if self._relations else ()
            if self.draw is not None:
                heads, where = tuple(parsed.heads), sentence.location
                yield self.draw(Sentence(tuple(words), heads=heads, relations=tuple(relations), location=where))
            else:
                notes = confidence_notes(parsed.confidences) if self.options.marked else ()
                sentence = sentence if words else Sentence(())
                yield writer(sentence, parsed.heads, words=words, notes=notes, relations=relations)

    def _confident_line(self, parsed: ConfidentTree, sentence: Sentence) -> str:
        if self.form == "jsonl":
            return tree_line(parsed, sentence)
        return self._line(with_confidence_labels(parsed) if self.options.marked else parsed.tree, sentence)

    def _line(self, tree: Tree, sentence: Sentence) -> str:
        return str(tree) if self.draw is None else self.draw(sentence.with_tree(tree))

    def _next(self, source: SentenceBuffer) -> Sentence:
        sentence = source.next()
        if self.watch:
            self.watch(sentence.location)
        return sentence

    def facts(self) -> dict[str, Any]:
        """Everything except the text that determines the lines."""
        parser, options = self.parser, self.input_options
        return {
            "model": parser.name,
            "weights": parser.digest,
            "step": parser.facts.step if parser.facts else None,
            "text": parser.facts.training.sha256 if parser.facts else None,
            "decoder": parser.decoder,
            "layer": parser.layer,
            "distances": parser.distances,
            "priors": str(parser.priors),
            "format": self.form,
            "input_format": options.form,
            "encoding": options.encoding,
            "tokenization": options.tokenize,
            "paragraphs": options.paragraphs,
            **self.options.facts(),
        }


def parse_into(
    folder: str,
    paths: Sequence[str],
    job: Job,
    *,
    resume: bool = False,
    tell: Callable[[str], None] = lambda text: None,
) -> int:
    """Write a file into ``folder`` for each file in ``paths`` and return the number of sentences written.

    A file is written as ``NAME.part`` and renamed when its batch of files is on the disk. With ``resume``, complete
    files are not changed, and incomplete ones are continued after their last complete block of sentences, so that they
    have the same bits as without an interruption. Raises SynparseError if the folder contains files of another batch,
    if it contains files and ``resume`` is false, or if a text has changed since its output was written.
    """
    written = number = 0

    def is_begun(name: str) -> bool:
        target = os.path.join(folder, name)
        part = target + PART_SUFFIX
        return os.path.exists(target) or (os.path.exists(part) and os.path.getsize(part) > 0)

    with output_folder(folder, paths, job, resume) as (claim, names), FinishedFiles() as finished:
        for batch in batches(names):
            claim.check(batch, is_begun)
            for path, name in batch.items():
                number += 1
                target = os.path.join(folder, name)
                if os.path.exists(target):
                    remove_shards(folder, name)
                else:
                    count = _parse_one(path, target + PART_SUFFIX, job)
                    written += count
                    line = f"{number} of {quantity(len(names), 'file')}: {path}: {quantity(count, 'sentence')}"
                    finished.add(target + PART_SUFFIX, target, partial(report_finished, folder, name, tell, line))
    return written


@contextmanager
def output_folder(
    folder: str, paths: Sequence[str], job: Job, resume: bool
) -> Iterator[tuple[OutputFolder, dict[str, str]]]:
    """Lock ``folder``, and yield it with the name in it of the output of each input file.

    A name is the path below the common folder of all files, and a suffix. Raises UsageError for a format that cannot be
    resumed and for standard input, and SynparseError as `locked_output` does.
    """
    if job.form not in SUFFIXES:
        raise UsageError(f"--output-dir writes {', '.join(SUFFIXES)}, not {job.form}")
    files = expand(paths, notify=job.input_options.notify)
    if "-" in files:
        raise UsageError("trees of standard input have no file name in --output-dir; use -o FILE")
    shared = os.path.commonpath([os.path.dirname(os.path.abspath(path)) for path in files])
    names = {path: os.path.relpath(os.path.abspath(path), shared) + SUFFIXES[job.form] for path in files}
    with locked_output(folder, job.facts(), list(names.values()), resume) as claim:
        yield claim, names


def _parse_one(path: str, part: str, job: Job) -> int:
    """Write the file ``part``, or the rest of it, and return the number of sentences written."""
    os.makedirs(os.path.dirname(part), exist_ok=True)
    parser, done, count = job.parser, 0, 0
    first_block = parser.first_block
    if os.path.exists(part):
        complete, _ = whole_sentences(part, job.form)
        done, parser.first_block = block_of(complete, first_block, parser.largest_block)
        os.truncate(part, whole_sentences(part, job.form, at_most=done)[1])
    try:
        with placed(part), open(part, "a", encoding="utf-8", errors="surrogateescape", newline="\n") as stream:
            for line in job.lines([path], skip=done):
                print(line, file=stream)
                count += 1
    finally:
        parser.first_block = first_block
    return count


def whole_sentences(path: str, form: str, *, at_most: float = math.inf) -> tuple[int, int]:
    """Number of complete sentences at the beginning of an interrupted file, ``at_most`` so many, and their bytes."""
    count = size = position = 0
    rows = False
    with open(path, "rb") as stream:
        for line in stream:
            position += len(line)
            if not line.endswith(b"\n") or count == at_most:
                break
            rows = form == "conllu" and line != b"\n"
            if not rows:
                count, size = count + 1, position
    return count, size
