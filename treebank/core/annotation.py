"""The context of the words of a sentence in its source: columns and comments of CoNLL-U, or spacing in raw text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

NO_SPACE = "SpaceAfter=No"  # entry of MISC


class Token(NamedTuple):
    """A token of the surface text: a word, or a range of several that are written as one (``2-3 don't``)."""

    form: str
    first: int  # index of its first word, counted from 0
    last: int  # index of its last word, equal to ``first`` unless it is a range
    spaced: bool  # whether white space follows it


@dataclass(frozen=True, slots=True)
class Annotation:
    """A sentence as in its CoNLL-U file: comment lines, and rows of ten cells, including ranges and empty nodes.

    A sentence of CoNLL-X has the rows that it has in CoNLL-U. ``dropped`` names the parts that were left out because
    words were deleted or CoNLL-U does not have them.
    """

    comments: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    dropped: frozenset[str] = frozenset()

    def comment(self, name: str) -> str | None:
        """The value of the comment ``# name = …``, or None without such a comment."""
        for line in self.comments:
            key, equals, value = line.removeprefix("#").partition("=")
            if equals and key.strip() == name:
                return value.strip()
        return None

    def tokens(self) -> list[Token]:
        """The surface tokens in order. A range replaces the words that it covers, and empty nodes are left out."""
        tokens: list[Token] = []
        covered = 0  # the number of the last word that a range covers
        for row in self.rows:
            number, misc = row[0], row[9].split("|")
            if "." in number:
                continue
            first, _, last = number.partition("-")
            if last:
                covered = int(last)
            elif int(first) <= covered:
                continue
            tokens.append(Token(row[1], int(first) - 1, int(last or first) - 1, NO_SPACE not in misc))
        return tokens

    def text(self) -> str:
        """The sentence as running text: the value of ``# text``, else the tokens with their spacing."""
        text = self.comment("text")
        if text is not None:
            return text
        return "".join(token.form + " " * token.spaced for token in self.tokens()).rstrip(" ")

    def keep(self, mask: Sequence[bool], heads: Sequence[int], relations: Sequence[str]) -> Annotation:
        """The annotation of the words whose ``mask`` is true, with new numbers, and ``heads`` and ``relations`` if any.

        The comment ``# text``, enhanced dependencies, empty nodes, and ranges with a deleted word are left out. White
        space follows each token before a deleted word.
        """
        new_indices = list(accumulate(mask, initial=0))  # the number of kept words before each word
        rows, dropped = [], set(self.dropped)
        for row in self.rows:
            first, _, last = row[0].partition("-")
            if "." in first:
                dropped.add("enhanced dependencies")
                continue
            start, end = int(first) - 1, int(last or first)
            if all(mask[start:end]):
                if row[8] != "_":
                    dropped.add("enhanced dependencies")
                misc = row[9]
                if not all(mask[end : end + 1]):
                    misc = "|".join(entry for entry in misc.split("|") if entry != NO_SPACE) or "_"
                head = row[6] if last or not heads else str(heads[new_indices[start]] + 1)
                relation = row[7] if last or not relations else relations[new_indices[start]]
                name = f"{new_indices[start] + 1}-{new_indices[start] + end - start}" if last else str(new_indices[end])
                rows.append((name, *row[1:6], head, relation, "_", misc))
            elif last:
                dropped.add("multiword tokens")
        comments = tuple(line for line in self.comments if line.removeprefix("#").partition("=")[0].strip() != "text")
        return Annotation(comments, tuple(rows), frozenset(dropped))


@dataclass(frozen=True, slots=True)
class Surface:
    """The position of a sentence in raw text, so that a tree can be laid over it.

    ``text`` is the sentence as it is written there; ``spans[i]`` the characters of word i in it, from 0, half-open.
    ``offset`` is the number of characters in the file before ``text``; line ends count as in the file.
    """

    text: str
    spans: tuple[tuple[int, int], ...]
    offset: int = 0

    def offsets(self) -> list[tuple[int, int]]:
        """The characters of each word in the whole file."""
        return [(self.offset + start, self.offset + end) for start, end in self.spans]

    def spaced(self) -> list[bool]:
        """For each word, whether white space follows it. This is always true for the last one."""
        starts = [start for start, _ in self.spans[1:]] + [len(self.text) + 1]
        return [end < start for (_, end), start in zip(self.spans, starts, strict=True)]
