"""Induced labels on the phrases, and induced relations of the heads, that a parser predicts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import islice

from induce.labels.induced_labels import MAX_SENTENCES
from induce.labels.phrase_labels import NO_LABEL, PhraseLabeler, learn_labels
from induce.labels.relation_labels import RelationLabeler, learn_relations
from induce.parsing.parser import Parser, Words
from treebank.base.errors import SynparseError
from treebank.core.sentence import Sentence
from treebank.core.tree import Tree

Labeler = PhraseLabeler | RelationLabeler


def learn_from_output(
    parser: Parser, sentences: Iterable[Words], *, min_confidence: float = -math.inf, labels: int | None, seed: int
) -> Labeler:
    """Learn labels from the trees or heads that ``parser`` predicts for the first sentences of a text.

    Phrases with less than ``min_confidence`` are left out. Raises SynparseError if the parser labels phrases itself.
    """
    text = islice(sentences, MAX_SENTENCES)
    if parser.output == "heads":
        parses = parser.parse_confident_heads(text)
        predicted = (Sentence(tuple(parse.words), heads=tuple(parse.heads)) for parse in parses)
        return learn_relations(predicted, labels=labels, seed=seed)
    if min_confidence > -math.inf:
        trees: Iterator[Tree] = (parsed.tree for parsed in parser.parse_confident(text, min_confidence))
    else:
        trees = parser.parse(text)
    return learn_labels((Sentence(()).with_tree(unlabeled(tree, parser)) for tree in trees), labels=labels, seed=seed)


def unlabeled(tree: Tree, parser: Parser) -> Tree:
    """Return ``tree`` if its constituents have no labels.

    Raises SynparseError if they have, which means that ``parser`` is a grammar with symbols of its own.
    """
    label = next((label for label in tree.labels if label != NO_LABEL), None)
    if label:
        raise SynparseError(f"model {parser.name!r}: its phrases have labels, such as {label}; leave out --labels")
    return tree
