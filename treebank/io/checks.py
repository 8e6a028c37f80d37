"""Checks of what a file contains: text that is not sentences, trees of another format, and signs of damage.

Text and trees are refused if they are evidently something else, because a result from them would be wrong. The message
names the likely format, the share of lines or words that show it, an example and a remedy. Signs of damage in sentences
that are valid are reported in notes at the end of a file.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

from treebank.base.errors import TreebankError
from treebank.core.brackets import shorten
from treebank.core.tree import Tree
from treebank.io.content import (
    CORPUSSEARCH_MARKS,
    INCOMPLETE_JSON,
    JSON_KEYS,
    MIN_TABLE_ROWS,
    Lines,
    first_lines,
    json_object,
)

AS_TEXT = "to read it as text all the same, give --input-format text"
AS_BRACKETS = "to read it as it is, give --input-format brackets"

# --- text

_HTML = re.compile(r"<(?:!doctype|html|head|body|\?xml|TEI|tei|corpus|xces)\b", re.IGNORECASE)
_SEPARATORS = {"tabs": "\t", "commas": ",", "semicolons": ";"}
_TAG = r"</?[A-Za-z][^<>]*>"
_TOKEN = r"<(?:bos|eos|pad|unk)>"  # a token of language models, not markup
_TAG_LINE = re.compile(rf"\s*(?!{_TOKEN}){_TAG}\s*|\s*<s>\s.*</s>\s*", re.IGNORECASE)
_TAG_CELL = re.compile(r"[A-Z][A-Z0-9$:.-]*|[BIES]-\S+|O|[^\w\s]+")
MIN_COLUMN_SHARE = 0.9  # of the lines with the most frequent number of cells


@dataclass(frozen=True, slots=True)
class _Likely:
    """A format that text may have: its name, the lines that show it, the least share of such lines, and the remedy."""

    name: str
    lines: re.Pattern[str]
    share: float
    remedy: str


_LIKELY = (
    _Likely(
        "CoNLL-U Plus",
        re.compile(r"# *global\.columns *=.*"),
        0.0,
        "write its rows with the ten columns of CoNLL-U first",
    ),
    _Likely(
        "a CHAT transcript (CHILDES)",
        re.compile(r"@\w[^\t]*(?::\t.*)?|[*][A-Z0-9]{2,}:\s.*|%[a-z]{3,}:\s.*"),
        0.5,
        "give --input-format chat",
    ),
    _Likely(
        "subtitles",
        re.compile(r"WEBVTT.*|[0-9:.,]+ +--> +[0-9:.,]+.*"),
        0.15,
        "give --input-format subtitles",
    ),
    _Likely(
        "a text with lines of field markers (Toolbox, SFM)",
        re.compile(r"\\[a-z_]{1,4}(?: .*)?"),
        0.8,
        "give --input-format toolbox",
    ),
    _Likely(
        "trees in square brackets",
        re.compile(
            r"\s*\[\.?[^\s\[\]]*\s+\[?.*\[.*|\s*\[\[[^\[\]]+\].*|\s*\[+['\"].*\]\s*|\s*\\Tree\b.*|\s*Tree\('.*|.*\\begin\{forest\}.*"
        ),
        0.5,
        "write them with round brackets, (S (NP (D the) (N cat)) (VP (V sleeps)))",
    ),
    _Likely(
        "the VISL format (árvores deitadas)",
        re.compile(r"=+[^:]+:.*"),
        0.5,
        "convert it to the export format of NeGra or to Penn brackets first",
    ),
    _Likely(
        "typed dependencies of Stanford",
        re.compile(r"[\w:]+\(.+-[0-9]+'*, .+-[0-9]+'*\)"),
        0.8,
        "write CoNLL-U instead (-outputFormat conllu)",
    ),
    _Likely("AMR (PENMAN)", re.compile(r"\s*\(\w+ / .*|\s*:[A-Za-z][\w-]* .*"), 0.5, "it has no tree over the words"),
    _Likely(
        "CCGbank",
        re.compile(r"ID=\S+ PARSER=.*|\s*\(<[TL] .*"),
        0.3,
        "convert its derivations to Penn brackets first",
    ),
)
_REMOVE_TAGS = f"delete its tags first: sed -E 's#{_TAG}##g' IN > OUT"
_MARKUP = (
    _Likely("text with lines of markup", re.compile(r"\s*<doc id=.*>\s*"), 0.0, _REMOVE_TAGS),  # WikiExtractor
    _Likely("text with lines of markup", _TAG_LINE, 0.1, _REMOVE_TAGS),
)
_TOKENS = (
    (re.compile(r"\S+/[^\s/]{1,12}"), "words with tags, word/TAG", "delete the tags: sed -E 's#/[^ /]+##g' IN > OUT"),
    (
        re.compile(r"\S+_[A-Z.,:;$'`#-][A-Z0-9.,:;$'`#-]*"),
        "words with tags, word_TAG",
        "delete the tags: sed -E 's#_[^ _]+##g' IN > OUT",
    ),
    (re.compile("_"), "text whose words were withheld", "get the words from the owner of the text"),
)
MIN_TOKEN_SHARE = 0.8  # of the words that carry a tag
MIN_WORD_ROWS = 10  # lines of one word each, among them punctuation


def text_problem(head: str) -> str:
    """The error message, with a remedy, for text that does not consist of sentences, or ""."""
    lines = first_lines(head)
    if not lines:
        return ""
    if _HTML.match(lines[0].lstrip()):
        return f"this is HTML or XML, not TIGER-XML or TEI; extract its text first, one sentence per line; {AS_TEXT}"
    checks = (
        _json_problem,
        _likely_problem,
        _table_problem,
        _columns_problem,
        _markup_problem,
        _tokens_problem,
        _spaces_problem,
    )
    return next(filter(None, (check(lines) for check in checks)), "")


def _json_problem(lines: Lines) -> str:
    line = lines[0]
    value = json_object(line)
    if value is not None and not any(key in value for key in JSON_KEYS):
        return f'these JSON lines have no "words" and no "text" (but {", ".join(list(value)[:4])}); {AS_TEXT}'
    if value is None and line.lstrip().startswith(("{", "[")) and INCOMPLETE_JSON.match(line):
        return f"this is JSON over several lines; give one object per line (jq -c '.[]' IN > OUT); {AS_TEXT}"
    return ""


def _likely_problem(lines: Lines, formats: Sequence[_Likely] = _LIKELY) -> str:
    """The message for the first of ``formats`` of which there are enough lines."""
    for likely in formats:
        matches = [line for line in lines if likely.lines.fullmatch(line)]
        if matches and len(matches) >= likely.share * len(lines):
            share = _share(len(matches), len(lines), "lines", matches[0])
            return f"this looks like {likely.name} ({share}); {likely.remedy}; {AS_TEXT}"
    return ""


def _markup_problem(lines: Lines) -> str:
    return _likely_problem(lines, _MARKUP)


def _share(count: int, total: int, unit: str, example: str) -> str:
    return f"{count / total:.0%} of the {unit}, such as {shorten(example)}"


def _table_problem(lines: Lines) -> str:
    """The message for a table: all lines have the same number of cells. A comma before a space is punctuation."""
    if len(lines) < MIN_TABLE_ROWS:
        return ""
    for name, separator in _SEPARATORS.items():
        try:
            rows = list(csv.reader(lines[:50], delimiter=separator))
        except csv.Error:
            continue
        counts = {len(row) for row in rows}
        is_tight = all(not cell.startswith(" ") for row in rows for cell in row[1:])
        has_sentences = any(" " in cell for row in rows for cell in row)  # else the cells may be words
        if len(counts) == 1 and counts != {1} and is_tight and has_sentences:
            problem = f"this looks like a table of {counts.pop()} columns between {name}"
            return f"{problem}; write its column of text into a file, one sentence per line, or {AS_TEXT}"
    return ""


def _columns_problem(lines: Lines) -> str:
    """The message for one word per line, with or without columns such as tags and lemmas."""
    rows = [line for line in lines if not _TAG_LINE.fullmatch(line) and line[0] != "#"]
    if len(rows) < MIN_TABLE_ROWS:
        return ""
    remedy = "join its words to one sentence per line, or write the ten columns of CoNLL-U"
    for separator in ("\t", None):
        cells = [row.split(separator) for row in rows]
        width, count = Counter(map(len, cells)).most_common(1)[0]
        if count < MIN_COLUMN_SHARE * len(rows):
            continue
        columns = list(zip(*(row for row in cells if len(row) == width), strict=True))
        share = _share(count, len(rows), "lines", rows[0].replace("\t", " "))
        has_spaces = any(" " in cell for column in columns for cell in column)
        if width > 1 and not has_spaces and _has_tags(columns):
            return f"this looks like one word per line with {width} columns ({share}); {remedy}; {AS_TEXT}"
        is_long = len(rows) >= MIN_WORD_ROWS and any(not any(map(str.isalnum, cell)) for cell in columns[0])
        if width == 1 and separator is None and is_long:
            return f"this looks like one word per line ({share}); {remedy}; {AS_TEXT}"
    return ""


def _has_tags(columns: Sequence[Sequence[str]]) -> bool:
    """Whether a column after the first contains tags, and the first one does not."""
    limit = MIN_COLUMN_SHARE * len(columns[0])
    is_tagged = [
        sum(map(bool, map(_TAG_CELL.fullmatch, cells))) >= limit and sum(map(str.isalpha, set(cells))) > 1
        for cells in columns
    ]
    return any(is_tagged) and not is_tagged[0]


def _tokens_problem(lines: Lines) -> str:
    """The message for text whose tokens carry tags, or in which all words are withheld."""
    tokens = [token for token in " ".join(lines[:200]).split() if token.strip("[]=")]  # without those of chunks
    for pattern, name, remedy in _TOKENS:
        matches = [token for token in tokens if pattern.fullmatch(token)]
        if len(matches) >= max(MIN_TABLE_ROWS, MIN_TOKEN_SHARE * len(tokens)):
            share = _share(len(matches), len(tokens), "words", matches[0])
            return f"this looks like {name} ({share}); {remedy}; {AS_TEXT}"
    return ""


def _spaces_problem(lines: Lines) -> str:
    """The message for words that only U+3000 or U+00A0 separate, both of which belong to words."""
    for space in ("\u3000", "\u00a0"):
        count = sum(line.strip().count(space) for line in lines)
        if count >= 2 * len(lines) and not any(" " in line.strip() or "\t" in line.strip() for line in lines):
            name = f"U+{ord(space):04X}"
            return f"the words are separated by {name}, which belongs to words; replace it by spaces; {AS_TEXT}"
    return ""


# --- trees


@dataclass(frozen=True, slots=True)
class _OtherTrees:
    """Another format of trees: its name, its words, a character of each, the least share of them, and the remedy."""

    name: str
    words: re.Pattern[str]
    character: str
    share: float
    remedy: str


_OTHER_TREES = (
    _OtherTrees(
        "the discbracket format of discontinuous trees",
        re.compile(r"[0-9]+=.+"),
        "=",
        0.5,
        "convert it to the export format of NeGra first (discodop treetransforms --output=export)",
    ),
    _OtherTrees(
        "brackets with leaves word/TAG",
        re.compile(r"[^/]*/[^/\s]{1,12}|.+/[A-Z.,:;$'`#-]+"),
        "/",
        0.5,
        "write each leaf as (TAG word): sed -E 's#([^ ()]+)/([^ ()/]+)#(\\2 \\1)#g' IN > OUT",
    ),
    _OtherTrees(
        "brackets with leaves word_TAG",
        re.compile(r".+_[A-Z.,:;$'`#-][A-Z0-9.,:;$'`#-]*"),
        "_",
        0.5,
        "write each leaf as (TAG word): sed -E 's#([^ ()]+)_([^ ()_]+)#(\\2 \\1)#g' IN > OUT",
    ),
    _OtherTrees("AMR (PENMAN)", re.compile(r":[A-Za-z].*|/"), ":", 0.1, "it has no tree over the words"),
    _OtherTrees("CCGbank", re.compile(r".+[\w.,]>|<[TL]"), ">", 0.1, "convert its derivations to Penn brackets first"),
    _OtherTrees(
        "CorpusSearch with lemmas, word-lemma",
        re.compile(r"[^-]+-[^-]+|-+|\W-\W"),
        "-",
        0.8,
        "name the file .psd or give --input-format corpussearch",
    ),
)
CHECKED_TREES = 10  # at the beginning of a file, all of which are checked, and then every tenth, which takes less time


def check_trees(path: str, trees: Sequence[Tree]) -> None:
    """Raises TreebankError if ``trees``, the first of a file in brackets, are evidently of another format."""
    sample = [*trees[:CHECKED_TREES], *trees[CHECKED_TREES::CHECKED_TREES]]
    words = [*chain.from_iterable(tree.words for tree in sample)]
    names = set().union(*(tree.labels for tree in sample), *(tree.tags for tree in sample))
    text = " ".join(words)
    if marks := sorted(names & CORPUSSEARCH_MARKS):
        problem = f"the format is that of CorpusSearch (a node {marks[0]}); give --input-format corpussearch"
        raise TreebankError(path, 0, f"{problem}; {AS_BRACKETS}")
    for other in _OTHER_TREES:
        if text.count(other.character) <= other.share * len(words):  # much faster than matching each word
            continue
        matches = [word for word in words if other.words.fullmatch(word)]
        if len(matches) > other.share * len(words):
            share = _share(len(matches), len(words), "words", matches[0])
            raise TreebankError(path, 0, f"this looks like {other.name} ({share}); {other.remedy}; {AS_BRACKETS}")
    categories = {name for name in names if len(name) > 1 and name.isupper() and name.isalnum()}
    are_labels = [] if categories.isdisjoint(words) else [word for word in words if word in categories]
    if len(are_labels) > 0.5 * len(words):
        share = _share(len(are_labels), len(words), "words", are_labels[0])
        raise TreebankError(path, 0, f"the leaves are labels, so these trees have no words ({share}); {AS_BRACKETS}")


# --- signs of damage

MAX_INCOMPLETE_SHARE = 0.5  # sentences with untagged words per sentence without them; see `UntaggedWords`
MAX_UNTAGGED_SHARE = 0.05  # untagged words per word, in a file of a few sentences
MAX_IDS = 100_000  # ids of one document that are compared
REPEATED_ID = "this sentence has the id of an earlier one; is a part of the file repeated?"
OTHER_TEXT = "the words are not those of # text; is a line lost, repeated or changed?"

INNER_MARK = "a word of this sentence contains a byte-order mark (U+FEFF), as at the joints of concatenated files"
COMMENTS_ALONE = "comments of a sentence without words, which are left out; are the words of the sentence lost?"
COMMENT_INSIDE = "a comment inside of a sentence, which now precedes its words"
NO_HEAD = "a word of this sentence has no head (_), so the sentence is read without heads"
OUTER_SPACE = "a word of this sentence begins or ends with a space"


class UntaggedWords:
    """Words without tags in one file, which are reported if they are exceptions.

    They may be text that does not belong to a tree, such as the marks of a merge conflict, or a label that has lost its
    bracket.
    """

    def __init__(self, path: str, notify: Callable[[str], None]) -> None:
        self._path, self._notify = path, notify
        self._complete = self._incomplete = self._words = self._untagged = 0
        self._first = ("", 0)

    def add(self, tree: Tree, line: int) -> None:
        """Count the words of a tree that starts in ``line``."""
        self._words += len(tree.words)
        if "" not in tree.tags:
            self._complete += 1
        elif any(tree.tags):
            if not self._incomplete:
                self._first = (tree.words[tree.tags.index("")], line)
            self._incomplete += 1
            self._untagged += tree.tags.count("")

    def report(self) -> None:
        """Report the first word without a tag, if there are few."""
        has_few = self._incomplete <= MAX_INCOMPLETE_SHARE * self._complete
        if self._incomplete and (has_few or self._untagged <= MAX_UNTAGGED_SHARE * self._words):
            word, line = self._first
            self._notify(f"{self._path}:{line}: {shorten(word)} has no tag, unlike most words; is it out of place?")


class DamageSigns:
    """Signs of damage in one file: the first line and the count of each type."""

    def __init__(self, path: str, notify: Callable[[str], None]) -> None:
        self._path, self.notify = path, notify
        self._lines: dict[str, list[int]] = {}  # sign -> first line, count
        self._ids: set[str] = set()
        self._number = 0

    def add(self, sign: str, line: int) -> None:
        """Count a sign of damage."""
        self._lines.setdefault(sign, [line, 0])[1] += 1

    def add_id(self, name: str, line: int) -> None:
        """Count `REPEATED_ID` if a sentence of this document has the id ``name`` already."""
        if name in self._ids:
            self.add(REPEATED_ID, line)
        elif len(self._ids) < MAX_IDS:
            self._ids.add(name)

    def add_number(self, digits: str, line: int, name: str = "") -> None:
        """Like ``add_id`` for ``name``, by default ``digits``, whose number begins a new document if it is smaller."""
        number = int(digits) if digits.isdecimal() else self._number
        if number < self._number:
            self.begin_document()
        self._number = number
        self.add_id(name or digits, line)

    def begin_document(self) -> None:
        """Forget the ids, which may occur again in another document."""
        self._ids.clear()

    def report(self) -> None:
        """Report each sign with its first line and the number of further lines."""
        for sign, (line, count) in self._lines.items():
            more = f" ({count - 1:,} more like this)" if count > 1 else ""
            self.notify(f"{self._path}:{line}: {sign}{more}")
