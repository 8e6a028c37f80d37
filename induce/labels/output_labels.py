"""Induced labels on the phrases, and induced relations of the heads, that a parser predicts."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from induce.labels.induced_labels import (
    MAX_SENTENCES,
    NO_LABEL,
    PhraseLabeler,
    RelationLabeler,
    learn_labels,
    learn_relations,
)
from induce.parsing.parser import Parser, PredictOptions, Words
from induce.search.parsed_corpus import Corpus
from treebank.base.errors import SynparseError
from treebank.base.files import digest_bytes
from treebank.core.sentence import Sentence
from treebank.core.tree import Tree
from treebank.corpora.catalog import files_of, read_input
from treebank.io.lines import OnBad
from treebank.io.read import InputOptions


class OutputLabeler:
    """Induced labels for the output of a parser: of the phrases of its trees, or of its arcs.

    ``names`` differ for labels that mean something else. ``legend`` describes the labels.
    """

    def __init__(self, parser: Parser, labeler: PhraseLabeler | RelationLabeler) -> None:
        self._parser, self._labeler, self.legend = parser, labeler, labeler.legend
        self.names = (digest_bytes("\n".join(self.legend).encode("utf-8", "surrogatepass")),)  # P1 has no meaning alone

    def label(self, tree: Tree) -> Tree:
        """The tree with induced labels. Raises SynparseError if the parser labels phrases itself."""
        assert isinstance(self._labeler, PhraseLabeler)
        return self._labeler.relabel(unlabeled(tree, self._parser))

    def relations(self, words: Sequence[str], heads: Sequence[int]) -> tuple[str, ...]:
        """The induced relation of each word to its head."""
        assert isinstance(self._labeler, RelationLabeler)
        return self._labeler.relations(words, heads)


def induce_labels(
    parser: Parser,
    paths: Sequence[str],
    labels_of: Sequence[str],
    *,
    input_options: InputOptions,
    on_bad: OnBad | None,
    min_confidence: float,
    labels: int | None,
    seed: int,
) -> OutputLabeler:
    """Labels for the output of ``parser``, learned from the trees or heads in ``labels_of``, or else in its output.

    Without ``labels_of``, the texts ``paths`` are parsed twice. Raises SynparseError if one of them is a stream.
    """
    if labels_of:
        corpus = Corpus(labels_of, model=parser, input_options=input_options, on_bad=on_bad)
        learn = learn_relations if parser.output == "heads" else learn_labels
        return OutputLabeler(parser, learn(corpus, labels=labels, seed=seed))
    if not all(map(os.path.isfile, files_of(paths))):
        raise SynparseError("the text is read twice, so it cannot be a stream; name files or --labels-of")
    text = read_input(paths, input_options=input_options, on_bad=on_bad)
    reading = PredictOptions(on_refused=on_bad)
    labeler = learn_from_output(parser, text, reading, min_confidence=min_confidence, labels=labels, seed=seed)
    return OutputLabeler(parser, labeler)


def learn_from_output(
    parser: Parser,
    sentences: Iterable[Words],
    reading: PredictOptions,
    *,
    min_confidence: float = -math.inf,
    labels: int | None,
    seed: int,
) -> PhraseLabeler | RelationLabeler:
    """Learn labels from the trees or heads that ``parser`` predicts for the first sentences of a text.

    Phrases with less than ``min_confidence`` are left out. Raises SynparseError if the parser labels phrases itself.
    """
    text = islice(sentences, MAX_SENTENCES)
    if parser.output == "heads":
        parses = parser.parse_confident_heads(text, reading)
        predicted = (Sentence(tuple(parse.words), heads=tuple(parse.heads)) for parse in parses)
        return learn_relations(predicted, labels=labels, seed=seed)
    if min_confidence > -math.inf:
        trees: Iterator[Tree] = (parsed.tree for parsed in parser.parse_confident(text, min_confidence, reading))
    else:
        trees = parser.parse(text, reading)
    return learn_labels((Sentence(()).with_tree(unlabeled(tree, parser)) for tree in trees), labels=labels, seed=seed)


def unlabeled(tree: Tree, parser: Parser) -> Tree:
    """Return ``tree`` if its constituents have no labels.

    Raises SynparseError if they have, which means that ``parser`` is a grammar with symbols of its own.
    """
    label = next((label for label in tree.labels if label != NO_LABEL), None)
    if label:
        raise SynparseError(f"model {parser.name!r}: its phrases have labels, such as {label}; leave out --labels")
    return tree
