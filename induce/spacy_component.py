"""A component of spaCy pipelines: ``nlp.add_pipe("synparse")``.

Phrases become the spans ``doc.spans["synparse"]``, outermost first, with their labels, if the model has labels. Their
confidences are in ``doc.spans["synparse"].attrs["confidence"]``. A model of heads sets ``token.head``, with the
relation "ROOT" or "dep". The model does not see tokens of white space; each is a dependent of the token before it.
spaCy finds the component by the entry point ``spacy_factories`` of this package.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from spacy.language import Language
from spacy.tokens import Doc, Span, Token

from treebank.core.sentence import ROOT

if TYPE_CHECKING:
    from induce.parsing.parser import Parser

KEY = "synparse"  # of the spans, and name of the component
BATCH_DOCS = 64  # documents that are parsed together


class SpacyComponent:
    """A parser as a component. Each sentence of a document is parsed, or the document if it has no sentences."""

    def __init__(self, parser: Parser) -> None:
        self.parser = parser

    def __call__(self, doc: Doc) -> Doc:
        """``doc`` with phrases or heads."""
        return next(self.pipe([doc]))

    def pipe(self, docs: Iterable[Doc], batch_size: int = BATCH_DOCS) -> Iterator[Doc]:
        """The documents with phrases or heads, in order."""
        source = iter(docs)
        while batch := list(islice(source, batch_size)):
            sentences = list(map(_sentences, batch))
            words = [[token.text for token in sentence] for of_doc in sentences for sentence in of_doc]
            if self.parser.output == "trees":
                analyses: Iterator[Any] = iter(self.parser.parse_confident(words))
                add = _add_phrases
            else:
                analyses, add = iter(self.parser.parse_heads(words)), _add_heads
            for doc, of_doc in zip(batch, sentences, strict=True):
                add(doc, [(sentence, next(analyses)) for sentence in of_doc])
                yield doc


def _sentences(doc: Doc) -> list[list[Token]]:
    """The words of each sentence that has words, without tokens of white space."""
    sentences = doc.sents if doc.has_annotation("SENT_START") else [doc[:]]
    return [words for sentence in sentences if (words := [token for token in sentence if not token.is_space])]


def _add_phrases(doc: Doc, analyses: list[tuple[list[Token], Any]]) -> None:
    """Set the phrases of ``doc`` from the words and the tree with confidences of each sentence."""
    phrases, confidences = [], []
    for words, (tree, values) in analyses:
        for (start, end), label, value in zip(tree.spans, tree.labels, values, strict=True):
            phrases.append(Span(doc, words[start].i, words[end - 1].i + 1, label=label))
            confidences.append(value)
    doc.spans[KEY] = phrases
    doc.spans[KEY].attrs["confidence"] = confidences


def _add_heads(doc: Doc, analyses: list[tuple[list[Token], Any]]) -> None:
    """Set the heads of ``doc`` from the words and the heads of each sentence."""
    for words, (_, heads) in analyses:
        for token, head in zip(words, heads, strict=True):
            token.head = token if head == ROOT else words[head]
            token.dep_ = "ROOT" if head == ROOT else "dep"
    for token in doc:
        if token.is_space and not token.is_sent_start:
            token.head, token.dep_ = token.nbor(-1), "dep"


@Language.factory(KEY, default_config={"model": "english"})
def create_component(nlp: Language, name: str, model: str) -> SpacyComponent:
    """The component of the model called ``model``: a built-in name, a file or a folder."""
    from induce.parsing.load import load_parser

    return SpacyComponent(load_parser(model))
