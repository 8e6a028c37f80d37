"""Streaming reader of treebanks in Penn-style brackets (`treebank.core.brackets` parses the brackets themselves).

Lines are split into blocks of complete trees, with one rule that finds malformed trees: a bracket or a comment in the
first column is outside of trees. If a tree is open there, it lacks a bracket.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import starmap

from treebank.base.arguments import ignore
from treebank.base.errors import TreebankError
from treebank.core.brackets import (
    BRACKET_OR_WORD,
    HELP_CLOSE,
    HELP_OPEN,
    diagnose,
    outside,
    parse,
    root_offsets,
    scan,
    scan_regular,
    shorten,
)
from treebank.core.sentence import Location, Sentence
from treebank.core.tree import TRACE, Tree
from treebank.io.checks import TreeChecks
from treebank.io.lines import BAD, OnBad, check_size, look_ahead, open_blocks, open_lines, report
from treebank.io.source import AnyPath, Source, reads_once

_UNESCAPED = re.compile(r"\([^\s()]+ [^\s()]*\(\)|\(\( \(\)")  # a leaf such as (-LRB- ()
Rewrite = Callable[[str], str]  # turns lines of a dialect into Penn brackets, line for line; raises ValueError


def parse_trees(text: str) -> Iterator[Tree]:
    """The trees in ``text``. Outer brackets without a label around a single tree are removed.

    Raises ValueError for unbalanced brackets and for text outside of brackets.
    """
    return (Tree(*parts) for parts in parse(text))


def parse_bare(text: str) -> Tree:
    """The tree of brackets without labels: ``(a (b c))``, ``((a b) c)``, a single word, or nothing.

    Every token is a word. Brackets around one word and repeated brackets around the same words are left out. Raises
    ValueError for unbalanced brackets and for more than one tree.
    """
    words: list[str] = []
    spans: list[tuple[int, int]] = []
    stack: list[int] = []
    outermost = 0
    for token in BRACKET_OR_WORD.findall(text):
        if token == "(":
            outermost += not stack
            stack.append(len(words))
        elif token != ")":
            outermost += not stack
            words.append(token)
        elif stack:
            spans.append((stack.pop(), len(words)))
        else:
            raise ValueError(diagnose(text).message)
    if stack:
        raise ValueError(diagnose(text).message)
    if outermost > 1:
        raise ValueError("more than one tree, or words outside of brackets")
    return Tree.from_spans(words, spans)


def read_bare(path: AnyPath, *, on_bad: OnBad | None = None) -> Iterator[Sentence]:
    """The sentences of a file with one tree per line in brackets without labels (`parse_bare`)."""
    source = Source.of(path)
    for line, text in open_lines(source, on_bad=on_bad):
        if BAD not in text and text.strip():
            try:
                tree = parse_bare(text)
            except ValueError as error:
                report(TreebankError(source.path, line, str(error)), on_bad)
            else:
                yield Sentence(tree.words, tree=tree, location=Location(source.path, line))


def read_bracketed(
    path: AnyPath,
    *,
    on_bad: OnBad | None = None,
    rewrite: Rewrite | None = None,
    is_declared: bool = False,
    notify: Callable[[str], None] = ignore,
) -> Iterator[Sentence]:
    """The sentences of a treebank file: the tree, and the words and tags without empty elements. See `read_trees`.

    Unless the user has declared the format, TreebankError is raised for trees of another format (`TreeChecks`): before
    the first of a file, and for a pipe, before those that its first bytes do not contain. ``notify`` is called at the
    end if a few words have no tag (`TreeChecks`).
    """
    source = Source.of(path)
    is_checked = not is_declared and rewrite is None
    checks = TreeChecks(source.path, notify, is_checked=is_checked)

    def read(on_bad: OnBad | None) -> Iterator[tuple[Tree, int]]:
        return read_trees(source, on_bad=on_bad, rewrite=rewrite, on_irregular=checks.search_marks)

    def inspect(trees: Sequence[tuple[Tree, int]]) -> None:
        checks.check([tree for tree, _ in trees])

    if not is_checked:
        trees = read(on_bad)
    elif reads_once(source.path):  # trees of a pipe are not held back
        text = source.head().decode(errors="replace")
        inspect(list(_parse_blocks(iter([(1, text)]), TreeSplitter(source.path, ignore))))
        trees = read(on_bad)
    else:
        trees = look_ahead(read, inspect, on_bad)
    for tree, line in checks.watch(trees):
        words, tags = (tree.words, tree.tags) if TRACE not in tree.tags else _without_traces(tree)
        yield Sentence(words, tags if any(tags) else (), tree, location=Location(source.path, line))


def read_trees(
    path: AnyPath,
    *,
    on_bad: OnBad | None = None,
    rewrite: Rewrite | None = None,
    on_irregular: Callable[[Tree], None] = ignore,
) -> Iterator[tuple[Tree, int]]:
    """The trees of a file, each with the number of the line where it starts, streamed.

    Comments between trees are skipped (see `TreeSplitter`). ``on_irregular`` is called with each tree that is not made
    of ``(LABEL`` and ``(TAG word)`` alone. Raises TreebankError with file and line for unbalanced brackets, and for
    lines that ``rewrite`` refuses; with ``on_bad``, the error is reported to it and the tree is skipped.
    """
    source = Source.of(path)
    undecoded: deque[TreebankError] = deque()
    texts = _margins(source, on_bad and undecoded.append)
    if rewrite is not None:
        texts = _rewritten(source.path, texts, rewrite, on_bad)
    trees = _parse_blocks(texts, TreeSplitter(source.path, on_bad), on_irregular)
    if on_bad is None:
        return trees
    return (pair for pair in trees if not _cannot_be_decoded(*pair, undecoded, on_bad))


def _parse_blocks(
    texts: Iterator[tuple[int, str]], splitter: TreeSplitter, on_irregular: Callable[[Tree], None] = ignore
) -> Iterator[tuple[Tree, int]]:
    for number, text in texts:
        parts = scan_regular(text) if splitter.is_between_trees else None
        if parts is not None:
            splitter.skip(number)
            yield Tree(*parts), number
            continue
        for line, block in splitter.feed(number, text):
            for pair in _parse_block(splitter, line, block):
                on_irregular(pair[0])
                yield pair
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
        is_escaped = is_escaped or ("\\" in block and "\\(" in block)  # the first search is much faster
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


_LABEL = re.compile(r"[ \t]*\([ \t]*([^ \t()]*)")
_OUTERMOST_LABELS = frozenset(("", "ROOT", "TOP", "S1"))  # labels of outermost brackets only
_COMMENT = re.compile(r"#|%%|\*x\*|<.*>\s*$")
_COMMENT_BLOCKS = {"/*": "*/", "/~*": "*~/"}


class TreeSplitter:
    """Splits numbered lines into blocks of one or more complete trees: the number of the first line, and the text.

    The first column is the indentation of the first tree of the file. In a tree whose first line closes no bracket and
    that has no indented or blank line, brackets alone decide where it ends. Skipped between trees: blank lines; lines
    that begin with ``#``, ``%%`` or ``*x*``, or begin with ``<`` and end with ``>``; CorpusSearch comments ``/* … */``
    and ``/~* … *~/``.

    Raises TreebankError for other text between trees, for an extra bracket, and for a tree that is never closed or is
    too long. With ``on_bad``, the error is reported to it and reading continues with the next bracket in the first
    column.
    """

    def __init__(self, path: str, on_bad: OnBad | None = None) -> None:
        self.path, self.on_bad = path, on_bad
        self._margin: int | None = None  # the first column
        self._margin_line = 0  # line of the last bracket in the first column
        self._first, self._lines = 0, list[str]()  # the open tree, if there are any lines
        self._depth = self._size = 0
        self._has_layout = False  # the open tree has an indented or blank line
        self._comment_end, self._comment_line = "", 0
        self._skipping = False  # the rest of a malformed tree is skipped
        self._blocks: list[tuple[int, str]] = []  # complete trees since the last bracket in the first column

    @property
    def is_between_trees(self) -> bool:
        """Whether the next line is outside of trees and comments."""
        return not (self._lines or self._comment_end)

    def skip(self, number: int) -> None:
        """Register a complete tree that starts in the first column of line ``number`` and was parsed elsewhere."""
        self._skipping, self._margin, self._margin_line = False, 0, number

    def feed(self, number: int, text: str) -> Iterator[tuple[int, str]]:
        """The blocks that end in the lines of ``text``, the first of which has this ``number``."""
        for line_number, line in enumerate(text.split("\n"), number):
            if self._is_outside(line):
                if self._lines and (self._has_layout or ")" in self._lines[0] or line[0] == "#"):
                    self._refuse(self._first, f"this tree is never closed (the next one starts at line {line_number})")
                    self._lines = []
                if not self._lines:
                    yield from self._blocks
                    self._blocks, self._skipping, self._margin_line = [], False, line_number
            if not self._skipping:
                self._add(line_number, line)
        yield from self._blocks
        self._blocks = []

    def close(self) -> None:
        """Report a tree or comment that is still open at the end of the file."""
        if self._comment_end:
            message = f"this comment never ends; add {self._comment_end!r}"
            report(TreebankError(self.path, self._comment_line, message), self.on_bad)
        if self._lines:
            self._refuse(self._first, "this tree is never closed")

    def _is_outside(self, line: str) -> bool:
        if line[:1] == "#" and self._lines and line.strip() != "#":
            return True
        start = line.lstrip(" \t")
        if start[:1] != "(" or self._comment_end:
            return False
        if self._lines and self._has_layout and _balance(line) < 0:  # the last line of a tree, as in CESS
            return False
        indentation = len(line) - len(start)
        if self._margin is None:
            self._margin = indentation
        return indentation <= self._margin

    def _add(self, number: int, line: str) -> None:
        """Add a line to the open tree, or begin a tree."""
        if not self._lines:
            if not self._begin(number, line):
                return
            self._first, self._depth, self._size, self._has_layout = number, 0, 0, False
        elif not line or line[0] in " \t":
            self._has_layout = True
        self._lines.append(line)
        self._depth += _balance(line)
        self._size += len(line) + 1
        check_size(self.path, self._first, self._size)
        if self._depth < 0:
            self._refuse_extra(number)
        elif not self._depth:
            self._blocks.append((self._first, "\n".join(self._lines)))
            self._lines = []

    def _begin(self, number: int, line: str) -> bool:
        """Whether a tree begins in a line between trees."""
        if self._comment_end:
            self._comment_end = "" if self._comment_end in line else self._comment_end
            return False
        start = line.lstrip(" \t")
        if start[:1] == "(":
            return not self._is_rest(number, line)
        if start[:1] == ")":
            self._refuse_extra(number)
            return False
        for opening, closing in _COMMENT_BLOCKS.items():
            if start.startswith(opening):
                self._comment_end, self._comment_line = "" if closing in start[len(opening) :] else closing, number
                return False
        if start and not _COMMENT.match(start):
            if len(line) > len(start):  # indented text belongs to the tree above
                self._blocks, self._skipping = [], True
            report(TreebankError(self.path, number, outside(start)), self.on_bad)
        return False

    def _is_rest(self, number: int, line: str) -> bool:
        """Report an indented tree directly below a tree of several lines, which probably has a ')' too many."""
        if not self._blocks or number == self._margin_line:
            return False
        first, text = self._blocks[-1]
        label = _LABEL.match(line)
        if not (0 < text.count("\n") == number - 1 - first) or (label and label[1] in _OUTERMOST_LABELS):
            return False
        reason = f"in line {number - 1}, or the tree in line {number} is not in the first column"
        self._refuse(first, f"a ')' too many {reason}", "take the ')' out, or the spaces before that tree")
        return True

    def _refuse_extra(self, number: int) -> None:
        line = self._margin_line or number
        self._refuse(line, f"a ')' too many {'here' if line == number else f'in line {number}'}", HELP_CLOSE)

    def _refuse(self, line: int, problem: str, remedy: str = HELP_OPEN) -> None:
        """Report a malformed tree in ``line``, and skip lines up to the next bracket in the first column."""
        self._blocks, self._lines, self._skipping = [], [], True
        report(TreebankError(self.path, line, f"{problem}; {remedy}"), self.on_bad)


def _balance(line: str) -> int:
    return line.count("(") - line.count(")")
