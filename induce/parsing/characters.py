"""Trees over the raw text of gold sentences, for models that read characters or tokenize text themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate, chain

from induce.data.normalization import Normalized
from induce.parsing.model_parser import ModelParser
from treebank.core.dependency import restore
from treebank.core.sentence import Sentence, Surface
from treebank.core.tree import Tree
from treebank.io.text import split_words
from treebank.tokenize import tokenization


def parse_text(parser: ModelParser, sentences: Iterable[Sentence]) -> Iterator[Tree]:
    """Trees over the ``surface`` of each sentence, whose leaves spell all of it except for spaces.

    The leaves are characters for a character model, otherwise the words by the tokenization rule of the training text.
    """
    texts = [sentence.surface.text if sentence.surface else " ".join(sentence.words) for sentence in sentences]
    if parser.token == "word":
        yield from parser.parse([_cut(text, parser.tokenization) for text in texts])
        return
    word_sentences = [Sentence(split_words(text)) for text in texts]
    for sentence, tree in zip(word_sentences, parser.parse(word_sentences), strict=True):
        yield as_written(tree, sentence.words, parser.recipe(sentence.words))


def _cut(text: str, rule: str) -> Sentence:
    """Words of a text as one sentence, even if the tokenization rule would split it into several."""
    surfaces = list(tokenization(rule).surfaces(text))
    spans = [(surface.offset + start, surface.offset + end) for surface in surfaces for start, end in surface.spans]
    words = tuple(text[start:end] for start, end in spans)
    return Sentence(words, surface=Surface(text, tuple(spans)))


def as_written(tree: Tree, words: tuple[str, ...], normalized: Normalized) -> Tree:
    """Tree over the characters of ``words``, from a ``tree`` over the characters of the normalized words.

    Characters are aligned from the left, and the last one of a normalized word with the rest of the word: a bracket
    around ``0`` becomes one around ``1996``. The characters of words that the recipe dropped are restored.
    """
    kept_words = [words[index] for index in normalized.indices]
    starts = list(accumulate(map(len, kept_words), initial=0))
    begins, ends = list[int](), list[int]()
    for start, form, word in zip(starts, normalized.forms, kept_words, strict=False):
        for index in range(len(form)):
            begins.append(start + min(index, len(word)))
            ends.append(start + (len(word) if index == len(form) - 1 else min(index + 1, len(word))))
    spans = [(begins[start], ends[end - 1]) for start, end in tree.spans]
    over_kept = Tree.from_spans(tuple(chain.from_iterable(kept_words)), [span for span in spans if span[0] < span[1]])
    offsets = list(accumulate(map(len, words), initial=0))
    kept_offsets = [offset for index in normalized.indices for offset in range(offsets[index], offsets[index + 1])]
    return restore(over_kept, tuple(chain.from_iterable(words)), kept_offsets)
