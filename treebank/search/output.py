"""Output of a search: lines of brackets, text, concordance, JSON and CSV, and a table of counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any, NamedTuple

from treebank.base.errors import TreebankError, UsageError
from treebank.base.metadata import json_text
from treebank.base.tables import Column, Table, columns, csv_line, printable
from treebank.core.sentence import Sentence
from treebank.core.tree import TRACE
from treebank.io.write import names_of, text_line
from treebank.search.search import MAX_CONTEXT, Hit, Match, bracketed, has_words
from treebank.search.tree_language import IndexedTree

MIN_CONTEXT = 10  # columns of the left context and of a match in a narrow terminal
DEFAULT_CONTEXT = 40  # columns on each side of a match in a concordance
GROUP_SEPARATOR = "--"  # between groups of lines with context, as in the output of grep


class Highlight(NamedTuple):
    """The text before and after each match, and the function that quotes all other text."""

    before: str
    after: str
    quote: Callable[[str], str] = str


NO_HIGHLIGHT = Highlight("", "")
TERMINAL_HIGHLIGHT = Highlight("\x1b[1;31m", "\x1b[0m", printable)
HTML_HIGHLIGHT = Highlight("<mark>", "</mark>", escape)
HTML_HEAD = (
    '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n<style>\n'
    ":root {{ color-scheme: light dark; font-family: ui-monospace, monospace; line-height: 1.45; }}\n"
    "mark {{ font-weight: bold; }} pre {{ margin: 0; }}\n</style>\n</head>\n<body>\n<h1>{title}</h1>"
)
HTML_END = "</body>\n</html>"


@dataclass(frozen=True, slots=True)
class Writer:
    """Writer of matches in one of `FORMATS`.

    ``context`` is the number of columns on each side of a match in a concordance and in CSV. With ``width``, the lines
    of a concordance fit into this number of columns. Without ``location``, the lines have no file and line number.
    ``separator`` is the character between both. ``sort`` names one of `SORT_KEYS`.
    """

    form: str
    highlight: Highlight = NO_HIGHLIGHT
    context: int = DEFAULT_CONTEXT
    width: int | None = None
    location: bool = True
    separator: str = ":"
    sort: str | None = None

    def lines(self, matches: Iterable[Match], title: str = "") -> Iterator[str]:
        """The lines of all matches, with the header of CSV or a page of HTML with this ``title`` around them."""
        if self.sort:
            lines = (replace(match, hits=(hit,)) for match in matches for hit in match.hits)
            matches = sorted(lines, key=SORT_KEYS[self.sort])
        if self.highlight is HTML_HIGHLIGHT:
            yield HTML_HEAD.format(title=escape(title))
            yield from (f"<pre>{line}</pre>" for line in self._body(matches))
            yield HTML_END
            return
        if self.form == "csv":
            yield csv_line([*(("file", "line") if self.location else ()), "left", "match", "right", "label"])
        yield from self._body(matches)

    def _body(self, matches: Iterable[Match]) -> Iterator[str]:
        """The lines of matches and of the sentences around them, which are written as grep writes context."""
        to_lines, around = FORMATS[self.form], replace(self, separator="-")
        for item in with_context(matches):
            if item is None:
                yield GROUP_SEPARATOR
            else:
                yield from to_lines(self, item) if isinstance(item, Match) else to_lines(around, Match(item))

    def marked(self, text: str) -> str:
        """``text`` of a match, escaped if needed, between the highlighting marks of the output format."""
        return f"{self.highlight.before}{self.highlight.quote(text)}{self.highlight.after}"

    def placed(self, sentence: Sentence, line: str) -> str:
        """``line``, preceded by file name, line number and a tab if locations are written."""
        path, number = sentence.location
        return f"{self.highlight.quote(path)}{self.separator}{number}\t{line}" if self.location else line


def with_context(matches: Iterable[Match]) -> Iterator[Match | Sentence | None]:
    """Yield the matches and the sentences around them in the order of the corpus, each sentence once.

    None is yielded where sentences between two groups are left out.
    """
    written: tuple[int, str] | None = None  # number and file of the last sentence
    after: Sequence[Sentence] = ()
    for match in matches:
        if match.context is None:
            yield match
            continue
        number, before, following = match.context
        path, first = match.sentence.location.path, number - len(before)
        if written:
            pending = after[: number - written[0] - 1]
            yield from pending
            written = written[0] + len(pending), written[1]
            if first > written[0] + 1 or written[1] != path:
                yield None
        yield from before if written is None else before[max(written[0] + 1 - first, 0) :]
        yield match
        written, after = (number, path), following
    yield from after


def _brackets(writer: Writer, match: Match) -> Iterator[str]:
    """The tree of the sentence in one line."""
    tree = match.sentence.tree
    if tree is None:
        problem = "heads are not written as brackets; choose --format text, concordance, jsonl or csv"
        raise TreebankError(*match.sentence.location, problem)
    if writer.highlight is NO_HIGHLIGHT:
        yield writer.placed(match.sentence, str(tree))
        return
    nodes = [hit.node for hit in _outermost(match.hits)]
    yield writer.placed(match.sentence, bracketed(tree, nodes, *writer.highlight))


def _text(writer: Writer, match: Match) -> Iterator[str]:
    """The words of the sentence in one line."""
    words, parts, end = match.words, list[str](), 0
    for hit in _outermost(match.hits):
        if hit.start > end:
            parts.append(writer.highlight.quote(text_line(words[end : hit.start])))
        if hit.end > hit.start:
            parts.append(writer.marked(text_line(words[hit.start : hit.end])))
        end = hit.end
    if end < len(words):
        parts.append(writer.highlight.quote(text_line(words[end:])))
    yield writer.placed(match.sentence, " ".join(parts))


def _concordance(writer: Writer, match: Match) -> Iterator[str]:
    """A line for each matching node, with the context on both sides and the matches below each other."""
    words, quote = match.words, writer.highlight.quote
    free = math.inf if writer.width is None else writer.width - len(writer.placed(match.sentence, "").expandtabs())
    size = min(writer.context, max(int(free * 2 / 5), MIN_CONTEXT)) if writer.width else writer.context
    for hit in match.hits:
        left = text_line(_fitting(words[: hit.start][::-1], size)[::-1])
        middle = _cut(text_line(words[hit.start : hit.end]), max(free - size - 2, MIN_CONTEXT))
        right = text_line(_fitting(words[hit.end :], min(writer.context, free - size - columns(middle) - 4)))
        padding = " " * (size - columns(left))
        yield writer.placed(
            match.sentence, f"{padding}{quote(left)}  {writer.marked(middle)}  {quote(right)}".rstrip(" ")
        )


def _jsonl(writer: Writer, match: Match) -> Iterator[str]:
    """One JSON object with words, tree or heads, and the matching nodes. Empty elements are words with their tag."""
    sentence, hits = match.sentence, [(hit.start, hit.end) for hit in match.hits]
    value: dict[str, Any] = {}
    if writer.location:
        value |= {"file": sentence.location.path, "line": sentence.location.line}
    if sentence.tree is not None:
        tree = sentence.tree
        if TRACE in tree.tags:
            index = IndexedTree(tree)
            hits = [(index.starts[hit.node], index.ends[hit.node]) for hit in match.hits]
        value |= {"words": tree.words, "spans": tree.spans, "labels": tree.labels, "tags": tree.tags}
    else:
        optional = {"relations": sentence.relations, "tags": sentence.tags, "upos": sentence.universal_tags}
        value |= {"words": sentence.words, "arcs": sentence.heads}
        value |= {key: values for key, values in optional.items() if values}
    value |= names_of(sentence)
    value["matches"] = [
        {"start": start, "end": end, "label": hit.label} for (start, end), hit in zip(hits, match.hits, strict=True)
    ]
    yield json_text(value)


def _csv(writer: Writer, match: Match) -> Iterator[str]:
    """A row for each matching node."""
    words, location = match.words, match.sentence.location
    for hit in match.hits:
        left, right = (
            _fitting(words[: hit.start][::-1], writer.context)[::-1],
            _fitting(words[hit.end :], writer.context),
        )
        cells = location if writer.location else ()
        yield csv_line([*cells, *map(text_line, (left, words[hit.start : hit.end], right)), hit.label])


#: order of the lines of a concordance -> key of a match with one matching node: words without regard to capitals
SORT_KEYS: dict[str, Callable[[Match], list[str]]] = {
    "match": lambda match: [word.lower() for word in match.words[match.hits[0].start : match.hits[0].end]],
    "left": lambda match: [word.lower() for word in match.words[: match.hits[0].start][::-1]],
    "right": lambda match: [word.lower() for word in match.words[match.hits[0].end :]],
}
FORMATS: dict[str, Callable[[Writer, Match], Iterator[str]]] = {
    "brackets": _brackets,
    "text": _text,
    "concordance": _concordance,
    "jsonl": _jsonl,
    "csv": _csv,
}


def _cut(text: str, width: float) -> str:
    """``text``, shortened to ``width`` columns with an ellipsis at the end."""
    if columns(text) <= width:
        return text
    while text and columns(text) >= width:
        text = text[:-1]
    return f"{text}…"


def _fitting(words: Sequence[str], width: float) -> Sequence[str]:
    """The first words that fit into ``width`` columns, with a space between two words."""
    count, used = 0, -1
    for word in words:
        used += columns(word) + 1
        if used > width:
            break
        count += 1
    return words[:count]


def _outermost(hits: Iterable[Hit]) -> list[Hit]:
    """The matches that are not inside another one, from left to right."""
    outer: list[Hit] = []
    for hit in hits:
        if not outer or hit.start >= outer[-1].end:
            outer.append(hit)
    return outer


@dataclass(slots=True)
class FileCount:
    """Numbers of sentences, of sentences with a match (with ``invert``: without one), and of matches in these."""

    sentences: int = 0
    matching: int = 0
    matches: int = 0


@dataclass(frozen=True, slots=True)
class PatternCounts:
    """Numbers of matches in each file."""

    pattern: str
    files: dict[str, FileCount] = field(default_factory=dict)

    def add(self, match: Match, *, invert: bool = False) -> None:
        """Count a sentence, with or without hits, unless it has no words."""
        if not has_words(match.sentence):
            return
        count = self.files.setdefault(match.sentence.location.path, FileCount())
        count.sentences += 1
        if bool(match.hits) != invert:
            count.matching += 1
            count.matches += len(match.hits)

    def tables(self) -> list[Table]:
        """One table with a row for each file and the sum."""
        names = [Column("file"), Column("sentences"), Column("matching"), Column("share", ".4f"), Column("matches")]
        rows = [_row(name, count) for name, count in self.files.items()]
        total = FileCount(*(sum(getattr(file, name) for file in self.files.values()) for name in FileCount.__slots__))
        return [Table("", names, [*rows, _row("total", total)] if len(rows) != 1 else rows)]

    def to_json(self) -> dict[str, Any]:
        """The pattern and the row of each file."""
        return {"pattern": self.pattern, "files": self.tables()[0].records()}


def _row(name: str, count: FileCount) -> list[str | int | float | None]:
    share = count.matching / count.sentences if count.sentences else None
    return [name, count.sentences, count.matching, share, count.matches]


def check(form: str, *, invert: bool, highlight: Highlight, context: int | None, sort: str | None) -> None:
    """Raises UsageError for options that exclude each other, and for a context that is too large."""
    if sort and form not in ("concordance", "csv"):
        raise UsageError(f"--sort orders lines of matches, and --format {form} has none; use concordance or csv")
    if context and context > MAX_CONTEXT:
        raise UsageError(f"--context {context:,} is too large; give at most {MAX_CONTEXT:,}")
    if invert and form in ("concordance", "csv"):
        raise UsageError(f"--format {form} has a line for each match, and with --invert there are none; use text")
    if highlight is not NO_HIGHLIGHT and form in ("jsonl", "csv", "count"):
        raise UsageError(f"--format {form} has no highlighting; use brackets, text or concordance")
