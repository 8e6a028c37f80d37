"""Predicted trees, as any parser may have written them: with labels, without, one a line or over many lines."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from treebank.errors import TreebankError
from treebank.formats.blocks import Cutter, diagnose, root_offsets, shorten
from treebank.formats.bracketed import parse_trees
from treebank.formats.lines import open_lines
from treebank.tree import Tree

_TOKEN = re.compile(r"[()]|[^ \t\n()]+")
_COMMENT = re.compile(r"[ \t]*(?:#|%%)[^ \t]*[ \t]+[^ \t]")  # more than one word, so that a sentence "#" is one
_EMPTY = Tree((), (), (), ())


def parse_bare(text: str, *, label: str = "X", tag: str = "W") -> Tree:
    """The tree of brackets that carry no labels: ``(a (b c))``, ``((a b) c)``, a single word, or nothing.

    Every token is a word. Brackets around one word and second brackets around the same words are left out. Raises
    ValueError where brackets do not balance, and for more than one tree.
    """
    words: list[str] = []
    spans: list[tuple[int, int]] = []
    stack: list[int] = []
    tops = 0
    for token in _TOKEN.findall(text):
        if token == "(":
            tops += not stack
            stack.append(len(words))
        elif token != ")":
            tops += not stack
            words.append(token)
        elif stack:
            spans.append((stack.pop(), len(words)))
        else:
            raise ValueError(diagnose(text).message)
    if stack:
        raise ValueError(diagnose(text).message)
    if tops > 1:
        raise ValueError("more than one tree, or words outside of brackets")
    return Tree.from_spans(words, spans, label=label, tag=tag)


@dataclass(frozen=True)
class PredictedTree:
    """One prediction and the two ways to read it.

    ``(a (b c))`` is the word c under a tag b and a label a, or three words. Only the gold words can tell: take
    ``labelled`` if its words agree with them, else ``bare``. ``labelled`` may hold empty elements (tag ``-NONE-``); it
    is None for a single word without brackets.
    """

    path: str
    line: int
    text: str
    labelled: Tree | None

    @cached_property
    def bare(self) -> Tree:
        """The tree if every token is a word; worked out when first asked for."""
        return parse_bare(self.text)


def read_prediction_trees(path: str) -> Iterator[PredictedTree]:
    """The predictions of a file in order; streamed, unless they come from a pipe.

    If every line holds balanced brackets, a single word or nothing, the file has one prediction a line, and a blank
    line is the empty tree of an empty sentence. Otherwise trees go over several lines, as in a treebank, and blank
    lines only separate them. A line such as ``# made by parser 1.0`` is a comment. Raises TreebankError for brackets
    that do not balance and for several words without any bracket.
    """
    if os.path.isfile(path):
        lines, again = open_lines(path), open_lines(path)
    else:
        held = list(open_lines(path))
        lines, again = iter(held), iter(held)
    yield from (_one_a_line if _balanced(path, lines) else _over_lines)(path, again)


def _balanced(path: str, lines: Iterator[tuple[int, str]]) -> bool:
    """Whether every line closes what it opens, so that the file has one prediction a line.

    Raises for a line that does not in a file that also holds single words, and hence is no treebank.
    """
    depth = broken = 0
    words = False
    for number, line in lines:
        change = line.count("(") - line.count(")")
        words = words or not (depth or change or "(" in line or not line.strip(" \t") or _COMMENT.match(line))
        depth += change
        if change and not broken:
            broken = number
            message = diagnose(line).message
    if broken and words:
        raise TreebankError(path, broken, message)
    return not broken


def _one_a_line(path: str, lines: Iterator[tuple[int, str]]) -> Iterator[PredictedTree]:
    for number, line in lines:
        text = line.strip(" \t")
        if "(" in text:
            yield from _predictions(path, number, text)
        elif not text:
            yield PredictedTree(path, number, "", _EMPTY)
        elif " " not in text and "\t" not in text:
            yield PredictedTree(path, number, text, None)
        elif not _COMMENT.match(text):
            raise TreebankError(path, number, f"several words without brackets; a tree was expected: {shorten(text)}")


def _over_lines(path: str, lines: Iterator[tuple[int, str]]) -> Iterator[PredictedTree]:
    cutter = Cutter(path)
    for number, line in lines:
        for first, text in cutter.feed(number, line + "\n"):
            yield from _predictions(path, first, text)
    for _ in cutter.close():  # raises if a tree is open
        pass


def _predictions(path: str, line: int, text: str) -> Iterator[PredictedTree]:
    """The trees of balanced text, usually one."""
    try:
        trees = list(parse_trees(text))
    except ValueError:
        problem = diagnose(text)
        raise TreebankError(path, line + text.count("\n", 0, problem.offset), problem.message) from None
    if len(trees) == 1:
        yield PredictedTree(path, line, text, trees[0])
        return
    starts = root_offsets(text)
    for tree, start, end in zip(trees, starts, [*starts[1:], len(text)], strict=True):
        yield PredictedTree(path, line + text.count("\n", 0, start), text[start:end].strip(" \t\n"), tree)
