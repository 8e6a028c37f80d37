"""Trees over characters: parsers that see no word boundaries are scored against the words of a treebank.

Every word of gold becomes its characters, and each word of several characters a bracket over them; so do the leaves of
predicted trees, whatever they are: characters, or the words that a segmenter found. Then trees are scored as ever, and
words by themselves: a word is found if it begins and ends where a leaf does (Zhang et al. 2013 score joint
segmentation and parsing in this way).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, pairwise
from typing import Any

from treebank.base.errors import SynparseError
from treebank.core.annotation import Surface
from treebank.core.sentence import Sentence, Treebank
from treebank.core.tree import Span, Tree
from treebank.evaluate.align import agreeing, plain
from treebank.evaluate.systems import Expectation, ParsedTrees, Predictions, TreeSystem
from treebank.io.predictions import PredictedTree
from treebank.tokenize.segmenters import is_unspaced

WORD = "word"  # the label of a bracket over the characters of a word
NOTE = "over characters"


@dataclass(frozen=True, slots=True)
class WordScore:
    """How many words of gold a system found: in percent, over all sentences together."""

    system: str
    found: int
    predicted: int
    gold: int
    bracketed: int  # of the words of several characters, how many have a bracket or a leaf of their own
    several: int  # of those there are
    model: str = ""  # the folder of a trained model

    @property
    def precision(self) -> float:
        return 100 * self.found / max(1, self.predicted)

    @property
    def recall(self) -> float:
        return 100 * self.found / max(1, self.gold)

    @property
    def value(self) -> float:
        """F1 of words."""
        return 200 * self.found / max(1, self.predicted + self.gold)

    @property
    def in_brackets(self) -> float:
        """Of the words of several characters, how many have a bracket or a leaf of their own."""
        return 100 * self.bracketed / max(1, self.several)

    def to_json(self) -> dict[str, Any]:
        """The entry under ``words`` in the output of ``synparse eval --format json``."""
        scores = {"value": self.value, "precision": self.precision, "recall": self.recall}
        system = self.system.removesuffix(f" {self.model}") if self.model else self.system
        entry = {"system": system, "metric": "word F1", **scores, "in_brackets": self.in_brackets}
        return entry | ({"model": self.model} if self.model else {})


def over_characters(tree: Tree) -> Tree:
    """``tree`` with the characters of its words for leaves, and a bracket for each word of several characters."""
    words = plain(tree.words)
    ends = list(accumulate(map(len, words), initial=0))
    spans = [(ends[start], ends[end]) for start, end in tree.spans]
    brackets = list(zip(spans, tree.labels, strict=True))
    brackets += [((ends[i], ends[i + 1]), WORD) for i, word in enumerate(words) if len(word) > 1]
    brackets.sort(key=lambda one: (one[0][0], -one[0][1]))  # a word stays below the phrases over it
    tags = chain.from_iterable([tag] * len(word) for word, tag in zip(words, tree.tags, strict=True))
    return Tree(
        tuple(chain.from_iterable(words)),
        tuple(tags),
        tuple(span for span, _ in brackets),
        tuple(label for _, label in brackets),
    )


def written(words: Sequence[str]) -> Surface:
    """``words`` as running text: spaces between them, but not beside a character of a script that has none."""
    text, spans = "", []
    for word in words:
        if text and not (is_unspaced(text[-1]) or is_unspaced(word[0])):
            text += " "
        spans.append((len(text), len(text) + len(word)))
        text += word
    return Surface(text, tuple(spans))


def spelt(sentence: Sentence) -> Sentence:
    """The sentence over its characters, with its tree. Raises SynparseError if it has none."""
    if sentence.tree is None:
        raise SynparseError(f"{sentence.place}: this sentence has no tree; over characters only trees are scored")
    return sentence.with_tree(over_characters(sentence.tree.without_traces()))


def spelt_treebank(gold: Treebank) -> Treebank:
    """All sentences over their characters; the note says so in every score line."""
    note = ", ".join(filter(None, [gold.note, NOTE]))
    return replace(gold, sentences=[spelt(sentence) for sentence in gold.sentences], note=note)


def spelt_systems(
    systems: Sequence[TreeSystem | Expectation], gold: Treebank
) -> tuple[list[TreeSystem | Expectation], list[WordScore]]:
    """The systems with trees over characters, and the words that those found which parse or have parsed text.

    Raises SynparseError for trees of other sentences.
    """
    made, scores = list[TreeSystem | Expectation](), list[WordScore]()
    for system in systems:
        if isinstance(system, Predictions | ParsedTrees):
            trees = [_fitting(*pair) for pair in zip(_given(system, gold), gold.sentences, strict=True)]
            scores.append(replace(word_score(system.name, trees, gold), model=system.model))
            system = Predictions(
                system.name,
                [PredictedTree(system.name, i, "", over_characters(tree)) for i, tree in enumerate(trees, 1)],
                model=system.model,
                learned_from=system.learned_from,
                decoded=system.decoded,
            )
        made.append(system)
    return made, scores


def _given(system: Predictions | ParsedTrees, gold: Treebank) -> Sequence[PredictedTree]:
    """One tree for each sentence of gold."""
    if isinstance(system, ParsedTrees):
        texts = [replace(sentence, surface=written(sentence.words)) for sentence in gold.sentences]
        parse = system.parse_text or system.parse
        return [PredictedTree(system.name, i, "", tree) for i, tree in enumerate(parse(texts), 1)]
    if len(system.trees) != len(gold):
        raise SynparseError(f"{system.name}: {len(system.trees):,} trees for {len(gold):,} sentences of {gold.name}")
    return system.trees


def _fitting(predicted: PredictedTree, sentence: Sentence) -> Tree:
    """The tree of a prediction, read so that its leaves spell the sentence. Raises SynparseError if they do not."""
    wanted = "".join(plain(sentence.words))
    if predicted.spans is not None:
        return predicted.over(sentence.words)
    readings = [predicted.labelled] if predicted.labelled is not None else []
    readings += [predicted.bare] if predicted.text else []
    for tree in (reading.without_traces() for reading in readings):
        if "".join(plain(tree.words)) == wanted:
            return tree
    found = "".join(plain(readings[0].words)) if readings else ""
    at = agreeing(found, wanted)
    shown = [repr(text[at : at + 5]) if at < len(text) else "the end" for text in (found, wanted)]
    place = f"{predicted.path}:{predicted.line}"
    raise SynparseError(
        f"{place}: the characters differ from {sentence.place}: after {at} of them {shown[0]}, in gold {shown[1]}"
    )


def word_score(system: str, trees: Sequence[Tree], gold: Treebank) -> WordScore:
    """The words that are leaves of ``trees``, one for each sentence of gold."""
    found = predicted = words = bracketed = several = 0
    for tree, sentence in zip(trees, gold.sentences, strict=True):
        leaves, wanted = _spans(tree.words), _spans(sentence.words)
        whole = {*leaves, *over_characters(tree).spans}
        long = [(start, end) for start, end in wanted if end - start > 1]
        found += len(leaves & wanted)
        predicted += len(leaves)
        words += len(wanted)
        bracketed += sum(span in whole for span in long)
        several += len(long)
    return WordScore(system, found, predicted, words, bracketed, several)


def _spans(words: Sequence[str]) -> set[Span]:
    """Where each word begins and ends, in characters."""
    ends = list(accumulate(map(len, plain(words)), initial=0))
    return set(pairwise(ends))
