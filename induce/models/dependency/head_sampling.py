"""Heads drawn from a dependency model with valence: ancestral sampling from the root to the leaves.

Both orders of generation are covered: `dmv` draws the dependents of a head from the nearest outwards, the neural models
from the outermost inwards. K classes, V words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from induce.models.dependency.neural_dmv import Ndmv
from induce.models.em.dmv import Dmv
from induce.models.em.valence_grammar import ValenceGrammar
from treebank.core.sentence import ROOT

BOUNDARY_INDEX = 0  # of the token at the boundaries of sentences, which is not a word


@dataclass(frozen=True)
class ClassGrammar:
    """Rules over word classes, and the words of each class. Classes without words have the probability 0."""

    rules: ValenceGrammar
    classes: np.ndarray  # (V,)
    word_given_class: np.ndarray  # (V,)
    from_outside: bool  # whether the outermost dependent is drawn first

    @classmethod
    def of(
        cls, rules: ValenceGrammar, classes: np.ndarray, word_given_class: np.ndarray, *, from_outside: bool = False
    ) -> ClassGrammar:
        """The grammar without the boundary token and without classes that have no words."""
        words = word_given_class.astype(np.float64)
        words[BOUNDARY_INDEX] = 0.0
        mass = np.bincount(classes, words, len(rules.root))
        words = words / np.where(mass > 0, mass, 1.0)[classes]
        possible = mass > 0
        parts = [np.where(possible, part, 0.0) for part in (rules.root, rules.choose)]
        root, choose = (part / part.sum(-1, keepdims=True) for part in parts)
        return cls(ValenceGrammar(root, rules.stop, choose), classes, words, from_outside)


def class_grammars(model: Dmv | Ndmv) -> list[ClassGrammar]:
    """The grammars of a model: those of its members, or the only one."""
    if isinstance(model, Ndmv):
        words = np.exp(model.word_given_class.double().cpu().numpy())
        return [ClassGrammar.of(model.valence_grammar(), model.classes.cpu().numpy(), words, from_outside=True)]
    tables = [(model.classes[member], model.word_given_class[member]) for member in range(model.config.members)]
    arrays = [(classes.cpu().numpy(), words.cpu().numpy()) for classes, words in tables]
    return [ClassGrammar.of(model.grammar(member), *arrays[member]) for member in model.ready()]


class DrawnHeads(NamedTuple):
    """A sentence with its heads."""

    words: list[int]  # indices in the vocabulary
    classes: list[int]
    heads: list[int]


class HeadSampler:
    """Sampler of sentences with heads, each from one of several grammars, which are equally probable."""

    def __init__(self, grammars: Sequence[ClassGrammar], seed: int) -> None:
        self.grammars, self.rng = grammars, np.random.default_rng(seed)
        self._words: dict[tuple[int, int], np.ndarray] = {}  # words of a class, by grammar and class

    def draw(self, max_words: int) -> DrawnHeads | None:
        """A sentence, or None if the drawn one has more than ``max_words`` words."""
        number = int(self.rng.integers(len(self.grammars)))
        rules = self.grammars[number].rules
        classes, governors = [self._index(rules.root)], [ROOT]
        dependents: list[tuple[list[int], list[int]]] = []  # of each node, right and left, nearest first
        while len(dependents) < len(classes):
            head = len(dependents)
            sides: tuple[list[int], list[int]] = ([], [])
            for side, nodes in enumerate(sides):
                while self.rng.random() >= rules.stop[classes[head], side, min(1, len(nodes))]:
                    if len(classes) == max_words:
                        return None
                    nodes.append(len(classes))
                    classes.append(self._index(rules.choose[classes[head], side, min(1, len(nodes) - 1)]))
                    governors.append(head)
                if self.grammars[number].from_outside:
                    nodes.reverse()
            dependents.append(sides)

        order: list[int] = []  # of the nodes in the sentence
        todo = [(0, False)]  # a node, and whether its left dependents are done
        while todo:
            node, is_next = todo.pop()
            if is_next:
                order.append(node)
                continue
            right, left = dependents[node]
            todo += [(child, False) for child in reversed(right)]
            todo += [(node, True), *((child, False) for child in left)]
        position = {node: index for index, node in enumerate(order)} | {ROOT: ROOT}
        words = [self._word(number, classes[node]) for node in order]
        return DrawnHeads(words, [classes[node] for node in order], [position[governors[node]] for node in order])

    def _word(self, number: int, group: int) -> int:
        grammar = self.grammars[number]
        if (number, group) not in self._words:
            self._words[number, group] = np.flatnonzero((grammar.classes == group) & (grammar.word_given_class > 0))
        members = self._words[number, group]
        return int(members[self._index(grammar.word_given_class[members])])

    def _index(self, weights: np.ndarray) -> int:
        """Index drawn in proportion to ``weights``, whose sum is 1 up to rounding."""
        sums = weights.cumsum()
        return min(int(np.searchsorted(sums, self.rng.random() * sums[-1], side="right")), len(weights) - 1)
