"""Penn-style brackets: a streaming reader of treebanks.

A regular expression cuts text into words with their tags, opening brackets and runs of closing ones; a stack of open
brackets turns them into flat trees. Trees made of ``(LABEL`` and ``(TAG word)`` alone, which nearly all are, take a
shorter way (``_scan_regular``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from treebank.errors import TreebankError
from treebank.formats.corpussearch import MARKS, CorpusSearch
from treebank.formats.lines import OnBad, open_blocks, report
from treebank.formats.tree_splitter import BrokenTree, Cutter, diagnose, root_offsets
from treebank.sentence import Place, Sentence
from treebank.tree import TRACE, Span, Tree

_WORD = r"[^ \t\n()]"
# White space is blank, tab and line feed, and nothing else: U+00A0 and U+2028 belong to words.
_TOKEN = re.compile(
    rf"\([ \t\n]*+({_WORD}*+)(?:[ \t\n]++({_WORD}++)[ \t\n]*+\)|[ \t\n]*+(\)))?"  # (TAG word) or (LABEL) or (LABEL …
    rf"|(\)[) \t\n]*+)|({_WORD}++)"  # closing brackets; a word without a tag
)
# What may stand between two opening brackets: "LABEL", or "TAG word)" and more closing brackets.
_REGULAR = re.compile(rf"[ \t\n]*+({_WORD}*+)(?:[ \t\n]++({_WORD}++)[ \t\n]*+\)([ \t\n)]*+))?[ \t\n]*+")
_MOST_PIECES = 1 << 16
_new: Any = tuple.__new__  # Span(*pair) at half the price


def parse_trees(text: str) -> Iterator[Tree]:
    """The trees of ``text``, as written but for outer brackets without a label over a single child.

    Raises ValueError where brackets do not balance, and for text outside of them.
    """
    text = text.replace("\r\n", "\n")
    tree = _scan_regular(text)
    return _scan(text) if tree is None else iter((tree,))


def _scan(text: str) -> Iterator[Tree]:
    """The trees of ``text``, whatever it looks like."""
    words: list[str] = []
    tags: list[str] = []
    labels: list[str] = []
    spans: list[Span] = []
    stack: list[tuple[int, int]] = []  # of each open bracket: its place in pre-order, its first word
    for label, word, empty, closing, bare in _TOKEN.findall(text):
        if word:
            words.append(word)
            tags.append(label)
        elif closing:
            for _ in range(closing.count(")")):
                if not stack:
                    raise ValueError(diagnose(text).message)
                k, start = stack.pop()
                spans[k] = Span(start, len(words))
        elif bare:
            if not stack:
                raise ValueError(diagnose(text).message)
            words.append(bare)
            tags.append("")
        elif not empty:
            stack.append((len(labels), len(words)))
            labels.append(label)
            spans.append(Span(0, 0))
        elif label and not any(map(str.isalnum, label)):  # (.) is short for (. .) in some treebanks
            words.append(label)
            tags.append(label)
        if not stack:
            yield _strip(words, tags, spans, labels)
            words, tags, labels, spans = [], [], [], []
    if stack:
        raise ValueError(diagnose(text).message)


def _strip(words: Sequence[str], tags: Sequence[str], spans: Sequence[Any], labels: Sequence[str]) -> Tree:
    """The tree without brackets over no word and without empty outer brackets over a single child."""
    full = [k for k, (start, end) in enumerate(spans) if start < end]
    whole = (0, len(words))
    outer = 0
    while outer < len(full) and not labels[full[outer]]:
        single = spans[full[outer + 1]] == whole if outer + 1 < len(full) else len(words) == 1
        if not single:
            break
        outer += 1
    full = full[outer:]
    return Tree(tuple(words), tuple(tags), tuple([spans[k] for k in full]), tuple([labels[k] for k in full]))


class _Pieces(dict[str, tuple[str, str, int]]):
    """What stands between two opening brackets -> tag or label, word ("" for a phrase), closing brackets after it.

    Pieces such as ``NP `` and ``DT the) `` come again and again, so looking them up beats taking them apart: it makes
    reading twice as fast. A phrase with a count of -1 stands for a piece of another form.
    """

    def __missing__(self, piece: str) -> tuple[str, str, int]:
        match = _REGULAR.fullmatch(piece)
        label, word, closing = match.groups("") if match else ("", "", "")
        found = (label, word, closing.count(")")) if match and label not in MARKS else ("", "", -1)
        if len(self) >= _MOST_PIECES:
            self.clear()
        self[piece] = found
        return found


_PIECES = _Pieces()  # shared, since treebanks come in thousands of small files; bounded


def _scan_regular(text: str) -> Tree | None:
    """The tree of ``text`` that holds one tree, made of ``(LABEL`` and ``(TAG word)`` alone; else None."""
    words: list[str] = []
    tags: list[str] = []
    labels: list[str] = []
    spans: list[Any] = []  # of an open bracket its first word
    stack: list[int] = []
    add_word, add_tag, add_label, add_span = words.append, tags.append, labels.append, spans.append
    push, pop = stack.append, stack.pop
    opened = end = 0
    before, *pieces = text.split("(")
    try:
        for label, word, count in map(_PIECES.__getitem__, pieces):
            if word:
                add_word(word)
                add_tag(label)
                end += 1
                while count:
                    count -= 1
                    k = pop()
                    spans[k] = _new(Span, (spans[k], end))
            elif count:
                return None
            else:
                push(opened)
                opened += 1
                add_span(end)
                add_label(label)
    except IndexError:  # a closing bracket too many
        return None
    if stack or not spans or spans[0] != (0, end) or before.strip(" \t\n"):
        return None  # not closed, or more than one tree, or something before it
    if labels[0]:
        return Tree(tuple(words), tuple(tags), tuple(spans), tuple(labels))
    return _strip(words, tags, spans, labels)


def read_trees(
    path: str, *, on_bad: OnBad | None = None, rewrite: Callable[[str], str] | None = None
) -> Iterator[tuple[Tree, int]]:
    """The trees of a file, each with the number of the line where it starts; streamed.

    Comments between trees are skipped (``Cutter`` says which), and the ID, CODE and METADATA nodes and lemmas of
    CorpusSearch files are taken out. Raises TreebankError with file and line for brackets that do not balance; with
    ``on_bad``, tells it of each such tree, leaves the tree out, and reads on. ``rewrite`` turns the lines of a dialect
    into Penn brackets, one for one.
    """
    texts = _margins(path)
    if rewrite is not None:
        texts = ((line, rewrite(text)) for line, text in texts)
    return _read_trees(path, texts, Cutter(path)) if on_bad is None else _read_sound_trees(path, texts, on_bad)


def _read_trees(path: str, texts: Iterator[tuple[int, str]], cutter: Cutter) -> Iterator[tuple[Tree, int]]:
    corpus_search = CorpusSearch()
    for number, text in texts:
        tree = _scan_regular(text) if cutter.between else None
        if tree is not None:
            cutter.skip(number, text)
            yield tree, number
            continue
        for line, block in cutter.feed(number, text):
            yield from _parse_block(path, line, block, corpus_search, cutter.on_bad)
    for line, block in cutter.close():
        yield from _parse_block(path, line, block, corpus_search, cutter.on_bad)


def _read_sound_trees(path: str, texts: Iterator[tuple[int, str]], on_bad: OnBad) -> Iterator[tuple[Tree, int]]:
    """Trees are held back until the next one starts at the margin: a ')' too many comes to light behind its tree."""
    held: list[tuple[Tree, int]] = []

    def drop(error: TreebankError) -> None:
        since = error.since if isinstance(error, BrokenTree) else error.line
        held[:] = [item for item in held if item[1] < since]
        on_bad(error)

    cutter = Cutter(path, drop)
    for tree, line in _read_trees(path, texts, cutter):
        if line == cutter.layout.outermost:
            yield from held
            held.clear()
        held.append((tree, line))
    yield from held


def _margins(path: str) -> Iterator[tuple[int, str]]:
    """The text of a file cut before each line that begins with a bracket, with line numbers; mostly whole trees."""
    for line, block in open_blocks(path):
        first, *rest = block.removesuffix("\n").split("\n(")
        yield line, first
        line += first.count("\n") + 1
        for part in rest:
            yield line, "(" + part
            line += part.count("\n") + 1


def _parse_block(
    path: str, line: int, text: str, corpus_search: CorpusSearch, on_bad: OnBad | None
) -> Iterator[tuple[Tree, int]]:
    try:
        if corpus_search.matches(text):
            trees = [corpus_search.unlemmatised(tree) for tree in _scan(corpus_search.plain(text)) if len(tree)]
        else:
            trees = list(_scan(text))
    except ValueError:
        problem = diagnose(text)
        place = line + text.count("\n", 0, problem.offset)
        report(BrokenTree(path, place, problem.message, since=line, resume=0), on_bad)
        return
    for tree, offset in zip(trees, root_offsets(text), strict=False):
        yield tree, line + text.count("\n", 0, offset)


def read_bracketed(
    path: str, *, on_bad: OnBad | None = None, rewrite: Callable[[str], str] | None = None
) -> Iterator[Sentence]:
    """The sentences of a treebank file (see ``read_trees``): words and tags without empty elements, and the tree."""
    for tree, line in read_trees(path, on_bad=on_bad, rewrite=rewrite):
        words, tags = (tree.words, tree.tags) if TRACE not in tree.tags else _seen(tree)
        yield Sentence(words, tags if any(tags) else (), tree, place=Place(path, line))


def _seen(tree: Tree) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Words and tags without empty elements. These are few, so taking them out beats picking the others."""
    words, tags = list(tree.words), list(tree.tags)
    i = 0
    for _ in range(tags.count(TRACE)):
        i = tags.index(TRACE, i)
        del words[i], tags[i]
    return tuple(words), tuple(tags)
