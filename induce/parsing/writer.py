"""Output of parsed text as lines of brackets, JSON, CoNLL-U or drawings."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from induce.decoding.specification import k_best_decoder
from induce.parsing.parser import FIRST_BLOCK, Parser, PredictOptions, ReadHeads, Report
from induce.parsing.reading import Confidences, ConfidentTree, ScoredHeads, ScoredTree, mean_confidence
from induce.structures import SpanScores
from treebank.base.errors import SynparseError, TreebankError, UsageError
from treebank.base.metadata import json_text
from treebank.core.sentence import Location, Sentence
from treebank.core.tree import Tree
from treebank.corpora.catalog import read_input
from treebank.io.lines import OnBad
from treebank.io.read import InputOptions, OnSentence
from treebank.io.source import AnyPath
from treebank.io.write import ConlluWriter, names_of

Draw = Callable[[Sentence], str]  # picture of a sentence with a predicted tree or heads
DECIMALS = 2  # of a confidence in a label or in MISC
Relations = Callable[[Sequence[str], Sequence[int]], Sequence[str]]  # of the words of a sentence with their heads


class Labeler(Protocol):
    """Labels for predicted trees and heads.

    ``names`` differ for other labels, and ``legend`` explains them.
    """

    names: Sequence[str]
    legend: Sequence[str]

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
    """Passes the sentences of ``texts`` on and stores them until `next` returns them, in the same order.

    An empty sentence replaces each malformed sentence, whose locations are in ``broken``. No text has a file twice.
    """

    def __init__(self, texts: Iterable[Iterable[Sentence]], broken: deque[Location] | None = None) -> None:
        self._texts = texts
        self._broken = broken if broken is not None else deque()
        self._passed: deque[Sentence] = deque()

    def __iter__(self) -> Iterator[Sentence]:
        for sentences in self._texts:
            for sentence in sentences:
                yield from self._replacements(sentence.location)
                self._passed.append(sentence)
                yield sentence
            yield from self._replacements(None)

    def next(self) -> Sentence:
        """Remove and return the oldest stored sentence."""
        return self._passed.popleft()

    def _replacements(self, following: Location | None) -> Iterator[Sentence]:
        """Empty sentences for the malformed ones before position ``following``. Readers may be further ahead."""
        while self._broken:
            path, line = self._broken[0]
            if following is not None and path == following.path and line >= following.line:
                return
            empty = Sentence((), location=self._broken.popleft())
            self._passed.append(empty)
            yield empty


@dataclass(frozen=True)
class Job:
    """Parsing job: text read with ``input_options``, parsed by ``parser`` and written in the format ``form``.

    ``draw`` returns the pictures of the format ``drawing``. ``on_bad`` is called with the error of each malformed
    sentence, for which an empty line is written; without ``on_bad`` the first one raises its error. ``watch`` is called
    with the position of each sentence that is written, ``report`` with messages about the text (None: as the parser).
    """

    parser: Parser
    form: str
    input_options: InputOptions
    draw: Draw | None = None
    on_bad: OnBad | None = None
    watch: OnSentence | None = None
    report: Report | None = None
    options: TreeOptions = TreeOptions()

    def __post_init__(self) -> None:
        """Raises SynparseError if the parser or format gives no confidence, or one tree, and the options need more."""
        if self.options.min_confidence > -math.inf:
            self._check_limit(self.options.min_confidence)
        if self.options.marked:
            self.parser.must_support(self.parser.output)
            if self.draw and self.parser.output == "heads":
                raise UsageError("drawings of heads show no confidence; leave out --mark-confidence")
        if self.options.k:
            k_best_decoder(self.parser.decoder, self.parser.gives)

    def _check_limit(self, limit: float) -> None:
        """Raises SynparseError if the parser has no phrases with confidences, and UsageError for an invalid limit."""
        parser = self.parser
        if parser.output == "heads":
            problem = "heads have no phrases, which --min-confidence leaves out"
            raise SynparseError(
                f"model {parser.name!r}: {problem}; --mark-confidence writes the confidence of each arc"
            )
        parser.must_support("trees")
        if (parser.structure is SpanScores or parser.confidence) and not 0 <= limit <= 1:  # else margins of any size
            raise UsageError(f"--min-confidence {limit:g}: confidences are probabilities; give a number from 0 to 1")
        values = [confidence for _, confidence in parser.confidence]
        if values and limit > max(values):
            (self.report or parser.report)(
                f"--min-confidence {limit:g} leaves out every phrase: "
                f"the confidences of model {parser.name!r} are from {min(values):.2f} to {max(values):.2f}"
            )

    def lines(
        self, paths: Sequence[AnyPath], *, first: int = 1, first_block: int = FIRST_BLOCK, form: str = ""
    ) -> Iterator[str]:
        """Lines of the sentences in ``paths``, in order.

        ``first`` is the number of the first sentence in CoNLL-U output and ``first_block`` the size of the first block,
        if ``paths`` begin in the middle of a text. ``form`` replaces the input format of the options.
        """
        broken: deque[Location] = deque()

        def collect(error: TreebankError) -> None:
            broken.append(Location(error.path, error.line))
            if self.on_bad:
                self.on_bad(error)

        options = replace(self.input_options, keep_annotation=True, form=form or self.input_options.form)
        on_bad = collect if self.on_bad else None
        texts = [read_input([path], input_options=options, on_bad=on_bad) for path in paths]
        source = SentenceBuffer(texts, broken)
        return self._lines(source, first, PredictOptions(first_block, on_refused=self.on_bad, report=self.report))

    def _lines(self, source: SentenceBuffer, first: int, reading: PredictOptions) -> Iterator[str]:
        options, parser = self.options, self.parser
        if parser.output == "heads" and options.k:
            for words, heads in parser.parse_k_best_heads(source, options.k, reading):
                yield ranked_heads_line(words, heads, self._next(source), self._relations)
        elif parser.output == "heads":
            yield from self._lines_of_heads(source, first, reading)
        elif options.k:
            for trees in parser.parse_k_best(source, options.k, reading):
                labeled = [ScoredTree(score, self._labeled(tree)) for score, tree in trees]
                yield ranked_line(labeled, self._next(source))
        elif self.form == "jsonl" or options.marked or options.min_confidence > -math.inf:
            for parsed in parser.parse_confident(source, options.min_confidence, reading):
                labeled_tree = ConfidentTree(self._labeled(parsed.tree), parsed.confidences)
                sentence = self._next(source)
                if self.form == "jsonl":
                    yield tree_line(labeled_tree, sentence)
                    continue
                tree = with_confidence_labels(labeled_tree) if options.marked else labeled_tree.tree
                yield str(tree) if self.draw is None else self.draw(sentence.with_tree(tree))
        elif self.draw is None:  # trees become text in the process that parses them
            for line in parser.decode_all(
                source, lambda read, spans: str(self._labeled(read.all_words(spans))), reading
            ):
                self._next(source)
                yield line
        else:
            for tree in parser.parse(source, reading):
                yield self.draw(self._next(source).with_tree(self._labeled(tree)))

    def _labeled(self, tree: Tree) -> Tree:
        """The tree with induced labels, if the options have any."""
        return self.options.labeler.label(tree) if self.options.labeler else tree

    @property
    def _relations(self) -> Relations | None:
        """The function that gives the relations of heads, if the options have any."""
        return self.options.labeler.relations if self.options.labeler else None

    def _lines_of_heads(self, source: SentenceBuffer, first: int, reading: PredictOptions) -> Iterator[str]:
        writer = ConlluWriter(first, predicted=True)
        for parsed in self.parser.parse_confident_heads(source, reading):
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


def tree_line(parsed: ConfidentTree, sentence: Sentence) -> str:
    """``{"words": […], "spans": [[start, end], …], "line": 1, "confidences": [null, 0.31, …], …}``.

    Spans are in pre-order, and ``labels`` follow if the model labels them. ``confidences`` has one number for each
    span, null for the full sentence, and ``confidence`` is their mean. Both are missing if no span has one.
    """
    tree = parsed.tree
    return _line(sentence, tree.words, _spans(tree), parsed.confidences)


def heads_line(parsed: ReadHeads, sentence: Sentence, label: Relations | None = None) -> str:
    """``{"words": […], "arcs": [1, -1, …], "line": 1, "confidences": [0.9, …], …}``: the head of each word.

    ``relations`` follow ``arcs`` if ``label`` gives the relations of words and heads.
    """
    return _line(sentence, parsed.words, _arcs(parsed.words, parsed.heads, label), parsed.confidences)


def ranked_line(trees: Sequence[ScoredTree], sentence: Sentence) -> str:
    """The line of the best tree, and under ``trees`` the score, the spans and the labels of each tree, best first."""
    best = trees[0].tree
    ranked = [{"score": score, **_spans(tree)} for score, tree in trees]
    return _line(sentence, best.words, {**_spans(best), "trees": ranked}, ())


def ranked_heads_line(
    words: Sequence[str], trees: Sequence[ScoredHeads], sentence: Sentence, label: Relations | None = None
) -> str:
    """The line of the best heads, and under ``trees`` the score and the heads of each tree, best first."""
    ranked = [{"score": score, **_arcs(words, heads, label)} for score, heads in trees]
    return _line(sentence, words, {**_arcs(words, trees[0].heads, label), "trees": ranked}, ())


def _arcs(words: Sequence[str], heads: Sequence[int], label: Relations | None) -> dict[str, Any]:
    return {"arcs": list(heads), "relations": label(words, heads)} if label else {"arcs": list(heads)}


def _spans(tree: Tree) -> dict[str, Any]:
    has_labels = any(label != "X" for label in tree.labels)
    return {"spans": tree.spans, "labels": tree.labels} if has_labels else {"spans": tree.spans}


def _line(sentence: Sentence, words: Sequence[str], parts: dict[str, Any], confidences: Confidences) -> str:
    """A line of JSON with the ``parts`` of the analysis and the origin of the sentence.

    ``line`` is the line number in the file. For raw text, ``offsets`` are the character positions of each word in the
    file. For CoNLL-U, ``id`` and ``document`` are the values of the comments ``sent_id`` and ``newdoc id``.
    """
    value: dict[str, Any] = {"words": words, **parts, "line": sentence.location.line}
    mean = mean_confidence(confidences)
    if mean is not None:
        value |= {"confidence": mean, "confidences": confidences}
    if sentence.surface and sentence.surface.is_in_file and len(words) == len(sentence.words):
        value["offsets"] = sentence.surface.offsets()
    return json_text(value | names_of(sentence))


def with_confidence_labels(parsed: ConfidentTree) -> Tree:
    """The tree with the confidence of each bracket appended to its label: ``X=0.93``.

    Labels of brackets without a confidence are unchanged.
    """
    pairs = zip(parsed.tree.labels, parsed.confidences, strict=True)
    labels = [label if value is None else f"{label}={value:.{DECIMALS}f}" for label, value in pairs]
    return replace(parsed.tree, labels=tuple(labels))


def confidence_notes(confidences: Confidences) -> list[str]:
    """The entry in MISC for each word, ``Confidence=0.93``, or "" if there is no confidence."""
    return ["" if value is None else f"Confidence={value:.{DECIMALS}f}" for value in confidences]
