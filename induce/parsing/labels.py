"""Induced labels on the phrases that a parser predicts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import islice

from induce.data.phrase_labels import MAX_SENTENCES, NO_LABEL, PhraseLabeler, learn_labels
from induce.parsing.parser import Parser, Words
from treebank.base.errors import SynparseError
from treebank.core.sentence import Sentence
from treebank.core.tree import Tree


def learn_from_output(
    parser: Parser, sentences: Iterable[Words], *, min_confidence: float = -math.inf, labels: int | None, seed: int
) -> PhraseLabeler:
    """Learn labels from the trees that ``parser`` predicts for the first sentences of a text, as `learn_labels` does.

    Phrases with less than ``min_confidence`` are left out. Raises SynparseError if the parser labels phrases itself.
    """
    text = islice(sentences, MAX_SENTENCES)
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
