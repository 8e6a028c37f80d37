"""Sentences as other libraries hold them, which are not needed for anything else."""

from __future__ import annotations

from typing import Any

from treebank.base.errors import SynparseError
from treebank.core.sentence import ROOT, Sentence

BRACKETS = "constituents"  # the name of the group of spans


def spacy_doc(sentence: Sentence, vocab: Any = None) -> Any:
    """The sentence as spaCy's ``Doc``: words, tags, heads, relations; its brackets as ``doc.spans["constituents"]``.

    The brackets come in pre-order, with their labels; spaCy has no trees of constituents. ``vocab`` is that of a
    spaCy pipeline, by default an empty one. Raises SynparseError where spaCy is not installed.
    """
    try:
        from spacy.tokens import Doc, Span
        from spacy.vocab import Vocab
    except ImportError:
        raise SynparseError("spaCy is not installed; pip install spacy") from None
    heads = [i if head == ROOT else head for i, head in enumerate(sentence.heads)] or None
    relations = sentence.relations or ("dep",) * len(sentence.heads)
    deps = ["ROOT" if head == ROOT else name for name, head in zip(relations, sentence.heads, strict=True)] or None
    doc = Doc(
        vocab if vocab is not None else Vocab(),
        words=list(sentence.words),
        tags=list(sentence.tags) or None,
        pos=list(sentence.universal_tags) or None,
        heads=heads,
        deps=deps,
    )
    if sentence.tree is not None:
        tree = sentence.tree.without_traces()
        doc.spans[BRACKETS] = [
            Span(doc, start, end, label=label) for (start, end), label in zip(tree.spans, tree.labels, strict=True)
        ]
    return doc
