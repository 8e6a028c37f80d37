"""Penn-style brackets: a streaming reader of treebanks and of predicted trees.

One regular expression cuts a block of text into words with their tags, opening brackets and runs of closing ones; a
stack of open brackets turns them into flat trees. ``blocks`` cuts a file into pieces that hold whole trees.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from operator import eq
from typing import NamedTuple

from treebank.errors import TreebankError
from treebank.formats.blocks import blocks, diagnose, root_offsets
from treebank.formats.corpussearch import MARKS, CorpusSearch
from treebank.sentence import Place, Sentence
from treebank.tree import TRACE, Span, Tree

_WORD = r"[^ \t\n()]"
# White space is blank, tab and line feed, and nothing else: U+00A0 and U+2028 belong to words.
_TOKEN = re.compile(
    rf"\([ \t\n]*+({_WORD}*+)(?:[ \t\n]++({_WORD}++)[ \t\n]*+\)|[ \t\n]*+(\)))?"  # (TAG word) or (LABEL) or (LABEL …
    rf"|(\)[) \t\n]*+)|({_WORD}++)"  # closing brackets; a word without a tag
)


_REGULAR = re.compile(rf"[ \t]*+({_WORD}*+)(?:[ \t]++({_WORD}++)[ \t]*+\)([ \t)]*+))?[ \t]*+")
_MOST_PIECES = 1 << 16


class _Parts(NamedTuple):
    """A tree under construction: its words, and its brackets in pre-order."""

    words: list[str]
    tags: list[str]
    starts: list[int]
    ends: list[int]
    labels: list[str]


def parse_trees(text: str) -> Iterator[Tree]:
    """The trees of ``text``, as written but for outer brackets without a label over a single child.

    Raises ValueError where brackets do not balance, and for text outside of them.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    return _scan(text)


def _scan(text: str) -> Iterator[Tree]:
    words, tags, starts, ends, labels = parts = _Parts([], [], [], [], [])
    stack: list[int] = []
    for label, word, empty, closing, bare in _TOKEN.findall(text):
        if word:
            words.append(word)
            tags.append(label)
        elif closing:
            count = closing.count(")")
            if count > len(stack):
                raise ValueError(diagnose(text).message)
            end = len(words)
            for _ in range(count):
                ends[stack.pop()] = end
        elif bare:
            if not stack:
                raise ValueError(diagnose(text).message)
            words.append(bare)
            tags.append("")
            continue
        elif empty:
            if label and not any(map(str.isalnum, label)):  # (.) is short for (. .) in some treebanks
                words.append(label)
                tags.append(label)
            else:  # a phrase of no words
                starts.append(len(words))
                ends.append(len(words))
                labels.append(label)
        else:
            stack.append(len(labels))
            labels.append(label)
            starts.append(len(words))
            ends.append(-1)
            continue
        if not stack:
            yield _finish(parts)
            words, tags, starts, ends, labels = parts = _Parts([], [], [], [], [])
    if stack:
        raise ValueError(diagnose(text).message)


def _finish(parts: _Parts) -> Tree:
    """The tree of balanced brackets; those without words, and empty outer ones, are left out."""
    words, tags, starts, ends, labels = parts
    if any(map(eq, starts, ends)):
        full = [k for k in range(len(starts)) if starts[k] < ends[k]]
        starts, ends = [starts[k] for k in full], [ends[k] for k in full]
        labels = [labels[k] for k in full]
    length = len(words)
    outer = 0
    while outer < len(labels) and not labels[outer]:
        below = outer + 1
        single = starts[below] == 0 and ends[below] == length if below < len(labels) else length == 1
        if not single:
            break
        outer = below
    spans = tuple(map(Span._make, zip(starts[outer:], ends[outer:], strict=True)))
    return Tree(tuple(words), tuple(tags), spans, tuple(labels[outer:]))


def read_trees(path: str) -> Iterator[tuple[Tree, int]]:
    """The trees of a file, each with the number of the line where it starts; streamed.

    Comments between trees are skipped (``blocks`` says which), and the ID, CODE and METADATA nodes and lemmas of
    CorpusSearch files are taken out. Raises TreebankError with file and line for brackets that do not balance.
    """
    corpus_search = CorpusSearch()
    pieces = _Pieces()
    for line, lines in blocks(path):
        tree = _scan_regular(lines, pieces)
        if tree is not None:
            yield tree, line
            continue
        text = "\n".join(lines)
        if corpus_search.matches(text):
            plain = corpus_search.plain(text)
            trees = [corpus_search.unlemmatised(tree) for tree in _parse_block(path, line, plain) if len(tree)]
        else:
            trees = _parse_block(path, line, text)
        for tree, offset in zip(trees, root_offsets(text), strict=False):
            yield tree, line + text.count("\n", 0, offset)


class _Pieces(dict[str, tuple[str, str, int]]):
    """What stands between two opening brackets -> tag or label, word ("" for a phrase), closing brackets after it.

    Pieces such as ``NP `` and ``DT the) `` come again and again, so looking them up beats taking them apart: this
    reads the WSJ sample in about half the time of the regular expression. A count of -1 marks a piece of another form.
    """

    def __missing__(self, piece: str) -> tuple[str, str, int]:
        match = _REGULAR.fullmatch(piece)
        found = (match[1], match[2] or "", (match[3] or "").count(")")) if match else ("", "", -1)
        if found[0] in MARKS:
            found = ("", "", -1)
        if len(self) >= _MOST_PIECES:
            self.clear()
        self[piece] = found
        return found


def _scan_regular(lines: list[str], pieces: _Pieces) -> Tree | None:
    """The tree of a block that holds a single one, made of ``(LABEL`` and ``(TAG word)`` alone; else None."""
    words, tags, starts, ends, labels = parts = _Parts([], [], [], [], [])
    stack: list[int] = []
    text = lines[0] if len(lines) == 1 else " ".join([line.lstrip(" \t") for line in lines])
    for piece in text.split("(")[1:]:
        label, word, count = pieces[piece]
        if word:
            words.append(word)
            tags.append(label)
            if count > len(stack):
                return None
            for _ in range(count):
                ends[stack.pop()] = len(words)
        elif count:
            return None
        else:
            stack.append(len(labels))
            labels.append(label)
            starts.append(len(words))
            ends.append(-1)
    one = not stack and labels and starts[0] == 0 and ends[0] == len(words)  # the first bracket holds everything
    return _finish(parts) if one else None


def _parse_block(path: str, line: int, text: str) -> list[Tree]:
    try:
        return list(_scan(text))
    except ValueError:
        problem = diagnose(text)
        raise TreebankError(path, line + text.count("\n", 0, problem.offset), problem.message) from None


def read_bracketed(path: str) -> Iterator[Sentence]:
    """The sentences of a treebank file: words and tags without empty elements, and the tree as annotated."""
    for tree, line in read_trees(path):
        words, tags = tree.words, tree.tags
        if TRACE in tags:
            seen = [i for i, tag in enumerate(tags) if tag != TRACE]
            words, tags = tuple([words[i] for i in seen]), tuple([tags[i] for i in seen])
        yield Sentence(words, tags if any(tags) else (), tree, place=Place(path, line))
