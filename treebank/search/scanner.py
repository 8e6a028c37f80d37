"""Reading of a pattern from left to right, with errors that name the position."""

from __future__ import annotations

import re

import regex

from treebank.base.errors import UnknownNameError
from treebank.io.conllu import BLANK

_SKIPPED = re.compile(r"(?:\s|#[^\n]*(?:\n|$))*")  # white space and comments
_QUOTED = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_REGEX = re.compile(r"/((?:[^/\\\n]|\\.)*)/")


class PatternError(UnknownNameError):
    """A malformed pattern: the ``problem``, and the ``position`` of the character at which it was detected."""

    def __init__(self, pattern: str, position: int, problem: str) -> None:
        self.pattern, self.position, self.problem = pattern, position, problem
        super().__init__(f"pattern {pattern!r}, character {position + 1}: {problem}")

    def picture(self) -> str:
        """The problem, the line of the pattern that contains it, and a caret below the position."""
        from treebank.draw.measure import columns

        start = self.pattern.rfind("\n", 0, self.position) + 1
        line = self.pattern[start:].partition("\n")[0].replace("\t", " ")
        return f"{self.problem}\n  {line}\n  {' ' * columns(line[: self.position - start])}^"


class Scanner:
    """A pattern and the position up to which it has been read."""

    def __init__(self, text: str) -> None:
        self.text, self.position = text, 0

    def match(self, expression: re.Pattern[str]) -> re.Match[str] | None:
        """Read ``expression`` after white space and comments. Returns None and reads nothing if it does not match."""
        skipped = _SKIPPED.match(self.text, self.position)
        match = expression.match(self.text, skipped.end() if skipped else self.position)
        if match:
            self.position = match.end()
        return match

    def accept(self, *literals: str) -> str:
        """Read and return the first of ``literals`` that follows, or ""."""
        self.skip()
        for literal in literals:
            if self.text.startswith(literal, self.position):
                self.position += len(literal)
                return literal
        return ""

    def skip(self) -> None:
        """Read white space and comments."""
        if skipped := _SKIPPED.match(self.text, self.position):
            self.position = skipped.end()

    def follows(self, *literals: str) -> bool:
        """Whether one of ``literals`` follows, without reading it."""
        self.skip()
        return self.text.startswith(literals, self.position)

    def expect(self, literal: str, problem: str) -> None:
        """Read ``literal``. Raises PatternError with ``problem`` if it does not follow."""
        if not self.accept(literal):
            raise self.error(problem)

    def quoted(self) -> str | None:
        r"""Read ``"text"`` and return the text, with ``\"`` and ``\\`` unescaped, or None if no quotation mark follows.

        A space becomes U+00A0, as in words.
        Raises PatternError if the closing quotation mark is missing.
        """
        if not self.follows('"'):
            return None
        match = self.match(_QUOTED)
        if not match:
            raise self.error('the closing " is missing')
        return match[1].replace('\\"', '"').replace("\\\\", "\\").replace(" ", BLANK)

    def regular(self, *, ignore_case: bool = False) -> regex.Pattern[str] | None:
        """Read ``/expression/`` and return the compiled regular expression, or None if no slash follows.

        A space becomes U+00A0, as in words.
        Raises PatternError if the closing slash is missing, and at the position of an error in the expression.
        """
        if not self.follows("/"):
            return None
        start = self.position + 1
        match = self.match(_REGEX)
        if not match:
            raise self.error("the closing / is missing")
        try:
            return regex.compile(match[1].replace(" ", BLANK), regex.IGNORECASE if ignore_case else 0)
        except regex.error as error:
            raise self.error(f"invalid regular expression: {error.msg}", start + (error.pos or 0)) from None

    def error(self, problem: str, position: int | None = None) -> PatternError:
        """The error for a problem at ``position``, by default where reading stopped."""
        self.skip()
        return PatternError(self.text, self.position if position is None else position, problem)
