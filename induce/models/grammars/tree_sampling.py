"""Trees drawn from a grammar: ancestral sampling from the start symbol to the words, from left to right."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from induce.models.grammars.grammar import Grammar
from induce.models.grammars.headed_grammar import HeadedRules
from induce.models.grammars.rules import draw_index
from treebank.core.sentence import ROOT

BOUNDARY_INDEX = 0  # of the token at the boundaries of sentences, which is not a word


class Node(NamedTuple):
    """A symbol that is still to be derived, with its head word if the grammar is lexicalized."""

    symbol: int
    word: int = -1  # index of the head word in the vocabulary
    lexeme: int = 0  # number of the head word in the sentence, in the order in which head words are drawn


class DrawnTree(NamedTuple):
    """A sentence with its tree."""

    words: list[int]  # indices in the vocabulary
    preterminals: list[int]
    spans: list[list[int]]  # start, end, nonterminal, in pre-order
    heads: list[int]  # head of each word, or empty if the grammar is not lexicalized


class Sampler:
    """Sampler of trees from a grammar, which is in evaluation mode on the CPU."""

    def __init__(self, grammar: Grammar, generator: torch.Generator) -> None:
        self.grammar, self.generator = grammar, generator
        self.size = grammar.config.nonterminals
        self._renew()

    @torch.no_grad()
    def draw(self, max_words: int) -> DrawnTree | None:
        """A tree, or None if the drawn tree has more than ``max_words`` words."""
        if not self.grammar.shares_rules:
            self._renew()
        words: list[int] = []
        preterminals: list[int] = []
        lexemes: list[int] = []  # of each word
        spans: list[list[int]] = []
        governors = [ROOT]  # lexeme of the head of each lexeme
        rules = self.tables.rules
        top = draw_index(rules.root, self.generator)
        start = Node(top, self._word(rules.root_scores(top))) if isinstance(rules, HeadedRules) else Node(top)
        stack: list[Node | int] = [start]  # nodes, and numbers of spans that end where they are met
        waiting = 1  # nodes on the stack
        while stack:
            item = stack.pop()
            if isinstance(item, int):
                spans[item][1] = len(words)
                continue
            if item.symbol >= self.size:
                words.append(self._word(item.symbol - self.size) if item.word < 0 else item.word)
                preterminals.append(item.symbol - self.size)
                lexemes.append(item.lexeme)
                waiting -= 1
                continue
            waiting += 1
            if len(words) + waiting > max_words:
                return None
            left, right = self._children(item, governors)
            stack += [len(spans), right, left]
            spans.append([len(words), 0, item.symbol])
        if not isinstance(self.tables.rules, HeadedRules):
            return DrawnTree(words, preterminals, spans, [])
        positions = {lexeme: position for position, lexeme in enumerate(lexemes)} | {ROOT: ROOT}
        return DrawnTree(words, preterminals, spans, [positions[governors[lexeme]] for lexeme in lexemes])

    def _renew(self) -> None:
        """Draw the grammar of the next sentence, and forget what was computed for the last one."""
        self.tables = self.grammar.draw_tables(self.generator)
        self._weights: dict[int, Tensor] = {}  # of words, by column
        self._rules: dict[int, HeadedRules] = {}  # by head word

    def _children(self, node: Node, governors: list[int]) -> tuple[Node, Node]:
        """Both children of ``node``. The head of a new head word is added to ``governors``."""
        rules = self.tables.rules
        if not isinstance(rules, HeadedRules):
            left, right = rules.draw_children(node.symbol, self.generator)
            return Node(left), Node(right)
        if node.word not in self._rules:
            of_word = self.grammar.tables(torch.tensor([[node.word]])).rules
            assert isinstance(of_word, HeadedRules)
            self._rules[node.word] = of_word
        drawn = self._rules[node.word].draw(node.symbol, self.generator)
        head_child = Node(drawn.head_child, node.word, node.lexeme)
        new_child = Node(drawn.new_child, self._word(drawn.scores), len(governors))
        governors.append(node.lexeme)
        return (new_child, head_child) if drawn.is_left else (head_child, new_child)

    def _word(self, column: int) -> int:
        """Index of a word, drawn from one column of the emissions."""
        if column not in self._weights:
            weights = self.tables.emissions[:, column].exp()
            weights[BOUNDARY_INDEX] = 0.0
            self._weights[column] = weights
        return draw_index(self._weights[column], self.generator)
