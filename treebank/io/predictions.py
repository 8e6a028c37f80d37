"""Predictions, as any parser may have written them.

Trees: with labels, without, one a line or over many lines; or their spans in JSON lines. Heads: in columns.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from treebank.base.errors import SynparseError, TreebankError
from treebank.core.brackets import diagnose, root_offsets, shorten
from treebank.core.tree import Tree
from treebank.io.bracketed import parse_trees
from treebank.io.conllu import read_conllu, read_conllx, read_dp
from treebank.io.jsonl import read_objects
from treebank.io.lines import open_lines
from treebank.io.paths import HEAD_SUFFIXES, expand, suffix
from treebank.io.tree_splitter import Cutter

_TOKEN = re.compile(r"[()]|[^ \t\n()]+")
_COMMENT = re.compile(r"[ \t]*(?:#|%%)[^ \t]*[ \t]+[^ \t]")  # more than one word, so that a sentence "#" is one
_JSON = re.compile(r'[ \t]*\{[ \t]*["}]')
EXPECTED = 'expected an object with "spans", a list of [start, end] with 0 <= start < end'
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
    is None for a single word without brackets. Spans from JSON may come without words; then ``spans`` are there,
    perhaps with a ``length``, and ``over`` makes the tree.
    """

    path: str
    line: int
    text: str
    labelled: Tree | None
    spans: tuple[tuple[int, int], ...] | None = None
    length: int | None = None

    def over(self, words: Sequence[str]) -> Tree:
        """The tree of the ``spans`` of a prediction that gives no words, over these of the gold sentence.

        Raises SynparseError if there are more or fewer words than the prediction says, or if a span leaves them.
        """
        last = max((end for _, end in self.spans or ()), default=0)
        if len(words) != (len(words) if self.length is None else self.length) or last > len(words):
            found = f"a span ends at {last}" if self.length is None else f"the length is {self.length}"
            raise SynparseError(f"{self.path}:{self.line}: {found}, but the gold sentence has {len(words)} words")
        return Tree.from_spans(words, self.spans or ())

    @cached_property
    def bare(self) -> Tree:
        """The tree if every token is a word; worked out when first asked for."""
        return parse_bare(self.text)


@dataclass(frozen=True, slots=True)
class PredictedHeads:
    """The predicted heads of one sentence: ``heads[i]`` is the index of word i's head, ``ROOT`` for none."""

    path: str
    line: int
    words: tuple[str, ...]
    heads: tuple[int, ...]


def gives_heads(path: str) -> bool:
    """Whether a file, or those of a folder, hold heads by their suffix, and not trees."""
    return suffix(_files(path)[0]) in HEAD_SUFFIXES


def _files(path: str) -> list[str]:
    """The file, or those of a folder in order."""
    return expand([path], trees=True) if os.path.isdir(path) else [path]


def read_prediction_heads(path: str) -> list[PredictedHeads]:
    """The predicted heads of a file in CoNLL-U, or in CoNLL-X or three columns if its suffix says so; or of a folder.

    Raises TreebankError for what is not in that format, and for a sentence without heads.
    """
    return [heads for file in _files(path) for heads in _heads_of(file)]


def _heads_of(path: str) -> list[PredictedHeads]:
    reader = {".dp": read_dp, ".conllx": read_conllx, ".conll": read_conllx}.get(suffix(path), read_conllu)
    found = []
    for sentence in reader(path):
        if not sentence.heads:
            raise TreebankError(path, sentence.place.line, "this sentence has no heads (column HEAD is empty)")
        found.append(PredictedHeads(path, sentence.place.line, sentence.words, sentence.heads))
    return found


def read_prediction_trees(path: str) -> Iterator[PredictedTree]:
    """The predictions of a file, or of the files in a folder, in order; streamed, unless they come from a pipe.

    If every line holds balanced brackets, a single word or nothing, the file has one prediction a line, and a blank
    line is the empty tree of an empty sentence. Otherwise trees go over several lines, as in a treebank, and blank
    lines only separate them. A line such as ``# made by parser 1.0`` is a comment. A file that begins with ``{`` holds
    JSON lines, ``{"words": […], "spans": [[0, 2], …]}``; the words may be left out. Raises TreebankError for brackets
    that do not balance, for several words without any bracket, and for spans that cross.
    """
    for file in _files(path):
        yield from _trees_of(file)


def _trees_of(path: str) -> Iterator[PredictedTree]:
    held = None if os.path.isfile(path) else list(open_lines(path))

    def lines() -> Iterator[tuple[int, str]]:
        return open_lines(path) if held is None else iter(held)

    first = next((line for _, line in lines() if line.strip(" \t")), "")
    if _JSON.match(first):
        return _json_lines(path, lines())
    return (_one_a_line if _balanced(path, lines()) else _over_lines)(path, lines())


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
        for first, text in cutter.feed(number, line):
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


def _json_lines(path: str, lines: Iterator[tuple[int, str]]) -> Iterator[PredictedTree]:
    """Spans with their words or without; a blank line is the empty tree."""
    for number, found in read_objects(path, expected=EXPECTED, lines=lines):
        if found is None:
            yield PredictedTree(path, number, "", _EMPTY)
            continue
        try:
            yield _spans(path, number, found)
        except ValueError as error:
            raise TreebankError(path, number, str(error)) from None


def _spans(path: str, line: int, found: dict[str, Any]) -> PredictedTree:
    """The prediction in one JSON object. Raises ValueError that says what is wrong with it."""
    listed = found.get("spans")
    if not isinstance(listed, list) or not all(map(_is_span, listed)):
        raise ValueError(EXPECTED)
    words, length = found.get("words"), found.get("length")
    if not (words is None or (isinstance(words, list) and all(isinstance(word, str) and word for word in words))):
        raise ValueError('"words" is not a list of words')
    if not (length is None or type(length) is int) or (words is not None and length not in (None, len(words))):
        raise ValueError('"length" is not the number of words')
    spans = tuple((start, end) for start, end in listed)
    _check_nested(spans, len(words) if words is not None else length)
    if words is None:
        return PredictedTree(path, line, "", None, spans, length)
    tree = Tree.from_spans(words, spans)
    return PredictedTree(path, line, str(tree), tree)


def _is_span(item: Any) -> bool:
    pair = isinstance(item, list) and len(item) == 2 and all(type(bound) is int for bound in item)
    return pair and 0 <= item[0] < item[1]


def _check_nested(spans: Sequence[tuple[int, int]], length: int | None) -> None:
    """Raises ValueError if two spans cross, or one goes on after the last of ``length`` words."""
    ends: list[int] = []
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        while ends and ends[-1] <= start:
            ends.pop()
        if ends and end > ends[-1]:
            raise ValueError(f"the span [{start}, {end}] crosses another one, which ends at {ends[-1]}")
        if length is not None and end > length:
            raise ValueError(f"the span [{start}, {end}] goes on after the last of {length} words")
        ends.append(end)
