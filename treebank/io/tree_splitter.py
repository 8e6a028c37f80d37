"""Splitting of lines of brackets into blocks of complete trees. Finds the malformed tree if brackets are unbalanced."""

from __future__ import annotations

import re
from collections.abc import Iterator

from treebank.base.errors import TreebankError
from treebank.core.brackets import HELP_CLOSE, HELP_OPEN, diagnose, outside
from treebank.io.lines import OnBad, report

MAX_TREE_CHARACTERS = 1 << 26
_LABEL = re.compile(r"[ \t]*\([ \t]*([^ \t()]*)")
_OUTERMOST_LABELS = frozenset(("", "ROOT", "TOP", "S1"))  # labels of outermost brackets only
_COMMENT = re.compile(r"#|%%|\*x\*|<[^()]*>\s*$")
_COMMENT_BLOCKS = {"/*": "*/", "/~*": "*~/"}


class BrokenTree(TreebankError):
    """The error for a malformed tree that starts in line ``since``. Reading continues in line ``resume``."""

    def __init__(self, path: str, line: int, message: str, *, since: int, resume: int) -> None:
        super().__init__(path, line, message)
        self.since, self.resume = since, resume


class TreeSplitter:
    """Splits numbered lines into blocks of one or more complete trees: the number of the first line, and the text.

    Skipped between trees: blank lines; lines that begin with ``#``, ``%%`` or ``*x*``, or consist of one ``<…>``;
    CorpusSearch comments ``/* … */`` and ``/~* … *~/``. Raises BrokenTree for other text between trees, for an extra
    bracket and for a tree that is never closed (see `_OpenTree`). With ``on_bad``, the error is reported to it and
    reading continues with the next tree. Raises TreebankError for a tree of more than ``MAX_TREE_CHARACTERS``.
    """

    def __init__(self, path: str, on_bad: OnBad | None = None) -> None:
        self.path, self.on_bad = path, on_bad
        self.margin_line = 0  # line of the last tree that started at the margin of the file
        self._margin: int | None = None  # smallest indentation of a tree so far
        self._tree: _OpenTree | None = None
        self._comment_end, self._comment_line = "", 0
        self._skipping = False  # the rest of a malformed tree is skipped, up to the next tree at the margin
        self._previous = 0, ""  # first line and text of the previous block

    @property
    def is_between_trees(self) -> bool:
        """Whether the next line is outside of trees and comments."""
        return self._tree is None and not self._comment_end

    def skip(self, number: int, text: str) -> None:
        """Register a complete tree at the margin that starts in line ``number`` and was parsed elsewhere."""
        self._skipping, self._margin, self.margin_line = False, 0, number
        self._previous = number, text

    def feed(self, number: int, text: str) -> Iterator[tuple[int, str]]:
        """The blocks that end in the lines of ``text``, the first of which has this ``number``."""
        return self._split(list(enumerate(text.split("\n"), number)))

    def close(self) -> Iterator[tuple[int, str]]:
        """The remaining blocks at the end of the file, after the errors of trees that were never closed."""
        if self._comment_end:
            message = f"this comment never ends; add {self._comment_end!r}"
            report(TreebankError(self.path, self._comment_line, message), self.on_bad)
        while self._tree:
            tree = self._tree
            problem = diagnose(tree.text)
            line = tree.first + tree.text.count("\n", 0, problem.offset)
            error = BrokenTree(self.path, line, problem.message, since=line, resume=tree.next_start)
            yield from self._split(self._give_up(error))

    def _split(self, lines: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        """The blocks that end in these numbered lines."""
        lines.reverse()
        while lines:
            try:
                block = self._add(*lines.pop())
            except BrokenTree as error:
                lines.extend(reversed(self._give_up(error)))
            else:
                if block:
                    yield block

    def _give_up(self, error: BrokenTree) -> list[tuple[int, str]]:
        """Report a malformed tree and return the lines that were read of the trees after it."""
        report(error, self.on_bad)
        tree, self._tree = self._tree, None
        return [line for line in tree.numbered() if line[0] >= error.resume] if tree else []

    def _add(self, number: int, line: str) -> tuple[int, str] | None:
        """Add a line. Returns the block that it completes, if any."""
        if self._tree:
            is_interrupted = self._tree.add(number, line)
            if self._tree.size > MAX_TREE_CHARACTERS:
                problem = f"this tree has no end within {MAX_TREE_CHARACTERS >> 20} MB; {HELP_OPEN}"
                raise TreebankError(self.path, self._tree.first, problem)
            if is_interrupted:
                raise self._never_closed(self._tree.first, self._tree.next_start)
        elif not self._begin(number, line):
            return None
        tree = self._tree
        assert tree
        if tree.depth < 0:
            self._skipping = True
            raise self._too_many(number)
        if tree.depth:
            return None
        if tree.repeats_its_label():
            raise self._never_closed(tree.first, tree.next_start)
        self._tree, self._previous = None, (tree.first, tree.text)
        return self._previous

    def _begin(self, number: int, line: str) -> bool:
        """Whether a tree begins in a line between trees."""
        if self._comment_end:
            self._comment_end = "" if self._comment_end in line else self._comment_end
            return False
        start = line.lstrip(" \t")
        if self._skipping and (not start or start[0] == ")" or self._is_indented(line)):
            return False
        self._skipping = False
        if not start:
            return False
        if start[0] != "(":
            self._comment_end, self._comment_line = self._comment(number, line), number
            return False
        self._check_margin(number, line)
        if self._margin is None or not self._is_indented(line):
            self._margin, self.margin_line = _indentation(line), number
        self._tree = _OpenTree(number, line)
        return True

    def _check_margin(self, number: int, line: str) -> None:
        """Raises BrokenTree if a tree begins directly below a tree of several lines and is indented in this file."""
        first, text = self._previous
        last = first + text.rstrip("\n").count("\n")
        if last > first and last == number - 1 and self._is_indented(line) and _label(line) not in _OUTERMOST_LABELS:
            self._skipping = True
            reason = f"in line {number - 1}, or the tree in line {number} is not at the margin"
            message = f"a ')' too many {reason}; take the ')' out, or the spaces before that tree"
            raise BrokenTree(self.path, first, message, since=first, resume=number + 1)

    def _comment(self, number: int, line: str) -> str:
        """The end of the comment that starts in this line, "" if it ends there. Raises BrokenTree for other text."""
        start = line.lstrip(" \t")
        for opening, closing in _COMMENT_BLOCKS.items():
            if start.startswith(opening):
                return "" if closing in start[len(opening) :] else closing
        if _COMMENT.match(start):
            return ""
        self._skipping = start[0] == ")" or self._is_indented(line)
        if start[0] == ")":
            raise self._too_many(number)
        since = self.margin_line if self._skipping else number
        raise BrokenTree(self.path, number, outside(start), since=since, resume=number + 1)

    def _is_indented(self, line: str) -> bool:
        return _indentation(line) > (self._margin or 0)

    def _never_closed(self, first: int, number: int) -> BrokenTree:
        """The error for an open tree that starts in line ``first``, if the next one starts in line ``number``."""
        message = f"this tree is never closed (the next one starts at line {number}); {HELP_OPEN}"
        return BrokenTree(self.path, first, message, since=first, resume=number)

    def _too_many(self, number: int) -> BrokenTree:
        """The error for an extra closing bracket in line ``number``."""
        line = self.margin_line or number
        position = "here" if line == number else f"in line {number}"
        message = f"a ')' too many {position}; {HELP_CLOSE}"
        return BrokenTree(self.path, line, message, since=line, resume=number + 1)


class _OpenTree:
    """A tree whose last line has not been read.

    A tree that lacks a bracket continues in the trees after it. Such a tree is detected by a line that opens a bracket
    at the margin of the tree although the tree has blank or indented lines, or whose label occurs only outermost. In
    files without indentation the brackets decide, and a tree is refused only if all its lines start with its own label.
    """

    def __init__(self, first: int, line: str) -> None:
        self.first, self.lines, self.depth, self.size = first, [line], _balance(line), len(line)
        self._margin, self._label = _indentation(line), _label(line)
        self._is_set_off = False  # there are blank or indented lines
        self._only_opens = not line.strip(" \t(")  # no line has more than opening brackets
        self._margin_labels: dict[int, str] = {}  # label by line, of the lines that open a bracket at the margin

    @property
    def text(self) -> str:
        """The lines so far."""
        return "\n".join(self.lines)

    @property
    def next_start(self) -> int:
        """The line in which the next tree probably starts, if this one lacks a bracket.

        It is the first line that opens a bracket at the margin. If the tree has lines of its own at the margin, because
        its first line closes no bracket, it is the first such line with the label of the tree.
        """
        same_label = (number for number, label in self._margin_labels.items() if label == self._label)
        first = next(iter(self._margin_labels), self.first + len(self.lines))
        return first if ")" in self.lines[0] else next(same_label, first)

    def numbered(self) -> Iterator[tuple[int, str]]:
        """The lines so far with their numbers."""
        return enumerate(self.lines, self.first)

    def add(self, number: int, line: str) -> bool:
        """Add the next line. Whether it starts another tree or is a comment, so that this tree lacks a bracket."""
        is_comment, is_interrupted = self._is_comment(line), False
        if is_comment or self._opens_at_margin(line):
            label = self._label if is_comment else _label(line)
            self._margin_labels[number] = label
            is_interrupted = is_comment or self._is_set_off or label in _OUTERMOST_LABELS
        self._is_set_off = self._is_set_off or not line.strip(" \t") or _indentation(line) > self._margin
        self._only_opens = self._only_opens and not line.strip(" \t(")
        self.lines.append(line)
        self.depth += _balance(line)
        self.size += len(line) + 1
        return is_interrupted

    def repeats_its_label(self) -> bool:
        """Whether all lines but the first open a bracket with the label of this tree at the margin."""
        return bool(self._margin_labels) and not self._is_set_off and set(self._margin_labels.values()) == {self._label}

    def _is_comment(self, line: str) -> bool:
        return line.startswith("#", _indentation(line)) and _indentation(line) <= self._margin and line.strip() != "#"

    def _opens_at_margin(self, line: str) -> bool:
        """Whether a line opens a bracket at the margin and may be the first of another tree.

        A line that closes more brackets than it opens may be the last one of this tree.
        """
        if self._only_opens or _indentation(line) > self._margin or not line.lstrip(" \t").startswith("("):
            return False
        return _balance(line) >= 0 or _label(line) in (self._label, *_OUTERMOST_LABELS)


def _balance(line: str) -> int:
    return line.count("(") - line.count(")")


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _label(line: str) -> str:
    match = _LABEL.match(line)
    return match[1] if match else ""
