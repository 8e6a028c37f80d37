"""Scores over characters, for parsers that do not see the word boundaries of a treebank.

Each gold word becomes its characters, and each word of several characters a bracket over them. The leaves of predicted
trees, characters or the words of a segmenter, are treated alike. Then trees are scored as usual. In addition, words are
scored on their own: a gold word is predicted if a leaf begins and ends where the word does. (Zhang et al. 2013 score
joint segmentation and parsing in this way.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, compress, pairwise
from typing import Any

from treebank.base.errors import SynparseError
from treebank.core.sentence import Sentence, Surface, Treebank
from treebank.core.tags import short_sentences
from treebank.core.tree import Span, Tree
from treebank.core.word_check import align, mismatch, plain
from treebank.evaluate.align import by_sentence, check_has_trees, readings
from treebank.evaluate.systems import System, SystemInfo
from treebank.io.predictions import PredictedTree
from treebank.tokenize.segmenters import is_unspaced

WORD = "word"  # the label of a bracket over the characters of a word
NOTE = "over characters"


@dataclass(frozen=True, slots=True)
class WordScore:
    """Agreement of the words of a system with those of gold, over all sentences together.

    ``matched``, ``predicted`` and ``gold`` count words. ``bracketed`` counts the gold words of several characters that
    are a bracket or a leaf of the tree, out of ``multi_character``.
    """

    info: SystemInfo
    matched: int
    predicted: int
    gold: int
    bracketed: int
    multi_character: int

    @property
    def precision(self) -> float:
        return 100 * self.matched / max(1, self.predicted)

    @property
    def recall(self) -> float:
        return 100 * self.matched / max(1, self.gold)

    @property
    def value(self) -> float:
        """F1 of words in percent."""
        return 200 * self.matched / max(1, self.predicted + self.gold)

    @property
    def in_brackets(self) -> float:
        """Percentage of the words of several characters that are a bracket or a leaf."""
        return 100 * self.bracketed / max(1, self.multi_character)

    def to_json(self) -> dict[str, Any]:
        """The entry under ``words`` in the output of ``synparse eval --format json``."""
        name, model = self.info.name, self.info.model
        scores = {"value": self.value, "precision": self.precision, "recall": self.recall}
        entry = {"system": name, "metric": "word F1", **scores, "in_brackets": self.in_brackets}
        return entry | ({"model": model} if model else {})


def over_characters(tree: Tree) -> Tree:
    """``tree`` with the characters of its words as leaves, and a bracket for each word of several characters."""
    words = plain(tree.words)
    ends = list(accumulate(map(len, words), initial=0))
    spans = [(ends[start], ends[end]) for start, end in tree.spans]
    in_words = [((ends[i], ends[i + 1]), WORD) for i, word in enumerate(words) if len(word) > 1]
    tags = chain.from_iterable([tag] * len(word) for word, tag in zip(words, tree.tags, strict=True))
    brackets = [*zip(spans, tree.labels, strict=True), *in_words]  # a word comes after its phrases
    return Tree.from_brackets(chain.from_iterable(words), tags, brackets)


def running_text(words: Sequence[str]) -> Surface:
    """``words`` as text, with spaces between them except next to a character of a script without spaces."""
    text, spans = "", []
    for word in words:
        if text and not (is_unspaced(text[-1]) or is_unspaced(word[0])):
            text += " "
        spans.append((len(text), len(text) + len(word)))
        text += word
    return Surface(text, tuple(spans))


def character_treebank(gold: Treebank) -> Treebank:
    """All sentences over their characters. The note of the treebank says so in every signature.

    Raises SynparseError if a sentence has no tree.
    """
    check_has_trees(gold)
    trees = [sentence.tree.without_traces() for sentence in gold.sentences if sentence.tree is not None]
    pairs = zip(gold.sentences, trees, strict=True)
    sentences = [sentence.with_tree(over_characters(tree)) for sentence, tree in pairs]
    return replace(gold, sentences=sentences, note=", ".join(filter(None, [gold.note, NOTE])))


def character_systems(
    systems: Sequence[System], gold: Treebank, *, max_length: int | None = None
) -> tuple[list[System], list[WordScore]]:
    """The systems with trees over characters, and the word scores of all systems except baselines.

    Both are for the sentences of at most ``max_length`` words. Raises SynparseError if the trees do not fit them.
    """
    included = short_sentences(gold, max_length)
    scored = replace(gold, sentences=list(compress(gold.sentences, included)))
    texts = [replace(sentence, surface=running_text(plain(sentence.words))) for sentence in scored.sentences]
    converted, scores = [], []
    for system in systems:
        if system.predict is not None:
            predicted = (system.predict_text or system.predict)(texts)
            by_index = by_sentence(
                *(system.name, predicted, gold, included, "tree"),
                lambda i, tree: _tree(tree, gold.sentences[i]),
            )
            trees = [_tree(by_index[i], gold.sentences[i]) for i in compress(range(len(gold)), included)]
            scores.append(word_score(system.info, trees, scored))
            predictions = [PredictedTree(system.name, i, "", over_characters(tree)) for i, tree in enumerate(trees, 1)]
            system = System(system.info, "trees", lambda sentences, predictions=predictions: predictions)  # type: ignore[misc]
        converted.append(system)
    return converted, scores


def _tree(predicted: PredictedTree, sentence: Sentence) -> Tree:
    """The reading of a prediction whose leaves spell the sentence. Raises SynparseError if neither reading does."""
    if predicted.spans is not None:
        return predicted.over(sentence.words)
    characters = "".join(plain(sentence.words))
    trees = [tree.without_traces() for tree in readings(predicted)]
    spellings = ["".join(plain(tree.words)) for tree in trees]
    for tree, spelling in zip(trees, spellings, strict=True):
        if align(characters, [[True] * len(characters)], spelling):
            return tree
    location = f"{predicted.path}:{predicted.line}"
    raise SynparseError(
        mismatch(spellings, [characters], location=location, gold_location=str(sentence.location), unit="character")
    )


def word_score(info: SystemInfo, trees: Sequence[Tree], gold: Treebank) -> WordScore:
    """The score of the words that are leaves of ``trees``, one tree per gold sentence."""
    matched = predicted = words = bracketed = multi_character = 0
    for tree, sentence in zip(trees, gold.sentences, strict=True):
        leaves, reference = _spans(tree.words), _spans(sentence.words)
        units = {*leaves, *over_characters(tree).spans}
        long = [(start, end) for start, end in reference if end - start > 1]
        matched += len(leaves & reference)
        predicted += len(leaves)
        words += len(reference)
        bracketed += sum(span in units for span in long)
        multi_character += len(long)
    return WordScore(info, matched, predicted, words, bracketed, multi_character)


def _spans(words: Sequence[str]) -> set[Span]:
    """Start and end of each word, in characters."""
    ends = list(accumulate(map(len, plain(words)), initial=0))
    return set(pairwise(ends))
