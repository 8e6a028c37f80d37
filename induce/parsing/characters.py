"""Trees over the running text of gold sentences, of models that read characters or split text themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate, chain

from induce.data.normalization import Normalized
from induce.parsing.parser import ModelParser
from treebank.core.annotation import Surface
from treebank.core.restore import restore
from treebank.core.sentence import Sentence
from treebank.core.tree import Tree
from treebank.io.text import split_words
from treebank.tokenize import tokenization


def parse_text(parser: ModelParser, sentences: Iterable[Sentence]) -> Iterator[Tree]:
    """A tree over the ``surface`` of each sentence; its leaves spell all of it but the spaces.

    They are characters for a model of characters, else the words that the rule finds which split the model's training.
    """
    texts = [sentence.surface.text if sentence.surface else " ".join(sentence.words) for sentence in sentences]
    if parser.token == "word":
        yield from parser.parse([_cut(text, parser.tokenization) for text in texts])
        return
    given = [Sentence(split_words(text)) for text in texts]
    for sentence, tree in zip(given, parser.parse(given), strict=True):
        yield as_written(tree, sentence.words, parser.recipe(sentence.words))


def _cut(text: str, rule: str) -> Sentence:
    """The words of a text that is one sentence, whatever the rule thinks of its stops."""
    surfaces = list(tokenization(rule).surfaces(text))
    spans = [(one.offset + start, one.offset + end) for one in surfaces for start, end in one.spans]
    words = tuple(text[start:end] for start, end in spans)
    return Sentence(words, surface=Surface(text, tuple(spans)))


def as_written(tree: Tree, words: tuple[str, ...], seen: Normalized) -> Tree:
    """``tree``, over the characters of the words as a recipe leaves them, over those of the ``words`` themselves.

    Characters stand for each other from the left; the last one of a word stands for the rest of it, so that a bracket
    around ``0`` becomes one around ``1996``. The characters of words that the recipe dropped are put back.
    """
    kept = [words[index] for index in seen.kept]
    starts = list(accumulate(map(len, kept), initial=0))
    begins, ends = list[int](), list[int]()
    for start, form, word in zip(starts, seen.forms, kept, strict=False):
        for place in range(len(form)):
            begins.append(start + min(place, len(word)))
            ends.append(start + (len(word) if place == len(form) - 1 else min(place + 1, len(word))))
    spans = [(begins[start], ends[end - 1]) for start, end in tree.spans]
    over_kept = Tree.from_spans(tuple(chain.from_iterable(kept)), [span for span in spans if span[0] < span[1]])
    places = list(accumulate(map(len, words), initial=0))
    kept_places = [place for index in seen.kept for place in range(places[index], places[index + 1])]
    return restore(over_kept, tuple(chain.from_iterable(words)), kept_places)
