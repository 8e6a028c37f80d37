"""Splitting of lines of brackets into blocks of complete trees, with one rule that finds malformed trees.

The rule: a bracket or a comment in the first column is outside of trees. If a tree is open there, it lacks a bracket.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from treebank.base.errors import TreebankError
from treebank.core.brackets import HELP_CLOSE, HELP_OPEN, outside
from treebank.io.lines import OnBad, check_size, report

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
