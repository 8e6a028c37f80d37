"""Streaming reader of treebanks in Penn-style brackets (`treebank.core.brackets` parses the brackets themselves)."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import starmap

from treebank.base.arguments import ignore
from treebank.base.errors import TreebankError
from treebank.core.brackets import diagnose, parse, root_offsets, scan, scan_regular, shorten
from treebank.core.sentence import Location, Sentence
from treebank.core.tree import TRACE, Tree
from treebank.io.checks import UntaggedWords, check_trees
from treebank.io.lines import BAD, OnBad, look_ahead, open_blocks, report
from treebank.io.source import AnyPath, Source
from treebank.io.streams import reads_once
from treebank.io.tree_splitter import TreeSplitter

_UNESCAPED = re.compile(r"\([^\s()]+ [^\s()]*\(\)|\(\( \(\)")  # a leaf such as (-LRB- ()
Rewrite = Callable[[str], str]  # turns lines of a dialect into Penn brackets, line for line; raises ValueError


def parse_trees(text: str) -> Iterator[Tree]:
    """The trees in ``text``. Outer brackets without a label around a single tree are removed.

    Raises ValueError for unbalanced brackets and for text outside of brackets.
    """
    return (Tree(*parts) for parts in parse(text))


def read_bracketed(
    path: AnyPath,
    *,
    on_bad: OnBad | None = None,
    rewrite: Rewrite | None = None,
    is_declared: bool = False,
    notify: Callable[[str], None] = ignore,
) -> Iterator[Sentence]:
    """The sentences of a treebank file: the tree, and the words and tags without empty elements. See `read_trees`.

    Unless the user has declared the format, TreebankError is raised for trees of another format (`check_trees`).
    ``notify`` is called at the end if a few words have no tag (`UntaggedWords`).
    """
    name = Source.of(path).path
    untagged = UntaggedWords(name, notify)
    for tree, line in _checked(Source.of(path), on_bad, rewrite, is_declared):
        untagged.add(tree, line)
        words, tags = (tree.words, tree.tags) if TRACE not in tree.tags else _without_traces(tree)
        yield Sentence(words, tags if any(tags) else (), tree, location=Location(name, line))
    untagged.report()


def _checked(
    source: Source, on_bad: OnBad | None, rewrite: Rewrite | None, is_declared: bool
) -> Iterator[tuple[Tree, int]]:
    """The trees of a file, after a check of the first ones. Trees of a pipe are not held back until then."""

    def read(on_bad: OnBad | None) -> Iterator[tuple[Tree, int]]:
        return read_trees(source, on_bad=on_bad, rewrite=rewrite)

    def inspect(trees: Sequence[tuple[Tree, int]]) -> None:
        check_trees(source.path, [tree for tree, _ in trees])

    if is_declared or rewrite is not None:
        return read(on_bad)
    return look_ahead(read, inspect, on_bad, is_live=reads_once(source.path))


def read_trees(
    path: AnyPath, *, on_bad: OnBad | None = None, rewrite: Rewrite | None = None
) -> Iterator[tuple[Tree, int]]:
    """The trees of a file, each with the number of the line where it starts, streamed.

    Comments between trees are skipped (see `TreeSplitter`). Raises TreebankError with file and line for unbalanced
    brackets, and for lines that ``rewrite`` refuses; with ``on_bad``, the error is reported to it and the tree is
    skipped.
    """
    source = Source.of(path)
    undecoded: deque[TreebankError] = deque()
    texts = _margins(source, on_bad and undecoded.append)
    if rewrite is not None:
        texts = _rewritten(source.path, texts, rewrite, on_bad)
    trees = _parse_blocks(texts, TreeSplitter(source.path, on_bad))
    if on_bad is None:
        return trees
    return (pair for pair in trees if not _cannot_be_decoded(*pair, undecoded, on_bad))


def _parse_blocks(texts: Iterator[tuple[int, str]], splitter: TreeSplitter) -> Iterator[tuple[Tree, int]]:
    for number, text in texts:
        parts = scan_regular(text) if splitter.is_between_trees else None
        if parts is not None:
            splitter.skip(number)
            yield Tree(*parts), number
            continue
        for line, block in splitter.feed(number, text):
            yield from _parse_block(splitter, line, block)
    splitter.close()


def _cannot_be_decoded(tree: Tree, line: int, errors: deque[TreebankError], on_bad: OnBad) -> bool:
    """Whether the tree in ``line`` has a character that cannot be decoded. The first of the ``errors`` is reported."""
    while errors and errors[0].line < line:
        errors.popleft()
    is_bad = bool(errors) and any(BAD in text for text in (*tree.words, *tree.tags, *tree.labels))
    if is_bad:
        on_bad(errors[0])
    return is_bad


def _rewritten(
    path: str, texts: Iterable[tuple[int, str]], rewrite: Rewrite, on_bad: OnBad | None
) -> Iterator[tuple[int, str]]:
    """The texts in Penn brackets. One in which ``rewrite`` finds an error is reported and left out."""
    for line, text in texts:
        try:
            yield line, rewrite(text)
        except ValueError as error:
            report(TreebankError(path, line, str(error)), on_bad)


def _margins(source: Source, on_bad: OnBad | None) -> Iterator[tuple[int, str]]:
    """The text of a file cut before each line that begins with a bracket, with line numbers.

    From the first ``\\(`` on, ``\\(`` and ``\\)`` are brackets in words, as nltk writes them.
    """
    is_escaped = False
    for line, block in open_blocks(source, on_bad=on_bad):
        is_escaped = is_escaped or "\\(" in block
        if is_escaped:
            block = block.replace("\\(", "-LRB-").replace("\\)", "-RRB-")
        first, *rest = block.removesuffix("\n").split("\n(")
        yield line, first
        line += first.count("\n") + 1
        for part in rest:
            yield line, "(" + part
            line += part.count("\n") + 1


def _parse_block(splitter: TreeSplitter, line: int, text: str) -> Iterator[tuple[Tree, int]]:
    """The trees of a block of balanced brackets that starts in ``line``."""
    if unescaped := _UNESCAPED.search(text):
        message = f"a round bracket seems to be a word in {shorten(unescaped[0])}; write it as -LRB- or -RRB-"
        error_line = line + text.count("\n", 0, unescaped.start())
        report(TreebankError(splitter.path, error_line, message), splitter.on_bad)
        return
    try:
        trees = list(starmap(Tree, scan(text)))
    except ValueError:
        problem = diagnose(text)
        error_line = line + text.count("\n", 0, problem.offset)
        report(TreebankError(splitter.path, error_line, problem.message), splitter.on_bad)
        return
    for tree, offset in zip(trees, root_offsets(text), strict=False):
        yield tree, line + text.count("\n", 0, offset)


def _without_traces(tree: Tree) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Words and tags without empty elements. These are few, so deleting them is faster than selecting the others."""
    words, tags = list(tree.words), list(tree.tags)
    i = 0
    for _ in range(tags.count(TRACE)):
        i = tags.index(TRACE, i)
        del words[i], tags[i]
    return tuple(words), tuple(tags)
