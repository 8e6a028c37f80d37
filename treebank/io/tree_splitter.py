"""Cuts lines of brackets into blocks of whole trees, and finds out which tree is broken where they do not balance."""

from __future__ import annotations

import re
from collections.abc import Iterator

from treebank.base.errors import TreebankError
from treebank.core.brackets import HELP_CLOSE, HELP_OPEN, diagnose, outside
from treebank.io.lines import OnBad, report

_LABEL = re.compile(r"[ \t]*\([ \t]*([^ \t()]*)")
_NEVER_INSIDE = frozenset(("", "ROOT", "TOP", "S1"))  # labels of outermost brackets only
_COMMENT = re.compile(r"#|%%|\*x\*|<[^()]*>\s*$")
_COMMENT_BLOCKS = {"/*": "*/", "/~*": "*~/"}


class BrokenTree(TreebankError):
    """A tree that cannot be read: it began at line ``since``, and what comes at line ``resume`` is the next one's."""

    def __init__(self, path: str, line: int, message: str, *, since: int, resume: int) -> None:
        super().__init__(path, line, message)
        self.since, self.resume = since, resume


class Cutter:
    """Cuts numbered lines into blocks that hold one or more whole trees: the first line's number, and the text.

    Skipped between trees: blank lines; lines that begin with ``#``, ``%%`` or ``*x*``, or are one ``<…>``; CorpusSearch
    comments ``/* … */`` and ``/~* … *~/``. Raises BrokenTree for other text there, and for a tree that is never closed
    (see ``_Layout``); with ``on_bad``, tells it instead, and goes on with the next tree.
    """

    def __init__(self, path: str, on_bad: OnBad | None = None) -> None:
        self.path = path
        self.on_bad = on_bad
        self.layout = _Layout(path)
        self.held: list[str] = []
        self.first = self.depth = self.last = 0
        self.comment_end = ""
        self.lost = False  # in the rest of a broken tree: the next one starts at the margin
        self.done = (0, "")  # the block before, and the line where it starts

    @property
    def between(self) -> bool:
        """Whether the next line stands between trees."""
        return not self.depth and not self.comment_end

    def skip(self, number: int, text: str) -> None:
        """Take note of a whole tree that starts at the margin of line ``number``, already dealt with."""
        self.lost = False
        self.done = number, text
        self.layout.outermost = number
        if not self.layout.indented and "\n" in text.rstrip("\n"):
            self.layout.indented = True

    def feed(self, number: int, text: str) -> Iterator[tuple[int, str]]:
        """The blocks that end in ``text``, lines without the last one's end, the first of this ``number``."""
        return self._cut(list(enumerate(text.split("\n"), number)))

    def close(self) -> Iterator[tuple[int, str]]:
        """The lines have ended: the blocks after a tree that was never closed, once that one is left out."""
        if self.comment_end:
            message = f"this comment never ends; add {self.comment_end!r}"
            report(TreebankError(self.path, self.first, message), self.on_bad)
        while self.depth:
            text = "\n".join(self.held)
            problem = diagnose(text)
            line = self.first + text.count("\n", 0, problem.offset)
            resume = self.layout.likely_next() or self.first + len(self.held)
            yield from self._cut(self._give_up(BrokenTree(self.path, line, problem.message, since=line, resume=resume)))

    def _cut(self, lines: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        """The blocks that end in these numbered lines."""
        lines.reverse()
        while lines:
            try:
                whole = self._take(*lines.pop())
            except BrokenTree as broken:
                lines.extend(reversed(self._give_up(broken)))
            else:
                if whole:
                    self.done = self.first, "\n".join(self.held)
                    yield self.done

    def _give_up(self, broken: BrokenTree) -> list[tuple[int, str]]:
        """Tell of a broken tree and forget it; what was held of the next one."""
        report(broken, self.on_bad)
        self.depth = 0
        return [(number, line) for number, line in enumerate(self.held, self.first) if number >= broken.resume]

    def _take(self, number: int, line: str) -> bool:
        """Whether this line completes a block."""
        if self.depth:
            self.held.append(line)
            self.layout.look(number, line)
        elif not self._begin(number, line):
            return False
        self.depth += line.count("(") - line.count(")")
        if self.depth < 0:
            self.lost = True
            raise self.layout.too_many(number)
        if not self.depth:
            self.layout.end()
        return not self.depth

    def _begin(self, number: int, line: str) -> bool:
        """Whether a tree begins in a line that stands between trees."""
        if self.comment_end:
            self.comment_end = "" if self.comment_end in line else self.comment_end
            return False
        start = line.lstrip(" \t")
        self.lost = self.lost and bool(start) and (start[0] == ")" or self.layout.inside(line))
        if not start or self.lost:
            return False
        self.first = number
        self.held = [line]
        if start[0] == "(":
            self._check_margin(number, line)
            self.layout.begin(number, line)
            return True
        self.comment_end = self._comment(number, line)
        return False

    def _check_margin(self, number: int, line: str) -> None:
        """Raises if a tree begins right below one of several lines, and further right than trees do in this file."""
        if not self.layout.inside(line) or _label(line) in _NEVER_INSIDE:
            return
        first, text = self.done
        lines = text.rstrip("\n").count("\n")
        if lines and first + lines == number - 1:
            self.lost = True
            where = f"in line {number - 1}, or the tree in line {number} is not at the margin"
            message = f"a ')' too many {where}; take the ')' out, or the spaces before that tree"
            raise BrokenTree(self.path, first, message, since=first, resume=number + 1)

    def _comment(self, number: int, line: str) -> str:
        """What ends the comment that is this line, "" if the line does. Raises for other text."""
        start = line.lstrip(" \t")
        for opening, closing in _COMMENT_BLOCKS.items():
            if start.startswith(opening):
                return "" if closing in start[len(opening) :] else closing
        if _COMMENT.match(start):
            return ""
        self.lost = start[0] == ")" or self.layout.inside(line)
        if start[0] == ")":
            raise self.layout.too_many(number)
        since = self.layout.outermost if self.lost else number
        raise BrokenTree(self.path, number, outside(start), since=since, resume=number + 1)


class _Layout:
    """How the trees of one file are laid out; tells a new tree from the next line of one that is still open.

    A tree that lacks a bracket would swallow the trees after it. What gives it away is a line that opens a bracket no
    further right than the tree itself. Files with unindented lines have such lines too, and the last line of a tree may
    be unindented in any. So the tree is declared open if that line's label is one of outermost brackets only, or a
    blank line stands before it, or the trees of this file that went over several lines had them all indented.
    Otherwise the answer waits for the end of the file; should the brackets balance before it, the tree is refused only
    if all such lines repeat its label.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.indented = self.unindented = False  # of the trees so far that went over several lines
        self.outermost = 0  # line of the last tree that started at the outer margin
        self.outer = 0  # that margin: where the first tree starts, or further left
        self.begin(0, "")

    def begin(self, number: int, line: str) -> None:
        """A tree starts in this line."""
        self.first = number
        self.margin = _indentation(line)
        if not self.outermost or not self.inside(line):
            self.outermost, self.outer = number, self.margin
        self.label = _label(line)
        self.only_opened = not line.strip(" \t(")
        self.deeper = self.blank = False
        self.repeats: list[bool] = []
        self.suspect = self.repeated = 0

    def look(self, number: int, line: str) -> None:
        """Another line of the open tree; raises if it is the start of the next one."""
        start = line.lstrip(" \t")
        if not start:
            self.blank = True
            return
        margin = len(line) - len(start)
        if margin > self.margin:
            self.deeper = True
        elif start[0] == "(" and not self.only_opened and not self._ends_in(line):
            label = _label(line)
            settled = self.indented and not self.unindented
            if self.blank or settled or label in _NEVER_INSIDE:
                raise self.never_closed(number)
            self.suspect = self.suspect or number
            self.repeats.append(label == self.label)
            if label == self.label:
                self.repeated = self.repeated or number
        elif start[0] == "#" and (self.blank or len(start) > 1):
            raise self.never_closed(number)
        self.only_opened = self.only_opened and not start.strip(" \t(")
        self.blank = False

    def _ends_in(self, line: str) -> bool:
        """Whether a line that closes more than it opens may be the last of the open tree, not the first of another."""
        return line.count(")") > line.count("(") and _label(line) not in (self.label, *_NEVER_INSIDE)

    def end(self) -> None:
        """The open tree is closed, at the end of a line."""
        if self.repeats and all(self.repeats) and not self.unindented:
            raise self.never_closed(self.suspect)
        self.unindented = self.unindented or bool(self.repeats)
        self.indented = self.indented or (self.deeper and not self.repeats)

    def inside(self, line: str) -> bool:
        """Whether the line is further right than trees start in this file."""
        return _indentation(line) > self.outer

    def likely_next(self) -> int:
        """The line where the next tree seems to start, if the open one is never closed; 0 if there is none."""
        return self.repeated if self.unindented else self.suspect

    def never_closed(self, number: int) -> BrokenTree:
        """The error for the open tree, if another one starts at line ``number``."""
        message = f"this tree is never closed (the next one starts at line {number}); {HELP_OPEN}"
        return BrokenTree(self.path, self.first, message, since=self.first, resume=number)

    def too_many(self, number: int) -> BrokenTree:
        """The error for a closing bracket in line ``number`` that nothing opened."""
        where = self.outermost or number
        there = "here" if where == number else f"in line {number}"
        message = f"a ')' too many {there}; {HELP_CLOSE}"
        return BrokenTree(self.path, where, message, since=where, resume=number + 1)


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _label(line: str) -> str:
    match = _LABEL.match(line)
    return match[1] if match else ""
