"""Bracketed text as words, tags, spans and labels of each tree, and the diagnosis of malformed brackets.

A regular expression cuts text into words with their tags, opening brackets and runs of closing ones; a stack of open
brackets turns them into flat trees. Trees made of ``(LABEL`` and ``(TAG word)`` alone, which nearly all are, take a
shorter way (``scan_regular``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

Span = tuple[int, int]  # words from the first number to the second (exclusive), counted from 0
Parts = tuple[tuple[str, ...], tuple[str, ...], tuple[Span, ...], tuple[str, ...]]  # words, tags, spans, labels
_EMPTY = re.compile(r"\([ \t\n]*([^ \t\n()]+)[ \t\n]*(?:\([ \t\n]*\)[ \t\n]*)*\)")

#: labels of nodes without words in the format of CorpusSearch, and in Switchboard
CORPUSSEARCH_MARKS = frozenset(("ID", "CODE", "META", "METADATA", "VERSION", "LEMMA", "-DFL-"))
ROOTS = frozenset(("TOP", "ROOT", "S1", "VROOT"))  # labels of outermost brackets only

_WORD = r"[^ \t\n()]"
# White space is blank, tab and line feed, and nothing else: U+00A0 and U+2028 belong to words.
_TOKEN = re.compile(
    rf"\([ \t\n]*+({_WORD}*+)(?:[ \t\n]++({_WORD}++)[ \t\n]*+\)|[ \t\n]*+(\)))?"  # (TAG word) or (LABEL) or (LABEL …
    rf"|(\)[) \t\n]*+)|({_WORD}++)"  # closing brackets; a word without a tag
)
# Text that can occur between two opening brackets: "LABEL", or "TAG word)" and more closing brackets.
_REGULAR = re.compile(rf"[ \t\n]*+({_WORD}*+)(?:[ \t\n]++({_WORD}++)[ \t\n]*+\)([ \t\n)]*+))?[ \t\n]*+")
_MAX_ENTRIES = 1 << 16  # of each cache
BRACKET_OR_WORD = re.compile(r"[()]|[^ \t\n()]+")

HELP_OPEN = "add the missing ')', or take the tree out"
HELP_CLOSE = "take it out, or add the missing '('"
AS_BARE = "if every token is a word, give --input-format bare"


class Problem(NamedTuple):
    """The offset of an error in bracketed text, and the message for it."""

    offset: int
    message: str
    is_bare: bool = False  # a word in brackets of its own, as in trees without labels


def diagnose(text: str) -> Problem:
    """The first error in the brackets of ``text``."""
    depth = start = 0
    for match in BRACKET_OR_WORD.finditer(text):
        token = match[0]
        if token == "(":
            if not depth:
                start = match.start()
            depth += 1
        elif token == ")":
            depth -= 1
            if depth < 0:
                return Problem(match.start(), f"a ')' too many; {HELP_CLOSE}")
        elif not depth:
            return Problem(match.start(), outside(text[match.start() :]))
    if not depth:
        for empty in _EMPTY.finditer(text):
            label = shorten(empty[1])[1:-1]
            if empty[1].isalpha() and empty[1] != empty[1].upper():  # a word, as in (dog), and not a phrase, as in (NP)
                problem = f"the leaf ({label}) needs a tag and a word, (TAG word); {AS_BARE}"
                return Problem(empty.start(), problem, is_bare=True)
            if any(map(str.isalnum, label)):
                problem = f"the bracket ({label}) has no word; add one, ({label} word), or delete the bracket"
                return Problem(empty.start(), problem)
    return Problem(start, f"this tree is never closed; {HELP_OPEN}")


def outside(text: str) -> str:
    """The message for text that no bracket encloses."""
    hint = "trees look like (S (NP a cat) sleeps); for text use --input-format text"
    return f"text outside of brackets: {shorten(text)}; {hint}"


def shorten(text: str) -> str:
    """The beginning of ``text``, at most 30 characters of one line, as a Python string."""
    line = text.split("\n", 1)[0].strip()
    return repr(line if len(line) <= 30 else line[:30] + "…")


def root_offsets(text: str) -> list[int]:
    """The offset of each outermost opening bracket of balanced text."""
    offsets = []
    depth = 0
    for match in re.finditer(r"[()]", text):
        if match[0] == "(":
            if not depth:
                offsets.append(match.start())
            depth += 1
        else:
            depth -= 1
    return offsets


def parse(text: str) -> Iterator[Parts]:
    """The trees of ``text``, as written but for outer brackets without a label over a single child.

    Raises ValueError where brackets do not balance, and for text outside of them.
    """
    text = text.replace("\r\n", "\n")
    parts = scan_regular(text)
    return scan(text) if parts is None else iter((parts,))


def scan(text: str) -> Iterator[Parts]:
    """The trees of ``text`` in any layout."""
    words: list[str] = []
    tags: list[str] = []
    labels: list[str] = []
    spans: list[Span] = []
    stack: list[tuple[int, int]] = []  # of each open bracket: its position in pre-order, its first word
    for label, word, empty, closing, bare in _TOKEN.findall(text):
        if word:
            words.append(word)
            tags.append(label)
        elif closing:
            for _ in range(closing.count(")")):
                if not stack:
                    raise ValueError(diagnose(text).message)
                k, start = stack.pop()
                spans[k] = start, len(words)
        elif bare:
            if not stack:
                raise ValueError(diagnose(text).message)
            words.append(bare)
            tags.append("")
        elif not empty:
            stack.append((len(labels), len(words)))
            labels.append(label)
            spans.append((0, 0))
        elif label and not any(map(str.isalnum, label)):  # (.) is short for (. .) in some treebanks
            words.append(label)
            tags.append(label)
        elif label and (labels or label not in ROOTS):  # (TOP ) is an empty tree, the output of a failed parse
            if any(labels):
                raise ValueError(diagnose(text).message)
            words.append(label)  # in a tree without labels, (dogs) is a word in brackets of its own
            tags.append("")
        if not stack:
            if any(start == end and label for (start, end), label in zip(spans, labels, strict=True)):
                raise ValueError(diagnose(text).message)
            yield without_outer_brackets(words, tags, spans, labels)
            words, tags, labels, spans = [], [], [], []
    if stack:
        raise ValueError(diagnose(text).message)


def without_outer_brackets(
    words: Sequence[str], tags: Sequence[str], spans: Sequence[Any], labels: Sequence[str]
) -> Parts:
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
    return tuple(words), tuple(tags), tuple([spans[k] for k in full]), tuple([labels[k] for k in full])


class _Pieces(dict[str, tuple[str, str, int]]):
    """Text between two opening brackets -> tag or label, word ("" for a phrase), number of closing brackets.

    Pieces such as ``NP `` and ``DT the) `` are frequent, so looking them up instead of matching them makes reading
    twice as fast. A phrase with a count of -1 marks a piece of another form, or one of a format with other rules.
    """

    def __missing__(self, piece: str) -> tuple[str, str, int]:
        match = _REGULAR.fullmatch(piece)
        label, word, closing = match.groups("") if match else ("", "", "")
        parts = (label, word, closing.count(")")) if match and label not in CORPUSSEARCH_MARKS else ("", "", -1)
        if len(self) >= _MAX_ENTRIES:
            self.clear()
        self[piece] = parts
        return parts


_PIECES = _Pieces()  # shared, since treebanks come in thousands of small files; bounded


class _Spans(dict[Span, Span]):
    """Cache in which each span is its own value, so that trees share equal spans, which halves their memory."""

    def __missing__(self, span: Span) -> Span:
        if len(self) < _MAX_ENTRIES:
            self[span] = span
        return span


SPANS = _Spans()


def scan_regular(text: str) -> Parts | None:
    """The tree of ``text`` if it is one tree made of ``(LABEL`` and ``(TAG word)`` alone, or None.

    It is None for a tree with a label of `CORPUSSEARCH_MARKS`, so that only the other trees need to be searched for it.
    """
    words: list[str] = []
    tags: list[str] = []
    labels: list[str] = []
    spans: list[Any] = []  # of an open bracket its first word
    stack: list[int] = []
    add_word, add_tag, add_label, add_span = words.append, tags.append, labels.append, spans.append
    push, pop = stack.append, stack.pop
    shared = SPANS
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
                    spans[k] = shared[spans[k], end]
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
        return tuple(words), tuple(tags), tuple(spans), tuple(labels)
    return without_outer_brackets(words, tags, spans, labels)
