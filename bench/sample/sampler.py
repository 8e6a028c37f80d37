"""Draws sentences from the grammar: words, tags, brackets and heads at once."""

from __future__ import annotations

from bisect import bisect_right
from random import Random

from bench.sample.grammar import LEVELS, Symbol
from bench.sample.lexicon import WordClass
from treebank.core.tree import Tree

REDRAWS = 4  # how often a word that the sentence has already is drawn again
PUNCTUATION = frozenset((",", ".", ":", "``", "''"))  # the tags that the grammar gives to punctuation
VOWELS = frozenset("aeiou")
CONSONANT_SOUND = frozenset(("useful", "university", "union", "european"))
CONTRACTED = {"can": "ca", "will": "wo"}
VOWEL_SOUND = frozenset(("honest", "hour"))


class Sampler:
    """An endless, reproducible source of parsed sentences.

    Only ``Random.random`` is used, which Python keeps the same in all its versions.
    """

    def __init__(self, start: Symbol, seed: int) -> None:
        self._start = start
        self._random = Random(seed).random
        self._words: list[str] = []
        self._tags: list[str] = []
        self._heads: list[int] = []
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._labels: list[str] = []

    def draw(self) -> tuple[Tree, tuple[int, ...]]:
        """The next tree, and the head of every word (ROOT = -1)."""
        for buffer in (self._words, self._tags, self._heads, self._starts, self._ends, self._labels):
            buffer.clear()
        self._expand(self._start, 0, [])
        words = self._words
        _spell(words)
        first = 1 if self._tags[0] == "``" else 0
        words[first] = words[first][0].upper() + words[first][1:]
        spans = tuple(zip(self._starts, self._ends, strict=True))
        return Tree(tuple(words), tuple(self._tags), spans, tuple(self._labels)), tuple(self._heads)

    def _phrase(self, symbol: Symbol, level: int) -> int:
        """Index of the head word of a bracket, drawn and appended."""
        bracket = len(self._starts)
        dependents: list[int] = []
        self._starts.append(len(self._words))
        self._ends.append(0)
        self._labels.append(symbol.label)
        head = self._expand(symbol, level, dependents)
        self._ends[bracket] = len(self._words)
        for dependent in dependents:
            self._heads[dependent] = head
        return head

    def _expand(self, symbol: Symbol, level: int, dependents: list[int]) -> int:
        """Index of the head word among the daughters (-1 if none is marked). The other daughters join ``dependents``.

        Calls itself no deeper than the grammar allows: fewer than ``LEVELS`` recursive rules, and a bounded way
        between two.
        """
        cumulative, rules = symbol.tables[level]
        rule = rules[bisect_right(cumulative, self._random() * cumulative[-1], 0, len(rules) - 1)]
        if rule.recursive:
            level = min(level + 1, LEVELS - 1)
        head = -1
        for content, is_head, chance in rule.items:
            if chance < 1.0 and self._random() >= chance:
                continue
            if isinstance(content, Symbol):
                index = self._phrase(content, level) if content.label else self._expand(content, level, dependents)
            else:
                index = len(self._words)
                word = (self._word(content), content.tag) if isinstance(content, WordClass) else content
                self._words.append(word[0])
                self._tags.append(word[1])
                self._heads.append(-1)
            if is_head:
                head = index
            elif index >= 0:
                dependents.append(index)
        return head

    def _word(self, words: WordClass) -> str:
        """A word of the class, by frequency, and preferably one that the sentence does not have yet."""
        forms, cumulative, _ = words
        last, total = len(forms) - 1, cumulative[-1]
        for _ in range(REDRAWS):
            word = forms[bisect_right(cumulative, self._random() * total, 0, last)]
            if word not in self._words:
                break
        return word


def key(tree: Tree) -> tuple[str, ...]:
    """The words that count when sentences are compared: lower case, digits folded, no punctuation."""
    return tuple(
        "0" if tag == "CD" and word.isdigit() else word.lower()
        for word, tag in zip(tree.words, tree.tags, strict=True)
        if tag not in PUNCTUATION
    )


def _spell(words: list[str]) -> None:
    """Changes ``words`` where a word depends on the next one: *a apple*, *can n't*."""
    for i, word in enumerate(words):
        if word == "a" and _starts_with_vowel(words[i + 1]):
            words[i] = "an"
        elif word == "n't":
            before = words[i - 1]
            words[i - 1] = CONTRACTED.get(before, before)
            if before in ("am", "may"):
                words[i] = "not"


def _starts_with_vowel(word: str) -> bool:
    """Whether ``a`` before the word becomes ``an``."""
    word = word.lower()
    return word in VOWEL_SOUND or (word[0] in VOWELS and word not in CONSONANT_SOUND)
